r"""The replacement text of replace_regex: literal text with references to groups.

Promise: `\1` to `\99`, `\g<1>`, `\g<name>` and `\g<0>` stand for groups, `\\`, `\n` and `\t` for one character each,
and everything else for itself (`$1` and `&` too). What cannot be meant is refused by name before anything is matched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linedex.errors import BadArgument

_REFERENCE = re.compile(r"\\(?:g<([^<>]*)>|([1-9][0-9]?)|(.)|$)", re.DOTALL)
_CHARACTERS = {"\\": "\\", "n": "\n", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Template:
    """A replacement, read.

    Attributes:
        parts: text, and numbers of groups.
    """

    parts: tuple[str | int, ...]

    def expanded(self, groups: Sequence[str]) -> str:
        """Return the text for one match.

        Args:
            groups: the text of each group, that of the whole match first; "" for a group that took no part.
        """
        return "".join(part if isinstance(part, str) else groups[part] for part in self.parts)

    @property
    def refers(self) -> bool:
        """Whether it names any group but the whole match."""
        return any(isinstance(part, int) and part for part in self.parts)


def parsed(replacement: str, groups: int, names: Mapping[str, int]) -> Template:
    r"""Read a replacement.

    Args:
        replacement: as the caller gave it, line ends as `\n`.
        groups: how many groups the pattern has.
        names: the numbers of the named ones.

    Raises:
        BadArgument: it names a group that there is not, or has a backslash before another letter or digit.
    """
    parts: list[str | int] = []
    at = 0
    for found in _REFERENCE.finditer(replacement):
        parts.append(replacement[at : found.start()])
        parts.append(_meaning(found, groups, names))
        at = found.end()
    parts.append(replacement[at:])
    return Template(tuple(part for part in parts if part != ""))


def _meaning(found: re.Match[str], groups: int, names: Mapping[str, int]) -> str | int:
    named, number, character = found.groups()
    if named is not None and not (named.isascii() and named.isdecimal()):
        if named not in names:
            known = f"Its named groups are {', '.join(names)}." if names else "It has no named group."
            raise BadArgument(f"`replacement` names the group {named!r}, which the pattern does not have.", known)
        return names[named]
    if (digits := number or named) is not None:
        # Python refuses to convert very long numbers
        group = int(digits) if len(digits) <= 4 else groups + 1
        if group > groups:
            raise BadArgument(
                f"`replacement` names the group {digits}, and the pattern has {groups}.",
                "Write \\\\ for a backslash that is meant as one.",
            )
        return group
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if character is None or character.isalnum():
        raise BadArgument(
            f"`replacement` has `{found[0]}`, which stands for nothing."
            if character
            else "`replacement` ends with a single backslash.",
            r"Known are \1 to \99, \g<name>, \g<0>, \n, \t and \\ for a backslash.",
        )
    return found[0]
