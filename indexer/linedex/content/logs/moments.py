"""What people and models write for `since`, `until` and `at`.

    2026-03-04T05:06:07.891+02:00   an instant; without zone, in the file's zone
    2026-03-04 05:06                a minute's beginning
    2026-03-04                      a day: its beginning for `since`, its end for `until`
    10:00, 10:00:30                 the last such time at or before the file's last record
    -15m, 2h30m                     so long before the last record (s, m, h, d, w)
    1772600767, 1772600767891       seconds or milliseconds since the epoch
    :123                            line 123

Times without a date count from the file's last record and not from now: old logs are the usual case.

Promise: `since` is included and `until` is not; both come back as instants, so that an answer can print the range used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from linedex.content.logs.formats import FORMAT_NAMES
from linedex.content.logs.instants import DAY, HOUR, MINUTE, NO_INSTANT, SECOND, LocalTime, read_wall
from linedex.errors import LinedexError
from linedex.model import LineNumber


class UnreadableTime(LinedexError):
    """What was given as a time is none."""

    code = "unreadable_time"


class EmptyRange(LinedexError):
    """The range ends before it begins."""

    code = "empty_range"


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range of a log.

    Attributes:
        since: first instant in it, or None.
        until: first instant after it, or None.
        since_line: its first line, if it was given by number.
        until_line: the first line after it, if it was given by number.
    """

    since: int | None = None
    until: int | None = None
    since_line: LineNumber | None = None
    until_line: LineNumber | None = None

    def overlaps(self, least: int, greatest: int) -> bool:
        """Return whether records between two instants, both included, may be in the range."""
        if NO_INSTANT in {least, greatest}:
            return self.since is None and self.until is None
        return (self.since is None or greatest >= self.since) and (self.until is None or least < self.until)


_LENGTHS: Final = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_LINE: Final = re.compile(r":(\d{1,18})")
_CLOCK: Final = re.compile(r"T?([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?")
_DURATION: Final = re.compile(r"-?(?:\d{1,9}(?:\.\d{1,6})?[smhdw])+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_DAY: Final = re.compile(r"(?:19|20)\d\d-\d\d-\d\d")
_MINUTE: Final = re.compile(r"((?:19|20)\d\d-\d\d-\d\d)[T ](\d\d:\d\d)((?:Z| ?[+-]\d\d(?::?\d\d)?)?)")
_EPOCHS: Final = ("epoch-s", "epoch-ms", "epoch-us", "epoch-ns")
_HINT: Final = "Give 2026-03-04T05:06:07, 2026-03-04, 10:00 (counted from the last record), -15m, or :123 for a line."


def counts_from_last(text: str) -> bool:
    """Return whether what is given as a time can only be read with the instant of the last record."""
    return bool(_CLOCK.fullmatch(text.strip()) or _DURATION.fullmatch(text.strip()))


def names_line(text: str) -> bool:
    """Return whether what is given as a time is the number of a line."""
    return _LINE.fullmatch(text.strip()) is not None


def time_range(since: str, until: str, *, last: int, zone: tzinfo) -> TimeRange:
    """Return the range that two arguments name.

    A time of day for `until` is the first one after `since`, if there is a `since`.

    Args:
        since: as the module says, or "" for the file's beginning.
        until: the same, or "" for its end.
        last: the instant of the file's last record, or `NO_INSTANT`.
        zone: of times that name none.

    Raises:
        UnreadableTime: an argument is no time, or counts from a last record that is not there.
        EmptyRange: `until` is not after `since`.
    """
    local = LocalTime(zone)
    begin = _Reading.of(since, "since", last, local) if since.strip() else _Reading()
    end = _Reading.of(until, "until", last, local, after=begin.instant) if until.strip() else _Reading()
    found = TimeRange(begin.instant, end.instant, begin.line, end.line)
    empty_time = found.since is not None and found.until is not None and found.until <= found.since
    empty_lines = found.since_line is not None and found.until_line is not None and found.until_line <= found.since_line
    if empty_time or empty_lines:
        raise EmptyRange(
            f"The range from `{since}` to `{until}` is empty: its end is not after its beginning.",
            "Times without a date count from the file's last record; give full dates to be sure.",
        )
    return found


def moment(text: str, *, last: int, zone: tzinfo) -> int:
    """Return the instant that one argument names.

    Raises:
        UnreadableTime: it is no time, or names a line.
    """
    found = _Reading.of(text, "at", last, LocalTime(zone))
    if found.instant is None:
        raise UnreadableTime(f"`at` names line `{text}`, not a time.", _HINT)
    return found.instant


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one argument says."""

    instant: int | None = None
    line: LineNumber | None = None

    @classmethod
    def of(cls, text: str, name: str, last: int, local: LocalTime, after: int | None = None) -> _Reading:
        text = text.strip()
        if match := _LINE.fullmatch(text):
            return cls(line=LineNumber(int(match[1])))
        relative = _CLOCK.fullmatch(text) or _DURATION.fullmatch(text)
        if relative and last == NO_INSTANT:
            raise UnreadableTime(
                f"`{name}` is `{text}`, which counts from the last record, but no record has a time.",
                "Ask by line (:123), or without since and until.",
            )
        if match := _CLOCK.fullmatch(text):
            return cls(_time_of_day(match, last, local, after))
        if relative:
            length = sum(float(count) * _LENGTHS[unit] for count, unit in _PART.findall(text))
            return cls(last - round(length))
        if (instant := _full(text, local, day_end=name == "until")) is not None:
            return cls(instant)
        raise UnreadableTime(f"`{name}` is `{text}`, which is no time that linedex can read.", _HINT)


def _time_of_day(match: re.Match[str], last: int, local: LocalTime, after: int | None) -> int:
    hour, minute, second, fraction = match.groups()
    clock = (
        int(hour) * HOUR + int(minute) * MINUTE + int(second or 0) * SECOND + int((fraction or "")[:6].ljust(6, "0"))
    )
    if after is not None:
        shown = local.wall(after)
        found = local.one(shown // DAY * DAY + clock)
        return found if found > after else local.one((shown // DAY + 1) * DAY + clock)
    shown = local.wall(last)
    found = local.one(shown // DAY * DAY + clock)
    return found if found <= last else local.one((shown // DAY - 1) * DAY + clock)


def _full(text: str, local: LocalTime, *, day_end: bool) -> int | None:
    if _DAY.fullmatch(text):
        wall = _wall(f"{text}T00:00:00")
        return None if wall is None else local.one(wall[0] + DAY * day_end)
    if match := _MINUTE.fullmatch(text):
        text = f"{match[1]}T{match[2]}:00{match[3]}"
    found = _wall(text)
    if found is None:
        return None
    value, absolute = found
    return value if absolute else local.one(value)


def _wall(text: str) -> tuple[int, bool] | None:
    for name in ("iso8601", *_EPOCHS):
        stamp_format = FORMAT_NAMES[name]
        if match := stamp_format.pattern.fullmatch(text.encode()):
            wall = read_wall(match, stamp_format.basis)
            return None if wall is None else (wall.value, wall.absolute)
    return None
