r"""How a pattern spells characters and sets of them: escapes, `\d`, `\pL`, `[...]`.

Promise: each function reads one such thing where it stands in a pattern, and returns it with the index behind it. What
cannot be read raises `BadPattern` with its position. Nothing here knows of groups, repetitions or what is around it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NoReturn, TypeAlias

from linedex.errors import BadPattern
from linedex.query.char_sets import PERL, POSIX
from linedex.query.syntax import LAST_CODE_POINT, CharClass, Property, PropertyKind, Range

Items: TypeAlias = tuple[Range | Property, ...]
"""What a class holds."""

_CONTROL = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_SETS = {*PERL, "p", "P"}

_HEX_BRACES = re.compile(r"\{([0-9A-Fa-f]+)\}")
_HEX = {
    "x": re.compile(r"([0-9A-Fa-f]{2})"),
    "u": re.compile(r"([0-9A-Fa-f]{4})"),
    "U": re.compile(r"([0-9A-Fa-f]{8})"),
}
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_PROPERTY = re.compile(r"\{(\^?)([^}]*)\}|(.)", re.DOTALL)
_POSIX_ITEM = re.compile(r"\[:(\^?)([^:]*(?::(?!\])[^:]*)*):\]")


def fail(what: str, position: int, hint: str = "") -> NoReturn:
    """Refuse a pattern.

    Args:
        what: what is wrong, as a sentence without full stop.
        position: index of the character at which it is.
        hint: what to do next; to search for plain text if it is left out.

    Raises:
        BadPattern: always.
    """
    where = f"The pattern cannot be read at character {position + 1}: {what}."
    raise BadPattern(where, position, hint or "To search for the text as it stands, turn regex off.")


def names_set(pattern: str, at: int) -> bool:
    r"""Say whether the backslash at `at` begins the name of a set: `\d \s \w \p` or one of their negations."""
    return pattern[at + 1 : at + 2] in _SETS


def is_octal(pattern: str, at: int) -> bool:
    """Say whether the backslash at `at` begins an octal escape, which a back-reference may look like."""
    return _OCTAL.match(pattern, at + 1) is not None


def named_class(pattern: str, at: int, *, fold: bool) -> tuple[CharClass, int]:
    r"""Read a named set at `at` that stands outside of a class.

    Raises:
        BadPattern: the name of a property is unfinished.
    """
    items, end = _named_set(pattern, at)
    match items:
        case (Property(negated=True) as only,):
            # a lone negated one becomes a negated class, which every engine reads faster
            return CharClass((replace(only, negated=False),), negated=True, fold=fold), end
        case _:
            return CharClass(items, fold=fold), end


def _named_set(pattern: str, at: int) -> tuple[Items, int]:
    char = pattern[at + 1]
    if char in PERL:
        return PERL[char], at + 2
    found = _PROPERTY.match(pattern, at + 2)
    if not found or found[3] == "{":
        fail(f"unfinished \\{char}", at)
    name = found[3] or found[2]
    return (Property(name, negated=(char == "P") != bool(found[1])),), found.end()


def escaped_point(pattern: str, at: int) -> tuple[int, int]:
    """Read an escape at `at` that stands for one code point, in a class or outside of one.

    Raises:
        BadPattern: it is none that is known.
    """
    if at + 1 >= len(pattern):
        fail("nothing after the \\", at)
    char = pattern[at + 1]
    if char in _HEX:
        found = _HEX_BRACES.match(pattern, at + 2) or _HEX[char].match(pattern, at + 2)
        digits = found[1].lstrip("0") if found else ""
        if not found or len(digits) > 6 or int(digits or "0", 16) > LAST_CODE_POINT:
            fail(f"bad hexadecimal escape \\{char}", at, "Write \\x41 or \\x{1F600}.")
        return int(digits or "0", 16), found.end()
    if octal := _OCTAL.match(pattern, at + 1):
        return int(octal[0], 8), octal.end()
    if char in _CONTROL:
        return _CONTROL[char], at + 2
    if char.isalnum() or not char.isascii():
        fail(f"unknown escape \\{char}", at)
    return ord(char), at + 2


def char_class(pattern: str, at: int, *, fold: bool) -> tuple[CharClass, int]:
    """Read a class in brackets, which begins at `at`.

    Raises:
        BadPattern: it does not end, or what it holds cannot be read.
    """
    negated = pattern.startswith("^", at + 1)
    first = here = at + 1 + negated
    items: list[Range | Property] = []
    while here < len(pattern) and (pattern[here] != "]" or here == first):
        if posix := _POSIX_ITEM.match(pattern, here):
            items.extend(_posix(posix[2], here, negated=bool(posix[1])))
            here = posix.end()
        elif pattern[here] == "\\" and names_set(pattern, here):
            named, here = _named_set(pattern, here)
            items.extend(named)
        else:
            between, here = _range(pattern, here)
            items.append(between)
    if here >= len(pattern):
        fail("unclosed [", at)
    return CharClass(tuple(items), negated, fold), here + 1


def _posix(name: str, at: int, *, negated: bool) -> Items:
    if name not in POSIX:
        fail(f"unknown class [:{name}:]", at, f"Known are {', '.join(POSIX)}.")
    return (Property(name, negated=True, kind=PropertyKind.POSIX),) if negated else POSIX[name]


def _range(pattern: str, at: int) -> tuple[Range, int]:
    low, end = _class_point(pattern, at)
    high = low
    if pattern.startswith("-", end) and pattern[end + 1 : end + 2] not in {"", "]"}:
        high, end = _class_point(pattern, end + 1)
    if high < low:
        fail(f"range {pattern[at:end]} the wrong way round", at)
    return Range(low, high), end


def _class_point(pattern: str, at: int) -> tuple[int, int]:
    return escaped_point(pattern, at) if pattern[at] == "\\" else (ord(pattern[at]), at + 1)
