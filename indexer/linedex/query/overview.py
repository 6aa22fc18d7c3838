"""What a person wants to know of a file before reading it: size, lines, format, outline, and what it tells as a log.

Promise: it takes a bounded time whatever the file's size. Of a large file that the index does not know yet at most
`Limits.overview_bytes` are read, else a sample; then `Overview.approximate` names what is reckoned from the sample, and
counts of lines that are too long are those that were seen.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import apsw

from linedex.answers import Overview
from linedex.log_answers import LogFacts
from linedex.model import LineCount
from linedex.query.line_lengths import LineLengths, line_lengths, measured
from linedex.query.log_facts import log_facts
from linedex.query.log_sketch import log_sketch
from linedex.query.log_timeline import open_log
from linedex.query.log_view import view_of
from linedex.query.outline import Parse, outline_now
from linedex.query.samples import samples
from linedex.query.source import Source

_LOG_LANGUAGES: Final = frozenset({"", "log", "text", "json", "csv"})
_SHARE_FOR_LOG: Final = 10
"""One part in so many of a query's time may go into reading a log that the index does not know."""
LONG_LINE: Final = 1_000
"""Bytes from which on, exclusive, a line counts as long."""


def overview(source: Source, parse: Parse, db: apsw.Connection | None = None) -> Overview:
    """Return size, lines, format, hash, outline and line lengths of a file, text or not; and what it tells as a log.

    Args:
        source: the file.
        parse: finds the symbols of a text.
        db: a reading connection to what the index knows of logs, None to do without.

    Raises:
        ChangedWhileRead: the file was rewritten each time it was read.
    """
    return source.steadily(lambda: _overview(source, parse, db))


def _overview(source: Source, parse: Parse, db: apsw.Connection | None) -> Overview:
    log, known_lines = _as_log(source, db)
    measures = (
        _Measures(LineCount(0), LineLengths(0, 0)) if source.format.binary else _measures(source, log, known_lines)
    )
    return Overview(
        path=source.path,
        size=source.size,
        lines=measures.lines,
        format=source.format,
        hash=source.hash(),
        outline=outline_now(source, parse, full=True),
        long_lines=measures.lengths.long_lines,
        longest_line=measures.lengths.longest,
        log=log,
        approximate=(*measures.approximate, *(["encoding"] if source.glanced else [])),
    )


def _as_log(source: Source, db: apsw.Connection | None) -> tuple[LogFacts | None, int]:
    """Return what a file of no programming language tells as a log, None if it is none; and its lines, or -1."""
    if source.format.binary or source.language not in _LOG_LANGUAGES or not source.size:
        return None, -1
    deadline = time.monotonic() + source.limits.query_seconds / _SHARE_FOR_LOG
    log = open_log(source)
    known = view_of(log, source.known_part(), db, deadline, most=source.limits.overview_bytes)
    if known.view is not None and not known.late:
        ends = int(known.view.columns.part["line_ends"].sum())
        return log_facts(known.view), ends + (not source.format.final_newline)
    if known.reading is None:
        return None, -1
    return log_sketch(log, known.reading, known.columns), -1


@dataclass(frozen=True, slots=True)
class _Measures:
    """How many lines a file has and how long they are; `approximate` names what of that is not exact."""

    lines: LineCount
    lengths: LineLengths
    approximate: tuple[str, ...] = ()


def _measures(source: Source, log: LogFacts | None, known_lines: int) -> _Measures:
    most = source.limits.overview_bytes
    part = source.known_part()
    covered = 0 if part is None else part.size
    sampled = None
    lines, approximate = known_lines, []
    if known_lines < 0:
        if source.size - covered <= most:
            lines = source.lines.total
        else:
            sampled = _sampled(source, covered)
            lines = sampled.lines + (0 if part is None else part.lines)
            approximate.append("lines")
    told = -1 if log is None or log.sampled or source.format.encoding != "utf-8" else log.longest_line
    if 0 <= told <= LONG_LINE:
        return _Measures(LineCount(lines), LineLengths(0, told), tuple(approximate))
    if source.size <= most:
        return _Measures(LineCount(lines), line_lengths(source.lines.text, LONG_LINE), tuple(approximate))
    seen = (sampled or _sampled(source, 0)).lengths
    if told > LONG_LINE:
        return _Measures(LineCount(lines), LineLengths(max(1, seen.long_lines), told), (*approximate, "long_lines"))
    return _Measures(LineCount(lines), seen, (*approximate, "long_lines", "longest_line"))


@dataclass(frozen=True, slots=True)
class _Sampled:
    """What a sample tells of a stretch: about how many lines it has, and the lengths that were seen."""

    lines: int
    lengths: LineLengths


def _sampled(source: Source, start: int) -> _Sampled:
    """Reckon the lines of a file from byte `start` on."""
    ends = source.line_ends
    begin = max(start, source.format.bom)
    taken = list(samples(source.read, begin, source.size, ends))
    whole = [one.data for one in taken if one.whole]
    parts = [one.data for one in taken if not one.whole]
    read = sum(map(len, whole + parts))
    lengths = measured(whole, source.lines.text, LONG_LINE)
    longest = max([lengths.longest, *map(len, parts)])
    count = sum(map(ends.count, whole))
    lines = max(1, round((source.size - begin) * count / max(1, read)))
    return _Sampled(lines, LineLengths(lengths.long_lines + bool(parts), longest))
