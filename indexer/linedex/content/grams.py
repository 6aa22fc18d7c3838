"""Grams and the signatures made of them: which bits a text sets, and how columns of bits become rows.

A gram is `n` consecutive bytes of folded text: 3 and 4 for a file, 5 for a block of a large one, which has `dotted`
grams as well. Each is hashed to one
bit of a column of 2**bits; a column is halved while it stays sparse, so that a short file takes a few hundred bytes. A
query needs the same bit of many columns, so columns of equal size are stored transposed, one row a bit: BitFunnel's
layout (Goodwin et al., SIGIR 2017).

Promise: if a folded text holds a gram, the column made of that text has the gram's bit set, at whatever size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from linedex.content.dotted import DOTTED_GRAM, dotted_hash

Bits: TypeAlias = npt.NDArray[np.uint8]
Hashes: TypeAlias = npt.NDArray[np.uint32]

GRAM_VERSION = "5"
FILE_GRAMS = (4, 3)
"""The longer ones tell more: with trigrams alone `kthread_bind_mask` left 23 of 5,000 files of a C tree, with both one.
The shorter ones are there for words of three letters. Together they take twice the bits."""
BLOCK_GRAM = 5
MIN_BITS = 8
MAX_BITS = 18

# Without the second multiplication a query met 149 false candidates where the mixed hash leaves 4 to 9.
HASH_BITS = 32
_FIRST = np.uint32(0x9E3779B1)
_SECOND = np.uint32(0x85EBCA6B)
_THIRD = np.uint32(0xC2B2AE35)
_LOW_24 = np.uint32(0xFFFFFF)
_TOP_8 = np.uint32(24)
_SHIFT = np.uint32(15)
_CHUNK = 40 << 10
"""Bytes hashed at a time: what stays in the cache between steps runs at 1.2 GB/s, whole buffers at 0.39."""
_NULS = b"\0\0\0\0\0"


def hash_grams(texts: Iterable[bytes], grams: Sequence[int]) -> Iterator[list[Hashes]]:
    """Yield for each text the 32-bit hashes of its grams, in no certain order, as arrays of shape (grams, 4, places).

    NULs stand for up to three bytes behind a text, so that places come in fours: what grams they make is hashed too.

    Args:
        texts: folded, as `folding.fold` gives them. Short ones are worked on together, which saves two thirds of
            the calls that they would cost.
        grams: lengths in bytes, 3 to 5; the same bytes have other hashes at another length.
    """
    short: list[bytes] = []
    held = 0
    for text in texts:
        padded = text + _NULS[: 5 - (len(text) + 1) % 4]
        if short and held + len(padded) > _CHUNK:
            yield from _hashes_of_each(short, grams)
            short, held = [], 0
        if len(padded) > _CHUNK:
            yield [_hashes(padded[at : at + _CHUNK + 4], grams) for at in range(0, len(padded) - 4, _CHUNK)]
        else:
            short.append(padded)
            held += len(padded)
    if short:
        yield from _hashes_of_each(short, grams)


def _hashes_of_each(padded: Sequence[bytes], grams: Sequence[int]) -> Iterator[list[Hashes]]:
    hashes = _hashes(b"".join(padded), grams)
    start = 0
    for text in padded:
        end = start + len(text) // 4
        # the four places before the next text would read into it
        yield [hashes[:, :, start : end - 1]]
        start = end


def _hashes(padded: bytes, grams: Sequence[int]) -> Hashes:
    """Return the hashes of the grams at each place of a text, whose length is a multiple of four, but the last four."""
    words = _words(padded, 0)
    hashes = np.empty((len(grams), *words.shape), np.uint32)
    for row, gram in enumerate(grams):
        if gram == 3:
            np.bitwise_and(words, _LOW_24, out=hashes[row])
            hashes[row] *= _FIRST
        elif gram == 4:
            np.multiply(words, _THIRD, out=hashes[row])
        else:
            fifths = _words(padded, 1) >> _TOP_8
            fifths *= _SECOND
            np.multiply(words, _FIRST, out=hashes[row])
            hashes[row] ^= fifths
    hashes ^= hashes >> _SHIFT
    hashes *= _SECOND
    return hashes


def _words(padded: bytes, first: int) -> Hashes:
    """Return the four bytes at each place from `first` on; row k has those at k, k + 4, k + 8 and so on.

    Numbers that lie one behind another are worked on twice as fast as a view that takes a step of one byte.
    """
    places = len(padded) - 4
    rows = b"".join([padded[at : at + places] for at in range(first, first + 4)])
    return np.frombuffer(rows, "<u4").reshape(4, places // 4)


def column(hashes: Sequence[Hashes], *, bits: int, sparse: float) -> tuple[int, Bits]:
    """Return the signature of one text: its size as a power of two, and its bits packed eight to a byte.

    The size is the largest one near the text's length at which the share of set bits is at least `sparse`, so that it
    is under about twice that.

    Args:
        hashes: of all its grams.
        bits: the largest size.
        sparse: share of set bits; 0 for the size `bits` whatever the text.
    """
    # of 4,217 files of a C tree 85 % end at this size or below, and halving costs far less than setting bits anew
    size = bits if not sparse else min(bits, max(MIN_BITS, sum(part.size for part in hashes).bit_length()))
    present = _scattered(hashes, size)
    load = np.count_nonzero(present)
    # at twice the size a share s becomes about 1 - sqrt(1 - s)
    while size < bits and load >= (1 - (1 - sparse) ** 2) * (1 << size):
        size += 1
        present = _scattered(hashes, size)
        load = np.count_nonzero(present)
    while size > MIN_BITS and load < sparse * (1 << size):
        present = halved(present)
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
    shift = np.uint32(HASH_BITS + 1 - len(present).bit_length())
    # intp indices scatter at 700 MB/s, uint32 ones at 330
    present[(hashes >> shift).astype(np.intp).ravel()] = True


def halved(present: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the bits of the same grams at half the size."""
    # two neighbours at once are ten times as fast as every other one or its neighbour
    either: npt.NDArray[np.bool_] = present.view(np.uint16) != 0
    return either


def most_bits(length: int) -> int:
    """Return the largest column size for a text of `length` bytes."""
    return min(MAX_BITS, max(MIN_BITS, (4 * length).bit_length()))


_COLUMNS_AT_A_TIME = 64
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

    The 8 x 8 bit blocks are transposed in 64-bit words by three swaps (Warren, Hacker's Delight, 7-3), some columns at
    a time: what stays in the cache is done twice as fast.
    """
    count, width = columns.shape
    if count % 8:
        columns = np.vstack([columns, np.zeros((-count % 8, width), np.uint8)])
    rows = np.empty((width * 8, len(columns) // 8), np.uint8)
    for at in range(0, len(columns), _COLUMNS_AT_A_TIME):
        part = columns[at : at + _COLUMNS_AT_A_TIME].reshape(-1, 8, width)
        tiles = np.ascontiguousarray(part.transpose(0, 2, 1)).view(">u8")[..., 0].astype(np.uint64)
        spare = np.empty_like(tiles)
        for shift, mask in _SWAPS:
            np.right_shift(tiles, shift, out=spare)
            spare ^= tiles
            spare &= mask
            tiles ^= spare
            spare <<= shift
            tiles ^= spare
        rows[:, at // 8 : at // 8 + len(part)] = tiles.astype(">u8").view(np.uint8).reshape(len(part), width * 8).T
    return rows


def halve_rows(rows: Bits) -> Bits:
    """Return the rows of the same columns at half their size."""
    halved: Bits = rows[0::2] | rows[1::2]
    return halved


def row_load(rows: Bits, count: int) -> float:
    """Return the share of set bits among the first `count` columns, from a sample of the rows."""
    sample = rows[:: max(1, len(rows) // 512)]
    return float(np.unpackbits(sample, axis=1)[:, :count].mean())


@lru_cache(maxsize=4096)
def hash_of(gram: bytes) -> int:
    """Return the hash of one gram, of `HASH_BITS` bits."""
    if len(gram) == DOTTED_GRAM:
        return dotted_hash(gram)
    return int(next(hash_grams([gram], [len(gram)]))[0].flat[0])


def positions(grams: Iterable[bytes], bits: int) -> Iterator[int]:
    """Yield the bit of each gram in a column of 2**bits: the highest of its hash."""
    shift = HASH_BITS - bits
    return (hash_of(gram) >> shift for gram in grams)
