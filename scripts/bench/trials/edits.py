"""Random edits through the edit engine, each with the bytes that it must leave."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from byte_model import Change, Modelled
from trials.oracle import Oracle
from trials.world import Node, World

from linedex.files.places import Place, Roots
from linedex.index import Index
from linedex.model import RelPath
from linedex.query.progress import Progress
from linedex_server.config import Settings
from linedex_server.edit.editor import Editor
from linedex_server.edit.plan.lines import LineEdit, lines
from linedex_server.edit.plan.literal import LiteralRequest, literal
from linedex_server.edit.plan.planned import Planned
from linedex_server.edit.planners import KEPT, Changes, Subject, changing, whole
from linedex_server.edit.put.plans import Planner
from linedex_server.tools.history import reverted

_MODELLED = 3_000
"""Bytes up to which the plain model of edits, slow as it is, says what an edit makes of a file."""


@dataclass
class _OneRoot:
    """What an editor needs to know of a session: one root, and the index that is being tried."""

    settings: Settings
    root: Path
    index: Index

    def __post_init__(self) -> None:
        self._judge = Roots([self.root])

    def place(self, path: str, *, must_exist: bool = True) -> Place:
        return self._judge.resolve(path, must_exist=must_exist)

    def at(self, path: str) -> tuple[Index, RelPath]:
        return self.index, self.place(path).path

    def called(self, absolute: bytes) -> str:
        return os.fsdecode(absolute)


class Writer(Protocol):
    """Who edits files of a root."""

    def whole(self, path: bytes, content: str) -> None:
        """Write a whole text."""

    def line(self, path: bytes, number: int, text: str) -> None:
        """Replace a line."""

    def literal(self, path: bytes, old: str, new: str) -> None:
        """Replace a text wherever it stands."""

    def undo(self, path: bytes) -> None:
        """Take back the newest edit of a file."""


class EngineWriter:
    """Edits by the edit engine, in this process."""

    def __init__(self, root: Path, history: Path) -> None:
        """Take the root, and where the history is kept."""
        settings = Settings(state_dir=history, history_steps=200)
        self._root = os.fsencode(root)
        self._session = _OneRoot(settings, root, None)  # type: ignore[arg-type]
        self._editor = Editor(self._session)  # type: ignore[arg-type]

    def use(self, index: Index) -> None:
        """Tell this index of what is edited from now on."""
        self._session.index = index

    def whole(self, path: bytes, content: str) -> None:
        """Write a whole text."""
        place, subject = self._subject(path)
        self._commit(place, whole(subject, content, KEPT))

    def line(self, path: bytes, number: int, text: str) -> None:
        """Replace a line."""
        place, subject = self._subject(path)
        edit = LineEdit(number, text, number)
        self._commit(place, changing(subject, lambda document: _made(lines(document, [edit]))))

    def literal(self, path: bytes, old: str, new: str) -> None:
        """Replace a text wherever it stands."""
        place, subject = self._subject(path)
        request = LiteralRequest(old, new, None)
        self._commit(place, changing(subject, lambda document: _made(literal(document, request))))

    def undo(self, path: bytes) -> None:
        """Take back the newest edit of a file."""
        reverted(self._editor, self._editor.place(self._name(path)), None, Progress())

    def close(self) -> None:
        """Close the history."""
        self._editor.engine.history.close()

    def _name(self, path: bytes) -> str:
        return os.fsdecode(self._root + b"/" + path)

    def _subject(self, path: bytes) -> tuple[str, Subject]:
        name = self._name(path)
        return name, self._editor.subject(self._editor.place(name))

    def _commit(self, name: str, planner: Planner) -> None:
        self._editor.commit([self._editor.target(name, planner)], tool="endure", progress=Progress())


def _made(planned: Planned) -> tuple[Changes, object]:
    return planned.edits, planned


@dataclass
class Edits:
    """Edits files of a world.

    Attributes:
        world: the world.
        oracle: knows the texts.
        edited: the files that were edited, whose blocks may be cut elsewhere than in a fresh index.
    """

    world: World
    oracle: Oracle
    edited: set[Node] = field(default_factory=set)
    undoable: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)

    def edit(self, writer: Writer, draw: random.Random) -> str:
        """Make an edit; return its name, "" where none could be made."""
        kind = draw.choice(("literal", "lines", "whole", "undo"))
        if kind == "undo":
            return self._undo(writer, draw)
        path = self.world.some_file()
        if path is None:
            return ""
        node = self.world.files[path]
        text = self.oracle.text(node)
        encoding = node.encoding.removesuffix("-sig")
        if not text.clear or not text.lines or text.encoding not in ("utf-8", encoding):
            return ""
        if node.content.isascii():
            encoding = "utf-8"
        if text.encoding != encoding:
            return ""
        small = len(node.content) < _MODELLED
        plain = encoding == "utf-8" and node.content.endswith(b"\n") and b"\r" not in node.content
        plain = plain and not node.content.startswith(b"\xef\xbb\xbf")
        if not small and not (plain and "\udc80" <= max(text.joined, default="") < "\udd00") and not plain:
            return ""
        token = self.world.token()
        before = node.content
        self._mark(path)
        if kind == "whole":
            if not small:
                return ""
            content = f"{token} foo\nbar {token}\n" * draw.randint(1, 3)
            model = Modelled(before, encoding)
            if len(set(model.ends)) != 1:
                return ""
            end = model.ends[0]
            after = model.mark + b"".join(line.encode(encoding) + end for line in content.split("\n")[:-1])
            if not model.text.endswith("\n"):
                return ""
            writer.whole(path, content)
        elif kind == "lines":
            number = draw.randint(1, len(text.lines))
            if small:
                model = Modelled(before, encoding)
                spans = model.lines
                if len(spans) != len(text.lines) or number == len(spans):
                    return ""
                start, stop = spans[number - 1]
                after = model.edited([Change(start, stop, f"{token} new\n")], keep_final=True)
            else:
                raw = before.split(b"\n")
                raw[number - 1] = f"{token} new".encode()
                after = b"\n".join(raw)
            writer.line(path, number, f"{token} new")
        else:
            tokens = [one for one in self.world.tokens[-500:] if one in text.joined]
            if not tokens:
                return ""
            old = draw.choice(tokens)
            if small:
                model = Modelled(before, encoding)
                places, at = [], model.text.find(old)
                while at >= 0:
                    places.append(Change(at, at + len(old), token))
                    at = model.text.find(old, at + len(old))
                after = model.edited(places, keep_final=True)
            else:
                after = before.replace(old.encode(), token.encode())
            writer.literal(path, old, token)
        node.content, node.began = after, node.began + 1
        self._demand(path, after, kind)
        self.undoable.append((path, before, after))
        del self.undoable[:-20]
        return kind

    def _mark(self, path: bytes) -> None:
        """Files with several names are written in place."""
        if os.stat(self.world.full(path)).st_nlink > 1:
            self.world.mark(self.world.files[path], "grown")
            self.world.mark(self.world.files[path], "inside")

    def _demand(self, path: bytes, wanted: bytes, kind: str) -> None:
        self.world.did(f"edit {kind}", path)
        self.edited.add(self.world.files[path])
        held = Path(os.fsdecode(self.world.full(path))).read_bytes()
        assert held == wanted, f"edit {kind} of {path!r} left {held!r}, not {wanted!r}"

    def _undo(self, writer: Writer, draw: random.Random) -> str:
        """Take back the newest edit of a file that nobody has changed since."""
        newest = {path: (before, after) for path, before, after in self.undoable}
        fitting = [
            path
            for path, (_, after) in newest.items()
            if path in self.world.files and self.world.files[path].content == after
        ]
        if not fitting:
            return ""
        path = draw.choice(fitting)
        before, _ = newest[path]
        self._mark(path)
        writer.undo(path)
        node = self.world.files[path]
        node.content, node.began = before, node.began + 1
        self._demand(path, before, "undo")
        self.undoable = [one for one in self.undoable if one[0] != path]
        return "undo"
