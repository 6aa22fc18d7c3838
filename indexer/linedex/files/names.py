r"""File names as text: every name, UTF-8 or not, has one spelling that a person can read and a program can turn back.

Promise: `parse(display(name)) == name` for all bytes, and `display` never lets a name move the cursor, reverse the
reading direction or hide text on a terminal. What cannot stand as it is becomes `\xHH`, two hex digits a byte; only a
backslash that would read as such an escape is itself escaped.
"""

from __future__ import annotations

import re
import unicodedata

from linedex.errors import BadArgument

_ESCAPE = re.compile(rb"\\x([0-9A-Fa-f]{2})")
_READS_AS_ESCAPE = re.compile(r"\\(?=x[0-9A-Fa-f]{2})")
_FORGING_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# The joiners are format characters too, but Persian, Indic scripts and emoji need them to be read at all.
_JOINERS = frozenset({"\u200c", "\u200d"})


def display(name: bytes) -> str:
    r"""Return `name` as text that is safe to print and that `parse` turns back into the same bytes.

    Bytes that are not UTF-8, control characters, line separators, bidirectional and other format characters become
    `\xHH`, and so does a backslash that stands before `xHH`.
    """
    text = name.decode("utf-8", "surrogateescape")
    if text.isprintable():
        return text if "\\" not in text else _READS_AS_ESCAPE.sub(r"\\x5c", text)
    text = _READS_AS_ESCAPE.sub(r"\\x5c", text)
    return "".join(_escaped(character) if _forges(character) else character for character in text)


def parse(text: str) -> bytes:
    r"""Return the bytes of the name that `display` shows as `text`; `\xHH` in it stands for one byte.

    Raises:
        BadArgument: `text` holds half of a surrogate pair, which no name can spell.
    """
    try:
        spelled = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise BadArgument(
            f"The path holds half of a surrogate pair at character {error.start + 1}, so it names no file.",
            r"Write bytes that are not UTF-8 as \xHH, as listings show them.",
        ) from error
    if b"\\x" not in spelled:
        return spelled
    return _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), spelled)


def _forges(character: str) -> bool:
    return unicodedata.category(character) in _FORGING_CATEGORIES and character not in _JOINERS


def _escaped(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
