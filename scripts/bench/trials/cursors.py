"""Cursors that are used rounds later: what is new in a file, and the pages of a search, through growth and rotation.

A cursor is kept with all that its file held when it was given. Later the model says where it leads: on in the file that
has only grown, on in the file's next name and then in the new one, or to the beginning of what took its place, which
the answer must say. Where the tree does not tell which of these it is (edits inside, several copies) nothing is asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from trials.answers import (
    REFUSED,
    Asker,
    Question,
    Text,
    hits_of,
    mark_of,
    shown_lines,
    text_of,
)
from trials.searches import some_literal
from trials.world import PACKED, Node, World

from linedex.answers import SearchRequest
from linedex.errors import LinedexError
from linedex.files.text_format import detect_bytes
from linedex.model import RelPath

if TYPE_CHECKING:
    from trials.oracle import Oracle

_HEAD = 1 << 10
_END = 64
MOST_KEPT = 12
_MOST_PAGES = 20_000
COMMON = ("foo", "t", "error", "e", "bar")


@dataclass(slots=True)
class Held:
    """A cursor of a client that goes on later.

    Attributes:
        path: the file it was given for.
        node: that file.
        began: counts its changes until then.
        content: what it held.
        inode: its number.
        request: the search it belongs to, None for one of a reading.
        last: the last line that was told; 0 where all that the file held was told.
        cursor: the cursor, "" until there is an answer.
    """

    path: bytes
    node: Node
    began: int
    content: bytes
    inode: int
    request: SearchRequest | None = None
    last: int = 0
    cursor: str = ""


@dataclass(slots=True)
class Cursors:
    """Gives cursors out, and uses them later.

    Attributes:
        oracle: knows the texts.
        held: the cursors.
    """

    oracle: Oracle
    held: list[Held] = field(default_factory=list)

    # cursors are given

    def tail(self) -> Question | None:
        """Read the last lines of a file, sometimes to go on from there later."""
        held = self._drawn(None)
        if held is None:
            return None
        text, count = self.oracle.text(held.node), self.oracle.draw.choice((1, 2, 10))
        lines = text.lines or []

        def ask(index: Asker) -> object:
            answer = index.tail(RelPath(held.path), count)
            held.cursor = answer.later
            first = len(lines) - len(answer.lines)
            wanted = shown_lines(lines[-count:])
            assert len(answer.lines) == len(wanted) or sum(map(len, wanted)) > _SHORT, "not all that there is room for"
            return first, list(answer.lines), answer.total_lines if answer.counted else len(lines), answer.hash

        def wanted_of(told: object) -> object:
            assert isinstance(told, tuple)
            first = told[0]
            return first, shown_lines(lines[first:]), len(lines), mark_of(held.content)

        return Question("tail", f"{held.path!r} {count}", ask, wanted_of if text.clear else None)

    def page(self) -> Question | None:
        """Ask for the first hits of a file, sometimes to go on from there later."""
        oracle, draw = self.oracle, self.oracle.draw
        pattern = draw.choice(COMMON) if draw.random() < 0.7 else some_literal(oracle)
        count = draw.choice((1, 2, 5, 30))
        request = SearchRequest(pattern, case_sensitive=True, max_hits=count)
        held = self._drawn(request)
        if held is None:
            return None
        request = held.request = replace(request, scope=RelPath(held.path))
        text = oracle.text(held.node)
        wanted = list(line_hits(text, request))

        def ask(index: Asker) -> object:
            answer = index.search_file(request)
            told = [(hit.line, hit.column) for file in answer.files for hit in file.hits]
            held.cursor = answer.cursor or answer.later
            held.last = told[-1][0] if answer.cursor and told else 0
            assert bool(answer.cursor) == (len(told) < len(wanted)), "a cursor where there is nothing more, or none"
            return told

        def wanted_of(told: object) -> object:
            # a page of a tool may be full before it has so many
            assert isinstance(told, list)
            assert told or not wanted
            return wanted[: min(count, len(told) or count)]

        return Question("page", repr(request), ask, wanted_of if text.clear else None)

    def _drawn(self, request: SearchRequest | None) -> Held | None:
        oracle = self.oracle
        found = oracle.some_text()
        if found is None:
            return None
        path, _ = found
        if path.endswith(PACKED):
            return None
        node = oracle.world.files[path]
        held = Held(path, node, node.began, node.content, inode(oracle.world, path), request)
        if oracle.draw.random() < 0.6 and len(self.held) < MOST_KEPT:
            self.held.append(held)
        return held

    # and used

    def go_on(self) -> Question | None:
        """Ask what is new since a cursor, or for the rest of the pages."""
        oracle = self.oracle
        if not self.held:
            return None
        held = self.held.pop(oracle.draw.randrange(len(self.held)))
        if not held.cursor:
            return None  # it is asked for in this very round, or there is nothing to go on with
        wanted = self._led(held)
        count = oracle.draw.choice((1, 7, 500, 500))
        if held.request is None:
            return Question(
                "read on", f"{held.path!r}, {count} a page", lambda index: _read_on(index, held, count), wanted
            )
        request = replace(held.request, cursor=held.cursor, max_hits=max(2, held.request.max_hits))
        return Question("page on", repr(request), lambda index: _search_on(index, request), wanted)

    def _led(self, held: Held) -> object:
        """Return where a cursor leads: whether that must be said, and what is told; None where it is not certain."""
        world = self.oracle.world
        now = world.files.get(held.path)
        if now is not None and inode(world, held.path) == held.inode and _holds(held, now):
            rest = self._rest(held, now)
            return None if rest is None else (False, rest)
        if not held.content:
            return None
        beside = list(_beside(world, held.path))
        former = [path for path in beside if _holds(held, world.files[path])]
        if not former:
            if any(path.endswith(PACKED) for path in beside):
                return None
            if now is None:
                return REFUSED
            all_of = self._all(held, now)
            return None if all_of is None else (True, all_of)
        if len(beside) > 1 or (now is not None and inode(world, former[0]) == inode(world, held.path)):
            return None
        rest = self._rest(held, world.files[former[0]])
        new = [] if now is None else self._all(held, now)
        return None if rest is None or new is None else (True, rest + new)

    def _rest(self, held: Held, node: Node) -> list[object] | None:
        """Return what is new in a file that began with what was held; None where that is not certain."""
        if node is not held.node or node.began != held.began or not node.content.startswith(held.content):
            return None
        text = self.oracle.text(node)
        before = text_of(held.content).lines or []
        same_format = detect_bytes(held.content).encoding == detect_bytes(node.content).encoding
        if not (text.clear and text.lines is not None and same_format and held.content):
            return None
        if text.lines[: len(before) - 1] != before[:-1]:
            return None
        unended = not held.content.endswith((b"\n", b"\r", b"\n\0"))
        if held.last:
            if unended and held.last == len(before):
                return None  # told when it had no end, it may be told again
            done = held.last
        else:
            done = len(before) - (1 if unended and node.content != held.content else 0)
        return self._told(held, text, done)

    def _all(self, held: Held, node: Node) -> list[object] | None:
        text = self.oracle.text(node)
        return None if text.lines is None or not text.clear else self._told(held, text, 0)

    @staticmethod
    def _told(held: Held, text: Text, done: int) -> list[object]:
        if held.request is None:
            return list(shown_lines((text.lines or [])[done:]))
        return [hit for hit in line_hits(text, held.request) if hit[0] > done]


_SHORT = 1_000
"""Characters that a page of any reading has room for."""


def inode(world: World, path: bytes) -> int:
    """Return the number of a file."""
    return os.stat(world.full(path)).st_ino


def same_edges(before: bytes, now: bytes) -> bool:
    """Say whether a file has head and end of what it held, at the same places: what a cursor tells it by."""
    size = len(before)
    return (
        len(now) >= size
        and now[: min(_HEAD, size)] == before[:_HEAD]
        and now[max(0, size - _END) : size] == before[-_END:]
    )


def _holds(held: Held, node: Node) -> bool:
    return same_edges(held.content, node.content)


def _beside(world: World, path: bytes) -> Iterator[bytes]:
    """Yield the files that rotation may have named after one."""
    folder, _, name = path.rpartition(b"/")
    stem, dot, extension = name.rpartition(b".")
    for other in sorted(world.files):
        above, _, called = other.rpartition(b"/")
        if above != folder or called == name:
            continue
        plain = called
        for ending in PACKED:
            plain = plain.removesuffix(ending)
        if called.startswith(name) or (dot and stem and called.startswith(stem) and plain.endswith(dot + extension)):
            yield other


def line_hits(text: Text, request: SearchRequest) -> Iterator[tuple[int, int]]:
    """Yield line and column of each hit of a search for a literal."""
    if text.lines and request.pattern in text.joined:
        for line, column, _, _ in hits_of(text.lines, re.compile(re.escape(request.pattern)), invert=False):
            yield line, column


def _read_on(index: Asker, held: Held, count: int) -> object:
    """Return all that is new since a cursor, and whether anything was said of where it led."""
    lines: list[str] = []
    cursor, said = held.cursor, False
    try:
        for _ in range(_MOST_PAGES):
            answer = index.read_on(RelPath(held.path), cursor, count)
            lines += answer.lines
            said = said or bool(answer.note)
            if not answer.lines or not answer.later:
                return said, lines
            cursor = answer.later
    except LinedexError:
        return REFUSED
    raise AssertionError("reading on does not end")


def _search_on(index: Asker, request: SearchRequest) -> object:
    """Return the hits of all pages behind a cursor, and whether anything was said of where it led."""
    told: list[tuple[int, int]] = []
    said = False
    try:
        for _ in range(_MOST_PAGES):
            answer = index.search_file(request)
            told += [(hit.line, hit.column) for file in answer.files for hit in file.hits]
            said = said or bool(answer.note)
            if not answer.cursor:
                return said, told
            request = replace(request, cursor=answer.cursor)
    except LinedexError:
        return REFUSED
    raise AssertionError("the pages do not end")
