"""What the index knows of an open large file: all of it, or what it was before it grew.

Promise: what is said here is true of the file's present bytes as far as its stat, its head and the kilobyte before the
indexed end tell; a file that did anything but grow since it was indexed is not known at all. Beside these edges only
what is new is read.
"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from linedex.content.lines import Reader
from linedex.files import fingerprint as fingerprints
from linedex.files import text_format
from linedex.model import Change, FileId, Fingerprint, LineCount, TextFormat
from linedex.store import blocks, files


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
    """

    file: FileId
    size: int
    lines: LineCount
    format: TextFormat
    language: str
    grown: bool


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
    spelling: TextFormat | None = text.format
    if change is Change.APPENDED:
        last = blocks.last_block(db, file)
        spelling = text_format.grown(read, text.format, last, known.size, now.size) if last >= 0 else None
    if spelling is None:
        return None
    lines = LineCount(text.lines)
    return IndexedPart(file, known.size, lines, spelling, text.language, change is Change.APPENDED)
