"""A stretch of a log as arrays: its bytes, where its lines begin and end, and eight unaligned bytes at any place.

Promise: a gather at any place from a line's start to its end is in bounds; past the text there are NULs.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from linedex.content.logs.formats import HEAD_BYTES

Places: TypeAlias = npt.NDArray[np.int64]
Octets: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]

PADDING = 64
"""Bytes that may be gathered past the text."""


class Window:
    """Whole lines of a log.

    Args:
        text: bytes in an encoding that has ASCII as it is, from the beginning of a line on (or of a line's rest); the
            last line may lack its end.
        ahead: what follows `text` in the file if its last line goes on there; 512 bytes suffice.
        newline: the byte that ends a line.

    Attributes:
        text: the bytes, with `ahead` and padding after `size` of them.
        size: bytes of the window itself.
        starts: the first byte of each line.
        ends: the byte after each line's content, before its end.
        octets: `text` as an array.
        words: the eight bytes at each place as a little-endian number.
    """

    def __init__(self, text: bytes, *, ahead: bytes = b"", newline: int = 10) -> None:
        self.size = len(text)
        unfinished = bool(text) and text[-1] != newline
        rest = ahead[:HEAD_BYTES] if unfinished else b""
        stop = rest.find(newline)
        rest = rest if stop < 0 else rest[:stop]
        self.text = text + rest + bytes(PADDING)
        self.octets: Octets = np.frombuffer(self.text, np.uint8)
        # a list of the positions is what `flatnonzero` makes at 1-3 GB/s
        breaks: Places = np.flatnonzero(self.octets[: self.size] == newline).astype(np.int64, copy=False)
        self.starts: Places = np.concatenate((np.zeros(1, np.int64), breaks + 1))
        self.ends: Places
        if unfinished:
            self.ends = np.append(breaks, self.size + len(rest))
        else:
            self.starts = self.starts[:-1]
            self.ends = breaks
        self.words: Words = np.ndarray((len(self.text) - 7,), "<u8", self.text, 0, (1,))

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def spans(self) -> Places:
        """The byte after each line, its end included."""
        return np.append(self.starts[1:], np.int64(self.size)) if len(self) else self.starts

    @cached_property
    def word_starts(self) -> Places:
        """Where a word begins after blanks, tabs or bars."""
        octets = self.octets[: self.size]
        apart = SEPARATORS[octets]
        found: Places = np.flatnonzero(apart[:-1] & ~apart[1:]) + 1
        return found

    @cached_property
    def odd_blanks(self) -> bool:
        """Whether there are blanks other than space, tab and the ends of lines."""
        text = self.text
        return b"\f" in text or b"\v" in text or text.count(b"\r") != text.count(b"\r\n")

    def after_words(self, count: int) -> Places:
        """Return where a word begins after `count` words of each line; -1 where none does, or it is unsure."""
        none: Places = np.full(len(self), -1, np.int64)
        found = self.word_starts
        if self.odd_blanks or not len(found):
            return none
        at = np.searchsorted(found, self.starts, side="right") + (count - 1)
        place = found[np.minimum(at, len(found) - 1)]
        good = (at < len(found)) & (place < self.ends) & ~SEPARATORS[self.octets[self.starts]]
        return np.where(good, place, none)

    def after_key(self, key: bytes) -> Places:
        """Return the byte after the first `key` in the head of each line; -1 where there is none."""
        none: Places = np.full(len(self), -1, np.int64)
        found: Places = np.array([match.start() for match in re.finditer(re.escape(key), self.text)], np.int64)
        if not len(found) or not len(self):
            return none
        at = np.searchsorted(found, self.starts)
        place = found[np.minimum(at, len(found) - 1)] + len(key)
        good = (at < len(found)) & (place <= np.minimum(self.ends, self.starts + HEAD_BYTES))
        return np.where(good, place, none)


SEPARATORS: Flags = np.zeros(256, np.bool_)
SEPARATORS[list(b" \t|")] = True
WORD_BYTES: Flags = np.zeros(256, np.bool_)
WORD_BYTES[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] = True
DIGITS: Flags = np.zeros(256, np.bool_)
DIGITS[list(b"0123456789")] = True
