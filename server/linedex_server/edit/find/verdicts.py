"""What is said of each change of a call that was refused because not all of them have their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linedex_server.edit.errors import NotPlaced

_SHOWN_LINES = 20


@dataclass(frozen=True, slots=True)
class Nearby:
    """A place that resembles a search that was missed.

    Attributes:
        line: number of the line, 1-based, that is shown: the first that differs.
        content: that line, cut to 100 characters.
        similarity: of the whole place, 0 to 1.
        difference: what that line differs in.
    """

    line: int
    content: str
    similarity: float
    difference: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one change.

    Attributes:
        index: number of the change in the call, from 0.
        fits: whether it has its place.
        lines: the lines that it fits, or fits too many of.
        how: "exact", "tolerant (blanks)" and so on; "" for a miss.
        sentence: what is said of it, without its number: "fits (line 12)", "not found in src/a.py".
        reason: why it was missed, a clause that is certain, or "".
        hint: what to do about it.
        nearest: places that resemble the search.
    """

    index: int
    fits: bool
    sentence: str
    lines: tuple[int, ...] = ()
    how: str = ""
    reason: str = ""
    hint: str = ""
    nearest: tuple[Nearby, ...] = ()


class ChangesNotPlaced(NotPlaced):
    """Not all changes of a call have their place, so none was made.

    Attributes:
        verdicts: one for each change, in their order.
    """

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        self.verdicts = tuple(verdicts)
        failing = [one for one in verdicts if not one.fits]
        told = [_told(one, len(verdicts)) for one in failing]
        fitting = [one for one in verdicts if one.fits]
        if fitting:
            told.append(", ".join(_told(one, 0) for one in fitting))
        missed = [one for one in failing if one.nearest and not one.reason]
        near = [
            f" Nearest{f' to change {one.index}' if len(missed) > 1 else ''}: {_nearest_told(one.nearest)}."
            for one in missed
        ]
        hints = dict.fromkeys(one.hint for one in failing if one.hint)
        super().__init__(f"Not edited: {'; '.join(told)}.{''.join(near)}", " ".join(hints))


def lines_told(lines: Sequence[int], count: int, *, more: bool = False) -> str:
    """Return "line 12" or "lines 12, 40, 77", or the first of them and that there are more.

    Args:
        lines: that of each place, or of the first places; one that has several is named once.
        count: how many places there are.
        more: whether there are more than `count`.
    """
    named = list(dict.fromkeys(lines))
    shown = ", ".join(f"{line:,}" for line in named[:_SHOWN_LINES])
    noun = "line" if len(named) == 1 else "lines"
    if len(named) > _SHOWN_LINES or count > len(lines) or more:
        return f"{noun} {shown} and more"
    return f"{noun} {shown}"


def _told(verdict: Verdict, count: int) -> str:
    of = f" of {count}" if count > 1 else ""
    reason = f": {verdict.reason}" if verdict.reason else ""
    return f"change {verdict.index}{of} {verdict.sentence}{reason}"


def _nearest_told(places: Sequence[Nearby]) -> str:
    first = f"line {places[0].line:,}, {places[0].difference}"
    others = ", ".join(f"line {one.line:,} ({one.similarity:.0%})" for one in places[1:])
    return f"{first}; then {others}" if others else first
