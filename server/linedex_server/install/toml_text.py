"""Settings in TOML, changed in one table only.

Promise: `with_table` returns the same text but for the keys of the one table that was asked for; comments, order and
all else stay. The result is read again and compared before it is returned: where a table is spelled in a way that
cannot be changed so, it is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from linedex.errors import BadArgument

_HEADER = re.compile(r"[ \t]*\[")


def with_table(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return `text` in which the table at `path` has the keys of `entry`; other keys that it has stay as they are.

    Args:
        text: TOML.
        path: the table's name, part by part; bare keys only.
        entry: texts and lists of texts.

    Raises:
        BadArgument: the text is no TOML, or the table is spelled in a way that cannot be changed.
    """
    before = _parsed(text)
    wanted = _merged(before, path, entry)
    if wanted == before:
        return text
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    first = _header_line(lines, path)
    if first is None:
        body = "".join(f"{key} = {_spelled(value)}{line_end}" for key, value in entry.items())
        gap = "" if not text else line_end if text.endswith("\n") else line_end * 2
        made = f"{text}{gap}[{'.'.join(path)}]{line_end}{body}"
    else:
        made = "".join(_with_keys(lines, first, entry, line_end))
    if _parsed(made, made=True) != wanted:
        raise _unusual(path)
    return made


def _parsed(text: str, *, made: bool = False) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if made:
            return {}
        raise BadArgument(f"it is no TOML: {error}.", "Mend it first; nothing was written.") from None


def _merged(before: Mapping[str, Any], path: Sequence[str], entry: Mapping[str, Any]) -> dict[str, Any]:
    if not path:
        return {**before, **entry}
    there = before.get(path[0], {})
    if not isinstance(there, dict):
        raise _unusual(path)
    return {**before, path[0]: _merged(there, path[1:], entry)}


def _header_line(lines: Sequence[str], path: Sequence[str]) -> int | None:
    name = r"[ \t]*\.[ \t]*".join(rf"(?:{re.escape(part)}|\"{re.escape(part)}\"|'{re.escape(part)}')" for part in path)
    header = re.compile(rf"[ \t]*\[[ \t]*{name}[ \t]*\][ \t]*(?:#.*)?\r?\n?\Z")
    return next((number for number, line in enumerate(lines) if header.match(line)), None)


def _with_keys(lines: list[str], header: int, entry: Mapping[str, Any], line_end: str) -> list[str]:
    lines = list(lines)
    if not lines[header].endswith("\n"):
        lines[header] += line_end
    for key, value in entry.items():
        line = f"{key} = {_spelled(value)}{line_end}"
        at = _key_line(lines, header, key)
        if at is None:
            lines.insert(header + 1, line)
            continue
        end = _value_end(lines, at)
        if tomllib.loads("".join(lines[at:end])) != {key: value}:
            lines[at:end] = [line]
    return lines


def _key_line(lines: Sequence[str], header: int, key: str) -> int | None:
    pattern = re.compile(rf"[ \t]*(?:{key}|\"{key}\"|'{key}')[ \t]*=")
    for number in range(header + 1, len(lines)):
        if pattern.match(lines[number]):
            return number
        if _HEADER.match(lines[number]):
            return None
    return None


def _value_end(lines: Sequence[str], at: int) -> int:
    """Return the line after the value that begins at line `at`: where what was read so far is whole."""
    for end in range(at + 1, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[at:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return at + 1


def _spelled(value: Any) -> str:
    # JSON's escapes are those of TOML's basic strings
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _unusual(path: Sequence[str]) -> BadArgument:
    return BadArgument(
        f"`{'.'.join(path)}` is spelled there in a way that cannot be changed safely.",
        "Change it by hand; nothing was written.",
    )
