"""Lines around a piece of text: the first place that has it, else one that has it in another case, else the nearest.

Promise: a literal that is in the file is found wherever it stands and shown even in a very long line. Likeness is only
asked when the file does not hold the text in any case, within a time, and is said in `note`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from linedex.answers import Hit, ReadAnswer, SearchRequest
from linedex.content.folding import lf_text
from linedex.content.lines import LF, count_byte
from linedex.errors import NotFound
from linedex.files.names import display
from linedex.model import ByteOffset, LineNumber
from linedex.query.excerpt import make_hit
from linedex.query.matcher import Matcher, compile_pattern
from linedex.query.near import near
from linedex.query.read import demand_positive, stretch
from linedex.query.source import Source
from linedex.query.windows import Stretch, Window, windows

_BEFORE: Final = 5
"""Lines shown before the one that was found."""
_LEAST_LIKENESS: Final = 0.8
"""Similarity under which a line is not worth showing; what largefile takes."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A window of a file as text whose lines end at LF; `own` is how much of it is not lent by the next window."""

    window: Window
    text: bytes
    own: int


def around(source: Source, pattern: str, count: int) -> ReadAnswer:
    """Return `count` lines that begin up to five lines before the first one that holds `pattern`.

    Args:
        source: the file.
        pattern: a literal, which may span lines.
        count: how many lines, at least 1; the line found is always among them.

    Raises:
        BadPattern: `pattern` is empty or too long.
        BadArgument: `count` is under 1.
        NotFound: nothing in the file is like it.
        BinaryFile: the file holds no text.
        ChangedWhileRead: it was rewritten each time it was read.
    """
    demand_positive("count", count)
    request = SearchRequest(pattern.replace("\r\n", "\n"), case_sensitive=True)
    exact = compile_pattern(request, source.limits)
    other_case = compile_pattern(replace(request, case_sensitive=False), source.limits)

    def answer() -> ReadAnswer:
        source.demand_text()
        hit = _first(source, exact, request.pattern)
        if hit is not None:
            return _window(source, hit, count, "")
        hit = _first(source, other_case, request.pattern)
        if hit is not None:
            return _window(source, hit, count, "found in another case")
        hit, note = _nearest(source, pattern)
        if hit is not None:
            return _window(source, hit, count, note)
        raise NotFound(
            f"`{display(source.path)}` holds nothing like {pattern!r}.",
            f"{note}Search the folder for a part of it, or read the file from a line number.",
        )

    return source.steadily(answer)


def _window(source: Source, hit: Hit, count: int, note: str) -> ReadAnswer:
    first = max(1, hit.line - min(_BEFORE, count - 1))
    shown = stretch(source, first, count, match=hit.line, note=note)
    if hit.line - first >= len(shown.lines):
        first = hit.line  # the lines before it have filled the page
        shown = stretch(source, first, count, match=hit.line, note=note)
    at = hit.line - first
    if hit.end_column - 1 <= source.limits.line_characters:
        return shown
    place = f"line {hit.line:,} is shown around the match, from column {hit.text_column:,}"
    return replace(
        shown,
        lines=(*shown.lines[:at], hit.text, *shown.lines[at + 1 :]),
        note=f"{note}; {place}" if note else place,
    )


def _first(source: Source, matcher: Matcher, pattern: str) -> Hit | None:
    # a literal that spans lines may begin in one window and end in the next
    ahead = len(pattern) * 4 if "\n" in pattern else 0
    for piece in _pieces(source, ahead):
        hit = next(matcher.find(piece.text), None)
        if hit is not None and hit.match_start < piece.own:
            return _hit(source, piece, (hit.line_start, hit.line_end), (hit.match_start, hit.match_end))
    return None


def _nearest(source: Source, pattern: str) -> tuple[Hit | None, str]:
    """Return the line most like `pattern`, the first of equals, and a sentence on how it was found."""
    best: Hit | None = None
    likeness = _LEAST_LIKENESS
    deadline = time.monotonic() + source.limits.pattern_seconds
    late = ""
    for piece in _pieces(source, 0):
        left = deadline - time.monotonic()
        if left <= 0:
            late = "Not all of the file was compared: time ran out. "
            break
        for match in near(piece.text, pattern, likeness, seconds=left):
            if best is None or match.similarity > likeness:
                line, span = (match.line_start, match.line_end), (match.match_start, match.match_end)
                best, likeness = _hit(source, piece, line, span), match.similarity
    if best is None:
        return None, late
    return best, f"{late}nothing holds the text; line {best.line:,} is the nearest, {likeness:.0%} like it"


def _pieces(source: Source, ahead: int) -> Iterator[_Piece]:
    spelling = replace(source.format, bom=0)
    whole = Stretch(source.format.bom, source.size, 1)
    for window in windows(source.read, whole, source.line_ends, source.limits):
        size = window.end - window.start
        raw = source.read(window.start, size + ahead)
        text = lf_text(raw, spelling)
        yield _Piece(window, text, len(lf_text(raw[:size], spelling)) if ahead else len(text))


def _hit(source: Source, piece: _Piece, line: tuple[int, int], match: tuple[int, int]) -> Hit:
    """Return the match of a piece as a hit, its text up to the length of a line that is read."""
    block = source.lines.index.at(ByteOffset(piece.window.start))
    before = source.read(block.start, piece.window.start - block.start)
    number = block.first_line + source.line_ends.count(before) + count_byte(piece.text, LF, 0, match[0])
    # of a match that spans lines, the first is shown
    first_line_end = piece.text.find(b"\n", match[0], line[1])
    if first_line_end >= 0:
        line, match = (line[0], first_line_end), (match[0], min(match[1], first_line_end))
    limits = replace(source.limits, excerpt=source.limits.line_characters)
    return make_hit(piece.text, line, match, LineNumber(number), ((), ()), limits)
