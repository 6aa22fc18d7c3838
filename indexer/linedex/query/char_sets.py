r"""Sets of code points that patterns have names for: Perl's `\d \s \w` in Unicode, and the ASCII classes of POSIX."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from linedex.query.syntax import LAST_CODE_POINT, Property, PropertyKind, Range

_WORD = Property("w", kind=PropertyKind.WORD)
_NOT_WORD = replace(_WORD, negated=True)
_DIGIT = Property("Nd")
_NOT_DIGIT = Property("Nd", negated=True)
# Unicode's White_Space
_SPACE = (
    Range(0x09, 0x0D),
    Range(0x20, 0x20),
    Range(0x85, 0x85),
    Range(0xA0, 0xA0),
    Range(0x1680, 0x1680),
    Range(0x2000, 0x200A),
    Range(0x2028, 0x2029),
    Range(0x202F, 0x202F),
    Range(0x205F, 0x205F),
    Range(0x3000, 0x3000),
)


def _complement(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """Return the code points outside of `ranges`, which are in order and apart."""
    edges = [-1, *(edge for item in ranges for edge in (item.low, item.high)), LAST_CODE_POINT + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return tuple(Range(low + 1, high - 1) for low, high in gaps if low + 1 <= high - 1)


PERL: Final[dict[str, tuple[Range | Property, ...]]] = {
    "d": (_DIGIT,),
    "D": (_NOT_DIGIT,),
    "s": _SPACE,
    "S": _complement(_SPACE),
    "w": (_WORD,),
    "W": (_NOT_WORD,),
}

POSIX: Final[dict[str, tuple[Range, ...]]] = {
    name: tuple(Range(ord(pair[0]), ord(pair[1])) for pair in pairs)
    for name, pairs in {
        "alnum": ("09", "AZ", "az"),
        "alpha": ("AZ", "az"),
        "ascii": ("\x00\x7f",),
        "blank": ("\t\t", "  "),
        "cntrl": ("\x00\x1f", "\x7f\x7f"),
        "digit": ("09",),
        "graph": ("!~",),
        "lower": ("az",),
        "print": (" ~",),
        "punct": ("!/", ":@", "[`", "{~"),
        "space": ("\t\r", "  "),
        "upper": ("AZ",),
        "word": ("09", "AZ", "__", "az"),
        "xdigit": ("09", "AF", "af"),
    }.items()
}
