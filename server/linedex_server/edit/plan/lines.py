"""Edits by line numbers (apply_text_edits).

Promise: numbers are those of the file before the call; new text is lines, with or without a line end at its end. In a
large file only the lines that change are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linedex.errors import BadArgument
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import Text
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
class LineEdit:
    """One item of a call.

    Attributes:
        start_line: the first line, 1-based.
        new_text: the lines to put there, "" for none.
        end_line: the last line, included; None is `start_line`, `start_line - 1` inserts before it.
        expected_old_text: what must stand there, or None.
    """

    start_line: int
    new_text: str
    end_line: int | None = None
    expected_old_text: str | None = None

    @property
    def last(self) -> int:
        """The last line."""
        return self.start_line if self.end_line is None else self.end_line


def lines(document: Document, edits: Sequence[LineEdit]) -> Planned:
    """Return what a batch of edits changes.

    Raises:
        BadArgument: there are none, a range is not in the file, or two overlap.
        Conflict: an `expected_old_text` does not stand in its range.
        TooLarge: a range is larger than is held.
        BinaryFile: the file holds no text.
    """
    demand_some("edits", edits)
    document.demand_text()
    total = document.total_lines
    _demand_ranges(edits, total)
    appended = [number for number, edit in enumerate(edits) if edit.start_line > total and edit.new_text]
    items = [_item(document, edits, number, appended) for number in range(len(edits))]
    demand_apart(items)
    demand_expected(items, Conflict)
    demand_room(len(item.change.new) for item in items)
    # what is appended to a last line without an end begins on that line, and is still the next one to its caller
    return replace(planned(items), lines=tuple(sorted(edit.start_line for edit in edits)))


def _demand_ranges(edits: Sequence[LineEdit], total: int) -> None:
    wrong = []
    for number, edit in enumerate(edits):
        if not 1 <= edit.start_line <= total + 1:
            wrong.append(f"change {number}: there is no line {edit.start_line:,}")
        elif edit.last < edit.start_line - 1:
            wrong.append(f"change {number}: end_line {edit.last:,} lies before start_line {edit.start_line:,}")
        elif edit.last > total:
            wrong.append(f"change {number}: there is no line {edit.last:,}")
    if wrong:
        refuse(
            BadArgument,
            [*wrong, f"the file has {total:,} line{'' if total == 1 else 's'}"],
            f"start_line={total + 1}, end_line={total} appends; end_line = start_line - 1 inserts before start_line.",
        )


def _item(document: Document, edits: Sequence[LineEdit], number: int, appended: Sequence[int]) -> Item:
    edit, total = edits[number], document.total_lines
    first, last = edit.start_line, edit.last
    text = _text(document, first, last)
    start = text.line_start(first)
    end = text.line_start(last + 1) if last >= first else start
    new = document.argument("new_text", edit.new_text)
    if new:
        # an end is supplied where a line follows, be it another's
        follows = last < total or any(other > number or first <= total for other in appended)
        if follows and not new.endswith("\n"):
            new += "\n"
        if first > total and number == appended[0] and text.text and not text.text.endswith("\n"):
            replaced = any(other.start_line <= total <= other.last for other in edits)
            new = new if replaced else "\n" + new
    expected = edit.expected_old_text
    return Item(
        number,
        first,
        last + 1,
        text,
        TextChange(start, end, new),
        None if expected is None else document.argument("expected_old_text", expected),
    )


def _text(document: Document, first: int, last: int) -> Text:
    """Return the lines of a range; for an insertion the line that it stands before or, at the end, behind."""
    total = document.total_lines
    if document.fits or not total:
        return document.whole
    return document.lines(min(first, total), max(min(first, total), last))
