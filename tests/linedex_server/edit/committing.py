"""A root, a history and a committer, and what tests ask of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from linedex.files.places import Roots
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex_server.edit.history.history import History
from linedex_server.edit.put.commit import Committer
from linedex_server.edit.put.faults import Faults, none
from linedex_server.edit.put.plans import Committed, Plan, Planner, Target
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.put.syscalls import NATIVE, Abilities
from linedex_server.edit.put.ways import Bounds
from linedex_server.edit.splice import Splice


@dataclass
class Desk:
    """One root and one state folder.

    Attributes:
        folder: holds both.
        abilities: which system calls commits may use.
        bounds: the bounds of commits.
        limits: the bounds of reading.
    """

    folder: Path
    abilities: Abilities = NATIVE
    bounds: Bounds = field(default_factory=Bounds)
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        self.root = self.folder / "root"
        self.root.mkdir(exist_ok=True)
        self.state = self.folder / "state"
        self.history = History(self.state / "history" / "history.db")

    def close(self) -> None:
        self.history.close()

    def committer(self, faults: Faults = none) -> Committer:
        return Committer(self.history, self.limits, abilities=self.abilities, bounds=self.bounds, faults=faults)

    def target(self, name: str, plan: Planner, *, create_dirs: bool = False) -> Target:
        place = Roots([self.root]).resolve(str(self.root / name), must_exist=False)
        return Target(place, name, plan, create_dirs)

    def snapshot(self, name: str) -> Snapshot:
        return Snapshot(Roots([self.root]).resolve(str(self.root / name)), self.limits)

    def edit(self, name: str, *splices: Splice, faults: Faults = none, create_dirs: bool = False) -> Committed:
        """Commit splices of one file and return what became of it."""
        (found,) = self.committer(faults).commit(
            [self.target(name, spliced(*splices), create_dirs=create_dirs)], tool="test"
        )
        return found

    def names(self) -> list[str]:
        """Return everything below the root, by relative path."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))


def spliced(*splices: Splice) -> Planner:
    """Return a planner that always makes these splices."""
    return lambda _: Plan(splices)


def becoming(content: bytes) -> Planner:
    """Return a planner that gives a file this content."""
    return lambda snapshot: Plan((Splice(0, snapshot.size if snapshot else 0, content),))


def replacing(old: bytes, new: bytes) -> Planner:
    """Return a planner that replaces the first `old` by `new`, wherever it stands when it is asked."""

    def plan(snapshot: Snapshot | None) -> Plan:
        assert snapshot is not None
        at = snapshot.read(0, snapshot.size).index(old)
        return Plan((Splice(at, at + len(old), new),))

    return plan


def removing(snapshot: Snapshot | None) -> Plan:
    """Remove the file."""
    return Plan((), remove=True)


def failing(at: str, error: int) -> Callable[[str], None]:
    """Return faults that raise an error of the system at one step."""

    def fail(step: str) -> None:
        if step == at:
            raise OSError(error, os.strerror(error))

    return fail


def acting(at: str, act: Callable[[], object], *, times: int = 1) -> Callable[[str], None]:
    """Return faults that do something at the first `times` a step comes."""
    left = [times]

    def do(step: str) -> None:
        if step == at and left[0]:
            left[0] -= 1
            act()

    return do
