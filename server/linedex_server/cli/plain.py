"""`linedex mcp` as clients are configured with it, understood without the command-line package: 20 ms of each start.

Promise: what is understood here means what `cli/serving.py` says it means; all else, `--help` and mistakes too, is left
to that. A test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence

from linedex_server.config import OUTPUTS, TOOL_GROUPS

VALUED = {"--root": None, "--output": OUTPUTS, "--tools": TOOL_GROUPS}
"""Options with a value, and the words that the value may be; None for any."""
FLAGS = {"--read-only": "read_only"}


def bridge_settings(arguments: Sequence[str]) -> dict[str, object] | None:
    """Return the settings that the arguments of `linedex mcp` give, None if that takes more than a plain reading.

    Args:
        arguments: those behind `mcp`.
    """
    roots: list[str] = []
    given: dict[str, object] = {"allowed_roots": None, "output": None, "tools": None, "read_only": None}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in FLAGS and not equals:
            given[FLAGS[name]] = True
            continue
        if name not in VALUED or not (equals or rest):
            return None
        value = value if equals else rest.pop(0)
        words = VALUED[name]
        if words is None:
            roots.append(value)
        elif value in words:
            given[name.removeprefix("--")] = value
        else:
            return None
    given["allowed_roots"] = tuple(roots) or None
    return given
