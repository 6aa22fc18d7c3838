"""Replacing what stands between two markers (replace_block).

Promise: markers are literal, and blocks are never guessed: a marker without its partner and a start marker inside a
block are refused. In mode `between` both markers survive, with the rest of their lines where they stand on two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from linedex.errors import BadArgument
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import Text
from linedex_server.edit.errors import NotPlaced, TooLarge
from linedex_server.edit.find.occurrences import Ground, Hits, Span, ground_of
from linedex_server.edit.plan.planned import Planned, demand_room
from linedex_server.edit.splice import TextChange

BETWEEN: Final = "between"
INCLUSIVE: Final = "inclusive"


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """What a call asks for.

    Attributes:
        start_marker: the text that begins a block.
        end_marker: the text that ends it.
        replacement: what to put there.
        occurrence: which block, counted from 1.
        mode: `between` keeps the markers, `inclusive` replaces them too.
    """

    start_marker: str
    end_marker: str
    replacement: str
    occurrence: int = 1
    mode: str = BETWEEN


def block(document: Document, request: BlockRequest) -> Planned:
    """Return what the replacement of a block changes.

    Raises:
        BadArgument: a marker is empty, or there is no such mode or number.
        NotPlaced: there are not so many blocks, or one before it is not closed or holds another start marker.
        TooLarge: the block is larger than is held, or there are too many markers.
        BinaryFile: the file holds no text.
    """
    if request.mode not in (BETWEEN, INCLUSIVE):
        raise BadArgument(f"`mode` cannot be {request.mode!r}.", f"It can be {BETWEEN} or {INCLUSIVE}.")
    if request.occurrence < 1:
        raise BadArgument(f"`occurrence` cannot be {request.occurrence}.", "Blocks are counted from 1.")
    document.demand_text()
    start, end = (
        _marker(document, name, text)
        for name, text in (("start_marker", request.start_marker), ("end_marker", request.end_marker))
    )
    new = document.argument("replacement", request.replacement)
    demand_room([len(new)])
    ground = ground_of(document)
    opening, closing = ground.exact([start, end])
    opens, closes = _wanted(ground, opening, closing, request.occurrence, alike=start == end)
    text, first, last = _in_text(document, ground, (opens, start), (closes, end))
    change = _change(text, first, last, new) if request.mode == BETWEEN else TextChange(first[0], last[1], new)
    return Planned(((text, (change,)),), 1, (ground.line_of(opens),))


def _marker(document: Document, name: str, text: str) -> str:
    if not text:
        raise BadArgument(f"`{name}` is empty.", "Give the text of the marker as it is in the file.")
    return document.argument(name, text)


def _wanted(ground: Ground, opening: Hits, closing: Hits, occurrence: int, *, alike: bool) -> tuple[Span, Span]:
    if opening.more or closing.more:
        raise TooLarge("The markers occur too often to be told apart.", "Give longer markers.")
    count = 0
    for count, found in enumerate(_blocks(ground, opening.spans, closing.spans, alike=alike), start=1):
        if count == occurrence:
            return found
    if not opening.spans:
        raise NotPlaced("Not edited: start_marker does not occur.", "Copy it from read_content.")
    blocks = "1 block" if count == 1 else f"{count:,} blocks"
    raise NotPlaced(
        f"Not edited: there is no block {occurrence:,}; the file has {blocks}.", "Give a smaller occurrence."
    )


def _blocks(
    ground: Ground, opening: Sequence[Span], closing: Sequence[Span], *, alike: bool
) -> Iterator[tuple[Span, Span]]:
    """Yield the blocks from left to right: a start marker, and the first end marker after it."""
    at = 0
    while (number := bisect_left(opening, (at, 0))) < len(opening):
        opens = opening[number]
        other = bisect_left(closing, (opens[1], 0))
        if other == len(closing):
            raise NotPlaced(
                f"Not edited: the start marker in line {ground.line_of(opens):,} has no end marker after it.",
                "Check the end marker, or give the occurrence of a block before it.",
            )
        closes = closing[other]
        inner = bisect_left(opening, (opens[1], 0))
        if not alike and inner < len(opening) and opening[inner][0] < closes[0]:
            raise NotPlaced(
                f"Not edited: the start marker in line {ground.line_of(opens):,} is followed by another in line "
                f"{ground.line_of(opening[inner]):,} before the end marker.",
                "Give markers that name one block, or use apply_text_edits.",
            )
        yield opens, closes
        at = closes[1]


def _in_text(
    document: Document, ground: Ground, opens: tuple[Span, str], closes: tuple[Span, str]
) -> tuple[Text, Span, Span]:
    """Return lines of the file that hold a block, and the code points of its markers in them."""
    first, last = (ground.occurrence(*one) for one in (opens, closes))
    if document.fits:
        return first.text, (first.start, first.end), (last.start, last.end)
    text = document.lines(first.text.first_line, last.text.first_line + last.text.lines - 1)
    shifts = [text.line_start(one.text.first_line) for one in (first, last)]
    return (
        text,
        (first.start + shifts[0], first.end + shifts[0]),
        (last.start + shifts[1], last.end + shifts[1]),
    )


def _change(text: Text, opens: Span, closes: Span, new: str) -> TextChange:
    # a line end in a marker belongs to the line that it ends
    upper, lower = text.line_at(opens[1] - 1), text.line_at(closes[0])
    if upper >= lower:
        return TextChange(opens[1], closes[0], new)
    if new and not new.endswith("\n"):
        new += "\n"
    return TextChange(text.line_start(upper + 1), text.line_start(lower), new)
