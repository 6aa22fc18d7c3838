r"""RE2 in steps, so that time is looked at between them: one call of RE2 cannot be interrupted.

Promise: what is found is what one call over the whole text finds, or `PatternTimedOut` is raised.

RE2's time is linear in the text, but not by one factor: while its automaton has room for the states that a text asks
for, a byte takes some 2 ns, and else as many steps as the pattern has positions. `a[ab]{1000}X` takes 9 us a byte of a
random text, `a\w{300}X` 24 us. A text is divided

- where lines end, if no match goes over line ends;
- where no match can reach over, if a match has a longest length: steps then overlap by it;
- else not at all. The text is then looked at in growing parts, and in pieces, whose times tell whether the whole can be
  done in the time that is left.

Measured on 1 MiB in one line, with 5 s for it: at most 10 s of processor time, for patterns of some 9,000 positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final, TypeAlias

from linedex.errors import PatternTimedOut
from linedex.query.extent import Extent

ByteSpan: TypeAlias = tuple[int, int]
Spans: TypeAlias = Sequence[ByteSpan]
"""The span of a match and those of its groups; (-1, -1) for none."""
Match: TypeAlias = Callable[[bytes, int, int], Spans]
"""Finds the leftmost match between two offsets of a text, and sees what stands around them."""

_POSITION_SECONDS: Final = 12e-9
_INSTRUCTION_SECONDS: Final = 0.1e-9
"""What a byte takes at most, as measured: so much for each position and each instruction of the program."""
_WORTH_SECONDS: Final = 1.0
"""A text that takes no longer at the worst is looked at in one call."""
_STEP_SECONDS: Final = 0.5
LEAST_STEP: Final = 1 << 10
_LONGEST_OVERLAP: Final = 64 << 10


class Stepping:
    """One compiled pattern of RE2, run in steps where that is needed."""

    def __init__(
        self,
        match: Match,
        instructions: int,
        extent: Extent,
        seconds: float,
        *,
        within_lines: bool,
        least_step: int = LEAST_STEP,
    ) -> None:
        """Run nothing yet.

        Args:
            match: runs the program.
            instructions: of the program.
            extent: of its pattern.
            seconds: time it may take on one text, all searches together.
            within_lines: whether no match holds a line feed.
            least_step: bytes of a step of the largest program.
        """
        self._match = match
        self._byte_seconds = extent.positions * _POSITION_SECONDS + instructions * _INSTRUCTION_SECONDS
        self._longest = extent.longest
        self._seconds = seconds
        self._within_lines = within_lines
        if self._longest is not None and self._longest > _LONGEST_OVERLAP:
            self._longest = None
        step = max(least_step, int(_STEP_SECONDS / max(self._byte_seconds, 1e-12)))
        self._step = max(step, self._longest or 0)

    def worth_on(self, size: int) -> bool:
        """Tell whether a text of so many bytes may take so long that steps are needed."""
        return size * self._byte_seconds > _WORTH_SECONDS

    def on(self, text: bytes) -> Callable[[int, int], Spans]:
        """Return the search of `text` between two of its offsets; the starts asked for must not decrease.

        The search raises:
            PatternTimedOut: its time on this text is spent, or would be.
        """
        return _Steps(text, self._match, self._step, self._longest, self._seconds, self._within_lines).search


class _Steps:
    """The search of one text."""

    def __init__(
        self, text: bytes, match: Match, step: int, longest: int | None, seconds: float, within_lines: bool
    ) -> None:
        self._text = text
        self._match = match
        self._step = step
        self._longest = longest
        self._seconds = self._left = seconds
        self._within_lines = within_lines
        self._affordable = 0

    def search(self, start: int, end: int) -> Spans:
        while True:
            stop, divisible = self._stop(start, end)
            found = self._divided(start, stop) if divisible else self._timed(start, stop)
            if found[0][0] >= 0 or stop == end:
                return found
            start = stop + 1

    def _stop(self, start: int, end: int) -> tuple[int, bool]:
        """Return up to where to search now, which is a line end or the end, and whether that is over a step."""
        near = start + 2 * self._step
        if near >= end:
            return end, False
        if not self._within_lines:
            return end, True
        before = self._text.rfind(b"\n", start, near)
        if before >= 0:
            return before, False
        after = self._text.find(b"\n", near, end)
        return (end if after < 0 else after), True

    def _divided(self, start: int, stop: int) -> Spans:
        if self._longest is None:
            return self._whole(start, stop)
        reach = self._step + self._longest
        while start + reach < stop:
            found = self._timed(start, start + reach)
            # a match that begins before the overlap ends in it; of the others one further left may be cut
            if 0 <= found[0][0] < start + self._step:
                return found
            start += self._step
        return self._timed(start, stop)

    def _whole(self, start: int, stop: int) -> Spans:
        if stop <= self._affordable:
            return self._timed(start, stop)
        size = self._step
        while start + size < stop:
            before = self._left
            self._timed(start, start + size)
            for piece in range(start + size, min(start + 2 * size, stop), self._step):
                self._timed(piece, min(piece + self._step, stop))
            if before - self._left > self._left:
                raise self._late()
            size *= 2
        found = self._timed(start, stop)
        self._affordable = stop
        return found

    def _timed(self, start: int, stop: int) -> Spans:
        if self._left <= 0:
            raise self._late()
        before = perf_counter()
        found = self._match(self._text, start, stop)
        self._left -= perf_counter() - before
        return found

    def _late(self) -> PatternTimedOut:
        return PatternTimedOut(
            f"the pattern would take over {self._seconds:g} seconds on one file",
            "Repeat fewer times, use + or * instead of counts, or ASCII classes such as [a-z] instead of \\w.",
        )
