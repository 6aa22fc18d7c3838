"""What the tests of finding share: documents of bytes, and texts with changes made in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linedex_server.edit.content.document import Document
from linedex_server.edit.find.locate import Wanted, place
from linedex_server.edit.find.tolerant import TolerantSearch, rewritten
from linedex_server.edit.find.verdicts import ChangesNotPlaced
from linedex_server.edit.splice import TextChange

Outline = Callable[[str], Sequence[tuple[int, int]]]


def document(text: str | bytes, *, held: int = 1 << 20, window: int = 1 << 20) -> Document:
    content = text.encode() if isinstance(text, str) else text
    return Document.detected(
        lambda offset, size: content[offset : offset + size], len(content), whole_bytes=held, window_bytes=window
    )


def changed(text: str, changes: Sequence[TextChange]) -> str:
    """Return `text` with changes made from its end to its beginning."""
    for change in sorted(changes, key=lambda one: (one.start, one.end), reverse=True):
        text = text[: change.start] + change.new + text[change.end :]
    return text


def tolerated(text: str, search: str, replace: str) -> str | None:
    """Return what tolerant finding makes of a text, None unless there is one place."""
    places = TolerantSearch(search).find(text, text.encode(), 9)
    return changed(text, rewritten(text, places[0], search, replace)) if len(places) == 1 else None


def edited(text: str, *wanted: Wanted, outline: Outline = lambda _: ()) -> str:
    """Return what a batch makes of a text that is held whole."""
    placed = place(document(text), wanted, outline, shown="f.py")
    return changed(text, [change for one in placed for _, changes in one.parts for change in changes])


def refusal(text: str | bytes, *wanted: Wanted, outline: Outline = lambda _: ()) -> str:
    """Return why a batch is refused, hint included."""
    try:
        place(document(text), wanted, outline, shown="f.py")
    except ChangesNotPlaced as refused:
        return f"{refused} {refused.hint}"
    raise AssertionError("it was placed")
