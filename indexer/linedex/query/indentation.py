"""The block around a line by indentation and braces: what stands in for a parser where there is none.

It reads as a person skims: a block opens at a line that deeper ones follow, and ends before the next line that is no
deeper, or with its closing bracket. Control statements are not what is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_TAB: Final = 8
_CONTROL: Final = re.compile(
    r"[})\]\s]*(?:if|elif|elsif|else|for|foreach|while|until|unless|do|switch|case|default|when|match|select|try|catch"
    r"|except|finally|rescue|ensure|with|using|lock|synchronized|begin|return|throw|raise|then)\b"
)
_CLOSES: Final = re.compile(r"[})\]]|end\b|done\b|fi\b|esac\b", re.IGNORECASE)


def block_around(lines: Sequence[str], at: int, depth: int = 1) -> tuple[int, int] | None:
    """Return the first and last index of the `depth`-th block around a line, counted outward; the outermost beyond.

    Args:
        lines: consecutive lines.
        at: index of the line.
        depth: 1 is the innermost block that is no control statement.
    """
    found = None
    left = depth
    for head in _heads_upward(lines, at):
        if _CONTROL.match(lines[head]):
            continue
        found = head
        left -= 1
        if not left:
            break
    if found is None:
        return None
    return found, _last_line(lines, found)


def _indent(line: str) -> int:
    """Return the width of a line's indentation, -1 for a blank line."""
    text = line.lstrip(" \t")
    return len(line[: len(line) - len(text)].expandtabs(_TAB)) if text.strip() else -1


def _heads_upward(lines: Sequence[str], at: int) -> list[int]:
    """Return the lines that open the blocks around line `at`, innermost first."""
    heads = []
    width = _indent(lines[at])
    if width < 0:
        below = (_indent(line) for line in lines[at + 1 :])
        width = next((indent for indent in below if indent >= 0), 0)
    elif _opens(lines, at):
        heads.append(_first_line(lines, at))
        at = heads[-1]
    elif _CLOSES.match(lines[at].lstrip()):
        width += 1  # a closing bracket belongs to the block that opens at its own indentation
    for index in range(at - 1, -1, -1):
        if width == 0:
            break
        indent = _indent(lines[index])
        if 0 <= indent < width:
            width = indent
            if not _CLOSES.match(lines[index].lstrip()) or _opens(lines, index):
                heads.append(_first_line(lines, index))
    return heads


def _opens(lines: Sequence[str], at: int) -> bool:
    """Say whether deeper lines follow line `at`, perhaps after a brace on a line of its own."""
    width = _indent(lines[at])
    for index in range(at + 1, len(lines)):
        indent = _indent(lines[index])
        if indent > width:
            return True
        if indent >= 0 and lines[index].strip() != "{":
            return False
    return False


def _first_line(lines: Sequence[str], head: int) -> int:
    """Return the line above a brace that stands alone, which is what the block is called by."""
    if lines[head].strip() == "{" and head and _indent(lines[head - 1]) == _indent(lines[head]):
        return head - 1
    return head


def _last_line(lines: Sequence[str], head: int) -> int:
    width, last = _indent(lines[head]), head
    for index in range(head + 1, len(lines)):
        indent = _indent(lines[index])
        if indent > width or lines[index].strip() == "{":
            last = index
        elif indent >= 0:
            closed = indent == width and _CLOSES.match(lines[index].lstrip())
            return index if closed else last
    return last
