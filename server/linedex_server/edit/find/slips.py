r"""What a line of a search may differ in from the line of the file that it means, as an RE2 pattern.

Promise: the pattern of a line matches the line itself, and what differs from it only in the width and kind of blanks
outside double quotes and in typographic quotes, dashes and no-break spaces against ASCII. A blank between two word
characters stays a blank, and none appears where there was none; the same between characters that one operator is made
of, so `+ +x` is not `++x`. Letters, digits and operators are never tolerated.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

BLANKS = " \t\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
"""What counts as a blank. The ideographic space is left out: full-width forms are never tolerated."""
BLANK = r"[ \t\x{a0}\x{2000}-\x{200a}\x{202f}\x{205f}]"
WORD = r"[\pL\pN\pM_]"
NOT_WORD = r"[^\pL\pN\pM_]"

_SINGLE = "\u2018\u2019\u201a\u201b"
_DOUBLE = "\u201c\u201d\u201e\u201f"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
TYPOGRAPHIC = {**dict.fromkeys(_SINGLE, "'"), **dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_DASHES, "-")}
"""Typographic characters and what is typed for them."""
_TO_ASCII = str.maketrans(TYPOGRAPHIC)
WITHOUT_BLANKS = str.maketrans(dict.fromkeys(BLANKS))

OPERATORS = "+-*/%&|^<>=!~?:.@"
_ONE_TOKEN = frozenset({"/*", "*/", "<-", "?.", "*)", "(*"})
_CLOSES_OPERATOR = "=>"


def is_word(character: str) -> bool:
    """Tell whether a character belongs to words: a letter, a digit, a mark or `_`."""
    return character == "_" or unicodedata.category(character)[0] in "LNM"


def indent_of(line: str) -> str:
    """Return the blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip(BLANKS))]


def line_pattern(line: str, *, quoted: bool = False) -> str:
    """Return the RE2 pattern of `line` without the blanks at its ends.

    Args:
        line: at least one character of it is no blank.
        quoted: whether its beginning stands between double quotes.
    """
    parts: list[str] = []
    before, gap, inside, escaped = "", False, quoted, False
    for character in line.strip(BLANKS):
        if inside:
            parts.append(_pattern(character))
            closes = TYPOGRAPHIC.get(character, character) == '"' and not escaped
            escaped = character == "\\" and not escaped
            inside, before, gap = not closes, character, False
        elif character in BLANKS:
            gap = True
        else:
            if before:
                parts.append(_between(before, character, gap=gap))
            parts.append(_pattern(character))
            inside = TYPOGRAPHIC.get(character, character) == '"' and (gap or before != "\\")
            before, gap = character, False
    return "".join(parts)


def ends_quoted(text: str) -> bool:
    """Tell whether what follows `text` on its line stands between double quotes."""
    inside, escaped = False, False
    for character in text:
        if TYPOGRAPHIC.get(character, character) == '"' and not escaped:
            inside = not inside
        escaped = character == "\\" and not escaped
    return inside


def differences(found: str, searched: str) -> frozenset[str]:
    """Name what two lines that match by `line_pattern` differ in: "blanks", "quotes"; indentation is not looked at."""
    named = set()
    ours, theirs = found.lstrip(BLANKS), searched.lstrip(BLANKS)
    if ours.translate(WITHOUT_BLANKS) != theirs.translate(WITHOUT_BLANKS):
        named.add("quotes")
    if ours.translate(_TO_ASCII) != theirs.translate(_TO_ASCII):
        named.add("blanks")
    return frozenset(named)


def _between(before: str, after: str, *, gap: bool) -> str:
    if (is_word(before) and is_word(after)) or _joins(before, after):
        return f"{BLANK}+" if gap else ""
    return f"{BLANK}*"


@lru_cache(maxsize=4096)
def _joins(before: str, after: str) -> bool:
    """Tell whether a blank between two characters, not both of words, makes other tokens of them."""
    if before in "\\$" or before + after in _ONE_TOKEN:
        return True
    if before in OPERATORS and (after == before or after in _CLOSES_OPERATOR):
        return True
    return (before == "." and after.isdigit()) or (after == "." and before.isdigit())


@lru_cache(maxsize=4096)
def _pattern(character: str) -> str:
    if character in "'\"-":
        others = "".join(one for one, typed in TYPOGRAPHIC.items() if typed == character)
        return f"[{others}\\{character}]"
    if character in TYPOGRAPHIC:
        return f"[{character}\\{TYPOGRAPHIC[character]}]"
    if character in " \u00a0":
        return r"[ \x{a0}]"
    if not character.isascii() or character.isalnum() or character == "_":
        return character
    return f"\\x{{{ord(character):x}}}"
