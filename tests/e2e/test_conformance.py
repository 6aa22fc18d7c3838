"""The official conformance suite's scenarios that a real server can play, against `linedex serve --http`.

The others ask for the suite's own sample tools, prompts and resources, by name.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # its neighbours are modules of the tests
from bearer import Bearer
from node import installed, recent_node

SUITE = "conformance@0.1.16"
SCENARIOS = (
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "resources-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command line of the suite."""
    node = recent_node()
    folder = installed(tmp_path_factory.mktemp("conformance"), SUITE)
    return [str(node), str(folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"), "server"]


def test_the_official_suite_finds_nothing_wrong(suite: list[str], tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.txt").write_text("needle\n", encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("LINEDEX_", "XDG_"))}
    environ = {**kept, "LINEDEX_STATE_DIR": str(tmp_path / "state"), "XDG_RUNTIME_DIR": ""}
    served = subprocess.Popen(
        [sys.executable, "-m", "linedex_server", "serve", "--root", str(root), "--http", "0"],
        env=environ,
        stderr=subprocess.PIPE,
    )
    try:
        assert served.stderr is not None
        said = (re.search(rb"http://[0-9.]+:(\d+)/mcp", line) for line in served.stderr)
        port = int(next(found for found in said if found)[1])
        token = (tmp_path / "state/http/token").read_text(encoding="utf-8").strip()
        with Bearer(port, token) as door:
            results = {scenario: _played(suite, scenario, door.port, tmp_path) for scenario in SCENARIOS}
    finally:
        served.terminate()
        served.communicate(timeout=30)
    failed = {scenario: said for scenario, said in results.items() if not re.search(r"[1-9]\d*/", said)}
    assert not failed


def _played(suite: list[str], scenario: str, port: int, folder: Path) -> str:
    """Return what the suite says of a scenario; it must end well."""
    done = subprocess.run(
        [*suite, "--url", f"http://localhost:{port}/mcp", "--scenario", scenario],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, f"{scenario}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout + done.stderr
