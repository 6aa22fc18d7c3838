"""Where the new bytes of a step stand, after somebody else has changed the file.

Promise: a place is given only where the new bytes stand now, and only if it is the only place they can have come to:
between lines that did not change, or between the unchanged bytes that were remembered around them, once in the file.
The whole of a large file is read a few times at most, a window at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from linedex_server.edit.content.line_diff import runs
from linedex_server.edit.history.steps import Change, Read

_COMPARED_BYTES: Final = 4 << 20
"""Up to here two versions are compared line by line."""
_SEARCHES: Final = 8
"""How often a whole file is searched, at 1 s for 2 GB."""
_WINDOW: Final = 1 << 20
_LONG_ENOUGH: Final = 16
"""Bytes with unchanged ones on one side only that are taken for a place."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """One splice with the bytes that find it again: unchanged ones before it, its new ones, unchanged ones after it."""

    change: Change
    lead: bytes
    new: bytes
    trail: bytes

    @property
    def all(self) -> bytes:
        """All of them, as they stood in the file when the splice was made."""
        return self.lead + self.new + self.trail


def remembered(changes: Sequence[Change], places: bytes) -> tuple[Remembered, ...] | None:
    """Return each splice with its bytes; None where they were not remembered."""
    if len(places) != sum(change.lead + change.length + change.trail for change in changes):
        return None
    found = []
    at = 0
    for change in changes:
        new, trail = at + change.lead, at + change.lead + change.length
        at = trail + change.trail
        found.append(Remembered(change, places[new - change.lead : new], places[new:trail], places[trail:at]))
    return tuple(found)


def left_by(former: bytes, splices: Sequence[Remembered]) -> bytes:
    """Return the file that a step left, from the one before it."""
    parts: list[bytes] = []
    at = 0
    for splice in splices:
        parts += (former[at : splice.change.start], splice.new)
        at = splice.change.end
    return b"".join((*parts, former[at:]))


def relocated(
    splices: Sequence[Remembered], read: Read, size: int, left: bytes | None
) -> tuple[tuple[int, int], ...] | None:
    """Return where the new bytes of each splice begin and end in the present file, None if that is not certain.

    Args:
        splices: in their order.
        read: reads the present file.
        size: bytes of it.
        left: the file that the step left, where it is known.
    """
    present = read(0, size) if size <= _COMPARED_BYTES and size else None
    mapped: Sequence[int | None] = [None] * len(splices)
    if present is not None and left is not None and len(left) <= _COMPARED_BYTES:
        mapped = _mapped(splices, left, present)
    search = _Search(read, size)
    found: list[tuple[int, int]] = []
    moved = shift = 0
    for splice, known in zip(splices, mapped, strict=True):
        expected = splice.change.start + shift
        at = search.near(splice, expected + moved) if known is None else known
        if at is None:
            return None
        moved = at - expected
        shift += splice.change.length - (splice.change.end - splice.change.start)
        found.append((at, at + splice.change.length))
    if any(later[0] < earlier[1] for earlier, later in pairwise(found)):
        return None
    return tuple(found)


def _mapped(splices: Sequence[Remembered], left: bytes, present: bytes) -> list[int | None]:
    """Return where splices have come to whose lines, and those beside them, did not change."""
    old, new = _lines(left), _lines(present)
    kept = []
    at = new_at = 0
    for run in runs(old, new):
        size, new_size = (
            sum(map(len, old[run.start : run.end])),
            sum(map(len, new[run.new_start : run.new_end])),
        )
        if run.equal:
            kept.append((at, at + size, new_at))
        at, new_at = at + size, new_at + new_size
    found: list[int | None] = []
    shift = 0
    for splice in splices:
        start = splice.change.start + shift
        end = start + splice.change.length
        shift += splice.change.length - (splice.change.end - splice.change.start)
        first, last, new_first = kept[max(0, bisect_right(kept, (start, len(left) + 1, 0)) - 1)] if kept else (0, -1, 0)
        # an empty place beside what changed could be on either side of the change
        if start == end:
            first_holds = first < start or start == new_first == 0
            last_holds = end < last or (end == len(left) and new_first + last - first == len(present))
            certain = first_holds and last_holds
        else:
            certain = first <= start and end <= last
        found.append(new_first + start - first if certain and first <= start and end <= last else None)
    return found


def _lines(content: bytes) -> list[str]:
    *whole, rest = content.decode("latin-1").split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


class _Search:
    """Looks for splices in a file of any size."""

    def __init__(self, read: Read, size: int) -> None:
        self._read = read
        self._size = size
        self._left = _SEARCHES

    def near(self, splice: Remembered, expected: int) -> int | None:
        """Return where the new bytes of a splice begin: at `expected` if they stand there, else where they only can."""
        whole = splice.all
        if not whole:
            return None
        first = expected - len(splice.lead)
        if not splice.new and not (splice.lead and splice.trail):
            # at an end of the file only, or what has come there since could be before it or behind it
            holds = (splice.lead or expected == 0) and (splice.trail or expected == self._size)
            return expected if holds and first >= 0 and self._read(first, len(whole)) == whole else None
        if first >= 0 and self._read(first, len(whole)) == whole:
            return expected
        ways = [(whole, len(splice.lead))]
        if splice.new:
            ways += [(splice.lead + splice.new, len(splice.lead)), (splice.new + splice.trail, 0)]
        for wanted, lead in ways:
            if wanted != whole and len(wanted) < _LONG_ENOUGH:
                continue
            places = self._twice(wanted)
            if places:
                return places[0] + lead if len(places) == 1 else None
        return None

    def _twice(self, wanted: bytes) -> list[int]:
        """Return the first two places of some bytes."""
        if self._left == 0:
            return []
        self._left -= 1
        found: list[int] = []
        for start, window in self._windows(len(wanted)):
            at = window.find(wanted)
            while at >= 0:
                if not found or start + at > found[-1]:
                    found.append(start + at)
                if len(found) == 2:
                    return found
                at = window.find(wanted, at + 1)
        return found

    def _windows(self, length: int) -> Iterator[tuple[int, bytes]]:
        """Yield the file in windows that overlap, so that every `length` bytes lie whole in one."""
        step = max(_WINDOW, length)
        for start in range(0, self._size, step):
            yield start, self._read(start, min(step + length - 1, self._size - start))
