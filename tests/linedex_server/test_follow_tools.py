"""What is new in a log since an answer, as a client of the protocol asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.types import CallToolResult, TextContent

from linedex_server.config import Settings
from linedex_server.mcp_server import build_server
from linedex_server.tools.registry import ALL, offered
from linedex_server.tools.tool import Output, Session
from linedex_server.workspace import Workspace


def lines(first: int, count: int) -> str:
    return "".join(f"{at:06d} seq={at} request served with a word or two more\n" for at in range(first, first + count))


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as log:
        log.write(text)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    path = root / "app.log"
    path.write_text(lines(0, 30_000), encoding="utf-8")
    return path


@pytest.fixture
def workspace(log: Path, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(Settings(state_dir=tmp_path / "state", allowed_roots=(str(log.parent),), workers=1)) as opened:
        opened.indexes[0].build()
        yield opened


def asked(workspace: Workspace, output: Output, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    async def once() -> CallToolResult:
        async with Client(build_server(Session(workspace, output), offered("default"))) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(once)


def answer(workspace: Workspace, tool: str, log: Path, **arguments: Any) -> str:
    result = asked(workspace, Output.TEXT, tool, {"absolute_file_path": str(log), **arguments})
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert not result.is_error, block.text
    return block.text


def cursor_of(text: str, before: str = "later lines: ") -> str:
    (found,) = re.findall(before + r"cursor=([\w-]+)\]$", text)
    return str(found)


def test_the_cursor_of_a_tail_gives_only_lines_appended_later(workspace: Workspace, log: Path) -> None:
    cursor = cursor_of(answer(workspace, "read_content", log, mode="tail", limit=2))
    append(log, lines(70_000, 2))
    text = answer(workspace, "read_content", log, cursor=cursor)
    assert text.startswith("30001\t070000 seq=70000 request served")
    assert "30002\t070001 seq=70001" in text
    assert "app.log lines 30001-30002 of 30,002" in text
    text = answer(workspace, "read_content", log, cursor=cursor_of(text))
    assert text.startswith("[app.log: no line of 30,002; hash ")
    assert cursor_of(text)


def test_a_search_that_is_done_can_be_asked_for_what_is_new(workspace: Workspace, log: Path) -> None:
    cursor = cursor_of(answer(workspace, "search_content", log, pattern="seq=29999", context_lines=0))
    append(log, lines(70_000, 30))
    pages = []
    text = answer(workspace, "search_content", log, pattern="seq=7000", context_lines=0, max_results=4, cursor=cursor)
    while "next cursor=" in text:
        pages.append(text)
        cursor = cursor_of(text, "next ")
        text = answer(
            workspace, "search_content", log, pattern="seq=7000", context_lines=0, max_results=4, cursor=cursor
        )
    pages.append(text)
    assert [int(found) for page in pages for found in re.findall(r"seq=(\d+)", page)] == list(range(70_000, 70_010))
    assert cursor_of(text)


def test_a_rotation_is_said_and_the_old_file_finished_first(workspace: Workspace, log: Path) -> None:
    cursor = cursor_of(answer(workspace, "read_content", log, mode="tail", limit=1))
    append(log, lines(70_000, 1))
    log.rename(log.with_name("app.log.1"))
    log.write_text(lines(80_000, 1), encoding="utf-8")
    text = answer(workspace, "read_content", log, cursor=cursor)
    assert "seq=70000" in text
    assert "app.log.1 line 30001 of 30,001; app.log was rotated at " in text
    assert ", continued in app.log.1; " in text
    text = answer(workspace, "read_content", log, cursor=cursor_of(text))
    assert text.startswith("1\t080000 seq=80000")
    assert "[app.log line 1 of 1; hash " in text


def test_more_new_lines_than_a_page_holds_are_read_page_by_page(workspace: Workspace, log: Path) -> None:
    cursor = cursor_of(answer(workspace, "read_content", log, mode="tail", limit=1))
    append(log, lines(70_000, 1_000))
    found: list[str] = []
    for _ in range(20):
        text = answer(workspace, "read_content", log, cursor=cursor, limit=10_000)
        assert len(text) <= 20_000
        shown = re.findall(r"seq=(\d+)", text)
        if not shown:
            break
        found += shown
        cursor = cursor_of(text)
    assert found == [str(at) for at in range(70_000, 71_000)]


@pytest.mark.parametrize("tool", ["read_content", "search_content"])
def test_json_output_has_the_cursor_for_what_comes_later(workspace: Workspace, log: Path, tool: str) -> None:
    arguments = {"mode": "tail"} if tool == "read_content" else {"pattern": "seq=29999"}
    result = asked(workspace, Output.JSON, tool, {"absolute_file_path": str(log), **arguments})
    assert result.structured_content is not None
    Draft202012Validator(ALL[tool].output_schema).validate(result.structured_content)
    later = result.structured_content["later"]
    result = asked(workspace, Output.JSON, tool, {"absolute_file_path": str(log), "pattern": "seq=", "cursor": later})
    assert result.structured_content is not None
    assert not result.structured_content.get("content")
    assert not result.structured_content.get("results")
    assert result.structured_content["later"]
