"""Large files in pieces: windows of whole lines, of bounded size, with the number of their first line.

Promise: the windows of a stretch cover it, each begins where the last one's lines end, and only a line longer than a
window is ever divided; its pieces overlap and say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from linedex.content.lines import LineEnds, Reader, counted_boundary
from linedex.limits import Limits
from linedex.store.blocks import BlockRun

_LONGEST_CHARACTER: Final = 4


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of a file: whole lines, or a part of one line that is longer than a window.

    Attributes:
        start: its first byte.
        end: the byte after its last.
        opens: whether a line begins at its start.
        closes: whether a line ends at its end.
        fresh: byte from which on no earlier window has shown the text; after `start` only inside a divided line.
    """

    start: int
    end: int
    opens: bool = True
    closes: bool = True
    fresh: int = -1

    @property
    def divided(self) -> bool:
        """Whether it is a part of one line."""
        return not (self.opens and self.closes)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole lines of a file: first byte, byte after the last, and the number of the first line, 0 when unknown."""

    start: int
    end: int
    first_line: int


def windows(read: Reader, stretch: Stretch, ends: LineEnds, limits: Limits) -> Iterator[Window]:
    """Yield the windows of a stretch of whole lines."""
    start = stretch.start
    step = max(limits.window_bytes, 2 * ends.width)
    while start < stretch.end:
        near = start + step
        if near >= stretch.end:
            yield Window(start, stretch.end)
            return
        origin = near - ends.width
        data = read(origin, limits.block_slack + 2 * ends.width + 4)
        cut, at_line_end = ends.cut(data, origin, ends.width, limits.block_slack, 0)
        end = origin + cut if at_line_end else _last_line_end(read, start, near, ends)
        if end > start:
            yield Window(start, end)
            start = end
            continue
        for window in _parts(read, start, stretch.end, ends, limits):
            yield window
            start = window.end


def _last_line_end(read: Reader, start: int, end: int, ends: LineEnds) -> int:
    """Return the byte after the last line end between two bytes, `start` where there is none."""
    found = ends.ends(read(start, end - start))
    return start + int(found[-1]) if len(found) else start


def _parts(read: Reader, start: int, limit: int, ends: LineEnds, limits: Limits) -> Iterator[Window]:
    """Yield the overlapping parts of the one long line that begins at `start`."""
    step = max(limits.window_bytes, 2 * ends.width)
    overlap = min(limits.window_overlap, step // 2)
    fresh, opens = start, True
    while True:
        origin = fresh - (fresh - ends.base) % ends.width
        found = ends.ends(read(origin, start + step - origin))
        if len(found):
            yield Window(start, origin + int(found[0]), opens, closes=True, fresh=fresh)
            return
        if start + step >= limit:
            yield Window(start, limit, opens, closes=True, fresh=fresh)
            return
        end = _boundary(read, start, start + step, ends)
        yield Window(start, end, opens, closes=False, fresh=fresh)
        start, fresh, opens = _boundary(read, start, end - overlap, ends), end, False


def _boundary(read: Reader, start: int, near: int, ends: LineEnds) -> int:
    """Return a character boundary at or just after `near`, in a line that goes on from `start`, which is one too."""
    if not ends.tells_boundaries:
        return start + counted_boundary(read(start, near - start + _LONGEST_CHARACTER), near - start, 0, ends.encoding)
    origin = near - ends.width
    at, _ = ends.cut(read(origin, 4 * ends.width + 8), origin, ends.width, 0, 0)
    return origin + at


def passing_stretches(answers: list[tuple[BlockRun, npt.NDArray[np.bool_]]], size: int) -> Iterator[Stretch]:
    """Yield the stretches of adjoining blocks that pass, as `candidates.candidate_blocks` answers them.

    Blocks that share a line pass together, so a stretch begins and ends between lines.
    """
    if not answers:
        return
    starts = np.concatenate([run.starts for run, _ in answers])
    lines = np.concatenate([run.lines for run, _ in answers])
    passing = np.concatenate([mask for _, mask in answers])
    edges = np.flatnonzero(np.diff(np.concatenate(([False], passing, [False])).astype(np.int8)))
    for low, high in zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True):
        end = int(starts[high]) if high < len(starts) else size
        yield Stretch(int(starts[low]), end, int(lines[low]))
