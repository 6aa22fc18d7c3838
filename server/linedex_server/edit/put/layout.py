"""What a file consists of after splices: stretches of the old file and new bytes, and which of its bytes differ.

Promise: everything here is arithmetic over offsets; bytes of the old file are asked for one step at a time, so a file
of any size is laid out in the memory of its splices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

from linedex_server.edit.splice import Splice

_STEP: Final = 1 << 20

Read: TypeAlias = Callable[[int, int], bytes]
"""Returns up to (offset, size) bytes of the old file."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The bytes of the old file from `start` to `end` (exclusive), which stay as they are."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Region:
    """What is put down anew when a file is written in place: the old bytes from `start` to `end` (exclusive)."""

    start: int
    end: int


def pieces(splices: Sequence[Splice], start: int, end: int) -> Iterator[Stretch | bytes]:
    """Yield, in order, what the old bytes from `start` to `end` become by splices that lie between them."""
    at = start
    for splice in splices:
        if at < splice.start:
            yield Stretch(at, splice.start)
        if new := splice.new:
            yield new
        at = splice.end
    if at < end:
        yield Stretch(at, end)


def new_size(splices: Sequence[Splice], size: int) -> int:
    """Return the size of a file of `size` bytes after its splices."""
    return size + sum(splice.delta for splice in splices)


def digest(splices: Sequence[Splice], size: int, read: Read) -> str:
    """Return the SHA-256, in hex, that a file of `size` bytes has after its splices."""
    found = sha256()
    for piece in pieces(splices, 0, size):
        for part in parts(piece, read):
            found.update(part)
    return found.hexdigest()


def parts(piece: Stretch | bytes, read: Read) -> Iterator[bytes]:
    """Yield the bytes of a piece, 1 MiB of the old file at a time."""
    if isinstance(piece, bytes):
        yield piece
    else:
        for offset in range(piece.start, piece.end, _STEP):
            yield read(offset, min(_STEP, piece.end - offset))


def changes(splices: Sequence[Splice], size: int, read: Read) -> bool:
    """Say whether `ordered` splices make any byte of a file of `size` bytes differ."""
    if new_size(splices, size) != size:
        return True
    if all(not splice.delta for splice in splices):
        return any(splice.new != read(splice.start, splice.end - splice.start) for splice in splices)
    first, last = splices[0].start, splices[-1].end
    at = first
    for piece in pieces(splices, first, last):
        for part in parts(piece, read):
            if part != read(at, len(part)):
                return True
            at += len(part)
    return False


def region(splices: Sequence[Splice], size: int) -> Region:
    """Return what has to be put down anew when `ordered` splices are made in place in a file of `size` bytes.

    Everything from the first splice on moves, but for what follows the last one if the size stays.
    """
    if not splices:
        return Region(size, size)
    return Region(splices[0].start, splices[-1].end if new_size(splices, size) == size else size)


def writes(splices: Sequence[Splice], size: int) -> Iterator[tuple[int, Stretch | bytes]]:
    """Yield (offset in the new file, piece) of what has to be written; not what neither moves nor changes."""
    if all(not splice.delta for splice in splices):
        yield from ((splice.start, splice.new) for splice in splices)
        return
    moved = region(splices, size)
    at = moved.start
    for piece in pieces(splices, moved.start, moved.end):
        yield at, piece
        at += len(piece) if isinstance(piece, bytes) else piece.end - piece.start
