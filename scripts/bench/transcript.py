#!/usr/bin/env python3
"""Talk to `linedex mcp` as a client does, then use the command line, and write down what was said.

Every tool is called, over stdio, by the client of the `mcp` package; a second time in the other era of the protocol,
where each answer must be the same but for times and ids. Long answers are cut in the transcript (and marked), never in
the protocol. The tree gets one new file, which is taken back; the log grows and is renamed, so both should be copies:

    scripts/bench/logs.py 50 ~/logs/app.log && cp -r /usr/lib/python3.11 ~/stdlib
    scripts/bench/transcript.py ~/stdlib --log ~/logs/app.log --file json/decoder.py --symbol JSONDecoder.decode \
        --pattern 'raw_decode(' --wait > docs/tour.md
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

ERAS = ("auto", "legacy")
LONGEST = 24
"""Lines of an answer written down."""
WIDEST = 150
"""Characters of a line written down."""
_ROOTS = 2
VARYING = re.compile(
    r"\d+(\.\d+)? m?s\b|undo \w+|steps? \w+|\b[0-9a-f]{32}\b|(?m:^\w+  [\d-]+ [\d:]+Z)|\(und\w+( by)? \w+\)|r=\w+\]"
    r"|sidecar [\d.]+ \w+"
)
"""Times, ids and sizes of the index, which differ between two conversations."""

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
    log = str(options.log)
    yield "get_overview", {"absolute_file_path": log}
    yield "log_timeline", {"absolute_path": log, "max_buckets": 6}
    yield "log_timeline", {"absolute_path": log, "pattern": "timeout", "level": "error", "max_buckets": 3}
    yield "log_patterns", {"absolute_file_path": log, "level": "error", "max_results": 3}
    yield (
        "search_content",
        {"absolute_file_path": log, "pattern": "timeout", "level": "error", "since": "-1m", "context_lines": 0},
    )
    yield "read_content", {"absolute_file_path": log, "at": "01:30", "limit": 2}
    yield "read_content", {"absolute_file_path": log, "mode": "tail", "limit": 2}


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
    lines = [line if len(line) <= WIDEST else line[: WIDEST - 1] + "…" for line in text.rstrip("\n").split("\n")]
    if len(lines) <= LONGEST:
        return "\n".join(lines)
    return "\n".join([*lines[: LONGEST - 2], f"    ... {len(lines) - LONGEST + 1} more lines ...", lines[-1]])


async def settled(client: Client) -> None:
    """Wait until every root is indexed."""
    while True:
        (block,) = (await client.call_tool("index_status", {})).content
        if block.text.count(": up to date\n") == _ROOTS:
            return
        await anyio.sleep(0.5)


async def talk(options: argparse.Namespace, era: str, state: str) -> tuple[str, list[tuple[str, str, str]]]:
    """Hold one conversation; return how it began, and of each call its tool, how it was called, and the answer."""
    roots = [word for root in (options.root, options.log.parent) for word in ("--root", str(root))]
    server = [*options.server, "mcp", "--no-daemon", "--tools", "all", *roots]
    environ = {**os.environ, "LINEDEX_STATE_DIR": state}
    began = time.perf_counter()
    said = []
    async with Client(StdioServerParameters(command=server[0], args=server[1:], env=environ), mode=era) as client:
        ready = (time.perf_counter() - began) * 1000
        start = f"Protocol {client.protocol_version}, in a process of its own that was ready after {ready:.0f} ms"
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
            said.append((tool, f"`{json.dumps(arguments, ensure_ascii=False)}` ({took:.0f} ms)", block.text))
            named.update({"SESSION": found[1]} if (found := re.search(r"Session: (\w+)", block.text)) else {})
            if tool == "write_full_text":
                named["UNDO"] = block.text.rsplit("undo ", 1)[1].rstrip("]")
            # one search is stale on purpose
            if result.is_error and "basket" not in json.dumps(arguments):
                sys.exit(f"{tool} failed in the era {era}: {block.text}")
    return start, said


def fenced(text: str, language: str = "text") -> str:
    """Return a block of Markdown that holds `text`, whatever is in it."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}{language}\n{text}\n{fence}\n"


def conversation(options: argparse.Namespace, state: str) -> None:
    """Print the conversation in one era, and compare it with that in the other.

    Raises:
        SystemExit: the answers differ.
    """
    (start, said), (other_start, other) = (anyio.run(talk, options, era, state) for era in ERAS)
    print(f"## An assistant's side\n\n{start}. Each call is shown with its arguments and the time it took.\n")
    for tool, asked, answer in said:
        print(f"### {tool}\n\n{asked}\n\n{fenced(shortened(answer))}")
    for one, two in zip_longest(said, other):
        if one is None or two is None or VARYING.sub("", one[2]) != VARYING.sub("", two[2]):
            sys.exit(f"the eras differ:\n{one}\n{two}")
    print("### The other era of the protocol\n")
    print(f"{other_start}: the same {len(said)} calls gave the same answers, but for times and ids.\n")


def commands(options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield what a person types, in the folder above the tree."""
    tree, log = options.root.name, str(options.log.relative_to(options.root.parent))
    yield ["index", tree, str(Path(log).parent)]
    yield ["search", "-w", options.pattern.rstrip("("), tree]
    yield ["symbols", options.symbol, tree]
    yield ["read", f"{tree}/{options.file}:{options.line}", "-C", "1"]
    yield ["log", log, "-m", "6"]
    yield ["log", log, "-e", "timeout|refused", "--level", "error", "-m", "3"]
    yield ["search", "--since", "-20s", "--level", "error", "timeout", log]
    yield ["history", "-m", "3"]
    yield ["status"]


def terminal(options: argparse.Namespace, state: str) -> None:
    """Print what the command line answers."""
    environ = {**os.environ, "LINEDEX_STATE_DIR": state}
    print("## A person's side\n")
    for words in commands(options):
        done = subprocess.run(
            [*options.server, *words],
            env=environ,
            cwd=options.root.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        print(fenced(shortened(f"$ linedex {shlex.join(words)}\n{done.stdout}"), "console"))
    print("`tail -f` while two lines are added, the file is renamed, and another takes its place:\n")
    words = ["tail", "-n", "1", "-f", str(options.log.relative_to(options.root.parent)), "ERROR|FATAL"]
    print(fenced(shortened(f"$ linedex {shlex.join(words)}\n{followed(options, words, environ)}"), "console"))


def followed(options: argparse.Namespace, words: list[str], environ: dict[str, str]) -> str:
    """Return what `tail -f` prints through a rotation; the log is the old one again afterwards."""
    log, aside = options.log, options.log.with_name(f"{options.log.name}.1")
    heard = []
    with subprocess.Popen(
        [*options.server, *words],
        env=environ,
        cwd=options.root.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None

        def listen(until: str) -> None:
            while until not in (line := process.stdout.readline()):
                heard.append(line)
            heard.append(line)

        def write(text: str) -> None:
            with log.open("a") as file:
                file.write(text)

        write("2026-01-01T02:02:44.000 ERROR [cart-1] before tail began\n")
        # the first line may be printed before or after what is written above; both are heard
        listen("before tail began")
        write(
            "2026-01-01T02:02:45.100 INFO  [cart-1] not asked for\n2026-01-01T02:02:45.200 ERROR [cart-1] disk full\n"
        )
        listen("disk full")
        log.rename(aside)
        write("2026-01-01T02:02:46.300 FATAL [cart-1] in the new file\n")
        listen("in the new file")
        process.send_signal(signal.SIGINT)
        heard.extend(process.stdout)
    aside.replace(log)
    return "".join(heard)


def main() -> None:
    """Write the transcript to standard output.

    Raises:
        SystemExit: a call failed, or the eras of the protocol differ.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("root", type=Path, help="the tree to serve, a copy")
    parser.add_argument(
        "--log", type=Path, required=True, help="a log that may be changed, in a folder beside the tree"
    )
    parser.add_argument("--file", required=True, help="a source file in it, relative to the tree")
    parser.add_argument("--symbol", required=True, help="a symbol defined in the tree")
    parser.add_argument("--pattern", required=True, help="a text that occurs in the file")
    parser.add_argument(
        "--line", type=int, help="a line of the file inside a symbol; the first with the text if not given"
    )
    parser.add_argument("--wait", action="store_true", help="wait until the tree is indexed before asking")
    parser.add_argument("--python", default="3.11", help="which standard library the tree is")
    parser.add_argument("--state", help="the state folder; a fresh one if not given")
    parser.add_argument(
        "--server", nargs="+", default=[sys.executable, "-m", "linedex_server"], help="the program to start"
    )
    options = parser.parse_args()
    if options.line is None:
        lines = (options.root / options.file).read_text(encoding="utf-8", errors="replace").split("\n")
        options.line = next(number for number, line in enumerate(lines, 1) if options.pattern in line)
    print("# A tour with true output\n")
    print("Written by `scripts/bench/transcript.py`, on a copy of the standard library of")
    size = options.log.stat().st_size / 1e6
    print(f"Python {options.python} and a log of {size:.0f} MB made by `scripts/bench/logs.py`.")
    print("Long answers and lines are cut here, which `...` and `…` mark.\n")
    with tempfile.TemporaryDirectory() as fresh:
        conversation(options, options.state or fresh)
        terminal(options, options.state or fresh)


if __name__ == "__main__":
    main()
