"""Counts of records per minute and level, and timelines made of them.

Promise: counts are exact. Cells of blocks and of files add up to the cells of all of them, in any order, whatever the
order of the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from linedex.content.logs.instants import MINUTE, Instants
from linedex.content.logs.level_reader import Levels
from linedex.content.logs.levels import SLOTS, Level

_DENSE = 1 << 16
BUCKET_MINUTES: Final = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 43200, 525600)
"""Widths of buckets that people read easily."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Sparse counts, in order of (minute, level).

    Attributes:
        minutes: stored instant of each cell, in whole minutes.
        levels: number of its `Level`.
        counts: records in it, at least one.
    """

    minutes: npt.NDArray[np.int64]
    levels: Levels
    counts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.minutes)

    @property
    def records(self) -> int:
        """Records counted."""
        return int(self.counts.sum())

    def per_level(self) -> dict[Level, int]:
        """Return the records of each level that occurs."""
        sums = np.bincount(self.levels, weights=self.counts, minlength=SLOTS).astype(np.int64)
        return {level: int(sums[level]) for level in Level if sums[level]}

    def coarsened(self, minutes: int) -> Cells:
        """Return the same counts in cells of so many minutes, each named by its first."""
        return _grouped(self.minutes // minutes * minutes, self.levels, self.counts)


NO_CELLS: Final = Cells(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.int64))


def count_cells(instants: Instants, levels: Levels) -> Cells:
    """Return the cells of records.

    Args:
        instants: of each record, in microseconds.
        levels: of each.
    """
    if not len(instants):
        return NO_CELLS
    minutes = instants // MINUTE
    first = int(minutes.min())
    span = int(minutes.max()) - first + 1
    if span > _DENSE:
        return _grouped(minutes, levels, np.ones(len(minutes), np.int64))
    table = np.bincount((minutes - first) * SLOTS + levels, minlength=span * SLOTS)
    places = np.flatnonzero(table)
    return Cells(places // SLOTS + first, (places % SLOTS).astype(np.uint8), table[places].astype(np.int64))


def merge_cells(parts: Iterable[Cells]) -> Cells:
    """Return the sum of cells."""
    some = [part for part in parts if len(part)]
    if not some:
        return NO_CELLS
    return _grouped(
        np.concatenate([part.minutes for part in some]),
        np.concatenate([part.levels for part in some]),
        np.concatenate([part.counts for part in some]),
    )


def _grouped(minutes: npt.NDArray[np.int64], levels: Levels, counts: npt.NDArray[np.int64]) -> Cells:
    keys, inverse = np.unique(minutes * SLOTS + levels, return_inverse=True)
    sums = np.zeros(len(keys), np.int64)
    np.add.at(sums, inverse, counts)
    return Cells(keys // SLOTS, (keys % SLOTS).astype(np.uint8), sums)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Counts per bucket and level, empty buckets among them.

    Attributes:
        first: first minute of the first bucket, since the epoch.
        width: minutes of a bucket.
        counts: a row a bucket, a column a level by its number.
    """

    first: int
    width: int
    counts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def totals(self) -> Sequence[int]:
        """Records of each bucket."""
        totals: list[int] = self.counts.sum(axis=1).tolist()
        return totals

    def starts(self) -> Instants:
        """Return the instant at which each bucket begins."""
        return (self.first + np.arange(len(self.counts), dtype=np.int64) * self.width) * MINUTE


def bucket_width(minutes: int, most: int) -> int:
    """Return the least usual width, in minutes, at which a span makes at most `most` buckets."""
    for width in BUCKET_MINUTES:
        # a span may begin and end inside a bucket
        if minutes // width + 2 <= most:
            return width
    return -(-minutes // max(1, most - 2))


def timeline(cells: Cells, width: int, most: int) -> Timeline:
    """Return the buckets from the first cell to the last.

    Args:
        cells: counts by true minutes.
        width: minutes of a bucket, or 0 for the least usual width that gives at most `most` buckets.
        most: bound of buckets; a smaller width is widened to keep it.
    """
    if not len(cells):
        return Timeline(0, max(1, width), np.zeros((0, SLOTS), np.int64))
    low, high = int(cells.minutes.min()), int(cells.minutes.max())
    if not width or high // width - low // width + 1 > most:
        width = max(width, bucket_width(high - low + 1, most))
    first = low // width * width
    count = (high - first) // width + 1
    table = np.zeros((count, SLOTS), np.int64)
    np.add.at(table, ((cells.minutes - first) // width, cells.levels), cells.counts)
    return Timeline(first, width, table)
