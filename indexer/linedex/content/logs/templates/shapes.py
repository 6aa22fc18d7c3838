"""The shape of a message: its words, with those that hold a digit left open.

A message is cut into tokens at delimiters. A token with a digit is *masked*; a run of masked tokens is one. The shape
hash is of the tokens in order. Two tokens without digits count as equal when their length and their first, middle and
last eight bytes are: tokens over 24 bytes may fall together, always in the same way.

Promise: the hash of a message is the same in every window, process and version (`SHAPE_VERSION`).
"""

from __future__ import annotations

import threading
from typing import Final

import numpy as np
import numpy.typing as npt

from linedex.content.logs.window import Flags, Places, Window, Words

SHAPE_VERSION: Final = "1"
DELIMITERS: Final = b" \t\r\n=:,;()[]{}\"'|<>&?"
_DELIMITER, _DIGIT = 2, 1
_CLASSES: Final = bytes(
    _DELIMITER if byte in DELIMITERS or byte == 0 else _DIGIT if byte in b"0123456789" else 0 for byte in range(256)
)
_WRAP = 1 << 64
# odd numbers with well spread bits, as hash functions of the last twenty years use them
_FIRST, _SECOND, _THIRD = (np.uint64(k) for k in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 0x9E3779B97F4A7C15))
_BASE: Final = 0xD6E8FEB86659FD93
_SHIFT_FIRST, _SHIFT_SECOND = np.uint64(31), np.uint64(29)
_MASKED: Final = np.uint64(0x1234567)
_LOW: Final = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)


class _Scratch(threading.local):
    """A running sum's memory, kept for each thread: fresh pages cost 0.8 of the 0.95 ms that a sum of 256 KiB took."""

    def __init__(self) -> None:
        self._kept = np.zeros(0, np.int32)

    def of(self, size: int) -> npt.NDArray[np.int32]:
        """Return `size` numbers, the first of them 0, of use until the next call."""
        if size > _KEPT:
            return np.zeros(size, np.int32)
        if size > len(self._kept):
            self._kept = np.zeros(size + size // 4, np.int32)
        return self._kept[:size]


_KEPT: Final = 1 << 21
_scratch = _Scratch()


def shape_hashes(window: Window, lines: Places, content: Places, level_at: Places) -> Words:
    """Return the shape hash of some lines of a window.

    Args:
        window: the lines.
        lines: numbers of those to hash, ascending, with text of their own.
        content: where the message of each of `lines` begins.
        level_at: first byte of the word that tells the level of each of `lines`, -1 for none; it counts as masked.
    """
    size = window.size
    if not len(lines):
        return np.empty(0, np.uint64)
    classes = np.frombuffer(window.text.translate(_CLASSES), np.uint8, size)
    apart: Flags = classes == _DELIMITER
    edges = np.flatnonzero(apart[1:] != apart[:-1]) + 1
    if not apart[0]:
        edges = np.concatenate((np.zeros(1, edges.dtype), edges))
    if not apart[-1]:
        edges = np.append(edges, size)
    starts, ends = edges[0::2], edges[1::2]
    if not len(starts):
        return np.zeros(len(lines), np.uint64)
    digits = _scratch.of(size + 1)
    np.cumsum(classes & 1, out=digits[1:], dtype=np.int32)
    masked: Flags = digits[ends] != digits[starts]
    _mask_levels(masked, starts, level_at)
    # a run of masked tokens is one, but never goes on from the stamp or from another line
    kept: Flags = np.empty(len(starts), np.bool_)
    kept[0] = True
    np.logical_not(masked[1:] & masked[:-1], out=kept[1:])
    first = np.searchsorted(starts, content)
    kept[first[first < len(starts)]] = True
    chosen = np.flatnonzero(kept)
    starts, ends, masked = starts[chosen], ends[chosen], masked[chosen]
    hashes = np.full(len(starts), _MASKED, np.uint64)
    plain = np.flatnonzero(~masked)
    hashes[plain] = _token_hashes(window.words, starts[plain], ends[plain])
    low = np.searchsorted(starts, content)
    high = np.maximum(low, np.searchsorted(starts, window.spans[lines]))
    return _sequences(hashes, low, high)


def _mask_levels(masked: Flags, starts: Places, level_at: Places) -> None:
    told = level_at[level_at >= 0]
    if len(told):
        token = np.minimum(np.searchsorted(starts, told), len(starts) - 1)
        masked[token[starts[token] == told]] = True


def _token_hashes(words: Words, starts: Places, ends: Places) -> Words:
    lengths = ends - starts
    mixed = ((words[starts] & _LOW[np.minimum(lengths, 8)]) * _FIRST) ^ (lengths.astype(np.uint64) * _THIRD)
    long = np.flatnonzero(lengths > 8)
    if len(long):
        mixed[long] ^= words[ends[long] - 8] * _SECOND
        longer = long[lengths[long] > 16]
        if len(longer):
            middle = words[(starts[longer] + ends[longer]) // 2 - 4]
            mixed[longer] = (mixed[longer] ^ (mixed[longer] >> _SHIFT_FIRST)) * _FIRST ^ middle * _THIRD
    mixed ^= mixed >> _SHIFT_SECOND
    hashes: Words = mixed * _SECOND
    return hashes


def _sequences(hashes: Words, low: Places, high: Places) -> Words:
    """Return a hash of each run `hashes[low:high]`: a polynomial, by differences of one running sum."""
    rising, falling = _powers(len(hashes))
    sums = np.empty(len(hashes) + 1, np.uint64)
    sums[0] = 0
    np.cumsum(hashes * rising[: len(hashes)], out=sums[1:])
    result: Words = (sums[high] - sums[low]) * falling[low] + (high - low).astype(np.uint64) * _FIRST
    return result


_tables: list[npt.NDArray[np.uint64]] = []


def _powers(count: int) -> tuple[Words, Words]:
    """Return the powers of the base and of its inverse, at least `count + 1` of them."""
    if not _tables or len(_tables[0]) <= count:
        length = 1 << max(16, count.bit_length())
        _tables[:] = [_power_table(_BASE, length), _power_table(pow(_BASE, -1, _WRAP), length)]
    rising, falling = _tables
    return rising, falling


def _power_table(base: int, length: int) -> Words:
    table = np.empty(length, np.uint64)
    table[0] = 1
    done = 1
    while done < length:
        more = min(done, length - done)
        np.multiply(table[:more], np.uint64(pow(base, done, _WRAP)), out=table[done : done + more])
        done += more
    return table
