"""The clients that people's assistants are built on, as they are published, against `linedex mcp` and its daemon."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # its neighbours are modules of the tests
from node import installed, program, recent_node

from linedex_server.tools.registry import GROUPS

SDK, CLIENT, INSPECTOR = "sdk@1.32", "client@2.4", "inspector@2.12.0"
SCRIPT = Path(__file__).with_name("node_client.mjs")
SLOW = "(?=a)(a|aa)+$"
"""Takes a backtracking engine all the time it is given on a line of many a."""
FILES = 200


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script and what it imports."""
    program("node")
    folder = installed(tmp_path_factory.mktemp("node"), SDK, CLIENT)
    shutil.copy(SCRIPT, folder)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a b.txt").write_text("one needle\n", encoding="utf-8")
    for number in range(FILES):
        (root / f"slow-{number:03}.txt").write_text("a" * 60 + "!\n", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("secret\n", encoding="utf-8")
    return root


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables of a state folder of its own; its daemon ends with the test."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("LINEDEX_")}
    environ = {
        **kept,
        "LINEDEX_STATE_DIR": str(tmp_path / "state"),
        "LINEDEX_WORKERS": "1",
        "LINEDEX_PATTERN_SECONDS": "0.3",
        "LINEDEX_QUERY_SECONDS": "3600",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
    }
    (tmp_path / "run").mkdir(mode=0o700)
    yield environ
    subprocess.run([sys.executable, "-m", "linedex_server", "stop"], env=environ, capture_output=True, check=True)


@pytest.mark.parametrize("way", [pytest.param((), id="daemon"), pytest.param(("--no-daemon",), id="one-process")])
@pytest.mark.parametrize(("kind", "mode"), [("sdk", "legacy"), ("client", "legacy"), ("client", "auto")])
def test_a_published_client_finds_everything_it_can_ask_for(
    clients: Path, root: Path, environ: dict[str, str], kind: str, mode: str, way: tuple[str, ...]
) -> None:
    server = [sys.executable, "-m", "linedex_server", "mcp", *way, "--root", str(root)]
    done = subprocess.run(
        [program("node"), "node_client.mjs", kind, mode, str(root), SLOW, *server],
        cwd=clients,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    assert seen["server"]["name"] == "linedex"
    assert "search_directory" in seen["instructions"]
    assert seen["capabilities"]["resources"]["subscribe"] is True
    assert [tool["name"] for tool in seen["tools"]] == list(GROUPS["default"])
    assert seen["found"]["content"][0]["text"].startswith("a b.txt\n1:one needle\n")
    assert "structuredContent" not in seen["found"]
    assert seen["refused"]["isError"] is True
    assert [one["uri"] for one in seen["resources"]] == [root.as_uri()]
    assert [one["uriTemplate"] for one in seen["templates"]] == ["file://{+path}"]
    uri = (root / "a b.txt").as_uri()
    assert seen["text"] == [{"uri": uri, "mimeType": "text/plain", "text": "one needle\n"}]
    assert seen["outside"]["code"] == -32602
    assert "outside the allowed folders" in seen["outside"]["message"]
    assert seen["completed"]["values"] == [str(root / "a b.txt")]
    if mode == "auto":
        assert seen["honored"] == [uri]
    else:
        assert "outside the allowed folders" in seen["outsideSubscription"]["message"]
    assert seen["updated"] is True
    first, second = seen["progress"]
    assert 0 < first["progress"] < second["progress"] < first["total"] == FILES + 1
    assert "enough" in seen["left"]["message"]
    assert seen["after"]["content"][0]["text"].startswith("a b.txt\n")


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command line of the official inspector."""
    node = recent_node()
    folder = installed(tmp_path_factory.mktemp("inspector"), INSPECTOR)
    return [str(node), str(folder / "node_modules" / ".bin" / "mcp-inspector"), "--cli"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("output", ["text", "json"])
def test_the_inspector_finds_nothing_to_say_of_the_tools(
    inspector: list[str], root: Path, environ: dict[str, str], era: str, output: str
) -> None:
    # by its variable: the inspector takes --output for one of its own; and it hands on only what it is told to
    given = {**environ, "LINEDEX_OUTPUT": output}
    variables = [
        word for name in given if name.startswith(("LINEDEX_", "XDG_")) for word in ("-e", f"{name}={given[name]}")
    ]
    server = [sys.executable, "-m", "linedex_server", "mcp", "--root", str(root)]
    asked = ["--method", "tools/list", "--strict", "--format", "json", "--protocol-era", era]
    done = subprocess.run(
        [*inspector, *server, *variables, *asked],
        env=environ,
        cwd=root.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    assert not re.search(r"[1-9]\d* (error|warning)", done.stdout + done.stderr), done.stdout + done.stderr
    tools = json.loads(done.stdout)["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(GROUPS["default"])
    assert all(("outputSchema" in tool) == (output == "json") for tool in tools)
