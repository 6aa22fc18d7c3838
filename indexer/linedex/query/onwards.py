"""Questions about one file that can be asked again as it grows: the rest of a page, or what is new since.

Promise: a page of these goes on where the one before ended, through appends and rotations, with nothing left out and
nothing told twice but a last line that had no end yet; `following` says how, and an answer says so when it happened.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from linedex.answers import OutputMode, ReadAnswer, SearchAnswer, SearchRequest
from linedex.content.logs.instants import NO_INSTANT
from linedex.errors import BadArgument, LinedexError
from linedex.files.roots import Root
from linedex.model import LineNumber, RelPath
from linedex.query import cursor as cursors
from linedex.query import following, position
from linedex.query.cursor import Cursor
from linedex.query.following import Part, Surroundings
from linedex.query.position import Position
from linedex.query.source import Source
from linedex.store.catalogue import path_key


class Onwards:
    """Asks one file of a root."""

    def __init__(
        self,
        root: Root,
        source: Callable[[RelPath], AbstractContextManager[Source]],
        search: Callable[[SearchRequest], SearchAnswer],
    ) -> None:
        """Prepare to ask.

        Args:
            root: the folder that the file is below.
            source: opens a file of it.
            search: answers one page of a search; its own cursors are good for a file that only grows.
        """
        self._root = root
        self._source = source
        self._ask = search

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Return one page of a search of one file; its cursors stay good when the file is rotated.

        A page that is the last one has `later`, if the file is large or `request` went on from a position.

        Raises:
            BadCursor: the cursor is none, or of another file or query.
            BadArgument: a position is given and not the lines themselves are asked for.
            LinedexError: as `search`.
        """
        if position.is_position(request.cursor):
            return self._search_on(request)
        end = None if request.cursor or request.mode is not OutputMode.MATCHES else self._known_end(request.scope)
        answer = self._ask(request)
        if answer.near:
            return answer
        if answer.cursor:
            return replace(answer, cursor=self._lasting(answer.cursor, request, request))
        return self._up_to(answer, end, request.scope)

    def read(self, path: RelPath, cursor: str, count: int) -> ReadAnswer:
        """Return up to `count` lines of a file behind a position in it; the answer's `later` goes on from there.

        Raises:
            BadCursor: the cursor is none, or of another file.
            LinedexError: the file cannot be read.
        """
        now = following.route(self._around(path), position.decoded(cursor, path))
        for part, after in zip(now.parts, (*now.parts[1:], None), strict=True):
            with self._source(part.path) as source:
                answer, at, rest = source.steadily(partial(following.new_lines, source, part, count))
            if not rest and after is not None:
                at = following.start_position(after)
            if answer.lines or after is None:
                later = "" if at is None else position.encoded(at, path)
                return replace(answer, later=later, note=now.note)
        raise AssertionError("a route has a last part")

    def _search_on(self, request: SearchRequest) -> SearchAnswer:
        if request.mode is not OutputMode.MATCHES:
            raise BadArgument("A cursor cannot be counted from.", "Leave out count_only, or the cursor.")
        path = request.scope
        begun = position.decoded(request.cursor, path, cursors.digest(request))
        now = following.route(self._around(path), begun)
        for part, after in zip(now.parts, (*now.parts[1:], None), strict=True):
            end = self._end(part.path)
            asked = self._from(part, request, begun.span)
            answer = self._ask(asked)
            if answer.cursor:
                cursor = self._lasting(answer.cursor, asked, request)
                return replace(answer, cursor=cursor, note=now.note)
            if after is None:
                if end is not None and part.given(end.inode, end.size):
                    answer = replace(answer, files=(), total_hits=0, matched_files=0)
                return replace(self._up_to(answer, end, path), note=now.note)
            if answer.total_hits:
                start = replace(following.start_position(after), span=begun.span)
                cursor = position.encoded(start, path, cursors.digest(request))
                return replace(answer, cursor=cursor, note=now.note)
        raise AssertionError("a route has a last part")

    @staticmethod
    def _from(part: Part, request: SearchRequest, span: tuple[int, ...]) -> SearchRequest:
        """Return the request for what is new of a part, in the range of time of the first page."""
        asked = replace(request, scope=part.path, cursor="", fuzzy=False)
        if part.first == 1 and not span:
            return asked
        after = LineNumber(part.first - 1)
        begun = Cursor(path_key(part.path), after, part.place, part.inode, part.stored, span=span)
        return replace(asked, cursor=cursors.encode(asked, begun))

    def _around(self, path: RelPath) -> Surroundings:
        return Surroundings(self._root, path, self._source)

    def _end(self, path: RelPath) -> Position | None:
        with self._source(path) as source:
            return source.steadily(lambda: following.end_position(source))

    def _known_end(self, path: RelPath) -> Position | None:
        """Return the end of a large file whose lines the index knows; to find it in another would mean to read it."""
        try:
            with self._source(path) as source:
                if source.codec or not source.lines.known:
                    return None
                return source.steadily(lambda: following.end_position(source))
        except LinedexError:
            return None  # the search says of it what is to be said

    @staticmethod
    def _up_to(answer: SearchAnswer, end: Position | None, path: RelPath) -> SearchAnswer:
        """Return a last page with what goes on from it; what was appended while it was made is left for later."""
        if end is None:
            return answer
        files = []
        for found in answer.files:
            hits = tuple(hit for hit in found.hits if hit.line <= following.last_line(end))
            if hits:
                count = None if found.count is None else len(hits)
                files.append(replace(found, hits=hits, count=count))
        total = sum(len(found.hits) for found in files)
        return replace(
            answer,
            files=tuple(files),
            total_hits=total,
            matched_files=len(files),
            later=position.encoded(replace(end, span=_span_of(answer)), path),
        )

    def _lasting(self, cursor: str, asked: SearchRequest, request: SearchRequest) -> str:
        """Return a position, for `request`, where the search that was `asked` gave a cursor.

        It remains that cursor where the file has changed meanwhile.
        """
        stopped = cursors.decode(replace(asked, cursor=cursor))
        if stopped is None:
            return cursor
        at = following.position_of(self._around(request.scope), asked.scope, stopped)
        return cursor if at is None else position.encoded(at, request.scope, cursors.digest(request))


def _span_of(answer: SearchAnswer) -> tuple[int, ...]:
    """Return the range of time of an answer as positions keep it; none when it has none."""
    if answer.span is None:
        return ()
    ends = (answer.span.since, answer.span.until)
    return (*(NO_INSTANT if one is None else one for one in ends), NO_INSTANT, NO_INSTANT)
