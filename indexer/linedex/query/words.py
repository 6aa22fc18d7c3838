"""A literal as a whole word: found as a literal, then judged by the characters beside it.

RE2 takes 3 ms to compile the two classes of all characters that are of no word, as long as a rare word takes to be
found in a large tree. So the first places that are parts of longer words are looked at one by one.

Promise: the spans are those that RE2 gives for the literal between two characters of no word, or the edges of a line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import re2

from linedex.query.code_points import quiet_options
from linedex.query.dialect import RE2_NOT_WORD
from linedex.query.engines import Engine, Search
from linedex.query.stepping import ByteSpan

PATIENCE = 512
"""Places inside longer words that are looked at one by one; RE2 takes a tenth of the time for each."""
_LONGEST = 4
"""Bytes of a character at most."""


class WordEngine:
    """Finds a literal where it stands as a word of its own.

    Args:
        literal: finds the literal, which must begin and end with a character of a word.
        whole: makes the engine that does all by itself.
        patience: places inside longer words after which that one looks for the rest.
    """

    def __init__(self, literal: Engine, whole: Callable[[], Engine], patience: int = PATIENCE) -> None:
        self._literal = literal
        self._whole = whole
        self._patience = patience

    @cached_property
    def _by_itself(self) -> Engine:
        return self._whole()

    def on(self, text: bytes) -> Search:
        """Return the search of `text`."""
        size = len(text)
        if self._patience < 0:
            return self._by_itself.on(text)
        find, rest = self._literal.on(text), None

        def search(start: int, end: int = size) -> ByteSpan | None:
            nonlocal rest
            while self._patience >= 0:
                span = find(start, end)
                if span is None or _alone(text, *span):
                    return span
                self._patience -= 1
                start = span[0] + 1
            rest = rest or self._by_itself.on(text)
            return rest(start, end)

        return search


def begins_and_ends_as_word(text: str) -> bool:
    """Tell whether the first and the last character of a text are of a word."""
    return not (_of_no_word(text[0].encode()) or _of_no_word(text[-1].encode()))


def _alone(text: bytes, start: int, end: int) -> bool:
    """Tell whether `text[start:end]` has a character of no word, or the edge of a line, on both sides."""
    before, behind = text[max(0, start - _LONGEST) : start], text[end : end + _LONGEST]
    return (_ends_apart(before) or not before) and (_begins_apart(behind) or not behind)


def _ends_apart(before: bytes) -> bool:
    if before[-1:] < b"\x80":
        return _of_no_word(before[-1:])
    return any(_of_no_word(before[-length:]) for length in range(2, len(before) + 1))


def _begins_apart(behind: bytes) -> bool:
    if behind[:1] < b"\x80":
        return _of_no_word(behind[:1])
    return any(_of_no_word(behind[:length]) for length in range(2, len(behind) + 1))


@lru_cache(maxsize=1024)
def _of_no_word(character: bytes) -> bool:
    """Tell whether these bytes are one character, and of no word."""
    return bool(_no_word()(re2._Anchor.ANCHOR_BOTH, character, 0, len(character))[0][0] == 0)


@lru_cache(maxsize=1)
def _no_word() -> Any:
    return re2._re2.RE2(RE2_NOT_WORD.encode(), quiet_options()).Match
