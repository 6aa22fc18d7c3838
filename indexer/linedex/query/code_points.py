"""Sets of code points as RE2 has them, and where its case folding and Python's part.

RE2 and Python carry Unicode tables of different versions. A letter whose case partner only RE2 knows is equal to it
under `(?i)` and yet folds otherwise: such letters are found here, by asking RE2 itself, so that the planner asks
nothing of them.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from functools import lru_cache
from typing import Any

import numpy as np
import re2

from linedex.content.folding import fold
from linedex.query.syntax import LAST_CODE_POINT

SURROGATES = range(0xD800, 0xE000)
LAST_ASCII = 0x7F
_CASED = 0x20000
"""No script at or past this code point has case."""


def quiet_options(*, never_newline: bool = False) -> Any:
    r"""Return RE2 options: nothing on stderr, no names, and 64 MiB for one pattern.

    RE2's own 8 MiB are too few for `\w{100}` once `\w` is Unicode's.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    options.never_nl = never_newline
    return options


def _characters(low: int, high: int) -> str:
    """Return the code points from `low` up to but not including `high`, without the surrogates."""
    points = np.arange(low, high, dtype="<u4")
    return points[(points < SURROGATES.start) | (points >= SURROGATES.stop)].tobytes().decode("utf-32-le")


@lru_cache(maxsize=64)
def matched_ranges(one_point: str) -> tuple[tuple[int, int], ...]:
    """Return the code points that an RE2 pattern for one code point matches, as (low, high), both included.

    Surrogates are left out. It runs over all 1.1 million code points: some 20 ms, remembered.

    Raises:
        re2.error: RE2 refuses the pattern.
    """
    return _ranges_within(one_point, LAST_CODE_POINT)


@lru_cache(maxsize=1024)
def ascii_ranges(one_point: str) -> tuple[tuple[int, int], ...]:
    """Return the ASCII characters that an RE2 pattern for one code point matches, as `matched_ranges` does all."""
    return _ranges_within(one_point, LAST_ASCII)


def _ranges_within(one_point: str, last: int) -> tuple[tuple[int, int], ...]:
    program = re2.compile(f"(?:{one_point})+".encode(), quiet_options())
    text = _characters(0, last + 1).encode()
    ranges: list[tuple[int, int]] = []
    for match in program.finditer(text):
        start, end = match.span()
        # a code point takes at most four bytes
        low = ord(text[start : start + 4].decode("utf-8", "ignore")[0])
        high = ord(text[max(start, end - 4) : end].decode("utf-8", "ignore")[-1])
        if low < SURROGATES.start <= high:
            ranges.append((low, SURROGATES.start - 1))
            low = SURROGATES.stop
        ranges.append((low, high))
    return tuple(ranges)


@lru_cache(maxsize=1)
def _unstable_letters() -> frozenset[str]:
    """Return the letters Python knows whose case partner it does not know, but RE2 does."""
    known: list[str] = []
    unknown: list[str] = []
    for char in _characters(0x80, _CASED):
        (unknown if unicodedata.category(char) == "Cn" else known).append(char)
    program = re2.compile(f"(?i)[{''.join(unknown)}]+".encode(), quiet_options())
    return frozenset(char for match in program.finditer("".join(known).encode()) for char in match.group().decode())


def folds_alike(char: str) -> bool:
    """Tell whether all that RE2 takes for `char` under `(?i)` is sure to have the same fold."""
    return char.isascii() or (unicodedata.category(char) != "Cn" and char not in _unstable_letters())


@lru_cache(maxsize=1)
def _letters_by_fold() -> dict[bytes, str]:
    groups: dict[bytes, list[str]] = defaultdict(list)
    for char in _characters(0x80, _CASED):
        if not char == char.lower() == char.upper() == char.casefold():
            groups[fold(char.encode())].append(char)
    return {folded: "".join(group) for folded, group in groups.items() if len(group) > 1}


@lru_cache(maxsize=1024)
def case_partners(char: str) -> str:
    """Return the letters that RE2 takes for `char` under `(?i)`, `char` among them."""
    if char.isascii():
        # K has the Kelvin sign, S the long s
        return "".join({char.lower(), char.upper()}) + {"k": "\u212a", "s": "\u017f"}.get(char.lower(), "")
    folded = fold(char.encode())
    candidates = _letters_by_fold().get(folded, char)
    if folded.isascii() and len(folded) == 1:
        candidates += "".join({folded.decode(), folded.decode().upper()})
    if candidates == char:
        return char
    program = re2.compile(f"(?i)\\x{{{ord(char):x}}}".encode(), quiet_options())
    return "".join(each for each in candidates if each == char or program.search(each.encode()))
