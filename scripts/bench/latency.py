#!/usr/bin/env python3
"""Time queries over MCP beside ripgrep (and csearch, where it has an index), in turn, on a warm tree.

What linedex spends on comparing the files with its index before the query is shown by itself: a watcher will do it.

    scripts/bench/latency.py /usr/src/linux-source-6.1 --write
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import anyio
from common import fresh_folder, median_ratio, query_milliseconds, ran, served, told, write_result
from mcp import Client

QUERIES = (
    ("rare literal", "devm_clk_bulk_get_optional", {}, "1/20"),
    ("rare literal, any case", "DEVM_clk_bulk_get_OPTIONAL", {"case_sensitive": False}, "1/20"),
    ("absent literal", "xyzzy_not_there_42", {}, "1/20"),
    ("rare regex", r"clk_bulk_get_\w+\(.*num_clks", {"regex": True}, "1/20"),
    ("rare regex, alternation", r"(rhashtable_walk_peek|klist_iter_init_node)\s*\(", {"regex": True}, "1/20"),
    ("rare word", "kthread_bind_mask", {"word": True}, "1/20"),
    ("common word, first page", "return", {}, "1/10"),
    ("common regex, first page", r"static int \w+_probe\(", {"regex": True}, "1/10"),
    ("count of TODO", "TODO", {"output_mode": "count"}, "1"),
    ("count of mutex_lock", "mutex_lock", {"output_mode": "count"}, "-"),
)


def rg(root: Path, pattern: str, options: dict[str, object]) -> float:
    """Run ripgrep for the same question; return its wall time in seconds."""
    flags = [] if options.get("regex") else ["-F"]
    flags += ["-i"] if options.get("case_sensitive") is False else []
    flags += ["-w"] if options.get("word") else []
    flags += ["-c"] if options.get("output_mode") == "count" else ["-n"]
    began = time.perf_counter()
    ran("rg", "-a", "--crlf", "--no-config", *flags, "-e", pattern, ".", cwd=root, check=False)
    return time.perf_counter() - began


async def ask(client: Client, root: Path, pattern: str, options: dict[str, object]) -> tuple[float, float, float, str]:
    """Ask over MCP; return seconds of the call, of the query, of the check before it, and the last line."""
    asked = {"case_sensitive": True, "context_lines": 0, **options}
    began = time.perf_counter()
    answer = await told(client, "search_directory", absolute_dir_path=str(root), pattern=pattern, **asked)
    took = time.perf_counter() - began
    query, check = query_milliseconds(answer)
    return took, query / 1000, check / 1000, answer.rsplit("\n", 1)[-1]


async def changes(client: Client, root: Path, count: int) -> str:
    """Write a file of `root` again and again, each time ask for what is new in it, and say how long that took."""
    path, took = root / "linedex_latency_change.c", []
    try:
        for number in range(count + 1):
            token = f"linedex_{time.time_ns():x}_{number}"
            path.write_text(f"int {token};\n")
            began = time.perf_counter()
            answer = await told(client, "search_directory", absolute_dir_path=str(root), pattern=token, word=True)
            took.append(time.perf_counter() - began)
            assert path.name in answer, answer
    finally:
        path.unlink(missing_ok=True)
    # the first call of a session loads what the next ones have
    milliseconds = sorted(seconds * 1000 for seconds in took[1:])
    middle, high = milliseconds[len(milliseconds) // 2], milliseconds[-1 - len(milliseconds) // 20]
    figures = f"p50 {middle:.1f}, p95 {high:.1f}, worst {milliseconds[-1]:.1f} ms"
    return f"A file changed, then searched for what is new, {count} times: {figures}."


async def measure(options: argparse.Namespace) -> None:
    """Ask everything `--runs` times and print the table."""
    root = options.root.resolve()
    rows = [
        "| query | linedex call less the check, ms | the query in it, ms | check, ms | rg, ms | linedex/rg | asked |",
        "|---|---|---|---|---|---|---|",
    ]
    async with served(root, options.state or fresh_folder()) as client:
        for name, pattern, flags, wanted in QUERIES:
            await ask(client, root, pattern, flags)
            rg(root, pattern, flags)
            ours, queries, checks, theirs = [], [], [], []
            for _ in range(options.runs):
                took, query, check, last = await ask(client, root, pattern, flags)
                ours.append(took - check)
                queries.append(query)
                checks.append(check)
                theirs.append(rg(root, pattern, flags))
            figures = " | ".join(f"{statistics.median(times) * 1000:.1f}" for times in (ours, queries, checks, theirs))
            rows.append(
                f"| {name}: `{pattern}` | {figures} | {median_ratio(ours, theirs)} | {wanted} |".replace("||", "| |")
            )
            print(rows[-1], last, sep="\n", flush=True)
        changed = await changes(client, root, options.changes) if options.changes else ""
        print(changed)
    text = "\n".join(row.replace("|rhash", "\\|rhash").replace("peek|klist", "peek\\|klist") for row in rows)
    if options.write:
        print(
            write_result(
                "latency", f"Tree: {root.name}; median of {options.runs}, in turn.\n\n{text}\n\n{changed}".rstrip()
            )
        )


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--state", type=Path, help="a state folder that may hold the index already")
    parser.add_argument("--changes", type=int, default=0, help="write a file of ours there so often, and search for it")
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    anyio.run(measure, parser.parse_args())


if __name__ == "__main__":
    main()
