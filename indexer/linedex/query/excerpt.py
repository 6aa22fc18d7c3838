"""From a matching line of bytes to the hit that is shown: columns in code points, context, cut long lines."""

from __future__ import annotations

import re
from typing import Final

from linedex.answers import Hit
from linedex.limits import Limits
from linedex.model import Column, LineNumber

_LONE: Final = re.compile("[\udc80-\udcff]")
_LEAD: Final = 4
"""An excerpt begins so much of its length (a quarter) before the match."""


def decode(line: bytes) -> str:
    """Return a line as text in which each invalid byte is one U+FFFD, so that columns count it as one."""
    text = line.decode("utf-8", "surrogateescape")
    return text if line.isascii() else _LONE.sub("\ufffd", text)


def length(text: bytes) -> int:
    """Return the code points of UTF-8 `text`, each invalid byte counting as one."""
    return len(text) if text.isascii() else len(text.decode("utf-8", "surrogateescape"))


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
    columns_before: int = 0,
    similarity: float | None = None,
) -> Hit:
    """Return the hit of one matching line.

    Args:
        text: the buffer that was matched.
        line: start and end of the line in it, without its end.
        match: start and end of the first match in it.
        number: the line's number.
        context: the lines before and after it.
        limits: the excerpt's length.
        columns_before: code points of the line that stand before the buffer.
        similarity: of a near match, None for an exact one.
    """
    low, high = line
    start, end = match
    lead = length(text[low:start])
    column = Column(columns_before + lead + 1)
    end_column = Column(column + length(text[start:end]))
    before, after = context
    if high - low <= limits.excerpt and not columns_before:
        return Hit(number, column, end_column, decode(text[low:high]), Column(1), False, before, after, similarity)  # noqa: FBT003
    left = _character_start(text, max(low, start - limits.excerpt * 4))
    shown = decode(text[left : _character_start(text, min(high, start + limits.excerpt * 4))])
    at = length(text[left:start])
    first = max(0, min(at - limits.excerpt // _LEAD, len(shown) - limits.excerpt))
    piece = shown[first : first + limits.excerpt]
    text_column = Column(column - at + first)
    cut = columns_before > 0 or len(piece) < length(text[low:high])
    return Hit(number, column, end_column, piece, text_column, cut, before, after, similarity)


def _character_start(text: bytes, at: int) -> int:
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
