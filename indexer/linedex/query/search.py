"""Search: plan, candidates, verification, page.

Promise: the hits of a complete answer are those that reading every file in scope gives; an answer that is less says
how much less. Files come in path order, lines in line order, and a cursor goes on exactly behind the last hit given.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import apsw
import numpy as np

from linedex.answers import (
    Coverage,
    CoverageReport,
    FileHits,
    Hit,
    OutputMode,
    SearchAnswer,
    SearchRequest,
)
from linedex.errors import BadArgument, BadCursor, LinedexError
from linedex.files.roots import Root
from linedex.later import later
from linedex.limits import Limits
from linedex.model import FileId, LineNumber
from linedex.query import cursor as cursors
from linedex.query.candidates import candidate_files
from linedex.query.cursor import Cursor, mark_of
from linedex.query.gram_query import Op
from linedex.query.pieces import FIRST_PLACE, Entry
from linedex.query.plan import plan_files
from linedex.query.progress import Progress
from linedex.query.scope import scope_of
from linedex.query.verify import Verifier
from linedex.store.age import drops
from linedex.store.catalogue import Indices, key_path
from linedex.store.files import indexed_ids
from linedex.store.look import Look

if TYPE_CHECKING:
    from linedex.query import enclosing, log_range
else:
    enclosing = later("linedex.query.enclosing")
    log_range = later("linedex.query.log_range")

_LINE_MARGIN = 10
"""Characters around the text of a line that is shown: its number, a mark, its end."""
_PART_MARGIN = 30
"""Characters around a further part of a long line: ellipses and the column of its match."""
_OF_THE_REST = "what the cursor passed over is not counted"


@dataclass
class _Page:
    """What has been found so far of the hits that a page has room for, and where it stopped."""

    room: int
    files: list[FileHits] = field(default_factory=list)
    hits: int = 0
    matched_files: int = 0
    stop: Cursor | None = None


class Search:
    """One search over one look at the disk."""

    def __init__(
        self,
        root: Root,
        look: Look,
        request: SearchRequest,
        limits: Limits,
        db: apsw.Connection | None,
        progress: Progress,
    ) -> None:
        """Prepare the search; `db` is a reading connection, None when the index cannot be asked.

        Raises:
            BadPattern, BadCursor, BadArgument: the request cannot be answered.
            UnreadableTime, EmptyRange, UnknownLevel: its times or levels cannot be read.
        """
        if request.max_hits < 1:
            raise BadArgument("`max_hits` is below 1.", "Ask for at least one hit.")
        began = time.perf_counter()
        self._root = root
        self._look = look
        self._request = request
        self._limits = limits
        self._db = None if request.brute else db
        self._deadline = time.monotonic() + limits.query_seconds
        self._progress = progress
        self._verified = 0
        self._looked_into = b""
        self._paged = False
        self._cursor = cursors.decode(request)
        self._scope = scope_of(look, request)
        told = () if self._cursor is None else self._cursor.span
        self._selection = None
        if request.since or request.until or request.level:
            self._selection = log_range.selection_of(root, look, self._scope, request, limits, told, self._db)
        self._verifier = Verifier(
            root, look.catalogue, self._db, request, limits, self._deadline, progress, self._selection
        )
        self._plan = plan_files(request)
        self._places, self._narrowed = self._let_pass()
        self._seconds = time.perf_counter() - began

    def page(self, most: int, db: apsw.Connection | None) -> SearchAnswer:
        """Return the next page of the answer; its coverage tells of all pages so far.

        Args:
            most: hits in it.
            db: a reading connection, held for this page only; None when the index cannot be asked.

        Raises:
            BadCursor: the file in which the last page stopped was replaced.
            Cancelled: nobody waits for it any more.
        """
        began = time.perf_counter()
        self._check_cursor()
        self._db = None if self._request.brute else db
        if self._paged:
            self._deadline = time.monotonic() + self._limits.query_seconds
        self._verifier.go_on(self._db, self._deadline)
        self._progress.begin(len(self._places) + len(self._scope.new))
        entries = self._scope.entries(self._places, self._cursor.key if self._cursor is not None else b"")
        page = _Page(most)
        match self._request.mode:
            case OutputMode.MATCHES:
                self._collect_hits(entries, page)
            case OutputMode.FILES:
                self._collect_files(entries, page)
            case OutputMode.COUNT:
                self._count(entries, page)
        self._seconds += time.perf_counter() - began
        self._cursor, self._paged = page.stop, True
        return self._answer(page)

    def _looks_into(self, entry: Entry) -> None:
        """Count a file that is read, once: one in which a page stopped is read again for the next."""
        self._progress.step()
        self._verified += entry.key != self._looked_into
        self._looked_into = entry.key

    def _let_pass(self) -> tuple[Indices, bool]:
        """Return the places of the known files to verify, ascending, and whether the index narrowed anything."""
        scope, catalogue = self._scope, self._look.catalogue
        if self._db is None or self._plan.op is Op.ALL or not scope.by_index:
            return scope.known, False
        found = candidate_files(self._db, self._plan)
        if found is None:
            return scope.known, False
        passing = catalogue.places(found)
        if drops(self._db) != catalogue.drops:
            # since the look a signature was dropped, of a file perhaps that held the same line before and after
            dropped = np.setdiff1d(scope.known, catalogue.places(indexed_ids(self._db)))
            passing = np.concatenate((passing, dropped))
        return scope.verified(passing), True

    def _out_of_time(self, page: _Page, entry: Entry) -> bool:
        if time.monotonic() <= self._deadline and not self._verifier.outcome.late:
            return False
        self._verifier.outcome.late = True
        if page.stop is None:
            page.stop = self._cursor_at(entry, LineNumber(0))
        return True

    def _cursor_at(self, entry: Entry, line: LineNumber, place: tuple[int, int] = FIRST_PLACE) -> Cursor:
        """Return the cursor behind a line of a file; one that has vanished is never its own successor."""
        span = log_range.span_numbers(self._selection) if self._selection else ()
        try:
            with self._root.opened(key_path(entry.key)) as descriptor:
                status = os.fstat(descriptor)
                mark = mark_of(status.st_size, lambda offset, size: os.pread(descriptor, size, offset))
        except (LinedexError, OSError):
            return Cursor(entry.key, line, place, -1, 0, span=span)
        return Cursor(entry.key, line, place, status.st_ino, status.st_size, mark, span)

    def _check_cursor(self) -> None:
        """Raise unless the file of the cursor is as it was, perhaps grown, whether or not this page comes to read it.

        Of another one in its place the index may know that it holds no hit, and its own may be told again elsewhere.
        """
        cursor = self._cursor
        if cursor is None:
            return
        try:
            with self._root.opened(key_path(cursor.key)) as descriptor:
                now = os.fstat(descriptor)
                cursor.check(now.st_ino, now.st_size, lambda offset, size: os.pread(descriptor, size, offset))
        except BadCursor:
            raise
        except (LinedexError, OSError):
            # of one that was not begun the page says why it is left out
            if cursor.begun:
                cursor.check(-1, 0, lambda _, __: b"")

    def _resumed(self, entry: Entry) -> tuple[LineNumber, tuple[int, int]]:
        """Return the line of `entry` behind which this page begins, and where to go on reading it."""
        cursor = self._cursor
        if cursor is None or cursor.key != entry.key:
            return LineNumber(0), FIRST_PLACE
        return cursor.line, cursor.place

    def _collect_hits(self, entries: Iterator[Entry], page: _Page) -> None:
        room = page.room
        bounded = self._request.max_characters > 0
        characters = self._request.max_characters or sys.maxsize
        for entry in entries:
            if self._out_of_time(page, entry):
                return
            self._looks_into(entry)
            after, place = self._resumed(entry)
            hits: list[Hit] = []
            more = False
            characters -= len(entry.key) + 2
            for hit in self._verifier.hits(entry, after, place):
                if bounded:
                    characters -= _length(hit)
                if len(hits) == room or (characters < 0 and (hits or page.hits)):
                    more = True
                    break
                hits.append(hit)
            room -= len(hits)
            if hits:
                page.hits += len(hits)
                page.matched_files += 1
                whole = not more and not after and not self._verifier.outcome.late
                page.files.append(
                    FileHits(key_path(entry.key), self._with_breadcrumbs(entry, hits), len(hits) if whole else None)
                )
            if more or self._verifier.outcome.late:
                page.stop = self._cursor_at(entry, hits[-1].line if hits else after, self._verifier.place)
                return

    def _with_breadcrumbs(self, entry: Entry, hits: list[Hit]) -> tuple[Hit, ...]:
        """Name the symbols around hits, only where the stored symbols are of the bytes that were matched."""
        if not self._request.breadcrumbs or self._db is None or entry.known is None:
            return tuple(hits)
        file = FileId(int(self._look.catalogue.facts["id"][entry.place]))
        around = enclosing.breadcrumbs(self._db, file, [hit.line for hit in hits])
        return tuple(hit._replace(breadcrumb=around.get(hit.line, "")) for hit in hits)

    def _collect_files(self, entries: Iterator[Entry], page: _Page) -> None:
        for entry in entries:
            if self._out_of_time(page, entry):
                return
            if len(page.files) == page.room:
                page.stop = self._cursor_at(entry, LineNumber(0))
                return
            self._looks_into(entry)
            if self._verifier.matches(entry):
                page.files.append(FileHits(key_path(entry.key), ()))
                page.matched_files = page.hits = len(page.files)

    def _count(self, entries: Iterator[Entry], page: _Page) -> None:
        for entry in entries:
            if self._out_of_time(page, entry):
                return
            self._looks_into(entry)
            if count := self._verifier.count(entry):
                page.hits += count
                page.matched_files += 1
                if len(page.files) < page.room:
                    page.files.append(FileHits(key_path(entry.key), (), count))
                elif page.stop is None:
                    page.stop = self._cursor_at(entry, LineNumber(0))

    def _answer(self, page: _Page) -> SearchAnswer:
        outcome = self._verifier.outcome
        skipped = dict(self._scope.skipped)
        for reason, count in outcome.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
        notes = (*self._look.problems, *outcome.notes)
        if outcome.late:
            verdict = Coverage.DEADLINE
        elif page.stop is not None and self._request.mode is not OutputMode.COUNT:
            verdict = Coverage.PAGE
        else:
            verdict = Coverage.PARTIAL if notes else Coverage.COMPLETE
        indexed, scanned = self._scope.by_index, self._scope.by_reading
        report = CoverageReport(
            verdict,
            by_index=indexed if self._narrowed else 0,
            by_scan=scanned if self._narrowed else scanned + indexed,
            verified=self._verified,
            skipped=skipped,
            notes=notes,
            sequential=outcome.sequential,
            check_seconds=self._look.seconds,
            seconds=self._seconds,
            plan=str(self._plan),
        )
        cursor = cursors.encode(self._request, page.stop) if page.stop is not None else ""
        span = log_range.told_span(self._selection, self._limits) if self._selection else None
        note = _OF_THE_REST if self._request.mode is OutputMode.COUNT and self._request.cursor else ""
        return SearchAnswer(
            *(tuple(page.files), page.hits, page.matched_files),
            near=False,
            cursor=cursor,
            coverage=report,
            span=span,
            note=note,
        )


def _length(hit: Hit) -> int:
    """Return about how many characters a hit takes when it is shown, its context included."""
    length = len(hit.text) + len(hit.breadcrumb) + _LINE_MARGIN * (hit.lines + len(hit.before) + len(hit.after))
    if hit.before or hit.after:
        length += sum(map(len, hit.before)) + sum(map(len, hit.after))
    if hit.more:
        length += sum(len(one.text) + _PART_MARGIN for one in hit.more if one.text)
    return length


def search(
    root: Root,
    look: Look,
    request: SearchRequest,
    limits: Limits,
    db: apsw.Connection | None,
    progress: Progress | None = None,
) -> SearchAnswer:
    """Return one page of the answer to `request` over the files of `look`.

    Args:
        root: the folder they are below.
        look: what is on disk now, made for the request's scope.
        request: what is asked.
        limits: sizes and times.
        db: a reading connection to the index, None to read everything.
        progress: told how far it is, and asked whether to go on.

    Raises:
        BadPattern: the pattern cannot be compiled.
        BadCursor: the cursor is of another query, or its file was replaced.
        BadArgument: an option has a value it cannot take.
        Cancelled: nobody waits for it any more.
    """
    return Search(root, look, request, limits, db, progress or Progress()).page(request.max_hits, db)
