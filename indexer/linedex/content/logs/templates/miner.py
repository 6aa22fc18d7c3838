"""From shapes to templates: counts of both, per block and summed.

Promise: the counts of a block's templates add up to the records of the block, and those of a file to the file's,
whatever bounds were met: what finds no room is counted as the overflow template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from linedex.content.logs.instants import NO_INSTANT, Instants
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
        first: least stored instant of them, or `NO_INSTANT`.
        last: greatest one, or `NO_INSTANT`.
        example: number of the first such line of the window.
    """

    hashes: Words
    levels: Levels
    counts: npt.NDArray[np.int64]
    first: Instants
    last: Instants
    example: Places

    def __len__(self) -> int:
        return len(self.hashes)


def count_shapes(window: Window, records: Records) -> ShapeCounts:
    """Return the shapes of the records that begin in a window."""
    lines = np.flatnonzero(records.heads)
    hashes = shape_hashes(window, lines, records.content[lines], records.level_at[lines])
    every = len(lines) == len(window)
    levels = records.levels if every else records.levels[lines]
    times = records.instants if every else records.instants[lines]
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
        return ShapeCounts(hashes, np.empty(0, np.uint8), none, none, none, none)
    leading = order[begins]
    by_key = times[order]
    # in the order of the file, so that templates are learned in the same order wherever it is cut
    ranked = np.argsort(leading)
    leading = leading[ranked]
    return ShapeCounts(
        hashes[leading],
        levels[leading],
        np.diff(np.append(begins, len(order))).astype(np.int64)[ranked],
        np.minimum.reduceat(by_key, begins)[ranked],
        np.maximum.reduceat(by_key, begins)[ranked],
        lines[leading],
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """Records of one template in some range.

    Attributes:
        count: how many.
        first: least stored instant, or `NO_INSTANT`.
        last: greatest stored instant, or `NO_INSTANT`.
    """

    count: int
    first: int = NO_INSTANT
    last: int = NO_INSTANT

    def plus(self, other: Tally) -> Tally:
        """Return both together."""
        known = [instant for instant in (self.first, other.first) if instant != NO_INSTANT]
        return Tally(self.count + other.count, min(known, default=NO_INSTANT), max(self.last, other.last))


TemplateCounts = Mapping[tuple[int, Level], Tally]
"""Counts per (template, level)."""


def merge_counts(parts: Iterable[TemplateCounts]) -> dict[tuple[int, Level], Tally]:
    """Return the sum of counts of one file's blocks."""
    total: dict[tuple[int, Level], Tally] = {}
    for part in parts:
        for key, tally in part.items():
            total[key] = total[key].plus(tally) if key in total else tally
    return total


@dataclass(frozen=True, slots=True)
class Mined:
    """What mining a window gives.

    Attributes:
        counts: its records per (template, level).
        examples: for each template made by this window, the place of the line it was made of, in the window; from
            `TemplateMiner.learn`, the number of that line.
    """

    counts: TemplateCounts
    examples: Mapping[int, int]


NOTHING_MINED: Final = Mined({}, {})


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

    def count(self, shapes: ShapeCounts, window: Window, records: Records) -> Mined:
        """Return the counts of a window's templates, learning the shapes that are new."""
        most = 4 * self._bounds.drain.message
        mined = self.learn(shapes, lambda _, line: message_of(window, records, line, most))
        return Mined(mined.counts, {made: int(records.starts[line]) for made, line in mined.examples.items()})

    def learn(self, shapes: ShapeCounts, message: Callable[[int, int], str | None]) -> Mined:
        """Return the counts of a window's templates, learning the shapes that are new.

        Args:
            shapes: of the window.
            message: returns the message that has a shape and stands in a line, each by its number; None for one that
                is not to be learned now, which counts as overflow.

        Returns:
            The counts; examples by the number of their line.
        """
        learning = self._may_learn()
        examples: dict[int, int] = {}
        fresh = 0
        counts: dict[tuple[int, Level], Tally] = {}
        for shape, level, count, first, last, line in zip(
            shapes.hashes.tolist(),
            shapes.levels.tolist(),
            shapes.counts.tolist(),
            shapes.first.tolist(),
            shapes.last.tolist(),
            shapes.example.tolist(),
            strict=True,
        ):
            template = self.shapes.get(shape)
            if template is None:
                fresh += 1
                made = len(self.drain)
                template = self._learn(shape, line, message) if learning else OVERFLOW
                if len(self.drain) > made:
                    examples[template] = line
            tally, key = Tally(count, first, last), (template, Level(level))
            counts[key] = counts[key].plus(tally) if key in counts else tally
        if learning:
            many = fresh > self._bounds.new_share * max(1, int(shapes.counts.sum()))
            self._shapeless = self._shapeless + 1 if many else 0
        return Mined(counts, examples)

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
