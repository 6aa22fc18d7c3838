"""The only way to a user's file: all targets of a call are written, or none, and the history knows first.

Promise: edit for edit the rules of one writer. Two commits of one file in this process follow each other; a change
that somebody else makes meanwhile is never overwritten: the planners are asked again about the file as it is then, a
few times, and after that the caller is told of a conflict. Killed at any moment, the next `recover` finds for every
step whether it is wholly made, and leaves no file behind.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from linedex.limits import DEFAULT_LIMITS, Limits
from linedex_server.edit.errors import Conflict
from linedex_server.edit.history.history import History
from linedex_server.edit.history.steps import Undoes
from linedex_server.edit.put import faults as no_faults
from linedex_server.edit.put.attempt import Attempt
from linedex_server.edit.put.faults import Faults
from linedex_server.edit.put.folders import remove_empty
from linedex_server.edit.put.locks import Locks
from linedex_server.edit.put.placement import Identity, Settings
from linedex_server.edit.put.plans import Committed, Target
from linedex_server.edit.put.recovery import recover
from linedex_server.edit.put.restarts import Again, OnlyInPlace
from linedex_server.edit.put.syscalls import NATIVE, Abilities
from linedex_server.edit.put.ways import Bounds, Ways

_REMEMBERED: Final = 1024
_BOUNDS: Final = Bounds()


class Committer:
    """Writes files of one state folder's history; may be used from any thread."""

    def __init__(
        self,
        history: History,
        limits: Limits = DEFAULT_LIMITS,
        *,
        abilities: Abilities = NATIVE,
        bounds: Bounds = _BOUNDS,
        faults: Faults = no_faults.none,
    ) -> None:
        """Take a history.

        Args:
            history: where every step is recorded before it is made.
            limits: the bounds of reading.
            abilities: which system calls may be used.
            bounds: the bounds of a commit.
            faults: called before each step, for tests.
        """
        self._history = history
        self._limits = limits
        self._settings = Settings(abilities, faults)
        self._bounds = bounds
        self._names = Locks()
        self._files = Locks()
        self._left: OrderedDict[Identity, None] = OrderedDict()
        self._guard = threading.Lock()

    def commit(self, targets: Sequence[Target], *, tool: str, undoes: Undoes | None = None) -> tuple[Committed, ...]:
        """Write all targets, as one step of the history, or none of them.

        Args:
            targets: at least one; each file once.
            tool: who asks, for the history.
            undoes: what the step takes back, None for an ordinary write.

        Returns:
            What became of each target, in their order. Where nothing changes, nothing is written and there is no step.

        Raises:
            Conflict: a file changed each time it was begun, or is named twice, or another commit of it never ends.
            BeingWritten: another process writes one of the files.
            WriteFailed: the system refuses; everything is as before unless the error says otherwise.
            LinedexError: a planner refuses, or a target cannot be opened; nothing was written.
        """
        _demand_distinct(targets)
        ways = Ways(self._settings, self._bounds, self._is_ours)
        try:
            with self._names.held([(target.place.absolute,) for target in targets], self._bounds.wait_seconds):
                for _ in range(self._bounds.attempts):
                    try:
                        return self._put_down(targets, tool, undoes, ways)
                    except Again:
                        continue
        except TimeoutError as error:
            raise Conflict(
                f"{_shown(targets)}: another edit of it has not ended within {self._bounds.wait_seconds:g} s.",
                "Try again when that one has ended.",
            ) from error
        raise Conflict(
            f"{_shown(targets)} changed each of the {self._bounds.attempts} times that writing it was begun; "
            "nothing was written.",
            "Try again when the program that changes it has finished.",
        )

    def _put_down(
        self, targets: Sequence[Target], tool: str, undoes: Undoes | None, ways: Ways
    ) -> tuple[Committed, ...]:
        while True:
            try:
                return self._attempt(targets, tool, undoes, ways)
            except OnlyInPlace as found:
                ways.reasons[found.path] = str(found)

    def _attempt(
        self, targets: Sequence[Target], tool: str, undoes: Undoes | None, ways: Ways
    ) -> tuple[Committed, ...]:
        attempt = Attempt(targets, self._history, self._limits, ways, self._files)
        with closing(attempt):
            attempt.plan()
            committed = attempt.put_down(tool, undoes)
            for work in attempt.works:
                if work.placement is not None and work.placement.descriptor >= 0:
                    self._remember(Identity.of(os.fstat(work.placement.descriptor)))
                for folder in work.plan.remove_folders:
                    remove_empty(work.target.place, folder)
        return committed

    def recover(self) -> tuple[str, ...]:
        """Bring every step that a process left half made to one end; call it at start.

        Returns:
            What people should be told, one sentence for each step that could not be brought to an end.
        """
        return recover(self._history)

    def _remember(self, identity: Identity) -> None:
        with self._guard:
            self._left[identity] = None
            if len(self._left) > _REMEMBERED:
                self._left.popitem(last=False)

    def _is_ours(self, identity: Identity) -> bool:
        with self._guard:
            return identity in self._left


def _demand_distinct(targets: Sequence[Target]) -> None:
    seen = set()
    for target in targets:
        if target.place.absolute in seen:
            raise Conflict(f"{target.shown} is named twice; nothing was written.", "Name it once, with all changes.")
        seen.add(target.place.absolute)


def _shown(targets: Sequence[Target]) -> str:
    return ", ".join(target.shown for target in targets)
