#!/usr/bin/env python3
"""Change a hostile tree at random, edit it, ask from several clients at once, and compare each answer with reading.

A round makes some changes behind the index's back and some through the edit engine, then asks many questions from
threads while nothing changes; each answer is compared exactly with the model's. At times the index is closed and
opened again, killed while it builds, damaged or removed, checked against the files, and compared with one made anew.
Limits are so small that files of some kilobytes are large ones. A failing run prints its seed and what was done last,
and keeps its folder.

    scripts/bench/endure.py --seed 7 --steps 100000
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from endure_answers import Question, same_hits
from endure_changes import change, create
from endure_edits import Edits
from endure_oracle import Oracle
from endure_world import World

from linedex.build import freshness
from linedex.build.contents import contents
from linedex.index import Index
from linedex.limits import Limits

LIMITS = Limits(
    large_file=2 << 10,
    block_bytes=512,
    block_slack=256,
    group_bytes=64 << 10,
    group_columns=64,
    batch_bytes=8 << 10,
    commit_bytes=64 << 10,
    staged_bytes=24 << 10,
    checkpoint_bytes=8 << 10,
    checkpoint_seconds=0.05,
    recheck_seconds=0.5,
    reconcile_seconds=20.0,
    log_part_bytes=1 << 10,
    log_zone="UTC",
    window_bytes=2 << 10,
    window_overlap=1 << 10,
    workers=0,
)
WAIT_SECONDS = 60.0
_CLIENTS = 4


class Wrong(Exception):
    """Something was not as it should be."""


@dataclass
class Trial:
    """One run.

    Attributes:
        folder: holds the tree, the sidecar and what lies beside them.
        seed: decides everything but the timing of threads.
        counts: operations by kind.
    """

    folder: Path
    seed: int
    counts: collections.Counter[str] = field(default_factory=collections.Counter)

    def __post_init__(self) -> None:
        self.root = self.folder / "root"
        self.sidecar = self.folder / "state" / "index.db"
        for made in (self.root, self.folder / "outside", self.folder / "state"):
            made.mkdir()
        (self.folder / "outside" / "out.txt").write_text("foo outside t1ax\n")
        self.draw = random.Random(self.seed)
        self.world = World(os.fsencode(self.root), os.fsencode(self.folder / "outside"), self.draw)
        if self.draw.random() < 0.1:
            self.world.large_lines = (300, 1_000, 3_000)
        self.oracle = Oracle(self.world, self.draw)
        for _ in range(40):
            create(self.world)
        self.index = self.opened()
        self.world.settle = self.settle
        self.edits = Edits(self.world, self.oracle, self.folder / "history", LIMITS)

    def opened(self) -> Index:
        """Return the started index."""
        index = Index(self.root, self.sidecar, LIMITS)
        index.start()
        return index

    @property
    def operations(self) -> int:
        """How many operations were made."""
        return sum(self.counts.values())

    def settle(self) -> None:
        """Let the index take in what was changed."""
        self.index.refresh()
        self.demand(self.index.wait(WAIT_SECONDS), "the index does not come to rest")

    def demand(self, holds: bool, told: str) -> None:
        """Stop unless all is as it should be."""
        if not holds:
            raise Wrong(told)

    def round(self, pool: ThreadPoolExecutor) -> None:
        """Change some, edit some, ask many."""
        draw = self.draw
        for _ in range(draw.choice((1, 2, 4, 12))):
            self.counts[f"change: {change(self.world)}"] += 1
        for _ in range(draw.choice((0, 0, 1, 2))):
            made = self.edits.edit(self.index, draw)
            if made:
                self.counts[f"edit: {made}"] += 1
        if draw.random() < 0.25:
            self.demand(self.index.wait(WAIT_SECONDS), "the index does not come to rest")
        drawn = [self.oracle.question() for _ in range(draw.choice((8, 24, 48)))]
        questions = [one for one in drawn if one is not None]
        for question, told in zip(questions, pool.map(self._asked, questions), strict=True):
            self._judge(question, told)

    def _asked(self, question: Question) -> object:
        try:
            return question.ask(self.index)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told with the question
            return Wrong("".join(traceback.format_exception(error)))

    def _judge(self, question: Question, told: object) -> None:
        if isinstance(told, Wrong):
            raise Wrong(f"{question.kind}: {question.told}\n{told}")
        if question.wanted is None or told is None:
            return
        self.counts[f"ask: {question.kind}"] += 1
        if question.kind.startswith("search"):
            right = same_hits(told, question.wanted, invert="invert=True" in question.told)
        else:
            right = told == question.wanted
        if isinstance(told, dict) and isinstance(question.wanted, dict):
            both = sorted({*told, *question.wanted})
            pairs = {path: (told.get(path, "nothing"), question.wanted.get(path, "nothing")) for path in both}
            wrong = {path: pair for path, pair in pairs.items() if not same_hits({path: pair[0]}, {path: pair[1]})}
            self.demand(right, f"{question.kind}: {question.told}\n  told, wanted: {wrong!r}")
        self.demand(right, f"{question.kind}: {question.told}\n  told   {told!r}\n  wanted {question.wanted!r}")

    # the life of the index

    def live(self) -> None:
        """Do something to the index itself."""
        kind = self.draw.choice(("reopen", "check", "fresh", "fresh", "kill", "kill", "delete", "damage"))
        self.counts[f"index: {kind}"] += 1
        if kind == "check":
            self.settle()
            wrong = self.index.check()
            self.demand(not wrong, f"check: {wrong}")
            return
        if kind in ("fresh", "kill"):
            self.settle()
            self.world.marks.clear()
        self.index.close()
        if kind == "fresh":
            self.equal_to_fresh()
        elif kind == "delete":
            for path in self.sidecar.parent.iterdir():
                if path.name.startswith(self.sidecar.name) and path.is_file():
                    path.unlink()
        elif kind == "damage":
            self.damage()
        elif kind == "kill":
            self.kill()
        self.index = self.opened()

    def kill(self) -> None:
        """Change some, and kill a process while it takes that in."""
        self.world.settle = self.built
        for _ in range(20):
            self.counts[f"change: {change(self.world)}"] += 1
        self.world.settle = self.settle
        command = [sys.executable, __file__, "--only-index", str(self.root), str(self.sidecar)]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as indexing:
            assert indexing.stdout is not None
            indexing.stdout.readline()
            with suppress(subprocess.TimeoutExpired):
                indexing.wait(self.draw.random() * 0.3)
            indexing.kill()

    def built(self) -> None:
        """Let the closed index take in what was changed."""
        with Index(self.root, self.sidecar, LIMITS) as index:
            index.build()

    def damage(self) -> None:
        """Write noise over the head of the sidecar, or cut it; a bit that flips inside of a column goes unnoticed."""
        size = self.sidecar.stat().st_size
        if self.draw.random() < 0.5:
            os.truncate(self.sidecar, self.draw.randrange(size + 1))
            return
        with self.sidecar.open("r+b") as file:
            file.seek(self.draw.choice((0, 16, 100)))
            file.write(self.draw.randbytes(self.draw.choice((8, 100, 5_000))))

    def equal_to_fresh(self) -> None:
        """Demand that the closed index says what one made anew says."""
        made = self.folder / "fresh" / "index.db"
        with Index(self.root, made, LIMITS) as fresh:
            fresh.build()
        ours, theirs = contents(self.sidecar), contents(made)
        shutil.rmtree(made.parent)
        if any(self.world.ignored(path) for path in ours if path != b"/"):
            # a file that was named by a question stays known, and so do the folders around it
            ours = {path: told for path, told in ours.items() if path != b"/" and not self.world.ignored(path)}
            theirs.pop(b"/")
        different = [path for path in {*ours, *theirs} if ours.get(path) != theirs.get(path)]
        self.demand(
            not different,
            f"not as a fresh index: {[(path, ours.get(path), theirs.get(path)) for path in different[:3]]}",
        )

    def run(self, steps: int, seconds: float) -> None:
        """Make rounds until there were so many operations, or time is up."""
        until = time.monotonic() + seconds
        rounds = 0
        with ThreadPoolExecutor(_CLIENTS) as pool:
            while self.operations < steps and time.monotonic() < until:
                self.round(pool)
                rounds += 1
                if rounds % 25 == 0:
                    self.live()
                if rounds % 100 == 0:
                    wrong = self.world.differences()
                    self.demand(not wrong, f"the model is not the disk: {wrong}")

    def close(self) -> None:
        """Close what is open."""
        self.index.close()
        self.edits.close()


def trial(
    seed: int,
    steps: int,
    seconds: float = 1e9,
    base: Path | None = None,
    counts: collections.Counter[str] | None = None,
) -> None:
    """Run one trial in a folder of its own.

    Args:
        seed: of the run.
        steps: operations after which it ends.
        seconds: time after which it ends.
        base: where to make its folder.
        counts: where operations are counted by kind.

    Raises:
        Wrong: an answer or the index was not as it should be; the folder is kept.
    """
    folder = Path(tempfile.mkdtemp(prefix="linedex-endure-", dir=base or memory()))
    with hasty():
        one = Trial(folder, seed, collections.Counter() if counts is None else counts)
        try:
            one.run(steps, seconds)
        except Wrong as wrong:
            last = "\n".join(one.world.changes[-60:])
            raise Wrong(f"seed {seed} after {one.operations} operations, in {folder}\n{last}\n{wrong}") from None
        finally:
            one.close()
    shutil.rmtree(folder)


@contextmanager
def hasty() -> Iterator[None]:
    """Take a burst of changes to be over sooner than in use, so that more answers come from an index at rest."""
    former = freshness._QUIET_SECONDS, freshness._DRAIN_SECONDS
    freshness._QUIET_SECONDS, freshness._DRAIN_SECONDS = 0.004, 0.002
    try:
        yield
    finally:
        freshness._QUIET_SECONDS, freshness._DRAIN_SECONDS = former


def only_index(root: Path, sidecar: Path) -> None:
    """Say that we are about to, and bring an index up to date."""
    with Index(root, sidecar, LIMITS) as index:
        print("ready", flush=True)
        index.build()


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
    asked = parser.parse_args()
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
            trial(seed, sum(counts.values()) + asked.steps, left, asked.folder, counts)
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
