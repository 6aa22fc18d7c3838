"""The recurring messages of a log over a range, and what is new or changed in it against another.

Promise: counts are exact, up to the bound of templates a log may have, past which a message is counted as `other`.
Whole parts are counted from the index; the parts at the ends of a range are read. Where the index has no templates the
range itself is read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import apsw
import numpy as np

from linedex.content.logs.instants import NO_INSTANT
from linedex.content.logs.levels import Level
from linedex.content.logs.moments import time_range
from linedex.content.logs.parts import MESSAGE_BYTES
from linedex.content.logs.records import Records
from linedex.content.logs.selection import Selection, levels_named
from linedex.content.logs.templates.contrast import contrast
from linedex.content.logs.templates.drain import OVERFLOW
from linedex.content.logs.templates.miner import TemplateCounts, count_shapes, merge_counts, message_of, shapes_of
from linedex.content.logs.window import Flags, Window
from linedex.content.logs.zones import zone_of
from linedex.errors import BadArgument, LinedexError
from linedex.files.names import display
from linedex.log_answers import Pattern, Patterns, PatternsRequest
from linedex.model import FileId, LineNumber
from linedex.query.log_range import told_span
from linedex.query.log_timeline import open_log, unfinished
from linedex.query.log_view import Known, LogView, view_of
from linedex.query.mined_parts import Entry, MinedParts, mined_parts
from linedex.query.progress import Progress
from linedex.query.read import shown_lines
from linedex.query.source import Source
from linedex.store import logs


class NoTimes(LinedexError):
    """A question about times was asked of a file in which none are recognised."""

    code = "no_times"


@dataclass
class _Tally:
    """Records of one template in a range."""

    levels: dict[Level, int] = field(default_factory=dict)
    first_part: int = -1
    last_part: int = -1

    @property
    def count(self) -> int:
        return sum(self.levels.values())


def log_of(source: Source, db: apsw.Connection | None, deadline: float, progress: Progress | None = None) -> LogView:
    """Return an open file as a log.

    Raises:
        NoTimes: no timestamps are recognised in it, or there was no time to read it to its end.
        BinaryFile: it holds no text.
    """
    known = _known(source, db, deadline, progress)
    if known.view is None or known.late:
        raise _not_read(source)
    return known.view


def _known(source: Source, db: apsw.Connection | None, deadline: float, progress: Progress | None) -> Known:
    source.demand_text()
    known = view_of(open_log(source), source.known_part(), db, deadline, progress, templates=True)
    if known.reading is None:
        called = display(source.path)
        raise NoTimes(f"No timestamps are recognised in `{called}`.", "Search it by text, or read it by lines.")
    return known


def _not_read(source: Source) -> NoTimes:
    called = display(source.path)
    return NoTimes(f"`{called}` was not read to its end in time.", "Ask again: reading goes on where it was.")


def log_patterns(
    source: Source, request: PatternsRequest, db: apsw.Connection | None, progress: Progress | None = None
) -> Patterns:
    """Return the recurring messages of a log.

    Args:
        source: the file.
        request: what is asked.
        db: a reading connection, None to read everything.
        progress: asked whether to go on.

    Raises:
        NoTimes: no timestamps are recognised in the file.
        UnreadableTime, EmptyRange, UnknownLevel: a time or level cannot be read.
        BadArgument: `compare` is asked for without `since`.
        ChangedWhileRead: it was rewritten each time it was read.
    """
    if request.compare and not request.since:
        raise BadArgument("`compare` needs `since`: the time before it is compared with.", "Give since.")
    return source.steadily(lambda: _Question(source, request, db, progress or Progress()).answer())


class _Question:
    def __init__(
        self, source: Source, request: PatternsRequest, db: apsw.Connection | None, progress: Progress
    ) -> None:
        self._began = time.perf_counter()
        self._deadline = time.monotonic() + source.limits.query_seconds
        self._source = source
        self._request = request
        self._progress = progress
        known = _known(source, db, self._deadline, progress)
        if known.view is None:
            raise _not_read(source)
        self._late = known.late
        self._notes = [unfinished(source, known)] if known.late else []
        self._view = known.view
        self._columns = self._view.columns
        part = source.known_part()
        self._mined_parts = 0
        self._mined: MinedParts | None = None
        self._counted = np.zeros(len(self._columns), np.bool_)
        if part is not None and db is not None and len(self._columns.template["template"]):
            self._miner = logs.stored_miner(db, FileId(part.file))
            self._counted = self._columns.part["templates"] > 0
        else:
            self._mined = mined_parts(self._view.log, self._view.reading)
            self._miner = self._mined.miner
        self._aliases: Mapping[int, int] = {}

    def answer(self) -> Patterns:
        with nullcontext() if self._mined is None else self._mined.guard:
            return self._answer()

    def _answer(self) -> Patterns:
        request, view = self._request, self._view
        last = view.span[1]
        levels = levels_named(request.level) if request.level else None
        span = time_range(request.since, request.until, last=last, zone=view.reading.tz)
        selection = Selection(span, levels)
        now = self._tally(selection)
        before = None
        if request.compare:
            earlier = time_range(request.compare_since, "", last=last, zone=view.reading.tz)
            before = self._tally(Selection(replace(earlier, until=span.since, until_line=span.since_line), levels))
        self._aliases = self._miner.drain.aliases()
        now = self._joined(now)
        rows = self._ranked(now, None if before is None else self._joined(before))
        shown = rows[: request.max_patterns]
        patterns = tuple(self._pattern(number, now.get(number, _Tally()), told, selection) for number, told in shown)
        return Patterns(
            self._source.path,
            patterns,
            len(rows),
            sum(one.count for one in now.values()),
            now.get(OVERFLOW, _Tally()).count,
            None if before is None else sum(one.count for one in before.values()),
            told_span(selection, self._source.limits),
            zone_of(self._source.limits),
            by_index=bool(self._counted.any()),
            notes=tuple(self._notes),
            late=self._late,
            seconds=time.perf_counter() - self._began,
        )

    def _tally(self, selection: Selection) -> dict[int, _Tally]:
        """Count the templates of a range: from the index where a part is wholly in it, else by reading."""
        passing = self._view.passing(selection)
        wholly = self._wholly(selection)
        whole = passing & self._counted & wholly
        found: dict[int, _Tally] = {}
        columns = self._columns
        owners = columns.template_parts()
        at = np.flatnonzero(whole[owners])
        keys = columns.template["template"][at] * len(Level) * 2 + columns.template["template_level"][at]
        kinds, inverse = np.unique(keys, return_inverse=True)
        sums = np.zeros(len(kinds), np.int64)
        np.add.at(sums, inverse, columns.template["template_count"][at])
        first = np.full(len(kinds), len(columns), np.int64)
        last = np.full(len(kinds), -1, np.int64)
        np.minimum.at(first, inverse, owners[at])
        np.maximum.at(last, inverse, owners[at])
        for kind, count, low, high in zip(kinds.tolist(), sums.tolist(), first.tolist(), last.tolist(), strict=True):
            number, level = divmod(kind, len(Level) * 2)
            if selection.levels is None or Level(level) in selection.levels:
                self._add(found, number, Level(level), count, (low, high))
        left = np.flatnonzero(passing & ~whole).tolist()
        for done, part in enumerate(left):
            if self._mined_parts and time.monotonic() > self._deadline:
                self._stop(done, len(left))
                break
            self._progress.check()
            counts = self._kept(part, selection) if wholly[part] else self._read(part, selection)
            for number, level, count in counts:
                self._add(found, number, level, count, (part, part))
        return found

    def _stop(self, done: int, asked: int) -> None:
        self._late = True
        going_on = "give a shorter range" if self._mined is None else "ask again, and counting goes on from there"
        self._notes.append(f"{done:,} of {asked:,} parts of the range were counted: {going_on}")

    def _kept(self, part: int, selection: Selection) -> Iterable[Entry]:
        """Count the templates of a part that lies wholly in the range, or tell what was counted before."""
        if self._mined is None:
            return self._read(part, selection)
        facts = self._columns.part
        place = int(facts["start"][part]), int(facts["end"][part])
        told = self._mined.get(place)
        if told is None:
            mined = self._mine(part, Selection())
            # the last part ends elsewhere when the file has grown
            if part < len(self._columns) - 1:
                self._mined.put(place, mined)
            told = ((number, level, count) for (number, level), count in mined.items())
        return (entry for entry in told if selection.levels is None or entry[1] in selection.levels)

    @staticmethod
    def _add(found: dict[int, _Tally], number: int, level: Level, count: int, parts: tuple[int, int]) -> None:
        one = found.setdefault(number, _Tally())
        one.levels[level] = one.levels.get(level, 0) + count
        one.first_part = parts[0] if one.first_part < 0 else min(one.first_part, parts[0])
        one.last_part = max(one.last_part, parts[1])

    def _wholly(self, selection: Selection) -> Flags:
        """Return which parts lie wholly in a range of time."""
        span = selection.span
        least, greatest = self._view.bounds
        inside: Flags = least != NO_INSTANT
        if span.since is not None:
            inside &= least >= span.since
        if span.until is not None:
            inside &= greatest < span.until
        if span.since_line is not None or span.until_line is not None:
            inside &= False
        return inside

    def _read(self, part: int, selection: Selection) -> list[Entry]:
        """Count the templates of the chosen records of a part by reading it."""
        return [(number, level, count) for (number, level), count in self._mine(part, selection).items()]

    def _mine(self, part: int, selection: Selection) -> TemplateCounts:
        self._mined_parts += 1
        told: list[TemplateCounts] = []

        def keep(window: Window, records: Records) -> None:
            chosen = self._view.told(records, selection, int(self._columns.first_lines()[part])).chosen
            counted = count_shapes(window, replace(records, heads=records.heads & chosen))
            told.append(self._miner.learn(counted, lambda _, line: message_of(window, records, line, MESSAGE_BYTES)))

        self._view.read_part(part, keep=keep)
        return merge_counts(told)

    def _joined(self, found: Mapping[int, _Tally]) -> dict[int, _Tally]:
        """Add up templates that have become equal."""
        joined: dict[int, _Tally] = {}
        for number, one in found.items():
            for level, count in one.levels.items():
                self._add(joined, self._aliases.get(number, number), level, count, (one.first_part, one.last_part))
        return joined

    @staticmethod
    def _ranked(
        now: Mapping[int, _Tally], before: Mapping[int, _Tally] | None
    ) -> list[tuple[int, tuple[int, float] | None]]:
        """Return the numbers of templates, what matters most first; with a comparison their count before and weight."""
        if before is None:
            return [(number, None) for number, _ in sorted(now.items(), key=lambda item: (-item[1].count, item[0]))]
        changes = contrast(
            {number: one.count for number, one in before.items()}, {number: one.count for number, one in now.items()}
        )
        return [(change.template, (change.before, change.weight)) for change in changes]

    def _pattern(self, number: int, tally: _Tally, told: tuple[int, float] | None, selection: Selection) -> Pattern:
        first, line = self._edge(number, tally.first_part, selection, first=True)
        last, _ = self._edge(number, tally.last_part, selection, first=False)
        example = ""
        if line is not None:
            shown = next(shown_lines(self._source, line, line, self._source.limits.excerpt), None)
            example = "" if shown is None else shown.text
        return Pattern(
            self._miner.drain.text(number),
            tally.count,
            {level.label: count for level, count in sorted(tally.levels.items())},
            first,
            last,
            None if line is None else LineNumber(line),
            example,
            None if told is None else told[0],
            0.0 if told is None else told[1],
        )

    def _edge(self, number: int, part: int, selection: Selection, *, first: bool) -> tuple[int | None, int | None]:
        """Return the instant of the first or last record of a template in a part, and the number of its line."""
        if part < 0:
            return None, None
        numbers = {number, *(one for one, same in self._aliases.items() if same == number)}
        shapes = np.array([shape for shape, made in self._miner.shapes.items() if made in numbers], np.uint64)
        found: list[tuple[int, int]] = []
        before = int(self._columns.first_lines()[part])

        def keep(window: Window, records: Records) -> None:
            chosen = self._view.told(records, selection, before)
            lines = np.flatnonzero(records.heads & chosen.chosen)
            lines = lines[np.isin(shapes_of(window, records, lines), shapes)]
            if len(lines):
                instants = records.instants[lines]
                found.append((int(instants.min() if first else instants.max()), before + int(lines[0])))

        self._view.read_part(part, keep=keep)
        if not found:
            return None, None
        instant, line = found[0]
        return self._view.completion.instant(instant), line
