"""The two currencies of edits: changes of text, and the byte splices they become.

Promise: applying splices changes the bytes between `start` and `end` of each and no others; `reversal` of the splices
that were applied brings the former bytes back, whatever they were.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextChange:
    """The code points `start` to `end` (exclusive) of a text become `new`; `start == end` inserts.

    Offsets count from 0 in the text of `Text.text`: no BOM, every line end one newline.
    """

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Splice:
    """The bytes `start` to `end` (exclusive) of a snapshot become `new`; `start == end` inserts."""

    start: int
    end: int
    new: bytes

    @property
    def delta(self) -> int:
        """How many bytes longer the file becomes."""
        return len(self.new) - (self.end - self.start)


def ordered(splices: Iterable[Splice]) -> tuple[Splice, ...]:
    """Return splices by place; those that insert at one place stay in the order given.

    Raises:
        ValueError: two of them overlap.
    """
    found = tuple(sorted(splices, key=lambda one: (one.start, one.end)))
    for before, after in itertools.pairwise(found):
        if after.start < before.end:
            raise ValueError(f"the splices at {before.start} and {after.start} overlap")
    return found


def applied(content: bytes, splices: Sequence[Splice]) -> bytes:
    """Return `content` with the splices, which are `ordered`, made."""
    parts: list[bytes] = []
    at = 0
    for splice in splices:
        parts += (content[at : splice.start], splice.new)
        at = splice.end
    return b"".join((*parts, content[at:]))


def reversal(splices: Sequence[Splice], former: Callable[[int, int], bytes]) -> tuple[Splice, ...]:
    """Return the splices that undo `splices`, in offsets of the bytes that those leave.

    Args:
        splices: `ordered`.
        former: returns the bytes from one offset to another (exclusive) as they were before.
    """
    undoing = []
    shift = 0
    for splice in splices:
        start = splice.start + shift
        undoing.append(Splice(start, start + len(splice.new), former(splice.start, splice.end)))
        shift += splice.delta
    return tuple(undoing)
