#!/usr/bin/env python3
"""Change a hostile tree at random, edit it, ask from several clients at once, and compare each answer with reading.

A round makes some changes behind the index's back and some edits, then asks many questions from threads while nothing
changes; each answer is compared exactly with the model's. Two thirds of the trials ask the library and edit through the
edit engine; in the others three MCP clients of one daemon do both (`--mcp`, `--no-mcp` choose). At times the index is
closed and opened again, killed while it builds, damaged or removed, checked against the files, and compared with one
made anew. Limits are so small that files of some kilobytes are large ones. A failing run prints its seed and what was
done last, and keeps its folder.

    scripts/bench/endure.py --seed 7 --steps 100000
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from trials.subjects import Wrong, only_index, serve, shrink
from trials.trial import Trial


def trial(
    seed: int,
    steps: int,
    seconds: float = 1e9,
    base: Path | None = None,
    counts: collections.Counter[str] | None = None,
    served: bool | None = None,
) -> None:
    """Run one trial in a folder of its own.

    Args:
        seed: of the run.
        steps: operations after which it ends.
        seconds: time after which it ends.
        base: where to make its folder.
        counts: where operations are counted by kind.
        served: whether a daemon with clients is tried; None lets the seed decide.

    Raises:
        Wrong: an answer or the index was not as it should be; the folder is kept.
    """
    folder = Path(tempfile.mkdtemp(prefix="linedex-endure-", dir=base or memory()))
    undo = shrink()
    one = None
    try:
        one = Trial(folder, seed, served, collections.Counter() if counts is None else counts)
        one.run(steps, seconds)
    except Wrong as wrong:
        if one is None:
            raise
        last = "\n".join(one.world.changes[-60:])
        raise Wrong(f"seed {seed} after {one.operations} operations, in {folder}\n{last}\n{wrong}") from None
    finally:
        undo()
        if one is not None:
            one.close()
    shutil.rmtree(folder)


def memory() -> Path | None:
    """Return a folder in memory, None for the system's own place for such folders."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else None


def main() -> None:
    """Run seed after seed until the time or the operations are used up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=None, help="of the first trial; drawn if not given")
    parser.add_argument("--steps", type=int, default=20_000, help="operations of each trial")
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="for all trials")
    parser.add_argument("--folder", type=Path, help="where the trees are made")
    parser.add_argument("--only-index", type=Path, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--mcp", action=argparse.BooleanOptionalAction, help="every trial over MCP, or none")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
    if asked.only_index:
        only_index(*asked.only_index)
        return
    first = random.SystemRandom().randrange(1 << 31) if asked.seed is None else asked.seed
    began, counts = time.monotonic(), collections.Counter[str]()
    failed = 0
    for seed in range(first, first + asked.trials):
        left = began + asked.seconds - time.monotonic()
        if left <= 0:
            break
        print(f"seed {seed}", flush=True)
        try:
            trial(seed, sum(counts.values()) + asked.steps, left, asked.folder, counts, asked.mcp)
        except Wrong as wrong:
            failed += 1
            print(f"WRONG: {wrong}", flush=True)
        total, took = sum(counts.values()), time.monotonic() - began
        print(
            f"{total:,} operations, {took:.0f} s, {total / took:.0f} a second, {time.process_time():.0f} s cpu",
            flush=True,
        )
    for kind, count in sorted(counts.items()):
        print(f"- {kind}: {count:,}")
    if failed:
        sys.exit(os.EX_DATAERR)


if __name__ == "__main__":
    main()
