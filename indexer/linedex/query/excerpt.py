"""From a matching line of bytes to the hit that is shown: columns in code points, context, cut long lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from linedex.answers import Hit, Occurrence
from linedex.limits import Limits
from linedex.model import Column, LineNumber

_LONE: Final = re.compile("[\udc80-\udcff]")
_LEAD: Final = 4
"""An excerpt begins so much of its length (a quarter) before the match."""
_FIRST: Final = Column(1)
_LINES: Final = 4
"""A match of several lines is shown up to the length of so many excerpts."""


def decode(line: bytes) -> str:
    """Return a line as text in which each invalid byte is one U+FFFD, so that columns count it as one."""
    text = line.decode("utf-8", "surrogateescape")
    return text if line.isascii() else _LONE.sub("\ufffd", text)


def length(text: bytes) -> int:
    """Return the code points of UTF-8 `text`, each invalid byte counting as one."""
    return len(text) if text.isascii() else len(text.decode("utf-8", "surrogateescape"))


def offset(text: bytes, points: int) -> int:
    """Return the bytes that the first `points` code points of UTF-8 `text` take, counted as `length` does."""
    head = text[: 4 * points]
    if head.isascii():
        return min(points, len(text))
    return len(head.decode("utf-8", "surrogateescape")[:points].encode("utf-8", "surrogateescape"))


def shorten(line: bytes, limits: Limits) -> str:
    """Return a line of context as text, cut at the excerpt limit and then marked with an ellipsis."""
    if len(line) <= limits.excerpt:
        return decode(line)
    text = decode(line[: limits.excerpt * 4])
    whole = len(text) <= limits.excerpt and len(line) <= limits.excerpt * 4
    return text if whole else text[: limits.excerpt] + "…"


def make_hit(
    text: bytes,
    line: tuple[int, int],
    match: tuple[int, int],
    number: LineNumber,
    context: tuple[tuple[str, ...], tuple[str, ...]],
    limits: Limits,
    *,
    more: Sequence[tuple[int, int]] = (),
    columns_before: int = 0,
    similarity: float | None = None,
) -> Hit:
    """Return the hit of one matching line, or of the lines of one match.

    Args:
        text: the buffer that was matched.
        line: start and end of the line in it, without its end.
        match: start and end of the first match in it.
        number: the line's number.
        context: the lines before and after it.
        limits: the excerpt's length.
        more: starts and ends of further matches in it.
        columns_before: code points of the line that stand before the buffer.
        similarity: of a near match, None for an exact one.
    """
    low, high = line
    start, end = match
    if high - low <= limits.excerpt and not columns_before and not more and (whole := text[low:high]).isascii():
        # most hits are such: each byte is a column
        column, end_column = Column(start - low + 1), Column(end - low + 1)
        shown, count = whole.decode("ascii"), whole.count(b"\n") + 1
        return Hit(number, column, end_column, shown, _FIRST, False, *context, similarity, "", count)  # noqa: FBT003
    lead = length(text[low:start])
    column = Column(columns_before + lead + 1)
    end_column = Column(column + length(text[start:end]))
    text_column, cut = Column(1), False
    lines = 1 + text.count(b"\n", low, high)
    most = limits.excerpt * min(lines, _LINES)
    if high - low <= most and not columns_before:
        piece = decode(text[low:high])
    else:
        piece, text_column = part_around(text, line, (start, column), most)
        cut = columns_before > 0 or len(piece) < length(text[low:high])
    before, after = context
    hit = Hit(number, column, end_column, piece, text_column, cut, before, after, similarity, lines=lines)
    return with_more(hit, text, line, more, limits, columns_before=columns_before) if more else hit


def with_more(
    hit: Hit,
    text: bytes,
    line: tuple[int, int],
    spans: Sequence[tuple[int, int]],
    limits: Limits,
    *,
    columns_before: int = 0,
) -> Hit:
    """Return a hit with further matches of its line, which stand in `text`, and the parts of the line around them.

    Args:
        hit: the hit so far.
        text: the buffer that was matched.
        line: start and end of the line in it.
        spans: starts and ends of the matches.
        limits: how many matches are told, how many parts shown, and how long a part is.
        columns_before: code points of the line that stand before the buffer.
    """
    shown = [(hit.text_column, hit.text_column + len(hit.text))]
    shown += [(one.text_column, one.text_column + len(one.text)) for one in hit.more if one.text]
    more = list(hit.more)
    at, column = line[0], columns_before + 1
    for start, end in spans[: limits.line_matches - len(more)]:
        column += length(text[at:start])
        end_column = column + length(text[start:end])
        piece, text_column = "", Column(1)
        is_shown = any(low <= column and end_column <= high for low, high in shown)
        if hit.cut and not is_shown and len(shown) <= limits.line_parts:
            piece, text_column = part_around(text, line, (start, Column(column)), min(limits.part, limits.excerpt))
            shown.append((text_column, text_column + len(piece)))
        more.append(Occurrence(Column(column), Column(end_column), piece, text_column))
        at, column = end, end_column
    return hit._replace(more=tuple(more))


def part_around(text: bytes, line: tuple[int, int], match: tuple[int, Column], most: int) -> tuple[str, Column]:
    """Return the part of a line around a match, and the column at which it begins.

    Args:
        text: the buffer.
        line: start and end of the line in it.
        match: start of the match in it, and its column.
        most: code points of the part.
    """
    low, high = line
    start, column = match
    # a line may begin with an invalid byte that looks like the inside of a character
    left = low if start - most * 4 <= low else character_start(text, start - most * 4)
    shown = decode(text[left : character_start(text, min(high, start + most * 4))])
    at = length(text[left:start])
    first = max(0, min(at - most // _LEAD, len(shown) - most))
    piece = shown[first : first + most]
    # the hole that a truncated log begins with says nothing
    hole = min(len(piece) - len(piece.lstrip("\0")), at - first)
    return piece[hole:], Column(column - at + first + hole)


def character_start(text: bytes, at: int) -> int:
    """Return the next offset from `at` on that is not inside a character."""
    for ahead in range(4):
        if at + ahead >= len(text) or text[at + ahead] & 0xC0 != 0x80:
            return at + ahead
    return at


def context_before(text: bytes, start: int, count: int, limits: Limits, floor: int = 0) -> tuple[str, ...]:
    """Return up to `count` lines that stand before offset `start`, a line's start, nearest last."""
    lines: list[str] = []
    end = start - 1
    while len(lines) < count and end >= floor:
        begin = text.rfind(b"\n", floor, end) + 1 or floor
        lines.append(shorten(text[begin:end], limits))
        end = begin - 1
    return tuple(reversed(lines))


def context_after(text: bytes, end: int, count: int, limits: Limits) -> tuple[str, ...]:
    """Return up to `count` lines that stand after offset `end`, a line's end, nearest first."""
    lines: list[str] = []
    begin = end + 1
    while len(lines) < count and begin < len(text):
        stop = text.find(b"\n", begin)
        stop = len(text) if stop < 0 else stop
        lines.append(shorten(text[begin:stop], limits))
        begin = stop + 1
    return tuple(lines)
