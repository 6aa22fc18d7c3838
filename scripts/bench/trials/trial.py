"""One trial: a tree that is changed and edited, and what is asked about it, round after round.

A round makes some changes behind the index's back and some edits, then asks many questions from threads while nothing
changes; each answer is compared exactly with the model's.
"""

from __future__ import annotations

import collections
import itertools
import os
import random
import shutil
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from trials.answers import Asker, Question, same_hits
from trials.changes import change, create
from trials.edits import Edits
from trials.oracle import Oracle
from trials.subjects import Local, Served, Subject, Wrong
from trials.world import World

from linedex.build.contents import contents
from linedex.index import Index

_CLIENTS = 4
_QUESTIONS = (8, 24, 48)
_SERVED = 1 / 3
"""Share of trials of a daemon with clients."""


@dataclass
class Trial:
    """One run.

    Attributes:
        folder: holds the tree, the sidecar and what lies beside them.
        seed: decides everything but the timing of threads.
        served: whether a daemon with clients is tried; None lets the seed decide.
        counts: operations by kind.
    """

    folder: Path
    seed: int
    served: bool | None = None
    counts: collections.Counter[str] = field(default_factory=collections.Counter)

    def __post_init__(self) -> None:
        self.root = self.folder / "root"
        for made in (self.root, self.folder / "outside"):
            made.mkdir()
        (self.folder / "outside" / "out.txt").write_text("foo outside t1ax\n")
        self.draw = random.Random(self.seed)
        self.world = World(os.fsencode(self.root), os.fsencode(self.folder / "outside"), self.draw)
        if self.draw.random() < 0.1:
            self.world.large_lines = (300, 1_000, 3_000)
        self.oracle = Oracle(self.world, self.draw)
        for _ in range(40):
            create(self.world)
        if self.served is None:
            self.served = self.draw.random() < _SERVED
        self.subject: Subject = Served(self.folder, self.draw) if self.served else Local(self.folder)
        self.world.settle = self.subject.settle
        self.edits = Edits(self.world, self.oracle)

    @property
    def operations(self) -> int:
        """How many operations were made."""
        return sum(self.counts.values())

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
            made = self.edits.edit(draw.choice(self.subject.writers), draw)
            if made:
                self.counts[f"edit: {made}"] += 1
        if draw.random() < (0.05 if self.served else 0.25):
            self.subject.settle()
        drawn = [self.oracle.question() for _ in range(draw.choice(_QUESTIONS) * (2 if self.served else 1))]
        questions = [one for one in drawn if one is not None]
        askers = itertools.cycle(self.subject.askers)
        for question, told in zip(questions, pool.map(self._asked, questions, askers), strict=True):
            self._judge(question, told)

    def _asked(self, question: Question, asker: Asker) -> object:
        try:
            return question.ask(asker)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told with the question
            return Wrong("".join(traceback.format_exception(error)))

    def _judge(self, question: Question, told: object) -> None:
        if isinstance(told, Wrong):
            raise Wrong(f"{question.kind}: {question.told}\n{told}")
        if question.wanted is None or told is None:
            return
        self.counts[f"ask: {question.kind}"] += 1
        wanted = question.wanted(told) if callable(question.wanted) else question.wanted
        if question.kind.startswith("search"):
            right = same_hits(told, wanted, invert="invert=True" in question.told)
        else:
            right = told == wanted
        if isinstance(told, dict) and isinstance(wanted, dict):
            both = sorted({*told, *wanted})
            pairs = {path: (told.get(path, "nothing"), wanted.get(path, "nothing")) for path in both}
            wrong = {path: pair for path, pair in pairs.items() if not same_hits({path: pair[0]}, {path: pair[1]})}
            self.demand(right, f"{question.kind}: {question.told}\n  told, wanted: {wrong!r}")
        self.demand(right, f"{question.kind}: {question.told}\n  told   {told!r}\n  wanted {wanted!r}")

    # the life of the index

    def live(self) -> None:
        """Do something to the index itself."""
        kind = self.draw.choice(("reopen", "check", "fresh", "fresh", "kill", "kill", "delete", "damage"))
        self.counts[f"index: {kind}"] += 1
        if kind in ("check", "fresh", "kill"):
            self.subject.settle()
            self.world.marks.clear()
        if kind == "kill":
            self.subject.kill(self.draw, self._change_many)
            return
        self.subject.close()
        if kind == "check":
            self.check()
        elif kind == "fresh":
            self.equal_to_fresh()
        elif kind == "delete":
            for path in self.subject.sidecar.parent.iterdir():
                if path.name.startswith(self.subject.sidecar.name) and path.is_file():
                    path.unlink()
        elif kind == "damage":
            self.damage()
        self.subject.open()

    def _change_many(self) -> None:
        for _ in range(20):
            self.counts[f"change: {change(self.world)}"] += 1

    def check(self) -> None:
        """Demand that the closed index holds what the files hold."""
        with Index(self.root, self.subject.sidecar, self.subject.limits) as index:
            wrong = index.check()
        self.demand(not wrong, f"check: {wrong}")

    def damage(self) -> None:
        """Write noise over the head of the sidecar, or cut it; a bit that flips inside of a column goes unnoticed."""
        size = self.subject.sidecar.stat().st_size
        if self.draw.random() < 0.5:
            os.truncate(self.subject.sidecar, self.draw.randrange(size + 1))
            return
        with self.subject.sidecar.open("r+b") as file:
            file.seek(self.draw.choice((0, 16, 100)))
            file.write(self.draw.randbytes(self.draw.choice((8, 100, 5_000))))

    def equal_to_fresh(self) -> None:
        """Demand that the closed index says what one made anew says."""
        made = self.folder / "fresh" / "index.db"
        with Index(self.root, made, self.subject.limits) as fresh:
            fresh.build()
        ours, theirs = contents(self.subject.sidecar), contents(made)
        shutil.rmtree(made.parent)
        if any(self.world.ignored(path) for path in ours if path != b"/"):
            # a file that was named by a question stays known, and so do the folders around it
            ours = {path: told for path, told in ours.items() if path != b"/" and not self.world.ignored(path)}
            theirs.pop(b"/")
        self.edits.edited &= set(self.world.files.values())
        for path, node in self.world.files.items():
            if node in self.edits.edited and path in ours and path in theirs:
                # an edit leaves the blocks before and behind it as they were
                ours[path], theirs[path] = ours[path][:1], theirs[path][:1]
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
                if rounds % (8 if self.served else 25) == 0:
                    self.live()
                if rounds % 100 == 0:
                    wrong = self.world.differences()
                    self.demand(not wrong, f"the model is not the disk: {wrong}")

    def close(self) -> None:
        """Close what is open."""
        self.subject.close()
