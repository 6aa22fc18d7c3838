#!/usr/bin/env python3
"""Draw random calls of every edit tool over a few files, and compare all bytes with a plain model after each.

Encodings, line ends, BOMs and stray bytes are drawn too; another program writes in between; steps are taken back by
order and by id. A call that the model refuses must be refused, and leave every file as it was.

    scripts/bench/edit_random.py --operations 20000 --write
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from pathlib import Path

import anyio
from bridge import LINEDEX
from common import fresh_folder, ran, write_result
from mcp import Client, StdioServerParameters
from random_edits import one_operation
from random_world import World, drawn_file


async def drive(options: argparse.Namespace, root: Path, state: Path) -> World:
    """Make all the calls."""
    alone = ("--no-daemon",) if options.no_daemon else ()
    command = StdioServerParameters(
        command=LINEDEX[0],
        args=[*LINEDEX[1:], "mcp", *alone, "--root", str(root), "--tools", "all"],
        env={**os.environ, "LINEDEX_STATE_DIR": str(state)},
        cwd=str(root),
    )
    async with Client(command, mode=options.era, read_timeout_seconds=600) as client:
        world = World(root, client, random.Random(options.seed))
        for number in range(options.files):
            name = f"f{number}.txt"
            encoding, content = drawn_file(world)
            world.foreign(name, content, encoding)
        while sum(world.counts.values()) < options.operations:
            await one_operation(world)
        return world


def main() -> None:
    """Draw, compare, and say what was called."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--operations", type=int, default=20_000, help="calls, and writes by others")
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--era", choices=("auto", "legacy"), default="auto", help="of the protocol")
    parser.add_argument("--no-daemon", action="store_true")
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    options = parser.parse_args()
    folder = fresh_folder()
    root, state = folder / "root", folder / "state"
    root.mkdir()
    began = time.perf_counter()
    try:
        world = anyio.run(drive, options, root, state)
    finally:
        ran(*LINEDEX, "stop", env={**os.environ, "LINEDEX_STATE_DIR": str(state)}, check=False)
    seconds = time.perf_counter() - began
    asked = world.counts["get_overview"]
    total = sum(world.counts.values())
    listed = ", ".join(f"{tool} {count:,}" for tool, count in sorted(world.counts.items()))
    text = (
        f"`scripts/bench/edit_random.py {' '.join(sys.argv[1:])}`\n\n"
        f"{total:,} operations ({asked:,} of them only ask for the encoding) on {options.files} files in "
        f"{seconds:.0f} s; after each, every file held the bytes of the model, and none lay beside them.\n\n{listed}.\n"
    )
    print(text)
    if options.write:
        print(write_result("edit-random", text))


if __name__ == "__main__":
    main()
