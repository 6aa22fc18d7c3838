"""The tools that read through the protocol's own client, in both eras, on real files."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from linedex_server.config import Settings
from linedex_server.mcp_server import CALLS_AT_ONCE, build_server, instructions
from linedex_server.tools.parameters import Given, input_schema
from linedex_server.tools.registry import ALL, GROUPS, offered
from linedex_server.tools.tool import Output, Reply, Session, Tool
from linedex_server.workspace import Workspace

ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
CART = """\
\"\"\"A shop.\"\"\"
import re


class Cart:
    def add(self, item, count=1):
        self.items += [item] * count

    def total(self):
\treturn sum(self.items)


def parse(text):
    return re.split(",", text)
"""

Call: TypeAlias = Callable[..., Awaitable[CallToolResult]]


def make_tree(root: Path) -> Path:
    (root / "src").mkdir(parents=True)
    (root / "src" / "cart.py").write_text(CART, encoding="utf-8")
    (root / "src" / "cart_test.py").write_text("from cart import Cart\n\nCart().add(1)\n", encoding="utf-8")
    (root / "app.log").write_text("".join(f"{n:05d} INFO request {n % 7}\n" for n in range(1, 5001)), encoding="utf-8")
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    (root / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    (root / ".gitignore").write_text("build/\n", encoding="utf-8")
    (root / ".git").mkdir()
    (root / "build").mkdir()
    (root / "build" / "out.py").write_text("class Cart: pass\n", encoding="utf-8")
    (root / "clock.log").write_text(
        "2026-03-04 05:06:07 INFO up\n2026-03-04 05:06:08 ERROR disk full\n2026-03-04 05:08:00 INFO up\n"
    )
    return root


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """An indexed tree; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("shared")
    root = make_tree(folder / "tree")
    with Workspace(Settings(state_dir=folder / "state", allowed_roots=(str(root),), workers=1)) as opened:
        opened.indexes[0].build()
        yield opened


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Workspace]:
    """A tree that is not indexed; tests may change it."""
    root = make_tree(tmp_path / "tree")
    with Workspace(Settings(state_dir=tmp_path / "state", allowed_roots=(str(root),), workers=1)) as opened:
        yield opened


@asynccontextmanager
async def client(workspace: Workspace, era: str = "auto", output: Output = Output.TEXT) -> AsyncIterator[Client]:
    server = build_server(Session(workspace, output), offered("default"))
    async with Client(server, mode=era) as connected:
        assert connected.protocol_version == ERAS[era]
        yield connected


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def asked(
    workspace: Workspace, tool: str, era: str = "auto", output: Output = Output.TEXT, **arguments: Any
) -> CallToolResult:
    async def once() -> CallToolResult:
        async with client(workspace, era, output) as connected:
            return await connected.call_tool(tool, arguments)

    return anyio.run(once)


def answer(workspace: Workspace, tool: str, era: str = "auto", **arguments: Any) -> str:
    result = asked(workspace, tool, era, **arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


def refusal(workspace: Workspace, tool: str, **arguments: Any) -> str:
    result = asked(workspace, tool, **arguments)
    assert result.is_error
    return text_of(result)


CALLS: list[tuple[str, dict[str, Any], str]] = [
    (
        "get_overview",
        {"absolute_file_path": "src/cart.py"},
        r"""5-10 class Cart
  6-7 method add\(self, item, count=1\)
  9-10 method total\(self\)
13-14 function parse\(text\)
\[src/cart.py: python, 14 lines, \d+ bytes, utf-8, LF; hash [0-9a-f]{16}; 4 symbols""",
    ),
    (
        "search_content",
        {"absolute_file_path": "src/cart.py", "pattern": "sum(", "context_lines": 1},
        r"""src/cart.py
(@ Cart.total
)?9-    def total\(self\):
10:\treturn sum\(self.items\)
11-
\[1 hit in 1 file; complete: 1 by (index|scan); """,
    ),
    (
        "search_directory",
        {"absolute_dir_path": ".", "pattern": r"class \w+:", "regex": True, "context_lines": 0},
        r"""src/cart.py
5:class Cart:
\[1 hit in 1 file; complete: \d+ by .*1 skipped \(1 binary\)""",
    ),
    (
        "read_content",
        {"absolute_file_path": "src/cart.py", "offset": 9, "limit": 2},
        r"""9\t    def total\(self\):
10\t\treturn sum\(self.items\)
\[src/cart.py lines 9-10 of 14; hash [0-9a-f]{16}; next offset=11\]$""",
    ),
    (
        "read_enclosing",
        {"absolute_file_path": "src/cart.py", "line": 7},
        r"""6\t    def add\(self, item, count=1\):
7\t        self.items .*
\[src/cart.py lines 6-7 of 14; method Cart.add; """,
    ),
    (
        "list_directory",
        {"absolute_dir_path": "src"},
        r"""cart.py\t\d+ bytes
cart_test.py\t\d+ bytes
\[src: 2 files, 0 folders\]$""",
    ),
    ("find_symbol", {"name": "Cart.total"}, r"src/cart.py:9-10 method Cart.total\(self\)\n\[1 symbol; complete"),
    ("find_files", {"name": "cart_test"}, r"src/cart_test.py\n\[1 file\]$"),
    (
        "log_timeline",
        {"absolute_path": "clock.log", "bucket_minutes": 1},
        r"2026-03-04\n05:06\t2\terror 1, info 1\n05:07\t0\n05:08\t1\tinfo 1\n\[3 records in 1 file; ",
    ),
    ("index_status", {}, r"/.*/tree: up to date\n  \d+ files: "),
]


@pytest.mark.parametrize("era", ERAS)
def test_all_tools_that_read_answer_in_both_eras(workspace: Workspace, era: str) -> None:
    async def all_of_them() -> None:
        async with client(workspace, era) as connected:
            assert {tool for tool, _, _ in CALLS} == set(GROUPS["read"])
            assert {tool.name for tool in (await connected.list_tools()).tools} == set(GROUPS["default"])
            for tool, arguments, expected in CALLS:
                result = await connected.call_tool(tool, arguments)
                assert re.match(expected, text_of(result)), text_of(result)
                assert not result.is_error
                assert result.structured_content is None

    anyio.run(all_of_them)


@pytest.mark.parametrize("era", ERAS)
def test_json_output_repeats_the_text_as_structured_content_that_fits_its_schema(
    workspace: Workspace, era: str
) -> None:
    async def all_of_them() -> None:
        async with client(workspace, era, Output.JSON) as connected:
            schemas = {tool.name: tool.output_schema for tool in (await connected.list_tools()).tools}
            for tool, arguments, _ in CALLS:
                result = await connected.call_tool(tool, arguments)
                assert json.loads(text_of(result)) == result.structured_content
                schema = schemas[tool]
                assert schema is not None
                Draft202012Validator(schema).validate(result.structured_content)

    anyio.run(all_of_them)


def test_json_output_has_largefile_s_fields(workspace: Workspace) -> None:
    found = asked(
        workspace,
        "search_content",
        output=Output.JSON,
        absolute_file_path="src/cart.py",
        pattern="CART",
        context_lines=1,
    ).structured_content
    (one,) = found["results"]
    assert found["total_matches"] == 1
    assert (one["line_number"], one["match"], one["context_after"]) == (
        5,
        "class Cart:",
        ["    def add(self, item, count=1):"],
    )
    many = asked(
        workspace, "search_content", output=Output.JSON, absolute_file_path="app.log", pattern="INFO", max_results=3
    ).structured_content
    assert (len(many["results"]), many["total_matches"]) == (3, 5000)
    assert (one["match_type"], one["similarity_score"], one["truncated"]) == ("exact", 1.0, False)
    read = asked(
        workspace, "read_content", output=Output.JSON, absolute_file_path="crlf.txt", limit=2
    ).structured_content
    assert (read["content"], read["total_lines"], read["truncated"], read["next_offset"]) == ("one\ntwo", 3, True, 3)


def test_every_tool_describes_itself_in_a_few_words() -> None:
    for tool in ALL.values():
        assert len(tool.about) < 400, tool.name
        assert all(parameter.about for parameter in tool.parameters)


def test_schemas_are_small_closed_and_without_titles(workspace: Workspace) -> None:
    async def listed() -> None:
        async with client(workspace) as connected:
            tools = (await connected.list_tools()).tools
            for tool in tools:
                Draft202012Validator.check_schema(tool.input_schema)
                assert tool.input_schema["additionalProperties"] is False
                assert tool.output_schema is None
                assert tool.annotations is not None
                reads = tool.name in (*GROUPS["read"], "edit_history")
                assert tool.annotations.read_only_hint is reads
                assert tool.annotations.destructive_hint is not reads
                if tool.annotations.read_only_hint:
                    assert tool.annotations.idempotent_hint is True
                assert tool.annotations.open_world_hint is False
            wire = json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in tools])
            assert '"title"' not in wire
            assert len(wire) < 21_000

    anyio.run(listed)


def test_no_schema_gives_a_list_of_types_which_some_clients_refuse() -> None:
    for tool in ALL.values():
        wire = json.dumps([input_schema(tool.parameters), tool.output_schema])
        assert '"type": [' not in wire, tool.name


def test_the_parameters_of_largefile_keep_their_names_and_defaults() -> None:
    kept = {
        "get_overview": {"absolute_file_path": ..., "changed_lines": None},
        "search_content": {
            "absolute_file_path": ...,
            "pattern": ...,
            "max_results": 20,
            "context_lines": 2,
            "fuzzy": True,
            "regex": False,
            "case_sensitive": False,
            "invert": False,
            "count_only": False,
        },
        "read_content": {"absolute_file_path": ..., "offset": 1, "limit": 100, "pattern": None, "mode": "lines"},
        "read_enclosing": {"absolute_file_path": ..., "line": ..., "depth": 1, "context_lines": 40},
        "list_directory": {"absolute_dir_path": ..., "max_depth": 1, "max_entries": None, "include_hidden": False},
        "search_directory": {
            "absolute_dir_path": ...,
            "pattern": ...,
            "include_pattern": "*",
            "max_results": None,
            "context_lines": 2,
            "fuzzy": False,
            "regex": False,
            "case_sensitive": False,
            "invert": False,
            "include_hidden": False,
        },
    }
    assert set(kept) == set(GROUPS["largefile"]) & set(GROUPS["read"])
    for name, parameters in kept.items():
        ours = {one.name: ... if one.required else one.default for one in ALL[name].parameters}
        assert parameters.items() <= ours.items(), name


def test_the_page_on_tools_tells_the_parameters_as_clients_see_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
    sections = {part.split()[0]: part for part in page.split("\n## ")[1:]}
    for tool in ALL.values():
        section = sections[tool.name]
        assert tool.about in " ".join(section.split())
        rows = re.findall(r"^\| `(\w+)`.* \| (.*) \| (.*) \|$", section, re.MULTILINE)
        assert [(name, about.replace("\\|", "|")) for name, _, about in rows] == [
            (one.name, one.about) for one in tool.parameters
        ]
        for (_, default, _), one in zip(rows, tool.parameters, strict=True):
            said = "required" if one.required else "" if one.default is None else f"`{one.default}`"
            assert default == (said.lower() if isinstance(one.default, bool) else said)


def test_instructions_are_short_and_name_every_tool(workspace: Workspace) -> None:
    said = instructions(workspace)
    assert len(said) < 1_500
    assert all(name in said for name in GROUPS["default"] if name != "edit_history")
    assert not any(name in instructions(workspace, writing=False) for name in set(ALL) - set(GROUPS["read"]))
    assert str(workspace.base) in said


def test_instructions_stay_short_whatever_the_folders_are_called(tmp_path: Path) -> None:
    roots = [tmp_path / f"{number}{'x' * 200}" for number in range(9)]
    for root in roots:
        root.mkdir()
    settings = Settings(state_dir=tmp_path / "state", allowed_roots=tuple(map(str, roots)), workers=1)
    with Workspace(settings) as opened:
        said = instructions(opened)
    assert len(said) < 1_500
    assert str(roots[0]) in said


def test_an_unknown_tool_is_a_protocol_error_that_names_the_tools(workspace: Workspace) -> None:
    async def unknown() -> None:
        async with client(workspace) as connected:
            with pytest.raises(MCPError, match="search_directory"):
                await connected.call_tool("grep", {"pattern": "x"})

    anyio.run(unknown)


def test_an_unknown_parameter_is_refused_with_the_nearest_one(workspace: Workspace) -> None:
    said = refusal(workspace, "search_directory", absolute_dir_path=".", patern="x")
    assert said == "search_directory failed: There is no parameter `patern`.\nDid you mean pattern?"
    said = refusal(workspace, "search_directory", path=".", pattern="x")
    assert said == "search_directory failed: There is no parameter `path`.\nDid you mean absolute_dir_path?"


def test_numbers_and_truth_values_may_come_as_text(workspace: Workspace) -> None:
    said = answer(
        workspace,
        "search_content",
        absolute_file_path="app.log",
        pattern="INFO",
        max_results="2",
        context_lines="0",
        fuzzy="true",
    )
    assert said.startswith("app.log\n1:00001 INFO request 1\n2:00002 INFO request 2\n[2 hits")


def test_the_text_null_stays_that_word(fresh: Workspace) -> None:
    (fresh.base / "null.txt").write_text("a null here\n", encoding="utf-8")
    assert "1:a null here" in answer(fresh, "search_content", absolute_file_path="null.txt", pattern="null")


def test_a_regular_expression_with_the_default_of_fuzzy_just_works(workspace: Workspace) -> None:
    said = answer(
        workspace, "search_content", absolute_file_path="app.log", pattern=r"^0000[12] ", regex=True, context_lines=0
    )
    assert said.startswith("app.log\n1:00001 INFO request 1\n2:00002 INFO request 2\n[2 hits in 1 file; complete")


def test_a_near_line_is_marked_and_not_counted(workspace: Workspace) -> None:
    said = answer(
        workspace, "search_content", absolute_file_path="src/cart.py", pattern="retrun sum(self.items)", context_lines=0
    )
    assert "10~\treturn sum(self.items)" in said
    assert "[no exact hit; " in said


def test_a_cursor_goes_on_to_the_last_hit_without_a_gap(workspace: Workspace) -> None:
    lines: list[int] = []
    cursor = None
    for _ in range(20):
        said = answer(
            workspace, "search_directory", absolute_dir_path=".", pattern="request 3", context_lines=0, cursor=cursor
        )
        lines += [int(line.split(":")[0]) for line in said.split("\n") if re.match(r"\d+:", line)]
        more = re.search(r"next cursor=(\S+)\]$", said)
        if not more:
            break
        cursor = more[1]
    assert lines == [n for n in range(1, 5001) if n % 7 == 3]


def test_no_page_is_longer_than_the_limit_and_nothing_is_lost_between_pages(workspace: Workspace) -> None:
    lines: list[int] = []
    cursor = None
    for _ in range(200):
        said = answer(
            workspace,
            "search_content",
            absolute_file_path="app.log",
            pattern="request 3",
            context_lines=30,
            max_results=100,
            cursor=cursor,
        )
        assert len(said) <= workspace.settings.page_characters
        lines += [int(line.split(":")[0]) for line in said.split("\n") if re.match(r"\d+:", line)]
        more = re.search(r"next cursor=(\S+)\]$", said)
        if not more:
            break
        cursor = more[1]
    assert lines == [n for n in range(1, 5001) if n % 7 == 3]


def test_a_read_goes_on_at_the_next_offset_until_the_end(workspace: Workspace) -> None:
    texts: list[str] = []
    offset = 1
    for _ in range(20):
        said = answer(workspace, "read_content", absolute_file_path="app.log", offset=offset, limit=100_000)
        assert len(said) <= workspace.settings.page_characters
        texts += [line.split("\t", 1)[1] for line in said.split("\n")[:-1]]
        more = re.search(r"next offset=(\d+)\]$", said)
        if not more:
            break
        offset = int(more[1])
    assert texts == (workspace.base / "app.log").read_text(encoding="utf-8").split("\n")[:-1]


def test_the_tail_of_a_log_keeps_its_last_lines(workspace: Workspace) -> None:
    said = answer(workspace, "read_content", absolute_file_path="app.log", mode="tail", limit=5000)
    *_, last, footer = said.split("\n")
    assert last == "5000\t05000 INFO request 2"
    first = int(said.split("\t")[0])
    assert f"page full: lines 1-{first - 1} left out" in footer


def test_a_list_goes_on_with_its_cursor(workspace: Workspace) -> None:
    names: list[str] = []
    cursor = None
    for _ in range(10):
        said = answer(workspace, "list_directory", absolute_dir_path=str(workspace.base), max_entries=2, cursor=cursor)
        names += [line.split("\t")[0] for line in said.split("\n")[:-1]]
        more = re.search(r"next cursor=(\S+)\]$", said)
        if not more:
            break
        cursor = more[1]
    assert sorted(names) == ["app.log", "clock.log", "crlf.txt", "logo.png", "src/"]
    assert len(names) == len(set(names))


def test_ignored_folders_are_listed_when_asked_for(workspace: Workspace) -> None:
    assert "build/" in answer(workspace, "list_directory", absolute_dir_path=".", include_ignored=True)


def test_a_file_named_by_its_path_is_answered_though_ignored(workspace: Workspace) -> None:
    assert "1\tclass Cart: pass" in answer(workspace, "read_content", absolute_file_path="build/out.py")
    assert "1:class Cart" in answer(workspace, "search_content", absolute_file_path="build/out.py", pattern="Cart")


def test_symbols_touched_by_a_diff_are_marked(workspace: Workspace) -> None:
    said = answer(
        workspace, "get_overview", absolute_file_path="src/cart.py", changed_lines=[[13, 14, "added"], [7, 7]]
    )
    assert "13-14 function parse(text)  [added]" in said
    assert "6-7 method add(self, item, count=1)  [modified]" in said
    assert "3 symbols changed" in said


def test_a_path_in_an_answer_can_be_given_back(fresh: Workspace) -> None:
    name = b"bad\xff\nname.txt"
    (fresh.base / os.fsdecode(name)).write_bytes(b"needle\n")
    said = answer(fresh, "search_directory", absolute_dir_path=".", pattern="needle")
    path = said.split("\n")[0]
    assert "1\tneedle" in answer(fresh, "read_content", absolute_file_path=path)


def test_invalid_bytes_and_lone_surrogates_do_not_end_the_connection(fresh: Workspace) -> None:
    (fresh.base / "bad.txt").write_bytes(b"caf\xe9 \xed\xa0\x80 needle\n" * 3 + "ü\n".encode())
    assert "needle" in answer(fresh, "read_content", era="legacy", absolute_file_path="bad.txt")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("read_content", {"absolute_file_path": "/etc/passwd"}, "outside the allowed folders"),
        ("read_content", {"absolute_file_path": "../state"}, "outside the allowed folders"),
        ("read_content", {"absolute_file_path": "src/carts.py"}, "src/cart.py"),
        ("read_content", {"absolute_file_path": "src"}, "search_directory"),
        ("read_content", {"absolute_file_path": "app.log", "offset": 5001}, "5,?000"),
        ("read_content", {"absolute_file_path": "logo.png"}, "binary|no text"),
        ("read_content", {"absolute_file_path": "app.log", "mode": "sideways"}, "`mode`"),
        ("read_content", {"absolute_file_path": "app.log", "pattern": "no such line at all"}, "no such line"),
        ("read_enclosing", {"absolute_file_path": "src/cart.py", "line": 99}, "14"),
        ("search_content", {"absolute_file_path": "app.log", "pattern": ""}, "empty"),
        (
            "search_content",
            {"absolute_file_path": "app.log", "pattern": "a(b", "regex": True},
            r"\bposition|\bat\b|column",
        ),
        ("search_content", {"absolute_file_path": "app.log", "pattern": "a", "max_results": 101}, "`max_results`"),
        ("search_content", {"absolute_file_path": "app.log", "pattern": "a", "cursor": "zzz"}, "cursor"),
        ("search_directory", {"absolute_dir_path": "app.log", "pattern": "a"}, "not a folder"),
        ("list_directory", {"absolute_dir_path": "src", "cursor": "1-00000000"}, "cursor"),
    ],
)
def test_bad_input_is_refused_in_words_that_say_what_to_do(
    workspace: Workspace, tool: str, arguments: dict[str, Any], said: str
) -> None:
    text = refusal(workspace, tool, **arguments)
    assert text.startswith(f"{tool} failed: ")
    assert re.search(said, text), text


def test_calls_run_beside_one_another(workspace: Workspace) -> None:
    async def many() -> None:
        async with client(workspace) as connected, anyio.create_task_group() as group:
            for tool, arguments, _ in CALLS * 4:
                group.start_soon(connected.call_tool, tool, arguments)

    anyio.run(many)


@pytest.mark.parametrize("era", ERAS)
def test_cancelled_calls_hold_up_no_other(workspace: Workspace, era: str) -> None:
    stuck, started = threading.Event(), threading.Semaphore(0)

    def wait(session: Session, given: Given) -> Reply:
        started.release()
        stuck.wait()
        return Reply("late")

    waiting = Tool("wait", "Waits.", (), wait, {"type": "object"})
    server = build_server(Session(workspace), (waiting, ALL["index_status"]))

    async def cancel_all_and_ask_again() -> None:
        async with Client(server, mode=era) as connected:
            async with anyio.create_task_group() as group:
                for _ in range(CALLS_AT_ONCE):
                    group.start_soon(connected.call_tool, "wait", {})
                for _ in range(CALLS_AT_ONCE):
                    await anyio.to_thread.run_sync(started.acquire)
                group.cancel_scope.cancel()
            assert "root" in text_of(await connected.call_tool("index_status", {}))

    try:
        anyio.run(cancel_all_and_ask_again)
    finally:
        stuck.set()
