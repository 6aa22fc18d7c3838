"""The facts of a log that is not known to its end: counted as far as it is known, reckoned from a sample behind that.

Promise: some two megabytes are read, whatever the log's size. Span and formats are those of its head and its end;
counts are reckoned; what a sample cannot tell (the busiest minute, times without records) is left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from linedex.content.folding import lf_text
from linedex.content.lines import LineEnds
from linedex.content.logs.cells import count_cells
from linedex.content.logs.instants import NO_INSTANT
from linedex.content.logs.levels import Level
from linedex.content.logs.records import FILE_START, Carry
from linedex.content.logs.texts import LogReading
from linedex.content.logs.window import Window
from linedex.log_answers import LogFacts
from linedex.query.log_facts import format_names, year_note
from linedex.query.log_view import completion_of
from linedex.query.samples import Sample, samples
from linedex.query.surveys import OpenLog
from linedex.store.log_columns import LogColumns


@dataclass
class _Seen:
    """What the samples told so far, in stored instants."""

    bytes: int = 0
    records: int = 0
    levels: Counter[Level] = field(default_factory=Counter)
    instants: list[int] = field(default_factory=list)


def log_sketch(log: OpenLog, reading: LogReading, columns: LogColumns) -> LogFacts | None:
    """Return the facts of a log, None when no record was seen.

    Args:
        log: the open file.
        reading: how its lines are read.
        columns: the parts of it that are known, from its first byte on.
    """
    ends = LineEnds.of(log.spelling)
    start, carry, kept = log.spelling.bom, FILE_START, columns
    if len(columns):
        # what the last known part leaves is stored with the part behind it, so it is sampled again
        last = len(columns) - 1
        start, carry, kept = int(columns.part["start"][last]), columns.carry(last), columns.head(last)
    seen = _Seen()
    for one in samples(log.read, start, log.size, ends):
        carry = _look(log, reading, one, carry, seen)
    known = int(kept.part["records"].sum())
    if not known and not seen.records:
        return None
    instants = np.array([*kept.part["least"].tolist(), *kept.part["greatest"].tolist(), *seen.instants], np.int64)
    true = completion_of(log, reading, carry.clock.last).instants(instants[instants != NO_INSTANT])
    share = (log.size - start) / max(1, seen.bytes)
    levels = Counter({level: round(count * share) for level, count in seen.levels.items()})
    levels.update(kept.cells().per_level())
    rule = reading.rule
    return LogFacts(
        formats=format_names(rule),
        first=int(true.min()),
        last=int(true.max()),
        records=levels.total(),
        levels={} if rule.level is None else {level.label: levels[level] for level in Level if levels[level]},
        level_source="" if rule.level is None else rule.level.source.value,
        busiest=None,
        gaps=(),
        unstamped=-1,
        year=year_note(rule),
        zone=reading.zone,
        sampled=seen.bytes,
    )


def _look(log: OpenLog, reading: LogReading, one: Sample, carry: Carry, seen: _Seen) -> Carry:
    """Add up the records of a sample; return what it leaves for the next, of which only the clock is true."""
    before = carry if one.follows else Carry(clock=carry.clock)
    window = Window(lf_text(one.data, log.inside))
    records = reading.records().read(window, before)
    heads = records.heads
    times = records.instants[heads]
    seen.bytes += len(one.data)
    seen.records += len(times)
    seen.levels.update(count_cells(times, records.levels[heads]).per_level())
    known = times[times != NO_INSTANT]
    if len(known):
        seen.instants += [int(known.min()), int(known.max())]
    return replace(records.carry, open=records.carry.open and one.whole)
