"""Chinese text in GB18030 that happens to be valid UTF-8 as well, or most of which is, as a few words may be.

Promise: UTF-8 wins but where it would be read as a jumble. All characters beyond ASCII have to be common Chinese ones
when read as GB18030, and when read as UTF-8 every word of them has to mix alphabets, as no language does: 学习 is then
Cyrillic and Greek. A longer Chinese text is not valid UTF-8: only 682 of the 3,755 common characters could be part of
it. Where not all bytes are valid UTF-8, text that is pairs of bytes throughout is no UTF-8 with stray bytes.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

_ASCII = bytes(range(0x80))
# what is both a character of GB2312's first level and a character of UTF-8 in two bytes
_BOTH = re.compile(rb"(?:[\xc2-\xd7][\xa1-\xbf])+")
_PAIRS = re.compile(rb"(?:[\x00-\x7f]+|(?:[\xa1-\xfe]{2})+)*+")
_TWO_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]")
_FEW_PAIRS = 12
"""So few may be valid UTF-8 for the most part by chance."""
_FIRST_LETTER = 0xC3
_WORDS = re.compile(r"[^\W\d_]+")


def reads_better_as_gb18030(content: bytes) -> bool:
    """Tell whether `content`, valid UTF-8 with characters beyond ASCII, is rather GB18030."""
    beyond = content.translate(None, _ASCII)
    if not _BOTH.fullmatch(beyond):
        return False
    # below À there are signs, which make no words; most files are told by their first word: an author's name
    letters = [content.index(lead) for lead in set(beyond) if lead >= _FIRST_LETTER]
    met = False
    for word in _WORDS.finditer(content[min(letters, default=len(content)) :].decode()):
        mixed = "" if word[0].isascii() else _beyond_ascii(word[0])
        if mixed and not _mixes_alphabets(mixed):
            return False
        met |= bool(mixed)
    return met


def reads_in_pairs(content: bytes) -> bool:
    """Tell whether `content`, which is not valid UTF-8, may be in GB2312 or one of the EUCs, by all of its bytes.

    Of short Chinese text a sixth of all characters are valid UTF-8 by chance, but UTF-8 with some stray bytes among
    it is hardly ever pairs throughout: most of its characters have a byte under A1, and a stray byte stands alone.
    Where it is (`ä` all over, and two stray bytes) it is longer, and most pairs are characters of UTF-8.
    """
    if _PAIRS.fullmatch(content) is None:
        return False
    pairs = len(content.translate(None, _ASCII)) // 2
    return pairs <= _FEW_PAIRS or 4 * len(_TWO_BYTES.findall(content)) < 3 * pairs


def _beyond_ascii(word: str) -> str:
    # below À stand the micro sign and two ordinals, which go with any alphabet
    return "".join(letter for letter in word if letter >= "\u00c0")


def _mixes_alphabets(letters: str) -> bool:
    # names begin with the alphabet: "CYRILLIC SMALL LETTER LITTLE YUS"
    alphabets = [unicodedata.name(letter, "UNASSIGNED").split()[0] for letter in letters]
    return any(before != after for before, after in itertools.pairwise(alphabets))
