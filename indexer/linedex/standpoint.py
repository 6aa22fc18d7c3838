"""Where questions start from: what is on disk now, what the index knows of it, and a parser for what it does not know.

Promise: `look` and `source` speak of the moment of the call. What they meet that the index does not know is handed to
its keeper, which indexes it behind the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from linedex.build.keeper import Keeper
from linedex.build.sync import look
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.query.source import Source, opened
from linedex.store.catalogue import key_path
from linedex.store.look import Look

if TYPE_CHECKING:
    from linedex.build.outliner import Outliner
    from linedex.content.symbols import Extraction

_BESIDE_QUERIES = 1
"""Parsing processes kept for questions about single files."""


class Standpoint:
    """What the questions of one index start from."""

    def __init__(
        self, root: Root, settings: WalkSettings, keeper: Keeper, limits: Limits, added_languages: Path | None
    ) -> None:
        """Look at nothing yet.

        Args:
            root: the folder.
            settings: what of it belongs to the index.
            keeper: keeps the index.
            limits: budgets of a parse.
            added_languages: the folder of languages a person added.
        """
        self._root = root
        self._settings = settings
        self._keeper = keeper
        self._limits = limits
        self._added_languages = added_languages
        self._lock = threading.Lock()
        self._outliner: Outliner | None = None

    def look(self, scope: RelPath, *, include_ignored: bool = False) -> Look:
        """Return what is on disk at or below a path; with `include_ignored` what rules leave out too.

        Raises:
            NotFound: there is nothing at the scope.
        """
        catalogue = self._keeper.catalogue()
        found = None if include_ignored else self._keeper.freshness.look(scope)
        if found is None:
            settings = replace(self._settings, include_ignored=True) if include_ignored else self._settings
            found = look(self._root, settings, catalogue, scope)
        self._keeper.learn(found)
        for new in found.new:
            if key_path(new.key) == scope:
                self._keeper.learn_named(new)
        return found

    @contextmanager
    def source(self, path: RelPath, limits: Limits, *, glance: bool = False) -> Iterator[Source]:
        """Open a file for the time of a question; raises as `query.source.opened`.

        Args:
            path: where it is.
            limits: the bounds of reading it.
            glance: whether its encoding may be told from places of it.
        """
        catalogue = self._keeper.catalogue()
        with (
            self._keeper.reading(catalogue) as db,
            opened(self._root, path, catalogue, db, limits, glance=glance) as source,
        ):
            if source.place < 0 and source.size > limits.large_file:
                self.look(path)
            yield source

    def parse(self, text: bytes, language: str, full: bool) -> Extraction:
        """Return the symbols of a text, as `query.outline.Parse` asks for them."""
        with self._lock:
            if self._outliner is None:
                # 20 ms that most questions need not wait for
                from linedex.build.outliner import Outliner  # noqa: PLC0415

                self._outliner = Outliner(
                    self._limits, _BESIDE_QUERIES, policy=self._keeper.policy, added_languages=self._added_languages
                )
        return self._outliner.outline(text, language, full=full)

    def problems(self) -> tuple[str, ...]:
        """Return sentences on what is wrong with the parser, for a person to act on."""
        return () if self._outliner is None else self._outliner.problems()

    def close(self) -> None:
        """End the parser."""
        if self._outliner is not None:
            self._outliner.close()
