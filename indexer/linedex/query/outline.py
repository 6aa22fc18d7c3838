"""The symbols of one file, and what a person wants to know of a file before reading it.

Promise: an outline is of the bytes that are in the file now, never of what the index remembers; where it is empty or
not whole it says why. A file too large to be held is not outlined, but its lines are measured all the same, a piece at
a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

import apsw
import numpy as np

from linedex.answers import Outline, Overview
from linedex.content.lines import cut_ranges
from linedex.content.symbols import Extraction
from linedex.limits import Limits
from linedex.log_answers import LogFacts
from linedex.model import LineCount, Newline
from linedex.query.log_facts import log_facts
from linedex.query.log_timeline import open_log
from linedex.query.log_view import view_of
from linedex.query.source import LineLengths, Source

Parse: TypeAlias = Callable[[bytes, str, bool], Extraction]
"""`parse(text, language, full)` returns the symbols of a UTF-8 text; `full` asks for fields, enum members and keys
too. It keeps the budgets of `Limits` and never raises because of what is in the text."""

_LOG_LANGUAGES: Final = frozenset({"", "log", "text", "json", "csv"})
_SHARE_FOR_LOG: Final = 10
"""One part in so many of a query's time may go into reading a log that the index does not know."""
LONG_LINE: Final = 1_000
"""Bytes from which on, exclusive, a line counts as long."""


def outline(source: Source, parse: Parse, *, full: bool = True) -> Outline:
    """Return the symbols of a file.

    Args:
        source: the file.
        parse: finds the symbols of a text.
        full: also fields, enum members and keys.

    Raises:
        ChangedWhileRead: the file was rewritten each time it was read.
    """
    return source.steadily(lambda: outline_now(source, parse, full=full))


def outline_now(source: Source, parse: Parse, *, full: bool) -> Outline:
    """Return what `outline` does; for callers that are already inside `Source.steadily`."""
    if source.format.binary:
        return Outline((), "", "binary: it holds no text")
    if not source.language:
        return Outline((), "", "no outline: the language is not known" if source.size else "")
    if not source.fits:
        return Outline((), source.language, _too_large(source.size, source.limits))
    found = parse(source.text(), source.language, full)
    return Outline(found.symbols, source.language, found.note)


def _too_large(size: int, limits: Limits) -> str:
    return f"not outlined: {_mebibytes(size)}, over the limit of {_mebibytes(limits.text_bytes)}"


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"


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


def _as_log(source: Source, db: apsw.Connection | None) -> LogFacts | None:
    """Return what a file of no programming language tells as a log; None if it is none, or would take long to read."""
    if source.format.binary or source.language not in _LOG_LANGUAGES or not source.size:
        return None
    deadline = time.monotonic() + source.limits.query_seconds / _SHARE_FOR_LOG
    view = view_of(open_log(source), source.known_part(), db, deadline).view
    return None if view is None else log_facts(view)


def _lengths(source: Source, log: LogFacts | None) -> LineLengths:
    told = -1 if log is None or source.format.encoding != "utf-8" else log.longest_line
    if 0 <= told <= LONG_LINE:
        return LineLengths(0, told)
    return source.line_lengths(LONG_LINE, measure_lines)


def _overview(source: Source, parse: Parse, db: apsw.Connection | None) -> Overview:
    binary = source.format.binary
    log = _as_log(source, db)
    lengths = LineLengths(0, 0) if binary else _lengths(source, log)
    return Overview(
        path=source.path,
        size=source.size,
        lines=LineCount(0) if binary else source.total_lines,
        format=source.format,
        hash=source.hash(),
        outline=outline_now(source, parse, full=True),
        long_lines=lengths.long_lines,
        longest_line=lengths.longest,
        log=log,
    )


def measure_lines(source: Source, bound: int) -> LineLengths:
    """Return how many lines of a file are longer than `bound` bytes, and the longest, reading it once in pieces."""
    ends = source.line_ends
    width = ends.width
    unit = "<u" if source.format.encoding.endswith("le") else ">u"
    crlf = source.format.newline in (Newline.CRLF, Newline.MIXED)
    long_lines = longest = 0
    open_bytes, open_return = 0, False
    for start, end in cut_ranges(source.read, source.format.bom, source.size, ends, source.limits):
        piece = source.read(start, end - start)
        units = np.frombuffer(piece[: len(piece) - len(piece) % width], f"{unit}{width}")
        at = ends.ends(piece)
        if not len(at):
            open_bytes += len(piece)
            open_return = bool(len(units)) and units[-1] == ord("\r")
            continue
        lengths = np.diff(at, prepend=0) - width
        lengths[0] += open_bytes
        if crlf:
            before = at // width - 2
            returned = units[np.maximum(before, 0)] == ord("\r")
            returned[0] = units[before[0]] == ord("\r") if before[0] >= 0 else open_return
            # the unit before a line end may be the line end before it, never a return of this line then
            lengths -= width * returned
        long_lines += int(np.count_nonzero(lengths > bound))
        longest = max(longest, int(lengths.max()))
        open_bytes = len(piece) - int(at[-1])
        open_return = open_bytes > 0 and units[-1] == ord("\r")
    if open_bytes:
        long_lines += open_bytes > bound
        longest = max(longest, open_bytes)
    return LineLengths(long_lines, longest)
