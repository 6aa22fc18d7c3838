"""A search as lines of JSON between the command line and the daemon: the question, and its pages.

Promise: what is read back equals what was written, for any text and any bytes of a path. No line holds more than a page
may, however many files it lists, so neither side holds more than one. Both sides are of one version, which the welcome
tells; what does not read as this module writes it is refused by a ValueError.

    -> {"paths": [...], "request": {...}, "excerpt": 500, "line_matches": 0, "first_page_only": false}
    <- {"scopes": ["drivers/clk", null]}        for each path that was named, or null: nobody here answers for it
    <- [["clk/clk.c", 2, [[88, 5, 11, "..."]]]]  files with their hits
    <- {"coverage": {...}}                      the page ends, and with `"more": false` so does what is told of the path
    <- {"error": "...", "hint": "..."}          or it ends so
    <- {}                                       still at work
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from linedex.answers import Coverage, CoverageReport, FileHits, Hit, Occurrence, SearchAnswer, SearchRequest
from linedex.limits import Limits
from linedex.model import RelPath
from linedex_server.json_lines import alike, error_of, line_of

FOLLOWING_HITS = 10_000
"""Hits in each page after the first."""
PAGE_CHARACTERS = 1 << 20
"""A page ends before it has more text than this."""
_FILES = 1_000
"""Files without hits, as a count lists them, in a line."""
_SHORT = 4
"""Parts of a hit that are always told: its line, its columns and its text."""
_PLAIN = tuple(Hit._field_defaults.values())
_MORE = Hit._fields.index("more")

WHOLE_LINE = 1 << 20
"""Code points of a line that are told at most; what is longer is cut, and said to be."""
STILL_AT_WORK = b"{}\n"
_PATIENCE_SECONDS = 1e9
"""A person waits as long as they like; a page that ends early would only be asked for again."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of each path that was named.

    Attributes:
        paths: real and absolute.
        request: the search; its scope is each of the paths in turn.
        excerpt: code points of a line that are wanted.
        line_matches: matches of a line that are told beside its first.
        first_page_only: whether one page of each path is enough.
    """

    paths: tuple[str, ...]
    request: SearchRequest
    excerpt: int
    line_matches: int
    first_page_only: bool = False

    def limits(self, limits: Limits) -> Limits:
        """Return limits for an answer that is told whole while a person waits or goes away."""
        return replace(
            limits,
            line_matches=self.line_matches,
            excerpt=self.excerpt,
            page_hits=FOLLOWING_HITS,
            page_characters=sys.maxsize,
            query_seconds=_PATIENCE_SECONDS,
        )

    def line(self) -> bytes:
        """Return this as a line."""
        told = asdict(self)
        # what the scope is, the paths say
        del told["request"]["scope"]
        return line_of(told)

    @classmethod
    def of(cls, line: bytes) -> Question:
        """Return the question that a line holds.

        Raises:
            ValueError: it holds none, or a part is of another kind.
        """
        try:
            told = json.loads(line)
            request = SearchRequest(**alike(SearchRequest(""), told.pop("request")))
            question = cls(request=request, **alike(cls((), request, 0, 0), told))
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a question: {error}") from None
        if question.excerpt > WHOLE_LINE or not all(map(os.path.isabs, map(os.fsencode, question.paths))):
            raise ValueError("not a question: it asks for too long lines, or names a relative path")
        return question


def scopes_line(scopes: Sequence[RelPath | None]) -> bytes:
    """Return as a line where each path that was named lies in the index that answers for it."""
    return line_of({"scopes": [None if scope is None else os.fsdecode(scope) for scope in scopes]})


def scopes_of(line: bytes) -> tuple[RelPath | None, ...]:
    """Return what `scopes_line` made a line of.

    Raises:
        ValueError: it holds something else.
    """
    try:
        told = json.loads(line)["scopes"]
        return tuple(None if scope is None else RelPath(os.fsencode(scope)) for scope in told)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not the places of paths: {error}") from None


def page_lines(answer: SearchAnswer, *, more: bool) -> Iterator[bytes]:
    """Yield the lines of one page, one for its hits and one for its end; a list of many files takes several.

    Args:
        answer: the page.
        more: whether another page follows.
    """
    for at in range(0, len(answer.files), _FILES):
        files = answer.files[at : at + _FILES]
        yield line_of([[os.fsdecode(one.path), one.count, [_shortened(hit) for hit in one.hits]] for one in files])
    yield line_of({"coverage": asdict(answer.coverage), "more": more})


@dataclass(frozen=True, slots=True)
class Part:
    """One line of an answer.

    Attributes:
        files: files with hits.
        coverage: how the answer so far came about, None while the page goes on.
        more: whether anything follows.
    """

    files: tuple[FileHits, ...]
    coverage: CoverageReport | None = None
    more: bool = True


def part_of(line: bytes) -> Part:
    """Return the part of an answer that a line holds.

    Raises:
        ValueError: it holds none.
        LinedexError: the search ended so.
    """
    try:
        told = json.loads(line)
        if isinstance(told, list):
            return Part(tuple(FileHits(RelPath(os.fsencode(one[0])), _hits(one[2]), one[1]) for one in told))
        if "error" in told:
            raise error_of(told)
        if not told:
            return Part(())
        report = dict(told["coverage"])
        report |= {"verdict": Coverage(report["verdict"]), "notes": tuple(report["notes"])}
        return Part((), CoverageReport(**report), bool(told["more"]))
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"not a part of an answer: {error}") from None


def _shortened(hit: Hit) -> tuple[object, ...]:
    """Return a hit without what most hits do not have."""
    return hit[:_SHORT] if hit[_SHORT:] == _PLAIN else hit


def _hits(told: Sequence[list[Any]]) -> tuple[Hit, ...]:
    return tuple([Hit(*one) if len(one) == _SHORT else _whole(one) for one in told])


def _whole(told: list[Any]) -> Hit:
    hit = Hit(*told)
    more = tuple(Occurrence(*one) for one in told[_MORE])
    return hit._replace(before=tuple(hit.before), after=tuple(hit.after), more=more)
