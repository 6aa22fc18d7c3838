"""Blocks drawn from sources, and how callers misremember them: with a stale word, or with a slip of format.

Used by the tests of finding and by `scripts/bench/edit_finding.py`. What a change must lead to is worked out from the
block itself; nothing here knows how places are found.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"\b(?:[A-Za-z_]\w{2,}|\d+)\b")
MARK = "linedex_marker"
ADDED = "added();"


@dataclass(frozen=True)
class Block:
    """Some whole lines, `first` to `last` (exclusive, from 0), of a source."""

    name: str
    lines: tuple[str, ...]
    first: int
    last: int

    @property
    def drawn(self) -> list[str]:
        """The lines of the block."""
        return list(self.lines[self.first : self.last])


@dataclass(frozen=True)
class Slipped:
    """A block as a caller misremembers it, what it asks for, and the text that it must lead to."""

    kind: str
    search: str
    replace: str
    expected: str


def draw(name: str, lines: tuple[str, ...], chance: random.Random) -> Block | None:
    """Return a block of 1 to 8 lines that begins and ends with a line that is not empty, or None this time."""
    height = chance.randint(1, 8)
    if len(lines) <= height:
        return None
    first = chance.randrange(len(lines) - height)
    solid = lines[first].strip() and lines[first + height - 1].strip()
    return Block(name, lines, first, first + height) if solid else None


def bare(lines: Sequence[str]) -> list[str]:
    """Return lines without blanks and empty lines: what no slip of format changes."""
    return [stripped for line in lines if (stripped := re.sub(r"\s", "", line))]


def alone(block: Block) -> bool:
    """Tell whether the block, its blanks left out, stands once in its file and says enough to be found."""
    wanted, text = bare(block.drawn), bare(block.lines)
    if sum(map(len, wanted)) < 8 or not any(map(str.isalnum, "".join(wanted))):
        return False
    return stands(wanted, text) == 1


def stands(wanted: Sequence[str], text: Sequence[str]) -> int:
    """Return how often some lines stand in a text one after another; a single one, also as part of a line."""
    if len(wanted) < 2:
        return sum("".join(wanted) in line for line in text)
    return sum(text[at : at + len(wanted)] == wanted for at in range(len(text)) if text[at] == wanted[0])


def stale(block: Block, chance: random.Random) -> str | None:
    """Return the block with one identifier or number changed, or None if that text, but for blanks, is in the file."""
    text = "\n".join(block.drawn)
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return None
    token = chance.choice(tokens)
    if token[0].isdigit():
        other = str(int(token[0]) + chance.choice((1, 2, 7)))
    else:
        known = sorted({found[0] for found in _TOKEN.finditer("\n".join(block.lines)) if not found[0].isdigit()})
        other = chance.choice((token[0] + "s", token[0][:-1], "new_" + token[0], chance.choice(known)))
    changed = text[: token.start()] + other + text[token.end() :]
    # what another place has in the same words is not stale
    known_text = changed in "\n".join(block.lines) or stands(bare(changed.split("\n")), bare(block.lines))
    return None if known_text or not other else changed


Slip = Callable[[list[str], random.Random], list[str]]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _to_blanks(lines: list[str], chance: random.Random) -> list[str]:
    width = chance.choice((4, 8))
    return [_indent(line).expandtabs(width) + line.lstrip() for line in lines]


def _to_tabs(lines: list[str], _chance: random.Random) -> list[str]:
    return [_indent(line).replace("    ", "\t") + line.lstrip() for line in lines]


def _dedented(lines: list[str], _chance: random.Random) -> list[str]:
    solid = [_indent(line) for line in lines if line.strip()]
    common = min(solid, key=len)
    if not all(one.startswith(common) for one in solid):
        return lines
    return [line.removeprefix(common) for line in lines]


def _deeper(lines: list[str], _chance: random.Random) -> list[str]:
    if sum(bool(line.strip()) for line in lines) == 1:
        return lines
    more = "\t" if any(line.startswith("\t") for line in lines) else "    "
    return [more + line if line.strip() else line for line in lines]


def _first_bare(lines: list[str], _chance: random.Random) -> list[str]:
    return [lines[0].lstrip(), *lines[1:]]


def _trailing(lines: list[str], chance: random.Random) -> list[str]:
    return [line.rstrip() + chance.choice(("", " ", "  ", "\t")) if line.strip() else line for line in lines]


def _wider(lines: list[str], chance: random.Random) -> list[str]:
    """Widen blanks between words, where no double quote is on the line."""
    return [
        _indent(line) + re.sub(r" (?=\w)", lambda _: chance.choice((" ", "  ", "\u00a0")), line.lstrip())
        if '"' not in line
        else line
        for line in lines
    ]


def _curly(lines: list[str], chance: random.Random) -> list[str]:
    changed = []
    for line in lines:
        text = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", line) if chance.random() < 0.5 else line
        changed.append(text.replace("'", "\u2019") if chance.random() < 0.5 else text)
    return changed


def _dashes(lines: list[str], _chance: random.Random) -> list[str]:
    return [re.sub(r"(?<=\w)-(?=\w)", "\u2013", line) for line in lines]


def _more_empty(lines: list[str], chance: random.Random) -> list[str]:
    at = chance.randint(1, len(lines)) if len(lines) > 1 else 1
    return [*lines[:at], "", *lines[at:]] if at < len(lines) else lines


def _fewer_empty(lines: list[str], _chance: random.Random) -> list[str]:
    return [line for line in lines if line.strip()]


SLIPS: dict[str, tuple[Slip, ...]] = {
    "indentation": (_to_blanks, _to_tabs, _dedented, _deeper, _first_bare),
    "trailing blanks": (_trailing,),
    "blanks": (_wider,),
    "quotes": (_curly, _dashes),
    "empty lines": (_more_empty, _fewer_empty),
}


def slipped(block: Block, chance: random.Random) -> Slipped | None:
    """Return the block with a slip of format, or None if the slip does not apply to it."""
    kind = chance.choice(sorted(SLIPS))
    slip = chance.choice(SLIPS[kind])
    drawn = block.drawn
    searched = slip(list(drawn), chance)
    if "\n".join(searched) in "\n".join(block.lines):
        return None
    ours = [number for number, line in enumerate(searched) if line.strip()]
    theirs = [number for number, line in enumerate(drawn) if line.strip()]
    which = chance.randrange(len(ours))
    words = list(_TOKEN.finditer(searched[ours[which]]))
    if not words:
        return None
    word = chance.choice(words)
    line = searched[ours[which]]
    changed = line[: word.start()] + MARK + line[word.end() :]
    added = _indent(line) + ADDED
    replaced = [*searched[: ours[which]], changed, added, *searched[ours[which] + 1 :]]
    depth = _indent(drawn[theirs[which]])
    at = block.first + theirs[which]
    # the line after one that lacks its indentation lacks it too: nobody can tell what was meant, so none is added there
    new = [depth + changed.lstrip()]
    if slip is _first_bare and which == 0:
        replaced.remove(added)
    else:
        new.append(depth + ADDED)
    expected = "\n".join((*block.lines[:at], *new, *block.lines[at + 1 :]))
    return Slipped(f"{kind} ({slip.__name__.strip('_')})", "\n".join(searched), "\n".join(replaced), expected)
