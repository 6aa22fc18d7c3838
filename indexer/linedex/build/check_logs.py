"""What is stored of a large log, and the checkpoints of a large file, against the file itself.

Promise: each part is read again as it is cut, after what the parts before it really leave, and every figure is
compared; memory is that of a segment and the file's templates.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Final

import apsw
import numpy as np

from linedex.content.lines import LineEnds, Reader
from linedex.content.logs.levels import Level
from linedex.content.logs.parts import Part, ShapedPart, read_parts, shift_between
from linedex.content.logs.records import FILE_START, Carry
from linedex.content.logs.templates.drain import OVERFLOW
from linedex.content.logs.texts import LogReading, ahead_bytes, find_rule
from linedex.model import FileId, TextFormat
from linedex.store import checkpoints, logs
from linedex.store.log_columns import LogColumns, columns_of

_PIECE: Final = 1 << 20
_FACTS: Final = ("last", "least", "greatest", "records", "lines", "line_ends", "unstamped", "longest", "cells")
Counts = Counter[tuple[int, Level]]


def check_log(db: apsw.Connection, file: FileId, read: Reader, size: int, spelling: TextFormat) -> Iterator[str]:
    """Yield what is wrong with what is stored of a file as a log, in sentences.

    Args:
        db: a reading connection.
        file: id of a large file that has not changed since it was indexed.
        read: reads (offset, size) bytes of its text.
        size: bytes of its text.
        spelling: how they spell text.
    """
    known, reading = logs.stored_reading(db, file)
    if reading is not None:
        yield from _LogCheck(db, file, read, spelling, reading).run(size)
    elif known and find_rule(read, size, spelling) is not None:
        yield f"File {file} is stored as one without times, and has some."


class _LogCheck:
    def __init__(
        self, db: apsw.Connection, file: FileId, read: Reader, spelling: TextFormat, reading: LogReading
    ) -> None:
        self._db = db
        self._file = file
        self._read = read
        self._spelling = spelling
        self._ends = LineEnds.of(spelling)
        self._reading = reading
        self._templates = logs.stored_miner(db, file)
        self._at = spelling.bom
        self._line = 1
        self._carry: Carry = FILE_START
        self._continues = False

    def run(self, size: int) -> Iterator[str]:
        place = 0
        for segment in logs.segments(self._db, self._file):
            columns = segment.columns()
            if (segment.first, segment.line) != (place, self._line):
                yield (
                    f"A segment of the log of file {self._file} begins with part {segment.first} in line"
                    f" {segment.line}, not with part {place} in line {self._line}."
                )
            for stored in range(len(columns)):
                wrong = self._part(columns, stored)
                if wrong:
                    yield f"The part of the log of file {self._file} at byte {self._at} has other {wrong}."
                    return
            place += len(columns)
        if self._at != size:
            yield f"The log of file {self._file} is known to byte {self._at}, not to {size}."

    def _part(self, columns: LogColumns, at: int) -> str:
        """Read a part; return what is stored otherwise, "" when nothing is."""
        start, end = int(columns.part["start"][at]), int(columns.part["end"][at])
        if start != self._at or end <= start:
            return "bounds"
        if shift_between(columns.carry(at), self._carry, self._reading) != 0:
            return "lines before it"
        if bool(columns.part["continues"][at]) != self._continues:
            return "beginnings of lines"
        data = self._read(start, end - start)
        made = read_parts(
            *(self._reading, data, start, [start], self._carry),
            continues=self._continues,
            beyond=self._read(end, ahead_bytes(self._ends)),
            spelling=self._spelling,
        )
        fresh = made.parts[0]
        stored = columns.between(at, at + 1)
        wrong = _difference(stored, fresh.part) or self._templates_differ(stored, fresh)
        if not wrong:
            self._at, self._carry, self._continues = end, made.left, not data.endswith(self._ends.unit)
            self._line += fresh.part.line_ends
        return wrong

    def _templates_differ(self, stored: LogColumns, fresh: ShapedPart) -> str:
        """Say whether templates are counted otherwise; shapes that are known by now may have counted as `other`."""
        if not len(stored.template["template"]):
            return ""
        told = Counts()
        for number, level, count in zip(*(column.tolist() for column in stored.template.values()), strict=True):
            told[number, Level(level)] += count
        true = Counts()
        shapes = fresh.shapes
        for shape, level, count in zip(
            shapes.hashes.tolist(), shapes.levels.tolist(), shapes.counts.tolist(), strict=True
        ):
            true[self._templates.shapes.get(shape, OVERFLOW), Level(level)] += count
        same = _by_level(told) == _by_level(true)
        fewer = all(count <= true[key] for key, count in told.items() if key[0] != OVERFLOW)
        return "" if same and fewer else "templates"


def _by_level(counts: Counts) -> Counter[Level]:
    found: Counter[Level] = Counter()
    for (_, level), count in counts.items():
        found[level] += count
    return found


def _difference(stored: LogColumns, fresh: Part) -> str:
    true = columns_of([fresh])
    for name in _FACTS:
        if int(stored.part[name][0]) != int(true.part[name][0]):
            return name.replace("_", " ")
    same = all(np.array_equal(stored.cell[name], true.cell[name]) for name in true.cell)
    return "" if same else "counts by minute and level"


def check_checkpoints(
    db: apsw.Connection, file: FileId, read: Reader, size: int, spelling: TextFormat
) -> Iterator[str]:
    """Yield what is wrong with the checkpoints of a large file that is not compressed; arguments as of `check_log`."""
    at = spelling.bom
    for one in checkpoints.of_file(db, file):
        if one.start != at:
            yield f"A checkpoint of file {file} begins at byte {one.start}, not at {at}."
            return
        at = one.end
        if one.crc is not None and one.crc != _checksum(read, one.start, one.end):
            yield f"The checkpoint of file {file} at byte {one.start} is not that of its bytes."
    if at != size:
        yield f"The checkpoints of file {file} reach to byte {at}, not to {size}."


def _checksum(read: Reader, start: int, end: int) -> int:
    crc = 0
    for low in range(start, end, _PIECE):
        crc = zlib.crc32(read(low, min(_PIECE, end - low)), crc)
    return crc
