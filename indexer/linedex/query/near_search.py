"""Near lines of a whole search: given only when nothing matches exactly, marked, and never counted as hits."""

from __future__ import annotations

import time
from dataclasses import replace

from linedex.answers import FileHits, Hit, OutputMode, SearchAnswer, SearchRequest
from linedex.content.lines import LF, count_byte
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import LineNumber
from linedex.query import excerpt
from linedex.query.log_range import selection_of
from linedex.query.near import LONGEST_PATTERN, near
from linedex.query.pieces import Piece, Pieces
from linedex.query.progress import Progress
from linedex.query.scope import scope_of
from linedex.store.catalogue import key_path
from linedex.store.look import Look


def near_search(
    root: Root,
    look: Look,
    request: SearchRequest,
    limits: Limits,
    exact: SearchAnswer,
    progress: Progress | None = None,
) -> SearchAnswer:
    """Return `exact`, an answer without hits, with the lines that are near the pattern.

    The best lines of each file, in path order, until the page is full or the time for it is spent.

    Args:
        root: the folder of the files.
        look: what is on disk.
        request: a literal request.
        limits: sizes, times and the least similarity.
        exact: what the exact search answered; its coverage is kept.
        progress: asked whether to go on.

    Raises:
        Cancelled: nobody waits for it any more.
    """
    if request.mode is not OutputMode.MATCHES:
        return exact
    if len(request.pattern) > LONGEST_PATTERN:
        note = f"near lines are looked for with patterns of up to {LONGEST_PATTERN:,} characters"
        return replace(exact, coverage=replace(exact.coverage, notes=(*exact.coverage.notes, note)))
    deadline = time.monotonic() + limits.near_seconds
    # everything is read: what is merely like the pattern need not hold any of its grams
    scope = scope_of(look, request)
    selection = selection_of(root, look, scope, request, limits)
    pieces = Pieces(root, look.catalogue, None, request, limits, deadline, progress or Progress(), selection)
    files: list[FileHits] = []
    room = request.max_hits
    for entry in scope.entries(scope.known):
        if room <= 0 or time.monotonic() > deadline:
            break
        found: list[Hit] = []
        for piece in pieces.of(entry):
            if isinstance(piece, Piece):
                near_hits = _near_in(piece, request, limits, deadline - time.monotonic())
                found += [hit for hit in near_hits if piece.asks_for(hit.line)]
        best = sorted(found, key=lambda hit: (-(hit.similarity or 0), hit.line))[:room]
        if best:
            room -= len(best)
            files.append(FileHits(key_path(entry.key), tuple(sorted(best, key=lambda hit: hit.line))))
    return replace(exact, files=tuple(files), near=bool(files))


def _near_in(piece: Piece, request: SearchRequest, limits: Limits, seconds: float) -> list[Hit]:
    hits: list[Hit] = []
    number, counted = piece.first_line, piece.core
    core = piece.text[: piece.core_end]
    for line_start, line_end, start, end, similarity in near(
        core, request.pattern, limits.near_similarity, seconds=max(0.0, seconds)
    ):
        if line_start < piece.core:
            continue
        number = LineNumber(number + count_byte(piece.text, LF, counted, line_start))
        counted = line_start
        context = (
            excerpt.context_before(piece.text, line_start, request.context, limits),
            excerpt.context_after(piece.text, line_end, request.context, limits),
        )
        hits.append(
            excerpt.make_hit(
                *(piece.text, (line_start, line_end), (start, end), number, context, limits), similarity=similarity
            )
        )
    return hits
