"""What the index knows of an open large file: all of it, or what it was before it grew.

Promise: what is said here is true of the file's present bytes as far as its stat, its head and the kilobyte before the
indexed end tell; a file that did anything but grow since it was indexed is not known at all. Beside these edges only
what is new is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import apsw

from linedex.content.lines import Reader
from linedex.files import fingerprint as fingerprints
from linedex.files import text_format
from linedex.model import Change, FileId, Fingerprint, LineCount, TextFormat
from linedex.store import blocks, files

_SHORT = 4 << 20
"""The end of a file that is kept between the look at its format and the search of it."""


@dataclass(frozen=True, slots=True)
class IndexedPart:
    """What the index knows of a file.

    Attributes:
        file: its id.
        size: its bytes that are known, from the first on.
        lines: lines of that part; its last one may go on behind it.
        format: how the whole file spells text, what is new included.
        language: its language when it was indexed, "" when unknown.
        grown: whether there is something behind the known part.
        tail: the end of the file, from its last known block on, if that is short; it was read already.
    """

    file: FileId
    size: int
    lines: LineCount
    format: TextFormat
    language: str
    grown: bool
    tail: bytes = b""

    def reading(self, read: Reader, size: int) -> Reader:
        """Return what reads the file, of `size` bytes, without reading its `tail` again."""
        begin = size - len(self.tail)

        def read_on(offset: int, count: int) -> bytes:
            return self.tail[offset - begin : offset - begin + count] if offset >= begin else read(offset, count)

        return read_on if self.tail else read


def indexed_part(db: apsw.Connection, file: FileId, now: Fingerprint, read: Reader) -> IndexedPart | None:
    """Return what the index knows of a large file, None when it knows nothing that is still true.

    Args:
        db: a reading connection.
        file: its id.
        now: its stat.
        read: reads (offset, size) bytes of it, as it is now.
    """
    text = files.stored_text(db, file)
    if text is None:
        return None
    known = text.fingerprint
    change = fingerprints.change(known, now, read)
    if change is Change.REWRITTEN or (change is Change.UNCHANGED and fingerprints.is_racy(known, text.seen_ns)):
        return None
    part = IndexedPart(file, known.size, LineCount(text.lines), text.format, text.language, grown=False)
    if change is Change.UNCHANGED:
        return part
    last = blocks.last_block(db, file)
    if last < 0:
        return None
    tail = read(last, now.size - last) if now.size - last <= _SHORT else b""
    part = replace(part, grown=True, tail=tail)
    spelling = text_format.grown(part.reading(read, last + len(tail)), text.format, last, known.size, now.size)
    return None if spelling is None else replace(part, format=spelling)
