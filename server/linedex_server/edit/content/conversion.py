"""A file rewritten in another encoding, with other line ends, with or without BOM.

Promise: line ends are converted in the file's own bytes, so nothing else changes by it; an encoding is changed only if
every byte decodes and every character can be written, else the first that does not is named. A BOM alone is one splice,
in a file of any size; the other conversions hold the file, and refuse one that is too large for that.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from linedex.errors import BadArgument
from linedex.model import Newline
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.same_ends import common_end, common_start
from linedex_server.edit.content.text import UNDECODED, decoded, encoded, unit_of
from linedex_server.edit.errors import TooLarge, Unencodable
from linedex_server.edit.splice import Splice, applied

LINE_ENDS: Final = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
_ENDS: Final = {Newline.LF: "\n", Newline.CRLF: "\r\n", Newline.CR: "\r"}
MARKABLE: Final = frozenset({"utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "gb18030"})
"""Encodings that have a byte order mark."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be converted; None leaves it as it is.

    Attributes:
        encoding: a codec that writes no BOM.
        mark: whether there is to be a BOM.
        newline: LF, CRLF or CR for every line end.
    """

    encoding: str | None
    mark: bool | None
    newline: Newline | None


def demand_mark(encoding: str) -> bytes:
    """Return the byte order mark of an encoding.

    Raises:
        BadArgument: it has none.
    """
    if encoding not in MARKABLE:
        raise BadArgument(
            f"There is no byte order mark in {encoding}.",
            "Leave `bom` at preserve, or name utf-8, utf-16-le, utf-16-be, utf-32-le, utf-32-be or gb18030.",
        )
    return "\ufeff".encode(encoding)


def told(document: Document, wanted: Wanted) -> tuple[str, ...]:
    """Return what is done, as parts of a sentence: "converted line ends to LF"."""
    parts = []
    if _changes_encoding(document, wanted):
        parts.append(f"converted to {wanted.encoding}")
    if wanted.newline and document.format.newline not in (wanted.newline, Newline.NONE):
        parts.append(f"converted line ends to {wanted.newline.name}")
    if wanted.mark is not None and wanted.mark != bool(_present_mark(document)):
        parts.append("added a BOM" if wanted.mark else "removed the BOM")
    return tuple(parts)


def converted(document: Document, splices: Sequence[Splice], wanted: Wanted) -> tuple[Splice, ...]:
    """Return splices that make `splices`, which keep the style, and convert what is wanted.

    Raises:
        Unencodable: bytes do not decode, or a character is not in the new encoding.
        TooLarge: the file is larger than may be held and has to be rewritten.
        BadArgument: a BOM is wanted in an encoding that has none.
    """
    encoding = document.format.encoding
    present = _present_mark(document)
    marked = bool(present) if wanted.mark is None else wanted.mark
    rewritten = wanted.encoding is not None or (
        wanted.newline is not None and (document.format.newline is not wanted.newline or not document.format.newline)
    )
    if not rewritten:
        if marked == bool(present):
            return tuple(splices)
        mark = demand_mark(encoding) if marked else b""
        return (Splice(0, len(present), mark), *splices)
    if not document.fits:
        raise TooLarge(
            f"The file has {document.size:,} bytes; up to {document.whole_bytes:,} are converted.",
            "Leave `encoding` and `newline` at preserve.",
        )
    former = document.read(0, document.size)
    content = applied(former, splices)[len(present) :]
    if wanted.newline is not None:
        content = _with_line_ends(content, encoding, wanted.newline, single=document.format.newline is Newline.CR)
    if wanted.encoding is not None:
        content = _encoded_anew(content, encoding, wanted.encoding)
        encoding = wanted.encoding if _changes_encoding(document, wanted) else encoding
    if marked and (wanted.mark or encoding in MARKABLE):
        content = demand_mark(encoding) + content
    return _difference(former, content)


def _changes_encoding(document: Document, wanted: Wanted) -> bool:
    return (
        wanted.encoding is not None
        and codecs.lookup(wanted.encoding).name != codecs.lookup(document.format.encoding).name
    )


def _present_mark(document: Document) -> bytes:
    encoding = document.format.encoding
    if document.format.bom or encoding not in MARKABLE:
        return document.read(0, document.format.bom)
    # detection leaves the mark of GB18030 to the text
    mark = demand_mark(encoding)
    return mark if document.read(0, len(mark)) == mark else b""


def _with_line_ends(content: bytes, encoding: str, newline: Newline, *, single: bool) -> bytes:
    """Return content with every line end as `newline`; `single`: a lone CR is one, else LF and CRLF are."""
    target = _ENDS[newline]
    if unit_of(encoding) > 1:
        # bytes that do not decode come back as they are
        text = decoded(content, encoding)
        return encoded(_replaced(text, target, single=single), encoding)
    text = content.decode("latin-1")
    return _replaced(text, target, single=single).encode("latin-1")


def _replaced(text: str, target: str, *, single: bool) -> str:
    if single:
        return text.replace("\r", target)
    lines = text.replace("\r\n", "\n")
    own = lines.find("\r" if target == "\r" else "\r\n")
    if own >= 0 and target != "\r\n":
        raise Unencodable(
            f"Line {lines.count(chr(10), 0, own) + 1:,} holds a carriage return that would become a line end.",
            "Replace it first.",
        )
    return lines.replace("\n", target)


def _encoded_anew(content: bytes, old: str, new: str) -> bytes:
    text = decoded(content, old)
    if stray := UNDECODED.search(text):
        line = 1 + text.count("\n" if "\n" in text else "\r", 0, stray.start())
        raise Unencodable(
            f"Line {line:,} holds bytes that are not {old}, so the file cannot be written in {new}.",
            "Leave `encoding` at preserve: such bytes then stay as they are.",
        )
    if codecs.lookup(old).name == codecs.lookup(new).name:
        return content
    return encoded(text, new)


def _difference(former: bytes, content: bytes) -> tuple[Splice, ...]:
    """Return the one splice between two contents, none if they are equal."""
    if former == content:
        return ()
    start = common_start(former, content)
    old, new = former[start:], content[start:]
    end = common_end(old, new)
    return (Splice(start, len(former) - end, new[: len(new) - end]),)
