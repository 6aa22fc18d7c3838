"""The library's face: one root, its index, and everything that can be asked of it.

    index = Index(Path("src"), Path("state/index.db"))
    index.start()                                   # indexing goes on behind every answer
    index.search(SearchRequest("TODO")).files

Promise: every answer is of the bytes on disk at the time of asking. What the index does not know yet, or no longer, is
read; without a usable index everything is. All methods may be called from any thread.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw
import numpy as np

from linedex.answers import (
    FolderListing,
    IndexStatus,
    Outline,
    Overview,
    PathAnswer,
    ReadAnswer,
    SearchAnswer,
    SearchRequest,
    SymbolAnswer,
    SymbolRequest,
)
from linedex.build.check import check
from linedex.build.outliner import CrashPolicy, Outliner
from linedex.build.pipeline import BACKGROUND, Builder
from linedex.build.status import status_of
from linedex.build.sync import look
from linedex.content.symbols import Extraction
from linedex.errors import IndexBusy, LinedexError
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex.model import RelPath
from linedex.query import around, enclosing, listing, names, outline, paths, read
from linedex.query.near_search import near_search
from linedex.query.search import search
from linedex.query.source import Source, opened
from linedex.store import files as file_rows
from linedex.store.catalogue import Catalogue
from linedex.store.database import Sidecar, unusable
from linedex.store.files import FileRow
from linedex.store.look import Look, NewFile

_WHOLE = RelPath(b"")
_BESIDE_QUERIES = 1
"""Parsing processes kept for questions about single files."""


class Index:
    """One root and its sidecar.

    Attributes:
        root: the folder, as the system spells it.
    """

    def __init__(
        self,
        root: Path,
        sidecar: Path,
        limits: Limits = DEFAULT_LIMITS,
        *,
        settings: WalkSettings | None = None,
        loose: bool = False,
        added_languages: Path | None = None,
    ) -> None:
        """Open the index of `root`; nothing is indexed before `start` or `build`.

        Args:
            root: the folder.
            sidecar: the file that holds the index; made if it is not there.
            limits: sizes and times.
            settings: what of the folder belongs to it.
            loose: whether only files that are named belong to it: for files outside every root.
            added_languages: the folder of languages a person added.

        Raises:
            NotFound, NotAFolder: there is no such folder.
            OSError: the sidecar's folder cannot be made.
        """
        self._root = Root(root)
        self.root = Path(os.fsdecode(self._root.path))
        self._limits = limits
        self._settings = settings or WalkSettings()
        self._loose = loose
        self._sidecar = Sidecar(sidecar, str(self.root))
        self._lock = threading.Lock()
        self._catalogue = Catalogue.empty()
        self._data_version = -1
        self._policy = CrashPolicy()
        self._outliner = Outliner(limits, _BESIDE_QUERIES, policy=self._policy, added_languages=added_languages)
        self._builder = Builder(
            *(self._root, self._sidecar, self._settings, limits, self._publish, self._policy, added_languages)
        )
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._closing = threading.Event()
        self._named: list[FileRow] = []
        self._thread: threading.Thread | None = None
        self._load()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # building

    def start(self) -> None:
        """Begin indexing in the background; returns at once. Changes that queries meet are then indexed too."""
        if self._thread is None and self._sidecar.writer:
            self._idle.clear()
            self._wake.set()
            self._thread = threading.Thread(target=self._work, name=f"index {self.root}", daemon=True)
            self._thread.start()

    def build(self, progress: Callable[[IndexStatus], None] | None = None) -> IndexStatus:
        """Bring the index up to date and return its state; `progress` is called about ten times a second meanwhile.

        Raises:
            IndexBusy: another process, or this one in the background, is writing this index.
        """
        if not self._sidecar.writer or self._thread is not None:
            raise IndexBusy(
                f"The index of {self.root} is being written by another process.",
                "Wait for it, or ask `linedex status` what it is doing.",
            )
        done = threading.Event()
        teller = threading.Thread(target=self._tell, args=(progress, done), daemon=True) if progress else None
        if teller:
            teller.start()
        try:
            self._build_once(nice=0)
        finally:
            done.set()
            if teller:
                teller.join()
        state = self.status()
        if progress:
            progress(state)
        return state

    def _tell(self, progress: Callable[[IndexStatus], None], done: threading.Event) -> None:
        while not done.wait(0.1):
            progress(self.status())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the background has nothing to do; return whether that came true within `timeout` seconds."""
        return self._idle.wait(timeout)

    def close(self) -> None:
        """End indexing at the next commit and close the sidecar; what is half done goes on at the next start."""
        self._closing.set()
        self._builder.stop()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._outliner.close()
        self._sidecar.close()

    def _work(self) -> None:
        while not self._closing.is_set():
            self._wake.wait()
            if self._closing.is_set():
                return
            self._wake.clear()
            self._build_once(nice=BACKGROUND)
            if not self._wake.is_set():
                self._idle.set()

    def _build_once(self, *, nice: int) -> None:
        """Run one build; an index that turns out to be damaged is begun anew, once."""
        for attempt in (1, 2):
            try:
                named, self._named = self._named, []
                for row in named:
                    if self._catalogue.places_by_key.get(row.key) is None:
                        self._builder.add(self._catalogue, row)
                self._builder.build(self._catalogue, walk=not self._loose, nice=nice)
            except apsw.Error as error:
                if attempt == 2 or not unusable(error):
                    raise
                self._sidecar.rebuild(str(error))
                self._publish(Catalogue.empty())
            else:
                return

    def _publish(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def _learn(self, found: Look) -> None:
        """Let the background index what a look showed to be new or changed."""
        if found.changed and self._thread is not None and not self._closing.is_set():
            self._idle.clear()
            self._wake.set()

    def _learn_named(self, new: NewFile) -> None:
        """Let the background index a large file that somebody named and that no walk meets."""
        if self._thread is not None and new.stat.size > self._limits.large_file and (self._loose or new.ignored):
            self._named.append(FileRow(new.key, new.stat, time.time_ns(), ignored=True))
            self._idle.clear()
            self._wake.set()

    # the state that questions start from

    def _load(self) -> None:
        """Read the stored catalogue; one that cannot be read counts as empty."""
        if self._sidecar.problem:
            return
        try:
            with self._sidecar.reading() as db:
                self._data_version = db.pragma("data_version")
                self._catalogue = file_rows.load(db)
        except apsw.Error as error:
            if not unusable(error):
                raise
            self._sidecar.problem = f"the index is damaged ({error})"

    def _current_catalogue(self) -> Catalogue:
        """Return the catalogue; what another process has written meanwhile is read first."""
        if not self._sidecar.writer:
            with self._lock:
                self._sidecar.look_again()
                if not self._sidecar.problem and self._changed_by_another():
                    self._load()
        return self._catalogue

    def _changed_by_another(self) -> bool:
        with self._sidecar.reading() as db:
            return bool(db.pragma("data_version") != self._data_version)

    def _look(self, scope: RelPath, *, include_ignored: bool = False) -> Look:
        settings = replace(self._settings, include_ignored=True) if include_ignored else self._settings
        found = look(self._root, settings, self._current_catalogue(), scope)
        self._learn(found)
        for new in found.new:
            if new.key.replace(b"\0", b"/") == scope:
                self._learn_named(new)
        return found

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection | None]:
        """Give a connection to a usable index, None when there is none."""
        if self._sidecar.problem or not self._sidecar.path.exists():
            yield None
            return
        with self._sidecar.reading() as db:
            yield db

    @contextmanager
    def _source(self, path: RelPath) -> Iterator[Source]:
        with self._reading() as db, opened(self._root, path, self._current_catalogue(), db, self._limits) as source:
            if source.place < 0 and source.size > self._limits.large_file and self._thread is not None:
                self._look(path)
            yield source

    def _parse(self, text: bytes, language: str, full: bool) -> Extraction:
        return self._outliner.outline(text, language, full=full)

    # questions

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Return one page of the answer to `request`.

        Raises:
            NotFound: there is nothing at the scope.
            BadPattern, BadCursor, BadArgument: the request cannot be answered; the message says why.
        """
        found = self._look(request.scope, include_ignored=request.include_ignored)
        answer = self._search(found, request)
        if request.fuzzy and not request.regex and not request.invert and not answer.total_hits and not request.cursor:
            return near_search(self._root, found, request, self._limits, answer)
        return answer

    def _search(self, found: Look, request: SearchRequest) -> SearchAnswer:
        try:
            with self._reading() as db:
                return search(self._root, found, request, self._limits, db)
        except apsw.Error as error:
            if not unusable(error):
                raise
            self._sidecar.problem = f"the index is damaged ({error}); answers come from reading the files"
            return search(self._root, found, request, self._limits, None)

    def read(self, path: RelPath, first: int = 1, count: int = 100) -> ReadAnswer:
        """Return `count` lines of a file from line `first` on; see `query.read.read`."""
        with self._source(path) as source:
            return read.read(source, first, count)

    def head(self, path: RelPath, count: int = 100) -> ReadAnswer:
        """Return the first `count` lines of a file."""
        with self._source(path) as source:
            return read.head(source, count)

    def tail(self, path: RelPath, count: int = 100) -> ReadAnswer:
        """Return the last `count` lines of a file."""
        with self._source(path) as source:
            return read.tail(source, count)

    def around(self, path: RelPath, pattern: str, count: int = 100) -> ReadAnswer:
        """Return `count` lines around the first place that holds `pattern`, or the nearest one; see `query.around`."""
        with self._source(path) as source:
            return around.around(source, pattern, count)

    def enclosing(self, path: RelPath, line: int, depth: int = 1, context_lines: int = 40) -> ReadAnswer:
        """Return the symbol around a line, `depth` levels out; see `query.enclosing.enclosing`."""
        with self._source(path) as source:
            return enclosing.enclosing(source, self._parse, line, depth=depth, context_lines=context_lines)

    def outline(self, path: RelPath, *, full: bool = True) -> Outline:
        """Return the symbols of a file; with `full` fields, enum members and keys too."""
        with self._source(path) as source:
            return outline.outline(source, self._parse, full=full)

    def overview(self, path: RelPath) -> Overview:
        """Return what a person wants to know of a file before reading it."""
        with self._source(path) as source:
            return outline.overview(source, self._parse)

    def listing(
        self,
        path: RelPath = _WHOLE,
        max_depth: int = 1,
        max_entries: int = 200,
        *,
        include_hidden: bool = False,
        include_ignored: bool = False,
    ) -> FolderListing:
        """Return the entries of a folder as they are now."""
        return listing.listing(
            *(self._root, self._settings, path, self._limits),
            max_depth=max_depth,
            max_entries=max_entries,
            include_hidden=include_hidden,
            include_ignored=include_ignored,
        )

    def find_symbol(self, request: SymbolRequest) -> SymbolAnswer:
        """Return the symbols that may be meant by a name, best first."""
        found = self._look(request.scope)
        current = np.zeros(len(found.catalogue), np.bool_)
        current[found.low : found.high] = found.current
        with self._reading() as db:
            if db is None:
                return SymbolAnswer((), 0, len(found.current) + len(found.new), "There is no index of symbols yet.")
            answer = names.find_symbol(db, found.catalogue, request, current, self._line_of)
        if found.new:
            return replace(answer, pending=answer.pending + len(found.new))
        return answer

    def _line_of(self, path: RelPath, line: int) -> str:
        """Return a line of a file as it is now, "" when it has none."""
        try:
            return self.read(path, line, 1).lines[0]
        except (LinedexError, IndexError):
            return ""

    def find_files(
        self,
        name: str,
        scope: RelPath = _WHOLE,
        max_hits: int = 50,
        *,
        include_hidden: bool = False,
        include_ignored: bool = False,
    ) -> PathAnswer:
        """Return the files whose path fits `name`, best first; see `query.paths.find_files`."""
        found = self._look(scope, include_ignored=include_ignored)
        known = found.catalogue.keys[found.low : found.high]
        keys = [key for key, gone in zip(known, found.gone.tolist(), strict=True) if not gone]
        if found.new:
            keys = sorted(keys + [new.key for new in found.new])
        return paths.find_files(keys, name, scope, max_hits, include_hidden=include_hidden)

    def status(self) -> IndexStatus:
        """Return the state of the index."""
        with self._reading() as db:
            problems = (*((self._sidecar.problem,) if self._sidecar.problem else ()), *self._outliner.problems())
            return status_of(
                str(self.root), self._current_catalogue(), self._builder.progress, db, self._sidecar, problems
            )

    def check(self) -> tuple[str, ...]:
        """Return what is wrong with the stored index, in sentences; nothing when its invariants hold."""
        with self._reading() as db:
            return ("There is no usable index.",) if db is None else check(db, self._root, self._limits)
