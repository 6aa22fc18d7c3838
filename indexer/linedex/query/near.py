"""Lines that nearly hold a text: what is shown when there is no exact hit.

Promise: similarity is rapidfuzz's `partial_ratio` of the case-folded code points, that of the pattern to the best
stretch of the line as long as the pattern, 1.0 when they are equal; a line shorter than the pattern is compared whole,
so that a scrap of the pattern is not taken for it. Near lines are a hint and never count as hits. The work is bounded:
some 40 MB/s, ended after a given time, and a line over 64 KiB is no line of text and is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from rapidfuzz import fuzz, process

_LONGEST_LINE = 64 << 10
_SLICE = 256 << 10
"""Bytes compared in one call, which holds the interpreter lock ..."""
_SHORT_PATTERN = 100
"""... with a pattern up to this length; a longer one takes time by the square of its length and more."""
LONGEST_PATTERN = 2_000
"""Code points; a longer pattern has no near lines. One of this length takes 0.1 s a line, one of 10,000 takes 11 s."""


class NearMatch(NamedTuple):
    """A line like the pattern, in byte offsets of the text, ends not included; `similarity` is 0 to 1."""

    line_start: int
    line_end: int
    match_start: int
    match_end: int
    similarity: float


def near(text: bytes, pattern: str, threshold: float, *, seconds: float = 3.0) -> Iterator[NearMatch]:
    """Yield the lines of `text` whose similarity to `pattern` is at least `threshold`, in order.

    Args:
        text: UTF-8 bytes, lines ended by LF.
        pattern: a literal; of one with several lines, the first that is not blank. One over `LONGEST_PATTERN` is like
            no line.
        threshold: least similarity, over 0 and up to 1.
        seconds: time after which it ends with what it has; time the caller takes between two lines is not counted.
    """
    wanted = next((line for line in pattern.splitlines() if line.strip()), "").casefold()
    if len(wanted) > LONGEST_PATTERN:
        return
    cutoff = threshold * 100
    slice_bytes = int(_SLICE * min(1.0, (_SHORT_PATTERN / max(len(wanted), 1)) ** 2))
    start, spent = 0, 0.0
    while wanted and start < len(text) and spent < seconds:
        before = perf_counter()
        end = text.find(b"\n", start + slice_bytes) + 1 or len(text)
        lines = text[start:end].split(b"\n")
        scores = _scores(lines, wanted, cutoff)
        found: list[NearMatch] = []
        position = at = 0
        for index in np.flatnonzero(scores >= cutoff).tolist():
            position += sum(map(len, lines[at:index])) + index - at
            at = index
            found.append(_placed(lines[index], start + position, wanted, float(scores[index])))
        spent += perf_counter() - before
        yield from found
        start = end


def _scores(lines: list[bytes], wanted: str, cutoff: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return the similarity of each line, 0 to 100, 0 for what is under the cutoff."""
    folded = [_decoded(line).casefold() if len(line) <= _LONGEST_LINE else "" for line in lines]
    long = [line if len(line) >= len(wanted) else "" for line in folded]
    short = [line if len(line) < len(wanted) else "" for line in folded]
    in_part = process.cdist([wanted], long, scorer=fuzz.partial_ratio, score_cutoff=cutoff, dtype=np.float32)
    whole = process.cdist([wanted], short, scorer=fuzz.ratio, score_cutoff=cutoff, dtype=np.float32)
    best: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = np.maximum(in_part[0], whole[0])
    return best


def _placed(line: bytes, start: int, wanted: str, score: float) -> NearMatch:
    """Find where in its line a near match stands."""
    original = _decoded(line)
    folded = original.casefold()
    first, last = 0, len(folded)
    if last >= len(wanted):
        # just under the score that is known: at exactly it, rounding could hide the place
        alignment = fuzz.partial_ratio_alignment(wanted, folded, score_cutoff=max(score - 0.1, 0.0))
        if alignment:
            first, last = alignment.dest_start, alignment.dest_end
    if len(folded) != len(original):
        # some letters fold to two or three: count in the original
        sizes = np.cumsum([len(char.casefold()) for char in original])
        first = int(np.searchsorted(sizes, first, "right"))
        last = int(np.searchsorted(sizes, last, "left")) + 1
    return NearMatch(
        start,
        start + len(line),
        start + len(original[:first].encode("utf-8", "surrogateescape")),
        start + len(original[:last].encode("utf-8", "surrogateescape")),
        round(score / 100, 4),
    )


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
