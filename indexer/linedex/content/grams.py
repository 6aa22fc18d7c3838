"""Grams and the signatures made of them: which bits a text sets, and how columns of bits become rows.

A gram is `n` consecutive bytes of folded text: 3 for a small file, 5 for a block of a large one. Each is hashed to one
bit of a column of 2**bits; a column is halved while it stays sparse, so that a short file takes a few hundred bytes. A
query needs the same bit of many columns, so columns of equal size are stored transposed, one row a bit: BitFunnel's
layout (Goodwin et al., SIGIR 2017).

Promise: if a folded text holds a gram, the column made of that text has the gram's bit set, at whatever size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Bits: TypeAlias = npt.NDArray[np.uint8]
Hashes: TypeAlias = npt.NDArray[np.uint32]

GRAM_VERSION = "2"
FILE_GRAM = 3
BLOCK_GRAM = 5
MIN_BITS = 8
MAX_BITS = 18

# Without the second multiplication a query met 149 false candidates where the mixed hash leaves 4 to 9.
_FIRST = np.uint32(0x9E3779B1)
_SECOND = np.uint32(0x85EBCA6B)
_LOW_24 = np.uint32(0xFFFFFF)
_SHIFT = np.uint32(15)


def hash_grams(folded: bytes, gram: int) -> Hashes:
    """Return the 32-bit hash of each gram of `folded`, in order; empty when the text is shorter than a gram.

    Args:
        folded: text as `folding.fold` gives it.
        gram: `FILE_GRAM` or `BLOCK_GRAM`.
    """
    count = len(folded) - gram + 1
    if count <= 0:
        return np.empty(0, np.uint32)
    # windows of four bytes, read unaligned in one pass
    hashes: Hashes = (
        np.ndarray((count,), "<u4", folded + b"\0", 0, (1,)) * _FIRST if gram == BLOCK_GRAM else _thirds(folded, count)
    )
    if gram == BLOCK_GRAM:
        hashes ^= np.frombuffer(folded, np.uint8, count, 4) * _SECOND
    hashes ^= hashes >> _SHIFT
    hashes *= _SECOND
    return hashes


def _thirds(folded: bytes, count: int) -> Hashes:
    windows: Hashes = np.ndarray((count,), "<u4", folded + b"\0", 0, (1,)) & _LOW_24
    windows *= _FIRST
    return windows


def column(hashes: Hashes, *, bits: int, sparse: float) -> tuple[int, Bits]:
    """Return the signature of one text: its size as a power of two, and its bits packed eight to a byte.

    Args:
        hashes: of all its grams.
        bits: the largest size to begin with.
        sparse: halve while the share of set bits stays under this.
    """
    present = np.zeros(1 << bits, np.bool_)
    # intp indices scatter at 400 MB/s, uint32 ones at 160
    present[(hashes >> np.uint32(32 - bits)).astype(np.intp)] = True
    load = np.count_nonzero(present)
    while bits > MIN_BITS and load < sparse * (1 << bits):
        present = present[0::2] | present[1::2]
        bits -= 1
        load = np.count_nonzero(present)
    return bits, np.packbits(present)


def starting_bits(length: int) -> int:
    """Return the column size to begin with for a text of `length` bytes."""
    return min(MAX_BITS, max(MIN_BITS, (2 * length).bit_length()))


_SWAPS = tuple(
    (np.uint64(shift), np.uint64(mask))
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))
)


def transpose(columns: Bits) -> Bits:
    """Return rows for `columns`: bit c of row r is bit r of column c. Its own inverse, up to padding.

    Args:
        columns: shape (count, size / 8), bits packed along the second axis, most significant first; both count and
            size are padded to multiples of eight with zeros.

    Returns:
        Shape (size, ceil(count / 8)), packed in the same way.

    The 8 x 8 bit blocks are transposed in 64-bit words by three swaps (Warren, Hacker's Delight, 7-3).
    """
    count, width = columns.shape
    if count % 8:
        columns = np.vstack([columns, np.zeros((-count % 8, width), np.uint8)])
    tiles = np.ascontiguousarray(columns.reshape(-1, 8, width).transpose(0, 2, 1)).view(">u8")[..., 0].astype(np.uint64)
    for shift, mask in _SWAPS:
        swapped = (tiles ^ (tiles >> shift)) & mask
        tiles ^= swapped ^ (swapped << shift)
    rows = tiles.astype(">u8").view(np.uint8).reshape(columns.shape[0] // 8, width * 8)
    return np.ascontiguousarray(rows.T)


def halve_rows(rows: Bits) -> Bits:
    """Return the rows of the same columns at half their size."""
    halved: Bits = rows[0::2] | rows[1::2]
    return halved


def row_load(rows: Bits, count: int) -> float:
    """Return the share of set bits among the first `count` columns, from a sample of the rows."""
    sample = rows[:: max(1, len(rows) // 512)]
    return float(np.unpackbits(sample, axis=1)[:, :count].mean())


def positions(grams: Sequence[bytes], bits: int) -> list[int]:
    """Return the bit of each gram in a column of 2**bits."""
    return [int(hash_grams(gram, len(gram))[0]) >> (32 - bits) for gram in grams]
