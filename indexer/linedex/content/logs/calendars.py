"""Instants of stamps in file order: zones, and dates that stamps leave out.

What is stored for a file is a *stored instant*. Where stamps tell their date it is the instant itself. In a file
without years (or without dates) it is the reading plus the roll-overs so far, each a leap year (or a day) long: an
append then changes no stored block, and only `Completion` turns stored instants into instants, from the file's time of
change and its last record.

Promise: stored instants depend on the bytes, the zone and the carry-over alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, tzinfo
from typing import Final

import numpy as np

from linedex.content.logs.formats import Basis
from linedex.content.logs.instants import DAY, LEAP_YEAR, NO_INSTANT, Instants, LocalTime, period_of
from linedex.content.logs.window import Flags

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_NOMINAL_DAY = date(2000, 1, 1).toordinal()
CLOCKS_APART: Final = DAY
"""A year-less stamp may be so much later than its file's time of change."""


@dataclass(frozen=True, slots=True)
class ClockState:
    """What the clock knows after a record.

    Attributes:
        last: its stored instant, or `NO_INSTANT`.
        wall: the last reading of the local clock, or `NO_INSTANT`.
        folded: whether that was in the second of two like hours.
    """

    last: int = NO_INSTANT
    wall: int = NO_INSTANT
    folded: bool = False


FRESH_CLOCK: Final = ClockState()


@dataclass(frozen=True, slots=True)
class Lacking:
    """Which readings tell less than an instant, an entry a reading.

    Attributes:
        year: those without a year.
        date: those without a date.
    """

    year: Flags
    date: Flags


class Clock:
    """Turns readings in file order into stored instants.

    Args:
        basis: of the file's first format.
        zone: of readings that name none.
        near: an instant of the file, by which readings without a date are completed that stand before all with one.
    """

    def __init__(self, basis: Basis, zone: tzinfo, near: int = NO_INSTANT) -> None:
        self._basis = basis
        self._local = LocalTime(zone)
        self._near = near

    def instants(
        self, walls: Instants, absolute: Flags, lacking: Lacking, state: ClockState
    ) -> tuple[Instants, ClockState]:
        """Return the stored instants of readings, and the state after them.

        Args:
            walls: readings in file order.
            absolute: which are instants already.
            lacking: which lack the date that the first format tells.
            state: after the record before the first one.
        """
        if not len(walls):
            return walls, state
        if self._basis.partial:
            result = _rolled(walls, period_of(self._basis), state.last)
            return result, replace(state, last=int(result[-1]))
        result = walls.copy()
        partial = lacking.year | lacking.date
        local = np.flatnonzero(~absolute & ~partial)
        if len(local):
            result[local], folded = self._local.instants(walls[local], state.wall, folded=state.folded)
            state = replace(state, wall=int(walls[local[-1]]), folded=folded)
        for index in np.flatnonzero(partial).tolist():
            previous = int(result[index - 1]) if index else state.last
            basis = Basis.TIME_ONLY if lacking.date[index] else Basis.YEARLESS
            result[index] = self._completed(int(walls[index]), basis, previous)
        return result, replace(state, last=int(result[-1]))

    def _completed(self, wall: int, basis: Basis, near: int) -> int:
        """Return the instant with this reading that is nearest to another instant."""
        if near == NO_INSTANT:
            near = 0 if self._near == NO_INSTANT else self._near
        shown = self._local.wall(near)
        if basis is Basis.TIME_ONLY:
            days = shown // DAY
            choices = [(days + step) * DAY + wall for step in (-1, 0, 1)]
        else:
            year = year_of(shown)
            choices = [in_year(wall, year + step) for step in (-1, 0, 1)]
        return min((self._local.one(choice) for choice in choices), key=lambda instant: abs(instant - near))


def _rolled(walls: Instants, period: int, last: int) -> Instants:
    """Return readings plus roll-overs: a step back of more than half a period is one more, a step forward one less."""
    previous = int(walls[0]) if last == NO_INSTANT else last % period
    turns = 0 if last == NO_INSTANT else last // period
    steps = np.diff(walls, prepend=np.int64(previous))
    turned = np.cumsum((steps < -(period // 2)).astype(np.int64) - (steps > period // 2))
    result: Instants = walls + (turned + turns) * period
    return result


def year_of(wall: int) -> int:
    """Return the year of a full reading."""
    return date.fromordinal(_EPOCH_DAY + wall // DAY).year


def in_year(wall: int, year: int) -> int:
    """Return a year-less reading as a full one; 29 February of a common year is its 1 March."""
    day = date.fromordinal(_NOMINAL_DAY + wall // DAY)
    try:
        placed = day.replace(year=year)
    except ValueError:
        placed = date(year, 3, 1)
    return (placed.toordinal() - _EPOCH_DAY) * DAY + wall % DAY


class Completion:
    """Turns stored instants of one file into instants, and back.

    The last record's year is the latest that is not more than a day after the file's time of change; a last record
    without a date has the date that brings it nearest to that time. Earlier records follow by their roll-overs.

    Args:
        basis: of the file's first format; for one that tells dates, nothing changes.
        zone: of the readings.
        last: stored instant of the file's last record.
        changed: the file's time of change, an instant.
    """

    def __init__(self, basis: Basis, zone: tzinfo, last: int, changed: int) -> None:
        self._basis = basis
        self._local = LocalTime(zone)
        self._years: dict[int, int] = {}
        if not basis.partial or last == NO_INSTANT:
            self._turn = 0
        elif basis is Basis.TIME_ONLY:
            wall = self._local.wall(changed)
            self._turn = round((wall - last % DAY) / DAY) - last // DAY
        else:
            year = year_of(self._local.wall(changed)) + 1
            while self._local.one(in_year(last % LEAP_YEAR, year)) > changed + CLOCKS_APART:
                year -= 1
            self._turn = year - last // LEAP_YEAR

    def instants(self, stored: Instants) -> Instants:
        """Return the instants of stored ones; `NO_INSTANT` stays."""
        if not self._basis.partial:
            return stored
        known = stored != NO_INSTANT
        result = stored.copy()
        some = stored[known]
        if self._basis is Basis.TIME_ONLY:
            walls = some + self._turn * DAY
        else:
            # few days, many records
            days, inverse = np.unique(some // DAY, return_inverse=True)
            begins = [in_year((day * DAY) % LEAP_YEAR, day * DAY // LEAP_YEAR + self._turn) for day in days.tolist()]
            walls = np.array(begins, np.int64)[inverse] + some % DAY if len(days) else some
        result[known], _ = self._local.instants(walls, NO_INSTANT, folded=False)
        return result

    def instant(self, stored: int) -> int:
        """Return the instant of one stored one."""
        return int(self.instants(np.array([stored], np.int64))[0])
