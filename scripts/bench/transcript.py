#!/usr/bin/env python3
"""Talk to `linedex mcp` as a client does, and write down what was said: every tool, in both eras of the protocol.

The client is the one of the `mcp` package, over stdio, against a process of its own. Long answers are cut in the
transcript (and marked), never in the protocol.

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


def calls(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the nine calls."""
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
    server = [*options.server, "mcp", "--no-daemon", "--root", str(options.root)]
    environ = {**os.environ, "LINEDEX_STATE_DIR": state}
    began = time.perf_counter()
    async with Client(StdioServerParameters(command=server[0], args=server[1:], env=environ), mode=era) as client:
        print(f"Protocol {client.protocol_version}; ready after {(time.perf_counter() - began) * 1000:.0f} ms.\n")
        print(f"Tools: {', '.join(tool.name for tool in (await client.list_tools()).tools)}.\n")
        if options.wait:
            await settled(client)
        for tool, arguments in calls(options):
            began = time.perf_counter()
            result = await client.call_tool(tool, arguments)
            took = (time.perf_counter() - began) * 1000
            (block,) = result.content
            fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", block.text)), 3)
            print(f"### {tool}\n\n`{json.dumps(arguments, ensure_ascii=False)}` ({took:.0f} ms)\n")
            print(f"{fence}text\n{shortened(block.text)}\n{fence}\n")
            if result.is_error:
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
