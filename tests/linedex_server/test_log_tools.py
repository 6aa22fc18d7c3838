"""The tools for logs and their parameters elsewhere, through the protocol's own client, on a real file."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.types import CallToolResult, TextContent

from linedex_server.config import Settings
from linedex_server.mcp_server import build_server
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Output, Session
from linedex_server.workspace import Workspace

LINES = [
    f"2026-03-04T05:{at // 60:02d}:{at % 60:02d}Z {'ERROR' if at >= 900 else 'INFO'} job {at} ran" for at in range(1200)
]
LINES[1000:1000] = ["  at a.b(C.java:1)", "  at d.e(F.java:2)"]


@pytest.fixture(params=[False, True], ids=["read", "indexed"])
def workspace(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "app.log").write_text("".join(line + "\n" for line in LINES))
    (root / "notes.txt").write_text("a job is work\n")
    with Workspace(
        Settings(state_dir=tmp_path / "state", allowed_roots=(str(root),), workers=1, log_zone="UTC")
    ) as opened:
        if request.param:
            opened.indexes[0].build()
        yield opened


@asynccontextmanager
async def client(workspace: Workspace, output: Output) -> AsyncIterator[Client]:
    async with Client(build_server(Session(workspace, output), offered("all"))) as connected:
        yield connected


def asked(workspace: Workspace, tool: str, output: Output = Output.TEXT, **arguments: Any) -> CallToolResult:
    async def call() -> CallToolResult:
        async with client(workspace, output) as connected:
            if output is Output.JSON:
                schemas = {one.name: one.output_schema for one in (await connected.list_tools()).tools}
                result = await connected.call_tool(tool, arguments)
                schema = schemas[tool]
                assert schema is not None
                Draft202012Validator(schema).validate(result.structured_content)
                return result
            return await connected.call_tool(tool, arguments)

    return anyio.run(call)


def said(workspace: Workspace, tool: str, **arguments: Any) -> str:
    (block,) = asked(workspace, tool, **arguments).content
    assert isinstance(block, TextContent)
    return block.text


def test_a_timeline_is_a_line_a_bucket(workspace: Workspace) -> None:
    text = said(workspace, "log_timeline", absolute_path="app.log", bucket_minutes=5)
    assert text.split("\n")[:5] == [
        "2026-03-04",
        "05:00\t300\tinfo 300",
        "05:05\t300\tinfo 300",
        "05:10\t300\tinfo 300",
        "05:15\t300\terror 300",
    ]
    assert text.split("\n")[5].startswith("[1,200 records in 1 file; 4 buckets of 5 minutes; error 300, info 900; ")
    folder = said(workspace, "log_timeline", absolute_path=".", level="error", since="05:19", bucket_minutes=1)
    assert folder.startswith(
        "2026-03-04\n05:19\t60\n[60 records in 1 file; 1 buckets of 1 minute; since 2026-03-04 05:19:00"
    )
    assert "1 skipped (1 without recognised times)" in folder


def test_a_timeline_of_a_pattern_counts_matching_lines(workspace: Workspace) -> None:
    text = said(workspace, "log_timeline", absolute_path="app.log", pattern="java", bucket_minutes=1)
    assert text.startswith("2026-03-04\n05:16\t2\n[2 records")
    regex = said(workspace, "log_timeline", absolute_path="app.log", pattern=r"job \d*7 ran", regex=True)
    assert "[120 records in 1 file" in regex


def test_searches_are_limited_by_time_and_level_and_say_so(workspace: Workspace) -> None:
    text = said(
        workspace,
        "search_content",
        absolute_file_path="app.log",
        pattern="ran",
        since="05:14:58",
        until="05:15:02",
        context_lines=0,
    )
    assert re.findall(r"^(\d+):", text, re.MULTILINE) == ["899", "900", "901", "902"]
    assert "4 hits in 1 file; since 2026-03-04 05:14:58 until 2026-03-04 05:15:02 (" in text
    text = said(workspace, "search_directory", absolute_dir_path=".", pattern="job", level="warn+", output_mode="count")
    assert text.startswith("app.log:300\n")
    assert "1 without recognised times" in text
    fields = asked(
        workspace, "search_content", Output.JSON, absolute_file_path="app.log", pattern="at", level="error", regex=True
    ).structured_content
    assert [one["line_number"] for one in fields["results"]] == [1001, 1002]


def test_a_log_is_read_from_a_time_on(workspace: Workspace) -> None:
    text = said(workspace, "read_content", absolute_file_path="app.log", at="05:16:40", limit=2)
    assert text.startswith("1001\t  at a.b(C.java:1)") is False
    assert text.startswith("1003\t2026-03-04T05:16:40Z ERROR job 1000 ran\n")
    assert "first record at or after 2026-03-04T05:16:40" in text


def test_patterns_are_told_with_counts_and_an_example(workspace: Workspace) -> None:
    text = said(workspace, "log_patterns", absolute_file_path="app.log")
    first, example, rest = text.split("\n", 2)
    assert first.startswith("1,200\terror 300, info 900\t2026-03-04 05:00:00 to 2026-03-04 05:19:59\t")
    assert "job <*> ran" in first
    assert example == f"  1:\t{LINES[0]}"
    assert rest.startswith("[app.log: 1,200 records; 1 pattern; times in ")
    fields = asked(
        workspace, "log_patterns", Output.JSON, absolute_file_path="app.log", since="05:15", compare=True
    ).structured_content
    assert [(one["count"], one["count_before"]) for one in fields["patterns"]] == [(300, 900)]
    assert fields["since"] == "2026-03-04T05:15:00Z"


def test_an_overview_tells_of_a_log(workspace: Workspace) -> None:
    text = said(workspace, "get_overview", absolute_file_path="app.log")
    assert text.startswith("log of 1,200 records: 2026-03-04 05:00:00 to 2026-03-04 05:19:59 (")
    assert "\nlevels error 300, info 900 (by level word)\n" in text
    fields = asked(workspace, "get_overview", Output.JSON, absolute_file_path="app.log").structured_content
    assert fields["log"]["records"] == 1200
    assert json.dumps(fields["log"]["levels"]) == '{"info": 900, "error": 300}'


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"since": "yesterday"}, "no time that linedex can read"),
        ({"level": "loud"}, "is no level"),
        ({"since": "05:10", "until": "2026-03-04T05:05"}, "is empty"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_can(
    workspace: Workspace, arguments: dict[str, str], reason: str
) -> None:
    result = asked(workspace, "log_timeline", absolute_path="app.log", **arguments)
    assert result.is_error
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert reason in block.text


def test_an_overview_of_a_huge_log_that_is_not_indexed_says_what_is_reckoned(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "app.log").write_text("".join(line + "\n" for line in LINES * 900))
    with Workspace(
        Settings(state_dir=tmp_path / "state", allowed_roots=(str(root),), workers=1, log_zone="UTC")
    ) as opened:
        text = said(opened, "get_overview", absolute_file_path="app.log")
        assert re.match(
            r"log of about 1,\d\d\d,\d\d\d records: 2026-03-04 05:00:00 to 2026-03-04 05:19:59 \(UTC\)\n"
            r"rate about [\d,.]+ a minute\nlevels error \d+,\d+, info \d+,\d+ \(by level word\)\n",
            text,
        )
        assert "\nnot indexed yet: counts are reckoned from a sample of 2.1 MB; the busiest minute, " in text
        assert re.search(r"\[app\.log: log, about 1,\d\d\d,\d\d\d lines, ", text)
        fields = asked(opened, "get_overview", Output.JSON, absolute_file_path="app.log").structured_content
        assert fields["log"]["approximate"]
        assert fields["log"]["busiest_minute"] is None
        assert fields["approximate"] == ["lines", "long_lines", "longest_line"]
