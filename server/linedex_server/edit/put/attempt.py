"""One attempt to put down all targets of a commit: open, plan, record, write, look; or everything as before.

Promise: until the commit point nothing is lost that a target held, and after it nothing of the change is. With `Again`
or an error every target is as it was found, or, where the system refuses even that, the step stays among the history's
pending ones, which the next start brings to one end or the other. The commit point of files that are replaced is the
moment when all of them are; that of files written in place is the history's mark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from linedex.errors import LinedexError
from linedex.files import fingerprint as fingerprints
from linedex.limits import Limits
from linedex.query.revisions import revision
from linedex_server.edit.errors import Conflict, WriteFailed
from linedex_server.edit.history.history import History
from linedex_server.edit.history.steps import NewFileStep, Read, Undoes
from linedex_server.edit.put.in_place import WRITTEN, InPlace
from linedex_server.edit.put.locks import Locks
from linedex_server.edit.put.placement import (
    Placement,
)
from linedex_server.edit.put.plans import Committed, Target
from linedex_server.edit.put.refusals import refusal
from linedex_server.edit.put.ways import Ways
from linedex_server.edit.put.work import Work


class _Refused(Exception):
    """The system refused something of one target."""

    def __init__(self, error: OSError, shown: str) -> None:
        super().__init__()
        self.error = error
        self.shown = shown


class Attempt:
    """All targets of a commit, open from here to `close`."""

    def __init__(self, targets: Sequence[Target], history: History, limits: Limits, ways: Ways, locks: Locks) -> None:
        """Open the targets, wait for other commits of the same files, take leases.

        Args:
            targets: what to commit.
            history: where the step is recorded.
            limits: the bounds of reading.
            ways: chooses how files are put down.
            locks: of files by identity.

        Raises:
            Conflict: two targets are one file.
            TimeoutError: another commit of one of the files takes too long.
            LinedexError: a target cannot be opened.
        """
        self._history = history
        self._limits = limits
        self._ways = ways
        self._faults = ways.settings.faults
        self._taken_back = True
        self.works: list[Work] = []
        with ExitStack() as stack:
            # entered before the files are opened, so that it is left after they are closed
            held = stack.enter_context(ExitStack())
            for target in targets:
                work = Work(target, limits)
                stack.callback(work.close)
                self.works.append(work)
            held.enter_context(locks.held(self._identities(), ways.bounds.wait_seconds))
            for work in self.works:
                work.take_lease(ways.settings.abilities)
            self._open = stack.pop_all()

    def close(self) -> None:
        """Close everything and let other commits of these files go on."""
        self._open.close()

    def _identities(self) -> list[tuple[int | bytes, ...]]:
        seen: dict[tuple[int | bytes, ...], str] = {}
        for work in self.works:
            if work.snapshot is not None:
                key = (work.snapshot.status.st_dev, work.snapshot.status.st_ino)
                if key in seen:
                    raise Conflict(
                        f"{seen[key]} and {work.target.shown} are one file; nothing was written.",
                        "Name it once, with all changes.",
                    )
                seen[key] = work.target.shown
        return list(seen)

    def plan(self) -> None:
        """Ask every target's planner, and decide how each file is put down.

        Raises:
            LinedexError: a planner refuses.
            BeingWritten: another process writes one of the files.
            WriteFailed: one can be written neither by replacing it nor in place.
        """
        for work in self.works:
            work.ask()
        for work in self.works:
            work.placement = self._ways.choose(work) if work.changes else None

    def put_down(self, tool: str, undoes: Undoes | None) -> tuple[Committed, ...]:
        """Write what was planned, or nothing.

        Raises:
            Again, OnlyInPlace: a file changed, or can only be written in place; nothing was written.
            WriteFailed: the system refuses; nothing was written, or the error says that the next start sees to it.
        """
        works = [work for work in self.works if work.placement is not None]
        if not works:
            return tuple(work.told(None, ()) for work in self.works)
        steps: list[NewFileStep] = []
        for work in works:
            made = [folder for step in steps for folder in step.made_folders]
            steps.append(work.file_step(self._limits.hash_bytes, made))
        intents = [_placed(work).intent() for work in works]
        step = self._history.prepare(tool, steps, undoes=undoes, intents=intents)
        try:
            with self._revocable(step, works):
                self._stage(step, works)
                self._put(works)
                in_place = [work for work in works if isinstance(work.placement, InPlace)]
                if len(in_place) == len(works):
                    with _refusing(works[0]):
                        notes = self._settle(step, works)
                elif in_place:
                    marked = [_placed(work).intent() for work in in_place]
                    self._history.intend(step, [replace(one, note=one.note + WRITTEN) for one in marked])
            if len(in_place) < len(works):
                notes = self._finish(step, works)
        except _Refused as refused:
            raise refusal(refused.error, refused.shown, taken_back=self._taken_back) from refused.error
        return tuple(work.told(step if work.placement else None, notes) for work in self.works)

    @contextmanager
    def _revocable(self, step: str, works: Sequence[Work]) -> Iterator[None]:
        made = False
        try:
            yield
            made = True
        finally:
            if not made:
                self._taken_back = self._take_back(step, works)

    def _take_back(self, step: str, works: Sequence[Work]) -> bool:
        whole = True
        for undo in [_placed(work).take_back for work in reversed(works)] + [work.parent.take_back for work in works]:
            try:
                undo()
            except (OSError, LinedexError):
                whole = False
        if whole:
            try:
                self._history.discard(step)
            except WriteFailed:
                return True
        return whole

    def _stage(self, step: str, works: Sequence[Work]) -> None:
        made: set[bytes] = set()
        for work in works:
            with _refusing(work):
                work.parent.make(made, self._faults)
            placement = _placed(work)
            if isinstance(placement, InPlace):
                path, moved = work.target.place.absolute, work.moved
                self._faults("keep the former bytes")
                self._history.keep(step, path, moved.start, moved.end, work.read)
                kept = self._history.roll_back(step, path)
                placement.former = _shifted(kept.read, moved.start)
            with _refusing(work):
                placement.stage()
        self._faults("record the temporary files")
        self._history.intend(step, [_placed(work).intent() for work in works])
        for work in works:
            with _refusing(work):
                self._faults("check again")
                _placed(work).check(work.lease)

    def _put(self, works: Sequence[Work]) -> None:
        # what can fail for want of space comes before what only renames
        for work in sorted(works, key=lambda one: not isinstance(one.placement, InPlace)):
            with _refusing(work):
                _placed(work).put()
                _placed(work).look(work.lease)
        flushed = set()
        for work in works:
            folder = os.path.dirname(work.target.place.absolute)
            if folder not in flushed and not isinstance(work.placement, InPlace):
                flushed.add(folder)
                with _refusing(work):
                    _placed(work).flush_folder()
        # the flush took some milliseconds, in which who had found the old file by its name has come to open it
        for work in works:
            with _refusing(work):
                _placed(work).look(work.lease)

    def _settle(self, step: str, works: Sequence[Work]) -> tuple[str, ...]:
        for work in works:
            if work.hash_after is None and not work.plan.remove:
                work.hash_after = _revision(_placed(work).descriptor)
        self._faults("settle the step")
        hashes = {work.target.place.absolute: work.hash_after for work in works if work.hash_after is not None}
        return self._history.settle(step, hashes)

    def _finish(self, step: str, works: Sequence[Work]) -> tuple[str, ...]:
        """Remove what gave way and settle the step; the change is made, whatever happens here."""
        try:
            for work in works:
                _placed(work).tidy()
            return self._settle(step, works)
        except (OSError, WriteFailed) as error:
            return (f"The change is made; what is left to do is done at the next start: {error}",)


@contextmanager
def _refusing(work: Work) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _Refused(error, work.target.shown) from error


def _placed(work: Work) -> Placement:
    assert work.placement is not None
    return work.placement


def _shifted(read: Read, start: int) -> Read:
    return lambda offset, size: read(offset - start, size)


def _revision(descriptor: int) -> str:
    mark = fingerprints.from_stat(os.fstat(descriptor))
    return revision(mark, lambda offset, size: os.pread(descriptor, size, offset))
