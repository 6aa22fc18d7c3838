"""`linedex read`, `outline`, `symbols` and `files`: looking at a file, and finding one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import click

from linedex.answers import Outline, PathAnswer, ReadAnswer, SymbolAnswer
from linedex.errors import BadArgument
from linedex.limits import Limits
from linedex.model import LineNumber, RelPath, SymbolKind
from linedex_server.cli.door import opened
from linedex_server.cli.looking_up import looked_up
from linedex_server.cli.named import Named, named
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import NUMBER_COLOR, PATH_COLOR, Screen, notify
from linedex_server.config import Settings
from linedex_server.lookups import Lookup, Subject
from linedex_server.render.outline import headline, outline_lines
from linedex_server.render.words import counted

if TYPE_CHECKING:
    from linedex.index import Index

LINES_AT_ONCE = 5_000
"""Lines asked for in one read."""
WHOLE_LINE = 1 << 20
"""Code points of a line that are printed; what is longer is cut, and said to be."""

_SPOT = re.compile(r"(?P<file>.+?):(?P<first>[0-9]+)(?:(?P<dash>-)(?P<last>[0-9]+)?|:.*)?", re.DOTALL)


class Spot(NamedTuple):
    """Lines of a file as a person names them: 1-based, `last` included; None for the first and the end."""

    file: str
    first: int | None = None
    last: int | None = None


def spot(text: str) -> Spot:
    """Return what `FILE`, `FILE:LINE`, `FILE:LINE-LINE`, `FILE:LINE-` or a line of `linedex search` names.

    A file that is called so, colons and all, is that file.

    Raises:
        BadArgument: a line is 0, or the range runs backwards.
    """
    match = None if os.path.lexists(text) else _SPOT.fullmatch(text)
    if match is None:
        return Spot(text)
    first = int(match["first"])
    last = int(match["last"]) if match["last"] else None if match["dash"] else first
    if first < 1 or (last is not None and last < first):
        raise BadArgument(
            f"`{text}` names no lines.", "Lines count from 1, and a range goes from the lesser to the greater."
        )
    return Spot(match["file"], first, last)


def _limits(settings: Settings) -> Limits:
    """Return limits under which lines come whole, and no time goes into a hash that is not printed."""
    return replace(settings.limits, line_characters=WHOLE_LINE, page_characters=sys.maxsize, hash_bytes=0)


def _a_file(thing: Named) -> Named:
    if thing.is_folder:
        path = os.fsdecode(thing.spelled)
        raise BadArgument(f"`{path}` is a folder.", "Name a file; `linedex files NAME` finds one.")
    return thing


def _lines(index: Index, path: RelPath, first: int, last: int | None) -> Iterator[ReadAnswer]:
    """Yield the lines from `first` to `last` (None: the end), some thousands at a time."""
    at: int | None = first
    while at is not None and (last is None or at <= last):
        count = LINES_AT_ONCE if last is None else min(LINES_AT_ONCE, last - at + 1)
        answer = index.read(path, LineNumber(at), count)
        yield answer
        at = answer.next_line


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex read src/cart.py", "the whole file, numbered"),
        ("linedex read app.log:1200000-1200040", "these lines, at once in a file of any size"),
        ("linedex read src/cart.py:41 -C 5", "a line with five around it"),
        ("linedex read app.log --tail 20", "the last lines"),
    ],
)
@click.argument("target", metavar="FILE[:LINE[-LINE]]")
@click.option("-C", "--context", type=click.IntRange(0), default=0, metavar="N", help="Also N lines before and after.")
@click.option("--head", type=click.IntRange(1), metavar="N", help="The first N lines.")
@click.option("--tail", type=click.IntRange(1), metavar="N", help="The last N lines.")
@click.option("-n/-N", "--line-number/--no-line-number", "numbers", default=True, help="Line numbers (default: on).")
def read(target: str, context: int, head: int | None, tail: int | None, numbers: bool) -> int:
    """Print lines of a file, however large.

    The text is shown as UTF-8, whatever the encoding of the file.
    """
    where = spot(target)
    if (head is not None) + (tail is not None) + (where.first is not None) > 1:
        raise click.UsageError("LINE, --head and --tail exclude each other.")
    settings = Settings.load()
    screen = Screen.of_stdout()
    cut = 0
    with opened(settings, _limits(settings)) as places:
        place = places.of(_a_file(named(where.file)))
        if head is not None:
            answers: Iterator[ReadAnswer] = _lines(place.index, place.scope, 1, head)
        elif tail is not None:
            answers = iter([place.index.tail(place.scope, tail)])
        else:
            last = None if where.last is None else where.last + context
            answers = _lines(place.index, place.scope, max((where.first or 1) - context, 1), last)
        for answer in answers:
            for number, line in enumerate(answer.lines, start=answer.first_line):
                prefix = screen.painted(str(number), NUMBER_COLOR) + "\t" if numbers else ""
                screen.line(prefix + screen.text(line))
            cut += len(answer.cut_lines)
            screen.flush()
    if cut:
        notify(f"linedex: {counted(cut, 'line')} over {WHOLE_LINE:,} characters shortened")
    return 0


@click.command(
    cls=TaughtCommand,
    examples=[("linedex outline src/cart.py", "its classes and functions, with their lines")],
)
@click.argument("file", metavar="FILE")
def outline(file: str) -> int:
    """List the symbols of a file: first and last line, kind, name, members below their class.

    The exit status is 1 when it has none.
    """
    screen = Screen.of_stdout()
    thing = _a_file(named(file))
    answer = looked_up(Settings.load(), thing, Lookup(str(thing.real), Subject.OUTLINE)).answer
    assert isinstance(answer, Outline)
    for line in outline_lines(answer.symbols):
        screen.line(screen.text(line))
    if answer.note:
        notify(f"linedex: {answer.note}")
    return 0 if answer.symbols else 1


@click.command(
    cls=TaughtCommand,
    epilog="The exit status is 0 when something was found, 1 when not, 2 after an error.",
    examples=[
        ("linedex symbols Parser.parse", "a method, by its class"),
        ("linedex symbols gTU", "by its capitals: getTheUser"),
        ("linedex symbols parse -k class src", "classes with parse in their name, below src"),
    ],
)
@click.argument("name", metavar="NAME")
@click.argument("path", required=False)
@click.option(
    "-k",
    "--kind",
    type=click.Choice([kind.value for kind in SymbolKind]),
    metavar="KIND",
    help="Only class, function ...",
)
@click.option("-t", "--type", "language", default="", metavar="LANGUAGE", help="Only files of this language.")
@click.option(
    "-m", "--max-count", "most", type=click.IntRange(1), default=50, metavar="N", help="At most N (default: 50)."
)
def symbols(name: str, path: str | None, kind: str | None, language: str, most: int) -> int:
    """Find where NAME is defined, in a folder that has been indexed (default: the one around this folder).

    NAME is a name, its start, a part of it, its capitals, or `Class.method`; the best come first.
    """
    screen = Screen.of_stdout()
    thing = named(path)
    lookup = Lookup(str(thing.real), Subject.SYMBOLS, name, kind or "", language, most)
    found = looked_up(Settings.load(), thing, lookup)
    answer = found.answer
    assert isinstance(answer, SymbolAnswer)
    for hit in answer.hits:
        where = screen.painted(screen.path(found.called(hit.path)), PATH_COLOR)
        number = screen.painted(str(hit.symbol.line), NUMBER_COLOR)
        screen.line(f"{where}:{number}: {screen.text(headline(hit.symbol, hit.symbol.path))}")
    if len(answer.hits) < answer.total:
        notify(f"linedex: {len(answer.hits):,} of {answer.total:,}; -m N prints more")
    if answer.note:
        notify(f"linedex: {answer.note}")
    if answer.pending:
        notify(
            f"linedex: symbols of {counted(answer.pending, 'file')} are not indexed yet and were not asked",
            "  `linedex index` brings them in.",
        )
    if answer.hits:
        return 0
    return 2 if answer.pending else 1


@click.command(
    cls=TaughtCommand,
    epilog="The exit status is 0 when something was found, 1 when not, 2 after an error.",
    examples=[
        ("linedex files cart.py", "a name"),
        ("linedex files srvcart", "letters of the path, in order"),
    ],
)
@click.argument("name", metavar="NAME")
@click.argument("path", required=False)
@click.option(
    "-m", "--max-count", "most", type=click.IntRange(1), default=50, metavar="N", help="At most N (default: 50)."
)
def files(name: str, path: str | None, most: int) -> int:
    """Find files whose path matches NAME, in a folder that has been indexed; the best come first."""
    screen = Screen.of_stdout()
    thing = named(path)
    found = looked_up(Settings.load(), thing, Lookup(str(thing.real), Subject.FILES, name, most=most))
    answer = found.answer
    assert isinstance(answer, PathAnswer)
    for one in answer.paths:
        screen.line(screen.painted(screen.path(found.called(one)), PATH_COLOR))
    if len(answer.paths) < answer.total:
        notify(f"linedex: {len(answer.paths):,} of {answer.total:,}; -m N prints more")
    return 0 if answer.paths else 1
