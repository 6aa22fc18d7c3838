"""Grams and the signatures made of them: which bits a text sets, and how columns of bits become rows.

A gram is `n` consecutive bytes of folded text: 3 and 4 for a file, 5 for a block of a large one. Each is hashed to one
bit of a column of 2**bits; a column is halved while it stays sparse, so that a short file takes a few hundred bytes. A
query needs the same bit of many columns, so columns of equal size are stored transposed, one row a bit: BitFunnel's
layout (Goodwin et al., SIGIR 2017).

Promise: if a folded text holds a gram, the column made of that text has the gram's bit set, at whatever size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Bits: TypeAlias = npt.NDArray[np.uint8]
Hashes: TypeAlias = npt.NDArray[np.uint32]

GRAM_VERSION = "3"
FILE_GRAMS = (4, 3)
"""The longer ones tell more: with trigrams alone `kthread_bind_mask` left 23 of 5,000 files of a C tree, with both one.
The shorter ones are there for words of three letters. Together they take twice the bits."""
BLOCK_GRAM = 5
MIN_BITS = 8
MAX_BITS = 18
_USUAL_SHARE = 1
"""Source text usually has one distinct gram in eight or more, so a column begins at half its length in bits."""

# Without the second multiplication a query met 149 false candidates where the mixed hash leaves 4 to 9.
_FIRST = np.uint32(0x9E3779B1)
_SECOND = np.uint32(0x85EBCA6B)
_THIRD = np.uint32(0xC2B2AE35)
_LOW_24 = np.uint32(0xFFFFFF)
_SHIFT = np.uint32(15)
_CHUNK = 1 << 15
"""Windows hashed at a time: what stays in the cache between steps runs at 1.2 GB/s, whole buffers at 0.39."""


def hash_grams(folded: bytes, gram: int) -> Hashes:
    """Return the 32-bit hash of each gram of `folded`, in order; empty when the text is shorter than a gram.

    Args:
        folded: text as `folding.fold` gives it.
        gram: its length in bytes, 3 to 5; the same bytes have other hashes at another length.
    """
    count = len(folded) - gram + 1
    if count <= 0:
        return np.empty(0, np.uint32)
    hashes = np.empty(count, np.uint32)
    # windows of four bytes, read unaligned
    windows = np.ndarray((count,), "<u4", folded + b"\0", 0, (1,))
    fifths = np.frombuffer(folded, np.uint8, count, 4) if gram == BLOCK_GRAM else None
    spare = np.empty(min(count, _CHUNK), np.uint32)
    for at in range(0, count, _CHUNK):
        part = hashes[at : at + _CHUNK]
        other = spare[: len(part)]
        if gram == 3:
            np.bitwise_and(windows[at : at + _CHUNK], _LOW_24, out=part)
            part *= _FIRST
        elif fifths is None:
            np.multiply(windows[at : at + _CHUNK], _THIRD, out=part)
        else:
            np.multiply(windows[at : at + _CHUNK], _FIRST, out=part)
            np.multiply(fifths[at : at + _CHUNK], _SECOND, out=other)
            part ^= other
        np.right_shift(part, _SHIFT, out=other)
        part ^= other
        part *= _SECOND
    return hashes


def column(hashes: Sequence[Hashes], *, bits: int, sparse: float) -> tuple[int, Bits]:
    """Return the signature of one text: its size as a power of two, and its bits packed eight to a byte.

    The size is the smallest one near the text's length at which the share of set bits is at least `sparse`, so that it
    is under about twice that.

    Args:
        hashes: of all its grams, those of each length apart.
        bits: the largest size.
        sparse: share of set bits; 0 for the size `bits` whatever the text.
    """
    size = bits if not sparse else min(bits, max(MIN_BITS, sum(map(len, hashes)).bit_length() - _USUAL_SHARE))
    present = _scattered(hashes, size)
    load = np.count_nonzero(present)
    # at twice the size a share s becomes about 1 - sqrt(1 - s)
    while size < bits and load >= (1 - (1 - sparse) ** 2) * (1 << size):
        size += 1
        present = _scattered(hashes, size)
        load = np.count_nonzero(present)
    while size > MIN_BITS and load < sparse * (1 << size):
        present = present[0::2] | present[1::2]
        size -= 1
        load = np.count_nonzero(present)
    return size, np.packbits(present)


def _scattered(hashes: Sequence[Hashes], bits: int) -> npt.NDArray[np.bool_]:
    present = np.zeros(1 << bits, np.bool_)
    for part in hashes:
        scatter(part, present)
    return present


def scatter(hashes: Hashes, present: npt.NDArray[np.bool_]) -> None:
    """Set the bits of grams in `present`, whose length is a power of two."""
    shift = np.uint32(33 - len(present).bit_length())
    # intp indices scatter at 700 MB/s, uint32 ones at 330
    present[(hashes >> shift).astype(np.intp)] = True


def most_bits(length: int) -> int:
    """Return the largest column size for a text of `length` bytes."""
    return min(MAX_BITS, max(MIN_BITS, (4 * length).bit_length()))


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


@lru_cache(maxsize=4096)
def _hash_of(gram: bytes) -> int:
    return int(hash_grams(gram, len(gram))[0])


def positions(grams: Iterable[bytes], bits: int) -> list[int]:
    """Return the bit of each gram in a column of 2**bits."""
    return [_hash_of(gram) >> (32 - bits) for gram in grams]
