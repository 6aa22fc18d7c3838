"""Where the levels of a file stand, and the level of every stamped line of a window.

Promise: `LevelReader.read` tells of each line what `LevelRule.find` gives: the level at the learned anchor, else the
one that `levels.level_at` finds. Lines that vectors do not settle are read by expressions, one by one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from linedex.content.logs.formats import HEAD_BYTES, PRIORITY, only_words
from linedex.content.logs.levels import (
    ANCHORED_WORD,
    LETTERS,
    LEVEL_WORDS,
    SEVERITIES,
    TITLED,
    FoundLevel,
    Level,
    LevelSource,
    level_at,
    level_number,
    level_word,
)
from linedex.content.logs.stamps import StampRule, Stamps
from linedex.content.logs.window import DIGITS, Flags, Octets, Places, Window, Words

Levels: TypeAlias = npt.NDArray[np.uint8]

_ANCHORED_NUMBER = re.compile(rb"\d{1,2}(?!\d)")
_ANCHORED_LETTER = re.compile(rb"(?<=\s)[VDIWEF](?=\s)")


@dataclass(frozen=True, slots=True)
class LevelRule:
    """Where the levels of a file stand.

    Attributes:
        source: what they are read from.
        after_stamp: bytes between stamp and level, if nearly always the same.
        words: words of the line before it, if nearly always the same number.
        inner: bytes of its own word before it, with `words`.
        key: the bytes before it, if only they are nearly always the same.
    """

    source: LevelSource
    after_stamp: int | None = None
    words: int | None = None
    inner: int = 0
    key: str = ""

    def find(self, text: bytes, start: int, end: int, stamp: tuple[int, int], rule: StampRule) -> FoundLevel | None:
        """Return the level of the line `text[start:end]` whose stamp, read by `rule`, spans `stamp`."""
        at: int | None = None
        if self.after_stamp is not None:
            at = stamp[1] + self.after_stamp
        elif self.words is not None:
            before = only_words(self.words).match(text, start, end)
            at = None if before is None else before.end() + self.inner
        elif self.key:
            key = self.key.encode("latin-1")
            found = text.find(key, start, min(end, start + HEAD_BYTES))
            at = None if found < 0 else found + len(key)
        if at is not None:
            if self.source is LevelSource.WORD and (match := ANCHORED_WORD.match(text, at, end)):
                return FoundLevel(level_word(match[0]), self.source, at, match.end())
            if self.source is LevelSource.LETTER and _ANCHORED_LETTER.match(text, at, end):
                return FoundLevel(LETTERS[text[at]], self.source, at, at + 1)
            if self.source is LevelSource.NUMBER and (match := _ANCHORED_NUMBER.match(text, at, end)):
                level = level_number(int(match[0]))
                if level is not None:
                    return FoundLevel(level, self.source, at, match.end())
        return level_at(text, start, end, stamp, rule.format_name, rule.place_name)


@dataclass(frozen=True, slots=True)
class LineLevels:
    """The levels of a window's lines, an entry a line.

    Attributes:
        levels: numbers of `Level`; `NONE` where the line has none.
        at: the first byte of what tells it, -1 where there is none.
    """

    levels: Levels
    at: Places

    @classmethod
    def none(cls, window: Window) -> LineLevels:
        """Return the levels of a window that has none."""
        return cls(np.full(len(window), Level.NONE, np.uint8), np.full(len(window), -1, np.int64))


class LevelReader:
    """Reads the levels of the lines of one format.

    Args:
        rule: where they stand.
        stamp_rule: what reads the stamps of these lines.
    """

    def __init__(self, rule: LevelRule, stamp_rule: StampRule) -> None:
        self.rule = rule
        self._stamp_rule = stamp_rule

    def read(self, window: Window, stamps: Stamps, lines: Flags, told: LineLevels) -> None:
        """Read levels in place.

        Args:
            window: the lines.
            stamps: their stamps.
            lines: those that are read; each has a stamp of the format.
            told: takes their levels.
        """
        levels, at, open_lines = told.levels, told.at, lines.copy()
        if (places := self._places(window, stamps)) is not None:
            clear = np.flatnonzero(open_lines & (places >= 0) & (places < window.ends))
            found = self._at_anchor(window, places[clear])
            settled = clear[found != Level.NONE]
            levels[settled] = found[found != Level.NONE]
            at[settled] = places[settled]
            open_lines[settled] = False
        rest = np.flatnonzero(open_lines)
        for line, start, end, begin, stop in zip(
            rest.tolist(),
            window.starts[rest].tolist(),
            window.ends[rest].tolist(),
            stamps.begins[rest].tolist(),
            stamps.ends[rest].tolist(),
            strict=True,
        ):
            one = self.rule.find(window.text, start, end, (begin, stop), self._stamp_rule)
            if one is not None:
                levels[line], at[line] = one.level, one.start

    def _places(self, window: Window, stamps: Stamps) -> Places | None:
        """Return the byte that tells the level of each line, -1 where it is not settled; None where none is."""
        rule, stamp_rule = self.rule, self._stamp_rule
        if rule.source is LevelSource.PRIORITY:
            return window.starts + 1 if stamp_rule.place_name == PRIORITY.name else None
        if rule.source is LevelSource.LETTER and stamp_rule.format_name == "glog":
            return stamps.begins
        if rule.source is LevelSource.STATUS:
            return _statuses(window, stamps.ends) if stamp_rule.format_name == "clf" else None
        if rule.after_stamp is not None:
            return stamps.ends + rule.after_stamp
        if rule.words is not None:
            at = window.after_words(rule.words)
            return np.where(at >= 0, at + rule.inner, -1)
        return window.after_key(rule.key.encode("latin-1")) if rule.key else None

    def _at_anchor(self, window: Window, at: Places) -> Levels:
        rule, octets = self.rule, window.octets
        if rule.source is LevelSource.PRIORITY:
            return _priorities_at(octets, at)
        if rule.source is LevelSource.STATUS:
            return _BY_STATUS[octets[at]]
        if rule.source is LevelSource.NUMBER:
            return _numbers_at(octets, at)
        if rule.source is LevelSource.LETTER:
            letters = _BY_LETTER[octets[at]]
            if rule.after_stamp is None and rule.words is None:
                return letters
            alone = _BLANK[octets[np.maximum(at - 1, 0)]] & (at > 0) & _BLANK_INSIDE[octets[at + 1]]
            return np.where(alone, letters, np.uint8(Level.NONE))
        return _words_at(window, at)


def _priorities_at(octets: Octets, at: Places) -> Levels:
    """Return the level of the syslog priority at each place, where a stamp's rule has checked its form."""
    value: Places = np.zeros(len(at), np.int64)
    ended: Flags = np.zeros(len(at), np.bool_)
    for ahead in range(3):
        byte = octets[at + ahead]
        ended |= byte == ord(">")
        value = np.where(ended, value, value * 10 + (byte & 15))
    levels: Levels = _SEVERITY_LEVELS[value & 7]
    return levels


def _numbers_at(octets: Octets, at: Places) -> Levels:
    """Return the level of the number of one or two digits at each place."""
    first, second, third = (octets[at + ahead] for ahead in range(3))
    two = DIGITS[second]
    value = np.where(two, (first & 15).astype(np.int64) * 10 + (second & 15), first & 15)
    good = DIGITS[first] & ~(two & DIGITS[third])
    return np.where(good, _BY_NUMBER[value % 100], np.uint8(Level.NONE))


def _statuses(window: Window, stamp_ends: Places) -> Places:
    """Return the HTTP status behind the quoted request that follows each stamp; -1 where it is not plain to see."""
    octets = window.octets
    none: Places = np.full(len(stamp_ends), -1, np.int64)
    quotes: Places = np.flatnonzero(octets[: window.size] == ord('"')).astype(np.int64, copy=False)
    opening = stamp_ends + 2
    bracket = (octets[stamp_ends] == ord("]")) & (octets[stamp_ends + 1] == 0x20) & (octets[opening] == ord('"'))
    if not len(quotes):
        return none
    at = np.searchsorted(quotes, opening, side="right")
    closing = quotes[np.minimum(at, len(quotes) - 1)]
    good = bracket & (at < len(quotes)) & (closing + 4 < window.ends) & (closing - opening <= _REQUEST_BYTES)
    # an escaped quote does not close; one after an escaped backslash does, and is left to the expression
    good &= octets[closing - 1] != ord("\\")
    good &= (octets[closing + 1] == 0x20) & DIGITS[octets[closing + 3]] & DIGITS[octets[closing + 4]]
    good &= ~DIGITS[octets[closing + 5]]
    return np.where(good, closing + 2, none)


def _words_at(window: Window, at: Places) -> Levels:
    """Return the level of the word at each place that `ANCHORED_WORD` takes there; `NONE` also where it is unsure."""
    octets = window.octets
    word = window.words[at]
    folded = word | _BIT_5
    # the high bit of each byte that is no letter: `a` is moved to 0x80, what is after `z` past 0xFF
    letters = ((folded & _LOW_7) + _FROM_A) & ~((folded & _LOW_7) + _AFTER_Z) & ~word & _HIGH
    others = ~letters & _HIGH
    lowest = others & (~others + np.uint64(1))
    kept = word & ((lowest >> np.uint64(7)) - np.uint64(1))
    # eight letters or more: not in the table
    kept[others == 0] = 0
    index = np.minimum(np.searchsorted(_TABLE_WORDS, kept), len(_TABLE_WORDS) - 1)
    known = _TABLE_WORDS[index] == kept
    length = _TABLE_LENGTHS[index]
    before = _CONTEXT[octets[np.maximum(at - 1, 0)]]
    after = _CONTEXT[octets[at + length]]
    forms = _TABLE_FORMS[index]
    taken = (forms & before & (after >> np.uint8(4))) != 0
    return np.where(known & taken, _TABLE_LEVELS[index], np.uint8(Level.NONE))


def _pack(word: str) -> int:
    return int.from_bytes(word.encode(), "little")


_UPPER, _TITLE, _FRAMED, _VALUE = 1, 2, 4, 8


def _contexts() -> npt.NDArray[np.uint8]:
    """Return for each byte which forms of a level word it may stand before (low bits) and after (high bits)."""
    table = np.zeros(256, np.uint8)
    word = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
    for byte in range(256):
        form = 0
        if byte not in word + b"./-":
            form |= _UPPER | _TITLE
        form |= _FRAMED * (byte in b"[<:") | _VALUE * (byte in b'"=')
        behind = 0
        if byte not in word + b"/-":
            behind |= _UPPER
        behind |= _TITLE * (byte in b" ,:][") | _FRAMED * (byte in b"]>") | _VALUE * (byte in b'" \t\r\f\v,}')
        table[byte] = form | behind << 4
    return table


def _table() -> tuple[Words, Levels, Places, Levels]:
    forms: dict[int, tuple[int, int, int]] = {}
    for word, level in LEVEL_WORDS.items():
        if len(word) > 7:
            continue
        for spelled in (word, word.title(), word.lower()):
            form = _FRAMED | _VALUE | _UPPER * (spelled == word) | _TITLE * (spelled in TITLED)
            forms[_pack(spelled)] = (level, len(word), form)
    keys = sorted(forms)
    return (
        np.array(keys, np.uint64),
        np.array([forms[key][0] for key in keys], np.uint8),
        np.array([forms[key][1] for key in keys], np.int64),
        np.array([forms[key][2] for key in keys], np.uint8),
    )


_TABLE_WORDS, _TABLE_LEVELS, _TABLE_LENGTHS, _TABLE_FORMS = _table()
_CONTEXT: Final = _contexts()
_EACH = 0x0101010101010101
_BIT_5, _LOW_7, _HIGH = np.uint64(_EACH * 0x20), np.uint64(_EACH * 0x7F), np.uint64(_EACH * 0x80)
_FROM_A, _AFTER_Z = np.uint64(_EACH * (0x80 - ord("a"))), np.uint64(_EACH * (0x7F - ord("z")))
_BLANK: Final = np.zeros(256, np.bool_)
_BLANK[list(b" \t\r\n\f\v")] = True
_BLANK_INSIDE: Final = _BLANK.copy()
_BLANK_INSIDE[ord("\n")] = False
_BY_LETTER: Final = np.full(256, Level.NONE, np.uint8)
for _letter, _level in LETTERS.items():
    _BY_LETTER[_letter] = _level
_BY_STATUS: Final = np.full(256, Level.NONE, np.uint8)
for _first, _level in zip(b"12345", (Level.INFO, Level.INFO, Level.INFO, Level.WARN, Level.ERROR), strict=True):
    _BY_STATUS[_first] = _level
_BY_NUMBER: Final = np.array(
    [Level.NONE if (_told := level_number(_number)) is None else _told for _number in range(100)], np.uint8
)
_REQUEST_BYTES: Final = 4096
_SEVERITY_LEVELS: Final = np.array(SEVERITIES, np.uint8)
