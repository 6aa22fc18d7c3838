#!/usr/bin/env python3
"""Kill a process that edits, at random moments and at named steps; look at files and history after each next start.

scripts/bench/edit_crashes.py --runs 500 --write

Each run is a new process that edits without end: one file replaced, one with two names written in place, and four files
in one call (replaced, in place, created and removed again). Every version of a file names the number of its edit and
carries its own checksum. After each kill a new process recovers; then every file is wholly of one edit, the four files
are of the same, no file is there that should not be, the history's newest step of each file ends at its present bytes,
and undoing that step gives the version before.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path

from common import fresh_folder, write_result

from linedex.files.places import Roots
from linedex_server.edit.history.history import History
from linedex_server.edit.put import faults
from linedex_server.edit.put.commit import Committer
from linedex_server.edit.put.faults import Faults
from linedex_server.edit.put.plans import Plan, Planner, Target
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.splice import Splice, applied

ALONE, LINKED, OTHER_NAME = "alone.txt", "linked.txt", "linked-too.txt"
GROUP = ("first.txt", "second.txt", "second-too.txt")
COMES_AND_GOES = "folder/comes.txt"
BYSTANDER = ".linedex-0123456789abcdef.tmp"


def version(number: int) -> bytes:
    """Return what a file holds after edit `number`: lines of a length that depends on it, and their checksum."""
    body = b"".join(b"edit %d line %d\n" % (number, line) for line in range(20 + number % 37))
    return body + sha256(body).hexdigest().encode() + b"\n"


def number_of(content: bytes) -> int:
    """Return which edit made a file.

    Raises:
        ValueError: it is not wholly of one edit.
    """
    number = int(content.split(b" ", 2)[1])
    if content != version(number):
        raise ValueError(f"a torn file: {content[:60]!r}")
    return number


class Bench:
    """One root with its history."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir(exist_ok=True)
        self.history = History(folder / "state" / "history.db")

    def furnish(self) -> None:
        """Make the files as edit 0 leaves them."""
        for name in (ALONE, LINKED, *GROUP[:2]):
            (self.root / name).write_bytes(version(0))
        os.link(self.root / LINKED, self.root / OTHER_NAME)
        os.link(self.root / GROUP[1], self.root / GROUP[2])
        (self.root / BYSTANDER).write_bytes(b"not ours")

    def target(self, name: str, plan: Planner) -> Target:
        """Return a file of the root and what is to become of it."""
        place = Roots([self.root]).resolve(str(self.root / name), must_exist=False)
        return Target(place, name, plan, create_dirs=True)

    def edit(self, committer: Committer, name: str) -> None:
        """Bring one file to its next edit."""
        number = number_of((self.root / name).read_bytes()) + 1
        committer.commit([self.target(name, becoming(number))], tool="bench")

    def edit_group(self, committer: Committer) -> None:
        """Bring four files to their next edit in one call."""
        number = number_of((self.root / GROUP[0]).read_bytes()) + 1
        coming = becoming(number) if number % 2 else goes
        plans = {GROUP[0]: becoming(number), COMES_AND_GOES: coming, GROUP[1]: becoming(number)}
        committer.commit([self.target(name, plan) for name, plan in plans.items()], tool="bench")

    def run(self, faults: Faults) -> None:
        """Edit without end."""
        committer = Committer(self.history, faults=faults)
        while True:
            self.edit(committer, ALONE)
            self.edit(committer, LINKED)
            self.edit_group(committer)

    def check(self) -> None:
        """Recover and look at everything; raise ValueError for what is wrong."""
        notes = Committer(self.history).recover()
        if notes or self.history.pending():
            raise ValueError(f"not brought to an end: {notes}")
        numbers = {name: number_of((self.root / name).read_bytes()) for name in (ALONE, LINKED, OTHER_NAME, *GROUP)}
        if numbers[LINKED] != numbers[OTHER_NAME] or len({numbers[name] for name in GROUP}) != 1:
            raise ValueError(f"files of one call differ: {numbers}")
        there = bool(numbers[GROUP[0]] % 2)
        if there and number_of((self.root / COMES_AND_GOES).read_bytes()) != numbers[GROUP[0]]:
            raise ValueError("the created file is of another edit")
        expected = {ALONE, LINKED, OTHER_NAME, *GROUP, BYSTANDER, *([COMES_AND_GOES] if there else [])}
        found = {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}
        if found != expected:
            raise ValueError(f"stray or missing files: {found ^ expected}")
        for name in (ALONE, LINKED, *GROUP[:2]):
            self._check_history(name, numbers[name])

    def _check_history(self, name: str, number: int) -> None:
        path, content = os.fsencode(self.root / name), (self.root / name).read_bytes()
        steps = self.history.steps(path, limit=1)
        if not steps:
            if number:
                raise ValueError(f"{name} is of edit {number}, and the history knows none")
            return
        step = steps[0].file(path)
        if step is None or step.hash_after != sha256(content).hexdigest():
            raise ValueError(f"the newest step of {name} does not end at its bytes")
        kept = self.history.former(steps[0].id, path)
        former, undone = kept.read(0, kept.size), content
        if not step.whole:
            undoing, at, shift = [], 0, 0
            for change in self.history.changes(steps[0].id, path):
                size = change.end - change.start
                begin = change.start + shift
                undoing.append(Splice(begin, begin + change.length, former[at : at + size]))
                at, shift = at + size, shift + change.length - size
            undone = applied(content, undoing)
        if (former if step.whole else undone) != version(number - 1):
            raise ValueError(f"undoing the newest step of {name} does not give the version before")


def becoming(number: int) -> Planner:
    """Return a planner that makes a file what edit `number` leaves."""

    def plan(snapshot: Snapshot | None) -> Plan:
        return Plan((Splice(0, snapshot.size if snapshot else 0, version(number)),))

    return plan


def goes(_: Snapshot | None) -> Plan:
    """Remove the file."""
    return Plan((), remove=True)


def killed(folder: Path, randomness: random.Random) -> str:
    """Let a process edit and kill it; return where."""
    if randomness.random() < 0.5:
        left = randomness.randint(1, 60)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)

            def count(step: str) -> None:
                nonlocal left
                left -= 1
                if not left:
                    os.write(writer, step.encode())
                    os.kill(os.getpid(), signal.SIGKILL)

            run_child(folder, count)
        os.close(writer)
        os.waitpid(child, 0)
        step = os.read(reader, 100).decode()
        os.close(reader)
        return step
    child = os.fork()
    if not child:
        run_child(folder, faults.none)
    time.sleep(randomness.uniform(0.002, 0.15))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "at random"


def run_child(folder: Path, moments: Faults) -> None:
    """Edit in this process until it is killed; an error ends it with one."""
    try:
        Bench(folder).run(moments)
    finally:
        os._exit(1)


def main() -> None:
    """Read the options, kill and look."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    options = parser.parse_args()
    folder = fresh_folder()
    Bench(folder).furnish()
    randomness = random.Random(options.seed)
    places: Counter[str] = Counter()
    wrong = []
    began = time.monotonic()
    for number in range(options.runs):
        places[killed(folder, randomness)] += 1
        bench = Bench(folder)
        try:
            bench.check()
        except ValueError as error:
            wrong.append(f"run {number}: {error}")
            break
        finally:
            bench.history.close()
    at_steps = sum(places.values()) - places["at random"]
    edits = number_of((folder / "root" / ALONE).read_bytes())
    text = (
        f"{sum(places.values())} processes killed while they edited (seed {options.seed}), {places['at random']} at "
        f"random moments and {at_steps} at {len(places) - 1} named steps, in {time.monotonic() - began:.0f} s; "
        f"{edits} rounds of edits were finished in all. After each, recovery in a new process.\n\n"
        f"Wrong: {wrong or 'nothing'}.\n\n"
        + "\n".join(f"- {name}: {count}" for name, count in sorted(places.items(), key=lambda one: -one[1]))
    )
    print(text)
    if options.write:
        print(write_result("edit-crashes", text))
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
