"""The places of a text that a search most resembles, for the explanation of a miss; nothing is ever written there.

Promise: at most a few places, best first, in well under a second for 10 MB. Words of the search that are rare in the
text vote for the line where it would begin; only the lines with most votes are compared by similarity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz

from linedex_server.edit.find.slips import BLANKS

_WORDS = re.compile(rb"[\w\x80-\xff]{3,}")
_COUNTED_WORDS = 64
_SOUGHT_WORDS = 16
"""Words looked for; one that is not in 10 MB costs 4 ms."""
_RARE_WORDS = 8
_FEW_WORDS = 3
_PLACES = 3_000
"""A word with as many places is common."""
_COMPARED = 24
"""Most places that are compared by similarity."""
_COMPARED_CHARACTERS = 4_000
"""How much of a search is compared: the time grows with its square."""
_PART_CHARACTERS = 1_000
"""How much of it is compared with the parts of a line: 4,000 characters took 0.7 s a line."""
_SPREAD = 3
"""Votes count for as many lines beside, since empty lines may be missing or extra."""
_LEAST_SCORE = 50.0
_UNINDENTED = 0.95
"""What likeness without the blanks around lines counts, so that the same with them is nearer."""


@dataclass(frozen=True, slots=True)
class Near:
    """A place that resembles a search.

    Attributes:
        line: where it begins, counted from 0 in the text.
        lines: the lines that stand there, as many as the search has, fewer at the text's end.
        score: similarity of the first characters of both, 0 to 100.
    """

    line: int
    lines: tuple[str, ...]
    score: float


def nearest(encoded: bytes, searched: Sequence[str], most: int = 3) -> tuple[Near, ...]:
    """Return the places that resemble a search, best first; none overlap.

    Args:
        encoded: the text in UTF-8, lone surrogates passed through.
        searched: the lines of the search.
        most: how many places to give.
    """
    starts = _line_starts(encoded)
    wanted, unindented = "\n".join(searched)[:_COMPARED_CHARACTERS], _unindented(searched)
    scored: list[Near] = []
    least = _LEAST_SCORE
    for line in _candidates(encoded, starts, searched):
        found = _lines(encoded, starts, line, len(searched))
        score = max(
            fuzz.ratio("\n".join(found)[:_COMPARED_CHARACTERS], wanted, score_cutoff=least),
            # short lines would differ in little else than their indentation
            _UNINDENTED * fuzz.ratio(_unindented(found), unindented, score_cutoff=min(100.0, least / _UNINDENTED)),
        )
        if len(searched) == 1 and score < least:
            # the search may be a part of a long line
            score = 0.9 * fuzz.partial_ratio(
                wanted[:_PART_CHARACTERS], found[0][:_COMPARED_CHARACTERS], score_cutoff=min(99.0, least / 0.9)
            )
        if score < least:
            continue
        scored.append(Near(line, found, score))
        scored = _apart(scored, len(searched))[:most]
        if len(scored) == most:
            least = scored[-1].score
    return tuple(scored)


def _unindented(lines: Sequence[str]) -> str:
    return "\n".join(line.strip(BLANKS) for line in lines)[:_COMPARED_CHARACTERS]


def _apart(scored: list[Near], height: int) -> list[Near]:
    kept: list[Near] = []
    for near in sorted(scored, key=lambda one: (-one.score, one.line)):
        if all(abs(near.line - other.line) >= height for other in kept):
            kept.append(near)
    return kept


def _line_starts(encoded: bytes) -> npt.NDArray[np.int64]:
    ends = np.flatnonzero(np.frombuffer(encoded, np.uint8) == ord("\n"))
    return np.concatenate((np.zeros(1, np.int64), ends + 1))


def _lines(encoded: bytes, starts: npt.NDArray[np.int64], line: int, height: int) -> tuple[str, ...]:
    first = int(starts[line])
    last = line + height
    end = int(starts[last]) - 1 if last < len(starts) else len(encoded)
    # one long line is compared by its beginning
    return tuple(encoded[first:end].decode("utf-8", "surrogatepass").split("\n"))


def _candidates(encoded: bytes, starts: npt.NDArray[np.int64], searched: Sequence[str]) -> list[int]:
    """Return the lines where the search most likely begins, most votes first."""
    cast = np.zeros(len(starts) + 2 * _SPREAD, np.float32)
    for places, number in _rare_words(encoded, searched):
        lines = np.unique(np.searchsorted(starts, places, side="right") - 1 - number)
        cast[lines[lines >= 0] + _SPREAD] += 1 / (1 + np.log2(len(places)))
    votes = cast[_SPREAD:-_SPREAD].copy()
    for shift in range(2 * _SPREAD + 1):
        votes += cast[shift : shift + len(starts)] / 2
    # selecting among 300,000 lines of which nearly all have no vote takes numpy 0.2 s
    voted = np.flatnonzero(votes)
    return [int(line) for line in voted[np.argsort(-votes[voted], kind="stable")[:_COMPARED]]]


def _rare_words(encoded: bytes, searched: Sequence[str]) -> list[tuple[npt.NDArray[np.int64], int]]:
    """Return where words of the search stand that the text has, but not all over, as (places, line of the search)."""
    first: dict[bytes, int] = {}
    for number, line in enumerate(searched):
        for word in _WORDS.findall(line[:_COMPARED_CHARACTERS].encode("utf-8", "surrogatepass")):
            first.setdefault(word, number)
        if len(first) > _COUNTED_WORDS:
            break
    # long words are rare, and a word that is not costs little: its places are given up early
    words = sorted(first, key=len, reverse=True)
    rare, common = _sought(encoded, words, first)
    if len(rare) < _FEW_WORDS:
        # misspelt words: their halves may be right
        halves = [half for word in words for half in (word[: len(word) // 2], word[len(word) // 2 :]) if len(half) > 2]
        whole = {half: first[word] for word in words for half in (word[: len(word) // 2], word[len(word) // 2 :])}
        more, more_common = _sought(encoded, halves, whole)
        rare, common = rare + more, common + more_common
    return rare or common


def _sought(
    encoded: bytes, words: Sequence[bytes], line_of: Mapping[bytes, int]
) -> tuple[list[tuple[npt.NDArray[np.int64], int]], list[tuple[npt.NDArray[np.int64], int]]]:
    """Return (places, line of the search) of the first words that are rare, and of those that are not."""
    rare: list[tuple[npt.NDArray[np.int64], int]] = []
    common: list[tuple[npt.NDArray[np.int64], int]] = []
    for word in words[:_SOUGHT_WORDS]:
        places = np.fromiter(_places(encoded, word), np.int64)
        if len(places):
            (rare if len(places) < _PLACES else common).append((places, line_of[word]))
        if len(rare) == _RARE_WORDS:
            break
    return rare, common


def _places(encoded: bytes, word: bytes) -> Iterator[int]:
    at = encoded.find(word)
    for _ in range(_PLACES):
        if at < 0:
            return
        yield at
        at = encoded.find(word, at + len(word))
