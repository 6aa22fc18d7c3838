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


def timed(first: int, count: int) -> str:
    """Lines a second apart from five o'clock on."""
    return "".join(
        f"2026-03-04 {5 + at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d} INFO seq={at} request served\n"
        for at in range(first, first + count)
    )


def seen(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"seq=(\d+)", text)]


def test_pages_by_time_keep_the_range_of_the_first_one_through_growth_and_rotation(
    workspace: Workspace, log: Path
) -> None:
    log.write_text(timed(0, 600), encoding="utf-8")
    asking: dict[str, Any] = {"pattern": "seq=", "context_lines": 0, "max_results": 20, "since": "-1m"}
    text = answer(workspace, "search_content", log, **asking)
    pages = [seen(text)]
    append(log, timed(3000, 600))
    text = answer(workspace, "search_content", log, cursor=cursor_of(text, "next "), **asking)
    pages.append(seen(text))
    log.rename(log.with_name("app.log.1"))
    log.write_text(timed(9000, 10), encoding="utf-8")
    for _ in range(60):
        text = answer(workspace, "search_content", log, cursor=cursor_of(text, "(?:next|later lines:) "), **asking)
        pages.append(seen(text))
        if "next cursor=" not in text:
            break
    # the last minute before 599, and all that came later: not the last minute of what the log has become
    assert [at for page in pages for at in page] == [*range(539, 600), *range(3000, 3600), *range(9000, 9010)]


def test_what_is_new_by_time_keeps_the_range_of_the_first_page(workspace: Workspace, log: Path) -> None:
    log.write_text(timed(0, 25_000), encoding="utf-8")
    workspace.indexes[0].build()
    asking: dict[str, Any] = {"pattern": "seq=", "context_lines": 0, "max_results": 100, "since": "-10s"}
    text = answer(workspace, "search_content", log, **asking)
    assert seen(text) == list(range(24_989, 25_000))
    append(log, timed(25_000, 60))
    text = answer(workspace, "search_content", log, cursor=cursor_of(text), **asking)
    assert seen(text) == list(range(25_000, 25_060))


def refused(workspace: Workspace, tool: str, **arguments: Any) -> str:
    result = asked(workspace, Output.TEXT, tool, arguments)
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert result.is_error, block.text
    return block.text


@pytest.mark.parametrize("way", ["renamed", "copied and regrown", "cut", "replaced"])
def test_a_page_of_a_folder_is_void_when_the_file_it_stopped_in_is_another_one(
    workspace: Workspace, log: Path, way: str
) -> None:
    asking: dict[str, Any] = {
        "absolute_dir_path": str(log.parent),
        "pattern": "seq=",
        "context_lines": 0,
        "max_results": 5,
    }
    result = asked(workspace, Output.TEXT, "search_directory", asking)
    (block,) = result.content
    assert isinstance(block, TextContent)
    cursor = cursor_of(block.text, "next ")
    size = log.stat().st_size
    other = log.with_name("other.tmp")
    if way == "renamed":
        log.rename(log.with_name("app.log.1"))
        log.write_text(lines(80_000, 1), encoding="utf-8")
    elif way == "replaced":
        other.write_text(lines(80_000, 31_000), encoding="utf-8")
        other.replace(log)
    else:
        if way == "copied and regrown":
            log.with_name("app.log.1").write_bytes(log.read_bytes())
        log.write_text(lines(80_000, 31_000 if way == "copied and regrown" else 3), encoding="utf-8")
        assert (log.stat().st_size > size) == (way == "copied and regrown")
    text = refused(workspace, "search_directory", **asking, cursor=cursor)
    assert "was rotated or rewritten" in text
    assert "Repeat the search without cursor" in text


def test_a_page_of_a_folder_that_stopped_between_files_repeats_none_that_was_rotated(
    workspace: Workspace, log: Path
) -> None:
    log.write_text(lines(0, 4), encoding="utf-8")
    older = log.with_name("app.log.1")
    older.write_text(lines(100, 4), encoding="utf-8")
    asking: dict[str, Any] = {
        "absolute_dir_path": str(log.parent),
        "pattern": "seq=",
        "context_lines": 0,
        "max_results": 4,
    }
    result = asked(workspace, Output.TEXT, "search_directory", asking)
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert seen(block.text) == [0, 1, 2, 3]
    older.rename(log.with_name("app.log.2"))
    log.rename(older)
    log.write_text(lines(900, 1), encoding="utf-8")
    assert "was rotated or rewritten" in refused(
        workspace, "search_directory", **asking, cursor=cursor_of(block.text, "next ")
    )


@pytest.mark.parametrize("tool", ["read_content", "search_content"])
@pytest.mark.parametrize("way", ["cut", "regrown", "replaced"])
def test_what_is_new_in_a_log_that_was_cut_or_replaced_begins_anew_and_says_so(
    workspace: Workspace, log: Path, way: str, tool: str
) -> None:
    asking: dict[str, Any] = {} if tool == "read_content" else {"pattern": "seq=", "context_lines": 0}
    first = {"mode": "tail", "limit": 1} if tool == "read_content" else {"max_results": 100, "pattern": "seq=29999"}
    if tool == "search_content":
        asking = {"context_lines": 0, "pattern": "seq="}
    cursor = cursor_of(answer(workspace, tool, log, **{"context_lines": 0, **first} if asking else first))
    count = 31_000 if way == "regrown" else 3
    if way == "replaced":
        other = log.with_name("other.tmp")
        other.write_text(lines(80_000, count), encoding="utf-8")
        other.replace(log)
    else:
        log.write_text(lines(80_000, count), encoding="utf-8")
    text = answer(workspace, tool, log, cursor=cursor, **asking)
    assert seen(text)[:3] == [80_000, 80_001, 80_002]
    assert "may be lost; restarting at the new file's start" in text
    # what was told once is not told again
    text = answer(workspace, tool, log, cursor=cursor_of(text, "(?:next|later lines:) "), **asking)
    assert not set(seen(text)) & {80_000, 80_001, 80_002}


def test_all_matches_of_a_rotated_copy_are_counted_where_a_cursor_led_to_it(workspace: Workspace, log: Path) -> None:
    def page(**arguments: Any) -> dict[str, Any]:
        request = {"absolute_file_path": str(log), "pattern": "seq=1234", "max_results": 2, **arguments}
        fields = asked(workspace, Output.JSON, "search_content", request).structured_content
        assert isinstance(fields, dict)
        return fields

    first = page()
    assert first["total_matches"] == 11
    log.rename(log.with_name("app.log.1"))
    log.write_text("nothing of it\n", encoding="utf-8")
    following = page(cursor=first["cursor"])
    assert [hit["line_number"] for hit in following["results"]] == [12342, 12343]
    assert following["total_matches"] == 11
