"""What is looked for in names: their humps, and the trigrams by which blocks of names are left out.

Promise: a block whose grams lack one of those of a query holds no name that fits it. Grams are of the bytes of folded
names, hashed to 20 bits, so that a gram and a block fit 32 bits: those of 250,000 names are sorted in 0.2 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

GRAM_BITS: Final = 20
MOST_BLOCKS: Final = 1 << (32 - GRAM_BITS)
"""Blocks that can be told apart beside a gram."""
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|\n")
_MULTIPLIER: Final = np.uint32(2_654_435_761)
_LINE_END: Final = 10
_BLOCKS_AT_ONCE: Final = 512
_BEGINNING: Final = "\x01"
"""What stands before the first two humps of a name, as a gram of its own."""
Grams: TypeAlias = npt.NDArray[np.uint32]


def humps_of(names: Sequence[str]) -> list[str]:
    """Return the lower-case initials of the words of each name, "" for fewer than two and for names all in capitals.

    `getTheUser`, `get_the_user` and `GetTheUser` give `gtu`; `HTTPServer` gives `hs`. Constants and macros, which are
    most names of a large C tree, have no humps to speak of.
    """
    text = "\n".join("" if name.isupper() else name for name in names)
    initials = "".join([word[0] for word in _HUMP.findall(text)]).lower().split("\n")
    return [initial if len(initial) > 1 else "" for initial in initials]


def humps(name: str) -> str:
    """Return the humps of one name, as `humps_of` does."""
    return humps_of((name.replace("\n", " "),))[0]


def grams_of(folded: str) -> Grams:
    """Return the distinct grams of a text whose case is folded; of at least three bytes there is one at least."""
    return np.unique(_hashed(np.frombuffer(folded.encode("utf-8", "surrogatepass"), np.uint8).astype(np.uint32))[0])


def grams_of_humps(initials: str) -> Grams:
    """Return the distinct grams of the blocks with names whose humps begin so: two letters or more."""
    return np.unique(_hashed(np.frombuffer(_marks((initials,)), np.uint8).astype(np.uint32))[0])


def blocks_by_gram(blocks: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterator[tuple[int, bytes]]:
    """Yield each gram and the blocks that have it, two bytes each in ascending order.

    Args:
        blocks: the names and the humps of each, at most `MOST_BLOCKS`.
    """
    parts = [np.empty(0, np.uint32)]
    for first, texts in _portions(blocks):
        letters = np.frombuffer(b"".join(texts), np.uint8).astype(np.uint32)
        owners = np.repeat(np.arange(first, first + len(texts), dtype=np.uint32), [len(text) for text in texts])
        hashed, kept = _hashed(letters)
        parts.append(np.unique((hashed << (32 - GRAM_BITS)) | owners[:-2][kept]))
    keys = np.sort(np.concatenate(parts))
    data = (keys & (MOST_BLOCKS - 1)).astype("<u2").tobytes()
    grams, starts = np.unique(keys >> (32 - GRAM_BITS), return_index=True)
    bounds = pairwise([*(2 * starts).tolist(), len(data)])
    for gram, (low, high) in zip(grams.tolist(), bounds, strict=True):
        yield gram, data[low:high]


def _portions(blocks: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number of a block, and what that and the next ones hold as lines, some MB at most."""
    texts: list[bytes] = []
    first = 0
    for number, (names, humps) in enumerate(blocks, 1):
        text = "\n".join((*names, "")).casefold()
        texts.append(text.encode("utf-8", "surrogatepass") + _marks(humps))
        if len(texts) == _BLOCKS_AT_ONCE:
            yield first, texts
            first, texts = number, []
    if texts:
        yield first, texts


def _marks(humps: Iterable[str]) -> bytes:
    """Return lines of three letters for humps: a sign and the first two, the first as a byte over 127 and two more."""
    marks = []
    for first in {initials[:3] for initials in humps if initials}:
        marks.append(f"{_BEGINNING}{first[:2]}\n")
        if len(first) > 2:
            marks.append(f"{chr(ord(first[0]) | 0x80)}{first[1:]}\n")
    return "".join(marks).encode("latin-1")


def _hashed(letters: Grams) -> tuple[Grams, npt.NDArray[np.bool_]]:
    """Return the hashes of the trigrams inside of lines, and which trigrams those are."""
    if len(letters) < 3:
        return np.empty(0, np.uint32), np.zeros(0, np.bool_)
    inside = letters != _LINE_END
    kept = inside[:-2] & inside[1:-1] & inside[2:]
    grams = (letters[:-2] << 16 | letters[1:-1] << 8 | letters[2:])[kept]
    return (grams * _MULTIPLIER) >> np.uint32(32 - GRAM_BITS), kept
