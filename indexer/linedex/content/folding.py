"""One text for index and matcher, and one folding for every gram.

`utf8_text` is what the parser sees, `lf_text` what the matcher sees, `fold` what grams are taken from. Folding works
code point by code point, so it commutes with cutting a text at any character boundary and with concatenation: a
literal's folded bytes stand in the folded text wherever the literal stands in the text, in whatever case.
"""

from __future__ import annotations

import unicodedata

from linedex.model import Newline, TextFormat

FOLDING_VERSION = f"1:{unicodedata.unidata_version}"
"""Stored in the sidecar: an index folded under other Unicode tables is rebuilt."""

# RE2 and Python disagree on the Turkish i: to RE2 U+0130 and U+0131 fold to nothing but themselves, to casefold the
# first becomes two code points. Both as plain i loses no hit and costs a few false candidates.
_TURKISH_I = ("\u0130", "\u0131")


def utf8_text(data: bytes, text_format: TextFormat) -> bytes:
    """Return the text of `data` as UTF-8 without BOM; a lone CR ends a line only in CR-only files, where it becomes LF.

    Invalid bytes of a UTF-8 file stay as they are; in other encodings they become U+FFFD. CRLF is kept.
    """
    text = data[text_format.bom :] if text_format.bom else data
    if text_format.encoding != "utf-8":
        text = text.decode(text_format.encoding, "replace").encode("utf-8", "replace")
    return text.replace(b"\r", b"\n") if text_format.newline is Newline.CR else text


def lf_text(data: bytes, text_format: TextFormat) -> bytes:
    """Return `utf8_text` with every line ended by a single LF, which is what patterns are matched against."""
    text = utf8_text(data, text_format)
    if text_format.newline in (Newline.CRLF, Newline.MIXED):
        return text.replace(b"\r\n", b"\n")
    return text


def fold(text: bytes) -> bytes:
    """Return UTF-8 `text` with case removed: texts that RE2 takes for equal under `(?i)` fold to equal bytes."""
    if text.isascii():
        return text.lower()
    decoded = text.decode("utf-8", "replace")
    for letter in _TURKISH_I:  # two replacements: str.translate takes a hundred times as long
        decoded = decoded.replace(letter, "i")
    return decoded.casefold().encode()
