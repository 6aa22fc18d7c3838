"""`linedex log` and `linedex tail`: what a log holds over time, and what is added to it while one looks on."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from linedex.answers import SearchRequest
from linedex.errors import BadArgument, NotFound
from linedex.log_answers import TimelineRequest
from linedex.query.progress import Progress
from linedex_server.cli.door import opened
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import NUMBER_COLOR, Screen, notify
from linedex_server.config import Settings
from linedex_server.render.words import counted

if TYPE_CHECKING:
    from linedex.answers import ReadAnswer
    from linedex_server.cli.places import Place, Places

LINES_AT_ONCE = 1_000
WHOLE_LINE = 1 << 20
"""Code points of a line that are printed; what is longer is cut."""
PATIENCE_SECONDS = 1e9
_QUIET_SECONDS = 3600.0
"""A watcher that misses nothing wakes only when there is something; this is for what no event tells."""
_POLL_SECONDS = 1.0
_WHEN = len("2026-03-04 05:06")


@click.command(
    cls=TaughtCommand,
    epilog="The exit status is 0 when the log has records, 1 when no times are recognised in it, 2 after an error.",
    examples=[
        ("linedex log app.log", "span, rate, levels, gaps, and a timeline"),
        ("linedex log app.log --since 10:00 -b 1", "by the minute, since the last ten o'clock in it"),
        ("linedex log app.log -e 'timeout|refused'", "when lines that match were written"),
        ("linedex log /var/log/app --level error", "of all logs of a folder, merged"),
    ],
)
@click.argument("path", metavar="FILE")
@click.option("-e", "--regexp", "pattern", default="", metavar="PATTERN", help="Count only lines that match.")
@click.option("--since", default="", metavar="TIME", help="From this time on: 10:00, -15m, 2026-03-04T05:06.")
@click.option("--until", default="", metavar="TIME", help="Before this time.")
@click.option("--level", default="", metavar="LEVEL", help="Only these levels: error, or warn+ for graver ones too.")
@click.option("-b", "--bucket", type=click.IntRange(1), metavar="MINUTES", help="Width of a bucket.")
@click.option("-m", "--max-buckets", "most", type=click.IntRange(1, 400), default=40, metavar="N", help="At most N.")
def log(path: str, pattern: str, since: str, until: str, level: str, bucket: int | None, most: int) -> int:
    """Say what a log holds, and print a timeline of its records.

    Times without a date count from the last record. Stamps that name no zone are read in LINEDEX_LOG_ZONE, else in
    this machine's.
    """
    # the engine's words for times, which only a command that was understood needs
    from linedex_server.render.logs import facts_lines, spanned, timeline_rows  # noqa: PLC0415

    settings = Settings.load()
    screen = Screen.of_stdout()
    with opened(settings, replace(settings.limits, query_seconds=PATIENCE_SECONDS)) as places:
        place = places.at(path)
        request = TimelineRequest(
            place.scope,
            pattern=pattern,
            regex=True,
            case_sensitive=True,
            since=since,
            until=until,
            level=level,
            bucket_minutes=bucket or 0,
            max_buckets=most,
        )
        with _shown() as progress:
            answer = place.index.timeline(request, progress)
        if not (place.is_folder or pattern or since or until or level):
            # the timeline has read the log to its end, so its facts are exact now
            facts = place.index.overview(place.scope).log
            for line in facts_lines(facts) if facts is not None else ():
                screen.line(line)
    columns = shutil.get_terminal_size().columns if screen.terminal else 0
    for row in timeline_rows(answer, columns):
        when, count = row[:_WHEN], row[_WHEN:]
        screen.line(screen.painted(when, NUMBER_COLOR) + count)
    if span := spanned(answer.span):
        notify(f"linedex: {span}")
    for reason, number in answer.skipped.items():
        notify(f"linedex: {counted(number, 'file')} left out: {reason}")
    for note in answer.notes:
        notify(f"linedex: {note}")
    return 0 if answer.total else 1


@contextmanager
def _shown() -> Iterator[Progress]:
    """Give what a question tells how far it is; on a terminal that is shown."""
    progress = Progress()
    if not sys.stderr.isatty():
        yield progress
        return
    # 40 ms, and only where somebody looks
    from linedex_server.cli.progress import reading_bar  # noqa: PLC0415

    with reading_bar(progress):
        yield progress


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex tail app.log", "the last ten lines"),
        ("linedex tail -f app.log", "and what is added, until Ctrl-C"),
        ("linedex tail -f app.log 'ERROR|FATAL'", "only lines that match"),
    ],
)
@click.argument("file", metavar="FILE")
@click.argument("pattern", metavar="[PATTERN]", required=False, default="")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is added, through rotations.")
@click.option("-n", "--lines", "count", type=click.IntRange(1), default=10, metavar="N", help="The last N lines.")
@click.option("-i", "--ignore-case", is_flag=True, help="Capitals do not count.")
def tail(file: str, pattern: str, follow: bool, count: int, ignore_case: bool) -> int:
    """Print the last lines of a file, and with -f what is added to it.

    With PATTERN, a regular expression, only those of these lines that match. When the file is renamed, copied away or
    truncated, the rest of it is printed before its successor, and that is said on stderr.
    """
    settings = Settings.load()
    screen = Screen.of_stdout()
    limits = replace(settings.limits, line_characters=WHOLE_LINE, page_characters=sys.maxsize, hash_bytes=0)
    with opened(settings, limits) as places:
        place = _file(places, file)
        wanted = _matcher(pattern, ignore_case=ignore_case)
        with _waiting(place) if follow else _no_waiting() as wait:
            answer = place.index.tail(place.scope, count)
            if follow and not answer.counted:
                # what follows is found by the number of the last line
                place.index.count_lines(place.scope)
                answer = place.index.tail(place.scope, count)
            _print(answer, screen, wanted)
            cursor, gone = answer.later, False
            while follow:
                try:
                    answer = place.index.read_on(place.scope, cursor, LINES_AT_ONCE)
                except NotFound:
                    # between two files of a rotation, or under a name that no rotation gives
                    if not gone:
                        notify(f"linedex: {file} is gone; waiting until it is written anew")
                    gone = True
                    wait()
                    continue
                gone = False
                if answer.note:
                    notify(f"linedex: {answer.note}")
                _print(answer, screen, wanted)
                idle = answer.later == cursor or not answer.lines
                cursor = answer.later
                if idle:
                    wait()
    return 0


def _file(places: Places, path: str) -> Place:
    place = places.at(path)
    if place.is_folder:
        raise BadArgument(f"`{path}` is a folder.", "Name a file; `linedex files NAME` finds one.")
    return place


def _matcher(pattern: str, *, ignore_case: bool) -> Callable[[str], bool]:
    """Return what tells whether a line matches; every line does without a pattern.

    Raises:
        BadPattern: it is no regular expression.
    """
    if not pattern:
        return lambda _: True
    # RE2 takes 25 ms to import
    from linedex.limits import DEFAULT_LIMITS  # noqa: PLC0415
    from linedex.query.matcher import compile_pattern  # noqa: PLC0415

    compiled = compile_pattern(SearchRequest(pattern, regex=True, case_sensitive=not ignore_case), DEFAULT_LIMITS)
    return lambda line: compiled.count(line.encode("utf-8", "replace")) > 0


def _print(answer: ReadAnswer, screen: Screen, wanted: Callable[[str], bool]) -> None:
    for line in answer.lines:
        if wanted(line):
            screen.line(screen.text(line))
    screen.flush()


@contextmanager
def _no_waiting() -> Iterator[Callable[[], None]]:
    yield lambda: None


@contextmanager
def _waiting(place: Place) -> Iterator[Callable[[], None]]:
    """Give what waits until the folder of a file may have changed; watched before the file is first read."""
    from linedex.files.roots import Root  # noqa: PLC0415
    from linedex.files.watch import Unwatchable, watcher_for  # noqa: PLC0415
    from linedex.model import RelPath  # noqa: PLC0415

    folder, _ = os.path.split(os.path.join(os.fsencode(place.index.root), place.scope))
    try:
        watcher = watcher_for(Root(os.fsdecode(folder)))
    except Unwatchable:
        yield lambda: time.sleep(_POLL_SECONDS)
        return
    try:
        watcher.watch(RelPath(b""))
        seconds = _QUIET_SECONDS if watcher.exact else _POLL_SECONDS

        def wait() -> None:
            watcher.wait(seconds)
            watcher.drain()

        yield wait
    finally:
        watcher.close()
