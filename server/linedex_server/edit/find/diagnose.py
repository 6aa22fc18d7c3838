"""Why a search is not in a file: the explanation of a miss.

Promise: nothing here writes or decides anything. What is said is true of the text that was looked at; a miss in 10 MB
is explained within a second. The plain reasons come first (line numbers pasted in, text already replaced, letter case,
escapes, wrapping, a wrong decoding), then the places that resemble the search, with the code points that differ.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import re2
from rapidfuzz import fuzz

from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import Text
from linedex_server.edit.errors import TooLarge
from linedex_server.edit.find.differences import difference
from linedex_server.edit.find.mojibake import readings
from linedex_server.edit.find.nearest import Near, nearest
from linedex_server.edit.find.occurrences import Windows
from linedex_server.edit.find.slips import BLANKS, WITHOUT_BLANKS, is_word
from linedex_server.edit.find.tolerant import lines_of
from linedex_server.edit.find.verdicts import Nearby

LOOKED_AT = 8 << 20
"""How much of a file that is not held whole is looked at if no rare word of the search stands in it."""
_RARE_WORDS = 4
"""Words of the search that are looked for in all of such a file: 1 ms for each MB."""
_RARE = 8
"""Lines that may have the rarest of them; what is around each is looked at."""
_AROUND = 1_000
"""Lines looked at around a line that the caller names."""
_AROUND_WORD = 20
_NEAREST = 3
_CONTENT = 100
_LINE = 2_000
_LINES = 1_000
_WORD = re.compile(r"\w{5,}")
_WOBBLE = 16
"""How far from where similarity aligns a part of a line its ends may lie, in characters."""
_PATTERN = 20_000
"""Longest search, in characters, that is compared by a pattern of its own."""
_FEWEST_CHARACTERS = 6
"""A replacement of fewer characters that are no blanks is found anywhere, which says nothing."""
_NUMBERED = re.compile(r"^[ \t]*(\d{1,9})(?:\t|[:|→] ?|[-] ?| \| ?)")
_OMITTED = re.compile(
    r"^\W*(?:\.\.\.|…)\W*$|^\W*(?:\.\.\.|…)?.*\b(?:existing|rest of|remaining|unchanged) (?:the )?code\b"
)
_LONGEST_OMISSION = 500
"""A longer line stands for no code that was left out; the pattern takes time by the square of the line's length."""
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", r"\\": "\\"}
_ESCAPE = re.compile(r"""\\[nt"'\\]""")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a search was missed.

    Attributes:
        reason: what is known for certain, a clause, or "".
        hint: what to do next.
        nearest: places that resemble the search, best first.
    """

    reason: str = ""
    hint: str = ""
    nearest: tuple[Nearby, ...] = ()


def explained(document: Document, search: str, replace: str, *, line: int | None = None) -> Explanation:
    """Say why `search` has no place in a document, neither exactly nor by tolerance.

    Args:
        document: a text.
        search: its line ends are newlines.
        replace: what was to stand there.
        line: where the caller expects it.
    """
    searched = lines_of(search)
    near: list[tuple[Near, int]] = []
    try:
        for text in _looked_at(document, searched, line):
            encoded = text.text.encode("utf-8", "surrogatepass")
            stated = _stated(text, encoded, search, replace)
            near += [(one, text.first_line) for one in nearest(encoded, searched, _NEAREST)]
            if stated:
                return Explanation(*stated, _nearby(near, searched))
    except TooLarge:
        hint = "Give the text exactly as the file has it."
        return Explanation("some lines are too long to be compared", hint, _nearby(near, searched))
    places = _nearby(near, searched)
    if any(len(one) <= _LONGEST_OMISSION and _OMITTED.match(one) for one in searched):
        return Explanation(
            "it has a line that stands for code left out", "Give the lines as they are in the file.", places
        )
    if places:
        return Explanation("", f"Copy line {places[0].line:,} from read_content.", places)
    return Explanation("", "Search for a word of it with search_content, and copy the lines from read_content.")


def _around(document: Document, line: int, height: int) -> Text:
    total = document.total_lines
    line = min(line, total)
    while True:
        try:
            return document.lines(max(1, line - height), min(total, line + height))
        except TooLarge:
            if not height:
                raise
            height //= 8


def nearby(line: int, found: str, searched: str, similarity: float) -> Nearby:
    """Return what is told of a line that resembles a line of the search.

    Args:
        line: its number.
        found: what it says.
        searched: the line of the search.
        similarity: of the whole place, 0 to 1.
    """
    content = found[:_CONTENT] + ("…" if len(found) > _CONTENT else "")
    return Nearby(line, content, similarity, _differs(found, searched))


def _looked_at(document: Document, searched: Sequence[str], line: int | None) -> Iterator[Text]:
    if document.fits:
        yield document.whole
        return
    height = len(searched)
    if line is not None:
        yield _around(document, line, _AROUND + height)
        return
    words = {word for one in searched[:_LINES] for word in _WORD.findall(one[:_LINE])}
    longest = sorted(words, key=lambda word: (-len(word), word))[:_RARE_WORDS]
    found = Windows(document).rarest(longest, _RARE)
    for number in found or ():
        yield _around(document, number, _AROUND_WORD + height)
    if found:
        return
    seen = 0
    for window in document.windows(height):
        yield window
        seen = window.end
        if seen >= LOOKED_AT:
            return


def _nearby(near: Sequence[tuple[Near, int]], searched: Sequence[str]) -> tuple[Nearby, ...]:
    found: dict[int, Nearby] = {}
    for one, first_line in sorted(near, key=lambda pair: -pair[0].score):
        number = _telling(one.lines, searched)
        theirs = one.lines[number] if number < len(one.lines) else ""
        line = first_line + one.line + number
        found.setdefault(line, nearby(line, theirs, searched[number], one.score / 100))
    return tuple(found.values())[:_NEAREST]


def _telling(found: Sequence[str], searched: Sequence[str]) -> int:
    """Return the line that tells most of why two places differ: the first whose difference is not one of blanks."""
    pairs = list(zip(found, searched, strict=False))
    for number, (theirs, ours) in enumerate(pairs):
        if theirs.translate(WITHOUT_BLANKS) != ours.translate(WITHOUT_BLANKS):
            return number
    if len(found) < len(searched):
        return len(found)
    return next((number for number, (theirs, ours) in enumerate(pairs) if theirs != ours), 0)


def _differs(found: str, searched: str) -> str:
    """Say what a line differs in, or the part of it that the search resembles if that is much more alike."""
    theirs, ours = found[:_LINE], searched[:_LINE]
    if not ours.strip(BLANKS) or not theirs.strip(BLANKS):
        return difference(theirs, ours)
    part = fuzz.partial_ratio_alignment(ours, theirs)
    if (
        part is None
        or len(theirs) <= len(ours)
        or fuzz.ratio(ours.strip(BLANKS), theirs.strip(BLANKS)) > 0.9 * part.score
    ):
        return difference(theirs, ours)
    starts = _token_borders(theirs, part.dest_start)
    ends = _token_borders(theirs, part.dest_end)
    spans = [(start, end) for start in starts for end in ends if start < end]

    def like(span: tuple[int, int]) -> tuple[int, float]:
        # ends that are equal frame what differs, where similarity alone would leave it out
        ends_alike = (theirs[span[0]] == ours[0]) + (theirs[span[1] - 1] == ours[-1])
        return ends_alike, fuzz.ratio(theirs[slice(*span)], ours)

    start, end = max(spans, key=like, default=(0, len(theirs)))
    return difference(theirs[start:end], ours, start + 1)


def _token_borders(line: str, near: int) -> list[int]:
    """Return the offsets near one at which no word is cut."""
    offsets = range(max(0, near - _WOBBLE), min(len(line), near + _WOBBLE) + 1)
    return [at for at in offsets if not (0 < at < len(line) and is_word(line[at - 1]) and is_word(line[at]))]


def _stated(text: Text, encoded: bytes, search: str, replace: str) -> tuple[str, str] | None:
    """Return what is certain about a miss in this text: the reason, and what to do."""

    def line_of(other: str) -> int | None:
        at = text.text.find(other) if other and other != search else -1
        return None if at < 0 else text.line_at(at)

    bare = _without_numbers(search)
    if bare is not None:
        line = line_of(bare)
        if line or "\n" in bare:
            where = f"; without them it fits line {line:,}" if line else ""
            return f"it has the line numbers of an answer pasted in{where}", "Give the lines without their numbers."
    solid = [one for one in replace if one not in BLANKS and one != "\n"]
    if len(solid) >= _FEWEST_CHARACTERS and any(map(is_word, solid)) and (line := line_of(replace)):
        return f"its replacement already stands in line {line:,}", "It may have been applied before."
    for other, what in _spellings(search):
        if line := line_of(other):
            return f"it fits line {line:,} but for {what}", "Give the text as the file has it."
    for reading in readings(search, replace):
        if line := line_of(reading.old):
            return (
                f"it fits line {line:,} but for its encoding: {reading.told('it')}",
                f"Copy line {line:,} from read_content.",
            )
    if line := _by_pattern(text, encoded, "(?i)" + re2.escape(search), search):
        return f"it fits line {line:,} but for letter case", f"Copy line {line:,} from read_content."
    words = search.split()
    if len(words) > 2 and (line := _by_pattern(text, encoded, r"\s+".join(map(re2.escape, words)), search)):
        return (
            f"it has the words of line {line:,} wrapped otherwise",
            f"Copy the lines from line {line:,} on from read_content.",
        )
    return None


def _spellings(search: str) -> Iterator[tuple[str, str]]:
    """Yield (how the file may spell it, what the search has done to it)."""
    yield html.unescape(search), "HTML entities in the search, which the file does not have"
    yield html.escape(search, quote=False), "HTML entities, which the file has"
    yield _ESCAPE.sub(lambda found: _ESCAPES[found[0]], search), "escapes with a backslash in the search"
    yield search.replace("\\", "\\\\"), "backslashes, which the file doubles"
    yield search.replace("\r", "\n"), "a lone carriage return in the search"
    stripped = "\n".join(line.rstrip(BLANKS) for line in lines_of(search))
    yield stripped, "blanks at line ends in the search"
    yield search.strip("\n" + BLANKS), "what stands before or behind it in the search"


def _without_numbers(search: str) -> str | None:
    """Return the search without line numbers pasted in, or None if not every line has one and they do not rise."""
    numbers, bare = [], []
    for line in lines_of(search):
        if not line.strip(BLANKS):
            bare.append(line)
            continue
        found = _NUMBERED.match(line)
        if not found:
            return None
        numbers.append(int(found[1]))
        bare.append(line[found.end() :])
    rising = all(after > before for before, after in itertools.pairwise(numbers))
    return "\n".join(bare) if numbers and rising else None


def _by_pattern(text: Text, encoded: bytes, pattern: str, search: str) -> int | None:
    if len(search) > _PATTERN:
        return None
    program = _program(pattern)
    start = program.Match(re2._Anchor.UNANCHORED, encoded, 0, len(encoded))[0][0] if program else -1
    return None if start < 0 else text.first_line + encoded.count(b"\n", 0, start)


def _program(pattern: str) -> Any | None:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    program = re2._re2.RE2(pattern.encode(), options)
    return program if program.ok() else None
