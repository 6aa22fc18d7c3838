"""A file written from stretches of another and new bytes, in constant memory.

Promise: the file that `write_pieces` leaves has exactly those bytes. Stretches go from file to file inside the kernel
where it can, 64 MiB at a time, and are on their way to the disk before the next begins, so that the final flush waits
for little; holes stay holes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from typing import Final

from linedex_server.edit.put import syscalls
from linedex_server.edit.put.faults import Faults
from linedex_server.edit.put.layout import Stretch
from linedex_server.edit.put.syscalls import Abilities

_STEP: Final = 64 << 20
_BUFFER: Final = 1 << 20
_NO_RANGES: Final = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_BLOCK: Final = 512
"""The unit of `st_blocks`."""


class Shrunk(Exception):
    """The file that is copied from has become shorter."""


def write_pieces(
    source: int, pieces: Iterable[Stretch | bytes], target: int, at: int, abilities: Abilities, faults: Faults
) -> int:
    """Write pieces, from offset `at` of a file on, and return where they end.

    Args:
        source: descriptor of the file that stretches are of; -1 when there are none.
        pieces: what to write, in order.
        target: descriptor of a file open for writing.
        at: offset of the first byte.
        abilities: which calls may be used.
        faults: called before each step of writing.

    Raises:
        Shrunk: a stretch reaches past the end of its file.
        OSError: the system refuses, as when the disk is full.
    """
    sparse = source >= 0 and _has_holes(os.fstat(source))
    for piece in pieces:
        if isinstance(piece, bytes):
            faults("write new bytes")
            write_all(target, piece, at)
            at += len(piece)
            continue
        shift = at - piece.start
        for start, end in _stretches_of_data(source, piece) if sparse else [(piece.start, piece.end)]:
            for begin in range(start, end, _STEP):
                faults("copy a stretch")
                _copy(source, begin, min(begin + _STEP, end), target, begin + shift, abilities)
        at = piece.end + shift
    if os.fstat(target).st_size < at:
        # it ends with a hole
        os.ftruncate(target, at)
    return at


def write_all(target: int, content: bytes | bytearray, at: int) -> None:
    """Write bytes at an offset, all of them."""
    view = memoryview(content)
    while view:
        written = os.pwrite(target, view, at)
        view = view[written:]
        at += written


def _copy(source: int, start: int, end: int, target: int, at: int, abilities: Abilities) -> None:
    shift = at - start
    position = start
    if abilities.ranges:
        position = _copy_range(source, start, end, target, shift)
    while position < end:
        content = os.pread(source, min(_BUFFER, end - position), position)
        if not content:
            raise Shrunk
        write_all(target, content, position + shift)
        position += len(content)
    if abilities.ranges:
        syscalls.start_write_back(target, at, end - start)


def _copy_range(source: int, position: int, end: int, target: int, shift: int) -> int:
    """Copy inside the kernel as far as it can; return the offset that it reached."""
    while position < end:
        try:
            copied = os.copy_file_range(source, target, end - position, position, position + shift)
        except OSError as error:
            if error.errno in _NO_RANGES:
                return position
            raise
        if not copied:
            return position
        position += copied
    return position


def _has_holes(status: os.stat_result) -> bool:
    return status.st_blocks * _BLOCK < status.st_size


def _stretches_of_data(source: int, stretch: Stretch) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of what is no hole."""
    at = stretch.start
    while at < stretch.end:
        try:
            start = os.lseek(source, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            # a file system that does not tell
            yield at, stretch.end
            return
        if start >= stretch.end:
            return
        end = min(os.lseek(source, start, os.SEEK_HOLE), stretch.end)
        yield start, end
        at = end
