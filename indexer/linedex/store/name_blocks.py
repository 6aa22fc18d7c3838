"""Blocks of the index of names as blobs: up to 64 names in order, and the symbols that have them.

Promise: what was packed is unpacked as it was. Names are asked for far oftener than symbols, symbols far oftener than
containers, so each is a blob of its own: a block's names take 10 us, the symbols of one of them 3.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from linedex.store.name_grams import humps_of
from linedex.store.symbol_pack import inflated

BLOCK_NAMES: Final = 64
SYMBOL: Final = np.dtype([("set", "<u4"), ("ordinal", "<u4"), ("kind", "u1")])
"""A symbol in the index of names: the set it is in, its ordinal there, and the number of its kind."""
_LEVEL: Final = 6
Symbols: TypeAlias = npt.NDArray[np.void]
"""An array of `SYMBOL`."""


class NamedSymbols(NamedTuple):
    """Some symbols as columns: their names, their containers, and which they are."""

    names: list[str]
    containers: list[str]
    symbols: Symbols


class Block(NamedTuple):
    """Distinct names in order, their humps, and as blobs: both, their symbols, and these symbols' containers."""

    names: Sequence[str]
    humps: Sequence[str]
    packed: bytes
    symbols: bytes
    containers: bytes


def in_order(rows: NamedSymbols) -> NamedSymbols:
    """Return rows in the order of their names; those of one name stay in theirs."""
    order = sorted(range(len(rows.names)), key=rows.names.__getitem__)
    return chosen(rows, np.array(order, np.intp))


def chosen(rows: NamedSymbols, places: npt.NDArray[np.intp]) -> NamedSymbols:
    """Return the rows at some places."""
    at = places.tolist()
    containers = rows.containers
    return NamedSymbols([rows.names[one] for one in at], [containers[one] for one in at], rows.symbols[places])


def joined(parts: Iterable[NamedSymbols]) -> NamedSymbols:
    """Return the rows of several, one after the other."""
    names: list[str] = []
    containers: list[str] = []
    symbols = [np.empty(0, SYMBOL)]
    for part in parts:
        names += part.names
        containers += part.containers
        symbols.append(part.symbols)
    return NamedSymbols(names, containers, np.concatenate(symbols))


def blocks_of(rows: NamedSymbols) -> Iterator[Block]:
    """Yield rows that are in order as blocks."""
    starts = [0, *(at for at, (one, other) in enumerate(pairwise(rows.names), 1) if one != other)]
    names = [rows.names[at] for at in starts]
    humps = humps_of(names)
    starts.append(len(rows.names))
    records = rows.symbols.tobytes()
    size = SYMBOL.itemsize
    for low in range(0, len(names), BLOCK_NAMES):
        high = min(low + BLOCK_NAMES, len(names))
        first, last = starts[low], starts[high]
        ends = np.array(starts[low + 1 : high + 1], "<u4") - np.uint32(first)
        containers = "\n".join(rows.containers[first:last])
        yield Block(
            names[low:high],
            humps[low:high],
            _packed(names[low:high], humps[low:high]),
            (high - low).to_bytes(4, "little") + ends.tobytes() + records[first * size : last * size],
            zlib.compress(containers.encode("utf-8", "surrogatepass"), _LEVEL) if containers.strip("\n") else b"",
        )


def _packed(names: Sequence[str], humps: Sequence[str]) -> bytes:
    text = "\n".join(names).encode("utf-8", "surrogatepass")
    return zlib.compress(b"".join((len(text).to_bytes(4, "little"), text, "\n".join(humps).encode())), _LEVEL)


def texts_in(packed: bytes) -> tuple[bytes, bytes]:
    """Return the names of a block and the humps of each, a line each."""
    data = inflated(packed)
    end = 4 + int.from_bytes(data[:4], "little")
    return data[4:end], data[end:]


def names_in(text: bytes) -> list[str]:
    """Return the names of a block, given as lines."""
    return text.decode("utf-8", "surrogatepass").split("\n")


def symbols_in(symbols: bytes) -> tuple[list[int], Symbols]:
    """Return where the symbols of each name of a block end, and all of them."""
    ends, first = ends_in(symbols)
    return ends, np.frombuffer(symbols, SYMBOL, -1, first)


def ends_in(symbols: bytes) -> tuple[list[int], int]:
    """Return where the symbols of each name of a block end, and at which byte their records begin.

    Raises:
        apsw.CorruptError: the blob is damaged.
    """
    first = 4 + 4 * int.from_bytes(symbols[:4], "little")
    ends: list[int] = np.frombuffer(symbols[4:first], "<u4").tolist() if len(symbols) >= first else []
    if not ends or len(symbols) != first + SYMBOL.itemsize * ends[-1]:
        raise apsw.CorruptError("the symbols of a block of names make no sense")
    return ends, first


def containers_in(containers: bytes, count: int) -> list[str]:
    """Return the container of each of the `count` symbols of a block."""
    return inflated(containers).decode("utf-8", "surrogatepass").split("\n") if containers else [""] * count


def rows_in(packed: bytes, symbols: bytes, containers: bytes) -> NamedSymbols:
    """Return the symbols of a block with their names."""
    text, _ = texts_in(packed)
    ends, records = symbols_in(symbols)
    alike = zip(names_in(text), pairwise([0, *ends]), strict=True)
    repeated = [name for name, (low, high) in alike for _ in range(low, high)]
    return NamedSymbols(repeated, containers_in(containers, len(records)), records)
