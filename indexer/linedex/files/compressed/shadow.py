"""Shadows: seekable copies, in the state folder, of compressed files that cannot be read from the middle.

A shadow holds the text in Zstandard frames of a mebibyte; for a log it is no larger than the file it stands for. All
shadows of one index stay below a budget: the least recently read make room. They are disposable, named by the state of
the file that they copy, and never written where a user's files are.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from linedex.files.compressed.points import Points
from linedex.model import Fingerprint

FRAME: Final = 1 << 20
"""Bytes of text in a frame."""
_LEVEL: Final = 3
_SUFFIX: Final = ".shadow.zst"
_UNFINISHED: Final = ".unfinished"


@dataclass(frozen=True, slots=True)
class Shadows:
    """The shadows of one index.

    Attributes:
        folder: where they are; made when the first one is.
        budget: bytes that all of them together may take.
    """

    folder: Path
    budget: int

    def open(self, mark: Fingerprint) -> int | None:
        """Return a descriptor of the shadow of a file in this state, None when there is none; marks it as read."""
        path = self.path(mark)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        with suppress(OSError):  # it may have been dropped just now; what is open stays readable
            os.utime(path)
        return descriptor

    def begin(self, mark: Fingerprint) -> ShadowWriter | None:
        """Return what writes the shadow of a file in this state, None when the budget or the disk has no room."""
        if self.budget <= 0:
            return None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # unbuffered, so that a full disk is met by the write and not again by each close
            file = tempfile.NamedTemporaryFile(dir=self.folder, suffix=_UNFINISHED, delete=False, buffering=0)  # noqa: SIM115
        except OSError:
            return None
        return ShadowWriter(self, file, self.path(mark))

    def make_room(self, size: int) -> None:
        """Drop the least recently read shadows until `size` more bytes are within the budget."""
        kept = []
        for path in self.folder.glob("*" + _SUFFIX):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            kept.append((status.st_mtime_ns, status.st_size, path))
        used = sum(length for _, length, _ in kept)
        for _, length, path in sorted(kept):
            if used + size <= self.budget:
                break
            path.unlink(missing_ok=True)
            used -= length

    def tidy(self) -> None:
        """Remove what a killed process left half written; only while nobody writes shadows."""
        for path in self.folder.glob("*" + _UNFINISHED):
            path.unlink(missing_ok=True)

    def path(self, mark: Fingerprint) -> Path:
        """Return where the shadow of a file in this state is, if there is one."""
        # without ctime, which a new name changes; a copy is asked for only by who knows that the bytes are the same
        state = repr((mark.inode, mark.size, mark.mtime_ns, mark.head, mark.tail))
        return self.folder / (blake2b(state.encode(), digest_size=16).hexdigest() + _SUFFIX)


class ShadowWriter:
    """Writes one shadow; nobody sees it before `finish`."""

    def __init__(self, shadows: Shadows, file: IO[bytes], path: Path) -> None:
        self._shadows = shadows
        self._file = file
        self._path = path
        self._waiting = bytearray()
        self._written = 0
        self._starts: list[tuple[int, int]] = []
        self._failed = False

    def add(self, text: bytes) -> None:
        """Take the next bytes of the text; past the budget, or on a full disk, they are dropped."""
        if self._failed:
            return
        self._waiting += text
        while len(self._waiting) >= FRAME and not self._failed:
            self._write(FRAME)

    def finish(self) -> Points | None:
        """Put the shadow in its place and return its seek points; None when there was no room for it."""
        if self._waiting and not self._failed:
            self._write(len(self._waiting))
        if self._failed:
            self.abandon()
            return None
        try:
            # some file systems have no room for what they took before
            self._file.close()
            self._shadows.make_room(self._written)
            os.replace(self._file.name, self._path)
        except OSError:
            self.abandon()
            return None
        return Points.of(self._starts)

    def abandon(self) -> None:
        """Leave nothing behind, as far as the system lets us; `Shadows.tidy` sees to the rest."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            Path(self._file.name).unlink(missing_ok=True)

    def _write(self, size: int) -> None:
        frame = zstd.compress(bytes(self._waiting[:size]), level=_LEVEL)
        del self._waiting[:size]
        self._starts.append((self._written, FRAME * len(self._starts)))
        self._written += len(frame)
        if self._written > self._shadows.budget:
            self._failed = True
            return
        left = memoryview(frame)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self._failed = True
