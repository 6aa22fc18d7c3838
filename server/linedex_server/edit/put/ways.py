"""Which way a file is put down: replaced, or in place where replacing would harm, or not at all.

Promise: a file that another process has open for writing is never replaced, since what that process writes afterwards
would be lost with the old file.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from linedex.files.own_state import TEMPORARY_PREFIX, TEMPORARY_SUFFIX
from linedex_server.edit.errors import BeingWritten, WriteFailed
from linedex_server.edit.put.in_place import InPlace
from linedex_server.edit.put.layout import new_size
from linedex_server.edit.put.lease import Writers, is_recent
from linedex_server.edit.put.placement import Identity, Placement, Settings
from linedex_server.edit.put.replace import Creating, Removing, Replacing
from linedex_server.edit.put.work import Work


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a commit.

    Attributes:
        attempts: how often it is begun when the file changes under it.
        moved_bytes: most bytes that are written anew in place.
        quiet_seconds: how long a file must be unchanged where leases cannot tell who writes it.
        wait_seconds: how long to wait for another commit of the same file.
    """

    attempts: int = 4
    moved_bytes: int = 64 << 20
    quiet_seconds: float = 2.0
    wait_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Ways:
    """Chooses how targets are put down.

    Attributes:
        settings: how files are put down.
        bounds: the bounds of a commit.
        ours: says whether a file is as this process has left it.
        reasons: by path, why a file can only be written in place, as far as it was found out.
    """

    settings: Settings
    bounds: Bounds
    ours: Callable[[Identity], bool]
    reasons: dict[bytes, str] = field(default_factory=dict)

    def choose(self, work: Work) -> Placement:
        """Return how a target is put down; its lease is given back where that is in place.

        Raises:
            BeingWritten: another process writes the file.
            WriteFailed: it may not be written, or too much would move.
        """
        if work.snapshot is None:
            return self._place(Creating, work)
        _demand_permission(work)
        reason = self._why_in_place(work)
        if work.plan.remove:
            return self._place(Removing, work)
        return self._in_place(work, reason) if reason else self._place(Replacing, work)

    def _why_in_place(self, work: Work) -> str:
        """Return why the file cannot be replaced, "" when it can."""
        assert work.snapshot is not None
        status = work.snapshot.status
        writers = work.lease.writers if work.lease else Writers.UNKNOWN
        unsure = writers is Writers.UNKNOWN and is_recent(status, self.bounds.quiet_seconds)
        if writers is Writers.SOME or (unsure and not self.ours(Identity.of(status))):
            if work.plan.remove or any(splice.delta for splice in work.plan.splices):
                raise _being_written(work.target.shown, self.bounds.quiet_seconds, writers)
            return "another process has it open for writing"
        if status.st_nlink > 1:
            return f"it has {status.st_nlink} names"
        if not work.plan.splices and not work.plan.remove:
            return "only its mode changes"
        return self.reasons.get(work.target.place.absolute, "")

    def _in_place(self, work: Work, reason: str) -> Placement:
        moved = work.moved.end - work.moved.start + max(0, new_size(work.plan.splices, work.size) - work.size)
        if moved > self.bounds.moved_bytes:
            raise WriteFailed(
                f"{work.target.shown} was not written: it can only be written in place ({reason}), which would move "
                f"{moved:,} bytes.",
                f"At most {self.bounds.moved_bytes:,} are moved; edit nearer to its end, or keep its length.",
            )
        if work.plan.splices:
            work.notes = (f"Written in place: {reason}.",)
        if work.lease is not None:
            # our own open for writing would wait for it
            work.lease.release()
        return self._place(InPlace, work)

    def _place(self, way: Callable[..., Placement], work: Work) -> Placement:
        temporary = TEMPORARY_PREFIX + secrets.token_hex(8).encode() + TEMPORARY_SUFFIX
        return way(work.target.place, work.parent, temporary, work.snapshot, work.plan, self.settings)


def _demand_permission(work: Work) -> None:
    """Refuse a file whose mode does not let us write it, though a new one could take its place."""
    assert work.snapshot is not None
    name = os.path.basename(work.target.place.path)
    effective = os.access in os.supports_effective_ids
    if not os.access(name, os.W_OK, dir_fd=work.parent.descriptor, effective_ids=effective):
        raise WriteFailed(
            f"{work.target.shown} was not written: permission is denied; it is unchanged.",
            "Check the permissions of the file; its mode says that it is not to be written.",
        )


def _being_written(shown: str, seconds: float, writers: Writers) -> BeingWritten:
    if writers is Writers.SOME:
        return BeingWritten(
            f"{shown} is being written by another process; replacing it would cut that process off.",
            "End or pause that process, or make a change that keeps the length.",
        )
    return BeingWritten(
        f"{shown} was changed within the last {seconds:g} s, so another process may be writing it.",
        f"Try again in {seconds:g} s.",
    )
