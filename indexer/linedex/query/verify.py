"""One file against one pattern: every hit that is reported was matched on bytes read now.

What cannot be decided, in a line longer than a window or in the time a pattern may take, is said in `Outcome.notes`,
never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import apsw

from linedex.answers import Hit, SearchRequest
from linedex.content.lines import LF, count_byte
from linedex.errors import PatternTimedOut
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import LineNumber
from linedex.query import excerpt
from linedex.query.long_lines import LongLine, search_long_line
from linedex.query.matcher import LineMatch, check_text, compile_pattern
from linedex.query.parser import parse_request
from linedex.query.pieces import FIRST_PLACE, Entry, Outcome, Piece, Pieces
from linedex.query.progress import Progress
from linedex.query.syntax import spans_lines
from linedex.store.catalogue import Catalogue, key_path

if TYPE_CHECKING:
    from linedex.content.logs.levels import Level
    from linedex.content.logs.selection import Selection

Context: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The lines before and after a hit."""

_NO_CONTEXT: Context = ((), ())
_SURELY_COMPILED = 1_000
"""Code points of a text that nothing but its being text can speak against."""


class Verifier:
    """Matches files of one root against one request."""

    def __init__(
        self,
        root: Root,
        catalogue: Catalogue,
        db: apsw.Connection | None,
        request: SearchRequest,
        limits: Limits,
        deadline: float,
        progress: Progress | None = None,
        selection: Selection | None = None,
        *,
        timed: bool = False,
    ) -> None:
        """Compile an expression; a plain text is compiled when there is a file to look for it in.

        Args:
            root: the folder the files are below.
            catalogue: what the index knows of them.
            db: a reading connection for the blocks of large files, None to do without.
            request: what is asked.
            limits: sizes.
            deadline: `time.monotonic` at which to give up.
            progress: asked before each file and window whether to go on; None to go on in any case.
            selection: the times and levels that are asked for, None for all lines.
            timed: whether files without times are left out even if no time is asked for.

        Raises:
            BadPattern: the pattern cannot be compiled.
        """
        self._request = request
        self._limits = limits
        check_text(request.pattern, limits)
        # of a text it can wait: often no file is left to look for it in
        self._matcher = cache(lambda: compile_pattern(request, limits))
        if request.regex or len(request.pattern) > _SURELY_COMPILED:
            self._matcher()
        self._pieces = Pieces(
            *(root, catalogue, db, request, limits, deadline, progress or Progress(), selection),
            multiline=spans_lines(parse_request(request)),
            timed=timed,
        )

    def go_on(self, db: apsw.Connection | None, deadline: float) -> None:
        """Read the index through `db` from now on, and give up at `deadline`."""
        self._pieces.go_on(db, deadline)

    @property
    def outcome(self) -> Outcome:
        """What befell the files so far."""
        return self._pieces.outcome

    @property
    def place(self) -> tuple[int, int]:
        """Byte and line number of the piece of the last file that was looked at last."""
        return self._pieces.place

    def hits(
        self, entry: Entry, after: LineNumber = LineNumber(0), place: tuple[int, int] = FIRST_PLACE
    ) -> Iterator[Hit]:
        """Yield the hits of a file past line `after`, in line order.

        Args:
            entry: the file.
            after: the last line whose hit is known already.
            place: byte and line number to begin at; what `place` of this object was when the search stopped there.
        """
        for piece in self._pieces.of(entry, place=place):
            if isinstance(piece, LongLine):
                if piece.number > after and (found := self._in_long_line(piece, entry)):
                    yield found
                continue
            try:
                yield from self._in_piece(piece, after)
            except PatternTimedOut as late:
                self._timed_out(entry, late)

    def _in_piece(self, piece: Piece, after: LineNumber) -> Iterator[Hit]:
        """Yield the hits of a piece past line `after`; this is where a search of very many hits spends its time."""
        number, counted, text, chosen = piece.first_line, piece.core, piece.text, piece.chosen
        limits, context = self._limits, self._request.context
        for match in self._matcher().find(text, counted, more=limits.line_matches):
            line_start, line_end, start, end, more = match
            if line_start >= piece.core_end:
                return
            number = LineNumber(number + count_byte(text, LF, counted, line_start))
            counted = line_start
            if number > after and (chosen is None or number in chosen):
                around = self._around(text, line_start, line_end) if context else _NO_CONTEXT
                yield excerpt.make_hit(text, (line_start, line_end), (start, end), number, around, limits, more=more)

    def _around(self, text: bytes, start: int, end: int) -> Context:
        count = self._request.context
        return (
            excerpt.context_before(text, start, count, self._limits),
            excerpt.context_after(text, end, count, self._limits),
        )

    def count(self, entry: Entry) -> int:
        """Return how many hits a file has."""
        return sum(self._count(piece, entry) for piece in self._pieces.of(entry, context=False))

    def matches(self, entry: Entry) -> bool:
        """Return whether a file has a hit."""
        return any(self._count(piece, entry) for piece in self._pieces.of(entry, context=False))

    def records(self, entry: Entry) -> Iterator[tuple[int, Level]]:
        """Yield the instant and the level of the record of each hit of a file; of one that has times only."""
        for piece in self._pieces.of(entry, context=False):
            if piece.chosen is None:
                continue
            if isinstance(piece, LongLine):
                if self._count(piece, entry):
                    yield piece.chosen.told(piece.number)
                continue
            for number in self._chosen_numbers(piece, entry):
                yield piece.chosen.told(number)

    def _count(self, piece: Piece | LongLine, entry: Entry) -> int:
        if isinstance(piece, LongLine):
            return int(self._in_long_line(piece, entry, more=False) is not None)
        if piece.chosen is not None:
            return sum(1 for _ in self._chosen_numbers(piece, entry))
        try:
            return self._matcher().count(piece.text)
        except PatternTimedOut as late:
            self._timed_out(entry, late)
            return 0

    def _chosen_numbers(self, piece: Piece, entry: Entry) -> Iterator[LineNumber]:
        number, counted = piece.first_line, piece.core
        for match in self._find(piece.text, piece.core, entry):
            if match.line_start >= piece.core_end:
                break
            number = LineNumber(number + count_byte(piece.text, LF, counted, match.line_start))
            counted = match.line_start
            if piece.asks_for(number):
                yield number

    def _in_long_line(self, line: LongLine, entry: Entry, *, more: bool = True) -> Hit | None:
        limits = self._limits if more else replace(self._limits, line_matches=0)
        try:
            return search_long_line(line, self._request, limits, self.outcome.note)
        except PatternTimedOut as late:
            self._timed_out(entry, late)
            return None

    def _timed_out(self, entry: Entry, late: PatternTimedOut) -> None:
        self.outcome.note(f"{display(key_path(entry.key))}: {late}")

    def _find(self, text: bytes, start: int, entry: Entry) -> Iterator[LineMatch]:
        try:
            yield from self._matcher().find(text, start, more=self._limits.line_matches)
        except PatternTimedOut as late:
            self._timed_out(entry, late)
