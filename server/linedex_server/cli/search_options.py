"""The options of `linedex search` and what they ask of an index."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from linedex.answers import OutputMode, SearchRequest
from linedex.errors import BadPattern

FIRST_PAGE = 100
"""Hits asked for first, so that something is seen soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of `linedex search` as click hands them over; the help text of each says what it does."""

    words: tuple[str, ...]
    patterns: tuple[str, ...]
    fixed: bool
    case: str
    word: bool
    whole_line: bool
    invert: bool
    globs: tuple[str, ...]
    language: str
    hidden: bool
    no_ignore: bool
    brute: bool
    since: str
    until: str
    level: str
    context: int
    before: int | None
    after: int | None
    most: int | None
    count: bool
    names_only: bool
    quiet: bool
    as_json: bool
    numbers: bool
    filename: bool | None
    heading: bool | None
    max_columns: int | None
    color: str
    stats: bool

    @property
    def mode(self) -> OutputMode:
        """What is asked of each file."""
        if self.names_only or self.quiet:
            return OutputMode.FILES
        return OutputMode.COUNT if self.count else OutputMode.MATCHES

    @property
    def lines_before(self) -> int:
        """Lines of context before a hit."""
        return self.context if self.before is None else self.before

    @property
    def lines_after(self) -> int:
        """Lines of context after a hit."""
        return self.context if self.after is None else self.after

    @property
    def _first_page(self) -> int:
        if self.quiet:
            return 1
        # Counts of all files come in one page, or not at all.
        return sys.maxsize if self.mode is OutputMode.COUNT else FIRST_PAGE

    def targets(self) -> tuple[str, tuple[str | None, ...]]:
        """Return the pattern and the paths to search.

        Raises:
            UsageError: there is no pattern.
            BadPattern: it is not text.
        """
        if self.patterns:
            pattern, paths = joined(self.patterns, fixed=self.fixed), self.words
        elif self.words:
            pattern, paths = self.words[0], self.words[1:]
        else:
            raise click.UsageError("Missing argument 'PATTERN'.")
        if not pattern.isascii() and any("\ud800" <= character <= "\udfff" for character in pattern):
            raise BadPattern("The pattern is not UTF-8.", hint="Write such bytes as \\xNN in a regular expression.")
        return pattern, paths or (None,)

    def request(self, pattern: str) -> SearchRequest:
        """Return what is asked of each index, its scope aside."""
        regex = not self.fixed or len(self.patterns) > 1
        return SearchRequest(
            pattern,
            regex=regex,
            case_sensitive=self.case == "sensitive" or (self.case == "smart" and has_capital(pattern, regex=regex)),
            word=self.word,
            whole_line=self.whole_line,
            invert=self.invert,
            include=tuple(glob for glob in self.globs if not glob.startswith("!")),
            exclude=tuple(glob[1:] for glob in self.globs if glob.startswith("!")),
            language=self.language,
            include_ignored=self.no_ignore,
            include_hidden=self.hidden,
            context=0 if self.mode is not OutputMode.MATCHES else max(self.lines_before, self.lines_after),
            mode=self.mode,
            max_hits=self._first_page,
            brute=self.brute,
            since=self.since,
            until=self.until,
            level=self.level,
        )


def joined(patterns: Sequence[str], *, fixed: bool) -> str:
    """Return one pattern for several, any of which may match; a regular expression unless there is only one."""
    if len(patterns) == 1:
        return patterns[0]
    return "|".join(re.escape(pattern) if fixed else f"(?:{pattern})" for pattern in patterns)


def has_capital(pattern: str, *, regex: bool) -> bool:
    """Return whether a pattern holds a capital letter of its own; the letters of escapes are not."""
    literal = re.sub(r"\\[pP](?:\{[^}]*\}|.)|\\.", "", pattern) if regex else pattern
    return any(character.isupper() for character in literal)
