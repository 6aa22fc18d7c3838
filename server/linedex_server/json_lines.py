"""Lines of JSON between the command line and the daemon: what all kinds of questions have in common.

Both sides are of one version, which the welcome tells; what does not read as it was written is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from linedex.errors import BadPattern, LinedexError

QUESTION_BYTES = 1 << 20
"""Longest line of a question."""


def line_of(told: object) -> bytes:
    """Return something as a line."""
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def error_line(error: LinedexError) -> bytes:
    """Return as a line why an answer ends."""
    position = error.position if isinstance(error, BadPattern) else None
    return line_of({"error": str(error), "hint": error.hint, "code": error.code, "position": position})


def error_of(told: Mapping[str, Any]) -> LinedexError:
    """Return the error that `error_line` told.

    Raises:
        KeyError: it is none.
    """
    if told["code"] == BadPattern.code:
        return BadPattern(told["error"], told["position"], told["hint"])
    return LinedexError(told["error"], told["hint"])


def alike(example: object, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the told attributes, each of the kind that it has in `example`, whose attribute it must be.

    Raises:
        AttributeError, TypeError, ValueError: one is not.
    """
    return {name: _taken(getattr(example, name), value) for name, value in told.items()}


def _taken(example: object, value: Any) -> Any:
    if isinstance(example, Enum):
        return type(example)(value)
    if isinstance(example, tuple):
        if not isinstance(value, list):
            raise TypeError("a list is needed")
        return tuple(_taken("", one) for one in value)
    if type(value) is not type(example) or (isinstance(value, int) and value < 0):
        raise TypeError(f"{value!r} is not like {example!r}")
    if isinstance(value, str) and "\0" in value:
        raise TypeError("a text without NUL is needed")
    return value
