"""Levels of log lines: the words, letters and numbers that tell them, and one line's level.

Promise: lower-case words in running text never count; `level_at` tells the level of any line by the first rule that
holds, without having seen another line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final

from linedex.content.logs.formats import HEAD_BYTES

LEVEL_BYTES: Final = 160
"""A level word is looked for in so many bytes after the stamp."""


class Level(IntEnum):
    """How grave a record is; stored as these numbers."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4
    FATAL = 5
    NONE = 7

    @property
    def label(self) -> str:
        """The word for people."""
        return self.name.lower()


SLOTS: Final = 8
"""Length of a table indexed by level."""


class LevelSource(Enum):
    """What a level was read from."""

    PRIORITY = "syslog priority"
    LETTER = "level letter"
    WORD = "level word"
    NUMBER = "level number"
    STATUS = "HTTP status"


@dataclass(frozen=True, slots=True)
class FoundLevel:
    """The level of a line.

    Attributes:
        level: the level.
        source: what it was read from.
        start: its first byte in the text that was given.
        end: the byte after it.
    """

    level: Level
    source: LevelSource
    start: int
    end: int


LEVEL_WORDS: Final = {
    word: level
    for level, words in {
        Level.TRACE: "FINEST FINER TRACE",
        Level.DEBUG: "FINE DEBUG DBG VERBOSE CONFIG",
        Level.INFO: "INFO INFORMATION NOTICE LOG STATEMENT HINT DETAIL INF",
        Level.WARN: "WARN WARNING WRN",
        Level.ERROR: "ERROR ERR SEVERE FAILURE",
        Level.FATAL: "FATAL CRITICAL CRIT ALERT EMERG EMERGENCY PANIC",
    }.items()
    for word in words.split()
}
# `Log`, `Fine`, `Detail`, `Config` begin sentences too often
TITLED: Final = frozenset(
    word.title()
    for word in (
        *("TRACE", "DEBUG", "VERBOSE", "INFO", "INFORMATION", "NOTICE", "WARN", "WARNING"),
        *("ERROR", "SEVERE", "FATAL", "CRITICAL", "ALERT", "EMERGENCY", "PANIC"),
    )
)
LETTERS: Final = {
    ord(letter): level
    for letter, level in {
        "V": Level.DEBUG,
        "D": Level.DEBUG,
        "I": Level.INFO,
        "W": Level.WARN,
        "E": Level.ERROR,
        "F": Level.FATAL,
    }.items()
}
SEVERITIES: Final = (
    Level.FATAL,
    Level.FATAL,
    Level.FATAL,
    Level.ERROR,
    Level.WARN,
    Level.INFO,
    Level.INFO,
    Level.DEBUG,
)
"""By the low three bits of a syslog priority."""

_ANY = "|".join(sorted(LEVEL_WORDS, key=len, reverse=True))
_TITLES = "|".join(sorted(TITLED, key=len, reverse=True))
_UPPER_WORD = rf"(?<![\w./-])(?:{_ANY})(?![\w/-])"
_TITLE_WORD = rf"(?<![\w./-])(?:{_TITLES})(?=[ ,:\]\[])"
_FRAMED_WORD = rf"(?<=[\[<:])(?i:{_ANY})(?=[\]>])"
_VALUE_WORD = rf"(?<=[\"=])(?i:{_ANY})(?=[\"\s,}}])"
_KEY = r"(?<![\w])[\"']?(?i:level|lvl|severity|loglevel)[\"']?\s*[=:]\s*[\"']?"
ANCHORED_WORD: Final = re.compile(f"(?:{_UPPER_WORD}|{_TITLE_WORD}|{_FRAMED_WORD}|{_VALUE_WORD})".encode())
"""A level word that stands alone, to be matched where levels are known to stand."""
_SEARCHED = re.compile(
    (
        rf"{_KEY}(?P<keyed>(?i:{_ANY}))(?!\w)"
        rf"|(?P<upper>{_UPPER_WORD})"
        rf"|[\[<](?:\w+:)?(?P<framed>(?i:{_ANY}))[\]>]"
        rf"|(?P<title>{_TITLE_WORD})"
    ).encode()
)
_NUMBERED = re.compile(rb'"(?:level|severity|PRIORITY)"\s*:\s*"?(?P<number>\d{1,2})(?!\d)')
_PRIORITY = re.compile(rb"<(\d{1,3})>")
_TAGGED = re.compile(rb"\s+\d+\s+\d+\s+([VDIWEF])\s")
_STATUS = re.compile(rb"\]? \"(?:[^\"\\]|\\.){0,8192}\" (?P<status>[1-5]\d\d)(?!\d)")


def level_word(word: bytes) -> Level:
    """Return the level that a word names, in any case."""
    return LEVEL_WORDS[word.decode("ascii").upper()]


def level_number(number: int) -> Level | None:
    """Return the level of a number: 0 to 7 as syslog has it, 10 to 60 as pino and bunyan."""
    if number < len(SEVERITIES):
        return SEVERITIES[number]
    if number < 10 or number > 69:
        return None
    return Level(min(number // 10 - 1, Level.FATAL))


def level_at(
    text: bytes, start: int, end: int, stamp: tuple[int, int], format_name: str, place_name: str
) -> FoundLevel | None:
    """Return the level of the line `text[start:end]` by the first rule that holds, or None.

    Args:
        text: bytes that hold the line.
        start: the line's first byte.
        end: the byte after its content.
        stamp: first byte of its stamp and the byte after it.
        format_name: the stamp's format.
        place_name: the stamp's kind of place.
    """
    begin, after = stamp
    if place_name == "pri" and (match := _PRIORITY.match(text, start, end)):
        return FoundLevel(SEVERITIES[int(match[1]) & 7], LevelSource.PRIORITY, match.start(1), match.end(1))
    if format_name == "glog" and text[begin] in LETTERS:
        return FoundLevel(LETTERS[text[begin]], LevelSource.LETTER, begin, begin + 1)
    if format_name == "android" and (match := _TAGGED.match(text, after, end)):
        return FoundLevel(LETTERS[match[1][0]], LevelSource.LETTER, match.start(1), match.end(1))
    if format_name == "clf" and (match := _STATUS.match(text, after, end)):
        status = match["status"][:1]
        level = Level.ERROR if status == b"5" else Level.WARN if status == b"4" else Level.INFO
        return FoundLevel(level, LevelSource.STATUS, match.start("status"), match.end("status"))
    structured = place_name in {"json", "logfmt"}
    # in JSON and logfmt the level may stand before the time
    low, high = (start, min(end, start + HEAD_BYTES)) if structured else (after, min(end, after + LEVEL_BYTES))
    if structured and (match := _NUMBERED.search(text, low, high)):
        level_found = level_number(int(match["number"]))
        if level_found is not None:
            return FoundLevel(level_found, LevelSource.NUMBER, match.start("number"), match.end("number"))
    if match := _SEARCHED.search(text, low, high):
        group = match.lastgroup or "upper"
        return FoundLevel(level_word(match[group]), LevelSource.WORD, match.start(group), match.end(group))
    return None
