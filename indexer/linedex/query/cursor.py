"""Cursors: where a page stopped, bound to the query and the file it stopped in.

A cursor is opaque to its holder, short, and refused with a reason when it is used with another query, or when the file
it points into was rotated, truncated or replaced since, even if it is as long as before again. It stays valid while
that file grows.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, fields
from hashlib import blake2b

from linedex.answers import SearchRequest
from linedex.content.lines import Reader
from linedex.errors import BadCursor
from linedex.model import LineNumber
from linedex.query.position import edges

_PAGING = {"cursor", "max_hits", "max_characters", "brute"}
_SPAN_NUMBERS = 4
_AGAIN = "Repeat the search without cursor."


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where to go on.

    Attributes:
        key: of the file to go on with.
        line: the last line of it that was given, 0 for none.
        place: byte of it from which on the search goes on, and the number of the line that begins there.
        inode: of that file when it was given.
        size: of that file then, in bytes.
        mark: of the head of that file and of what stood before its end then, see `mark_of`; 0 when that was compared.
        span: the range of time that the search began with, see `log_range.span_numbers`.
    """

    key: bytes
    line: LineNumber
    place: tuple[int, int]
    inode: int
    size: int
    mark: int = 0
    span: tuple[int, ...] = ()

    @property
    def begun(self) -> bool:
        """Whether anything of the file was looked at."""
        return self.line > 0 or self.place[0] > 0

    def check(self, inode: int, size: int, read: Reader) -> None:
        """Raise unless the file is the one the cursor was made in, perhaps grown.

        A file of which nothing was told yet may have been cut or written anew, but not have become another one: that
        may be one that was told under its former name.

        Args:
            inode: of the file now.
            size: its bytes now.
            read: reads (offset, size) bytes of it.

        Raises:
            BadCursor: it is another file, or does not begin with what it held.
        """
        cut = self.begun and (size < self.size or (self.mark != 0 and mark_of(self.size, read) != self.mark))
        if cut or inode != self.inode:
            raise BadCursor("The file this cursor points into was rotated or rewritten.", _AGAIN)


def mark_of(size: int, read: Reader) -> int:
    """Return a number, never 0, that tells the first `size` bytes of a file by their head and their end."""
    return int.from_bytes(blake2b(b"".join(edges(size, read)), digest_size=6).digest(), "big") or 1


def digest(request: SearchRequest) -> bytes:
    """Return six bytes that tell one query from another, whatever page of it is asked for."""
    asked = [repr(getattr(request, field.name)) for field in fields(request) if field.name not in _PAGING]
    return blake2b("\0".join(asked).encode("utf-8", "surrogatepass"), digest_size=6).digest()


def encode(request: SearchRequest, cursor: Cursor) -> str:
    """Return the cursor as text, for this request."""
    key = base64.urlsafe_b64encode(cursor.key).decode()
    body = json.dumps(
        [digest(request).hex(), key, cursor.line, *cursor.place, cursor.inode, cursor.size, cursor.mark, *cursor.span],
        separators=(",", ":"),
    )
    return base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")


def decode(request: SearchRequest) -> Cursor | None:
    """Return the request's cursor, None when it has none.

    Raises:
        BadCursor: it is no cursor, or one of another query.
    """
    if not request.cursor:
        return None
    try:
        padded = request.cursor + "=" * (-len(request.cursor) % 4)
        query, key, *numbers = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        line, offset, number, inode, size, mark, *span = map(int, numbers)
        place = (max(0, offset), number)
        cursor = Cursor(
            base64.urlsafe_b64decode(key.encode("ascii")), LineNumber(line), place, inode, size, mark, tuple(span)
        )
    except (ValueError, TypeError, AttributeError, binascii.Error, RecursionError) as error:
        raise BadCursor("This is not a cursor of linedex.", _AGAIN) from error
    if len(span) not in (0, _SPAN_NUMBERS):
        raise BadCursor("This is not a cursor of linedex.", _AGAIN)
    if query != digest(request).hex():
        raise BadCursor("The cursor belongs to another query or other options.", _AGAIN)
    return cursor
