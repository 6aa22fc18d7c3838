"""From the parts of a stamp to an instant, and from local time to UTC.

Instants are whole microseconds since 1970-01-01 UTC, in int64. What a stamp alone tells is its *wall* reading: a true
instant if it names a zone or counts from the epoch, otherwise the same count as a clock on the wall would give it. A
stamp without a year is read in a leap year, one without a date within a day, both from 0.

Promise: a reading is exact to the microsecond (further digits are cut off); `:60` counts as `:59.999`.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from linedex.content.logs.formats import Basis

Instants: TypeAlias = npt.NDArray[np.int64]

NO_INSTANT: Final = int(np.iinfo(np.int64).min)
"""Stands for "no time known" in arrays."""
SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
LEAP_YEAR: Final = 366 * DAY
LEAP_SECOND: Final = 59_999_000
"""What `:60` counts as, whatever its fraction."""
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_NOMINAL_DAY = date(2000, 1, 1).toordinal()
_MONTHS = {name.encode(): index for index, name in enumerate(calendar.month_abbr) if name}
_SLOT = 15 * MINUTE
"""Zones change their offset at whole quarters of an hour (since 1972 all of them do)."""
_SLOTS = 4096
# TAI64 counts from 2^62 and has been 37 s ahead of UTC since 2017
_TAI_ORIGIN = 2**62 + 37


@dataclass(frozen=True, slots=True)
class Wall:
    """What one stamp tells.

    Attributes:
        value: microseconds, as the module says.
        absolute: whether `value` is an instant already.
    """

    value: int
    absolute: bool


def period_of(basis: Basis) -> int:
    """Return after how many microseconds the readings of a partial format begin anew."""
    return LEAP_YEAR if basis is Basis.YEARLESS else DAY


def read_wall(match: re.Match[bytes], basis: Basis) -> Wall | None:
    """Return what a matched stamp tells, or None for a day that its month does not have."""
    parts: Mapping[str, bytes] = {key: value for key, value in match.groupdict().items() if value is not None}
    if basis is Basis.EPOCH:
        return Wall(_count(parts), absolute=True)
    hour = int(parts["H"])
    if "half" in parts:
        hour = hour % 12 + (12 if parts["half"] == b"PM" else 0)
    second = int(parts["S"])
    within = LEAP_SECOND if second == 60 else second * SECOND + _fraction(parts)
    clock = hour * HOUR + int(parts["M"]) * MINUTE + within
    if basis is Basis.TIME_ONLY:
        return Wall(clock, absolute=False)
    month = _MONTHS[parts["name"]] if "name" in parts else int(parts["m"])
    try:
        # a rare year in a year-less format is left out: one file, one rule
        day = date(2000 if basis is Basis.YEARLESS else _year(parts), month, int(parts["d"])).toordinal()
    except ValueError:
        return None
    if basis is Basis.YEARLESS:
        return Wall((day - _NOMINAL_DAY) * DAY + clock, absolute=False)
    value = (day - _EPOCH_DAY) * DAY + clock
    zone = parts.get("z")
    return Wall(value, absolute=False) if zone is None else Wall(value - _offset(zone), absolute=True)


def _year(parts: Mapping[str, bytes]) -> int:
    if "Y" in parts:
        return int(parts["Y"])
    short = int(parts["y"])
    return 2000 + short if short < 70 else 1900 + short


def _fraction(parts: Mapping[str, bytes]) -> int:
    return int(parts["f"][:6].ljust(6, b"0")) if "f" in parts else 0


def _offset(zone: bytes) -> int:
    if zone[:1] not in {b"+", b"-"}:
        return 0
    digits = zone[1:].replace(b":", b"")
    offset = int(digits[:2]) * HOUR + int(digits[2:] or b"0") * MINUTE
    return offset if zone[:1] == b"+" else -offset


def _count(parts: Mapping[str, bytes]) -> int:
    if "tai" in parts:
        digits = parts["tai"]
        return (int(digits[:16], 16) - _TAI_ORIGIN) * SECOND + int(digits[16:], 16) // 1000
    count, length = int(parts["e"]), len(parts["e"])
    if length >= 19:
        return count // 1000
    if length >= 16:
        return count
    return count * 1000 if length >= 13 else count * SECOND + _fraction(parts)


def to_datetime(instant: int, zone: tzinfo = UTC) -> datetime:
    """Return an instant as an aware datetime of `zone`."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)).astimezone(zone)


def to_instant(moment: datetime) -> int:
    """Return the instant of an aware datetime."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Offsets:
    """Offsets of a zone from UTC around one quarter of an hour on the wall, in microseconds."""

    first: int
    second: int
    repeated: bool


class LocalTime:
    """Readings of a wall clock in one zone, turned into instants.

    An hour that the clock shows twice is taken as its first, until a step back of 30 to 90 minutes inside it; from
    there to its end it is the second. A time that the clock leaps over is moved forward by the leap.

    Args:
        zone: the zone of the clock.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._fixed = zone is UTC
        self._known: dict[int, _Offsets] = {}

    def instants(self, walls: Instants, last: int, *, folded: bool) -> tuple[Instants, bool]:
        """Return the instants of readings in file order, and whether the last one is in the second of two like hours.

        Args:
            walls: readings.
            last: the reading before the first one, or `NO_INSTANT`.
            folded: what the call for the readings before returned.
        """
        if self._fixed or not len(walls):
            return walls, False
        slots = walls // _SLOT
        # a log stays in one quarter of an hour for long: runs are few where values are many
        run_starts = np.flatnonzero(np.concatenate(([True], slots[1:] != slots[:-1])))
        found = [self._offsets(slot) for slot in slots[run_starts].tolist()]
        lengths = np.diff(np.append(run_starts, len(walls)))
        result = walls - np.repeat(np.array([offsets.first for offsets in found], np.int64), lengths)
        repeated = np.repeat(np.array([offsets.repeated for offsets in found], np.bool_), lengths)
        if not repeated.any():
            return result, False
        second = np.repeat(np.array([offsets.second for offsets in found], np.int64), lengths)
        before = np.concatenate((np.array([last], np.int64), walls[:-1]))
        inside = last != NO_INSTANT and self._offsets(last // _SLOT).repeated
        for index in np.flatnonzero(repeated).tolist():
            if not (repeated[index - 1] if index else inside):
                folded = False
            elif 30 * MINUTE <= int(before[index]) - int(walls[index]) <= 90 * MINUTE:
                folded = True
            if folded:
                result[index] = walls[index] - second[index]
        return result, folded and bool(repeated[-1])

    def one(self, wall: int) -> int:
        """Return the instant of a reading; the first of two."""
        return wall if self._fixed else wall - self._offsets(wall // _SLOT).first

    def wall(self, instant: int) -> int:
        """Return what the clock shows at an instant."""
        shown = to_datetime(instant, self._zone)
        return to_instant(shown.replace(tzinfo=UTC))

    def _offsets(self, slot: int) -> _Offsets:
        known = self._known.get(slot)
        if known is None:
            if len(self._known) >= _SLOTS:
                self._known.clear()
            shown = datetime(1970, 1, 1) + timedelta(microseconds=slot * _SLOT)  # noqa: DTZ001  (the zone follows)
            first, second = (
                (shown.replace(tzinfo=self._zone, fold=fold).utcoffset() or timedelta()) // timedelta(microseconds=1)
                for fold in (0, 1)
            )
            # in a gap it is the other way round: the offset after it is the larger one
            known = self._known[slot] = _Offsets(first, second, repeated=first > second)
        return known
