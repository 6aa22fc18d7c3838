#!/usr/bin/env python3
"""How often edit_content's finding is right: stale words must place nothing, format slips must be placed rightly.

Blocks of 1 to 8 lines are drawn from the sources below the trees, with a fixed seed. *Stale*: one identifier or number
of the block is changed; nothing may be written. *Slips*: indentation, trailing blanks, blanks within lines, quotes or
empty lines of the block are changed, and it is asked to change a line and to add one; the file must be what the same
change of the block itself makes of it. *Misses*: the time in which a miss in 10 MB of these sources is explained.

    scripts/bench/edit_finding.py /usr/lib/python3 /usr/src/linux-source-6.1/mm --write
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time

from common import REPOSITORY, write_result

from linedex_server.edit.content.document import Document
from linedex_server.edit.find.locate import Wanted, place
from linedex_server.edit.find.verdicts import ChangesNotPlaced

sys.path.insert(0, str(REPOSITORY / "tests" / "linedex_server" / "edit"))
from drawn_blocks import ADDED, MARK, Block, alone, draw, slipped, stale

SEED = 4
_MOST_FILE = 200_000


def sources(trees: Sequence[Path]) -> list[Path]:
    """Return the C and Python sources below some trees, in order."""
    return sorted(
        path
        for tree in trees
        for pattern in ("*.py", "*.[ch]")
        for path in tree.rglob(pattern)
        if path.is_file() and 500 < path.stat().st_size < _MOST_FILE
    )


def blocks(paths: Sequence[Path], chance: random.Random) -> Iterator[Block]:
    """Yield blocks at random, without end."""
    while True:
        path = chance.choice(paths)
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        if "\r" in text or "\f" in text:
            continue
        block = draw(str(path), tuple(text.split("\n")), chance)
        if block:
            yield block


def edited(text: str, search: str, replace: str) -> str | None:
    """Return what a change makes of a text, or None if it is refused."""
    content = text.encode()
    document = Document.detected(lambda offset, size: content[offset : offset + size], len(content))
    try:
        (placed,) = place(document, [Wanted(search, replace)], lambda _: (), shown="the file")
    except ChangesNotPlaced:
        return None
    for _, changes in placed.parts:
        for change in sorted(changes, key=lambda one: one.start, reverse=True):
            text = text[: change.start] + change.new + text[change.end :]
    return text


def run_stale(paths: Sequence[Path], draws: int) -> list[str]:
    """Return each stale search that was written."""
    chance = random.Random(SEED)
    wrong: list[str] = []
    done = 0
    for block in blocks(paths, chance):
        search = stale(block, chance)
        if search is None or not search.strip():
            continue
        done += 1
        if edited("\n".join(block.lines), search, search + "X") is not None:
            wrong.append(f"{block.name}:{block.first + 1}: {search!r}")
        if done == draws:
            return wrong
    return wrong


def run_slips(paths: Sequence[Path], draws: int) -> tuple[Counter[str], Counter[str], list[str], list[str]]:
    """Return (drawn, right) by kind, and each miss and each wrong place."""
    chance = random.Random(SEED + 1)
    drawn, right = Counter[str](), Counter[str]()
    missed: list[str] = []
    wrong: list[str] = []
    for block in blocks(paths, chance):
        one = slipped(block, chance) if alone(block) else None
        if one is None:
            continue
        drawn[one.kind] += 1
        found = edited("\n".join(block.lines), one.search, one.replace)
        told = f"{block.name}:{block.first + 1}: {one.kind}\n  drawn  {block.drawn!r}\n  search {one.search!r}"
        if found is None:
            missed.append(told)
        elif found != one.expected:
            made = [line for line in found.split("\n") if MARK in line or ADDED in line]
            wrong.append(f"{told}\n  made   {made!r}")
        else:
            right[one.kind] += 1
        if drawn.total() == draws:
            break
    return drawn, right, missed, wrong


def time_misses(paths: Sequence[Path], draws: int) -> list[tuple[float, float]]:
    """Return the seconds that misses in 10 MB of sources take, explanation included: (of wall time, of processor)."""
    chance = random.Random(SEED + 2)
    parts: list[str] = []
    size = 0
    for path in chance.sample(paths, len(paths)):
        try:
            parts.append(path.read_bytes().decode().replace("\r", ""))
        except UnicodeDecodeError:
            continue
        size += len(parts[-1])
        if size >= 10_000_000:
            break
    text = "".join(parts)
    lines = tuple(text.split("\n"))
    times: list[tuple[float, float]] = []
    while len(times) < draws:
        height = chance.randint(1, 12)
        first = chance.randrange(len(lines) - height)
        search = stale(Block("", lines, first, first + height), chance)
        if search and search.strip():
            began, worked = perf_counter(), process_time()
            edited(text, search, search + "X")
            times.append((perf_counter() - began, process_time() - worked))
    return times


def spread(seconds: Sequence[float]) -> str:
    """Return the median and the most of some times."""
    return f"median {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s"


def main() -> None:
    """Print the figures, and each place that was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--misses", action="store_true", help="print each slip that was not placed")
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    options = parser.parse_args()
    paths = sources(options.trees)
    written = run_stale(paths, options.draws)
    drawn, right, missed, wrong = run_slips(paths, options.draws)
    times = time_misses(paths, 20)
    lines = [
        f"{len(paths):,} C and Python sources of {', '.join(tree.name for tree in options.trees)}; seed {SEED}.",
        "",
        f"- stale words: {len(written)} of {options.draws:,} written",
        f"- format slips: {right.total():,} of {drawn.total():,} right, {len(missed)} refused, {len(wrong)} wrong",
        *(f"  - {kind}: {right[kind]} of {count}" for kind, count in sorted(drawn.items())),
        f"- a miss in 10 MB, explained (20 searches), in wall time: {spread([wall for wall, _ in times])}",
        f"- the same in processor time: {spread([worked for _, worked in times])}",
    ]
    text = "\n".join(lines)
    print(text, *written, *wrong, *(missed if options.misses else ()), sep="\n")
    if options.write:
        print(write_result("edit-finding", text))
    if written or wrong or right.total() < 0.97 * drawn.total():
        raise SystemExit(1)


if __name__ == "__main__":
    main()
