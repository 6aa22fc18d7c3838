r"""From a pattern to its syntax tree: RE2's syntax, and what ripgrep's users expect beside it.

Promise: everything RE2 accepts is taken, and means what RE2 takes it for, save `\w \d \s \b` and their negations,
which are Unicode's as in ripgrep, and `\A \z`, which are the ends of a line. Beside RE2's grammar
(https://github.com/google/re2/wiki/Syntax) it takes look-around, back-references, `\uXXXX`, `\UXXXXXXXX`, `\u{X}`, and
a repetition of a repetition, so that `c++` is found as ripgrep finds it. A group, a class and a repetition are read
without recursion.

Raises `BadPattern` with the position of what cannot be read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

from linedex.answers import SearchRequest
from linedex.query.char_syntax import char_class, escaped_point, fail, is_octal, named_class, names_set
from linedex.query.syntax import (
    Alternate,
    AnyByte,
    AnyChar,
    Assertion,
    BackReference,
    Capture,
    Concat,
    Edge,
    Empty,
    Literal,
    Look,
    Node,
    Repeat,
    reduce_tree,
    spans_lines,
)

MOST_REPEATS = 1000
"""RE2's bound on a counted repetition."""

_EDGES = {"A": Edge.LINE_START, "z": Edge.LINE_END, "b": Edge.WORD, "B": Edge.NOT_WORD}
_TEXT_EDGES = {**_EDGES, "A": Edge.TEXT_START, "z": Edge.TEXT_END, "Z": Edge.TEXT_END}

_REFERENCE = re.compile(r"[1-9][0-9]?")
# as in RE2 a count has no zeros before it and at most nine digits; in other braces nothing is counted
_COUNT = "0|[1-9][0-9]{0,8}"
_REPEAT = re.compile(rf"\{{({_COUNT})(?:(,)({_COUNT})?)?\}}")
_FLAGS = re.compile(r"\(\?([A-Za-z]*)(?:(-)([A-Za-z]*))?([:)])")
_NAME = re.compile(r"\(\?P?<([^<>!=]*)>")
_NAMED_REFERENCE = re.compile(r"\(\?P=(\w+)\)")


@dataclass(frozen=True, slots=True)
class _Flags:
    fold: bool = False
    dot_newline: bool = False
    swap_greedy: bool = False


@dataclass(slots=True)
class _Group:
    """A group being read: what it will become, and what it holds so far."""

    position: int
    outer_flags: _Flags
    number: int = 0
    look: Look | None = None
    branches: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)

    def end_branch(self) -> None:
        self.branches.append(_concat(self.items))
        self.items = []

    def node(self) -> Node:
        self.end_branch()
        body = self.branches[0] if len(self.branches) == 1 else Alternate(tuple(self.branches))
        if self.look:
            return replace(self.look, body=body)
        return Capture(body, self.number) if self.number else body


def parse(pattern: str, *, fold: bool = False) -> Node:
    """Read a regular expression; `fold`: as if it began with `(?i)`.

    Raises:
        BadPattern: it is none; the error carries the position and says what is wrong there.
    """
    return _Parser(pattern, _Flags(fold=fold)).parse()


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A pattern that is run over a whole text.

    Attributes:
        tree: what it matches.
        groups: how many groups it has.
        names: the numbers of the named ones.
    """

    tree: Node
    groups: int
    names: dict[str, int]


def parse_text_pattern(pattern: str, *, fold: bool = False, dot_newline: bool = False) -> TextPattern:
    r"""Read a regular expression in which `\A`, `\z` and Python's `\Z` are the ends of the text.

    Args:
        pattern: its CRLFs are line ends like any other.
        fold: as if it began with `(?i)`.
        dot_newline: as if it began with `(?s)`.

    Raises:
        BadPattern: as `parse`.
    """
    parser = _Parser(pattern, _Flags(fold=fold, dot_newline=dot_newline), _TEXT_EDGES)
    return TextPattern(reduce_tree(parser.parse(), _with_lf), parser.captures, parser.names)


def parse_request(request: SearchRequest) -> Node:
    """Return the tree of what a request looks for, without its `word`, `whole_line` and `invert`.

    A CRLF in a pattern is a line end like any other: patterns are matched against the LF form of a text.

    Raises:
        BadPattern: as `parse`.
    """
    return _tree(request.pattern, request.regex, not request.case_sensitive)


# a search asks for it up to four times: to run the pattern, and to plan it for each length of gram
@lru_cache(maxsize=8)
def _tree(pattern: str, regex: bool, fold: bool) -> Node:
    tree = parse(pattern, fold=fold) if regex else Literal(pattern, fold)
    return reduce_tree(tree, _with_lf) if spans_lines(tree) else tree


def _with_lf(node: Node, below: list[Node]) -> Node:
    match node:
        case Literal(text):
            return replace(node, text=text.replace("\r\n", "\n"))
        case Concat():
            return replace(node, parts=tuple(below))
        case Alternate():
            return replace(node, branches=tuple(below))
        case Capture() | Repeat() | Look():
            return replace(node, body=below[0])
        case _:
            return node


def _concat(items: list[Node]) -> Node:
    """Join the items of a branch, neighbouring literals of one case mode into one."""
    joined: list[Node] = []
    run: list[str] = []
    fold = False
    for item in items:
        if isinstance(item, Literal):
            if run and item.fold != fold:
                joined.append(Literal("".join(run), fold))
                run = []
            run.append(item.text)
            fold = item.fold
            continue
        if run:
            joined.append(Literal("".join(run), fold))
            run = []
        if not isinstance(item, Empty):
            joined.append(item)
    if run:
        joined.append(Literal("".join(run), fold))
    if not joined:
        return Empty()
    return joined[0] if len(joined) == 1 else Concat(tuple(joined))


class _Parser:
    """One pass over a pattern, with a stack of open groups."""

    def __init__(self, pattern: str, flags: _Flags, edges: dict[str, Edge] = _EDGES) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags = flags
        self._stack = [_Group(-1, flags)]
        self._edges = edges
        self.captures = 0
        self.names: dict[str, int] = {}
        self._references: list[tuple[int, int]] = []

    def parse(self) -> Node:
        pattern = self._pattern
        while self._at < len(pattern):
            char = pattern[self._at]
            match char:
                case "(":
                    self._open_group()
                case ")":
                    self._close_group()
                case "|":
                    self._stack[-1].end_branch()
                    self._at += 1
                case "*" | "+" | "?":
                    self._repeat(0 if char != "+" else 1, 1 if char == "?" else None, self._at + 1)
                case "{":
                    self._counted_repeat()
                case "[":
                    self._take(char_class(pattern, self._at, fold=self._flags.fold))
                case "\\":
                    self._escape()
                case "^" | "$" | ".":
                    self._push(AnyChar(self._flags.dot_newline) if char == "." else Assertion(Edge(char)))
                    self._at += 1
                case _:
                    self._push(Literal(char, self._flags.fold))
                    self._at += 1
        if len(self._stack) > 1:
            fail("unclosed (", self._stack[-1].position)
        for number, position in self._references:
            if number > self.captures:
                fail(f"no group {number} for the back-reference", position)
        return self._stack[0].node()

    def _push(self, node: Node) -> None:
        self._stack[-1].items.append(node)

    def _take(self, read: tuple[Node, int]) -> None:
        node, self._at = read
        self._push(node)

    # groups

    def _open_group(self) -> None:
        start = self._at
        rest = self._pattern
        if not rest.startswith("(?", start):
            self.captures += 1
            self._enter(_Group(start, self._flags, number=self.captures), start + 1)
            return
        for prefix, ahead, negated in (
            ("(?=", True, False),
            ("(?!", True, True),
            ("(?<=", False, False),
            ("(?<!", False, True),
        ):
            if rest.startswith(prefix, start):
                self._enter(_Group(start, self._flags, look=Look(Empty(), ahead, negated)), start + len(prefix))
                return
        if named := _NAME.match(rest, start):
            if not named[1] or not all(char == "_" or char.isalnum() or not char.isascii() for char in named[1]):
                fail(f"bad group name {named[1]!r}", start)
            self.captures += 1
            self.names[named[1]] = self.captures
            self._enter(_Group(start, self._flags, number=self.captures), named.end())
            return
        if reference := _NAMED_REFERENCE.match(rest, start):
            if reference[1] not in self.names:
                fail(f"no group named {reference[1]!r} before the back-reference", start)
            self._push(BackReference(self.names[reference[1]], self._flags.fold))
            self._at = reference.end()
            return
        self._flag_group(start)

    def _enter(self, group: _Group, at: int) -> None:
        self._stack.append(group)
        self._at = at

    def _flag_group(self, start: int) -> None:
        found = _FLAGS.match(self._pattern, start)
        if not found or (found[2] and not found[3]):
            fail(
                f"unknown group {self._pattern[start : start + 4]!r}",
                start,
                "Known are (?:...), (?P<name>...), (?i), (?s), (?m), (?U), (?i:...) and look-around.",
            )
        flags = self._flags
        for letters, on in ((found[1], True), (found[3] or "", False)):
            for letter in letters:
                match letter:
                    case "i":
                        flags = replace(flags, fold=on)
                    case "s":
                        flags = replace(flags, dot_newline=on)
                    case "U":
                        flags = replace(flags, swap_greedy=on)
                    case "m":
                        pass  # `^` and `$` are the ends of a line in either mode
                    case _:
                        fail(
                            f"unknown flag {letter!r} in the group",
                            start,
                            "Known flags are i, s, m and U.",
                        )
        if found[4] == ":":
            self._enter(_Group(start, self._flags), found.end())
        self._flags = flags
        self._at = found.end()

    def _close_group(self) -> None:
        if len(self._stack) == 1:
            fail("unmatched )", self._at)
        group = self._stack.pop()
        self._flags = group.outer_flags
        self._push(group.node())
        self._at += 1

    # repetitions

    def _counted_repeat(self) -> None:
        found = _REPEAT.match(self._pattern, self._at)
        if not found:
            # As in RE2, a brace that counts nothing is a brace.
            self._push(Literal("{", self._flags.fold))
            self._at += 1
            return
        low = int(found[1])
        high: int | None = low
        if found[2]:
            high = int(found[3]) if found[3] else None
        if low > MOST_REPEATS or (high or 0) > MOST_REPEATS:
            fail(f"repetition {found[0]} over {MOST_REPEATS}", self._at)
        if high is not None and high < low:
            fail(f"repetition {found[0]} with its bounds the wrong way round", self._at)
        self._repeat(low, high, found.end())

    def _repeat(self, low: int, high: int | None, end: int) -> None:
        items = self._stack[-1].items
        if not items:
            operator = self._pattern[self._at : end]
            fail(f"nothing to repeat before {operator}", self._at)
        lazy = self._pattern.startswith("?", end)
        items.append(Repeat(items.pop(), low, high, lazy != self._flags.swap_greedy))
        self._at = end + lazy

    # escapes

    def _escape(self) -> None:
        start = self._at
        if start + 1 == len(self._pattern):
            fail("nothing after the \\", start)
        char = self._pattern[start + 1]
        self._at = start + 2
        if char == "Q":
            end = self._pattern.find("\\E", self._at)
            quoted = self._pattern[self._at : end if end >= 0 else len(self._pattern)]
            self._stack[-1].items.extend(Literal(each, self._flags.fold) for each in quoted)
            self._at += len(quoted) + (2 if end >= 0 else 0)
        elif char in self._edges:
            self._push(Assertion(self._edges[char]))
        elif char == "C":
            self._push(AnyByte())
        elif names_set(self._pattern, start):
            self._take(named_class(self._pattern, start, fold=self._flags.fold))
        elif char in "123456789" and not is_octal(self._pattern, start):
            reference = _REFERENCE.match(self._pattern, start + 1)
            assert reference
            self._references.append((int(reference[0]), start))
            self._push(BackReference(int(reference[0]), self._flags.fold))
            self._at = reference.end()
        else:
            point, self._at = escaped_point(self._pattern, start)
            self._push(Literal(chr(point), self._flags.fold))
