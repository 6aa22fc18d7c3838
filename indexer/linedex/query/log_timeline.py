"""Counts over time: of every record from the cells of the index, of the lines that match from a search.

Promise: the counts are those of reading every line. Of a range that begins or ends inside a minute the parts that hold
that minute are read; everything else comes from cells.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import apsw
import numpy as np

from linedex.answers import OutputMode, SearchRequest
from linedex.content.logs.cells import NO_CELLS, Cells, count_cells, merge_cells, timeline
from linedex.content.logs.instants import MINUTE, NO_INSTANT
from linedex.content.logs.levels import SLOTS, Level
from linedex.content.logs.selection import Selection
from linedex.content.logs.window import Flags
from linedex.content.logs.zones import zone_of
from linedex.errors import BinaryFile, LinedexError
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.log_answers import Bucket, CountedFile, Timeline, TimelineRequest
from linedex.model import RelPath, SkipReason
from linedex.query.log_range import selection_of, told_span
from linedex.query.log_view import Known, LogView, view_of
from linedex.query.pieces import Entry
from linedex.query.progress import Progress
from linedex.query.scope import scope_of
from linedex.query.source import Source, opened
from linedex.query.surveys import OpenLog
from linedex.query.verify import Verifier
from linedex.store.catalogue import key_path
from linedex.store.look import Look

_AT_ONCE: Final = 1 << 16
"""Matches that are held before they are counted."""


@dataclass
class _Counts:
    """What has been counted so far."""

    files: list[CountedFile] = field(default_factory=list)
    cells: list[Cells] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unstamped: int = 0
    late: bool = False
    passed_over: int = 0

    def skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def take(self, path: RelPath, cells: Cells, first: int, last: int) -> None:
        if len(cells):
            self.cells.append(cells)
            self.files.append(CountedFile(path, cells.records, first, last))


def log_timeline(
    root: Root,
    look: Look,
    request: TimelineRequest,
    limits: Limits,
    db: apsw.Connection | None,
    progress: Progress | None = None,
) -> Timeline:
    """Return counts over time of the logs in scope, merged.

    Args:
        root: the folder they are below.
        look: what is on disk now, made for the request's scope.
        request: what is asked.
        limits: sizes and times.
        db: a reading connection to the index, None to read everything.
        progress: asked whether to go on.

    Raises:
        BadPattern, UnreadableTime, EmptyRange, UnknownLevel, BadArgument: the request cannot be answered.
        Cancelled: nobody waits for it any more.
    """
    began = time.perf_counter()
    waiting = progress or Progress()
    deadline = time.monotonic() + limits.query_seconds
    asked = SearchRequest(
        request.pattern,
        scope=request.scope,
        regex=request.regex,
        case_sensitive=request.case_sensitive,
        include=request.include,
        mode=OutputMode.COUNT,
        since=request.since,
        until=request.until,
        level=request.level,
    )
    scope = scope_of(look, asked)
    selection = selection_of(root, look, scope, asked, limits, db=db) or Selection()
    counts = _Counts(skipped=dict(scope.skipped), notes=list(look.problems))
    entries = scope.entries(scope.known)
    if request.pattern:
        verifier = Verifier(root, look.catalogue, db, asked, limits, deadline, waiting, selection, timed=True)
        _count_matches(verifier, entries, counts, deadline)
    else:
        for number, entry in enumerate(entries):
            if number and time.monotonic() > deadline:
                counts.late = True
                counts.passed_over = 1 + sum(1 for _ in entries)
                break
            waiting.check()
            _count_records((root, look, limits, db), entry, selection, counts, (deadline, waiting))
    most = min(request.max_buckets, limits.log_buckets)
    return _answer(request, counts, most, selection, limits, time.perf_counter() - began)


def _count_matches(verifier: Verifier, entries: Iterator[Entry], counts: _Counts, deadline: float) -> None:
    for entry in entries:
        if time.monotonic() > deadline or verifier.outcome.late:
            counts.passed_over = 1 + sum(1 for _ in entries)
            break
        records = verifier.records(entry)
        cells, first, last = NO_CELLS, sys.maxsize, NO_INSTANT
        while found := list(islice(records, _AT_ONCE)):
            instants = np.array([instant for instant, _ in found], np.int64)
            levels = np.array([level for _, level in found], np.uint8)
            cells = merge_cells((cells, count_cells(instants, levels)))
            first, last = min(first, int(instants.min())), max(last, int(instants.max()))
        counts.take(key_path(entry.key), cells, first, last)
    outcome = verifier.outcome
    counts.late = outcome.late or time.monotonic() > deadline
    counts.notes += outcome.notes
    counts.unstamped = -1
    for reason, number in outcome.skipped.items():
        counts.skipped[reason] = counts.skipped.get(reason, 0) + number


def _count_records(
    place: tuple[Root, Look, Limits, apsw.Connection | None],
    entry: Entry,
    selection: Selection,
    counts: _Counts,
    patience: tuple[float, Progress],
) -> None:
    root, look, limits, db = place
    path = key_path(entry.key)
    try:
        with opened(root, path, look.catalogue, db, limits) as source:
            known = source.steadily(lambda: _known(source, db, patience))
            if known.reading is None:
                counts.skip(SkipReason.NO_TIMES)
                return
            if selection.levels is not None and known.reading.rule.level is None:
                counts.skip(SkipReason.NO_LEVELS)
                return
            if known.late:
                counts.late = True
                counts.notes.append(unfinished(source, known))
            view = known.view
            if view is None:
                return
            cells = source.steadily(lambda: cells_of(view, selection))
            counts.take(path, cells, *_edges(view, selection, cells))
            counts.unstamped += int(view.columns.part["unstamped"].sum())
    except BinaryFile:
        counts.skip(SkipReason.BINARY)
    except LinedexError as error:
        if error.code == "cancelled":
            raise
        counts.skip(SkipReason.UNREADABLE)


def _known(source: Source, db: apsw.Connection | None, patience: tuple[float, Progress]) -> Known:
    source.demand_text()
    return view_of(open_log(source), source.known_part(), db, *patience)


def unfinished(source: Source, known: Known) -> str:
    """Return a sentence on a log that time did not suffice to read to its end."""
    done, size = known.columns.end, source.size
    years = "" if known.view is not None else ", and its years are told by its end"
    return (
        f"{display(source.path)} was read up to byte {done:,} of {size:,}{years};"
        " ask again, and reading goes on from there"
    )


def open_log(source: Source) -> OpenLog:
    """Return an open file as what may be a log."""
    return OpenLog(source.read, source.size, source.fingerprint, source.format, source.limits)


def cells_of(view: LogView, selection: Selection) -> Cells:
    """Return the records of a log that a selection asks for, by true minute and level."""
    span = selection.span
    columns = view.columns
    starts = view.cell_instants()
    every = columns.cells()
    minutes = starts // MINUTE
    chosen: Flags = np.ones(len(starts), np.bool_)
    if span.since_line is not None or span.until_line is not None:
        return _read_cells(view, selection, np.ones(len(columns), np.bool_), None)
    if selection.levels is not None:
        asked = np.zeros(SLOTS, np.bool_)
        asked[list(selection.levels)] = True
        chosen &= asked[every.levels]
    edges: set[int] = set()
    if span.since is not None:
        chosen &= starts >= span.since
        if span.since % MINUTE:
            edges.add(span.since // MINUTE)
    if span.until is not None:
        chosen &= starts + MINUTE <= span.until
        if span.until % MINUTE:
            edges.add(span.until // MINUTE)
    whole = Cells(minutes[chosen], every.levels[chosen], every.counts[chosen])
    if not edges:
        return merge_cells((whole,))
    at_edges = np.isin(minutes, list(edges))
    parts: Flags = np.zeros(len(columns), np.bool_)
    parts[columns.cell_parts()[at_edges]] = True
    return merge_cells((whole, _read_cells(view, selection, parts, edges)))


def _read_cells(view: LogView, selection: Selection, parts: Flags, minutes: set[int] | None) -> Cells:
    """Count records of some parts by reading them; with `minutes`, only those in these."""
    found = []
    lines = view.columns.first_lines()
    for at in np.flatnonzero(parts).tolist():
        records = view.read_part(at)
        told = view.told(records, selection, int(lines[at]))
        taken = told.chosen & records.heads
        if minutes is not None:
            taken &= np.isin(told.instants // MINUTE, list(minutes))
        found.append(count_cells(told.instants[taken], told.levels[taken]))
    return merge_cells(found)


def _edges(view: LogView, selection: Selection, cells: Cells) -> tuple[int, int]:
    """Return the first and last instant of the chosen records: exact when all are, else to the minute."""
    if selection == Selection():
        return view.span
    if not len(cells):
        return NO_INSTANT, NO_INSTANT
    return int(cells.minutes.min()) * MINUTE, int(cells.minutes.max()) * MINUTE


def _answer(
    request: TimelineRequest, counts: _Counts, most: int, selection: Selection, limits: Limits, seconds: float
) -> Timeline:
    cells = merge_cells(counts.cells) if counts.cells else NO_CELLS
    made = timeline(cells, request.bucket_minutes, most)
    rows = zip(made.starts().tolist(), made.counts.tolist(), strict=True)
    buckets = tuple(Bucket(start, {level.label: row[level] for level in Level if row[level]}) for start, row in rows)
    notes = list(counts.notes)
    if counts.passed_over:
        notes.append(f"{counts.passed_over:,} files were not looked at: ask of fewer files, or of a shorter range")
    elif counts.late and request.pattern:
        notes.append("not all matches were counted: ask of a shorter range, or of a rarer text")
    if request.bucket_minutes and made.width > request.bucket_minutes and len(cells):
        notes.append(f"buckets of {made.width} minutes instead of {request.bucket_minutes}, to keep to {most} of them")
    return Timeline(
        buckets,
        made.width,
        cells.records,
        {level.label: count for level, count in cells.per_level().items()},
        tuple(counts.files),
        told_span(selection, limits),
        zone_of(limits),
        counts.unstamped,
        counts.skipped,
        tuple(notes),
        counts.late,
        seconds,
    )
