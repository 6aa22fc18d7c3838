"""A former version of a file, as pieces of the present file and of what the history kept.

Promise: going back over steps moves no bytes: a version is a list of pieces, however large the file, and only the
splices that make it of the present file are read, a chunk at a time, when they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from linedex_server.edit.content.same_ends import common_ends
from linedex_server.edit.history.history import Kept
from linedex_server.edit.history.schema import CHUNK_BYTES
from linedex_server.edit.history.steps import Change, Read
from linedex_server.edit.splice import Splice

COMPARED_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a version.

    Attributes:
        kept: what the history kept; None for the present file.
        start: first byte there.
        size: how many.
    """

    kept: Kept | None
    start: int
    size: int


class KeptSplice(Splice):
    """A splice whose new bytes are read from the history when they are asked for, at most a chunk of them."""

    __slots__ = ("_piece",)

    _piece: Piece

    def __init__(self, start: int, end: int, piece: Piece) -> None:
        """Replace the bytes from `start` to `end` (exclusive) by a piece that the history kept."""
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "_piece", piece)

    @property
    def new(self) -> bytes:
        """The new bytes."""
        piece = self._piece
        assert piece.kept is not None
        return piece.kept.read(piece.start, piece.size)

    @property
    def delta(self) -> int:
        """How many bytes longer the file becomes; nothing is read for it."""
        return self._piece.size - (self.end - self.start)


def whole(kept: Kept | None, size: int) -> list[Piece]:
    """Return the version that a file of `size` bytes is."""
    return [Piece(kept, 0, size)] if size else []


def taken_back(version: Sequence[Piece], changes: Iterable[Change], former: Kept) -> list[Piece]:
    """Return a version as it was before `changes` were made, whose former bytes lie one after another in `former`."""
    before: list[Piece] = []
    rest = _Rest(version)
    at = shift = kept = 0
    for change in changes:
        start = change.start + shift
        before += rest.take(start - at)
        gone = change.end - change.start
        if gone:
            before.append(Piece(former, kept, gone))
        list(rest.take(change.length))
        kept += gone
        at = start + change.length
        shift += change.length - gone
    return [*before, *rest.take(None)]


class _Rest:
    """The pieces of a version from a place on."""

    def __init__(self, version: Sequence[Piece]) -> None:
        self._pieces = iter(version)
        self._left: Piece | None = None

    def take(self, size: int | None) -> Iterator[Piece]:
        """Yield the next `size` bytes, all that are left when it is None."""
        while size is None or size > 0:
            piece = self._left or next(self._pieces, None)
            if piece is None:
                return
            taken = piece.size if size is None else min(size, piece.size)
            left = piece.size - taken
            self._left = Piece(piece.kept, piece.start + taken, left) if left else None
            size = None if size is None else size - taken
            yield Piece(piece.kept, piece.start, taken)


def splices(
    version: Sequence[Piece], read: Read, size: int, compared_bytes: int = COMPARED_BYTES
) -> tuple[Splice, ...]:
    """Return what makes a version of the present file.

    Args:
        version: whose pieces of the present file are in its order.
        read: reads the present file.
        size: bytes of it.
        compared_bytes: up to here a version that has nothing of the present file is compared with it, so that only
            what differs is written.
    """
    length = sum(piece.size for piece in version)
    if max(length, size) <= compared_bytes and not any(piece.kept is None for piece in version):
        return _difference(read(0, size) if size else b"", b"".join(_bytes(piece) for piece in version))
    found: list[Splice] = []
    at = 0
    waiting: list[Piece] = []
    for piece in [*version, Piece(None, size, 0)]:
        if piece.kept is not None:
            waiting.append(piece)
            continue
        found += replaced(at, piece.start, waiting)
        at = piece.start + piece.size
        waiting = []
    return tuple(found)


def replaced(start: int, end: int, new: Sequence[Piece]) -> Iterator[Splice]:
    """Yield what puts kept pieces in the place of the bytes from `start` to `end` (exclusive)."""
    for piece in new:
        for offset in range(0, piece.size, CHUNK_BYTES):
            part = Piece(piece.kept, piece.start + offset, min(CHUNK_BYTES, piece.size - offset))
            yield KeptSplice(start, end, part)
            start = end  # what follows is put behind it
    if start < end:
        yield Splice(start, end, b"")


def _difference(present: bytes, wanted: bytes) -> tuple[Splice, ...]:
    if present == wanted:
        return ()
    head, tail = common_ends(present, wanted)
    return (Splice(head, len(present) - tail, wanted[head : len(wanted) - tail]),)


def _bytes(piece: Piece) -> bytes:
    assert piece.kept is not None
    return piece.kept.read(piece.start, piece.size)
