"""Dotted grams: eight bytes of digits and dots, two of them dots at least, as network addresses and versions have.

A block of a log has so many addresses that most grams of five of any address stand in it somewhere; which of them stood
side by side, longer ones tell. Being few, they hardly fill a block's column. What counts as one is decided by its own
eight bytes, so whatever text holds a string holds its dotted grams.

Promise: `dotted_hashes` of a text has the hash of each of its dotted grams, and `dotted_grams` of a string names those
that every text with that string has.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

DOTTED_GRAM: Final = 8
_DOT: Final = ord(".")
_DOTS: Final = 2
_ZERO: Final = np.uint8(ord("0"))
_MIX: Final = 0x9E3779B97F4A7C15
_TOP: Final = np.uint64(32)
_WRAP: Final = (1 << 64) - 1
_NONE: Final = np.empty(0, np.uint32)


def dotted_hashes(text: bytes) -> npt.NDArray[np.uint32]:
    """Return the 32-bit hashes of the dotted grams of a text, in no certain order, some perhaps more than once."""
    octets = np.frombuffer(text, np.uint8)
    dots = octets == _DOT
    if len(text) < DOTTED_GRAM or np.count_nonzero(dots) < _DOTS:
        return _NONE
    allowed = octets - _ZERO < 10
    allowed |= dots
    seen = dots.view(np.uint8)
    # of eight places in a row: whether all are allowed, and how many hold a dot
    for apart in (1, 2, 4):
        allowed = allowed[:-apart] & allowed[apart:]
        seen = seen[:-apart] + seen[apart:]
    allowed &= seen >= _DOTS
    words = np.ndarray((len(text) - DOTTED_GRAM + 1,), "<u8", text, 0, (1,))[np.flatnonzero(allowed)]
    hashes: npt.NDArray[np.uint32] = (words * np.uint64(_MIX) >> _TOP).astype(np.uint32)
    return hashes


def dotted_grams(string: bytes) -> tuple[bytes, ...]:
    """Return the dotted grams of a string, in order."""
    windows = (string[at : at + DOTTED_GRAM] for at in range(len(string) - DOTTED_GRAM + 1))
    return tuple(window for window in windows if window.count(b".") >= _DOTS and window.replace(b".", b"").isdigit())


def dotted_hash(gram: bytes) -> int:
    """Return the hash of one dotted gram."""
    return (int.from_bytes(gram, "little") * _MIX & _WRAP) >> 32
