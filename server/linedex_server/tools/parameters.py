"""Parameters of tools: what they accept, how they are described, how a mistake in one is named.

Promise: `taken` returns every parameter of a tool with its value or default, or refuses the call naming the parameter
that is unknown, missing or mistyped, inside an item of a list too. A number or a truth value may come as text (`"20"`,
`"true"`), since models send them so; a text is never read as anything but itself: `"null"` stays that word. `null`
means "not given", but where a kind has a meaning of its own for it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from linedex.errors import BadArgument

Schema: TypeAlias = dict[str, Any]

_WHOLE = re.compile(r"-?[0-9]{1,18}")

REQUIRED: Any = object()
"""The default of a parameter that has none."""


class Unusable(Exception):
    """A value is not of its parameter's kind; the text says what is needed."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: its JSON Schema, and the function that takes one or says in `Unusable` what is needed.

    Where `null` is a value, `take` gets it as any other; elsewhere it means that the parameter was not given.
    """

    schema: Mapping[str, Any]
    take: Callable[[object], object]
    null_is_a_value: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool; `about` is for the model."""

    name: str
    kind: Kind
    about: str
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        """Whether every call must give it."""
        return self.default is REQUIRED


class Given:
    """The parameters of one call, each known to be of its kind."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        """Return a text."""
        value = self._values[name]
        assert isinstance(value, str)
        return value

    def maybe_text(self, name: str) -> str | None:
        """Return a text, or None when it was not given."""
        return None if self._values[name] is None else self.text(name)

    def whole(self, name: str) -> int:
        """Return a whole number."""
        value = self._values[name]
        assert isinstance(value, int)
        return value

    def maybe_whole(self, name: str) -> int | None:
        """Return a whole number, or None when it was not given."""
        return None if self._values[name] is None else self.whole(name)

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        value = self._values[name]
        assert isinstance(value, bool)
        return value

    def maybe_flag(self, name: str) -> bool | None:
        """Return a truth value, or None when it was not given."""
        return None if self._values[name] is None else self.flag(name)

    def ranges(self, name: str) -> tuple[tuple[int, int, str], ...] | None:
        """Return line ranges, or None when they were not given."""
        value = self._values[name]
        assert value is None or isinstance(value, tuple)
        return value

    def records(self, name: str) -> tuple[Given, ...]:
        """Return the items of a list of objects."""
        value = self._values[name]
        assert isinstance(value, tuple)
        return value


WORDS = 200
"""Longest time, level or other word, in characters."""
NAME = 1_000
"""Longest name or glob."""
PATH = 10_000
"""Longest path; the system takes some 4,096 bytes, and a name that is not UTF-8 is written longer."""


def text(longest: int | None = PATH) -> Kind:
    """Return the kind of a text of up to `longest` characters, None for those whose bound is not a parameter's."""

    def take(value: object) -> object:
        if not isinstance(value, str):
            raise Unusable("a text is needed: put it in quotes")
        if longest is not None and len(value) > longest:
            raise Unusable(f"it has {len(value):,} characters, and at most {longest:,} are taken")
        return value

    return Kind({"type": "string"}, take)


def whole(least: int, most: int | None = None) -> Kind:
    """Return the kind of a whole number from `least` to `most`, both included."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most:,}"

    def take(value: object) -> object:
        number = value
        if isinstance(value, float) and value.is_integer():
            number = int(value)
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            number = int(value)
        if isinstance(number, bool) or not isinstance(number, int):
            raise Unusable(f"a whole number {bounds} is needed")
        if number < least or (most is not None and number > most):
            raise Unusable(f"a whole number {bounds} is needed")
        return number

    return Kind({"type": "integer", "minimum": least, **({} if most is None else {"maximum": most})}, take)


def or_null(kind: Kind) -> Kind:
    """Return `kind` with `null` as a further value, which is None and is not the same as leaving it out."""
    return Kind(
        {"anyOf": [dict(kind.schema), {"type": "null"}]},
        lambda value: None if value is None else kind.take(value),
        null_is_a_value=True,
    )


def records(fields: Sequence[Parameter], most: int) -> Kind:
    """Return the kind of a list of 1 to `most` objects with these fields and no others."""
    musts, mays = (", ".join(one.name for one in fields if one.required is wanted) for wanted in (True, False))
    needed = f"a list of 1 to {most:,} objects is needed, each with {musts}" + (f" and perhaps {mays}" if mays else "")

    def take(value: object) -> object:
        if not isinstance(value, Sequence) or isinstance(value, str) or not 1 <= len(value) <= most:
            raise Unusable(needed)
        return tuple(one(number, entry) for number, entry in enumerate(value))

    def one(number: int, entry: object) -> Given:
        if not isinstance(entry, Mapping):
            raise Unusable(f"item {number} is no object; {needed}")
        try:
            return taken(fields, entry)
        except BadArgument as error:
            raise BadArgument(f"Item {number}: {error}", error.hint) from None

    return Kind({"type": "array", "items": input_schema(fields), "minItems": 1, "maxItems": most}, take)


def flag() -> Kind:
    """Return the kind of a truth value."""

    def take(value: object) -> object:
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        if not isinstance(value, bool):
            raise Unusable("true or false is needed")
        return value

    return Kind({"type": "boolean"}, take)


def choice(*words: str) -> Kind:
    """Return the kind of one word out of several."""

    def take(value: object) -> object:
        if value in words:
            return value
        near = difflib.get_close_matches(str(value), words, n=1)
        meant = f"; perhaps {near[0]!r} was meant" if near else ""
        raise Unusable(f"one of {', '.join(words)} is needed{meant}")

    return Kind({"type": "string", "enum": list(words)}, take)


CHANGE_TYPES = ("added", "modified", "removed")


def line_ranges() -> Kind:
    """Return the kind of changed lines: a list of `[first, last]` or `[first, last, type]`, last included."""
    needed = f"a list of [first, last] or [first, last, type] is needed, type one of {', '.join(CHANGE_TYPES)}"
    number = whole(1)

    def one(entry: object) -> tuple[object, object, object]:
        if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) not in (2, 3):
            raise Unusable(f"{json.dumps(entry)}: {needed}")
        first, last = number.take(entry[0]), number.take(entry[1])
        kind = entry[2] if len(entry) == 3 else "modified"
        if kind not in CHANGE_TYPES or not isinstance(first, int) or not isinstance(last, int) or first > last:
            raise Unusable(f"{json.dumps(entry)}: {needed}, first not after last")
        return first, last, kind

    def take(value: object) -> object:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise Unusable(needed)
        return tuple(one(entry) for entry in value)

    # not a list of types: clients that map schemas onto a dialect of single types refuse the tool
    part = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    return Kind(
        {"type": "array", "items": {"type": "array", "items": part, "minItems": 2, "maxItems": 3}},
        take,
    )


def input_schema(parameters: Sequence[Parameter]) -> Schema:
    """Return the JSON Schema of a tool's parameters: no titles, nothing else accepted."""
    properties = {}
    for one in parameters:
        properties[one.name] = {**one.kind.schema, "description": one.about}
        if not one.required and one.default is not None:
            properties[one.name]["default"] = one.default
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [one.name for one in parameters if one.required]
    if required:
        schema["required"] = required
    return schema


def taken(parameters: Sequence[Parameter], arguments: Mapping[str, object]) -> Given:
    """Return the values of a call.

    Raises:
        BadArgument: a parameter is unknown, missing or mistyped; it is named.
    """
    known = {one.name: one for one in parameters}
    for name in arguments:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1) or _of_a_word(name, known)
            names = ", ".join(known) or "none"
            hint = f"Did you mean {near[0]}?" if near else f"Its parameters are: {names}."
            raise BadArgument(f"There is no parameter `{name}`.", hint)
    values: dict[str, object] = {}
    for name, one in known.items():
        raw = arguments.get(name)
        if raw is None and not (one.kind.null_is_a_value and name in arguments):
            if one.required:
                raise BadArgument(f"The parameter `{name}` is missing.", f"{name}: {one.about}")
            values[name] = one.default
            continue
        try:
            values[name] = one.kind.take(raw)
        except BadArgument as error:
            raise BadArgument(f"The parameter `{name}`, {_lowered(str(error))}", error.hint) from None
        except Unusable as error:
            shown = json.dumps(raw)
            shown = shown if len(shown) <= 80 else shown[:77] + "..."
            raise BadArgument(f"The parameter `{name}` is {shown}: {error}.", f"{name}: {one.about}") from None
    return Given(values)


def _of_a_word(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that share a word with `name`, as absolute_dir_path does with `path`."""
    words = set(name.lower().split("_"))
    return [one for one in known if words & set(one.split("_"))]


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
