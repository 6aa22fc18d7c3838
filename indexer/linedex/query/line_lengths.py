"""How long the lines of a file are, measured a piece at a time.

Promise: memory of a piece, however long a line is; a file is measured once in each of its states.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from linedex.content.lines import cut_ranges
from linedex.model import Newline
from linedex.query.file_lines import OpenText
from linedex.query.remembered import Remembered


@dataclass(frozen=True, slots=True)
class LineLengths:
    """How long the lines of a file are, in bytes without their ends: how many are over a bound, and the longest."""

    long_lines: int
    longest: int


# true of bytes, not of an index: one memory serves every index of the process
_LENGTHS: Final = Remembered[LineLengths](512)


def line_lengths(text: OpenText, bound: int) -> LineLengths:
    """Return how many lines of a file are longer than `bound` bytes, and the longest; as `measure_lines`, once."""
    key = (text.fingerprint, text.format, bound)
    return _LENGTHS.get(key, lambda: measure_lines(text, bound), keep=text.settled)


def measure_lines(text: OpenText, bound: int) -> LineLengths:
    """Return how many lines of a file are longer than `bound` bytes, and the longest, reading it once in pieces."""
    ranges = cut_ranges(text.read, text.format.bom, text.size, text.line_ends, text.limits)
    return measured((text.read(start, end - start) for start, end in ranges), text, bound)


def measured(pieces: Iterable[bytes], text: OpenText, bound: int) -> LineLengths:
    """Return how many lines of pieces that follow each other are longer than `bound` bytes, and the longest."""
    ends = text.line_ends
    width = ends.width
    unit = "<u" if text.format.encoding.endswith("le") else ">u"
    crlf = text.format.newline in (Newline.CRLF, Newline.MIXED)
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
