"""What the planners give back: which text changes, and what the answer tells of it.

Promise: values only, and the words that all planners of batches refuse with. Every failing item of a batch is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from linedex.errors import BadArgument, LinedexError
from linedex_server.edit.content.text import Text, shown
from linedex_server.edit.errors import TooLarge
from linedex_server.edit.splice import TextChange

MOST_NEW: Final = 64 << 20
"""Code points of new text that one edit may bring into a file, all its places together."""
_QUOTED = 60


@dataclass(frozen=True, slots=True)
class Planned:
    """What one call changes in one file.

    Attributes:
        edits: texts of the file, each with its changes; `style.splices` takes them.
        count: places that change, or items of a batch.
        lines: number of the line that each of them begins on, before the call, in order.
        note: what the answer has to say beside that, a clause, or "".
    """

    edits: tuple[tuple[Text, tuple[TextChange, ...]], ...]
    count: int
    lines: tuple[int, ...]
    note: str = ""

    @property
    def alters(self) -> bool:
        """Whether any of the new text is another than the old."""
        return any(text.text[one.start : one.end] != one.new for text, changes in self.edits for one in changes)


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a batch at its place.

    Attributes:
        index: its number in the call, from 0.
        start: where it begins, in lines or code points.
        end: where it ends, exclusive; `start` for an insertion.
        text: the lines of the file that it is in.
        change: what it makes of them.
        expected: what the caller expects to stand there, or None.
    """

    index: int
    start: int
    end: int
    text: Text
    change: TextChange
    expected: str | None

    @property
    def old(self) -> str:
        """What stands there."""
        return self.text.text[self.change.start : self.change.end]

    @property
    def first_line(self) -> int:
        """The line that it begins on."""
        return self.text.line_at(self.change.start)

    @property
    def where(self) -> str:
        """Its lines: "line 4" or "lines 4-6"."""
        last = self.text.line_at(max(self.change.start, self.change.end - 1))
        first = self.first_line
        return f"line {first:,}" if first == last else f"lines {first:,}-{last:,}"


def planned(items: Sequence[Item]) -> Planned:
    """Return what a batch changes; insertions at one place stay in the order of the call."""
    in_place = sorted(items, key=lambda one: (one.start, one.end, one.index))
    return Planned(
        tuple((item.text, (item.change,)) for item in in_place),
        len(items),
        tuple(item.first_line for item in in_place),
    )


def demand_apart(items: Sequence[Item]) -> None:
    """Do nothing if no two items overlap; touching is not overlapping.

    Raises:
        BadArgument: some do.
    """
    overlaps = []
    # an insertion comes before what begins at its place, so that only what reaches into another is found
    covering: Item | None = None
    for item in sorted(items, key=lambda one: (one.start, one.end, one.index)):
        if covering is not None and item.start < covering.end:
            later, earlier = sorted((item, covering), key=lambda one: one.index, reverse=True)
            overlaps.append(f"change {later.index} overlaps change {earlier.index}, {item.where}")
        if covering is None or item.end > covering.end:
            covering = item
    if overlaps:
        refuse(BadArgument, overlaps, "Join them to one change, or send one after the other.")


def demand_expected(items: Iterable[Item], refusal: type[LinedexError]) -> None:
    """Do nothing if every item finds the text that its caller expects.

    Raises:
        LinedexError: of the kind `refusal`, one does not.
    """
    wrong = [
        f"change {item.index}: {_contrast(item)}"
        for item in items
        if item.expected is not None and not _as_expected(item)
    ]
    if wrong:
        refuse(refusal, wrong, "Read those lines again with read_content.")


def refuse(refusal: type[LinedexError], reasons: Sequence[str], hint: str) -> NoReturn:
    """Raise a refusal of the whole batch for these reasons."""
    raise refusal(f"Not edited: {'; '.join(reasons)}.", hint)


def demand_room(sizes: Iterable[int]) -> None:
    """Do nothing if new texts of these sizes, in code points, may be written by one edit.

    Raises:
        TooLarge: they are more than is held.
    """
    if sum(sizes) > MOST_NEW:
        raise TooLarge(f"The edit would bring over {MOST_NEW:,} characters into the file.", "Make it in several steps.")


def demand_some(name: str, items: Sequence[object]) -> None:
    """Do nothing if a batch has items.

    Raises:
        BadArgument: it has none.
    """
    if not items:
        raise BadArgument(f"`{name}` is empty.", "Give at least one change.")


def _as_expected(item: Item) -> bool:
    old, expected = shown(item.old), item.expected
    if item.change.start == item.change.end:
        return expected == ""
    return expected in (old, old + "\n") or (expected is not None and expected + "\n" == old)


def _contrast(item: Item) -> str:
    """Say where the text of an item and what was expected part."""
    if item.change.start == item.change.end:
        return f"it inserts at {item.where} and replaces nothing, so expected_old_text can only be empty"
    ours, theirs = (one.removesuffix("\n").split("\n") for one in (shown(item.old), item.expected or ""))
    for line, (found, wanted) in enumerate(zip(ours, theirs, strict=False), start=item.first_line):
        if found != wanted:
            return f"line {line:,} has {_quoted(found)} there, not {_quoted(wanted)} as expected"
    wanted = "1 line was" if len(theirs) == 1 else f"{len(theirs):,} lines were"
    return f"{wanted} expected, and not {item.where}"


def _quoted(line: str) -> str:
    return repr(line if len(line) <= _QUOTED else line[:_QUOTED] + "…")
