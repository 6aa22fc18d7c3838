"""Checkpoints of large files: what the bytes that were indexed add up to, a checksum for each 64 MiB or so.

Head, tail and the kilobyte before the indexed end tell whether a file only grew, but not whether bytes in its middle
changed as well. A checkpoint that was read again after the state that the index knows was seen is *verified*. So
nothing has to be written when a file grows: its row is seen later, and what was checked before is unverified again.

Promise: the checkpoints of a file cover it from behind its BOM to its indexed end, in order and without a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from linedex.content.checksums import Checksum, joined
from linedex.model import FileId, FileState

_COLUMNS = 'c.file, c.start, c."end", c.crc, c.checked_ns'
_OF_INDEXED = f"FROM checkpoints c JOIN files f ON f.id = c.file WHERE f.state = {int(FileState.INDEXED)}"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A stretch of a large file as it was indexed.

    Attributes:
        file: id of the file.
        start: first byte.
        end: byte after the last.
        crc: CRC-32 of its bytes, None where an edit was taken in without reading all of them.
        checked_ns: when they were last read and found so, by the system's clock.
    """

    file: FileId
    start: int
    end: int
    crc: int | None
    checked_ns: int


def of_file(db: apsw.Connection, file: FileId) -> list[Checkpoint]:
    """Return the checkpoints of a file, in order."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM checkpoints c WHERE file = ? ORDER BY start", (file,))
    return [Checkpoint(*row) for row in rows]


def add(db: apsw.Connection, file: FileId, read: Sequence[Checksum], step: int, seen_ns: int) -> None:
    """Store what follows the last checkpoint of a file; one that is not at a multiple of `step` yet is continued."""
    last = db.execute(
        f"SELECT {_COLUMNS} FROM checkpoints c WHERE file = ? ORDER BY start DESC LIMIT 1", (file,)
    ).fetchone()
    made: list[Checkpoint] = [Checkpoint(*last)] if last else []
    for start, end, crc in read:
        if made and made[-1].end % step:
            before = made.pop()
            whole = None if before.crc is None else joined(before.crc, crc, end - start)
            made.append(Checkpoint(file, before.start, end, whole, min(before.checked_ns, seen_ns)))
        else:
            made.append(Checkpoint(file, start, end, crc, seen_ns))
    _put(db, made)


def _put(db: apsw.Connection, made: Sequence[Checkpoint]) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO checkpoints VALUES(?, ?, ?, ?, ?)",
        ((one.file, one.start, one.end, one.crc, one.checked_ns) for one in made),
    )


def cut(db: apsw.Connection, file: FileId, end: int) -> None:
    """Forget what is stored of a file behind byte `end`; of the checkpoint around it no checksum is known any more."""
    db.execute("DELETE FROM checkpoints WHERE file = ? AND start >= ?", (file, end))
    db.execute('UPDATE checkpoints SET "end" = ?, crc = NULL WHERE file = ? AND "end" > ?', (end, file, end))


def splice(db: apsw.Connection, file: FileId, splices: Sequence[tuple[int, int, int]], seen_ns: int) -> None:
    """Shift the checkpoints of a file that was edited; no checksum is known of those that the edit touched.

    Args:
        db: the writing connection, inside a transaction.
        file: its id, its row still that of the state before.
        splices: in ascending order, first byte and byte after the last of what was replaced, and its length now.
        seen_ns: when the state that the edit made was seen: what was verified and is untouched stays so.
    """
    before = db.execute("SELECT seen_ns FROM files WHERE id = ?", (file,)).get
    known = of_file(db, file)
    made: list[Checkpoint] = []
    shift = 0
    for one in known:
        # what is put in between two checkpoints belongs to the second, behind the last byte of a file to the last
        high = one.end + (one is known[-1])
        inside = [edit for edit in splices if edit[0] < high and max(edit[1], edit[0] + 1) > one.start]
        own = sum(_shift_inside(edit, one.start, one.end) for edit in inside)
        checked = seen_ns if one.checked_ns >= before and not inside else one.checked_ns
        moved = Checkpoint(*(file, one.start + shift, one.end + shift + own, None if inside else one.crc, checked))
        if moved.end > moved.start:
            made.append(moved)
        shift += own
    db.execute("DELETE FROM checkpoints WHERE file = ?", (file,))
    _put(db, made)


def _shift_inside(splice: tuple[int, int, int], low: int, high: int) -> int:
    """Return the bytes by which a splice makes a checkpoint longer: what is new stands where it begins."""
    start, end, length = splice
    gone = max(0, min(end, high) - max(start, low))
    return (length if start >= low else 0) - gone


def unverified(db: apsw.Connection, before_ns: int) -> list[Checkpoint]:
    """Return the checkpoints that are not verified and were last checked before a time, the oldest first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} {_OF_INDEXED} AND c.checked_ns < f.seen_ns AND c.checked_ns < ?"
        " ORDER BY c.checked_ns, c.start",
        (before_ns,),
    )
    return [Checkpoint(*row) for row in rows]


def set_checked(db: apsw.Connection, one: Checkpoint, crc: int, checked_ns: int) -> None:
    """Store that a checkpoint was read again and what its bytes add up to."""
    db.execute(
        "UPDATE checkpoints SET crc = ?, checked_ns = ? WHERE file = ? AND start = ?",
        (crc, checked_ns, one.file, one.start),
    )


def set_all_checked(db: apsw.Connection, file: FileId, checked_ns: int) -> None:
    """Store that all checkpoints of a file were read again and found as they are stored."""
    db.execute("UPDATE checkpoints SET checked_ns = ? WHERE file = ?", (checked_ns, file))


def counts(db: apsw.Connection) -> tuple[int, int]:
    """Return how many checkpoints are verified, and how many there are."""
    verified, total = db.execute(
        f"SELECT coalesce(sum(c.checked_ns >= f.seen_ns), 0), count(*) {_OF_INDEXED}"
    ).fetchone() or (0, 0)
    return verified, total
