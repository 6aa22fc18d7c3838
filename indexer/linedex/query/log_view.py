"""One log as a query sees it: its parts, the true instants of its records, and which of its lines are asked for.

Promise: `lines_of` chooses the lines that a reading of the file from its beginning would choose, but reads no more than
the part that a window begins in; `stretches` leaves out no line that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import apsw
import numpy as np

from linedex.content.folding import lf_text
from linedex.content.lines import LineEnds
from linedex.content.logs.calendars import Completion
from linedex.content.logs.instants import MINUTE, NO_INSTANT, Instants
from linedex.content.logs.level_reader import Levels
from linedex.content.logs.levels import SLOTS
from linedex.content.logs.records import Carry, Records
from linedex.content.logs.selection import Selection
from linedex.content.logs.texts import LogReading, ahead_bytes, carry_before
from linedex.content.logs.window import Flags, Window
from linedex.content.logs.zones import zone_of
from linedex.query.indexed_part import IndexedPart
from linedex.query.progress import Progress
from linedex.query.surveys import OpenLog, Stored, survey
from linedex.query.windows import Stretch
from linedex.store import logs
from linedex.store.log_columns import LogColumns, unpacked

_LAST_REACH: Final = 16 << 20
"""Bytes before the end of a file in which its last record is looked for."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was found of a file as a log.

    Attributes:
        view: the log as far as it is known; None when it is none, or when what is known does not tell its years.
        late: whether it is not known to its end.
        reading: how its lines are read, None when it is no log.
        columns: the parts that are known.
    """

    view: LogView | None
    late: bool
    reading: LogReading | None
    columns: LogColumns


NO_LOG: Final = Known(None, late=False, reading=None, columns=unpacked([]))


def view_of(
    log: OpenLog,
    part: IndexedPart | None,
    db: apsw.Connection | None,
    deadline: float,
    progress: Progress | None = None,
    most: int | None = None,
    *,
    templates: bool = False,
) -> Known:
    """Return a file as a log, from the index where that knows it, else by reading it once.

    Args:
        log: the file.
        part: what the index knows of it.
        db: a reading connection, None to do without.
        deadline: `time.monotonic` at which to give up.
        progress: asked whether to go on.
        most: bytes that may be read; nothing is when more are not known.
        templates: whether the counts of templates that the index has are wanted.

    Raises:
        Cancelled: nobody waits for it any more.
    """
    known: Stored | None = None
    if part is not None and db is not None:
        stored, reading = logs.stored_reading(db, part.file)
        if stored and reading is None and not part.grown:
            return NO_LOG
        if reading is not None and reading.zone == zone_of(log.limits):
            columns = logs.columns(db, part.file, templates=templates)
            if not part.grown and columns.end == log.size:
                return Known(LogView(log, reading, columns), late=False, reading=reading, columns=columns)
            known = Stored(reading, columns, columns.end >= part.size, templates)
    found = survey(log, known)
    reading = found.reading
    if reading is None:
        return NO_LOG
    small_enough = most is None or found.unread(log) <= most
    late = not (small_enough and found.advance(log, deadline, progress or Progress()))
    # read to its end, it may have shown formats that its sample did not
    reading = found.reading or reading
    columns = found.columns()
    # where stamps tell no year, the last record does
    told = len(columns) > 0 and not reading.rule.basis.partial if late else True
    return Known(LogView(log, reading, columns) if told else None, late=late, reading=reading, columns=columns)


def last_instant(log: OpenLog, reading: LogReading) -> int:
    """Return the instant of the last record of a log, read from its end; `NO_INSTANT` when there is none near it."""
    ends = LineEnds.of(log.spelling)
    reach = reading.bounds.bytes * ends.width
    while True:
        start = max(log.spelling.bom, log.size - reach)
        whole = start == log.spelling.bom
        lead = log.read(start, log.size - start)
        last = carry_before(reading, lead, whole=whole, ends=ends, spelling=log.spelling).clock.last
        if last != NO_INSTANT or whole or reach >= _LAST_REACH:
            return last if last == NO_INSTANT else completion_of(log, reading, last).instant(last)
        reach *= 4


def completion_of(log: OpenLog, reading: LogReading, last: int) -> Completion:
    """Return what turns the stored instants of a log into true ones; `last` is that of its last record."""
    return Completion(reading.rule.basis, reading.tz, last, log.mark.mtime_ns // 1000)


@dataclass(frozen=True, slots=True)
class ToldLines:
    """The lines of a text, an entry a line.

    Attributes:
        chosen: whether it is asked for.
        instants: of its record, or `NO_INSTANT`.
        levels: number of its record's `Level`.
    """

    chosen: Flags
    instants: Instants
    levels: Levels


def told_lines(records: Records, completion: Completion, selection: Selection, first_line: int) -> ToldLines:
    """Return the lines of a window; `first_line` is the number of its first one."""
    chosen = selection.of(records, completion, first_line)
    return ToldLines(chosen, completion.instants(records.instants), records.levels)


class LogView:
    """One log, known to its end.

    Attributes:
        log: the open file.
        reading: how its lines are read.
        columns: its parts.
        completion: turns stored instants into true ones.
    """

    def __init__(self, log: OpenLog, reading: LogReading, columns: LogColumns) -> None:
        self.log = log
        self.reading = reading
        self.columns = columns
        self.completion = completion_of(log, reading, columns.last if len(columns) else NO_INSTANT)
        self._reader = reading.records()
        self._least = self.completion.instants(columns.part["least"])
        self._greatest = self.completion.instants(columns.part["greatest"])
        self._at: tuple[int, Carry, bool] = (-1, columns.carry(0), False)

    @property
    def span(self) -> tuple[int, int]:
        """The least and the greatest instant of its records; `NO_INSTANT` twice when it has none."""
        known = self._least[self._least != NO_INSTANT]
        if not len(known):
            return NO_INSTANT, NO_INSTANT
        return int(known.min()), int(self._greatest.max())

    @property
    def bounds(self) -> tuple[Instants, Instants]:
        """The least and greatest instant of the lines of each part, `NO_INSTANT` for a part without."""
        return self._least, self._greatest

    def cell_instants(self) -> Instants:
        """Return the instant at which the minute of each cell begins."""
        return self.completion.instants(self.columns.cell["cell_minute"] * MINUTE)

    def passing(self, selection: Selection) -> Flags:
        """Return which parts may hold lines that are asked for."""
        span, part = selection.span, self.columns.part
        known = self._least != NO_INSTANT
        passing: Flags = np.ones(len(self.columns), np.bool_)
        if span.since is not None:
            passing &= known & (self._greatest >= span.since)
        if span.until is not None:
            passing &= known & (self._least < span.until)
        first = self.columns.first_lines()
        if span.since_line is not None:
            passing &= first + part["line_ends"] >= span.since_line
        if span.until_line is not None:
            passing &= first < span.until_line
        if selection.levels is None:
            return passing
        asked = np.zeros(SLOTS, np.bool_)
        asked[list(selection.levels)] = True
        cells = asked[self.columns.cell["cell_level"]]
        starts = self.cell_instants()
        if span.since is not None:
            cells &= starts + MINUTE > span.since
        if span.until is not None:
            cells &= starts < span.until
        counts = np.bincount(self.columns.cell_parts()[cells], minlength=len(self.columns))
        carried = asked[part["carry_level"]] & (part["carry_open"] == 1)
        passing &= (counts > 0) | carried
        return passing

    def stretches(self, passing: Flags) -> Iterator[Stretch]:
        """Yield the whole lines that the passing parts hold, in order."""
        part, lines = self.columns.part, self.columns.first_lines()
        inside = part["continues"] == 1
        # lines that a cut divides pass with every part of theirs
        for at in np.flatnonzero(inside[1:]).tolist():
            if passing[at] or passing[at + 1]:
                passing[at] = passing[at + 1] = True
        for at in reversed(np.flatnonzero(inside[1:]).tolist()):
            if passing[at + 1]:
                passing[at] = True
        edges = np.flatnonzero(np.diff(np.concatenate(([False], passing, [False])).astype(np.int8)))
        for low, high in zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True):
            yield Stretch(int(part["start"][low]), int(part["end"][high - 1]), int(lines[low]))

    def lines_of(self, start: int, text: bytes, first_line: int, selection: Selection, end: int = -1) -> ToldLines:
        """Return which lines of a text are asked for, and their times and levels.

        Args:
            start: the byte of the file at which it begins, where a line does.
            text: the lines, as UTF-8 ended by LF.
            first_line: number of the first one.
            selection: what is asked for.
            end: the byte of the file after it, where that follows from the text; then the next text may begin there.
        """
        carry = self._carry_at(start)
        records = self._reader.read(Window(text), carry)
        if end >= 0:
            self._at = (end, records.carry, False)
        return told_lines(records, self.completion, selection, first_line)

    def read_part(self, at: int, *, keep: Callable[[Window, Records], None] | None = None) -> Records:
        """Return the records of a part by reading it; `keep` is given the window too."""
        part = self.columns.part
        start, end = int(part["start"][at]), int(part["end"][at])
        data = self.log.read(start, end - start)
        ends = LineEnds.of(self.log.spelling)
        ahead = b"" if data.endswith(ends.unit) else self.log.read(end, ahead_bytes(ends))
        window = Window(lf_text(data, self.log.inside), ahead=lf_text(ahead, self.log.inside))
        records = self._reader.read(window, self.columns.carry(at), continues=bool(part["continues"][at]))
        if keep is not None:
            keep(window, records)
        return records

    def told(self, records: Records, selection: Selection, first_line: int) -> ToldLines:
        """Return the lines of a window of this log."""
        return told_lines(records, self.completion, selection, first_line)

    def _carry_at(self, start: int) -> Carry:
        """Return what the lines before a line leave."""
        if self._at[0] == start:
            return self._at[1]
        part = self.columns.part
        at = int(np.searchsorted(part["start"], start, side="right")) - 1
        carry, begin = self.columns.carry(at), int(part["start"][at])
        if begin == start:
            return carry
        text = lf_text(self.log.read(begin, start - begin), self.log.inside)
        return self._reader.read(Window(text), carry, continues=bool(part["continues"][at])).carry


def meeting(some: Iterator[Stretch], others: Iterator[Stretch]) -> Iterator[Stretch]:
    """Yield what two rows of stretches, each in order, have in common."""
    one, other = next(some, None), next(others, None)
    while one is not None and other is not None:
        start, end = max(one.start, other.start), min(one.end, other.end)
        if start < end:
            yield Stretch(start, end, one.first_line if one.start == start else other.first_line)
        if one.end <= other.end:
            one = next(some, None)
        else:
            other = next(others, None)
