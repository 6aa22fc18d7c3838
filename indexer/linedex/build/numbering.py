"""Numbers for the shapes of a log's messages: those that are known, and those that parts which are read bring.

Promise: a number, once stored, always means the same template; what is new is stored by `save`, nothing else is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import apsw

from linedex.content.logs.parts import Part, ShapedPart
from linedex.model import FileId
from linedex.store import logs


class Numbering:
    """The templates of one log while parts of it are read, inside the caller's transactions."""

    def __init__(self, db: apsw.Connection, file: FileId) -> None:
        """Begin with what is stored; an interrupted build may have stored templates before the first parts."""
        self._db = db
        self._file = file
        self._miner = logs.stored_miner(db, file)
        self._new: dict[int, int] = {}

    def counted(self, one: ShapedPart, messages: Mapping[int, str]) -> Part:
        """Return a part with the counts of its templates; shapes that are new are learned from their `messages`."""
        known = self._miner.shapes
        fresh = [shape for shape in one.shapes.hashes.tolist() if shape not in known]
        counts = self._miner.learn(one.shapes, lambda shape, _: messages.get(shape))
        self._new |= {shape: known[shape] for shape in fresh if shape in known}
        return replace(one.part, templates=counts)

    def save(self) -> None:
        """Store the shapes that are new, and the templates that they have made or changed."""
        logs.put_templates(self._db, self._file, self._miner.drain, sorted(set(self._new.values())))
        logs.put_shapes(self._db, self._file, self._new.items())
        self._new = {}
