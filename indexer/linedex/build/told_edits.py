"""Edits of large files that whoever makes them tells the index of, so that these files need not be read again.

Promise: between the moment an edit is expected and the moment it is told, no build takes the edited file for one that
was rewritten: an event tells of the file's new name at once, but whoever wrote it flushes folders before it can tell.
Queries meanwhile read the file.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from linedex.build.sync import Difference
from linedex.model import RelPath
from linedex.store.catalogue import Catalogue

if TYPE_CHECKING:
    from linedex.build.splicing import Edit

_EDITS = 1_000
"""Edits that wait to be taken in."""


class _ToldEdit:
    """An edit that was told, and what became of it."""

    def __init__(self, edit: Edit) -> None:
        self.edit = edit
        self.known = False
        self.done = threading.Event()


class ToldEdits:
    """The edits that one index has to take in; told by any thread, taken by the one that builds."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """Begin with none; `wake` asks for a build."""
        self._wake = wake
        self._edits: deque[_ToldEdit] = deque()
        self._expected: Counter[RelPath] = Counter()
        self._guard = threading.Lock()

    @contextmanager
    def expecting(self, path: RelPath) -> Iterator[None]:
        """Leave a file alone while the context lasts, in which it is written and that is told."""
        with self._guard:
            self._expected[path] += 1
        try:
            yield
        finally:
            with self._guard:
                self._expected[path] -= 1
                self._expected += Counter()
            self._wake()

    def tell(self, edit: Edit, timeout: float) -> bool:
        """Have an edit taken in; return whether the index knew the file within `timeout` seconds."""
        if len(self._edits) >= _EDITS:
            return False
        told = _ToldEdit(edit)
        self._edits.append(told)
        self._wake()
        return told.done.wait(timeout) and told.known

    def take(self, take_in: Callable[[Edit], bool]) -> None:
        """Take in what was told; `take_in` says whether the index knew the file."""
        while self._edits:
            told = self._edits.popleft()
            try:
                told.known = take_in(told.edit)
            finally:
                told.done.set()

    def release(self) -> None:
        """Let nobody wait for edits to be taken in that cannot be."""
        while self._edits:
            self._edits.popleft().done.set()

    def without_expected(self, found: Difference | None, catalogue: Catalogue) -> Difference | None:
        """Return what a build has to do, files left out whose edit is expected."""
        with self._guard:
            paths = list(self._expected)
        if found is None or not paths:
            return found
        places = [place for place in map(catalogue.index, paths) if place >= 0]
        held = set(catalogue.facts["id"][places].tolist())
        return replace(found, changed=tuple(one for one in found.changed if one[0] not in held))
