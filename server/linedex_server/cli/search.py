"""`linedex search`: what grep users type, answered through the index where there is one."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from linedex.answers import Coverage, CoverageReport, FileHits, OutputMode
from linedex.errors import BadArgument, BadPattern, LinedexError
from linedex_server.cli.answering import Answering, Target
from linedex_server.cli.named import Named, named
from linedex_server.cli.search_options import SearchOptions
from linedex_server.cli.search_output import (
    CountWriter,
    JsonWriter,
    LineStyle,
    LineWriter,
    PathWriter,
    SearchWriter,
    added,
)
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import Screen, complain, notify
from linedex_server.config import Settings
from linedex_server.pages import WHOLE_LINE, Question
from linedex_server.render.words import counted, coverage

SLOW_SECONDS = 1.0
"""A search without an index that takes longer than this is worth a word on `linedex index`."""
_COLLECT_AFTER = 100_000, 20, 100
"""A million hits, none of which refers to itself, were looked through for what does: a fifth of the time they took."""


class Search:
    """One run of `linedex search`: every path in turn, printed as hits come in."""

    def __init__(self, options: SearchOptions, screen: Screen, *, only_file: bool) -> None:
        """Prepare to print.

        Args:
            options: what the person asked for.
            screen: where it goes.
            only_file: whether a single file is searched, whose name need not stand before each hit.
        """
        self._options = options
        self._screen = screen
        self._filename = options.filename if options.filename is not None else not only_file
        self._writer = self._chosen_writer()
        self._reports: list[CoverageReport] = []
        self._path: bytes | None = None
        self._room = sys.maxsize
        self._hits = 0
        self._files = 0

    def target(self, answering: Answering, target: Target) -> bool:
        """Search one path to its end (to the first hit under --quiet) and print what is found.

        Returns:
            Whether that went well; of a path that vanished or was replaced meanwhile it is said on stderr.

        Raises:
            BadPattern, BadArgument: what is asked can be answered of no path.
        """
        report = None
        try:
            for answerer, part in answering.parts(target):
                for found in part.files:
                    self._file(answerer.called(found.path), found)
                if part.coverage is not None:
                    report = part.coverage
                    self._screen.flush()
        except BadPattern as error:
            hint = "" if self._options.fixed else "To search for the text as it stands, use -F."
            raise BadPattern(str(error), error.position, hint) from None
        except BadArgument:
            raise
        except LinedexError as error:
            complain(error)
            return False
        if report is not None:
            self._reports.append(report)
        return True

    def end(self) -> CoverageReport:
        """Print what is left, and return how the whole answer came about."""
        self._writer.end()
        report = added(self._reports) if self._reports else CoverageReport(Coverage.PARTIAL)
        if isinstance(self._writer, JsonWriter):
            self._writer.summary(self._hits, self._files, report)
        # --quiet ends at the first hit; where every path failed, that was said
        short = self._reports and report.verdict is not Coverage.COMPLETE and not (self._options.quiet and self.found)
        if self._options.stats or short:
            found = f"{counted(self._hits, 'hit')} in " if self._options.mode is not OutputMode.FILES else ""
            notify(f"linedex: {found}{counted(self._files, 'file')}; {coverage(report)}")
        if isinstance(self._writer, LineWriter) and self._writer.shortened and not self._screen.terminal:
            notify(f"linedex: {counted(self._writer.shortened, 'line')} too long to print whole; -M N sets the length")
        return report

    @property
    def found(self) -> bool:
        """Whether anything matched."""
        return self._files > 0

    def _file(self, path: bytes, found: FileHits) -> None:
        if path != self._path:
            self._path = path
            self._files += 1
            self._room = self._options.most or sys.maxsize
        shown = replace(found, hits=found.hits[: self._room], count=min(found.count or 0, self._room))
        self._room -= len(shown.hits)
        self._hits += len(shown.hits) if self._options.mode is OutputMode.MATCHES else shown.count or 0
        if not self._options.quiet:
            self._writer.file(path, shown)

    def _chosen_writer(self) -> SearchWriter:
        options = self._options
        heading = options.heading if options.heading is not None else self._screen.terminal
        style = LineStyle(
            heading=heading and self._filename,
            filename=self._filename,
            numbers=options.numbers,
            before=options.lines_before,
            after=options.lines_after,
        )
        if options.as_json:
            return JsonWriter(self._screen, style, options.mode)
        if options.mode is OutputMode.FILES:
            return PathWriter(self._screen)
        if options.mode is OutputMode.COUNT:
            return CountWriter(self._screen, filename=self._filename)
        return LineWriter(self._screen, style)


def _question(options: SearchOptions, pattern: str, settings: Settings, screen: Screen) -> Question:
    """Return what is asked of each path, for an answer that is printed whole, line by line."""
    # to tell all matches of a line takes three times as long as to print it
    shows_matches = screen.terminal or screen.color or options.as_json
    return Question(
        (),
        options.request(pattern),
        excerpt=options.max_columns or (settings.excerpt_characters if screen.terminal else WHOLE_LINE),
        line_matches=settings.limits.line_matches if shows_matches else 0,
        first_page_only=options.quiet,
    )


def _there(paths: Sequence[str | None]) -> list[Named]:
    """Return those paths that can be searched, as grep does; of the others is said why not."""
    there = []
    for path in paths:
        try:
            there.append(named(path))
        except LinedexError as error:
            complain(error)
    return there


def _targets(answering: Answering, there: Sequence[Named]) -> list[Target]:
    targets = []
    for one, scope in zip(there, answering.asks_daemon(there), strict=True):
        try:
            targets.append(answering.target(one, scope))
        except LinedexError as error:
            complain(error)
    return targets


def _searched(options: SearchOptions, settings: Settings, screen: Screen) -> int:
    """Run the search and return the exit status."""
    gc.set_threshold(*_COLLECT_AFTER)
    pattern, paths = options.targets()
    began = time.monotonic()
    with Answering(settings, _question(options, pattern, settings, screen)) as answering:
        targets = _targets(answering, _there(paths))
        if not targets:
            return 2
        search = Search(options, screen, only_file=len(paths) == 1 and not targets[0].named.is_folder)
        searched = [target for target in targets if search.target(answering, target)]
        report = search.end()
    unindexed = [target for target in searched if target.named.is_folder and not target.indexed]
    if unindexed and time.monotonic() - began > SLOW_SECONDS and sys.stderr.isatty():
        folder = screen.path(unindexed[0].named.spelled or b".")
        notify(f"linedex: every file was read; after `linedex index {folder}` such a search reads what may match")
    if len(searched) < len(paths):
        return 2
    if search.found:
        return 0
    # "No match" is said only when it is known.
    return 1 if report.verdict is Coverage.COMPLETE else 2


@click.command(
    cls=TaughtCommand,
    epilog="The exit status is 0 when something matched, 1 when nothing did, 2 after an error.",
    examples=[
        (r"linedex search 'def \w+_bytes' src", "a regular expression, below src"),
        ("linedex search -F 'a[0]' -g '*.c'", "plain text, in C files only"),
        ("linedex search -wi todo -g '!vendor/**'", "a word in any case, not below vendor"),
        ("linedex search -C 2 timeout app.log", "with two lines around each hit"),
        ("linedex search -c TODO | sort -t: -k2 -n", "how many in each file"),
        ("linedex search -l main -t python", "the Python files that have it"),
        ("linedex search --since 10:00 --level error timeout app.log", "in records of a log since ten o'clock"),
    ],
)
@click.argument("words", nargs=-1, metavar="PATTERN [PATH]...")
@click.option("-e", "--regexp", "patterns", multiple=True, metavar="PATTERN", help="A pattern; may be given again.")
@click.option("-F", "--fixed-strings", "fixed", is_flag=True, help="The pattern is plain text.")
@click.option("-i", "--ignore-case", "case", flag_value="insensitive", help="Capitals do not count.")
@click.option("-s", "--case-sensitive", "case", flag_value="sensitive", default="sensitive", help="They do (default).")
@click.option("-S", "--smart-case", "case", flag_value="smart", help="They do if the pattern has one.")
@click.option("-w", "--word-regexp", "word", is_flag=True, help="Only whole words.")
@click.option("-x", "--line-regexp", "whole_line", is_flag=True, help="Only whole lines.")
@click.option("-v", "--invert-match", "invert", is_flag=True, help="Lines that do not match.")
@click.option(
    "-g", "--glob", "globs", multiple=True, metavar="GLOB", help="Only such files; with ! before it, none such."
)
@click.option("-t", "--type", "language", default="", metavar="LANGUAGE", help="Only files of this language.")
@click.option("--hidden", is_flag=True, help="Also files and folders whose name starts with a dot.")
@click.option("--no-ignore", is_flag=True, help="Also what .gitignore and the like leave out.")
@click.option("-A", "--after-context", "after", type=click.IntRange(0), metavar="N", help="Print N lines after a hit.")
@click.option(
    "-B", "--before-context", "before", type=click.IntRange(0), metavar="N", help="Print N lines before a hit."
)
@click.option("-C", "--context", type=click.IntRange(0), default=0, metavar="N", help="Print N lines before and after.")
@click.option("-m", "--max-count", "most", type=click.IntRange(1), metavar="N", help="At most N lines of each file.")
@click.option("-c", "--count", is_flag=True, help="Print only how many lines match in each file.")
@click.option(
    "-l", "--files-with-matches", "names_only", is_flag=True, help="Print only the paths of files with a match."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status tells.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line; the last is a summary.")
@click.option("-n/-N", "--line-number/--no-line-number", "numbers", default=True, help="Line numbers (default: on).")
@click.option(
    "-H/-I", "--with-filename/--no-filename", "filename", default=None, help="Paths (default: unless one file)."
)
@click.option("--heading/--no-heading", default=None, help="Paths above their hits (default: on a terminal).")
@click.option("-M", "--max-columns", type=click.IntRange(1), metavar="N", help="Cut lines longer than this.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colours.")
@click.option("--since", default="", metavar="TIME", help="Log lines from this time on: 10:00, -15m, 2026-03-04T05:06.")
@click.option("--until", default="", metavar="TIME", help="Log lines before this time.")
@click.option("--level", default="", metavar="LEVEL", help="Log lines of these levels: error, or warn+ for graver too.")
@click.option("--brute", is_flag=True, help="Leave the index aside and read everything.")
@click.option("--stats", is_flag=True, help="Say on stderr how the answer came about.")
def search(**options: Any) -> int:
    """Find PATTERN, a regular expression, in PATHs (default: this folder).

    A folder is searched whole, but for hidden files, binary files and what .gitignore leaves out. After
    `linedex index` only files that may match are read; every hit is read from the file as it is now.
    """
    chosen = SearchOptions(**options)
    return _searched(chosen, Settings.load(), Screen.of_stdout(chosen.color))
