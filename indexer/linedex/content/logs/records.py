"""Records of a log: each line's instant and level, where a line without a stamp belongs to the line above it.

Promise: the answers for the lines of a file are the same wherever the file is cut, if each window is read with the
carry-over that the window before it left. A record that goes on for more than `Bounds.lines` lines or `Bounds.bytes`
bytes without a stamp ends there: what follows has no time, and is counted as unstamped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Final

import numpy as np

from linedex.content.logs.calendars import FRESH_CLOCK, Clock, ClockState, Lacking
from linedex.content.logs.detection import LogRule
from linedex.content.logs.formats import Basis
from linedex.content.logs.instants import NO_INSTANT, Instants
from linedex.content.logs.level_reader import LevelReader, Levels, LineLevels
from linedex.content.logs.levels import Level
from linedex.content.logs.stamps import WORTH_A_PASS, StampReader, Stamps
from linedex.content.logs.window import Flags, Places, Window


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of reading records."""

    lines: int = 1000
    """Lines of one record."""
    bytes: int = 64 << 10
    """... and its bytes."""
    pass_lines: int = WORTH_A_PASS
    """Fewer lines than this are read one by one."""


DEFAULT_BOUNDS: Final = Bounds()


@dataclass(frozen=True, slots=True)
class Carry:
    """What the lines before a place leave for those after it.

    Attributes:
        clock: the clock after the last record.
        level: the last record's level.
        lines: lines since its first one.
        size: bytes of the record so far.
        open: whether the last line belongs to that record.
    """

    clock: ClockState = FRESH_CLOCK
    level: Level = Level.NONE
    lines: int = 0
    size: int = 0
    open: bool = False

    @property
    def instant(self) -> int:
        """Stored instant of the last line, or `NO_INSTANT`; a next line without a stamp has it too, within bounds."""
        return self.clock.last if self.open else NO_INSTANT


FILE_START: Final = Carry()


@dataclass(frozen=True, slots=True)
class Records:
    """The lines of a window, an entry a line.

    Attributes:
        starts: the line's first byte in the window.
        heads: whether it begins a record.
        instants: stored instant of its record, or `NO_INSTANT`.
        levels: number of its record's `Level`.
        content: where the message begins, after the stamp; the line's start where there is none.
        ends: the byte after the line's content.
        level_at: the first byte of what tells the level, -1 if nothing in this line does.
        carry: what is left for the next window.
    """

    starts: Places
    heads: Flags
    instants: Instants
    levels: Levels
    content: Places
    ends: Places
    level_at: Places
    carry: Carry

    @property
    def unstamped(self) -> int:
        """Lines that belong to no record."""
        return int(np.count_nonzero(self.instants == NO_INSTANT))

    def record_starts(self) -> Places:
        """Return for each line the line that its record begins with, -1 if that is before the window or none."""
        numbers = np.arange(len(self.starts))
        return np.maximum.accumulate(np.where(self.heads, numbers, -1)) if len(numbers) else numbers


class RecordReader:
    """Reads the records of one file, window by window.

    Args:
        rule: how its lines are read.
        zone: of stamps that name none.
        bounds: how far a record reaches, and the like.
    """

    def __init__(self, rule: LogRule, zone: tzinfo = UTC, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self.rule = rule
        self._stamps = [StampReader(stamps, bounds.pass_lines) for stamps in rule.stamps]
        self._levels = [
            (number, LevelReader(level, stamps))
            for number, (level, stamps) in enumerate(zip(rule.levels, rule.stamps, strict=False))
            if level is not None
        ]
        self._clock = Clock(rule.basis, zone, rule.near)
        bases = [stamps.basis for stamps in rule.stamps]
        self._yearless = np.array([basis is Basis.YEARLESS for basis in bases], np.bool_)
        self._dateless = np.array([basis is Basis.TIME_ONLY for basis in bases], np.bool_)
        self._bounds = bounds

    def read(self, window: Window, carry: Carry = FILE_START, *, continues: bool = False) -> Records:
        """Return the records of a window.

        Args:
            window: lines that follow those which left `carry`.
            carry: what the window before left.
            continues: whether the first line began in the window before, so that it cannot hold a stamp of its own.
        """
        stamps = self._stamps[0].read(window)
        used: Levels = np.zeros(len(window), np.uint8)
        for number, reader in enumerate(self._stamps[1:], start=1):
            if not stamps.found.all():
                used[reader.fill(window, stamps)] = number
        if continues and len(window):
            stamps.found[0] = False
            stamps.ends[0] = window.starts[0]
        told = LineLevels.none(window)
        for number, levels in self._levels:
            lines: Flags = stamps.found & (used == number)
            if lines.any():
                levels.read(window, stamps, lines, told)
        return self._join(window, stamps, used, told.levels, told.at, carry, continues=continues)

    def _join(
        self,
        window: Window,
        stamps: Stamps,
        used: Levels,
        levels: Levels,
        level_at: Places,
        carry: Carry,
        *,
        continues: bool,
    ) -> Records:
        heads = np.flatnonzero(stamps.found)
        by = used[heads]
        lacking = Lacking(self._yearless[by], self._dateless[by])
        times, clock = self._clock.instants(stamps.walls[heads], stamps.absolute[heads], lacking, carry.clock)
        count = len(window)
        if len(heads) == count and count:
            last_size = int(window.spans[-1] - window.starts[-1])
            left = Carry(clock, Level(int(levels[-1])), 1, last_size, open=True)
            return Records(window.starts, stamps.found, times, levels, stamps.ends, window.ends, level_at, left)
        instants, line_levels, left = self._continued(window, heads, times, levels, clock, carry, continues=continues)
        return Records(window.starts, stamps.found, instants, line_levels, stamps.ends, window.ends, level_at, left)

    def _continued(
        self,
        window: Window,
        heads: Places,
        times: Instants,
        levels: Levels,
        clock: ClockState,
        carry: Carry,
        *,
        continues: bool,
    ) -> tuple[Instants, Levels, Carry]:
        """Give lines without a stamp what their record has."""
        count = len(window)
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.uint8), carry
        owner = np.searchsorted(heads, np.arange(count), side="right")
        # entry 0 stands for the record of the window before
        starts = np.concatenate((np.array([-carry.size], np.int64), window.starts[heads]))
        already = carry.lines - 1 if continues else carry.lines
        first_lines = np.concatenate((np.array([-already], np.int64), heads.astype(np.int64)))
        record_times = np.concatenate((np.array([carry.instant], np.int64), times))
        record_levels = np.concatenate((np.array([carry.level], np.uint8), levels[heads]))
        lines_before = np.arange(count) - first_lines[owner]
        bytes_before = window.starts - starts[owner]
        within = (lines_before < self._bounds.lines) & (bytes_before < self._bounds.bytes)
        # a line without a stamp before all records
        within &= (owner > 0) | carry.open
        if continues:
            within[0] = carry.open
        instants: Instants = np.where(within, record_times[owner], NO_INSTANT)
        line_levels: Levels = np.where(within, record_levels[owner], np.uint8(Level.NONE))
        last = int(owner[-1])
        size = int(window.size - starts[last])
        lines = int(count - first_lines[last])
        left = Carry(
            clock,
            Level(int(record_levels[last])),
            lines,
            size,
            open=bool(within[-1]),
        )
        return instants, line_levels, left
