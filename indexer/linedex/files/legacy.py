"""Legacy encodings: the best guess for text that is neither UTF-8 nor UTF-16.

Promise: the answer is a Python codec that leaves ASCII bytes alone and decodes the sample, or None when the sample is
no text. Where the evidence is thin the answer is cp1252, or latin-1 when the sample has bytes cp1252 lacks.

chardet 7 does the guessing; its confidence was measured on text in 24 encodings, from one line up: right answers have
0.12 or more, wrong ones stay below 0.09 once rare encodings (cp862, cp865, iso8859-15 ...) are left out of the race.
For multi-byte encodings 0.06 is enough, since a wrong one seldom decodes at all.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from linedex.later import later

if TYPE_CHECKING:
    import chardet
else:
    chardet = later("chardet")

_MULTI_BYTE = frozenset({"big5hkscs", "cp932", "cp949", "euc_jis_2004", "gb18030"})
_CANDIDATES = (
    "big5hkscs",
    "cp437",
    "cp850",
    "cp866",
    "cp874",
    "cp932",
    "cp949",
    "cp1250",
    "cp1251",
    "cp1252",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp1258",
    "euc-jp",
    "euc-kr",
    "gb18030",
    "iso8859-2",
    "iso8859-5",
    "iso8859-7",
    "koi8-r",
    "koi8-u",
    "mac-roman",
    "shift_jis",
    "tis-620",
)
# in these the bytes of a backslash and a tilde are a yen sign and an overline, and `\\` is written as two bytes
_WITH_ASCII = {"shift_jis_2004": "cp932", "shift_jisx0213": "cp932"}
_CONFIDENCE = 0.10
_CONFIDENCE_MULTI_BYTE = 0.06
_EXAMINED = 200_000


def legacy_encoding(sample: bytes) -> str | None:
    """Return the codec for a sample of a file that is not UTF-8, or None when chardet sees a binary format in it."""
    guess = chardet.detect(
        sample,
        max_bytes=_EXAMINED,
        prefer_superset=True,
        compat_names=False,
        include_encodings=_CANDIDATES,
    )
    if guess["encoding"] is None:
        return None
    encoding = _WITH_ASCII.get(name := codecs.lookup(guess["encoding"]).name, name)
    needed = _CONFIDENCE_MULTI_BYTE if encoding in _MULTI_BYTE else _CONFIDENCE
    if guess["confidence"] >= needed and encoding != "ascii" and _decodes(sample, encoding):
        return encoding
    return "cp1252" if _decodes(sample, "cp1252") else "latin-1"


def _decodes(sample: bytes, encoding: str) -> bool:
    try:
        sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
