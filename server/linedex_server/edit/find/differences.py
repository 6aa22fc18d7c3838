"""What one line of a file differs in from one line of a search, said so that a caller can mend it.

Promise: characters that look alike or cannot be seen are named by code point; words are quoted, cut to a bound.
"""

from __future__ import annotations

import unicodedata

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from linedex_server.edit.find.slips import BLANKS, indent_of, is_word

_QUOTED = 40
_COMPARED = 1_000
"""Characters that are compared in every way, from the first difference on."""
_ALIKE = 40.0
"""Lines less alike than this are quoted instead of compared."""
_LONE = range(0xD800, 0xE000)


def difference(found: str, searched: str, column: int = 1) -> str:
    """Say what `found` has that `searched` has not: "differs in ... at column 7 (search has ...)".

    Args:
        found: a line of the file, or a part of it, without its end; lone surrogates stand for bytes that do not decode.
        searched: the line of the search.
        column: that of the first character of `found`, 1-based.
    """
    if found == searched:
        return "differs in nothing"
    if found.rstrip(BLANKS) == searched.rstrip(BLANKS):
        ours, theirs = (line[len(found.rstrip(BLANKS)) :] for line in (searched, found))
        return f"differs in blanks at its end: {_blanks(theirs)} (search has {_blanks(ours)})"
    if found.strip(BLANKS) == searched.strip(BLANKS):
        return f"differs in its indentation: {_blanks(indent_of(found))} (search has {_blanks(indent_of(searched))})"
    # a difference in words is told before one in blanks around them, which tolerance settles
    column += len(indent_of(found))
    found, searched = found.strip(BLANKS), searched.strip(BLANKS)
    if fuzz.ratio(found[:_COMPARED], searched[:_COMPARED]) < _ALIKE:
        return f"reads {_quoted(found)} (search has {_quoted(searched)})"
    at = next(
        (number for number, (ours, theirs) in enumerate(zip(found, searched, strict=False)) if ours != theirs),
        min(len(found), len(searched)),
    )
    theirs, ours = found[at : at + _COMPARED], searched[at : at + _COMPARED]
    edits = [edit for edit in Levenshtein.opcodes(theirs, ours) if edit.tag != "equal"]
    more = len(edits) - 1
    first = edits[0]
    left, right = theirs[first.src_start : first.src_end], ours[first.dest_start : first.dest_end]
    shown = left or right
    if not shown.isascii() or shown.isspace() or (left and right and not right.isascii()):
        named = f"{_character(left)} at column {column + at} (search has {_brief(right)})"
    else:
        if any(map(is_word, left + right)):
            left, right = (_word_at(line, at) for line in (found, searched))
        alike = left.casefold() == right.casefold() and left
        how = " in letter case" if alike else ""
        named = f"{_quoted(left)} at column {column + at} (search has {_quoted(right)}{how})"
        more = 0 if left[1:] and found.replace(left, right, 1) == searched else more
    told = f"has {named}" if named.startswith("nothing ") else f"differs in {named}"
    return told + (f" and {more} more" if more > 0 else "")


def point(character: str) -> str:
    """Name a character by code point: `U+00A0 NO-BREAK SPACE`."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" {name}" if name else "")


def _character(text: str) -> str:
    if not text:
        return "nothing"
    if ord(text[0]) in _LONE:
        return "a byte that does not decode"
    return point(text[0])


def _brief(text: str) -> str:
    if not text:
        return "nothing"
    return f"U+{ord(text[0]):04X}" if text[0].isascii() else point(text[0])


def _quoted(text: str) -> str:
    if not text:
        return "nothing"
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")


def _word_at(line: str, at: int) -> str:
    """Return the word around an offset, or the run of other characters from it on."""
    start = end = at
    while start and is_word(line[start - 1]) and at - start < _QUOTED:
        start -= 1
    while end < len(line) and is_word(line[end]) and end - at <= _QUOTED:
        end += 1
    if start < end:
        return line[start:end]
    while end < len(line) and not is_word(line[end]) and line[end] not in BLANKS and end - at <= _QUOTED:
        end += 1
    return line[start:end] or line[at : at + 1]


def _blanks(text: str) -> str:
    if not text:
        return "none"
    if len(set(text)) == 1 and text[0] in " \t":
        kind = "tab" if text[0] == "\t" else "blank"
        return f"{len(text)} {kind}{'s' if len(text) > 1 else ''}"
    odd = [one for one in dict.fromkeys(text) if one not in " \t"]
    return f"{len(text)} blanks, {', '.join(map(point, odd))} among them" if odd else f"{len(text)} tabs and blanks"
