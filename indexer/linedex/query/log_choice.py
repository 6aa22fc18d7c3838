"""The lines of files that a search by time and level asks for.

Promise: nothing is left out in silence. A file with a match but without times (or levels) that are recognised is
counted as skipped, with the reason. Of a large log only the parts that may hold lines asked for are read; whether a
line is asked for is only found out for windows that have a match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw
import numpy as np

from linedex.content.folding import lf_text
from linedex.content.lines import LineEnds
from linedex.content.logs.changes import read_whole
from linedex.content.logs.instants import NO_INSTANT
from linedex.content.logs.levels import Level
from linedex.content.logs.moments import TimeRange
from linedex.content.logs.selection import Selection
from linedex.content.logs.texts import LogReading, ahead_bytes, find_rule
from linedex.content.logs.window import Flags
from linedex.content.logs.zones import zone_of
from linedex.model import SkipReason
from linedex.query.indexed_part import IndexedPart
from linedex.query.log_view import LogView, ToldLines, completion_of, meeting, told_lines, view_of
from linedex.query.progress import Progress
from linedex.query.surveys import OpenLog
from linedex.query.windows import Stretch


def by_number(span: TimeRange, text: bytes, first_line: int) -> ToldLines:
    """Return which lines of a text are in a range that is given by line numbers alone."""
    numbers = np.arange(first_line, first_line + text.count(b"\n") + 1)
    chosen: Flags = np.ones(len(numbers), np.bool_)
    if span.since_line is not None:
        chosen &= numbers >= span.since_line
    if span.until_line is not None:
        chosen &= numbers < span.until_line
    return ToldLines(chosen, np.full(len(numbers), NO_INSTANT), np.full(len(numbers), Level.NONE, np.uint8))


class ChosenLines:
    """Which lines of a text are asked for; found out at the first question."""

    def __init__(self, first_line: int, find: Callable[[], ToldLines | None]) -> None:
        """Take what tells of each line from `first_line` on, None for no line at all."""
        self._first = first_line
        self._find = find
        self._told: ToldLines | None = None
        self._asked = False

    def __contains__(self, line: int) -> bool:
        if not self._asked:
            self._told, self._asked = self._find(), True
        at = line - self._first
        return self._told is not None and at < len(self._told.chosen) and bool(self._told.chosen[at])

    def told(self, line: int) -> tuple[int, Level]:
        """Return the instant and the level of the record of a line that is asked for."""
        assert self._told is not None
        at = line - self._first
        return int(self._told.instants[at]), Level(int(self._told.levels[at]))


class LargeChoice:
    """The lines of one large file that are asked for.

    Attributes:
        hopeless: whether it turned out that nothing in the file can be asked for.
    """

    def __init__(
        self, log: OpenLog, view: LogView | None, selection: Selection, refuse: Callable[[], bool], *, timed: bool
    ) -> None:
        self._log = log
        self._view = view
        self._selection = selection
        self._refuse = refuse
        self._timed = timed
        self.hopeless = False

    def within(self, stretches: Iterator[Stretch]) -> Iterator[Stretch]:
        """Yield of stretches what may hold lines that are asked for."""
        if self._view is None or (self._selection.levels is not None and self._view.reading.rule.level is None):
            # read up to the first match, which tells that the file has to be left out
            return stretches
        return meeting(stretches, self._view.stretches(self._view.passing(self._selection)))

    def lines(self, start: int, text: bytes, first_line: int, end: int = -1) -> ChosenLines:
        """Return which lines of a text are asked for; see `LogView.lines_of`."""

        def find() -> ToldLines | None:
            if not self._timed:
                return by_number(self._selection.span, text, first_line)
            if self._refuse() or self._view is None:
                self.hopeless = True
                return None
            return self._view.lines_of(start, text, first_line, self._selection, end)

        return ChosenLines(first_line, find)

    def long_line(self, start: int, number: int) -> ChosenLines:
        """Return whether a line that is too long to be held is asked for."""
        ends = LineEnds.of(self._log.spelling)
        head = lf_text(self._log.read(start, ahead_bytes(ends)), self._log.inside)
        return self.lines(start, head, number)


class LogFilter:
    """Chooses lines for one search.

    Args:
        selection: the times and levels that are asked for.
        skip: counts a file that was left out, by the reason.
        deadline: `time.monotonic` at which to give up; a search of several pages renews it.
        progress: asked whether to go on.
        timed: whether files without times are left out even if no time is asked for.
    """

    def __init__(
        self,
        selection: Selection,
        skip: Callable[[str], None],
        deadline: float,
        progress: Progress,
        *,
        timed: bool = False,
    ) -> None:
        self.selection = selection
        self._timed = timed or selection.timed
        self._skip = skip
        self.deadline = deadline
        self._progress = progress

    def small(self, log: OpenLog, text: bytes) -> ChosenLines:
        """Return which lines of a file that is held whole are asked for; `text` ends its lines by LF."""

        def find() -> ToldLines | None:
            if not self._timed:
                return by_number(self.selection.span, text, 1)
            rule = find_rule(log.read, log.size, log.spelling)
            reading = None if rule is None else LogReading(rule, zone_of(log.limits))
            if self._refused(reading) or reading is None:
                return None
            reading, records = read_whole(reading, text)
            completion = completion_of(log, reading, records.carry.clock.last)
            return told_lines(records, completion, self.selection, 1)

        return ChosenLines(1, find)

    def large(self, log: OpenLog, part: IndexedPart | None, db: apsw.Connection | None) -> LargeChoice | None:
        """Return which lines of a large file are asked for, None when there was no time to find out.

        Args:
            log: the file.
            part: what the index knows of it.
            db: a reading connection, None to do without.
        """
        if not self._timed:
            return LargeChoice(log, None, self.selection, lambda: False, timed=False)
        known = view_of(log, part, db, self.deadline, self._progress)
        if known.late:
            return None
        reading = None if known.view is None else known.view.reading
        told: list[bool] = []

        def refuse() -> bool:
            if not told:
                told.append(self._refused(reading))
            return told[0]

        return LargeChoice(log, known.view, self.selection, refuse, timed=True)

    def _refused(self, reading: LogReading | None) -> bool:
        """Return whether a file with such a reading has to be left out, after having counted it."""
        if reading is None:
            self._skip(SkipReason.NO_TIMES)
            return True
        if self.selection.levels is not None and reading.rule.level is None:
            self._skip(SkipReason.NO_LEVELS)
            return True
        return False
