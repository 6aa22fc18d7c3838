"""The head of a definition on one line, as outlines and symbol look-ups show it.

Promise: what was written over several lines reads as if it had been written on one, comments at the ends of lines left
out; an opening bracket or an operator at the end, behind which the value or the body begins, is left out too.
"""

from __future__ import annotations

import re
from typing import Final

LENGTH: Final = 240
"""Code points of a signature."""
_COMMENT: Final = re.compile(r"[ \t]+(?:#|//|--)(?=[ \t!])")
_AFTER_OPENING: Final = re.compile(r"([(\[<])\s*\n\s*")
_BEFORE_CLOSING: Final = re.compile(r",?\s*\n\s*([)\]>])")


def one_line(head: str) -> str:
    """Return a head on one line, at most `LENGTH` code points of it."""
    text = "\n".join(map(_without_comment, head.split("\n")))
    text = _BEFORE_CLOSING.sub(r"\1", _AFTER_OPENING.sub(r"\1", text))
    return " ".join(text.split())[:LENGTH].rstrip(" {:=\\;,([")


def balanced(head: str) -> str:
    """Return the first lines of a text, up to the one with which every bracket that they open is closed."""
    lines = head.split("\n")
    depth = 0
    for count, line in enumerate(map(_without_comment, lines), start=1):
        depth += sum(map(line.count, "([")) - sum(map(line.count, ")]"))
        if depth <= 0:
            return "\n".join(lines[:count])
    return head


def _without_comment(line: str) -> str:
    """Drop the comment at the end of a line, unless it looks as if it stood inside of a string."""
    for comment in _COMMENT.finditer(line):
        before = line[: comment.start()]
        if not (before.count('"') % 2 or before.count("'") % 2):
            return before
    return line
