"""The difference of two short texts, line by line.

Promise: the runs given back cover both texts in order, and lines said to be equal are. Time is near linear whatever
the texts repeat: lines that stand once in each are paired first, and only small stretches between them are compared in
every way.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_EVERY_WAY = 40_000
"""Most pairs of lines that are compared in every way: some 10 ms."""


@dataclass(frozen=True, slots=True)
class Run:
    """The lines `start` to `end` of the old text are, or become, the lines `new_start` to `new_end` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int
    equal: bool


def runs(old: Sequence[str], new: Sequence[str]) -> tuple[Run, ...]:
    """Return what stays and what changes from `old` to `new`, in order, no two neighbours of one kind."""
    joined: list[Run] = []
    for run in _runs(old, new, (0, len(old)), (0, len(new))):
        if run.start == run.end and run.new_start == run.new_end:
            continue
        if joined and joined[-1].equal == run.equal:
            last = joined.pop()
            run = Run(last.start, run.end, last.new_start, run.new_end, equal=run.equal)  # noqa: PLW2901
        joined.append(run)
    return tuple(joined)


def _runs(old: Sequence[str], new: Sequence[str], ours: tuple[int, int], theirs: tuple[int, int]) -> Iterator[Run]:
    waiting = [(ours, theirs, False)]
    while waiting:
        (start, end), (new_start, new_end), equal = waiting.pop()
        if equal:
            yield Run(start, end, new_start, new_end, equal=True)
            continue
        head = 0
        while start + head < end and new_start + head < new_end and old[start + head] == new[new_start + head]:
            head += 1
        yield Run(start, start + head, new_start, new_start + head, equal=True)
        start, new_start = start + head, new_start + head
        tail = 0
        while start < end - tail and new_start < new_end - tail and old[end - tail - 1] == new[new_end - tail - 1]:
            tail += 1
        waiting.append(((end - tail, end), (new_end - tail, new_end), True))
        end, new_end = end - tail, new_end - tail
        pairs = _landmarks(old, new, (start, end), (new_start, new_end))
        if not pairs:
            yield from _compared(old, new, (start, end), (new_start, new_end))
            continue
        between = []
        for at, new_at in pairs:
            between += [((start, at), (new_start, new_at), False), ((at, at + 1), (new_at, new_at + 1), True)]
            start, new_start = at + 1, new_at + 1
        between.append(((start, end), (new_start, new_end), False))
        waiting += reversed(between)


def _landmarks(
    old: Sequence[str], new: Sequence[str], ours: tuple[int, int], theirs: tuple[int, int]
) -> list[tuple[int, int]]:
    """Return the longest rising sequence of places of lines that stand once in each stretch."""
    once, new_once = Counter(old[slice(*ours)]), Counter(new[slice(*theirs)])
    places = {new[at]: at for at in range(*theirs) if new_once[new[at]] == 1}
    pairs = [(at, places[old[at]]) for at in range(*ours) if once[old[at]] == 1 and old[at] in places]
    ends: list[int] = []
    ending: list[int] = []
    before: list[int] = []
    for number, (_, new_at) in enumerate(pairs):
        length = bisect.bisect_left(ends, new_at)
        before.append(ending[length - 1] if length else -1)
        ends[length : length + 1] = [new_at]
        ending[length : length + 1] = [number]
    chain = []
    number = ending[-1] if ending else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _compared(old: Sequence[str], new: Sequence[str], ours: tuple[int, int], theirs: tuple[int, int]) -> Iterator[Run]:
    (start, end), (new_start, new_end) = ours, theirs
    if (end - start) * (new_end - new_start) > _EVERY_WAY:
        yield Run(start, end, new_start, new_end, equal=False)
        return
    matcher = SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        yield Run(start + first, start + last, new_start + new_first, new_start + new_last, equal=kind == "equal")
