"""The symbols of one file.

Promise: an outline is of the bytes that are in the file now, never of what the index remembers; where it is empty or
not whole it says why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from linedex.answers import Outline
from linedex.limits import Limits
from linedex.query.source import Source

if TYPE_CHECKING:
    from linedex.content.symbols import Extraction

Parse: TypeAlias = "Callable[[bytes, str, bool], Extraction]"
"""`parse(text, language, full)` returns the symbols of a UTF-8 text; `full` asks for fields, enum members and keys
too. It keeps the budgets of `Limits` and never raises because of what is in the text."""


def outline(source: Source, parse: Parse, *, full: bool = True) -> Outline:
    """Return the symbols of a file.

    Args:
        source: the file.
        parse: finds the symbols of a text.
        full: also fields, enum members and keys.

    Raises:
        ChangedWhileRead: the file was rewritten each time it was read.
    """
    return source.steadily(lambda: outline_now(source, parse, full=full))


def outline_now(source: Source, parse: Parse, *, full: bool) -> Outline:
    """Return what `outline` does; for callers that are already inside `Source.steadily`."""
    if source.format.binary:
        return Outline((), "", "binary: it holds no text")
    if not source.language:
        return Outline((), "", "no outline: the language is not known" if source.size else "")
    if not source.fits:
        return Outline((), source.language, _too_large(source.size, source.limits))
    found = parse(source.text(), source.language, full)
    return Outline(found.symbols, source.language, found.note)


def _too_large(size: int, limits: Limits) -> str:
    return f"not outlined: {_mebibytes(size)}, over the limit of {_mebibytes(limits.text_bytes)}"


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"
