"""What is stored of a large log while its ranges come in: their parts joined, and numbers for the shapes of messages.

Promise: parts are stored a segment at a time, so memory does not grow with the file; a log that has grown keeps every
part but those that the new bytes may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import apsw

from linedex.build.numbering import Numbering
from linedex.build.ranges import RangeRead, ReadRange, read_range
from linedex.content.lines import Reader
from linedex.content.logs.changes import is_poor, widened
from linedex.content.logs.parts import LogRange, Part, ShapedPart, follow, joined_part
from linedex.content.logs.records import FILE_START, Carry
from linedex.content.logs.texts import LogReading
from linedex.model import FileId, TextFormat
from linedex.store import logs
from linedex.store.log_columns import SEGMENT_PARTS, columns_of
from linedex.store.logs import Segment

Again: TypeAlias = Callable[[Carry], LogRange | None]
"""Reads a range again, with what the lines before it leave."""


class LogPass:
    """Takes the ranges of one log in order and stores what they hold, inside the caller's transactions.

    Attributes:
        reading: how its lines are read.
        start: the byte from which on ranges are taken.
        continues: whether the line that stands there began before.
        carry: what the lines before it leave.
    """

    def __init__(self, db: apsw.Connection, file: FileId, reading: LogReading, part_bytes: int, start: int = 0) -> None:
        """Begin with the first byte of a file's text; `part_bytes` is the size from which on a part is closed."""
        self.reading = reading
        self.start = start
        self.continues = False
        self.carry = FILE_START
        self._db = db
        self._file = file
        self._part_bytes = part_bytes
        self._numbering = Numbering(db, file)
        self._first = 0
        self._parts: list[Part] = []
        self._line = 1
        self._segment_line = 1
        self._stale = False
        self._poor = False

    @classmethod
    def resumed(
        cls, db: apsw.Connection, file: FileId, reading: LogReading, part_bytes: int, at: int
    ) -> LogPass | None:
        """Go on with a stored log; None when nothing is stored.

        From the part that holds byte `at` on, or else from the last one, what is stored is dropped.
        """
        one = cls(db, file, reading, part_bytes)
        segment = logs.last_segment(db, file, at)
        if segment is None:
            return None
        one._stale = True
        kept = [part for part in segment.parts[:-1] if part.end <= at]
        dropped = segment.parts[len(kept)]
        one.start, one.carry, one.continues = dropped.start, dropped.carry, dropped.continues
        one._first, one._segment_line, one._parts = segment.first, segment.line, kept
        one._line = segment.line + sum(part.line_ends for part in kept)
        return one

    def add(self, made: LogRange, again: Again, *, last: bool) -> bool:
        """Take the next range; return whether that was possible.

        Args:
            made: the range as it was read by itself.
            again: reads it again, when it cannot be joined as it is.
            last: whether the file ends with it; then its last part stays by itself, since the file may grow.
        """
        joined = follow(made, self.carry, self.reading) or again(self.carry)
        if joined is None:
            return False
        messages: dict[int, str] = {}
        for number, one in enumerate(joined.parts, start=1):
            messages |= one.messages
            self._take(one, messages, apart=last and number == len(joined.parts))
        self.carry = joined.left
        return True

    def wider(self, read: Reader, spelling: TextFormat, *, everything: bool) -> LogReading | None:
        """Return how the log is read with formats that stand where few lines have a stamp, None where there are none.

        Args:
            read: reads (offset, size) bytes of the text.
            spelling: how they spell text.
            everything: whether parts that were stored before are looked at too.
        """
        if not everything and not self._poor:
            return None
        parts = logs.columns(self._db, self._file).head(self._first).with_more(columns_of(self._parts))
        start = 0 if everything else self.start
        return widened(self.reading, read, spelling, parts.stretches(), start)

    def save(self, *, more: bool = False) -> None:
        """Store what is not stored yet; with `more` to come all but the last part, which may be joined with that."""
        self._store(max(0, len(self._parts) - more))
        self._numbering.save()

    def _take(self, one: ShapedPart, messages: Mapping[int, str], *, apart: bool) -> None:
        part = self._numbering.counted(one, messages)
        self._poor |= is_poor(part.records, part.lines)
        self._line += part.line_ends
        small = bool(self._parts) and self._parts[-1].end - self._parts[-1].start < self._part_bytes
        # a part that joined halves of a line would not know how long the line is
        if small and not apart and not part.continues:
            self._parts[-1] = joined_part(self._parts[-1], part)
        else:
            self._parts.append(part)
        while len(self._parts) > SEGMENT_PARTS:
            self._store(SEGMENT_PARTS)

    def _store(self, count: int) -> None:
        parts, self._parts = self._parts[:count], self._parts[count:]
        if self._stale:
            logs.cut_segments(self._db, self._file, self._first)
            self._stale = False
        if parts:
            logs.put_segment(self._db, self._file, Segment(self._first, self._segment_line, parts))
            self._first += len(parts)
            self._segment_line += sum(part.line_ends for part in parts)


def gap_before(log: LogPass, first: ReadRange) -> ReadRange | None:
    """Return the range between the parts that a resumed pass kept and the first range it is given, if there is one."""
    if log.start == first.start:
        return None
    return replace(first, start=log.start, end=first.start, before=(log.carry, log.continues), signed=False)


def take_range(log: LogPass, job: ReadRange, made: RangeRead) -> bool:
    """Give a range that a worker read to the pass of its log; return whether the file was still what it had been."""
    if made.log is None:
        return False
    continues = made.log.parts[0].part.continues

    def again(carry: Carry) -> LogRange | None:
        return read_range(replace(job, before=(carry, continues))).log

    return log.add(made.log, again, last=job.last)
