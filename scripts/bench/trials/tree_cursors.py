"""Cursors of searches of the whole tree that are used rounds later.

A page goes on behind the last hit that was told, in the tree as it is then; where the file it stopped in, or the one it
was to go on with, has become another one, it must be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from trials.answers import REFUSED, Asker, Question, text_of
from trials.cursors import COMMON, MOST_KEPT, inode, line_hits, same_edges

from linedex.answers import SearchRequest
from linedex.errors import BadCursor, LinedexError

if TYPE_CHECKING:
    from trials.oracle import Oracle


@dataclass(slots=True)
class HeldFolder:
    """A cursor of a search of many files.

    Attributes:
        request: the search.
        files: their bytes, texts and numbers.
        ahead: those that held a hit.
        last: file and line of the last hit that was told.
        more: whether there were more hits in that file.
        cursor: the cursor, "" until there is an answer.
    """

    request: SearchRequest
    files: dict[bytes, tuple[bytes, bytes, int]]
    ahead: set[bytes]
    last: tuple[bytes, int] = (b"", 0)
    more: bool = False
    cursor: str = ""


@dataclass(slots=True)
class TreeCursors:
    """Gives out cursors of searches of the whole tree, and uses them later.

    Attributes:
        oracle: knows the texts.
        held: the cursors.
    """

    oracle: Oracle
    held: list[HeldFolder] = field(default_factory=list)

    def page(self) -> Question | None:
        """Ask for the first hits of the tree, to go on from there later."""
        oracle, draw = self.oracle, self.oracle.draw
        if len(self.held) >= MOST_KEPT or not oracle.all_clear():
            return None
        request = SearchRequest(
            draw.choice(COMMON), case_sensitive=True, include_hidden=True, max_hits=draw.choice((1, 3, 20))
        )
        wanted = list(self._tree_hits(request))
        if len(wanted) <= request.max_hits:
            return None
        ahead = {path for path, _ in wanted}
        wanted = wanted[: request.max_hits]
        world = oracle.world
        files = {path: (node.content, node.told, inode(world, path)) for path, node in world.files.items()}
        held = HeldFolder(request, files, ahead)

        def ask(index: Asker) -> object:
            answer = index.search(request)
            told = [(bytes(file.path), hit.line) for file in answer.files for hit in file.hits]
            held.cursor, held.last = answer.cursor, told[-1]
            text = text_of(files[told[-1][0]][1])
            held.more = any(line > told[-1][1] for line, _ in line_hits(text, request))
            return told

        def wanted_of(told: object) -> object:
            assert isinstance(told, list)
            return wanted[: len(told)]

        self.held.append(held)
        return Question("folder page", repr(request), ask, wanted_of)

    def go_on(self) -> Question | None:
        """Ask for the rest of the pages of a search of the tree."""
        oracle, world = self.oracle, self.oracle.world
        if not self.held:
            return None
        held = self.held.pop(oracle.draw.randrange(len(self.held)))
        if not held.cursor or not oracle.all_clear():
            return None
        path, line = held.last
        content, plain, number = held.files[path]
        node = world.files.get(path)
        same = node is not None and inode(world, path) == number and same_edges(content, node.content)
        if same and node is not None and not node.content.startswith(content):
            return None
        if same and node is not None and text_of(plain).encoding != oracle.text(node).encoding:
            return None
        key = path.split(b"/")
        wanted = [
            hit
            for hit in self._tree_hits(held.request)
            if (same and hit[0] == path and hit[1] > line) or hit[0].split(b"/") > key
        ]
        may_be_void = not same or any(
            one not in held.files or inode(world, one) != held.files[one][2]
            for one in world.files
            if one.split(b"/") > key
        )
        must_be_void = held.more and not same
        if not held.more:
            # the next file with a hit was known; what came between since was passed already
            following = (one for one in sorted(held.files, key=lambda one: one.split(b"/")) if one.split(b"/") > key)
            ahead = next(one for one in following if one in held.ahead)
            passed = [hit for hit in wanted if hit[0].split(b"/") < ahead.split(b"/")]
        request = replace(held.request, cursor=held.cursor, max_hits=100)

        def ask(index: Asker) -> object:
            try:
                told = _folder_on(index, request)
            except BadCursor:
                return REFUSED
            except LinedexError as error:
                if "rotated or rewritten" not in str(error):
                    raise
                return REFUSED
            return told

        def wanted_of(told: object) -> object:
            if must_be_void or (told == REFUSED and may_be_void):
                return REFUSED
            return wanted if held.more or told == wanted else wanted[len(passed) :]

        return Question("folder page on", f"{request!r} after {held.last!r}", ask, wanted_of)

    def _tree_hits(self, request: SearchRequest) -> Iterator[tuple[bytes, int]]:
        oracle = self.oracle
        for path in oracle.in_scope(b"", hidden=True, ignored=False):
            for line, _ in line_hits(oracle.text(oracle.world.files[path]), request):
                yield path, line


def _folder_on(index: Asker, request: SearchRequest) -> list[tuple[bytes, int]]:
    told: list[tuple[bytes, int]] = []
    while True:
        answer = index.search(request)
        told += [(bytes(file.path), hit.line) for file in answer.files for hit in file.hits]
        if not answer.cursor:
            return told
        request = replace(request, cursor=answer.cursor)
