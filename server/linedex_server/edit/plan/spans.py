"""Edits by offsets in the text (apply_text_spans).

Promise: offsets count the code points of the file's text before the call, a line end as one, the BOM not at all; new
text is taken as it is. A large file is read once, in windows, to find the lines that the offsets are in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linedex.errors import BadArgument
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import UNDECODED
from linedex_server.edit.errors import Conflict
from linedex_server.edit.plan.planned import (
    Item,
    Planned,
    demand_apart,
    demand_expected,
    demand_room,
    demand_some,
    planned,
    refuse,
)
from linedex_server.edit.splice import TextChange


@dataclass(frozen=True, slots=True)
class SpanEdit:
    """One item of a call.

    Attributes:
        start_offset: the first code point, 0-based.
        end_offset: the one after the last; `start_offset` inserts.
        new_text: what to put there.
        expected_old_text: what must stand there, or None; U+FFFD stands for a byte that does not decode.
    """

    start_offset: int
    end_offset: int
    new_text: str
    expected_old_text: str | None = None


@dataclass(frozen=True, slots=True)
class _Spot:
    """An offset as the line that it is in and how far in."""

    line: int
    column: int


def spans(document: Document, edits: Sequence[SpanEdit]) -> Planned:
    """Return what a batch of edits changes.

    Raises:
        BadArgument: there are none, offsets are not in the text, two spans overlap, or one covers bytes that do not
            decode and does not say what it expects.
        Conflict: an `expected_old_text` does not stand in its span.
        TooLarge: the lines of a span are larger than is held.
        BinaryFile: the file holds no text.
    """
    demand_some("spans", edits)
    document.demand_text()
    spots, length = _spots(document, sorted({at for edit in edits for at in (edit.start_offset, edit.end_offset)}))
    wrong = []
    for number, edit in enumerate(edits):
        if edit.end_offset < edit.start_offset:
            wrong.append(
                f"change {number}: end_offset {edit.end_offset:,} lies before start_offset {edit.start_offset:,}"
            )
        elif not 0 <= edit.start_offset <= edit.end_offset <= length:
            wrong.append(f"change {number}: offsets {edit.start_offset:,} to {edit.end_offset:,} reach beyond it")
    if wrong:
        hint = "Offsets count code points of the text from 0, a line end as one; the end is excluded."
        refuse(BadArgument, [*wrong, f"the text has {length:,} characters"], hint)
    items = [_item(document, edit, number, spots) for number, edit in enumerate(edits)]
    demand_apart(items)
    demand_expected(items, Conflict)
    blind = [
        f"change {item.index}: {item.where} holds bytes that do not decode"
        for item in items
        if item.expected is None and UNDECODED.search(item.old)
    ]
    if blind:
        refuse(BadArgument, blind, "Give expected_old_text, with U+FFFD for each of them, to replace them knowingly.")
    demand_room(len(item.change.new) for item in items)
    return planned(items)


def _spots(document: Document, offsets: Sequence[int]) -> tuple[dict[int, _Spot], int]:
    """Return the lines of offsets, which ascend, and the length of the text; those outside of it are left out."""
    spots: dict[int, _Spot] = {}
    passed = 0
    for text in [document.whole] if document.fits else document.windows():
        length = len(text.text)
        # an offset at the end of a window is told again by the next one, which begins there
        for offset in offsets:
            if passed <= offset <= passed + length:
                line = text.line_at(offset - passed)
                spots[offset] = _Spot(line, offset - passed - text.line_start(line))
        passed += length
    return spots, passed


def _item(document: Document, edit: SpanEdit, number: int, spots: dict[int, _Spot]) -> Item:
    first, last = spots[edit.start_offset], spots[edit.end_offset]
    if document.fits:
        text = document.whole
    else:
        total = document.total_lines
        text = document.lines(min(first.line, total), min(last.line, total))
    start, end = (text.line_start(spot.line) + spot.column for spot in (first, last))
    expected = edit.expected_old_text
    return Item(
        number,
        edit.start_offset,
        edit.end_offset,
        text,
        TextChange(start, end, document.argument("new_text", edit.new_text)),
        None if expected is None else document.argument("expected_old_text", expected),
    )
