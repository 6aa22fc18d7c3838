"""Files written where they are, because another file in their place would be another file.

Promise: the former bytes of everything that is written are in the history, durably, before the first byte is; an error
puts them back at once, a crash at the next start. Meant for files with several names, files mounted by themselves,
folders that are not writable, owners and access lists that a new file cannot have, and changes of equal length in a
file that another process writes. Who reads the file meanwhile may see it half written.
"""

from __future__ import annotations

import os
from typing import Final

from linedex_server.edit.history.steps import Intent, Read
from linedex_server.edit.put.attributes import permissions
from linedex_server.edit.put.copying import write_all
from linedex_server.edit.put.layout import Stretch, new_size, parts, region, writes
from linedex_server.edit.put.lease import Lease
from linedex_server.edit.put.placement import Identity, Placement
from linedex_server.edit.put.restarts import Again

_WRITE: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BUFFER: Final = 1 << 20
BEGUN: Final = " begun"
"""Ends the note of an intent once the file may have been written."""
WRITTEN: Final = " written"
"""Ends the note of an intent once the commit point of its step is behind it."""


class InPlace(Placement):
    """A file that keeps its inode.

    Attributes:
        former: reads the former bytes (offset in the file, size) that the history keeps; set before `check`.
    """

    former: Read
    _opened = -1
    _written = False

    def intent(self) -> Intent:
        """Return which file is written, and which of its former bytes are kept."""
        assert self._snapshot is not None
        old = self._snapshot
        kept = region(self.plan.splices, old.size)
        return Intent(
            self.place.absolute,
            "in_place",
            device=old.status.st_dev,
            inode=old.status.st_ino,
            kept=(kept.start, kept.end),
            note=Identity.of(old.status).note() + (BEGUN if self._opened >= 0 else ""),
        )

    def stage(self) -> None:
        """Open the file for writing."""
        assert self._snapshot is not None
        self._faults("open for writing")
        try:
            self._opened = os.open(self._name, _WRITE, dir_fd=self._folder)
        except BlockingIOError as error:
            # another process of ours holds a lease on it
            raise Again from error
        seen, opened = self._snapshot.status, os.fstat(self._opened)
        if (opened.st_dev, opened.st_ino) != (seen.st_dev, seen.st_ino):
            raise Again

    def check(self, lease: Lease | None) -> None:
        """Do as every placement; but a change of equal length goes on beside a writer who leaves its place alone."""
        assert self._snapshot is not None
        old = self._snapshot
        try:
            super().check(lease)
        except Again:
            present, now = self.present(), os.fstat(self._opened)
            same_file = present is not None and (present.st_dev, present.st_ino) == (now.st_dev, now.st_ino)
            if not same_file or not self._keeps_size or now.st_size < old.size or not self._stands_as_kept():
                raise

    @property
    def _keeps_size(self) -> bool:
        assert self._snapshot is not None
        return new_size(self.plan.splices, self._snapshot.size) == self._snapshot.size

    def _stands_as_kept(self) -> bool:
        """Whether the bytes that the history keeps are what the file has there now."""
        assert self._snapshot is not None
        kept = region(self.plan.splices, self._snapshot.size)
        return all(
            os.pread(self._opened, size, offset) == self.former(offset, size)
            for offset in range(kept.start, kept.end, _BUFFER)
            if (size := min(_BUFFER, kept.end - offset))
        )

    def put(self) -> None:
        """Write what moves or changes, set size and mode, flush."""
        assert self._snapshot is not None
        old = self._snapshot
        # what moves is overwritten by what moved before it, so all of it is read first
        content = [(at, _assembled(piece, old.read)) for at, piece in writes(self.plan.splices, old.size)]
        self._written = True
        for at, piece in content:
            self._faults("write in place")
            write_all(self._opened, piece, at)
        self._faults("set the size")
        if new_size(self.plan.splices, old.size) < old.size:
            os.ftruncate(self._opened, new_size(self.plan.splices, old.size))
        # writing clears set-user bits
        mode = permissions(old.status) if self.plan.mode is None else self.plan.mode
        if permissions(os.fstat(self._opened)) != mode:
            self._faults("set the mode")
            os.fchmod(self._opened, mode)
        self._faults("flush the file")
        os.fsync(self._opened)

    def look(self, lease: Lease | None) -> None:
        """Nothing gave way."""

    def take_back(self) -> None:
        """Write the former bytes back."""
        if not self._written:
            return
        assert self._snapshot is not None
        old = self._snapshot
        kept = region(self.plan.splices, old.size)
        size = None if self._keeps_size else old.size
        restore(self._opened, (kept.start, kept.end), self.former, size, permissions(old.status))
        self._written = False

    def tidy(self) -> None:
        """Nothing is left but the file."""

    @property
    def descriptor(self) -> int:
        """The file, open for reading and writing."""
        return self._opened

    def close(self) -> None:
        """Close the file."""
        if self._opened >= 0:
            os.close(self._opened)
            self._opened = -1


def _assembled(piece: Stretch | bytes, read: Read) -> bytes | bytearray:
    if isinstance(piece, bytes):
        return piece
    # joining would hold everything twice
    content = bytearray()
    for part in parts(piece, read):
        content += part
    return content


def restore(descriptor: int, kept: tuple[int, int], former: Read, size: int | None, mode: int | None) -> None:
    """Put former bytes back into an open file, and flush it.

    Args:
        descriptor: the file, open for writing.
        kept: first and last (exclusive) of them.
        former: reads them (offset in the file, size).
        size: the file's former size in bytes; None leaves what was appended.
        mode: its former permission bits, None to leave them.

    Raises:
        OSError: the system refuses.
    """
    start, end = kept
    for offset in range(start, end, _BUFFER):
        write_all(descriptor, former(offset, min(_BUFFER, end - offset)), offset)
    if size is not None:
        os.ftruncate(descriptor, size)
    if mode is not None and permissions(os.fstat(descriptor)) != mode:
        os.fchmod(descriptor, mode)
    os.fsync(descriptor)
