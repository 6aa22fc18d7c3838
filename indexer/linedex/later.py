"""Modules that are imported when they are first used, so that a command loads what its own question needs.

    if TYPE_CHECKING:
        from linedex.query import outline
    else:
        outline = later("linedex.query.outline")

Promise: `outline.x` is the module's `x`, whichever thread asks first. Half of the modules and of the packages that we
stand on serve one kind of question (logs, symbols, likeness); all of them took as long to load as numpy does.

A process that lives long calls `load_all` at its start: an upgrade of linedex below its feet must not give it modules
of two versions, and no question should wait for imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_NAMES: Final[set[str]] = set()


class _Later:
    """A module by its name. Attributes are asked of the module each time, so that what a test puts there counts."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        return getattr(import_module(self._name), attribute)


def later(name: str) -> Any:
    """Return what stands for the module of this full name and imports it at the first use of an attribute."""
    _NAMES.add(name)
    return _Later(name)


def load_all() -> None:
    """Import every module that `later` was asked for, and what these ask for in turn."""
    done: set[str] = set()
    while waiting := _NAMES - done:
        for name in waiting:
            import_module(name)
        done |= waiting
