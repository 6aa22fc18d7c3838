"""Which index answers for a path that a person names, and how files are called in the answer.

A person at a terminal may read what the system lets them read, so the allowed roots of the settings, which confine MCP
clients, do not count here. The innermost folder around the path that has been indexed answers; where there is none,
the named folder itself is searched by reading it, and nothing is stored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from linedex.errors import NotAFolder, NotFound
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.store.condition import stored_root
from linedex_server.cli.named import Named, called, existing, named
from linedex_server.config import Settings
from linedex_server.workspace import below, indexed_around, languages_folder, make_private_folders, sidecar_path


@dataclass(frozen=True, slots=True)
class Place:
    """A named path in the index that answers for it.

    Attributes:
        index: the index.
        scope: the path below its root.
        named: the path as the person spelled it, b"" for the folder they stand in.
        is_folder: whether it is a folder.
        indexed: whether it lies in a folder that has been indexed.
    """

    index: Index
    scope: RelPath
    named: bytes
    is_folder: bool
    indexed: bool

    def called(self, path: bytes) -> bytes:
        """Return how the person calls a file of this index: what they named, and the rest below it."""
        return called(self.named, self.scope, path)


class Places:
    """Opens each index once, and closes all of them at the end of a `with`."""

    def __init__(self, settings: Settings, limits: Limits | None = None) -> None:
        self._settings = settings
        self._limits = limits or settings.limits
        self._open: dict[Path, Index] = {}
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def at(self, path: str | None) -> Place:
        """Return the place of a path as a person spells it; None is the folder they stand in.

        Raises:
            NotFound: there is nothing there.
            BadArgument: it is no path, or names what is neither a file nor a folder.
        """
        return self.of(named(path))

    def of(self, thing: Named) -> Place:
        """Return the place of what a person has named.

        Raises:
            NotFound: it is not there any more.
        """
        around = indexed_around(self._settings, thing.real, is_folder=thing.is_folder)
        root = around or (thing.real if thing.is_folder else thing.real.parent)
        return Place(self._index(root), below(root, thing.real), thing.spelled, thing.is_folder, around is not None)

    def indexed(self, thing: Named) -> Place:
        """Return the place of what a person has named, for a question that only an index answers.

        Raises:
            NotFound: it is not there any more, or no folder around it has been indexed.
        """
        place = self.of(thing)
        if not place.indexed:
            path = os.fsdecode(thing.spelled)
            where = f"`{path}`" if path else "this folder"
            raise NotFound(f"No index covers {where}.", f"`linedex index {path or '.'}` makes one.")
        return place

    def root(self, path: str) -> Index:
        """Return the index of the folder `path` itself, made when there is none.

        Raises:
            NotFound: there is nothing there.
            NotAFolder: it is something else.
        """
        real = existing(path)
        if not real.is_dir():
            raise NotAFolder(f"`{path}` is not a folder.", "Name a folder to index; a single file needs no index.")
        make_private_folders(self._settings.state_dir, self.sidecar(real))
        return self._index(real, read_only=False)

    def sidecar(self, root: Path) -> Path:
        """Return where the lasting index of `root` is or would be."""
        return sidecar_path(self._settings.state_dir, root)

    def all_indexed(self) -> Iterator[Index]:
        """Yield the index of each folder that has been indexed and is still there, in order of their paths."""
        stored = (stored_root(path) for path in (self._settings.state_dir / "indexes").glob("*/index.db"))
        for root in sorted(Path(root) for root in stored if root):
            if root.is_dir() and self.sidecar(root).exists():
                yield self._index(root)

    def _index(self, root: Path, *, read_only: bool = True) -> Index:
        """Return the index of `root`; only a command that builds it may write it, or leave anything behind."""
        if root not in self._open:
            index = Index(
                root,
                self.sidecar(root),
                self._limits,
                settings=self._settings.walk,
                read_only=read_only,
                added_languages=languages_folder(self._settings.state_dir),
            )
            self._exits.callback(index.close)
            self._open[root] = index
        return self._open[root]
