"""Writing a whole text over a file that is there (write_full_text, and the end of a write session).

Promise: lines that are the same before and after keep their bytes, line ends included; only the others are written. A
file that is too large to be compared is written as one piece, in its own style.
"""

from __future__ import annotations

from dataclasses import replace

from linedex_server.edit.content import style as styles
from linedex_server.edit.content.conversion import MARKABLE
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.line_diff import runs
from linedex_server.edit.content.same_ends import common_start
from linedex_server.edit.content.style import ADD, PRESERVE, REMOVE, Style
from linedex_server.edit.splice import Splice, TextChange

_STEP = 1 << 20


def splices(document: Document, content: str, style: Style) -> tuple[Splice, ...]:
    """Return the splices that make a file say `content`; none when it does.

    Args:
        document: the file, which holds text.
        content: all of its new text.
        style: what the caller wants of its form.

    Raises:
        Unencodable: a character is not in the encoding.
        BadArgument: a BOM is asked for in an encoding that has none, or the text holds half of a surrogate pair.
        BinaryFile: the file holds no text.
    """
    document.demand_text()
    text = document.argument("content", content)
    if not document.fits:
        return _replaced(document, text, style)
    old, new = _lines(document.whole.text), _lines(_settled(document, text, style))
    whole = document.whole
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    changes = [
        TextChange(starts[run.start], starts[run.end], "".join(new[run.new_start : run.new_end]))
        for run in runs(old, new)
        if not run.equal
    ]
    return styles.splices(document, [(whole, changes)], style)


def _settled(document: Document, text: str, style: Style) -> str:
    r"""Return a text that ends as the style has it, so that its last line is not taken for another than the file's."""
    wanted = style.final_newline
    if wanted == PRESERVE and document.size > document.format.bom:
        wanted = ADD if document.format.final_newline else REMOVE
    if wanted == ADD and text and not text.endswith("\n"):
        return text + "\n"
    return text.rstrip("\n") if wanted == REMOVE else text


def _lines(text: str) -> list[str]:
    r"""Return the lines of a text, each with its `\n`; the last may lack it."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _replaced(document: Document, text: str, style: Style) -> tuple[Splice, ...]:
    """Return the one splice that puts a text in place of all of a large file."""
    form = document.format
    encoding = form.encoding if style.encoding == PRESERVE else style.encoding
    marked = form.bom and encoding in MARKABLE
    end = {"\r\n": "crlf", "\r": "cr"}.get(document.dominant, "lf")
    wanted = replace(
        style,
        encoding=encoding,
        bom=(ADD if marked else REMOVE) if style.bom == PRESERVE else style.bom,
        newline=end if style.newline == PRESERVE else style.newline,
    )
    new = styles.encoded_new(_settled(document, text, style), wanted)
    start = _same(document, new)
    if start == len(new) == document.size:
        return ()
    return (Splice(start, document.size, new[start:]),)


def _same(document: Document, new: bytes) -> int:
    """Return how many bytes of the file's beginning are those of `new`."""
    at = 0
    while at < len(new):
        piece = document.read(at, min(_STEP, document.size - at)) if at < document.size else b""
        same = common_start(piece, new[at : at + _STEP])
        at += same
        if same < _STEP:
            return at
    return at
