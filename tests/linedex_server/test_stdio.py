"""`linedex mcp` as a process of its own: frames, signals, end of input, a C locale."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from linedex_server.tools.registry import GROUPS

ERAS = ("legacy", "auto")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "grüße.txt").write_text("héllo wörld\nsecond\n", encoding="utf-8")
    return root


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("LINEDEX_", "LC_", "LANG"))}
    return {
        **kept,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "LINEDEX_STATE_DIR": str(tmp_path / "state"),
        "LINEDEX_WORKERS": "1",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }


def command(tree: Path) -> list[str]:
    return [sys.executable, "-m", "linedex_server", "mcp", "--no-daemon", "--root", str(tree)]


@pytest.mark.parametrize("era", ERAS)
def test_a_client_reads_what_is_not_ascii_under_a_c_locale(tree: Path, environ: dict[str, str], era: str) -> None:
    program, *arguments = command(tree)
    parameters = StdioServerParameters(command=program, args=arguments, env=environ)

    async def read() -> str:
        async with Client(parameters, mode=era) as connected:
            result = await connected.call_tool("search_directory", {"absolute_dir_path": ".", "pattern": "WÖRLD"})
            (block,) = result.content
            assert isinstance(block, TextContent)
            return block.text

    assert anyio.run(read).startswith("grüße.txt\n1:héllo wörld\n2-second\n[1 hit in 1 file; complete")


class Process:
    """A server spoken to frame by frame."""

    def __init__(self, arguments: list[str], environ: dict[str, str], cwd: Path) -> None:
        self.popen = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            cwd=cwd,
        )
        self._id = 0

    def send(self, method: str, **params: Any) -> int:
        self._id += 1
        frame = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(frame).encode() + b"\n")
        self.popen.stdin.flush()
        return self._id

    def answer(self) -> dict[str, Any]:
        assert self.popen.stdout is not None
        frame: dict[str, Any] = json.loads(self.popen.stdout.readline())
        assert frame["jsonrpc"] == "2.0"
        return frame

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = self.send(method, **params)
        frame = self.answer()
        assert frame["id"] == number
        return frame

    def initialize(self) -> dict[str, Any]:
        frame = self.ask(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        result: dict[str, Any] = frame["result"]
        return result

    def ended(self) -> tuple[int, bytes, bytes]:
        """The exit status, and what was left on both streams; fails when the process outlives its grace."""
        left, errors = self.popen.communicate(timeout=10)
        return self.popen.returncode, left, errors


@pytest.fixture
def process(tree: Path, environ: dict[str, str], tmp_path: Path) -> Iterator[Process]:
    started = Process(command(tree), environ, tmp_path)
    yield started
    if started.popen.poll() is None:
        started.popen.kill()
        started.popen.communicate()


def test_the_handshake_names_the_server_and_says_how_to_use_it(process: Process) -> None:
    result = process.initialize()
    assert result["serverInfo"]["name"] == "linedex"
    assert "search_directory" in result["instructions"]
    assert result["capabilities"] == {
        "completions": {},
        "resources": {"listChanged": False, "subscribe": True},
        "tools": {"listChanged": False},
    }


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_while_the_input_stays_open(process: Process, number: signal.Signals) -> None:
    process.initialize()
    process.popen.send_signal(number)
    process.popen.wait(timeout=10)
    status, left, errors = process.ended()
    assert (status, left) == (0, b"")
    assert b"Traceback" not in errors


def test_the_end_of_input_ends_it_cleanly(process: Process) -> None:
    process.initialize()
    status, left, errors = process.ended()
    assert (status, left) == (0, b"")
    assert b"Traceback" not in errors


def test_a_frame_that_is_no_json_does_not_end_it(process: Process) -> None:
    process.initialize()
    assert process.popen.stdin is not None
    process.popen.stdin.write(b"\xff{nonsense\n")
    process.popen.stdin.flush()
    assert "no JSON" in process.answer()["error"]["message"]
    listed = process.ask("tools/list")
    assert len(listed["result"]["tools"]) == len(GROUPS["default"])


def test_a_lone_surrogate_in_an_argument_does_not_end_it(process: Process) -> None:
    process.initialize()
    refused = process.ask("tools/call", name="find_files", arguments={"name": "\ud800"})
    assert "half of a surrogate pair" in refused["error"]["message"]
    assert process.ask("ping")["result"] == {}


def test_a_lifted_restriction_is_said_loudly(tree: Path, environ: dict[str, str]) -> None:
    arguments = [sys.executable, "-m", "linedex_server", "mcp", "--no-daemon"]
    started = Process(arguments, {**environ, "LINEDEX_ALLOWED_ROOTS": f"*{os.pathsep}{tree}"}, tree)
    started.initialize()
    _, _, errors = started.ended()
    assert b"WARNING" in errors
    assert b"EVERY file" in errors
