"""Settings in JSON as people keep them: with comments and trailing commas, changed in one place only.

Promise: `with_member` returns the same text but for the one member that was asked for, in the manner of what stands
around it; every comment and blank stays. What is no JSON is refused with the line where it goes wrong, never mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linedex.errors import BadArgument

_BLANKS = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*(?:(?!\*/)[^\n])*\*/)*(?://[^\n]*)?(?=\r?\n|\Z)")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Value:
    """A value and where it stands in the text.

    Attributes:
        start: offset of its first character.
        end: offset after its last one.
        held: what it is in Python.
        members: of an object, its values by name, in order; None for all other values.
    """

    start: int
    end: int
    held: Any
    members: Mapping[str, Value] | None = None


def parsed(text: str) -> Value:
    """Return the one value that `text` holds.

    Raises:
        BadArgument: it is no JSON, not even with comments and trailing commas.
    """
    value = _value(text, _after_blanks(text, 0), 0)
    end = _after_blanks(text, value.end)
    if end != len(text):
        raise _wrong(text, end, "something stands behind the end")
    return value


def with_member(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return `text` in which the object at `path` has the members of `entry`; others that it has stay as they are.

    Args:
        text: JSON whose top is an object; "" counts as an empty one.
        path: names of the objects around the members, outermost first; those that are missing are made.
        entry: the members.

    Raises:
        BadArgument: the text is no JSON, or something at `path` is no object.
    """
    if not text.strip():
        return json.dumps(_nested(path, entry), indent=2, ensure_ascii=False) + "\n"
    at = parsed(text)
    for depth, name in enumerate(path):
        members = _object(at, path[:depth])
        if name not in members:
            return _added(text, at, name, _nested(path[depth + 1 :], entry))
        at = members[name]
    for name, wanted in entry.items():
        there = _object(at, path).get(name)
        if there is None:
            text = _added(text, at, name, wanted)
        elif there.held != wanted:
            text = text[: there.start] + _spelled(text, there.start, wanted) + text[there.end :]
        at = parsed(text)
        for step in path:
            at = _object(at, path)[step]
    return text


def _object(value: Value, path: Sequence[str]) -> Mapping[str, Value]:
    if value.members is None:
        where = ".".join(path) or "the whole"
        raise BadArgument(f"{where} is no object, so nothing can be added to it.", "Mend it by hand.")
    return value.members


def _nested(path: Sequence[str], entry: Mapping[str, Any]) -> Any:
    for name in reversed(path):
        entry = {name: entry}
    return entry


# writing


def _added(text: str, parent: Value, name: str, value: Any) -> str:
    """Return `text` with a last member more in the object `parent`."""
    assert parent.members is not None
    line_end = "\r\n" if "\r\n" in text else "\n"
    outer = _indent_at(text, parent.end - 1)
    inner = outer + _unit(text, parent, outer)
    spread = "\n" in text[parent.start : parent.end] or not parent.members
    member = f"{json.dumps(name, ensure_ascii=False)}: "
    if not spread:
        member += json.dumps(value, ensure_ascii=False)
        last = list(parent.members.values())[-1]
        return f"{text[: last.end]}, {member}{text[last.end :]}"
    member += json.dumps(value, indent=inner.removeprefix(outer) or 2, ensure_ascii=False).replace("\n", f"\n{inner}")
    member = member.replace("\n", line_end)
    if not parent.members:
        before = text[: parent.end - 1].rstrip(" \t")
        before = before if before.endswith("\n") else before + line_end
        return f"{before}{inner}{member}{line_end}{outer}{text[parent.end - 1 :]}"
    last_end = list(parent.members.values())[-1].end
    comma = _after_blanks(text, last_end)
    trailing = text[comma] == ","
    head = text[: comma + 1] if trailing else text[:last_end] + ","
    rest_from = comma + 1 if trailing else last_end
    # a comment behind the last member stays on its line
    rest = _REST_OF_LINE.match(text, rest_from)
    kept_to = rest.end() if rest else rest_from
    tail = text[kept_to:]
    if not tail.startswith(("\n", "\r\n")):
        tail = f"{line_end}{outer}{tail.lstrip()}"
    return f"{head}{text[rest_from:kept_to]}{line_end}{inner}{member}{',' if trailing else ''}{tail}"


def _spelled(text: str, start: int, value: Any) -> str:
    """Return a value as it is written at an offset of `text`; lists of texts stay on one line."""
    if isinstance(value, Mapping):
        return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + _indent_at(text, start))
    return json.dumps(value, ensure_ascii=False)


def _indent_at(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, parent: Value, outer: str) -> str:
    """Return by how much members of an object stand further in than the object, as far as the text shows."""
    for value in (parent.members or {}).values():
        inner = _indent_at(text, value.start)
        if inner.startswith(outer) and inner != outer:
            return inner.removeprefix(outer)
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found and not outer else "\t" if "\t" in outer else "  "


# reading


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    assert blanks is not None  # it matches nothing, too
    return blanks.end()


def _value(text: str, at: int, depth: int) -> Value:
    if depth > _DEEPEST:
        raise _wrong(text, at, "values stand too deep in one another")
    match text[at : at + 1]:
        case "{":
            return _read_object(text, at, depth)
        case "[":
            return _read_list(text, at, depth)
        case '"':
            return _read_string(text, at)
    word = _WORD.match(text, at)
    if word is None:
        raise _wrong(text, at, "a value is missing")
    try:
        return Value(at, word.end(), json.loads(word[0]))
    except json.JSONDecodeError:
        raise _wrong(text, at, f"`{word[0][:40]}` is no value") from None


def _read_string(text: str, at: int) -> Value:
    found = _STRING.match(text, at)
    if found is None:
        raise _wrong(text, at, "a text does not end on its line")
    try:
        return Value(at, found.end(), json.loads(found[0]))
    except json.JSONDecodeError as error:
        raise _wrong(text, at + error.pos, "a text holds an escape that is none") from None


def _read_list(text: str, at: int, depth: int) -> Value:
    items = []
    here = _after_blanks(text, at + 1)
    while text[here : here + 1] != "]":
        item = _value(text, here, depth + 1)
        items.append(item.held)
        here = _next(text, item.end, "]")
    return Value(at, here + 1, items)


def _read_object(text: str, at: int, depth: int) -> Value:
    members: dict[str, Value] = {}
    here = _after_blanks(text, at + 1)
    while text[here : here + 1] != "}":
        if text[here : here + 1] != '"':
            raise _wrong(text, here, "the name of a member is missing")
        name = _read_string(text, here)
        if name.held in members:
            raise _wrong(text, here, f"`{name.held}` stands there twice")
        colon = _after_blanks(text, name.end)
        if text[colon : colon + 1] != ":":
            raise _wrong(text, colon, "a colon is missing")
        members[name.held] = _value(text, _after_blanks(text, colon + 1), depth + 1)
        here = _next(text, members[name.held].end, "}")
    return Value(at, here + 1, {key: value.held for key, value in members.items()}, members)


def _next(text: str, at: int, close: str) -> int:
    """Return where the next item begins, or the end of all."""
    here = _after_blanks(text, at)
    if text[here : here + 1] == ",":
        return _after_blanks(text, here + 1)
    if text[here : here + 1] != close:
        raise _wrong(text, here, f"a comma or `{close}` is missing")
    return here


def _wrong(text: str, at: int, what: str) -> BadArgument:
    line = text.count("\n", 0, at) + 1
    return BadArgument(f"line {line} is no JSON: {what}.", "Mend it first; nothing was written.")
