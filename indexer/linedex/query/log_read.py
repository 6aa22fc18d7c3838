"""Lines of a log from a time on.

Promise: the first line shown is the first one in file order whose record is at or after the time; where an earlier part
of the file reaches that time too, because records are out of order, the answer says so.
"""

from __future__ import annotations

import time

import apsw
import numpy as np

from linedex.answers import ReadAnswer
from linedex.content.logs.instants import NO_INSTANT, to_datetime
from linedex.content.logs.moments import TimeRange, moment
from linedex.content.logs.selection import Selection
from linedex.errors import NotFound
from linedex.files.names import display
from linedex.query.log_patterns import log_of
from linedex.query.read import demand_positive, stretch
from linedex.query.source import Source


def read_at(source: Source, at: str, count: int, db: apsw.Connection | None) -> ReadAnswer:
    """Return `count` lines from the first record on that is not before a time.

    Args:
        source: the file.
        at: the time, as `content.logs.moments` reads it.
        count: how many lines, at least 1.
        db: a reading connection, None to do without.

    Raises:
        NotFound: every record is earlier.
        NoTimes: no timestamps are recognised in the file.
        UnreadableTime: `at` is no time.
        BinaryFile, ChangedWhileRead, BadArgument: as `read.read` does.
    """
    demand_positive("count", count)
    return source.steadily(lambda: _read_at(source, at, count, db))


def _read_at(source: Source, at: str, count: int, db: apsw.Connection | None) -> ReadAnswer:
    view = log_of(source, db, time.monotonic() + source.limits.query_seconds)
    first, last = view.span
    instant = moment(at, last=last, zone=view.reading.tz)
    least, greatest = view.bounds
    lines = view.columns.first_lines()
    for part in np.flatnonzero((least != NO_INSTANT) & (greatest >= instant)).tolist():
        records = view.read_part(part)
        told = view.told(records, Selection(TimeRange(since=instant)), int(lines[part]))
        found = np.flatnonzero(told.chosen & records.heads)
        if not len(found):
            continue
        line = int(lines[part]) + int(found[0])
        zone = view.reading.tz
        note = f"first record at or after {to_datetime(instant, zone).isoformat()}"
        earlier = told.instants[int(found[0]) :]
        known = earlier[earlier != NO_INSTANT]
        later = least[part + 1 :]
        later = later[later != NO_INSTANT]
        if (len(known) and int(known.min()) < instant) or (len(later) and int(later.min()) < instant):
            note += "; out of order here: earlier records follow"
        return stretch(source, line, count, match=line, note=note)
    raise NotFound(
        f"No record of `{display(source.path)}` is at or after {at}.",
        f"Its records are from {to_datetime(first, view.reading.tz).isoformat()} to"
        f" {to_datetime(last, view.reading.tz).isoformat()}.",
    )
