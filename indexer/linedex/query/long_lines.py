"""A line longer than a window, matched in overlapping parts.

Promise: a match shorter than the overlap is found; a match that a part's edge may have cut or made up (`^` or `$` hold
there by chance) is not believed, and when that leaves the line undecided it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from linedex.answers import Hit, SearchRequest
from linedex.content.folding import lf_text
from linedex.content.lines import Reader
from linedex.limits import Limits
from linedex.model import LineNumber, TextFormat
from linedex.query import excerpt
from linedex.query.matcher import LineMatch, Matcher, compile_pattern
from linedex.query.windows import Window

_TRIES = 16
"""How often a part is searched on behind a match that its edge may have made up."""


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line in parts.

    Attributes:
        number: its number.
        read: reads the file.
        first: its first part.
        rest: yields its other parts, up to the one that closes it, and then what follows the line.
        format: how the file spells text, its BOM left out.
    """

    number: LineNumber
    read: Reader
    first: Window
    rest: Iterator[Window]
    format: TextFormat

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
        limits: the excerpt's length.
        note: told when the line cannot be decided.
    """
    matcher = compile_pattern(replace(request, invert=False), limits)
    if matcher.multiline:
        note(f"line {line.number:,} is over {limits.window_bytes:,} bytes long: not searched for matches of many lines")
    hit: Hit | None = None
    opening = b""
    columns = 0
    undecided = False
    for part in line.parts():
        if hit is not None or matcher.multiline:
            continue
        shown = lf_text(line.read(part.start, part.fresh - part.start), line.format)
        fresh = lf_text(line.read(part.fresh, part.end - part.fresh), line.format)
        text = shown + fresh
        opening = opening or text[: limits.excerpt * 4]
        columns_before = columns - excerpt.length(shown)
        columns += excerpt.length(fresh)
        match, doubtful = _believable(matcher, text, part)
        undecided = undecided or doubtful
        if match is not None:
            span = (match.match_start, match.match_end)
            hit = excerpt.make_hit(
                *(text, (0, len(text)), span, line.number, ((), ()), limits), columns_before=columns_before
            )
            hit = replace(hit, cut=True)
    if hit is None and undecided:
        note(f"line {line.number:,} is over {limits.window_bytes:,} bytes long and could not be decided")
        return None
    if request.invert and not matcher.multiline:
        if hit is not None:
            return None
        return replace(excerpt.make_hit(opening, (0, len(opening)), (0, 0), line.number, ((), ()), limits), cut=True)
    return hit


def _believable(matcher: Matcher, text: bytes, part: Window) -> tuple[LineMatch | None, bool]:
    """Return the first match that no edge of the part explains, and whether one was left undecided."""
    offset, opens = 0, part.opens
    for _ in range(_TRIES):
        body = text[offset:]
        found = next(matcher.find(body), None)
        if found is None:
            return None, False
        start, end = found.match_start + offset, found.match_end + offset
        if not part.closes and end >= len(text):
            # the next part has it whole, unless it is longer than the overlap
            return None, start < len(text) - (len(text) // 4)
        if found.match_start > 0 or opens:
            return LineMatch(0, len(text), start, end), False
        offset, opens = max(end, offset + 1), False
    return None, True
