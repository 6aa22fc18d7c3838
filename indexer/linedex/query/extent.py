"""How much a pattern stands for once its repetitions are written out.

Promise: `positions` bounds what an automaton can be busy with at one byte of a text, and no match is longer than
`longest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from linedex.errors import BadPattern
from linedex.query.syntax import (
    Alternate,
    AnyByte,
    AnyChar,
    Capture,
    CharClass,
    Concat,
    Literal,
    Node,
    Repeat,
    reduce_tree,
)

MOST_POSITIONS: Final = 10_000
_POINT_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a pattern.

    Attributes:
        positions: code points that it names, each repetition counted as often as it may be needed.
        longest: bytes of the longest match, None when there is no bound.
    """

    positions: int
    longest: int | None

    def around(self, positions: int) -> Extent:
        """Return the extent with so many code points more, before or after it."""
        longest = None if self.longest is None else self.longest + positions * _POINT_BYTES
        return Extent(self.positions + positions, longest)


def extent_of(tree: Node) -> Extent:
    """Return the extent of a tree without look-around and back-references."""
    return reduce_tree(tree, _extent)


def demand_moderate(extent: Extent) -> None:
    """Do nothing if a pattern of this extent may be run.

    Raises:
        BadPattern: it stands for too much.
    """
    if extent.positions > MOST_POSITIONS:
        raise BadPattern(
            f"The pattern is too large: with its repetitions written out it has {extent.positions:,} characters and "
            f"classes, and at most {MOST_POSITIONS:,} are taken, since a search takes time for each of them.",
            hint="Repeat fewer times (+ and * count once), or search for a part of it.",
        )


def _extent(node: Node, below: list[Extent]) -> Extent:
    match node:
        case Literal(text):
            # a letter may be longer in its other case
            return Extent(len(text), len(text) * _POINT_BYTES)
        case AnyByte():
            return Extent(1, 1)
        case AnyChar() | CharClass():
            return Extent(1, _POINT_BYTES)
        case Repeat(_, low, high):
            (body,) = below
            times = max(1, low if high is None else high)
            longest = body.longest
            if longest:
                longest = None if high is None else longest * high
            return Extent(body.positions * times, longest)
        case Concat():
            lengths = [one.longest for one in below if one.longest is not None]
            return Extent(sum(one.positions for one in below), sum(lengths) if len(lengths) == len(below) else None)
        case Alternate():
            lengths = [one.longest for one in below if one.longest is not None]
            return Extent(sum(one.positions for one in below), max(lengths) if len(lengths) == len(below) else None)
        case Capture():
            return below[0]
        case _:
            return Extent(0, 0)
