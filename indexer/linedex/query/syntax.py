r"""The syntax tree of a pattern: frozen nodes with every flag already resolved.

Promise: a tree means one thing, in code points, whichever engine runs it and whoever plans it. Captures that nothing
refers to, names, and the scopes of `(?i)`, `(?s)`, `(?m)` and `(?U)` are gone: a literal says whether its case counts,
a repetition whether it is lazy. `^`, `$`, `\A` and `\z` are the ends of a line, as ripgrep has them; in patterns that
are read to be run over a whole text `\A` and `\z` are its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, TypeVar

LAST_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Empty:
    """Matches the empty string everywhere."""


@dataclass(frozen=True, slots=True)
class Literal:
    """These code points, one after the other; `fold`: in any case, by Unicode's simple folding."""

    text: str
    fold: bool = False


@dataclass(frozen=True, slots=True)
class AnyChar:
    """Any code point; `newline`: a line end too (which matters to patterns that span lines only)."""

    newline: bool = False


@dataclass(frozen=True, slots=True)
class AnyByte:
    r"""Any one byte, valid UTF-8 or not (`\C`)."""


@dataclass(frozen=True, slots=True)
class Range:
    """The code points from `low` to `high`, both included."""

    low: int
    high: int


class PropertyKind(Enum):
    """Where a named set of code points has its name from."""

    UNICODE = "unicode"
    """A general category or script, as in `\\p{Greek}`."""
    POSIX = "posix"
    """An ASCII class, as in `[:alpha:]`."""
    WORD = "word"
    r"""What `\w` stands for in Unicode."""


@dataclass(frozen=True, slots=True)
class Property:
    """A named set of code points, or all but that set."""

    name: str
    negated: bool = False
    kind: PropertyKind = PropertyKind.UNICODE


@dataclass(frozen=True, slots=True)
class CharClass:
    """One code point out of the union of `items`, or outside of it when `negated`."""

    items: tuple[Range | Property, ...]
    negated: bool = False
    fold: bool = False


class Edge(Enum):
    """A place between two code points."""

    LINE_START = "^"
    LINE_END = "$"
    WORD = r"\b"
    NOT_WORD = r"\B"
    TEXT_START = r"\A"
    TEXT_END = r"\z"


@dataclass(frozen=True, slots=True)
class Assertion:
    """Matches the empty string at an edge."""

    edge: Edge


@dataclass(frozen=True, slots=True)
class Look:
    """Looks ahead or behind without consuming."""

    body: Node
    ahead: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """What the capture of this number matched."""

    number: int
    fold: bool = False


@dataclass(frozen=True, slots=True)
class Capture:
    """A group that a back-reference may name; numbers count from 1."""

    body: Node
    number: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """`body` from `low` to `high` times (`None`: without bound)."""

    body: Node
    low: int
    high: int | None
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Concat:
    """The parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    """The first branch that leads to a match."""

    branches: tuple[Node, ...]


Node: TypeAlias = (
    Empty
    | Literal
    | AnyChar
    | AnyByte
    | CharClass
    | Assertion
    | Look
    | BackReference
    | Capture
    | Repeat
    | Concat
    | Alternate
)

T = TypeVar("T")

_LINE_ENDS = frozenset({0x0A, 0x0D})


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below `node`, in pattern order."""
    match node:
        case Concat(parts):
            return parts
        case Alternate(branches):
            return branches
        case Capture(body=body) | Repeat(body=body) | Look(body=body):
            return (body,)
        case _:
            return ()


def reduce_tree(node: Node, combine: Callable[[Node, list[T]], T]) -> T:
    """Compute a value bottom-up: `combine` gets each node with the values of its children.

    It keeps its own stack, since a pattern may nest deeper than Python's calls.
    """
    pending: list[tuple[Node, bool]] = [(node, False)]
    values: list[T] = []
    while pending:
        current, ready = pending.pop()
        below = children(current)
        if below and not ready:
            pending.append((current, True))
            pending.extend((child, False) for child in reversed(below))
            continue
        first = len(values) - len(below)
        values[first:] = [combine(current, values[first:])]
    return values[0]


def contains(node: Node, test: Callable[[Node], bool]) -> bool:
    """Tell whether `test` holds for `node` or for any node below it, asked from the first on until it does."""
    pending = [node]
    while pending:
        current = pending.pop()
        if test(current):
            return True
        pending.extend(reversed(children(current)))
    return False


def spans_lines(node: Node) -> bool:
    r"""Tell whether the pattern asks for a line end: a line feed, or a class of line ends only, as in `[\r\n]`.

    A class that merely holds a line feed among others (`\s`, `[^a]`, `[,\n]`) matches within lines.
    """

    def asks(current: Node) -> bool:
        match current:
            case Literal(text):
                return "\n" in text
            case CharClass(items, negated=False):
                points = {
                    point
                    for item in items
                    if isinstance(item, Range)
                    for point in range(item.low, min(item.high, item.low + 2) + 1)
                }
                return 0x0A in points and points <= _LINE_ENDS and all(isinstance(item, Range) for item in items)
            case _:
                return False

    return contains(node, asks)


def backtracks(node: Node) -> bool:
    """Tell whether only a backtracking engine can run the pattern."""
    return contains(node, lambda current: isinstance(current, Look | BackReference))
