"""How the indentation of a search answers to that of the file, and what follows for lines that are new.

Promise: a mapping is a function from the indents of the search to those of the file, and deeper stays deeper. A new
line whose indent the search has takes the file's for it; any other is measured from the nearest known indent, in the
file's own steps.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linedex_server.edit.find.slips import indent_of

_TAB_WIDTHS = (8, 4, 2)


@dataclass(frozen=True, slots=True)
class IndentMapping:
    """Which indent of the file stands for which of the search.

    Attributes:
        known: from the search to the file.
        first: the file's indent of the first line where the search lacks it, else None.
    """

    known: Mapping[str, str]
    first: str | None = None

    def applied(self, lines: Sequence[str], *, at_start: bool) -> list[str]:
        """Return new lines indented as the file would have them.

        Args:
            lines: as the caller gave them, indented as the search is.
            at_start: whether the first of them stands where the search's first line stood.
        """
        step = self._step(lines)
        fitted = []
        for number, line in enumerate(lines):
            indent = indent_of(line)
            if indent == line:
                fitted.append(line)
            elif number == 0 and at_start and self.first is not None and not indent:
                fitted.append(self.first + line)
            else:
                fitted.append(self._indent(indent, step) + line[len(indent) :])
        return fitted

    def _indent(self, indent: str, step: tuple[str, str]) -> str:
        if indent in self.known:
            return self.known[indent]
        shallower = [one for one in self.known if indent.startswith(one)]
        if shallower:
            base = max(shallower, key=len)
            return self.known[base] + _converted(indent[len(base) :], step)
        deeper = [one for one in self.known if one.startswith(indent)]
        if not deeper:
            return indent
        base = min(deeper, key=len)
        less = _converted(base[len(indent) :], step)
        theirs = self.known[base]
        return theirs.removesuffix(less) if theirs.endswith(less) else theirs[: max(0, len(theirs) - len(less))]

    def _step(self, lines: Iterable[str]) -> tuple[str, str]:
        """Return one step of indentation, in the search and in the file; equal ones where nothing is known."""
        ordered = sorted(self.known.items(), key=lambda pair: _columns(pair[0], 8))
        steps = Counter[tuple[str, str]]()
        for (ours, theirs), (deeper, theirs_deeper) in itertools.pairwise(ordered):
            if deeper.startswith(ours) and theirs_deeper.startswith(theirs):
                steps[_smallest(deeper[len(ours) :], theirs_deeper[len(theirs) :])] += 1
        for ours, theirs in ordered:
            if ours and theirs and "\t" in ours + theirs and set(ours) != set(theirs):
                steps[_smallest(ours, theirs)] += 1
        if steps:
            return max(steps, key=lambda step: (step[0] != step[1], steps[step]))
        if ordered and not ordered[0][0] and set(ordered[0][1]) == {"\t"}:
            indents = [indent for line in lines if (indent := indent_of(line)) and set(indent) == {" "}]
            if indents:
                return " " * math.gcd(*map(len, indents)), "\t"
        return " ", " "


def mapped(searched: Sequence[str], found: Sequence[str]) -> IndentMapping | None:
    """Return how the indents of the search's lines answer to the file's, or None if in no orderly way.

    Args:
        searched: the indents of the lines of the search that are not empty.
        found: those of the file's lines, one for one.
    """
    whole = _orderly(searched, found)
    if len(searched) > 1 and not searched[0] and found[0]:
        rest = _orderly(searched[1:], found[1:])
        same = rest is not None and all(ours == theirs for ours, theirs in rest.items())
        if rest is not None and (whole is None or (same and any(rest))):
            return IndentMapping(rest, found[0])
    return None if whole is None else IndentMapping(whole)


def same_depth(indent: str) -> tuple[str, ...]:
    """Return the indents that are as deep as `indent` but for tabs against blanks."""
    plain = indent.replace("\t", "").strip(" ") == ""
    others = [indent]
    for width in (2, 3, 4, 8) if plain else ():
        columns = _columns(indent, width)
        others += ("\t" * (columns // width) + " " * (columns % width), " " * columns)
    return tuple(dict.fromkeys(others))


def _orderly(searched: Sequence[str], found: Sequence[str]) -> dict[str, str] | None:
    known: dict[str, str] = {}
    for ours, theirs in zip(searched, found, strict=True):
        if known.setdefault(ours, theirs) != theirs:
            return None
    return known if any(_in_order(known, width) for width in _TAB_WIDTHS) else None


def _in_order(known: Mapping[str, str], width: int) -> bool:
    depths = sorted((_columns(ours, width), _columns(theirs, width)) for ours, theirs in known.items())
    return all(
        (deeper > less) == (theirs > before) and (deeper == less) == (theirs == before)
        for (less, before), (deeper, theirs) in itertools.pairwise(depths)
    )


def _columns(indent: str, width: int) -> int:
    return len(indent.expandtabs(width))


def _smallest(ours: str, theirs: str) -> tuple[str, str]:
    """Return the smallest step of which both are the same multiple."""
    if len(set(ours)) == len(set(theirs)) == 1:
        times = math.gcd(len(ours), len(theirs))
        return ours[: len(ours) // times], theirs[: len(theirs) // times]
    return ours, theirs


def _converted(indent: str, step: tuple[str, str]) -> str:
    ours, theirs = step
    if ours == theirs or not ours:
        return indent
    times = 0
    while indent.startswith(ours, times * len(ours)):
        times += 1
    return theirs * times + indent[times * len(ours) :]
