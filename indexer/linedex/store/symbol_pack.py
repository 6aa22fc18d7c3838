"""The symbols of one file as a blob, on their way from a worker to their table and back.

Promise: what was packed is unpacked as it was. Columns stand one after the other, so that equal and growing numbers lie
together and zlib finds what names share: some 8 bytes a symbol of the Linux tree.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from linedex.model import StoredSymbol, Symbol, SymbolKind

KINDS: Final = tuple(SymbolKind)
"""A kind's number in a blob is its place here; inserting one in the middle is a new feature version."""
_NUMBERS: Final = {kind: number for number, kind in enumerate(KINDS)}
_LEVEL: Final = 6
_COLUMNS: Final = 6
Numbers: TypeAlias = npt.NDArray[np.int32]


class PackedSymbols(NamedTuple):
    """The symbols of a file: how many, and all of them."""

    total: int = 0
    data: bytes = b""


NO_SYMBOLS: Final = PackedSymbols()


class FileRows(NamedTuple):
    """The symbols of a file as columns, in source order; `parents` are ordinals, -1 for none."""

    starts: Numbers
    ends: Numbers
    lines: Numbers
    columns: Numbers
    parents: Numbers
    kinds: Numbers
    names: list[str]
    containers: list[str]


def packed(symbols: Sequence[Symbol | StoredSymbol]) -> PackedSymbols:
    """Return the symbols of a file, given in source order."""
    if not symbols:
        return NO_SYMBOLS
    numbers = _NUMBERS
    columns = np.array(
        [
            (symbol.start_line, symbol.end_line, symbol.line, symbol.column, symbol.parent, numbers[symbol.kind])
            for symbol in symbols
        ],
        "<i4",
    )
    columns[:, 1:3] -= columns[:, :1]
    columns[1:, 0] = np.diff(columns[:, 0])
    text = text_of([symbol.name for symbol in symbols], [symbol.container for symbol in symbols])
    count = len(symbols).to_bytes(4, "little")
    return PackedSymbols(len(symbols), zlib.compress(b"".join((count, columns.T.tobytes(), text)), _LEVEL))


def text_of_packed(data: bytes) -> tuple[int, bytes]:
    """Return how many symbols were packed, and their names as lines, those of their containers behind them."""
    raw = inflated(data)
    count = int.from_bytes(raw[:4], "little")
    return count, raw[4 + 4 * _COLUMNS * count :]


def unpacked(data: bytes) -> FileRows:
    """Return what `packed` was given."""
    raw = inflated(data)
    count = int.from_bytes(raw[:4], "little")
    columns = np.frombuffer(raw, "<i4", _COLUMNS * count, 4).reshape(_COLUMNS, count)
    names, containers = texts_in(raw[4 + 4 * _COLUMNS * count :], count)
    starts = np.cumsum(columns[0], dtype=np.int32)
    _, lasts, lines, column, parents, kinds = columns
    return FileRows(starts, starts + lasts, starts + lines, column, parents, kinds, names, containers)


unpacked_again = lru_cache(maxsize=4)(unpacked)
"""`unpacked`, which keeps the last few: hits of a page are often of one file."""


def inflated(data: bytes) -> bytes:
    """Return what a blob of the sidecar was before it was compressed.

    Raises:
        apsw.CorruptError: it is damaged.
    """
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise apsw.CorruptError(f"stored symbols make no sense: {error}") from error


def text_of(first: Sequence[str], second: Sequence[str]) -> bytes:
    """Return two lists of one-line texts, equally long, as bytes; a line break inside of one becomes a space."""
    text = "\n".join((*first, *second))
    if text.count("\n") != 2 * len(first) - 1:
        text = "\n".join(one.replace("\n", " ") for one in (*first, *second))
    return text.encode("utf-8", "surrogatepass")


def texts_in(data: bytes, count: int) -> tuple[list[str], list[str]]:
    """Return the two lists of `count` texts that `text_of` was given."""
    texts = data.decode("utf-8", "surrogatepass").split("\n")
    return texts[:count], texts[count:]
