"""One target of a commit with everything that is open for it, and what the history and the caller are told of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from linedex.errors import LinedexError, NotFound
from linedex.limits import Limits
from linedex.query.revisions import TOKEN_DIGITS
from linedex_server.edit.history.steps import NewFileStep, Read
from linedex_server.edit.put.attributes import permissions
from linedex_server.edit.put.folders import Parent
from linedex_server.edit.put.layout import Region, Stretch, changes, digest, new_size, parts, region
from linedex_server.edit.put.lease import Lease, Writers
from linedex_server.edit.put.placement import Placement
from linedex_server.edit.put.plans import Committed, Plan, Target
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.put.syscalls import Abilities
from linedex_server.edit.splice import Splice, ordered

_LEASE_TRIES: Final = 5
_LEASE_PAUSE: Final = 0.002
"""A program that opens, writes and closes a log is in the way for less than this (seconds)."""
_QUICK_TO_FREE: Final = 64 << 20
"""Freeing a larger file takes long enough to do it after the answer: 0.4 s for 2 GB."""


class Work:
    """One target with everything that is open for it."""

    def __init__(self, target: Target, limits: Limits) -> None:
        """Open it and its folder.

        Raises:
            NotFound: its folder does not exist and is not to be made.
            NotAFile, NotAFolder, Unreadable, OutsideRoots: as `Root.open`.
        """
        self.target = target
        self.parent = Parent(target.place, create=target.create_dirs)
        self.plan = Plan(())
        self.placement: Placement | None = None
        self.lease: Lease | None = None
        self.notes: tuple[str, ...] = ()
        self.hash_after: str | None = None
        try:
            self.snapshot: Snapshot | None = None if self.parent.missing else Snapshot(target.place, limits)
        except NotFound:
            self.snapshot = None
        except LinedexError:
            self.parent.close()
            raise

    def close(self) -> None:
        """Give back lease and descriptors; a large file that gave way is freed behind the caller's back."""
        if self.placement is not None:
            self.placement.close()
        if self.lease is not None:
            self.lease.release()
        self.parent.close()
        if self.snapshot is not None:
            if self.snapshot.size > _QUICK_TO_FREE:
                threading.Thread(target=self.snapshot.close, name="free a large file").start()
            else:
                self.snapshot.close()

    @property
    def size(self) -> int:
        """Bytes of the file as it was found."""
        return self.snapshot.size if self.snapshot else 0

    @property
    def read(self) -> Read:
        """Reads the file as it was found."""
        return self.snapshot.read if self.snapshot else _nothing

    @property
    def moved(self) -> Region:
        """What is written anew when it is written in place."""
        return region(self.plan.splices, self.size)

    @property
    def changes(self) -> bool:
        """Whether the plan changes anything."""
        if self.snapshot is None:
            return not self.plan.remove and bool(self.plan.splices)
        mode = self.plan.mode
        return self.plan.remove or bool(self.plan.splices) or mode not in {None, permissions(self.snapshot.status)}

    def take_lease(self, abilities: Abilities) -> None:
        """Ask who writes the file, and look at it again afterwards."""
        if self.snapshot is None:
            return
        self.lease = Lease(self.snapshot.descriptor, wanted=abilities.leases)
        for _ in range(_LEASE_TRIES - 1):
            if self.lease.writers is not Writers.SOME:
                break
            time.sleep(_LEASE_PAUSE)
            self.lease = Lease(self.snapshot.descriptor, wanted=True)
        self.snapshot.renew()

    def ask(self) -> None:
        """Ask the planner; of its splices those are taken that make any byte differ.

        Raises:
            LinedexError: it refuses.
        """
        plan = self.target.plan(self.snapshot)
        splices = ordered(plan.splices)
        if self.snapshot is not None:
            splices = tuple(splice for splice in splices if changes([splice], self.size, self.read))
            splices = splices if splices and changes(splices, self.size, self.read) else ()
        self.plan = replace(plan, splices=splices)

    def file_step(self, hash_bytes: int, made_for_others: Sequence[bytes]) -> NewFileStep:
        """Return what the history records, and note the hash of a small file as it will be.

        Args:
            hash_bytes: size in bytes from which on files have no hash but a `rev:` token, known only afterwards.
            made_for_others: folders that are made for earlier targets.
        """
        plan, old = self.plan, self.snapshot
        size = 0 if plan.remove else new_size(plan.splices, self.size)
        if not plan.remove and size <= hash_bytes:
            self.hash_after = digest(plan.splices, self.size, self.read)
        before = None if old is None else permissions(old.status)
        removed = [Splice(0, self.size, b"")] if plan.remove else plan.splices
        added, taken = plan.lines_added, plan.lines_removed
        return NewFileStep(
            path=self.target.place.absolute,
            splices=plan.splices,
            read=self.read,
            size_before=self.size,
            size_after=size,
            created=old is None,
            removed=plan.remove,
            mode_before=before,
            mode_after=None if plan.remove else before if plan.mode is None else plan.mode,
            hash_before=None if old is None else old.revision() if old.is_large else old.sha256(),
            hash_after=self.hash_after,
            made_folders=tuple(path for path in self.parent.missing if path not in made_for_others),
            lines_added=sum(splice.new.count(b"\n") for splice in plan.splices) if added is None else added,
            lines_removed=sum(_line_feeds(splice, self.read) for splice in removed) if taken is None else taken,
        )

    def told(self, step: str | None, notes: tuple[str, ...]) -> Committed:
        """Return what the caller is told after the commit."""
        changed, old = self.placement is not None, self.snapshot
        token = ""
        if not changed and old is not None:
            token = old.token()
        elif changed and self.hash_after is not None:
            token = self.hash_after if self.hash_after.startswith("rev:") else self.hash_after[:TOKEN_DIGITS]
        return Committed(
            place=self.target.place,
            shown=self.target.shown,
            created=changed and old is None,
            removed=changed and self.plan.remove,
            changed=changed,
            hash=token,
            step=step,
            told=self.plan.told,
            made_folders=self.parent.missing if changed else (),
            splices=self.plan.splices,
            notes=(*self.notes, *notes) if changed else (),
        )


def _line_feeds(splice: Splice, read: Read) -> int:
    return sum(part.count(b"\n") for part in parts(Stretch(splice.start, splice.end), read))


def _nothing(_offset: int, _size: int) -> bytes:
    return b""
