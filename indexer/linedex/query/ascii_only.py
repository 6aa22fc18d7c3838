r"""Patterns for texts of nothing but ASCII: most texts are, and over them a small program does what a large one does.

Unicode's `\w` is a program of 1,400 instructions. RE2 takes 0.7 ms to compile `clk_\w+\(.*num` and 1 ms more over its
first match, while it makes the states of its automaton; with ASCII's `\w` the two take 0.1 ms.

Promise: in a text of ASCII the tree that `ascii_tree` returns matches at the same places as the one it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache

from linedex.query.code_points import LAST_ASCII, ascii_ranges
from linedex.query.dialect import RE2_NOT_WORD, to_re2
from linedex.query.engines import Engine, Search
from linedex.query.syntax import (
    Alternate,
    AnyByte,
    AnyChar,
    Capture,
    CharClass,
    Concat,
    Literal,
    Node,
    Property,
    Range,
    Repeat,
    contains,
    reduce_tree,
)


class AsciiEngine:
    """One engine for texts of ASCII, and one for the others that is made when there is one.

    Args:
        narrow: for texts of ASCII.
        wide: makes the engine for all texts; it must not fail.
    """

    def __init__(self, narrow: Engine, wide: Callable[[], Engine]) -> None:
        self._narrow = narrow
        self._make_wide = wide

    @cached_property
    def _wide(self) -> Engine:
        return self._make_wide()

    def on(self, text: bytes) -> Search:
        """Return the search of `text`."""
        return self._narrow.on(text) if text.isascii() else self._wide.on(text)


def has_ascii_form(tree: Node) -> bool:
    """Tell whether `ascii_tree` takes a tree."""

    def refused(node: Node) -> bool:
        return isinstance(node, AnyByte) or (isinstance(node, Literal) and not node.text.isascii())

    return not contains(tree, refused)


def gains_by_ascii(tree: Node) -> bool:
    """Tell whether `ascii_tree` makes a tree simpler."""

    def gains(node: Node) -> bool:
        return isinstance(node, AnyChar) or (
            isinstance(node, CharClass)
            and (node.negated or any(isinstance(item, Property) or item.high > LAST_ASCII for item in node.items))
        )

    return contains(tree, gains)


def ascii_tree(tree: Node) -> Node:
    r"""Return a tree that means the same in texts of ASCII and asks for nothing else.

    Args:
        tree: one that has such a form.
    """

    def rebuilt(node: Node, below: list[Node]) -> Node:
        match node:
            case AnyChar() | CharClass():
                return _ascii_class(node)
            case Concat():
                return Concat(tuple(below))
            case Alternate():
                return Alternate(tuple(below))
            case Capture() | Repeat():
                return replace(node, body=below[0])
            case _:
                return node

    return reduce_tree(tree, rebuilt)


@lru_cache(maxsize=1024)
def _ascii_class(node: AnyChar | CharClass) -> CharClass:
    # RE2 is asked what it takes: its case folding brings K and S into classes that do not name them
    return CharClass(tuple(Range(low, high) for low, high in ascii_ranges(to_re2(node))))


@lru_cache(maxsize=1)
def ascii_not_word() -> str:
    """Return the characters of no word that ASCII has, in RE2's dialect."""
    return to_re2(CharClass(tuple(Range(low, high) for low, high in ascii_ranges(RE2_NOT_WORD))))
