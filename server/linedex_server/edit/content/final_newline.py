"""Whether a file ends with a line end after an edit: the edit's last change is made to say so.

Promise: what is added or taken away is at the very end of the file. Nothing is added to an empty file; where no line
end shall be, all that would stand at the end go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import Text
from linedex_server.edit.splice import TextChange

Edits = list[tuple[Text, list[TextChange]]]
"""Texts of one document that do not overlap, in order, with their changes, in order."""


def in_order(document: Document, edits: Iterable[tuple[Text, Sequence[TextChange]]]) -> Edits:
    """Return edits by their place, those of lines in common as one; insertions at one place stay in the order given."""
    given = ((text, list(changes)) for text, changes in edits if changes)
    own = given if document.fits else (_own_lines(text, changes) for text, changes in given)
    found: Edits = []
    for text, changes in sorted(own, key=lambda edit: (edit[0].start, edit[0].end)):
        if found and text.start < found[-1][0].end:
            before, others = found[-1]
            if text.end > before.end:
                # it begins where the one before begins
                before = document.lines(before.first_line, text.first_line + text.lines - 1)
                found[-1] = (before, others)
            others += _moved(changes, before.line_start(text.first_line))
        else:
            found.append((text, changes))
    return [(text, sorted(changes, key=lambda one: (one.start, one.end))) for text, changes in found]


def _own_lines(text: Text, changes: list[TextChange]) -> tuple[Text, list[TextChange]]:
    """Return changes with the lines that they touch only."""
    last = text.first_line + text.lines - 1
    first = min(last, text.line_at(min(one.start for one in changes)))
    end = min(last, text.line_at(max(max(one.start, one.end - 1) for one in changes)))
    return text.part(first, end), _moved(changes, -text.line_start(first))


def reaches_end(document: Document, edits: Edits) -> bool:
    """Tell whether edits touch the end of the file."""
    if not edits:
        return False
    text, changes = edits[-1]
    return text.end >= document.size and changes[-1].end == len(text.text)


def ended(document: Document, edits: Edits) -> Edits:
    """Return edits after which the file, unless it is empty then, ends with a line end."""
    text, changes = _last(document, edits)
    if _ending(text, changes) in ("", "\n"):
        return edits
    size = len(text.text)
    if changes and changes[-1].end == size:
        last = changes[-1]
        return [*edits[:-1], (text, [*changes[:-1], TextChange(last.start, size, last.new + "\n")])]
    others = edits[:-1] if changes else edits
    return [*others, (text, [*changes, TextChange(size, size, "\n")])]


def unended(document: Document, edits: Edits) -> Edits:
    """Return edits after which the file ends without a line end."""
    text, changes = _last(document, edits)
    others = edits[:-1] if changes else edits
    while (cut := _cut(text, changes)) is None:
        # nothing but line ends is left of this text, so those before it go as well
        text, changes, others = _longer(document, text, changes, others)
    return [*others, (text, cut)] if cut else others


def _last(document: Document, edits: Edits) -> tuple[Text, list[TextChange]]:
    """Return the text that ends the file, with its changes."""
    if edits and edits[-1][0].end >= document.size:
        return edits[-1]
    total = document.total_lines
    if document.fits or not total:
        return document.whole, []
    return document.lines(total, total), []


def _longer(
    document: Document, text: Text, changes: list[TextChange], others: Edits
) -> tuple[Text, list[TextChange], Edits]:
    """Return the last text with some lines more in front of it, its changes, and the edits that are left before it."""
    first = max(1, text.first_line - text.lines)
    within = [edit for edit in others if edit[0].first_line + edit[0].lines > first]
    if within:
        first = min(first, within[0][0].first_line)
    longer = document.lines(first, text.first_line + text.lines - 1)
    joined = [
        change for part, own in [*within, (text, changes)] for change in _moved(own, longer.line_start(part.first_line))
    ]
    return longer, joined, others[: len(others) - len(within)]


def _cut(text: Text, changes: list[TextChange]) -> list[TextChange] | None:
    """Return changes that leave no line end at the end of `text`; None when nothing before it may decide that."""
    size = end = len(text.text)
    for at in range(len(changes) - 1, -1, -1):
        change = changes[at]
        kept = text.text[change.end : end].rstrip("\n")
        if kept:
            return [*changes[: at + 1], *_deletion(change.end + len(kept), size)]
        if new := change.new.rstrip("\n"):
            return [*changes[:at], TextChange(change.start, size, new)]
        end = change.start
    kept = text.text[:end].rstrip("\n")
    if not kept and text.first_line > 1:
        return None
    return _deletion(len(kept), size)


def _moved(changes: Iterable[TextChange], by: int) -> list[TextChange]:
    if not by:
        return list(changes)
    return [replace(change, start=change.start + by, end=change.end + by) for change in changes]


def _deletion(start: int, end: int) -> list[TextChange]:
    return [TextChange(start, end, "")] if start < end else []


def _ending(text: Text, changes: list[TextChange]) -> str:
    """Return the last code point of `text` with its changes, "" when nothing is left of it."""
    end = len(text.text)
    for change in reversed(changes):
        if change.end < end:
            break
        if change.new:
            return change.new[-1]
        end = change.start
    return text.text[end - 1 : end] if end else ""
