"""A line longer than a window, matched in overlapping parts.

Promise: a match shorter than the overlap is found; a match that a part's edge may have cut or made up (`^` or `$` hold
there by chance) is not believed, and when that leaves the line undecided it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linedex.answers import Hit, SearchRequest
from linedex.content.folding import lf_text
from linedex.content.lines import Reader
from linedex.limits import Limits
from linedex.model import LineNumber, TextFormat
from linedex.query import excerpt
from linedex.query.matcher import Matcher, compile_pattern
from linedex.query.stepping import ByteSpan
from linedex.query.windows import Window

if TYPE_CHECKING:
    from linedex.query.log_choice import ChosenLines


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line in parts.

    Attributes:
        number: its number.
        read: reads the file.
        first: its first part.
        rest: yields its other parts, up to the one that closes it, and then what follows the line.
        format: how the file spells text, its BOM left out.
        chosen: whether it is asked for by time and level, None when nothing is.
    """

    number: LineNumber
    read: Reader
    first: Window
    rest: Iterator[Window]
    format: TextFormat
    chosen: ChosenLines | None = None

    def parts(self) -> Iterator[Window]:
        """Yield all parts; what follows the line is left in `rest`."""
        part = self.first
        yield part
        while not part.closes:
            part = next(self.rest)
            yield part


def search_long_line(line: LongLine, request: SearchRequest, limits: Limits, note: Callable[[str], None]) -> Hit | None:
    """Return the hit of a long line, None when it has none; all its parts are used up.

    Args:
        line: the line.
        request: what is asked.
        limits: lengths, and how many matches are told.
        note: told when the line cannot be decided.
    """
    matcher = compile_pattern(replace(request, invert=False), limits)
    if matcher.multiline:
        note(f"line {line.number:,} is over {limits.window_bytes:,} bytes long: not searched for matches of many lines")
    found = _Found(limits)
    opening = b""
    columns = 0
    for part in line.parts():
        if matcher.multiline or found.enough:
            continue
        shown = lf_text(line.read(part.start, part.fresh - part.start), line.format)
        fresh = lf_text(line.read(part.fresh, part.end - part.fresh), line.format)
        if part.closes:
            fresh = fresh.removesuffix(b"\n")
        opening = opening or fresh[: limits.excerpt * 4]
        found.look(matcher, line, part, shown + fresh, columns - excerpt.length(shown))
        columns += excerpt.length(fresh)
    if found.hit is None and found.undecided:
        note(f"line {line.number:,} is over {limits.window_bytes:,} bytes long and could not be decided")
        return None
    if request.invert and not matcher.multiline:
        if found.hit is not None:
            return None
        return excerpt.make_hit(opening, (0, len(opening)), (0, 0), line.number, ((), ()), limits)._replace(cut=True)
    return found.hit


class _Found:
    """What the parts of a line gave so far.

    Attributes:
        hit: the line's first match and those behind it.
        undecided: whether a match was seen that no part holds whole.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._cut_column = 0
        self._barren = b""
        self.hit: Hit | None = None
        self.undecided = False

    @property
    def enough(self) -> bool:
        """Whether no more matches are wanted."""
        return self.hit is not None and len(self.hit.more) >= self._limits.line_matches

    def look(self, matcher: Matcher, line: LongLine, part: Window, text: bytes, columns_before: int) -> None:
        """Take the matches of the next part.

        Args:
            matcher: finds them.
            line: the line.
            part: the part.
            text: its text, without a line end.
            columns_before: code points of the line before it.
        """
        if self._cut_column and self._cut_column <= columns_before + 1:
            self.undecided = True  # what the part before had no end of begins before this one, or at its edge
        self._cut_column = 0
        inner = not (part.opens or part.closes)
        if inner and text == self._barren:
            return  # a hole is the same part over and over
        spans: list[ByteSpan] = []
        begin = self._told(text, columns_before)
        for start, end in _matches(matcher, text, begin, self._limits):
            if not part.closes and end >= len(text):
                self._cut_column = columns_before + excerpt.length(text[:start]) + 1
            elif start > 0 or part.opens:
                spans.append((start, end))
        self._barren = text if inner and begin is None and not spans and not self._cut_column else b""
        if spans and self.hit is None:
            first, *spans = spans
            made = excerpt.make_hit(
                *(text, (0, len(text)), first, line.number, ((), ()), self._limits), columns_before=columns_before
            )
            self.hit = made._replace(cut=True)
        if spans and self.hit is not None:
            self.hit = excerpt.with_more(
                *(self.hit, text, (0, len(text)), spans, self._limits), columns_before=columns_before
            )

    def _told(self, text: bytes, columns_before: int) -> int | None:
        """Return where in a part the matches told so far end, None if none of them reaches into it.

        The next match is the first from there on: one that a part finds from its own beginning may begin inside of
        one that the part before has told, and hide it.
        """
        if self.hit is None:
            return None
        last = self.hit.more[-1] if self.hit.more else self.hit
        end = last.end_column + (last.end_column == last.column) - 1 - columns_before
        return excerpt.offset(text, end) if end >= 0 else None


def _matches(matcher: Matcher, text: bytes, begin: int | None, limits: Limits) -> Iterator[ByteSpan]:
    # one more on each side, which a part's edge may have made up
    found = next(matcher.find(text, begin or 0, more=limits.line_matches + 2), None)
    if found is not None:
        yield found.match_start, found.match_end
        yield from found.more
