"""Which symbols of a file a diff touches, by largefile's rules.

A symbol is `added` when added lines cover the whole of it, `removed` when only removed lines touch it, `modified` when
lines of several types or a part of it changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from linedex.model import Symbol

LineRange = tuple[int, int, str]
"""First line, last line (included), and `added`, `modified` or `removed`."""


def classified(symbols: Sequence[Symbol], ranges: Sequence[LineRange]) -> dict[int, str]:
    """Return what happened to each symbol that a range touches, by the symbol's index."""
    changes = {}
    for index, symbol in enumerate(symbols):
        touching = [
            (max(first, symbol.start_line), min(last, symbol.end_line), kind)
            for first, last, kind in ranges
            if first <= symbol.end_line and last >= symbol.start_line
        ]
        if touching:
            changes[index] = _kind(symbol, touching)
    return changes


def _kind(symbol: Symbol, touching: Sequence[LineRange]) -> str:
    kinds = {kind for _, _, kind in touching}
    if kinds == {"removed"}:
        return "removed"
    if kinds == {"added"} and _covered(touching) == symbol.end_line - symbol.start_line + 1:
        return "added"
    return "modified"


def _covered(ranges: Sequence[LineRange]) -> int:
    """How many lines the ranges hold together."""
    total = after = 0
    for first, last, _ in sorted(ranges):
        total += max(last - max(first, after) + 1, 0)
        after = max(after, last + 1)
    return total
