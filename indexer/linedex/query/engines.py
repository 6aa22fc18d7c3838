r"""The engines that find one match: RE2, and `regex` where RE2 cannot.

Promise: `search` returns the leftmost match at or after a line start, as byte offsets, or None; it is never longer than
the pattern allows and never raises but for time. Whatever backtracks, and a large program of RE2, is given a budget of
seconds and raises `PatternTimedOut` when it is spent.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import re2

from linedex.errors import BadPattern, PatternTimedOut
from linedex.later import later
from linedex.query.code_points import quiet_options
from linedex.query.extent import Extent, demand_moderate
from linedex.query.stepping import ByteSpan, Stepping

if TYPE_CHECKING:
    import regex
else:
    regex = later("regex")

_LONG_LITERAL = 100


class Search(Protocol):
    """Finds the leftmost match between two byte offsets of one text, which sees what stands before the first of them.

    The first is a line start or the end of a match, the second a line end or the text's end. The starts asked for must
    not decrease.
    """

    def __call__(self, start: int, end: int = ...) -> ByteSpan | None:
        """Return the match as byte offsets, or None."""


class Engine(Protocol):
    """A compiled pattern."""

    def on(self, text: bytes) -> Search:
        """Return the search of `text`."""


class Re2Engine:
    """RE2 in UTF-8 mode.

    It uses the extension class below `re2`'s own, for two reasons. A match takes 0.8 us instead of 2.8, since no
    generator, match object and spans are made in Python. And `re2.compile` keeps the last 128 programs, each of which
    may have grown to its 64 MiB; here a program goes with its engine.

    Args:
        pattern: in RE2's dialect.
        extent: of the pattern.
        seconds: time it may take on one text, all searches together.
        multiline: whether a match may contain line ends.
        group: the group whose span counts, 0 for the whole match.

    Raises:
        BadPattern: RE2 refuses it: an unknown Unicode class, or a program over its memory; or its extent is too large.
    """

    def __init__(self, pattern: str, extent: Extent, seconds: float, *, multiline: bool, group: int = 0) -> None:
        demand_moderate(extent)
        program = re2._re2.RE2(pattern.encode(), quiet_options(never_newline=not multiline))
        if not program.ok():
            raise refused(program.error().decode("utf-8", "replace"))
        self._match = match = program.Match
        self._group = group
        unanchored = re2._Anchor.UNANCHORED
        self._stepping = Stepping(
            lambda text, start, end: match(unanchored, text, start, end),
            program.ProgramSize(),
            extent,
            seconds,
            within_lines=not multiline,
        )

    def on(self, text: bytes) -> Search:
        """Return the search of `text`; it raises `PatternTimedOut` only where it has to be made in steps."""
        match, size, group = self._match, len(text), self._group
        if self._stepping.worth_on(size):
            steps = self._stepping.on(text)

            def in_steps(start: int, end: int = size) -> ByteSpan | None:
                span = steps(start, end)[group]
                return span if span[0] >= 0 else None

            return in_steps
        unanchored = re2._Anchor.UNANCHORED

        def search(start: int, end: int = size) -> ByteSpan | None:
            span: ByteSpan = match(unanchored, text, start, end)[group]
            return span if span[0] >= 0 else None

        return search


class LiteralEngine:
    """RE2 up to the first match in a text, and from there on a byte search.

    RE2 looks through bytes up to ten times as fast, but each call of it takes 0.8 us more: a text that has one match is
    likely to have many. Nor does it take a long text: on one like it, each byte costs RE2 as much as the text is long.

    Args:
        literal: what is looked for, without a line end.
        first: RE2 with the same.
    """

    def __init__(self, literal: bytes, first: Engine) -> None:
        self._literal = literal
        self._first = first

    def on(self, text: bytes) -> Search:
        """Return the search of `text`."""
        literal, length, size, find = self._literal, len(self._literal), len(text), text.find
        first, met = self._first.on(text), length > _LONG_LITERAL

        def search(start: int, end: int = size) -> ByteSpan | None:
            nonlocal met
            if not met:
                span = first(start, end)
                met = span is not None
                return span
            at = find(literal, start, end)
            return None if at < 0 else (at, at + length)

        return search


class BacktrackingEngine:
    r"""The `regex` package over decoded text, for look-around, back-references, and `\b` beside letters RE2 ignores.

    Args:
        pattern: in `regex`'s dialect.
        seconds: time it may take on one text, all searches together.

    Raises:
        BadPattern: `regex` refuses it.
    """

    def __init__(self, pattern: str, *, seconds: float) -> None:
        try:
            self._program: Any = regex.compile(pattern, regex.VERSION0)
        except regex.error as refusal:
            raise BadPattern(f"The pattern cannot be compiled: {refusal.msg}.") from None
        except RecursionError:
            raise BadPattern("The pattern nests too deeply.", hint="Use fewer groups within groups.") from None
        self._seconds = seconds

    def on(self, text: bytes) -> Search:
        """Return the search of `text`.

        The search raises:
            PatternTimedOut: its time on this text is spent.
        """
        program, left = self._program, self._seconds
        decoded = text.decode("utf-8", "surrogateescape")
        size, one_byte_each = len(text), len(decoded) == len(text)
        known_byte = known_char = 0

        def search(start: int, end: int = size) -> ByteSpan | None:
            nonlocal left, known_byte, known_char
            first, last = start, end
            if not one_byte_each:
                known_char += _length(text[known_byte:start])
                known_byte, first = start, known_char
                last = len(decoded) if end == size else first + _length(text[start:end])
            before = perf_counter()
            try:
                # `regex` takes no timeout of zero
                found = program.search(decoded, first, last, timeout=max(left, 1e-3))
            except TimeoutError:
                raise PatternTimedOut(
                    f"the pattern took over {self._seconds:g} seconds on one file",
                    "Avoid repetitions within repetitions, look-around and back-references.",
                ) from None
            left -= perf_counter() - before
            if found is None:
                return None
            span: ByteSpan = found.span()
            if one_byte_each:
                return span
            byte = start + len(decoded[first : span[0]].encode("utf-8", "surrogateescape"))
            return byte, byte + len(found.group().encode("utf-8", "surrogateescape"))

        return search


def _length(text: bytes) -> int:
    return len(text.decode("utf-8", "surrogateescape"))


class LineEngine:
    r"""Looks again at each line that another engine names, and at nothing outside of it.

    For `\b` and `\B`: RE2's know no letters but ASCII's, so it serves ASCII text and lines, and `regex` the others; the
    lines are those that RE2 finds without the edges. For `\C`, which in RE2 may stand for a line feed.

    Args:
        candidates: finds a superset of the lines.
        exact: RE2 with the whole pattern.
        unicode: what looks at lines that are not ASCII; None when `exact` looks at all lines.
    """

    def __init__(self, candidates: Engine, exact: Engine, unicode: Engine | None = None) -> None:
        self._candidates = candidates
        self._exact = exact
        self._unicode = unicode

    def on(self, text: bytes) -> Search:
        """Return the search of `text`; it raises `PatternTimedOut` as `regex` does."""
        exact = self._exact.on(text)
        if self._unicode and text.isascii():
            return exact
        size, candidate = len(text), self._candidates.on(text)
        other = self._unicode.on(text) if self._unicode else exact

        def search(start: int, end: int = size) -> ByteSpan | None:
            while start <= end:
                maybe = candidate(start, end)
                if maybe is None:
                    return None
                line_start = text.rfind(b"\n", start, maybe[0]) + 1 or start
                line_end = text.find(b"\n", maybe[0], end)
                line_end = end if line_end < 0 else line_end
                found = (exact if text[line_start:line_end].isascii() else other)(line_start, line_end)
                if found:
                    return found
                start = line_end + 1
            return None

        return search


def refused(reason: str) -> BadPattern:
    """Return the error to raise for a pattern that RE2 refuses with `reason`."""
    if "too large" in reason or "repetition size" in reason:
        return BadPattern(
            "The pattern is too large once its repetitions are written out: its program would take over 64 MiB.",
            hint="Repeat fewer times, or use ASCII classes such as [a-z] instead of \\w and \\p.",
        )
    return BadPattern(f"The pattern cannot be compiled: {reason}.")
