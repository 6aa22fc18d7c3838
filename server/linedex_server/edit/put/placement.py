"""One target on its way to the disk: what every way of putting bytes down has in common.

Promise: a placement knows how far it came, so that `take_back` undoes exactly what was done and may be called at any
moment, and `tidy` leaves nothing beside the target. All names are used relative to the descriptor of a folder that was
opened through the root, so that a link put in their way cannot lead out of it.

A commit calls, in this order: `stage` (slow, nothing is visible), `check`, `put` (quick), `look`, `tidy`.
"""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from dataclasses import dataclass

from linedex.errors import LinedexError
from linedex.files.places import Place
from linedex_server.edit.history.steps import Intent
from linedex_server.edit.put.faults import Faults
from linedex_server.edit.put.folders import Parent, flush
from linedex_server.edit.put.lease import Lease
from linedex_server.edit.put.plans import Plan
from linedex_server.edit.put.restarts import Again
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.put.syscalls import Abilities


@dataclass(frozen=True, slots=True)
class Settings:
    """How files are put down.

    Attributes:
        abilities: which calls may be used.
        faults: called before each step.
    """

    abilities: Abilities
    faults: Faults


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a file that stays the same through renames: its times of change are not among it."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Return the identity that a stat shows."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def note(self) -> str:
        """Return it as text for an intent."""
        return f"{self.device} {self.inode} {self.size} {self.mtime_ns}"

    @classmethod
    def noted(cls, note: str) -> Identity:
        """Return what `note` made a text of; what follows it is left out."""
        device, inode, size, mtime_ns = map(int, note.split()[:4])
        return cls(device, inode, size, mtime_ns)


class Placement(ABC):
    """One target with its folder open; the descriptors are the caller's to close."""

    def __init__(
        self, place: Place, parent: Parent, temporary: bytes, snapshot: Snapshot | None, plan: Plan, settings: Settings
    ) -> None:
        self.place = place
        self.plan = plan
        self._parent = parent
        self._name = os.path.basename(place.path)
        self._temporary = temporary
        self._snapshot = snapshot
        self._settings = settings
        self._faults = settings.faults

    @property
    def _folder(self) -> int:
        """The folder, which may be made only after the plan is."""
        return self._parent.descriptor

    @abstractmethod
    def intent(self) -> Intent:
        """Return what a start after a crash has to know, as far as it is known now."""

    @abstractmethod
    def stage(self) -> None:
        """Do all that takes time and that nobody sees.

        Raises:
            Again: the file became shorter.
            OnlyInPlace: it cannot be replaced.
            OSError: the system refuses.
        """

    def check(self, lease: Lease | None) -> None:
        """Do nothing if the target is still what the plan was made for.

        Raises:
            Again: it is not, or somebody waits to write it.
        """
        if self._snapshot is None:
            if self.present() is not None:
                raise Again
            return
        present = self.present()
        seen = self._snapshot.status
        if present is None or (present.st_dev, present.st_ino) != (seen.st_dev, seen.st_ino):
            raise Again
        if state(os.fstat(self._snapshot.descriptor)) != state(seen) or (lease and lease.breaking):
            raise Again

    @abstractmethod
    def put(self) -> None:
        """Make the change visible.

        Raises:
            Again, OnlyInPlace, OSError: as `stage`.
        """

    @abstractmethod
    def look(self, lease: Lease | None) -> None:
        """Do nothing if what gave way is what the plan was made for.

        Raises:
            Again: somebody was quicker, or waits to write the file that gave way.
        """

    @abstractmethod
    def take_back(self) -> None:
        """Undo whatever was done so far.

        Raises:
            OSError: the system refuses; the intent is to stay for the next start.
        """

    @abstractmethod
    def tidy(self) -> None:
        """Remove what gave way."""

    @property
    @abstractmethod
    def descriptor(self) -> int:
        """The file as it is after the change, open; -1 when it was removed."""

    def close(self) -> None:  # noqa: B027  most have nothing open of their own
        """Close what it opened itself."""

    def flush_folder(self) -> None:
        """Let the names of the folder reach the disk."""
        self._faults("flush the folder")
        flush(self._folder)

    def present(self) -> os.stat_result | None:
        """Return the stat of what the path names now, None when that is nothing that can be reached."""
        try:
            return self.place.opener.stat(self.place.path)
        except (LinedexError, OSError):
            # gone, replaced by something else, or its folder is: in each case not what was opened
            return None

    def _at(self, name: bytes) -> os.stat_result | None:
        """Return the stat of a name of the folder, None when there is none."""
        try:
            return os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _unlink(self, name: bytes) -> None:
        try:
            os.unlink(name, dir_fd=self._folder)
        except FileNotFoundError:
            return

    def _came_out(self, status: os.stat_result | None, lease: Lease | None) -> None:
        assert self._snapshot is not None
        if status is None or Identity.of(status) != Identity.of(self._snapshot.status) or (lease and lease.breaking):
            raise Again

    @property
    def _temporary_path(self) -> bytes:
        return os.path.join(os.path.dirname(self.place.absolute), self._temporary)


def state(status: os.stat_result) -> tuple[int, ...]:
    """Return what shows that an open file was changed: size, both times, and its kind and mode."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, stat.S_IFMT(status.st_mode))
