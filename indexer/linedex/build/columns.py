"""Columns: the signatures of files, of blocks, and of large files as a whole, made of their text.

Promise: a column has the bit of every gram of the folded text it is made of, at whatever size it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from linedex.content.dotted import dotted_hashes
from linedex.content.folding import fold, utf8_text
from linedex.content.grams import BLOCK_GRAM, FILE_GRAMS, MAX_BITS, Bits, column, halved, hash_grams, most_bits, scatter
from linedex.model import TextFormat

FILE_SPARSE = 0.18
"""A file's column is halved while its load is under this."""
BLOCK_SPARSE = 0.15
"""A run of blocks likewise."""
BLOCK_BITS = 15
"""Size of a block's column as it is made; the writer halves whole runs."""
WHOLE_LIMIT = 64 << 20
"""Past this size a column of the whole file says nothing any more, and its blocks decide alone."""
OVERLAP = 64
"""Bytes past a cut inside a line that are hashed with the block before it, so that no gram falls between blocks."""


def file_columns(texts: Sequence[bytes]) -> Iterator[tuple[int, Bits]]:
    """Yield the column of each small file, (bits, packed), made of its folded text."""
    for text, hashes in zip(texts, hash_grams(texts, FILE_GRAMS), strict=True):
        yield column(hashes, bits=most_bits(len(text)), sparse=FILE_SPARSE)


def block_column(block: bytes, spelling: TextFormat, seen: npt.NDArray[np.bool_] | None = None) -> Bits:
    """Return the signature of a block's bytes; what it gives to the column of the whole file is set in `seen`."""
    folded = fold(utf8_text(block, spelling))
    grams = (BLOCK_GRAM,) if seen is None else (BLOCK_GRAM, *FILE_GRAMS)
    hashes = next(hash_grams([folded], grams))
    if seen is not None:
        for part in hashes:
            scatter(part[1:], seen)
    return column([*(part[0] for part in hashes), dotted_hashes(folded)], bits=BLOCK_BITS, sparse=0)[1]


def joined_column(old: tuple[int, Bits] | None, more: Sequence[Bits | None]) -> tuple[int, Bits]:
    """Return the column of a large file that has grown, made of its former one and what its new ranges gave to it.

    It keeps its size, because bits that were merged cannot be told apart; one that is half full says too little to be
    asked, and becomes one that every query passes.
    """
    if old is None:
        return whole_column(None)
    bits, column = old
    present = np.unpackbits(column).astype(np.bool_)
    for added in more:
        if added is None:
            return whole_column(None)
        bits_set = np.unpackbits(added).astype(np.bool_)
        while len(bits_set) > len(present):
            bits_set = halved(bits_set)
        present |= bits_set
    if np.count_nonzero(present) * 2 > len(present):
        return whole_column(None)
    return bits, np.packbits(present)


def whole_column(bits_set: Bits | None) -> tuple[int, Bits]:
    """Return the column of a large file as a whole, made of what its ranges gave to it.

    Without that it is a column that every query passes, so that its blocks decide.
    """
    if bits_set is None:
        return 8, np.full(1 << 5, 0xFF, np.uint8)
    present = np.unpackbits(bits_set).astype(np.bool_)
    bits = MAX_BITS
    while bits > 8 and np.count_nonzero(present) < FILE_SPARSE * (1 << bits):
        present = halved(present)
        bits -= 1
    return bits, np.packbits(present)
