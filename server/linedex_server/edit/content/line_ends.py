"""How changed text is spelt in the file's bytes: which line ends its new lines get, and which bytes it leaves alone.

Promise: what is equal at the beginning and at the end of the old and the new text keeps its bytes. In a file of mixed
line ends the lines left over are paired by position: the first new line ends as the first old one did, and so on; lines
without a partner take the end that is most frequent in the file, and if none is, that of the nearest line above.
"""

from __future__ import annotations

from linedex.model import Newline
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.same_ends import common_end, common_start
from linedex_server.edit.content.text import Text, encoded, unit_of
from linedex_server.edit.errors import Unencodable
from linedex_server.edit.splice import Splice, TextChange


def spelt(document: Document, text: Text, change: TextChange) -> Splice | None:
    """Return the splice that makes one change; None if it changes nothing.

    Raises:
        Unencodable: a new character is not in the file's encoding, or the change would divide a code unit of UTF-16 or
            UTF-32.
    """
    start, end, new = _trimmed(text, change, mixed=document.format.newline is Newline.MIXED)
    if start == end and not new:
        return None
    # a character of two code points is replaced as a whole
    while text.divides(start):
        start -= 1
        new = text.text[start] + new
    while text.divides(end):
        new += text.text[end]
        end += 1
    line = text.line_at(start)
    written = encoded(_ended(document, text, start, end, new), document.format.encoding, line=line)
    splice = Splice(text.byte_at(start), text.byte_at(end), written)
    _demand_whole_units(document, splice, line)
    return splice


def _trimmed(text: Text, change: TextChange, *, mixed: bool) -> tuple[int, int, str]:
    """Return start, end and new text of a change without what stays the same at either end."""
    old, new = text.text[change.start : change.end], change.new
    same = common_start(old, new)
    start, old, new = change.start + same, old[same:], new[same:]
    same = common_end(old, new)
    if same and mixed and old.count("\n") != new.count("\n"):
        same = _whole_lines(old, new, same)
    return start, change.end - same, new[: len(new) - same]


def _whole_lines(old: str, new: str, same: int) -> int:
    """Return how much of a common end may stay where the lines before it are paired by position: whole lines only."""
    before_old, before_new = old[: len(old) - same], new[: len(new) - same]
    if before_old[-1:] in ("", "\n") and before_new[-1:] in ("", "\n"):
        return same
    first = old.find("\n", len(old) - same)
    return same if first < 0 else len(old) - first - 1


def _ended(document: Document, text: Text, start: int, end: int, new: str) -> str:
    r"""Return new text with the line ends that it gets in place of `\n`."""
    if "\n" not in new:
        return new
    if document.format.newline is not Newline.MIXED:
        return new.replace("\n", document.dominant)
    first = text.line_at(start)
    former = iter(range(first, text.line_at(end)))
    above = ""
    parts: list[str] = []
    for piece in new.split("\n")[:-1]:
        paired = next(former, None)
        if paired is not None:
            above = _end_of(text, paired)
        elif document.dominant:
            above = document.dominant
        elif not above:
            above = _end_above(document, text, first)
        parts += (piece, above)
    return "".join((*parts, new[new.rfind("\n") + 1 :]))


def _end_of(text: Text, line: int) -> str:
    return text.line_end_bytes(line).decode(text.format.encoding)


def _end_above(document: Document, text: Text, line: int) -> str:
    above = max(1, line - 1)
    return _end_of(text if above >= text.first_line else document.lines(above, above), above)


def _demand_whole_units(document: Document, splice: Splice, line: int) -> None:
    """Refuse to move what follows by a part of a code unit: all of it would become other text."""
    unit, base = unit_of(document.format.encoding), document.format.bom
    if (splice.start - base) % unit or (splice.end < document.size and (splice.end - base) % unit):
        raise Unencodable(
            f"The change at line {line:,} would divide a code unit of {document.format.encoding} that does not decode.",
            "Replace the whole run of such bytes.",
        )
