"""The library's face: one root, its index, and everything that can be asked of it.

    index = Index(Path("src"), Path("state/index.db"))
    index.start()                                   # indexing goes on behind every answer
    index.search(SearchRequest("TODO")).files

Promise: every answer is of the bytes on disk at the time of asking. What the index does not know yet, or no longer, is
read; without a usable index everything is. All methods may be called from any thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import apsw

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
from linedex.build.keeper import Keeper
from linedex.content.lines import LineIndex
from linedex.errors import LinedexError
from linedex.files.ignore import WalkSettings
from linedex.files.own_state import without_own_state
from linedex.files.roots import Root
from linedex.later import later
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex.log_answers import Patterns, PatternsRequest, Timeline, TimelineRequest
from linedex.model import Fingerprint, LineCount, RelPath, TextFormat
from linedex.query.progress import Progress
from linedex.query.source import Source
from linedex.standpoint import Standpoint
from linedex.store.database import Sidecar
from linedex.store.look import Look

if TYPE_CHECKING:
    from linedex.query import (
        around,
        enclosing,
        following,
        listing,
        log_patterns,
        log_read,
        log_timeline,
        names,
        near_search,
        onwards,
        outline,
        overview,
        paths,
        read,
        search,
    )
else:
    around = later("linedex.query.around")
    enclosing = later("linedex.query.enclosing")
    following = later("linedex.query.following")
    listing = later("linedex.query.listing")
    log_patterns = later("linedex.query.log_patterns")
    log_read = later("linedex.query.log_read")
    log_timeline = later("linedex.query.log_timeline")
    names = later("linedex.query.names")
    near_search = later("linedex.query.near_search")
    onwards = later("linedex.query.onwards")
    outline = later("linedex.query.outline")
    overview = later("linedex.query.overview")
    paths = later("linedex.query.paths")
    read = later("linedex.query.read")
    search = later("linedex.query.search")

_WHOLE = RelPath(b"")


@dataclass(frozen=True, slots=True)
class Layout:
    """How one state of a file is laid out.

    Attributes:
        fingerprint: of that state.
        format: how its bytes spell text.
        lines: where its lines begin.
    """

    fingerprint: Fingerprint
    format: TextFormat
    lines: LineIndex


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
        read_only: bool = False,
        added_languages: Path | None = None,
        state: Path | None = None,
    ) -> None:
        """Open the index of `root`; nothing is indexed before `start` or `build`.

        Args:
            root: the folder.
            sidecar: the file that holds the index; made if it is not there.
            limits: sizes and times.
            settings: what of the folder belongs to it.
            loose: whether only files that are named belong to it: for files outside every root.
            read_only: whether to make and write nothing: what is stored is used, the rest is read.
            added_languages: the folder of languages a person added.
            state: the folder of our own that the sidecar lies in, left out of the root if it is below it.

        Raises:
            NotFound, NotAFolder: there is no such folder.
        """
        self._root = Root(root)
        self.root = Path(os.fsdecode(self._root.path))
        self._limits = limits
        self._settings = without_own_state(settings or WalkSettings(), self._root, sidecar, state)
        store = Sidecar(sidecar, str(self.root), read_only=read_only)
        self._keeper = Keeper(
            *(self._root, store, self._settings, limits), loose=loose, added_languages=added_languages
        )
        self._standpoint = Standpoint(self._root, self._settings, self._keeper, limits, added_languages)

    def under(self, limits: Limits) -> Self:
        """Return this same index with other limits for its answers; to close either closes both.

        Indexing keeps the limits with which the index was opened.
        """
        other = copy(self)
        other._limits = limits
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # building

    def start(self) -> None:
        """Begin indexing in the background; returns at once. Changes that queries meet are then indexed too."""
        self._keeper.start()

    def build(self, progress: Callable[[IndexStatus], None] | None = None) -> IndexStatus:
        """Bring the index up to date and return its state; `progress` is called about ten times a second meanwhile.

        Raises:
            IndexBusy: another process, or this one in the background, is writing this index.
        """
        return self._keeper.build(progress)

    def refresh(self) -> None:
        """Look at every file now, and let the background index what has changed; returns before it has."""
        self._standpoint.look(_WHOLE)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the background has nothing to do; return whether that came true within `timeout` seconds."""
        return self._keeper.wait(timeout)

    def on_change(self, callback: Callable[[frozenset[RelPath]], None]) -> Callable[[], None]:
        """Call `callback` with the paths that changed, soon after they did; return what ends that.

        Only a started index hears of changes. The calls come from a thread of their own, one at a time; an empty set
        means that anything may have changed. The callback returns soon and raises nothing.
        """
        return self._keeper.freshness.subscribe(callback)

    def edited(
        self, path: RelPath, before: Fingerprint, splices: Sequence[tuple[int, int, int]], timeout: float = 2.0
    ) -> bool:
        """Hear what was written to a file, so that a large one need not be read again; return whether it need not.

        Only a started index learns from it, and only of files that it knows by their blocks. Whatever it returns, the
        next question is answered from the file's present bytes. It is worth most right after the write, before the
        index has noticed by itself that the file is another one.

        Args:
            path: the file, written already.
            before: its fingerprint before the write.
            splices: in ascending order, first byte and byte after the last of what was replaced, and the number of
                bytes that stand there now; offsets are of the bytes before.
            timeout: seconds to wait until the index has taken it in.
        """
        # the builder's modules take 100 ms to import, which a process that only reads need not wait for
        from linedex.build.splicing import Edit  # noqa: PLC0415

        return self._keeper.edited(Edit(path, before, tuple(splices)), timeout)

    def expecting(self, path: RelPath) -> AbstractContextManager[None]:
        """Leave a file alone while the context lasts, in which it is written and then told of by `edited`.

        Else the index may notice the write before it is told, and begin to read all of the file.
        """
        return self._keeper.expecting(path)

    def close(self) -> None:
        """End indexing at the next commit and close the sidecar; what is half done goes on at the next start."""
        self._standpoint.close()
        self._keeper.close()

    def _source(self, path: RelPath, *, glance: bool = False) -> AbstractContextManager[Source]:
        return self._standpoint.source(path, self._limits, glance=glance)

    # questions

    def search(self, request: SearchRequest, progress: Progress | None = None) -> SearchAnswer:
        """Return one page of the answer to `request`.

        Args:
            request: what is asked.
            progress: told how far the search is; its `cancel` ends it.

        Raises:
            NotFound: there is nothing at the scope.
            BadPattern, BadCursor, BadArgument: the request cannot be answered; the message says why.
            Cancelled: nobody waits for the answer any more.
        """
        found = self._standpoint.look(request.scope, include_ignored=request.include_ignored)
        return self._answer(found, request, progress or Progress())

    def pages(self, request: SearchRequest, following: int, progress: Progress | None = None) -> Iterator[SearchAnswer]:
        """Yield all pages of the answer to `request`, over one look at the disk; raises as `search` does.

        The coverage of each page tells of those before it too, so that of the last one is that of the whole answer.

        Args:
            request: what is asked; the first page has its `max_hits`, so that something is seen soon.
            following: hits in each page after the first.
            progress: told how far the search is; its `cancel` ends it.
        """
        found = self._standpoint.look(request.scope, include_ignored=request.include_ignored)
        progress = progress or Progress()
        asked = self._keeper.answered(
            lambda db: search.Search(self._root, found, request, self._limits, db, progress), found.catalogue
        )
        first = self._keeper.answered(partial(asked.page, request.max_hits), found.catalogue)
        answer = self._or_near(first, found, request, progress)
        yield answer
        while answer.cursor:
            answer = self._keeper.answered(partial(asked.page, following), found.catalogue)
            yield answer

    def _answer(self, found: Look, request: SearchRequest, progress: Progress) -> SearchAnswer:
        answer = self._keeper.answered(
            lambda db: search.search(self._root, found, request, self._limits, db, progress), found.catalogue
        )
        return self._or_near(answer, found, request, progress)

    def _or_near(self, answer: SearchAnswer, found: Look, request: SearchRequest, progress: Progress) -> SearchAnswer:
        if request.fuzzy and not request.regex and not request.invert and not answer.total_hits and not request.cursor:
            return near_search.near_search(self._root, found, request, self._limits, answer, progress)
        return answer

    def read(self, path: RelPath, first: int = 1, count: int = 100) -> ReadAnswer:
        """Return `count` lines of a file from line `first` on; see `query.read.read`."""
        with self._source(path, glance=True) as source:
            return read.read(source, first, count)

    def head(self, path: RelPath, count: int = 100) -> ReadAnswer:
        """Return the first `count` lines of a file."""
        with self._source(path, glance=True) as source:
            return read.head(source, count)

    def tail(self, path: RelPath, count: int = 100) -> ReadAnswer:
        """Return the last `count` lines of a file, and a cursor for `read_on` that passes on to what is appended."""
        with self._source(path, glance=True) as source:
            return source.steadily(lambda: following.tail(source, count))

    def count_lines(self, path: RelPath) -> LineCount:
        """Return how many lines a file has, read to its end if nobody has counted them yet."""
        with self._source(path) as source:
            return source.steadily(lambda: source.lines.total)

    def search_file(self, request: SearchRequest, progress: Progress | None = None) -> SearchAnswer:
        """Search one file as `search` does, with cursors that outlive its rotation; see `query.onwards`."""
        return onwards.Onwards(self._root, self._source, lambda asked: self.search(asked, progress)).search(request)

    def read_on(self, path: RelPath, cursor: str, count: int = 100) -> ReadAnswer:
        """Return up to `count` lines behind a cursor that `tail`, `search_file` or this gave; see `query.onwards`."""
        return onwards.Onwards(self._root, self._source, self.search).read(path, cursor, count)

    def around(self, path: RelPath, pattern: str, count: int = 100) -> ReadAnswer:
        """Return `count` lines around the first place that holds `pattern`, or the nearest one; see `query.around`."""
        with self._source(path) as source:
            return around.around(source, pattern, count)

    def enclosing(self, path: RelPath, line: int, depth: int = 1, context_lines: int = 40) -> ReadAnswer:
        """Return the symbol around a line, `depth` levels out; see `query.enclosing.enclosing`."""
        with self._source(path) as source:
            return enclosing.enclosing(source, self._standpoint.parse, line, depth=depth, context_lines=context_lines)

    def layout(self, path: RelPath) -> Layout:
        """Return how a file is laid out: as the index knows it, where that is of the present bytes, else by reading it.

        Raises:
            LinedexError: the file cannot be read.
        """
        with self._source(path) as source:
            return Layout(source.fingerprint, source.format, source.lines.index)

    def outline(self, path: RelPath, *, full: bool = True) -> Outline:
        """Return the symbols of a file; with `full` fields, enum members and keys too."""
        with self._source(path) as source:
            return outline.outline(source, self._standpoint.parse, full=full)

    def overview(self, path: RelPath) -> Overview:
        """Return what a person wants to know of a file before reading it."""

        def told(db: apsw.Connection | None) -> Overview:
            with self._source(path, glance=True) as source:
                return overview.overview(source, self._standpoint.parse, db)

        return self._keeper.answered(told)

    # logs

    def timeline(self, request: TimelineRequest, progress: Progress | None = None) -> Timeline:
        """Return counts over time of the logs in scope; see `query.log_timeline.log_timeline`."""
        found = self._standpoint.look(request.scope)
        return self._keeper.answered(
            lambda db: log_timeline.log_timeline(self._root, found, request, self._limits, db, progress),
            found.catalogue,
        )

    def patterns(self, request: PatternsRequest, progress: Progress | None = None) -> Patterns:
        """Return the recurring messages of a log; see `query.log_patterns.log_patterns`."""

        def told(db: apsw.Connection | None) -> Patterns:
            with self._source(request.scope) as source:
                return log_patterns.log_patterns(source, request, db, progress)

        return self._keeper.answered(told)

    def read_at(self, path: RelPath, at: str, count: int = 100) -> ReadAnswer:
        """Return `count` lines of a log from a time on; see `query.log_read.read_at`."""

        def told(db: apsw.Connection | None) -> ReadAnswer:
            with self._source(path) as source:
                return log_read.read_at(source, at, count, db)

        return self._keeper.answered(told)

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
        found = self._standpoint.look(request.scope)

        def told(db: apsw.Connection | None) -> SymbolAnswer:
            if db is None:
                return SymbolAnswer((), 0, len(found.current), "There is no index of symbols yet.")
            return names.find_symbol(db, found.catalogue, request, found.everywhere_current(), self._head_at)

        answer = self._keeper.answered(told, found.catalogue)
        if found.new:
            return replace(answer, pending=answer.pending + len(found.new))
        return answer

    def _head_at(self, path: RelPath, line: int) -> str:
        """Return a few lines of a file from a line on as they are now, "" when it has none."""
        try:
            return "\n".join(self.read(path, line, names.HEAD_LINES).lines)
        except LinedexError:
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
        found = self._standpoint.look(scope, include_ignored=include_ignored)
        return paths.find_files(found.keys(), name, scope, max_hits, include_hidden=include_hidden)

    def status(self) -> IndexStatus:
        """Return the state of the index."""
        return self._keeper.status(self._standpoint.problems())

    def skipped(self) -> Iterator[tuple[RelPath, str]]:
        """Yield each file whose text is not in the index, and why, in path order."""
        return self._keeper.skipped()

    def check(self) -> tuple[str, ...]:
        """Return what is wrong with the stored index, in sentences; nothing when its invariants hold."""
        # 90 ms that only this command needs
        from linedex.build.check import check  # noqa: PLC0415

        return self._keeper.answered(
            lambda db: ("There is no usable index.",) if db is None else check(db, self._root, self._limits)
        )
