"""From shapes to templates: counts of both, per block and summed.

Promise: the counts of a block's templates add up to the records of the block, and those of a file to the file's,
whatever bounds were met: what finds no room is counted as the overflow template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from linedex.content.logs.level_reader import Levels
from linedex.content.logs.levels import SLOTS, Level
from linedex.content.logs.records import Records
from linedex.content.logs.templates.drain import OPEN, OVERFLOW, Drain, DrainBounds
from linedex.content.logs.templates.shapes import shape_hashes
from linedex.content.logs.window import Places, Window, Words


@dataclass(frozen=True, slots=True)
class ShapeCounts:
    """Shapes of a window's records, an entry for each (shape, level) in the order of their first lines.

    Attributes:
        hashes: the shape.
        levels: number of the `Level` of these records.
        counts: how many there are.
        example: number of the first such line of the window.
    """

    hashes: Words
    levels: Levels
    counts: npt.NDArray[np.int64]
    example: Places

    def __len__(self) -> int:
        return len(self.hashes)


def shapes_of(window: Window, records: Records, lines: Places) -> Words:
    """Return the shapes of the messages that some lines of a window begin, by their numbers."""
    return shape_hashes(window, lines, records.content[lines], records.level_at[lines])


def count_shapes(window: Window, records: Records) -> ShapeCounts:
    """Return the shapes of the records that begin in a window."""
    lines = np.flatnonzero(records.heads)
    hashes = shapes_of(window, records, lines)
    every = len(lines) == len(window)
    levels = records.levels if every else records.levels[lines]
    # one number for shape and level; the hash alone is not kept, since eight levels of one shape are rare
    keys = hashes * np.uint64(SLOTS) + levels
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    changed = np.empty(len(ordered), np.bool_)
    changed[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=changed[1:])
    begins = np.flatnonzero(changed)
    if not len(begins):
        none = np.empty(0, np.int64)
        return ShapeCounts(hashes, np.empty(0, np.uint8), none, none)
    leading = order[begins]
    # in the order of the file, so that templates are learned in the same order wherever it is cut
    ranked = np.argsort(leading)
    leading = leading[ranked]
    return ShapeCounts(
        hashes[leading],
        levels[leading],
        np.diff(np.append(begins, len(order))).astype(np.int64)[ranked],
        lines[leading],
    )


TemplateCounts = Mapping[tuple[int, Level], int]
"""Records per (template, level)."""


def merge_counts(parts: Iterable[TemplateCounts]) -> Counter[tuple[int, Level]]:
    """Return the sum of counts of one file's parts."""
    total: Counter[tuple[int, Level]] = Counter()
    for part in parts:
        total.update(part)
    return total


@dataclass(frozen=True, slots=True)
class MinerBounds:
    """Bounds of what is remembered of one file."""

    shapes: int = 65_536
    new_share: float = 0.2
    """A block with more new shapes than this share of its records counts as shapeless."""
    shapeless: int = 8
    """Shapeless blocks in a row after which mining pauses."""
    retry: int = 64
    """Then one block in so many is tried."""
    drain: DrainBounds = field(default_factory=DrainBounds)


DEFAULT_MINER_BOUNDS: Final = MinerBounds()


class TemplateMiner:
    """The templates of one file, learned block by block.

    Attributes:
        shapes: template of each shape that is known; never changes once set.
        drain: the templates.
    """

    def __init__(
        self,
        bounds: MinerBounds = DEFAULT_MINER_BOUNDS,
        *,
        shapes: Mapping[int, int] | None = None,
        drain: Drain | None = None,
    ) -> None:
        self._bounds = bounds
        self.shapes: dict[int, int] = dict(shapes or {})
        self.drain = drain or Drain(bounds.drain)
        self._shapeless = 0
        self._pause = 0

    @property
    def paused(self) -> bool:
        """Whether the text has no shapes for now, so that most blocks are counted as overflow."""
        return self._shapeless >= self._bounds.shapeless

    def learn(self, shapes: ShapeCounts, message: Callable[[int, int], str | None]) -> TemplateCounts:
        """Return the counts of a window's templates, learning the shapes that are new.

        Args:
            shapes: of the window.
            message: returns the message that has a shape and stands in a line, each by its number; None for one that
                is not to be learned now, which counts as overflow.
        """
        learning = self._may_learn()
        fresh = 0
        counts: Counter[tuple[int, Level]] = Counter()
        for shape, level, count, line in zip(
            shapes.hashes.tolist(),
            shapes.levels.tolist(),
            shapes.counts.tolist(),
            shapes.example.tolist(),
            strict=True,
        ):
            template = self.shapes.get(shape)
            if template is None:
                fresh += 1
                template = self._learn(shape, line, message) if learning else OVERFLOW
            counts[template, Level(level)] += count
        if learning:
            many = fresh > self._bounds.new_share * max(1, int(shapes.counts.sum()))
            self._shapeless = self._shapeless + 1 if many else 0
        return counts

    def _may_learn(self) -> bool:
        if not self.paused:
            return True
        self._pause = (self._pause + 1) % self._bounds.retry
        return self._pause == 0

    def _learn(self, shape: int, line: int, message: Callable[[int, int], str | None]) -> int:
        told = None if len(self.shapes) >= self._bounds.shapes else message(shape, line)
        if told is None:
            return OVERFLOW
        template = self.shapes[shape] = self.drain.add(told)
        return template


def message_of(window: Window, records: Records, line: int, most: int) -> str:
    """Return up to `most` bytes of the message of a record's first line as text, its level left open."""
    start, end = int(records.content[line]), int(records.ends[line])
    level_at = int(records.level_at[line])
    message = window.text[start : min(end, start + most)]
    if level_at >= start:
        # the level is counted apart, so that ten messages at four levels are ten templates
        at = level_at - start
        stop = at
        while stop < len(message) and (message[stop : stop + 1].isalnum()):
            stop += 1
        message = message[:at] + OPEN.encode() + message[stop:]
    return message.decode("utf-8", "replace")
