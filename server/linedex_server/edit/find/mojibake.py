"""Mojibake: text that was decoded by one encoding although it is in another, recovered only where that is certain.

Promise: a recovery is offered only if exactly one reading of the text fits the file. Only `replace_literal` writes by
it; finding names it in the explanation of a miss.
"""

from __future__ import annotations

import itertools
import locale
import sys
from collections.abc import Callable
from dataclasses import dataclass

from linedex_server.edit.errors import NotPlaced

_SHOWN = {"utf-8": "UTF-8", "gb18030": "GB18030", "cp1252": "Windows-1252"}


@dataclass(frozen=True, slots=True)
class Recovery:
    """Texts as they were meant.

    Attributes:
        old: what the caller's old text means.
        new: what the new text means.
        decoded_as: the encoding that somebody decoded it by.
        meant: the encoding that it is in.
    """

    old: str
    new: str
    decoded_as: str
    meant: str

    def told(self, parameter: str) -> str:
        """Say it of the text of a parameter: "old_text had been decoded as GB18030; it is UTF-8"."""
        return f"{parameter} had been decoded as {shown(self.decoded_as)}; it is {shown(self.meant)}"


def shown(encoding: str) -> str:
    """Return the name of an encoding as people write it."""
    return _SHOWN.get(encoding, encoding)


def encodings() -> tuple[str, ...]:
    """Return the encodings that texts get confused between here: the system's ANSI code page is the last."""
    usual = ("utf-8", "gb18030", "cp1252")
    ansi = locale.getencoding().lower() if sys.platform == "win32" else "utf-8"
    return usual if ansi in usual else (*usual, ansi)


def readings(old: str, new: str, among: tuple[str, ...] | None = None) -> tuple[Recovery, ...]:
    """Return what two texts mean if the same wrong decoding happened to both; none for texts in ASCII.

    Args:
        old: as the caller gave it.
        new: as the caller gave it; if it does not convert strictly by a pair of encodings, that pair gives nothing.
        among: the encodings to pair, `encodings()` unless given.
    """
    if old.isascii():
        return ()
    found: dict[tuple[str, str], Recovery] = {}
    for wrong, right in itertools.permutations(among or encodings(), 2):
        try:
            meant = Recovery(old.encode(wrong).decode(right), new.encode(wrong).decode(right), wrong, right)
        except UnicodeError:
            continue
        if meant.old != old:
            found.setdefault((meant.old, meant.new), meant)
    return tuple(found.values())


def recovered(old: str, new: str, fits: Callable[[str], bool], among: tuple[str, ...] | None = None) -> Recovery | None:
    """Return what two texts mean, or None if no reading of `old` fits.

    Args:
        old: it is not in the file as it stands, and line ends are newlines.
        new: what is to stand there.
        fits: tells whether a text stands in the file exactly as often as it must.
        among: the encodings to pair, `encodings()` unless given.

    Raises:
        NotPlaced: two readings fit and differ.
    """
    found = [reading for reading in readings(old, new, among) if fits(reading.old)]
    if len(found) > 1:
        told = " or ".join(f"{shown(one.decoded_as)} for {shown(one.meant)}" for one in found)
        raise NotPlaced(
            f"The old text does not occur as it is, and may have been decoded in more than one wrong way: {told}.",
            "Copy the text from read_content.",
        )
    return found[0] if found else None
