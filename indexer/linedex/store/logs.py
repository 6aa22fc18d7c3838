"""Logs as rows: how each is read, its parts, and the templates of its messages.

Promise: what is stored of a log covers it from its first byte to the end that its file row tells, or there is nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw

from linedex.content.logs.detection import LogRule
from linedex.content.logs.parts import Part
from linedex.content.logs.templates.drain import Drain, TemplateRow
from linedex.content.logs.templates.miner import TemplateMiner
from linedex.content.logs.texts import LogReading
from linedex.model import FileId
from linedex.store.log_columns import LogColumns, packed, packed_columns, unpacked

_WRAP = 1 << 64


def put_reading(db: apsw.Connection, file: FileId, reading: LogReading | None) -> None:
    """Store how the lines of a large file are read, None for one that is no log."""
    told = ("", "") if reading is None else (reading.rule.to_json(), reading.zone)
    db.execute("INSERT OR REPLACE INTO logs VALUES(?, ?, ?)", (file, *told))


def stored_reading(db: apsw.Connection, file: FileId) -> tuple[bool, LogReading | None]:
    """Return whether anything is known of a file as a log, and how its lines are read if it is one."""
    row = db.execute("SELECT rule, zone FROM logs WHERE file = ?", (file,)).fetchone()
    if row is None:
        return False, None
    rule, zone = row
    return True, LogReading(LogRule.from_json(rule), zone) if rule else None


def begin_again(db: apsw.Connection, file: FileId, reading: LogReading) -> None:
    """Store that a log is to be read in another way; what is known of it is forgotten."""
    forget(db, file)
    put_reading(db, file, reading)


@dataclass(frozen=True, slots=True)
class Segment:
    """Some parts of a log that follow each other.

    Attributes:
        first: place of the first one among the parts of the file.
        line: number of the line it begins in.
        parts: the parts.
    """

    first: int
    line: int
    parts: Sequence[Part]


def forget(db: apsw.Connection, file: FileId) -> None:
    """Forget what is known of a file as a log; queries read it."""
    for table in ("logs", "log_segments", "log_templates", "log_shapes"):
        db.execute(f"DELETE FROM {table} WHERE file = ?", (file,))


def put_segment(db: apsw.Connection, file: FileId, segment: Segment) -> None:
    """Store a segment."""
    row = (file, segment.first, segment.line, packed(segment.parts))
    db.execute("INSERT INTO log_segments VALUES(?, ?, ?, ?)", row)


def cut_segments(db: apsw.Connection, file: FileId, place: int) -> None:
    """Forget the segments from a place on; it is the first part of one."""
    db.execute("DELETE FROM log_segments WHERE file = ? AND first >= ?", (file, place))


def last_segment(db: apsw.Connection, file: FileId, end: int) -> Segment | None:
    """Return the last segment that begins before a byte, None when there is none."""
    for first, line, data in db.execute(
        "SELECT first, line, data FROM log_segments WHERE file = ? ORDER BY first DESC", (file,)
    ):
        parts = unpacked([data]).parts()
        if parts[0].start < end or not first:
            return Segment(first, line, parts)
    return None


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment as it is stored: the place of its first part, the number of the line that begins in, its blob."""

    first: int
    line: int
    data: bytes

    def columns(self) -> LogColumns:
        """Return its parts."""
        return unpacked([self.data])


def segments(db: apsw.Connection, file: FileId) -> list[StoredSegment]:
    """Return the segments of a log in order; of 10 GB they take 4 MB."""
    rows = db.execute("SELECT first, line, data FROM log_segments WHERE file = ? ORDER BY first", (file,))
    return [StoredSegment(*row) for row in rows]


def put_columns(db: apsw.Connection, file: FileId, first: int, line: int, parts: LogColumns) -> None:
    """Store parts as the segment whose first part has this place and begins in this line."""
    db.execute("INSERT INTO log_segments VALUES(?, ?, ?, ?)", (file, first, line, packed_columns(parts)))


def columns(db: apsw.Connection, file: FileId, *, templates: bool = True) -> LogColumns:
    """Return the parts of a log, perhaps without the counts of their templates."""
    rows = db.execute("SELECT data FROM log_segments WHERE file = ? ORDER BY first", (file,))
    return unpacked([data for (data,) in rows], templates=templates)


def stored_miner(db: apsw.Connection, file: FileId) -> TemplateMiner:
    """Return the templates of a log."""
    rows = [TemplateRow("", ())]
    for masked, path in db.execute(
        "SELECT masked, path FROM log_templates WHERE file = ? AND id > 0 ORDER BY id", (file,)
    ):
        rows.append(TemplateRow(masked, tuple(json.loads(path))))
    shapes = {
        number % _WRAP: template
        for number, template in db.execute("SELECT hash, template FROM log_shapes WHERE file = ?", (file,))
    }
    return TemplateMiner(shapes=shapes, drain=Drain.restored(rows))


def put_templates(db: apsw.Connection, file: FileId, drain: Drain, changed: Iterable[int]) -> None:
    """Store templates that are new or have changed, by their numbers."""
    rows = drain.rows()
    db.executemany(
        "INSERT OR REPLACE INTO log_templates VALUES(?, ?, ?, ?)",
        ((file, number, rows[number].masked, json.dumps(rows[number].path)) for number in changed),
    )


def put_shapes(db: apsw.Connection, file: FileId, shapes: Iterable[tuple[int, int]]) -> None:
    """Store (shape, template) pairs that are new."""
    db.executemany(
        "INSERT INTO log_shapes VALUES(?, ?, ?)",
        ((file, shape - _WRAP if shape >= _WRAP // 2 else shape, template) for shape, template in shapes),
    )
