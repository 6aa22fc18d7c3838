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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from linedex.answers import Coverage, CoverageReport, FileHits, Hit, Occurrence, OutputMode, SearchAnswer, SearchRequest
from linedex.errors import BadPattern, LinedexError
from linedex.limits import Limits
from linedex.model import RelPath

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

QUESTION_BYTES = 1 << 20
"""Longest line of a question."""
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
        return _line(told)

    @classmethod
    def of(cls, line: bytes) -> Question:
        """Return the question that a line holds.

        Raises:
            ValueError: it holds none, or a part is of another kind.
        """
        try:
            told = json.loads(line)
            request = SearchRequest(**_alike(SearchRequest(""), told.pop("request")))
            question = cls(request=request, **_alike(cls((), request, 0, 0), told))
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a question: {error}") from None
        if question.excerpt > WHOLE_LINE or not all(map(os.path.isabs, map(os.fsencode, question.paths))):
            raise ValueError("not a question: it asks for too long lines, or names a relative path")
        return question


def scopes_line(scopes: Sequence[RelPath | None]) -> bytes:
    """Return as a line where each path that was named lies in the index that answers for it."""
    return _line({"scopes": [None if scope is None else os.fsdecode(scope) for scope in scopes]})


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
        yield _line([[os.fsdecode(one.path), one.count, [_shortened(hit) for hit in one.hits]] for one in files])
    yield _line({"coverage": asdict(answer.coverage), "more": more})


def error_line(error: LinedexError) -> bytes:
    """Return as a line why a search ends."""
    position = error.position if isinstance(error, BadPattern) else None
    return _line({"error": str(error), "hint": error.hint, "code": error.code, "position": position})


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
            raise _error(told)
        if not told:
            return Part(())
        report = dict(told["coverage"])
        report |= {"verdict": Coverage(report["verdict"]), "notes": tuple(report["notes"])}
        return Part((), CoverageReport(**report), bool(told["more"]))
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"not a part of an answer: {error}") from None


def _error(told: Mapping[str, Any]) -> LinedexError:
    if told["code"] == BadPattern.code:
        return BadPattern(told["error"], told["position"], told["hint"])
    return LinedexError(told["error"], told["hint"])


def _shortened(hit: Hit) -> tuple[object, ...]:
    """Return a hit without what most hits do not have."""
    return hit[:_SHORT] if hit[_SHORT:] == _PLAIN else hit


def _hits(told: Sequence[list[Any]]) -> tuple[Hit, ...]:
    return tuple([Hit(*one) if len(one) == _SHORT else _whole(one) for one in told])


def _whole(told: list[Any]) -> Hit:
    hit = Hit(*told)
    more = tuple(Occurrence(*one) for one in told[_MORE])
    return hit._replace(before=tuple(hit.before), after=tuple(hit.after), more=more)


def _alike(example: object, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the told attributes, each of the kind that it has in `example`, whose attribute it must be."""
    return {name: _taken(getattr(example, name), value) for name, value in told.items()}


def _taken(example: object, value: Any) -> Any:
    if isinstance(example, OutputMode):
        return OutputMode(value)
    if isinstance(example, tuple):
        if not isinstance(value, list):
            raise TypeError("a list is needed")
        return tuple(_taken("", one) for one in value)
    if type(value) is not type(example) or (isinstance(value, int) and value < 0):
        raise TypeError(f"{value!r} is not like {example!r}")
    if isinstance(value, str) and "\0" in value:
        raise TypeError("a text without NUL is needed")
    return value


def _line(told: object) -> bytes:
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"
