"""What a person wants to know of a log before reading it: span, rate, levels, formats, gaps.

Promise: told from the parts of the log alone; nothing of a log that the index knows is read.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from linedex.content.logs.cells import merge_cells
from linedex.content.logs.detection import LogRule
from linedex.content.logs.formats import Basis
from linedex.content.logs.instants import MINUTE
from linedex.content.logs.selection import Selection
from linedex.log_answers import Gap, LogFacts
from linedex.query.log_timeline import cells_of
from linedex.query.log_view import LogView

_GAPS: Final = 3
_LEAST_GAP: Final = 10
"""A gap is so many times as long as a usual step between minutes with records."""


def log_facts(view: LogView) -> LogFacts | None:
    """Return the facts of a log, None for one without records."""
    first, last = view.span
    cells = merge_cells((cells_of(view, Selection()),))
    if not len(cells):
        return None
    minutes, counts = _per_minute(cells.minutes, cells.counts)
    busiest = int(counts.argmax())
    rule, part = view.reading.rule, view.columns.part
    levels = {level.label: count for level, count in cells.per_level().items()}
    divided = bool(part["continues"].any())
    return LogFacts(
        formats=format_names(rule),
        first=first,
        last=last,
        records=cells.records,
        levels={} if rule.level is None else levels,
        level_source="" if rule.level is None else rule.level.source.value,
        busiest=(int(minutes[busiest]) * MINUTE, int(counts[busiest])),
        gaps=_gaps(minutes),
        unstamped=int(part["unstamped"].sum()),
        year=year_note(rule),
        zone=view.reading.zone,
        longest_line=-1 if divided else int(part["longest"].max()),
    )


def format_names(rule: LogRule) -> tuple[str, ...]:
    """Return the formats of a log's timestamps and where they stand."""
    return tuple(f"{one.format_name} ({one.place_name})" for one in rule.stamps)


def year_note(rule: LogRule) -> str:
    """Return how the year of a log's records is known, "" when its stamps tell it."""
    told = {Basis.YEARLESS: "year from the time of change", Basis.TIME_ONLY: "date from the time of change"}
    return told.get(rule.basis, "")


def _per_minute(
    minutes: np.ndarray[tuple[int], np.dtype[np.int64]], counts: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    found, inverse = np.unique(minutes, return_inverse=True)
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, inverse, counts)
    return found, sums


def _gaps(minutes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[Gap, ...]:
    steps = np.diff(minutes)
    if not len(steps):
        return ()
    least = max(2, _LEAST_GAP * int(np.median(steps)))
    longest = np.argsort(-steps, kind="stable")[:_GAPS].tolist()
    return tuple(Gap(int(minutes[at]) * MINUTE, int(minutes[at + 1]) * MINUTE) for at in longest if steps[at] >= least)
