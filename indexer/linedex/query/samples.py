"""Samples of a stretch that is too long to be read for one answer: whole lines of its beginning, its end and between.

Promise: the same stretch of the same bytes gives the same sample, in file order and without overlap, and it takes at
most `count` reads. The places between are drawn one from each of equal shares, because evenly spaced ones would alias
with the length of the lines.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from linedex.content.lines import LineEnds, Reader

SAMPLES: Final = 32
SAMPLE_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Sample:
    """Some lines of a stretch.

    Attributes:
        start: the first byte of the first of them.
        data: their bytes.
        follows: whether it begins where the stretch does, so that what is known before it holds.
        whole: whether `data` is whole lines, the file's last one perhaps without end; else a part of one line.
    """

    start: int
    data: bytes
    follows: bool
    whole: bool = True


def samples(
    read: Reader, start: int, end: int, ends: LineEnds, *, count: int = SAMPLES, size: int = SAMPLE_BYTES
) -> Iterator[Sample]:
    """Yield a sample of the bytes from `start` up to `end`, where the file ends.

    Args:
        read: reads the file.
        start: first byte, where a line begins.
        end: byte after the last.
        ends: the file's line ends.
        count: how many pieces, at least 2; fewer when they would overlap.
        size: bytes of a piece, enough for a few lines.
    """
    count = min(count, (end - start) // size)
    if count < 2:
        if data := read(start, end - start):
            yield Sample(start, data, follows=True)
        return
    share = (end - start) // count
    dice = random.Random(end)
    behind = start
    for number in range(count):
        room = max(0, share - size)
        at = start + number * share + (dice.randrange(room + 1) if number else 0)
        if number == count - 1:
            at = max(start, end - size)
        at = max(behind, at - (at - ends.base) % ends.width)
        data = read(at, min(size, end - at))
        behind = at + len(data)
        if (one := _whole_lines(data, at, ends, opens=at == start, closes=behind == end)) is not None:
            yield one


def _whole_lines(data: bytes, at: int, ends: LineEnds, *, opens: bool, closes: bool) -> Sample | None:
    found = ends.ends(data)
    if not len(found) and not (opens and closes):
        return Sample(at, data, opens, whole=False) if data else None
    low = 0 if opens else int(found[0])
    high = len(data) if closes else int(found[-1])
    return Sample(at + low, data[low:high], opens) if low < high else None
