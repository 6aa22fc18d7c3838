"""How long the lines of a file are, measured a piece at a time or reckoned from a sample."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from linedex.content.lines import cut_ranges
from linedex.model import Newline
from linedex.query.source import LineLengths, Source


def measure_lines(source: Source, bound: int) -> LineLengths:
    """Return how many lines of a file are longer than `bound` bytes, and the longest, reading it once in pieces."""
    ranges = cut_ranges(source.read, source.format.bom, source.size, source.line_ends, source.limits)
    return measured((source.read(start, end - start) for start, end in ranges), source, bound)


def measured(pieces: Iterable[bytes], source: Source, bound: int) -> LineLengths:
    """Return how many lines of pieces that follow each other are longer than `bound` bytes, and the longest."""
    ends = source.line_ends
    width = ends.width
    unit = "<u" if source.format.encoding.endswith("le") else ">u"
    crlf = source.format.newline in (Newline.CRLF, Newline.MIXED)
    long_lines = longest = 0
    open_bytes, open_return = 0, False
    for piece in pieces:
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
