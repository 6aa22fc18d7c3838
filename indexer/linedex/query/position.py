"""Positions in a file that may grow, rotate or be cut: where somebody has read up to, as a short text.

A position says which file it was made in (its inode), how long that was, and what stood at its head and before its end
then. So a later question can tell whether the file has only grown since, whatever its name by now.

Promise: `holds` is true only where the bytes before the end of that time are there, as far as head and end tell.
"""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from linedex.content.lines import Reader
from linedex.errors import BadCursor
from linedex.files.fingerprint import EDGE_BYTES, digest
from linedex.model import LineNumber, RelPath

_AGAIN: Final = "Ask again without it."
_VERSION: Final = 1
_FIRST: Final = "A"
"""What base64 makes of the first bits of the version."""
_LAYOUT: Final = struct.Struct("<B4s6sQQQQQ8s8s?")
_SPAN: Final = struct.Struct("<4q")
_BEFORE_END: Final = 64
_UNBOUND: Final = bytes(6)


@dataclass(frozen=True, slots=True)
class Position:
    """Where to go on in a file.

    Attributes:
        place: byte at which a line begins, and the number of that line: what is new begins there, or behind it.
        after: the last line that was given, 0 when all from `place` on is new.
        inode: of the file.
        size: its length in bytes then; 0 when nothing of it was read.
        head: digest of its first kilobyte then.
        end: digest of the bytes before its end then.
        done: whether all that it held then was given, a last line without end too.
        span: the range of time of the search it belongs to, see `log_range.span_numbers`.
    """

    place: tuple[int, int]
    after: LineNumber
    inode: int
    size: int
    head: bytes
    end: bytes
    done: bool = False
    span: tuple[int, ...] = ()

    def holds(self, inode: int, size: int, read: Reader) -> bool:
        """Say whether a file is the one the position was made in, perhaps grown."""
        return inode == self.inode and self.continues_in(size, read)

    def continues_in(self, size: int, read: Reader) -> bool:
        """Say whether a file begins with what the one of the position held, itself or a copy of it."""
        return size >= self.size and edges(self.size, read) == (self.head, self.end)


def edges(size: int, read: Reader) -> tuple[bytes, bytes]:
    """Return the digests that tell the first `size` bytes of a file."""
    before = min(_BEFORE_END, size)
    return digest(read(0, min(EDGE_BYTES, size))), digest(read(size - before, before))


def encoded(position: Position, path: RelPath, query: bytes = _UNBOUND) -> str:
    """Return a position as text that is good for one path, and if `query` is given for that query only."""
    packed = _LAYOUT.pack(
        *(_VERSION, _name(path), query, *position.place, position.after, position.inode, position.size),
        *(position.head, position.end, position.done),
    )
    if position.span:
        packed += _SPAN.pack(*position.span)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decoded(text: str, path: RelPath, query: bytes = _UNBOUND) -> Position:
    """Return the position that `encoded` made a text of.

    Args:
        text: the text.
        path: the file that is asked.
        query: what is asked of it.

    Raises:
        BadCursor: it is no position, or one of another file or query.
    """
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        version, name, bound, offset, number, after, *rest = _LAYOUT.unpack(packed[: _LAYOUT.size])
        span = _SPAN.unpack(packed[_LAYOUT.size :]) if len(packed) > _LAYOUT.size else ()
    except (binascii.Error, struct.error, ValueError) as error:
        raise BadCursor("This is not a cursor of linedex.", _AGAIN) from error
    if version != _VERSION:
        raise BadCursor("This is not a cursor of linedex.", _AGAIN)
    if name != _name(path):
        raise BadCursor("The cursor belongs to another file.", _AGAIN)
    if bound not in (_UNBOUND, query):
        raise BadCursor("The cursor belongs to another query or other options.", _AGAIN)
    return replace(Position((offset, number), LineNumber(after), *rest), span=span)


def is_position(text: str) -> bool:
    """Say whether a cursor is a position rather than one of a search of many files."""
    # the other begins with the bracket of its JSON, a position with its version
    return text.startswith(_FIRST)


def _name(path: RelPath) -> bytes:
    return blake2b(path, digest_size=4).digest()
