"""One written form of stamps, read for many lines at once.

A layout is learned from one stamp: which bytes are digits, which are punctuation, where seconds and fraction stand. The
rest of a stamp changes about once a minute, so it is parsed once for a run of lines, by the format's own expression.

Promise: a layout takes a stamp only if the format's expression, matched at the same place, would take exactly these
bytes; it then gives the same reading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from linedex.content.logs.formats import TimestampFormat
from linedex.content.logs.instants import LEAP_SECOND, NO_INSTANT, SECOND, Instants, read_wall
from linedex.content.logs.window import DIGITS, WORD_BYTES, Flags, Octets, Places, Window, Words

_CACHED: Final = 4096
_LONGEST: Final = 48
# after these a stamp may go on: a fraction, a zone, a half of the day
_EXTENDING: Final = WORD_BYTES.copy()
_EXTENDING[list(b".,:+-")] = True
_AFTER_BLANK: Final = np.zeros(256, np.bool_)
_AFTER_BLANK[list(b"+-ZUGAP")] = True
_HIGH, _THREE, _SIX = (np.uint64(byte * 0x0101010101010101) for byte in (0xF0, 0x30, 0x06))
_SHAPE: Final = bytes(0x30 if DIGITS[byte] else 0x61 if WORD_BYTES[byte] else byte for byte in range(256))


@dataclass(frozen=True, slots=True)
class _Number:
    """Digits of a stamp that are read for each line: place, count, worth of the last one in microseconds."""

    at: int
    digits: int
    worth: int


class Layout:
    """The stamps of one format that look like one example.

    Args:
        stamp_format: the format.
        example: a match of its expression at a place, with the stamp as group `stamp`.
    """

    def __init__(self, stamp_format: TimestampFormat, example: re.Match[bytes]) -> None:
        self._format = stamp_format
        self._stamp: bytes = example["stamp"]
        self.length = len(self._stamp)
        origin = example.start("stamp")
        self._second: _Number | None = None
        self._numbers = self._variable_parts(example, origin)
        masks = [bytearray(_LONGEST) for _ in range(4)]
        digits, marks, values, keys = masks
        for at, byte in enumerate(self._stamp):
            if DIGITS[byte]:
                digits[at] = 0xFF
            elif not WORD_BYTES[byte]:
                marks[at], values[at] = 0xFF, byte
            keys[at] = 0xFF
        for number in self._numbers:
            keys[number.at : number.at + number.digits] = bytes(number.digits)
        count = -(-self.length // 8)
        as_words = [np.frombuffer(bytes(mask), "<u8")[:count] for mask in masks]
        all_digits, all_marks, all_values, self._keys = as_words
        # adding six moves what is above nine out of the row of the digits
        self._checks = [
            (mark, value, _HIGH & digit, _THREE & digit, _SIX & digit)
            for digit, mark, value in zip(all_digits, all_marks, all_values, strict=True)
        ]
        self._bases: dict[bytes, tuple[int, bool]] = {}
        self._tails: dict[int, bool] = {}

    @staticmethod
    def shape(stamp: bytes) -> bytes | None:
        """Return what all stamps of one layout have in common, or None where no layout can be made."""
        return None if stamp.startswith(b"@") or len(stamp) > _LONGEST else stamp.translate(_SHAPE)

    def read(self, window: Window, at: Places) -> tuple[Flags, Instants, Flags]:
        """Return which of the places hold such a stamp, their wall readings, and which of these are absolute."""
        words = [window.words[np.minimum(at + 8 * index, len(window.words) - 1)] for index in range(len(self._keys))]
        good = self._looks_right(words)
        good &= ~self._goes_on(window, at, good)
        walls: Instants = np.full(len(at), NO_INSTANT, np.int64)
        absolute: Flags = np.zeros(len(at), np.bool_)
        taken = np.flatnonzero(good)
        if not len(taken):
            return good, walls, absolute
        every = len(taken) == len(at)
        bases, sure, valid = self._run_bases(words if every else [word[taken] for word in words])
        added, proper = self._added(window.octets, at if every else at[taken])
        valid &= proper
        good[taken] = valid
        walls[taken] = np.where(valid, bases + added, NO_INSTANT)
        absolute[taken] = sure & valid
        return good, walls, absolute

    def _variable_parts(self, example: re.Match[bytes], origin: int) -> list[_Number]:
        groups = example.re.groupindex
        parts: list[_Number] = []
        if "e" in groups:
            start, end = (place - origin for place in example.span("e"))
            length = end - start
            unread, worth = (3, 1) if length == 19 else (0, {16: 1, 13: 1000}.get(length, SECOND))
            moving = {19: 9, 16: 9, 13: 6}.get(length, 3)
            parts.append(_Number(end - unread - moving, moving, worth))
            if unread:
                parts.append(_Number(end - unread, unread, 0))
        else:
            start, end = (place - origin for place in example.span("S"))
            self._second = _Number(start, end - start, SECOND)
            parts.append(self._second)
        if "f" in groups and example["f"] is not None:
            start, end = (place - origin for place in example.span("f"))
            read = min(6, end - start)
            parts.append(_Number(start, read, 10 ** (6 - read)))
            if end - start > read:
                parts.append(_Number(start + read, end - start - read, 0))
        return parts

    def _looks_right(self, words: list[Words]) -> Flags:
        good: Flags = np.ones(len(words[0]), np.bool_)
        for word, (mark, value, high, three, six) in zip(words, self._checks, strict=True):
            good &= (word & mark) == value
            good &= (word & high) == three
            good &= ((word + six) & high) == three
        return good

    def _goes_on(self, window: Window, at: Places, good: Flags) -> Flags:
        """Return where the format's expression would take more bytes than this layout, or refuse these."""
        octets = window.octets
        next_at = np.minimum(at + self.length, len(octets) - 8)
        following = octets[next_at]
        doubtful = _EXTENDING[following] | ((following == 0x20) & _AFTER_BLANK[octets[next_at + 1]])
        doubtful &= good
        result: Flags = np.zeros(len(at), np.bool_)
        asked = np.flatnonzero(doubtful)
        if len(asked):
            tails, inverse = np.unique(window.words[next_at[asked]], return_inverse=True)
            result[asked] = np.array([self._extends(int(tail)) for tail in tails], np.bool_)[inverse]
        return result

    def _extends(self, tail: int) -> bool:
        known = self._tails.get(tail)
        if known is None:
            if len(self._tails) >= _CACHED:
                self._tails.clear()
            match = self._format.pattern.match(self._stamp + tail.to_bytes(8, "little").split(b"\n")[0])
            known = self._tails[tail] = match is None or match.end() != self.length
        return known

    def _run_bases(self, words: list[Words]) -> tuple[Instants, Flags, Flags]:
        """Return the readings without seconds and fraction, which are absolute, and which exist at all."""
        keys = [word & mask for word, mask in zip(words, self._keys, strict=True)]
        count = len(keys[0])
        changed: Flags = np.zeros(count, np.bool_)
        changed[0] = True
        for key in keys:
            changed[1:] |= key[1:] != key[:-1]
        run_starts = np.flatnonzero(changed)
        rows = np.stack([key[run_starts] for key in keys], axis=1).tobytes()
        width = 8 * len(keys)
        found = [self._base(rows[place : place + width]) for place in range(0, len(rows), width)]
        lengths = np.diff(np.append(run_starts, count))
        bases = np.repeat(np.array([base for base, _ in found], np.int64), lengths)
        sure = np.repeat(np.array([absolute for _, absolute in found], np.bool_), lengths)
        return bases, sure, bases != NO_INSTANT

    def _base(self, key: bytes) -> tuple[int, bool]:
        known = self._bases.get(key)
        if known is None:
            if len(self._bases) >= _CACHED:
                self._bases.clear()
            text = bytearray(key[: self.length])
            for number in self._numbers:
                text[number.at : number.at + number.digits] = b"0" * number.digits
            match = self._format.pattern.fullmatch(text)
            wall = None if match is None else read_wall(match, self._format.basis)
            known = self._bases[key] = (NO_INSTANT, False) if wall is None else (wall.value, wall.absolute)
        return known

    def _added(self, octets: Octets, at: Places) -> tuple[Instants, npt.NDArray[np.bool_]]:
        """Return what seconds and fraction add, and which seconds there are."""
        total: Instants = np.zeros(len(at), np.int64)
        proper: Flags = np.ones(len(at), np.bool_)
        leap: Flags | None = None
        for number in self._numbers:
            if not number.worth:
                continue
            value: Instants = np.zeros(len(at), np.int64)
            for place in range(number.at, number.at + number.digits):
                value *= 10
                value += octets[at + place] - np.uint8(0x30)
            if number is self._second:
                proper = value <= 60
                leap = value == 60
            value *= number.worth
            total += value
        if leap is not None and leap.any():
            total[leap] = LEAP_SECOND
        return total, proper
