"""Globs as regular expressions, in the dialect that people know from gitignore and shells.

Promise: a glob is run by RE2, so that its time is linear in the name whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import re2

from linedex.errors import BadArgument
from linedex.query.code_points import quiet_options

LONGEST_GLOB: Final = 1_000
"""Code points; a path has some 4,000 at most, a name 255."""


def glob_pattern(glob: str, *, by_line: bool = False) -> str:
    """Return the regular expression of a glob, without anchors; `**` goes over folders, `*` and `?` do not.

    `[abc]`, `[!abc]` and `{a,b}` are taken; anything else stands for itself.

    Args:
        glob: the glob.
        by_line: whether it is looked for in a text with a path on each line; else a name may hold a line feed.

    Raises:
        BadArgument: it is longer than `LONGEST_GLOB`.
    """
    if len(glob) > LONGEST_GLOB:
        raise BadArgument(
            f"The glob has {len(glob):,} characters; at most {LONGEST_GLOB:,} are taken.",
            "Use a shorter one; several of them are several calls.",
        )
    others = r"^/\n" if by_line else "^/"
    parts: list[str] = []
    braces = 0
    at = 0
    while at < len(glob):
        rest = glob[at:]
        character = rest[0]
        if rest.startswith("**/"):
            # a run of them means what one does
            if not parts or parts[-1] != "(?:.*/)?":
                parts.append("(?:.*/)?")
            at += 3
            continue
        if rest.startswith("**"):
            parts.append(".*")
            at += 2
            continue
        closing = rest.find("]", 2)
        if character == "[" and closing > 0:
            inside = rest[1:closing]
            negated = inside[0] in "!^"
            inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[negated:])
            parts.append(f"[{others}{inside}]" if negated else f"[{inside}]")
            at += closing + 1
            continue
        if character == "{" and "}" in rest:
            braces += 1
            parts.append("(?:")
        elif character == "}" and braces:
            braces -= 1
            parts.append(")")
        elif character == "," and braces:
            parts.append("|")
        else:
            parts.append({"*": f"[{others}]*", "?": f"[{others}]"}.get(character) or re.escape(character))
        at += 1
    return "".join(parts)


def unreadable(glob: str, reason: str) -> BadArgument:
    """Return the error to raise for a glob whose pattern RE2 refuses with `reason`."""
    # RE2 quotes its own form of the glob behind the colon
    return BadArgument(
        f"{glob!r} is no glob that can be read: {reason.partition(':')[0]}.", "Use *, **, ?, [abc] and {a,b}."
    )


def path_test(globs: Iterable[str]) -> Callable[[bytes], bool]:
    """Return what tells whether a path, given with a slash before it, fits one of some globs.

    A glob without a slash is matched against the name, one with a slash against the path; `**` crosses folders, and a
    slash at the end takes all that is below a folder.

    Raises:
        BadArgument: a glob is too long or cannot be read.
    """
    globs = tuple(globs)
    options = quiet_options()
    options.dot_nl = True
    options.never_capture = True
    # stray bytes of names are given to RE2 as the surrogates that stand for them
    pattern = "|".join(map(_anchored, globs)).encode("utf-8", "surrogatepass")
    program: Any = re2._re2.RE2(pattern, options)
    if not program.ok():
        raise unreadable(", ".join(globs), program.error().decode("utf-8", "replace"))
    match, anchored = program.Match, re2._Anchor.ANCHOR_START

    def test(path: bytes) -> bool:
        if not path.isascii():
            path = path.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")
        start: int = match(anchored, path, 0, len(path))[0][0]
        return start >= 0

    return test


def _anchored(glob: str) -> str:
    """Return a pattern for `/` + path."""
    if "/" not in glob:
        return rf"/(?:.*/)?{glob_pattern(glob)}\z"
    return rf"/{glob_pattern(glob.strip('/'))}{'/.*' if glob.endswith('/') else ''}\z"
