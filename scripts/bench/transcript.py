#!/usr/bin/env python3
"""Talk to `linedex mcp` as a client does, and write down what was said: every tool, in both eras of the protocol.

The client is the one of the `mcp` package, over stdio, against a process of its own. Long answers are cut in the
transcript (and marked), never in the protocol. What is written is one new file in the tree, which is taken back.

    scripts/bench/transcript.py /usr/lib/python3.11 --file json/decoder.py --symbol JSONDecoder.decode \
        --pattern 'raw_decode(' --wait > docs/tour.md
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

ERAS = (("auto", "without a handshake"), ("legacy", "with the `initialize` handshake"))
LONGEST = 24
"""Lines of an answer written down."""


NOTES = "tour-notes.py"
"""The file that is written."""
FIRST = '"""Prices."""\n\n\ndef total(cart):\n\treturn sum(cart)\n\n\n# BEGIN GENERATED\nRATE = 19\n# END GENERATED\n'


def calls(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls that read."""
    file, symbol = options.file, options.symbol
    yield "index_status", {}
    yield "list_directory", {"absolute_dir_path": str(Path(file).parent), "max_entries": 12}
    yield "find_files", {"name": Path(file).name, "max_results": 5}
    yield "get_overview", {"absolute_file_path": file}
    yield "find_symbol", {"name": symbol, "max_results": 5}
    yield (
        "search_directory",
        {"absolute_dir_path": ".", "pattern": options.pattern, "max_results": 5, "context_lines": 1},
    )
    yield "search_content", {"absolute_file_path": file, "pattern": options.pattern, "max_results": 3}
    yield "read_content", {"absolute_file_path": file, "pattern": options.pattern, "limit": 12}
    yield "read_enclosing", {"absolute_file_path": file, "line": options.line}


def edits() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls that write; `SESSION` and `UNDO` stand for what the answer before named so."""
    yield "write_full_text", {"path": NOTES, "content": FIRST}
    slip = {
        "search": "def total(cart):\n    return sum(cart)",
        "replace": "def total(cart):\n    return round(sum(cart), 2)",
    }
    yield "edit_content", {"absolute_file_path": NOTES, "changes": [slip]}
    yield "edit_content", {"absolute_file_path": NOTES, "changes": [slip], "preview": False}
    stale = {"search": "return round(sum(basket), 2)", "replace": "return 0"}
    yield "edit_content", {"absolute_file_path": NOTES, "changes": [stale], "preview": False}
    yield "apply_text_edits", {"path": NOTES, "edits": [{"start_line": 2, "end_line": 1, "new_text": "import math"}]}
    yield (
        "apply_text_spans",
        {
            "path": NOTES,
            "spans": [{"start_offset": 3, "end_offset": 9, "new_text": "Sums", "expected_old_text": "Prices"}],
        },
    )
    yield "replace_literal", {"path": NOTES, "old_text": "cart", "new_text": "basket", "expected_occurrences": None}
    yield "replace_regex", {"path": NOTES, "pattern": r"^(RATE) = (\d+)$", "replacement": r"\1: int = \2"}
    markers = {"start_marker": "# BEGIN GENERATED", "end_marker": "# END GENERATED"}
    yield "replace_block", {"path": NOTES, **markers, "replacement": "RATE = 7"}
    yield "read_content", {"absolute_file_path": NOTES}
    yield "begin_write_session", {"path": NOTES}
    yield "append_write_chunk", {"session_id": "SESSION", "content": "print('one')\n"}
    yield "append_write_chunk", {"session_id": "SESSION", "content": "print('two')\n"}
    yield "commit_write_session", {"session_id": "SESSION"}
    yield "begin_write_session", {"path": NOTES}
    yield "abort_write_session", {"session_id": "SESSION"}
    yield "revert_edit", {"absolute_file_path": NOTES}
    yield "edit_history", {"path": NOTES, "limit": 3}
    yield "revert_edit", {"absolute_file_path": NOTES, "backup_id": "UNDO"}


def shortened(text: str) -> str:
    """Return an answer as the transcript shows it: its first lines and its last one."""
    lines = text.split("\n")
    if len(lines) <= LONGEST:
        return text
    return "\n".join([*lines[: LONGEST - 2], f"    ... {len(lines) - LONGEST + 1} more lines ...", lines[-1]])


async def settled(client: Client) -> None:
    """Wait until every root is indexed."""
    while True:
        (block,) = (await client.call_tool("index_status", {})).content
        if ": up to date\n" in block.text:
            return
        await anyio.sleep(0.5)


async def talk(options: argparse.Namespace, era: str, state: str) -> None:
    """Hold one conversation and print it."""
    server = [*options.server, "mcp", "--no-daemon", "--tools", "all", "--root", str(options.root)]
    environ = {**os.environ, "LINEDEX_STATE_DIR": state}
    began = time.perf_counter()
    async with Client(StdioServerParameters(command=server[0], args=server[1:], env=environ), mode=era) as client:
        print(f"Protocol {client.protocol_version}; ready after {(time.perf_counter() - began) * 1000:.0f} ms.\n")
        print(f"Tools: {', '.join(tool.name for tool in (await client.list_tools()).tools)}.\n")
        if options.wait:
            await settled(client)
        named: dict[str, str] = {}
        for tool, asked in [*calls(options), *edits()]:
            arguments = {
                name: named.get(value, value) if isinstance(value, str) else value for name, value in asked.items()
            }
            began = time.perf_counter()
            result = await client.call_tool(tool, arguments)
            took = (time.perf_counter() - began) * 1000
            (block,) = result.content
            fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", block.text)), 3)
            print(f"### {tool}\n\n`{json.dumps(arguments, ensure_ascii=False)}` ({took:.0f} ms)\n")
            print(f"{fence}text\n{shortened(block.text)}\n{fence}\n")
            named.update({"SESSION": found[1]} if (found := re.search(r"Session: (\w+)", block.text)) else {})
            if tool == "write_full_text":
                named["UNDO"] = block.text.rsplit("undo ", 1)[1].rstrip("]")
            # one search is stale on purpose
            if result.is_error and "basket" not in json.dumps(arguments):
                sys.exit(f"{tool} failed in the era {era}")


def main() -> None:
    """Write the transcript to standard output."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("root", type=Path, help="the tree to serve")
    parser.add_argument("--file", required=True, help="a source file in it, relative to the tree")
    parser.add_argument("--symbol", required=True, help="a symbol defined in the tree")
    parser.add_argument("--pattern", required=True, help="a text that occurs in the file")
    parser.add_argument(
        "--line", type=int, help="a line of the file inside a symbol; the first with the text if not given"
    )
    parser.add_argument("--wait", action="store_true", help="wait until the tree is indexed before asking")
    parser.add_argument("--state", help="the state folder; a fresh one if not given")
    parser.add_argument(
        "--server", nargs="+", default=[sys.executable, "-m", "linedex_server"], help="the program to start"
    )
    options = parser.parse_args()
    if options.line is None:
        lines = (options.root / options.file).read_text(encoding="utf-8", errors="replace").split("\n")
        options.line = next(number for number, line in enumerate(lines, 1) if options.pattern in line)
    print("# A conversation with linedex\n")
    with tempfile.TemporaryDirectory() as fresh:
        for era, how in ERAS:
            print(f"## {how[0].upper()}{how[1:]}\n")
            anyio.run(talk, options, era, options.state or fresh)


if __name__ == "__main__":
    main()
