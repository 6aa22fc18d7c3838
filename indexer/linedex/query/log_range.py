"""From what people write for `since`, `until` and `level` to instants: counted from the last record where it says so.

Promise: for one file that is its own last record. For a folder it is the latest of the last records of its files, of
which those changed last are asked, 32 at most: a rotated file of last week does not have a last hour of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final

import apsw
import numpy as np

from linedex.answers import SearchRequest
from linedex.content.logs.instants import NO_INSTANT
from linedex.content.logs.moments import TimeRange, counts_from_last, names_line, time_range
from linedex.content.logs.selection import Selection, levels_named
from linedex.content.logs.texts import LogReading, find_rule
from linedex.content.logs.zones import zone_named, zone_of
from linedex.errors import BadArgument, LinedexError
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.log_answers import TimeSpan
from linedex.model import LineNumber, RelPath
from linedex.query.log_view import last_instant
from linedex.query.scope import Scope
from linedex.query.source import Source, opened
from linedex.query.surveys import OpenLog
from linedex.store import logs
from linedex.store.catalogue import key_path
from linedex.store.look import Look

_ASKED: Final = 32


def selection_of(
    root: Root,
    look: Look,
    scope: Scope,
    request: SearchRequest,
    limits: Limits,
    told: tuple[int, ...] = (),
    db: apsw.Connection | None = None,
) -> Selection | None:
    """Return the times and levels that a search asks for, None when it asks for all lines.

    Args:
        root: the folder of the files.
        look: what is on disk.
        scope: the files that are asked.
        request: what is asked.
        limits: sizes and the zone.
        told: the range that an earlier page used, as `span_numbers` gave it.
        db: a reading connection, None to do without: it tells how a compressed file is read from its end.

    Raises:
        UnreadableTime, EmptyRange, UnknownLevel: what was given cannot be used.
        BadArgument: a line is named for a folder.
    """
    if not (request.since or request.until or request.level):
        return None
    levels = levels_named(request.level) if request.level else None
    if told:
        return Selection(_span_of(told), levels)
    whole = look.catalogue.index(look.scope) >= 0 or any(key_path(new.key) == look.scope for new in look.new)
    given = [text for text in (request.since, request.until) if text]
    if not whole and any(map(names_line, given)):
        raise BadArgument("A line (:123) is of one file.", "Give a time, or search a single file.")
    last = NO_INSTANT
    if any(map(counts_from_last, given)):
        last = latest(root, look, _by_change(look, scope), limits, db)
    return Selection(time_range(request.since, request.until, last=last, zone=zone_named(zone_of(limits))), levels)


def _by_change(look: Look, scope: Scope) -> list[tuple[int, RelPath]]:
    """Return time of change, in microseconds, and path of the files of a scope, the last changed first."""
    times = look.catalogue.facts["mtime_ns"][scope.known]
    known = scope.known[np.argsort(-times, kind="stable")[:_ASKED]].tolist()
    found = [(int(look.catalogue.facts["mtime_ns"][at]), look.catalogue.path(at)) for at in known]
    found += [(new.stat.mtime_ns, key_path(new.key)) for new in scope.new]
    return [(changed // 1000, path) for changed, path in sorted(found, reverse=True)[:_ASKED]]


def latest(
    root: Root,
    look: Look,
    files: Iterable[tuple[int, RelPath]],
    limits: Limits,
    db: apsw.Connection | None = None,
) -> int:
    """Return the latest last record of some files, `NO_INSTANT` when none of them has any.

    Args:
        root: the folder of the files.
        look: what is on disk.
        files: time of change, in microseconds, and path of each, the last changed first.
        limits: sizes, the zone, and the time of a query.
        db: a reading connection, None to do without.
    """
    found = NO_INSTANT
    deadline = time.monotonic() + limits.query_seconds / 2
    for changed, path in files:
        # no record is later than the change that wrote it
        if changed < found or time.monotonic() > deadline:
            break
        for last in _last(root, look, path, limits, db):
            found = max(found, last)
    return found


def _last(root: Root, look: Look, path: RelPath, limits: Limits, db: apsw.Connection | None) -> Iterator[int]:
    try:
        with opened(root, path, look.catalogue, db, limits) as source:
            log = OpenLog(source.read, source.size, source.fingerprint, source.format, limits)
            reading = _reading(source, log, db)
            if reading is not None:
                yield last_instant(log, reading)
    except LinedexError:
        return  # what cannot be read is told by the search itself


def _reading(source: Source, log: OpenLog, db: apsw.Connection | None) -> LogReading | None:
    """Return how the lines of a file are read, None when it is no log."""
    part = None if db is None or not source.codec else source.known_part()
    if part is not None and db is not None:
        # the windows that a rule is chosen by lie all over the text: each costs a decoding
        known, reading = logs.stored_reading(db, part.file)
        if known and (reading is None or reading.zone == zone_of(log.limits)):
            return reading
    rule = find_rule(log.read, log.size, log.spelling)
    return None if rule is None else LogReading(rule, zone_of(log.limits))


def span_numbers(selection: Selection | None) -> tuple[int, ...]:
    """Return the range of a search as numbers for its cursor; none when it has no range."""
    if selection is None:
        return ()
    span = selection.span
    return tuple(
        NO_INSTANT if one is None else int(one) for one in (span.since, span.until, span.since_line, span.until_line)
    )


def _span_of(told: tuple[int, ...]) -> TimeRange:
    since, until, first, stop = (None if one == NO_INSTANT else one for one in told)
    return TimeRange(
        since, until, None if first is None else LineNumber(first), None if stop is None else LineNumber(stop)
    )


def told_span(selection: Selection | None, limits: Limits) -> TimeSpan | None:
    """Return the range of a search as its answer tells it, None when it has none."""
    if selection is None or (selection.span.since is None and selection.span.until is None):
        return None
    return TimeSpan(selection.span.since, selection.span.until, zone_of(limits))
