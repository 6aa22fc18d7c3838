"""Globs as regular expressions, in the dialect that people know from gitignore and shells."""

from __future__ import annotations

import re


def glob_pattern(glob: str, *, by_line: bool = False) -> str:
    """Return the regular expression of a glob, without anchors; `**` goes over folders, `*` and `?` do not.

    `[abc]`, `[!abc]` and `{a,b}` are taken; anything else stands for itself.

    Args:
        glob: the glob.
        by_line: whether it is looked for in a text with a path on each line; else a name may hold a line feed.
    """
    others = r"^/\n" if by_line else "^/"
    parts: list[str] = []
    braces = 0
    at = 0
    while at < len(glob):
        rest = glob[at:]
        character = rest[0]
        if rest.startswith("**/"):
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
