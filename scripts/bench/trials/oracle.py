"""Random questions to an index, each with the answer that reading the model's bytes gives.

Texts are split and searched with Python's own `str` and `re`. Of linedex only the recognition of encodings is believed,
which has tests of its own; bytes that are not of the encoding recognised are asked of nobody.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from trials import journals
from trials.answers import (
    PACKED_MARK,
    REFUSED,
    Asker,
    Question,
    Text,
    compared,
    mark_of,
    shown_lines,
    text_of,
)
from trials.cursors import Cursors
from trials.searches import searching
from trials.tree_cursors import TreeCursors
from trials.world import Node, World, is_hidden

from linedex.answers import SymbolRequest
from linedex.model import RelPath


@dataclass(slots=True)
class Oracle:
    """Draws questions about a world.

    Attributes:
        world: the world.
        draw: decides.
        cursors: those of clients that go on later in a file.
        tree_cursors: the same for the whole tree.
    """

    world: World
    draw: random.Random
    cursors: Cursors = field(init=False)
    tree_cursors: TreeCursors = field(init=False)
    _texts: dict[int, tuple[bytes, Node, Text]] = field(default_factory=dict)
    _listed: tuple[int, list[tuple[bytes, bool]]] = (-1, [])

    def __post_init__(self) -> None:
        self.cursors = Cursors(self)
        self.tree_cursors = TreeCursors(self)

    def text(self, node: Node) -> Text:
        """Return the text of a file, remembered for as long as its bytes are the same object."""
        known = self._texts.get(id(node))
        if known is None or known[0] is not node.content or known[1] is not node:
            known = self._texts[id(node)] = (node.content, node, text_of(node.told))
        if len(self._texts) > 400:
            living = {id(one) for one in self.world.files.values()}
            self._texts = {key: value for key, value in self._texts.items() if key in living}
        return known[2]

    def in_scope(self, scope: bytes, *, hidden: bool, ignored: bool) -> Iterator[bytes]:
        """Yield the files that a question about a scope is about, in path order."""
        world = self.world
        if scope in world.files:
            yield scope
            return
        below = scope + b"/" if scope else b""
        for path, left_out in self.listed():
            if (ignored or not left_out) and path.startswith(below) and (hidden or not is_hidden(path, below)):
                yield path

    def listed(self) -> list[tuple[bytes, bool]]:
        """Return the files in path order, each with whether rules leave it out."""
        world = self.world
        if self._listed[0] != world.version:
            found = [(path, world.ignored(path)) for path in sorted(world.files, key=lambda one: one.split(b"/"))]
            self._listed = world.version, found
        return self._listed[1]

    def all_clear(self) -> bool:
        """Say whether the texts of all files are certain."""
        return all(self.text(node).clear for node in self.world.files.values())

    def scope(self) -> bytes:
        """Return a file or folder to ask about."""
        world, kind = self.world, self.draw.random()
        if kind < 0.5:
            return b""
        if kind < 0.75:
            found = [
                folder for folder in sorted(world.folders) if not folder or not world.ignored(folder, is_folder=True)
            ]
            return self.draw.choice(found)
        return self.draw.choice(sorted(world.files)) if world.files else b""

    def some_text(self) -> tuple[bytes, Text] | None:
        """Return a file that has lines."""
        found = [path for path in sorted(self.world.files) if self.text(self.world.files[path]).lines]
        if not found:
            return None
        path = self.draw.choice(found)
        return path, self.text(self.world.files[path])

    # questions

    def question(self) -> Question | None:
        """Draw a question; None where there is nothing to ask it about."""
        kinds: dict[Callable[[], Question | None], int] = {
            partial(searching, self): 60,
            self.read: 16,
            self.cursors.tail: 5,
            self.count_lines: 4,
            self.find_files: 7,
            self.cursors.go_on: 9,
            self.cursors.page: 3,
            self.tree_cursors.page: 1,
            self.tree_cursors.go_on: 2,
            self.symbol: 2,
            partial(journals.searched, self.world, self.draw): 6,
            partial(journals.counted, self.world, self.draw): 2,
            self.listing: 4,
            self.outline: 1,
        }
        return self.draw.choices(list(kinds), list(kinds.values()))[0]()

    def read(self) -> Question | None:
        """Read lines of a file."""
        world = self.world
        if not world.files:
            return None
        path = self.draw.choice(sorted(world.files))
        node = world.files[path]
        text, mark = self.text(node), mark_of(node.content) if node.plain is None else PACKED_MARK
        total = len(text.lines or ())
        first = self.draw.randint(1, total + 1) if self.draw.random() < 0.95 else total + 5
        count = self.draw.choice((1, 3, 40, 1000))
        wanted: object = REFUSED
        if text.lines is not None and (first <= total or (first == 1 and not total)):
            wanted = first, shown_lines(text.lines[first - 1 : first - 1 + count]), total, mark
        return Question(
            "read",
            f"{path!r} {first} {count}",
            lambda index: compared(lambda: index.read(RelPath(path), first, count), text, first, count),
            wanted if text.clear else None,
        )

    def count_lines(self) -> Question | None:
        """Count the lines of a file."""
        found = self.some_text()
        if found is None:
            return None
        path, text = found
        return Question(
            "count lines",
            repr(path),
            lambda index: index.count_lines(RelPath(path)),
            len(text.lines or ()) if text.clear else None,
        )

    def find_files(self) -> Question | None:
        """Find files by a part of their path."""
        world, draw = self.world, self.draw
        scope = b"" if draw.random() < 0.6 else self.scope()
        if scope in world.files:
            scope = scope.rpartition(b"/")[0]
            if scope and world.ignored(scope, is_folder=True):
                scope = b""
        hidden, ignored = draw.random() < 0.5, draw.random() < 0.1
        name = draw.choice(
            ("qa", "zed", "mix", "ub", "one", "two", "app", "notes", ".txt", ".log", "long", "漢", "%41")
        )
        prefix = len(scope) + 1 if scope else 0
        wanted = {
            path
            for path in self.in_scope(scope, hidden=hidden, ignored=ignored)
            if name in path[prefix:].decode("utf-8", "replace").casefold()
        }
        if not wanted:
            return None

        def ask(index: Asker) -> object:
            answer = index.find_files(name, RelPath(scope), 10**6, include_hidden=hidden, include_ignored=ignored)
            assert answer.total == len(answer.paths)
            return {bytes(path) for path in answer.paths}

        return Question("find files", f"{name!r} below {scope!r} hidden={hidden} ignored={ignored}", ask, wanted)

    def symbol(self) -> Question | None:
        """Find a function by its name."""
        functions = self.world.functions
        if not functions:
            return None
        name = f"fn_{self.draw.randint(max(1, functions - 30), functions)}"
        marked = f"def {name}(".encode()
        shown = {path for path in self.world.files if not self.world.ignored(path) and not is_hidden(path)}
        wanted = {path for path in shown if marked in self.world.files[path].content and path.endswith(b".py")}

        def ask(index: Asker) -> object:
            answer = index.find_symbol(SymbolRequest(name))
            if answer.pending:
                return None
            return {bytes(hit.path) for hit in answer.hits if hit.symbol.name == name} & shown

        return Question("symbol", name, ask, wanted)

    def listing(self) -> Question:
        """List a folder."""
        world = self.world
        folder = self.draw.choice(sorted(world.folders))
        hidden, ignored = self.draw.random() < 0.5, self.draw.random() < 0.3
        below = folder + b"/" if folder else b""
        wanted: dict[bytes, object] = {}
        # who names a folder that is left out means what is in it
        named = world.ignored(folder, is_folder=True) if folder else False
        for path in (*world.files, *world.folders, *world.others):
            name = path[len(below) :]
            if not path or not path.startswith(below) or b"/" in name or (name.startswith(b".") and not hidden):
                continue
            left_out = world.ignored(path, is_folder=path in world.folders)
            if ignored or named or not left_out:
                size = len(world.files[path].content) if path in world.files else -1
                wanted[path] = path in world.folders, size, path in world.others, left_out

        def ask(index: Asker) -> object:
            answer = index.listing(RelPath(folder), 1, 10_000, include_hidden=hidden, include_ignored=ignored)
            return {
                bytes(one.path): (
                    one.is_folder,
                    one.size if not one.is_folder and not one.special else -1,
                    bool(one.special),
                    one.ignored,
                )
                for one in answer.entries
            }

        return Question("listing", f"{folder!r} hidden={hidden} ignored={ignored}", ask, wanted)

    def outline(self) -> Question | None:
        """Ask for the functions of a file of code."""
        found = [path for path in sorted(self.world.files) if path.endswith(b".py")]
        if not found:
            return None
        path = self.draw.choice(found)
        lines = self.world.files[path].content.decode().split("\n")
        wanted = [(line[4:].split("(")[0], at) for at, line in enumerate(lines, 1) if line.startswith("def ")]

        def ask(index: Asker) -> object:
            return [(one.name, one.line) for one in index.outline(RelPath(path)).symbols]

        return Question("outline", repr(path), ask, wanted)
