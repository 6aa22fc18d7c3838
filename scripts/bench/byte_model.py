r"""A plain model of files that are edited: bytes, read unit by unit, and written as the rules of edits say.

It shares nothing with the edit engine: a file is decoded character by character, a line end is one unit whose character
is `\n`, and what an edit makes is put together from whole units.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
STRAY = "\ufffd"
"""The character of a byte that does not decode, as callers spell it in an expected text."""
_WIDTHS = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}


@dataclass(frozen=True, slots=True)
class Unit:
    """One position of the text: its bytes, and its character."""

    raw: bytes
    character: str


@dataclass(frozen=True, slots=True)
class Change:
    """Positions `start` to `end` (excluded) become `new`."""

    start: int
    end: int
    new: str


class Modelled:
    """The text of some bytes.

    Attributes:
        mark: the byte order mark.
        encoding: what the bytes are read in: what the mark says, else UTF-8 if they are that, else what is given.
        units: the text's positions.
    """

    def __init__(self, content: bytes, encoding: str) -> None:
        self.mark, self.encoding = next(
            ((mark, name) for mark, name in MARKS if content.startswith(mark)), (b"", encoding)
        )
        body = content[len(self.mark) :]
        single = _narrow(body, self.encoding) if self.encoding not in _WIDTHS else _wide(body, self.encoding)
        self.units = _with_line_ends(single)

    @property
    def text(self) -> str:
        """The characters; `STRAY` for each byte that does not decode."""
        return "".join(unit.character for unit in self.units)

    @property
    def lines(self) -> list[tuple[int, int]]:
        """First position and end (its line end included) of each line."""
        after = [number + 1 for number, unit in enumerate(self.units) if unit.character == "\n"]
        if self.units and (not after or after[-1] != len(self.units)):
            after.append(len(self.units))
        return list(itertools.pairwise([0, *after]))

    @property
    def ends(self) -> list[bytes]:
        """The line ends, in order."""
        return [unit.raw for unit in self.units if unit.character == "\n"]

    @property
    def dominant(self) -> bytes | None:
        """The most frequent line end; LF where there is none, None where two are equally frequent."""
        ends = self.ends
        if not ends:
            return "\n".encode(self.encoding)
        counts = sorted(((ends.count(end), end) for end in set(ends)), reverse=True)
        return None if len(counts) > 1 and counts[0][0] == counts[1][0] else counts[0][1]

    def stray(self, start: int, end: int) -> bool:
        """Tell whether bytes that do not decode stand between two positions."""
        return any(unit.character == STRAY for unit in self.units[start:end])

    def edited(self, changes: Sequence[Change], *, keep_final: bool) -> bytes:
        """Return the bytes after changes that do not overlap, made at once.

        Args:
            changes: in any order; those at one place stay in theirs.
            keep_final: whether the file ends as it did, with a line end or without.

        Raises:
            UnicodeEncodeError: a new character is not in the encoding.
        """
        ordered = sorted(changes, key=lambda one: (one.start, one.end))
        had_final = bool(self.units) and self.units[-1].character == "\n"
        if keep_final and had_final:
            ordered = self._ended(ordered)
        made: list[Unit] = []
        at = 0
        for change in ordered:
            made += self.units[at : change.start]
            made += self._written(change)
            at = change.end
        made += self.units[at:]
        if keep_final and self.units and not had_final:
            while made and made[-1].character == "\n":
                made.pop()
        return self.mark + b"".join(unit.raw for unit in made)

    def _ended(self, ordered: list[Change]) -> list[Change]:
        """Return changes after which a file that ended with a line end does so again."""
        if not ordered or ordered[-1].end < len(self.units):
            return ordered
        text, at = "", 0
        for change in ordered:
            text += self.text[at : change.start] + change.new
            at = change.end
        if not text or text.endswith("\n"):
            return ordered
        last = ordered[-1]
        return [*ordered[:-1], Change(last.start, last.end, last.new + "\n")]

    def _written(self, change: Change) -> list[Unit]:
        old = [unit.raw for unit in self.units[change.start : change.end] if unit.character == "\n"]
        line = sum(unit.character == "\n" for unit in self.units[: change.start])
        above = self.ends[max(0, line - 1)] if self.ends else b""
        units = []
        for character in change.new:
            if character == "\n":
                above = old.pop(0) if old else self.dominant or above
                units.append(Unit(above, "\n"))
            else:
                units.append(Unit(character.encode(self.encoding), character))
        return units


def _narrow(body: bytes, encoding: str) -> list[Unit]:
    found = []
    at = 0
    while at < len(body):
        for size in (1, 2, 3, 4):
            try:
                character = body[at : at + size].decode(encoding)
            except UnicodeDecodeError:
                continue
            if len(character) == 1 and at + size <= len(body):
                found.append(Unit(body[at : at + size], character))
                at += size
                break
        else:
            found.append(Unit(body[at : at + 1], STRAY))
            at += 1
    return found


def _wide(body: bytes, encoding: str) -> list[Unit]:
    width = _WIDTHS[encoding]
    found = []
    at = 0
    while at < len(body):
        for size in (width, 4):
            try:
                character = body[at : at + size].decode(encoding)
            except UnicodeDecodeError:
                continue
            found.append(Unit(body[at : at + size], character))
            at += size
            break
        else:
            found += [Unit(body[byte : byte + 1], STRAY) for byte in range(at, min(at + width, len(body)))]
            at += width
    return found


def _with_line_ends(single: Sequence[Unit]) -> list[Unit]:
    line_feeds = any(unit.character == "\n" for unit in single)
    found: list[Unit] = []
    for unit in single:
        if unit.character == "\n" and found and found[-1].character == "\r":
            found[-1] = Unit(found[-1].raw + unit.raw, "\n")
        elif unit.character == "\r" and not line_feeds:
            found.append(Unit(unit.raw, "\n"))
        else:
            found.append(unit)
    return found


def whole(content: str, encoding: str, end: str, *, mark: bool = False) -> bytes:
    """Return the bytes of a whole new text with one kind of line end."""
    found = next((one for one, name in MARKS if name == encoding), b"") if mark else b""
    return found + content.replace("\n", end).encode(encoding)
