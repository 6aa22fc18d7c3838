"""A text too large to be held, turned into the bytes of a file: chunk by chunk into a file of ours, then spliced in.

Promise: the bytes are those that `style.encoded_new` gives for the whole text; memory is that of one chunk, however
long the text. A line end that two chunks share counts once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

from linedex_server.edit.content import conversion
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.style import ADD, PRESERVE, REMOVE, Style
from linedex_server.edit.content.text import argument, encoded
from linedex_server.edit.errors import WriteFailed
from linedex_server.edit.splice import Splice

PIECE_BYTES: Final = 4 << 20
"""How much of the bytes one splice brings."""


class StoredSplice(Splice):
    """A splice whose new bytes are read from a file of our own whenever they are asked for."""

    __slots__ = ("_offset", "_path", "_size")

    _offset: int
    _path: Path
    _size: int

    def __init__(self, start: int, end: int, path: Path, offset: int, size: int) -> None:
        """Replace the bytes from `start` to `end` (exclusive) by `size` bytes of `path` from `offset`."""
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_offset", offset)
        object.__setattr__(self, "_size", size)

    @property
    def new(self) -> bytes:  # a slot there, read on demand here
        """The new bytes."""
        with self._path.open("rb") as file:
            return os.pread(file.fileno(), self._size, self._offset)

    @property
    def delta(self) -> int:
        """How many bytes longer the file becomes; nothing is read for it."""
        return self._size - (self.end - self.start)


@dataclass(frozen=True, slots=True)
class LargeText:
    """A text that is not held.

    Attributes:
        chunks: gives it piece by piece, from its beginning each time.
        path: where its bytes are put; a file of our own.
    """

    chunks: Callable[[], Iterable[str]]
    path: Path

    def splices(self, style: Style, end: int) -> tuple[Splice, ...]:
        """Return the splices that put the text in place of the first `end` bytes of a file.

        Raises:
            Unencodable, BadArgument: as `write`.
            WriteFailed: the state folder does not take the bytes.
        """
        try:
            with open(self.path, "wb", opener=_private) as out:
                write(self.chunks(), style, out)
        except OSError as error:
            raise WriteFailed(
                f"The state folder did not take the text: {error.strerror}.", "Make room or mend its permissions."
            ) from error
        return stored(self.path, end)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def stored(path: Path, end: int, piece_bytes: int = PIECE_BYTES) -> tuple[Splice, ...]:
    """Return the splices that put all bytes of a file of our own in place of the first `end` bytes of another.

    Args:
        path: the file; it must stay until the splices are made.
        end: how many bytes give way.
        piece_bytes: how much one splice brings.
    """
    size = path.stat().st_size
    return tuple(
        # what gives way goes with the first
        StoredSplice(end if offset else 0, end, path, offset, min(piece_bytes, size - offset))
        for offset in range(0, size, piece_bytes)
    ) or (Splice(0, end, b""),)


def styled_as(document: Document, style: Style) -> Style:
    """Return a style in which what `style` preserves is said by name, as a file has it."""
    form = document.format
    end = {"\r\n": "crlf", "\r": "cr"}.get(document.dominant, "lf")
    kept = PRESERVE
    if document.size > form.bom:
        kept = ADD if form.final_newline else REMOVE
    return replace(
        style,
        encoding=form.encoding if style.encoding == PRESERVE else style.encoding,
        bom=(ADD if form.bom else REMOVE) if style.bom == PRESERVE else style.bom,
        newline=end if style.newline == PRESERVE else style.newline,
        final_newline=kept if style.final_newline == PRESERVE else style.final_newline,
    )


def write(chunks: Iterable[str], style: Style, out: BinaryIO) -> None:
    """Write the bytes of a text.

    Args:
        chunks: the text, in pieces.
        style: as `style.encoded_new` takes it: what it preserves is UTF-8, no BOM and LF, and ends as given.
        out: where they go.

    Raises:
        Unencodable: a character is not in the encoding; its line is named.
        BadArgument: a BOM is asked for in an encoding that has none.
        OSError: they cannot be written.
    """
    encoding = "utf-8" if style.encoding == PRESERVE else style.encoding
    line_end = conversion.LINE_ENDS.get(style.newline, "\n")
    if style.bom == ADD:
        out.write(conversion.demand_mark(encoding))
    line, last = 1, ""
    for piece in _settled(chunks, style):
        out.write(encoded(piece.replace("\n", line_end), encoding, line=line))
        line += piece.count("\n")
        last = piece[-1]
    if style.final_newline == ADD and last not in ("", "\n"):
        out.write(encoded(line_end, encoding))


def _settled(chunks: Iterable[str], style: Style) -> Iterator[str]:
    r"""Yield the text in non-empty pieces, with `\n` for CRLF, and without the last line ends to be removed."""
    held = ""
    ends = 0
    for chunk in chunks:
        text = held + chunk
        # its other half may begin the next chunk
        held = "\r" if text.endswith("\r") else ""
        text = argument("content", text.removesuffix("\r"))
        if style.final_newline == REMOVE:
            kept = text.rstrip("\n")
            if kept:
                yield from _lines(ends)
                ends = 0
            ends += len(text) - len(kept)
            text = kept
        if text:
            yield text
    if held:
        yield from _lines(ends)
        yield held


def _lines(count: int) -> Iterator[str]:
    step = 1 << 20
    while count > 0:
        yield "\n" * min(count, step)
        count -= step
