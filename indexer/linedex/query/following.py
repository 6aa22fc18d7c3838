"""Going on in a file from a position: in it, in what it is called after a rotation, and in what took its place.

Promise: nothing is skipped and nothing begun anew in silence. Where the file of a position is found, under its own name
or another, compressed meanwhile, or as the copy that `copytruncate` leaves, it is finished first, then the files that
were begun after it, in the order of their last writing, and of their names where that was in one clock tick; copies of
what is told are left out. Where it is not found, that is said with the number of bytes that were not read of it.
Positions in what a plain file was compressed into are of its text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeAlias

from linedex.answers import ReadAnswer
from linedex.content.lines import Reader
from linedex.errors import LinedexError, NotFound
from linedex.files.compressed.codec import MAGIC_BYTES, codec_of, is_named_compressed, plain_name
from linedex.files.compressed.stream import Forward
from linedex.files.fingerprint import EDGE_BYTES, digest, from_stat
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.model import Fingerprint, LineCount, LineNumber, RelPath
from linedex.query.cursor import Cursor
from linedex.query.position import Position, edges, encoded
from linedex.query.read import start_of, stretch
from linedex.query.read import tail as last_lines
from linedex.query.source import Source

_MOST_NAMES: Final = 64
"""Rotated files that are looked at; of more the last written."""
_START: Final = (0, 1)
_DIGITS: Final = re.compile(rb"[0-9]+")
_DATE_DIGITS: Final = 6

Opens: TypeAlias = Callable[[RelPath], AbstractContextManager[Source]]
"""Opens a file of the root for the time of a question."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be read of one file.

    `place`, `after` and `done` are those of a position, `size` is what it held then, and `stored` the bytes that the
    file had at least, which are not those of its text if it is compressed.
    """

    path: RelPath
    place: tuple[int, int]
    after: LineNumber
    inode: int
    size: int
    stored: int
    done: bool = False

    @property
    def first(self) -> int:
        """Number of the first line that is new."""
        return max(self.place[1], self.after + 1)

    def given(self, inode: int, size: int) -> bool:
        """Say whether nothing is new in the file now that it has this inode and size."""
        return self.done and (inode, size) == (self.inode, self.size)


@dataclass(frozen=True, slots=True)
class Route:
    """The parts to be read, in order, and a sentence on why there is more than one or another, "" when there is not."""

    parts: tuple[Part, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The files among which a position is looked for.

    Attributes:
        root: the folder they are below.
        path: the file that is asked.
        source: opens one.
    """

    root: Root
    path: RelPath
    source: Opens

    @contextmanager
    def opened(self, path: RelPath) -> Iterator[tuple[Fingerprint, int, Reader]]:
        """Open a file; give its stat, and its size and bytes, or those of its text if it was compressed since."""
        if is_named_compressed(path) and not is_named_compressed(self.path):
            with self.source(path) as source:
                yield source.fingerprint, source.size, source.read
            return
        with self.root.opened(path) as descriptor:
            now = from_stat(os.fstat(descriptor))
            yield now, now.size, lambda offset, size: os.pread(descriptor, size, offset)

    def head(self, path: RelPath) -> bytes:
        """Return the first kilobyte of a file or, if it was compressed since, of its text, and decode no more of it."""
        with self.root.opened(path) as descriptor:
            codec = None
            if is_named_compressed(path) and not is_named_compressed(self.path):
                codec = codec_of(path, os.pread(descriptor, MAGIC_BYTES, 0))
            if codec is None:
                return os.pread(descriptor, EDGE_BYTES, 0)
            forward = Forward(lambda offset, size: os.pread(descriptor, size, offset), codec)
            head = b""
            while len(head) < EDGE_BYTES and (piece := forward.step(EDGE_BYTES - len(head))):
                head += piece
            return head

    def may_continue(self, path: RelPath, position: Position) -> bool:
        """Say whether a file may begin with what the one of a position held, by its first kilobyte."""
        return digest(self.head(path)[: position.size]) == position.head

    def holds_all_of(self, path: RelPath, other: RelPath) -> bool:
        """Say whether a file begins with all that another one holds, as far as head and end of that tell."""
        with self.opened(other) as (_, size, read):
            ends = edges(size, read)
        with self.opened(path) as (_, longer, read):
            return longer >= size and edges(size, read) == ends


def route(around: Surroundings, position: Position) -> Route:
    """Return where a position leads to now.

    Raises:
        NotFound: there is neither the file that is asked any more nor the one of the position.
        LinedexError: it cannot be read.
    """
    path = around.path
    try:
        with around.opened(path) as (found_now, size, read):
            if position.holds(found_now.inode, size, read):
                return Route((_going_on(path, found_now, position),))
            now: Fingerprint | None = found_now
    except NotFound:
        now = None
    others = _siblings(around)
    found = _former(around, others, position)
    new = () if now is None else (_whole(path, now),)
    if found is None:
        if now is None:
            raise NotFound(f"`{display(path)}` is gone.", "Ask again when its program writes it anew.")
        left = max(0, position.size - position.place[0])
        why = "was truncated or rewritten" if now.inode == position.inode else "is another file now"
        return Route(
            new,
            f"{display(path)} {why} by {_time(now.mtime_ns)}: {left:,} bytes of it that were not read, and what was"
            " written to it since, may be lost; restarting at the new file's start",
        )
    former, status = found
    # a file that has the inode of the position and is not its file has other bytes: `copytruncate` began it anew
    told = {status.inode} if now is None else {status.inode, now.inode}
    between = [
        (name, other) for name, other in others if other.inode not in told and _is_later(path, other, name, found)
    ]
    between.sort(key=lambda item: (item[1].mtime_ns, _turn(path, item[0]), item[0]))
    ends = (former,) if now is None else (former, path)
    middle = tuple(_whole(name, other) for name, other in _without_copies(around, between, ends))
    note = f"{display(path)} was rotated at {_time(status.ctime_ns)}, continued in {display(former)}"
    return Route((_going_on(former, status, position), *middle, *new), note)


def _going_on(path: RelPath, now: Fingerprint, position: Position) -> Part:
    stored = min(now.size, position.size)
    return Part(path, position.place, position.after, now.inode, position.size, stored, position.done)


def _whole(path: RelPath, now: Fingerprint) -> Part:
    return Part(path, _START, LineNumber(0), now.inode, 0, 0)


def _siblings(around: Surroundings) -> list[tuple[RelPath, Fingerprint]]:
    """Return the files beside one that rotation may have named after it, the last written first."""
    folder, _, name = around.path.rpartition(b"/")
    stem, dot, extension = name.rpartition(b".")
    found: dict[bytes, Fingerprint] = {}
    descriptor = around.root.open_folder(RelPath(folder))
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                other = os.fsencode(entry.name)
                inside = dot and stem and other.startswith(stem) and plain_name(other).endswith(dot + extension)
                if other != name and (other.startswith(name) or inside) and entry.is_file(follow_symlinks=False):
                    found[other] = from_stat(entry.stat(follow_symlinks=False))
    finally:
        os.close(descriptor)
    for other in list(found):
        # a compressed file whose plain one is still there is a copy of it, perhaps half made
        if is_named_compressed(other) and plain_name(other) in found:
            del found[other]
    last = sorted(found.items(), key=lambda item: -item[1].mtime_ns)[:_MOST_NAMES]
    return [(RelPath(folder + b"/" + other if folder else other), now) for other, now in last]


def _is_later(path: RelPath, now: Fingerprint, name: RelPath, former: tuple[RelPath, Fingerprint]) -> bool:
    """Say whether a file was written after the one of a position; in the same clock tick its name tells."""
    if now.mtime_ns != former[1].mtime_ns:
        return now.mtime_ns > former[1].mtime_ns
    turn, before = _turn(path, name), _turn(path, former[0])
    # one that no number tells of is rather told than left out
    return not (turn and before) or turn > before


def _turn(path: RelPath, name: RelPath) -> tuple[int, ...]:
    """Return numbers that are greater for the later of two names that rotation gave, none for a name without any."""
    stem = path.rpartition(b".")[0]
    given = plain_name(name).removeprefix(path if name.startswith(path) else stem)
    digits = _DIGITS.findall(given)
    numbers = tuple(map(int, digits))
    # `app.log.2` was written before `app.log.1`, and `app.log-20260304` after `app.log-20260303`
    return numbers if len(b"".join(digits)) >= _DATE_DIGITS else tuple(-number for number in numbers)


def _without_copies(
    around: Surroundings, between: list[tuple[RelPath, Fingerprint]], ends: tuple[RelPath, ...]
) -> list[tuple[RelPath, Fingerprint]]:
    """Leave out what somebody copied from a file that is told itself, one of `ends` or of those between them.

    Less than a kilobyte may be equal by chance, and is rather told twice.
    """
    heads = {path: _head(around, path) for path in (*ends, *(name for name, _ in between))}
    left = dict(between)
    for name, _ in between:
        head = heads.pop(name)
        alike = [other for other, begin in heads.items() if begin == head] if len(head) == EDGE_BYTES else []
        if any(_holds_all_of(around, other, name) for other in alike):
            del left[name]
        else:
            heads[name] = head
    return list(left.items())


def _head(around: Surroundings, path: RelPath) -> bytes:
    try:
        return around.head(path)
    except LinedexError:
        return b""  # it will be said when it is read


def _holds_all_of(around: Surroundings, path: RelPath, other: RelPath) -> bool:
    try:
        return around.holds_all_of(path, other)
    except LinedexError:
        return False


def _former(
    around: Surroundings, others: list[tuple[RelPath, Fingerprint]], position: Position
) -> tuple[RelPath, Fingerprint] | None:
    """Return the file of a position under another name, the same one rather than a copy of it."""
    if not position.size:
        return next((item for item in others if item[1].inode == position.inode), None)
    for name, _ in sorted(others, key=lambda item: item[1].inode != position.inode):
        try:
            if around.may_continue(name, position):
                with around.opened(name) as (now, size, read):
                    if position.continues_in(size, read):
                        return name, now
        except LinedexError:
            continue  # what cannot be opened is not told from what is not there
    return None


def _time(moment_ns: int) -> str:
    return datetime.fromtimestamp(moment_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def start_position(part: Part) -> Position:
    """Return the position before the first byte of a part that is wholly new."""
    return Position(_START, LineNumber(0), part.inode, 0, *edges(0, lambda _, __: b""))


def end_position(source: Source) -> Position | None:
    """Return the position behind the last whole line of a file, None for one that holds no text."""
    if source.format.binary:
        return None
    total = source.lines.total
    place = (source.size, total + 1)
    if total and not source.format.final_newline:
        place = (start_of(source, total, source.line_ends), total)
    return _position(source, place, done=True)


def _position(source: Source, place: tuple[int, int], *, done: bool) -> Position:
    mark = source.fingerprint
    return Position(place, LineNumber(0), mark.inode, source.size, *edges(source.size, source.read), done)


def position_of(around: Surroundings, path: RelPath, cursor: Cursor) -> Position | None:
    """Return the position of a cursor that a search has just given, None when its file has changed since.

    Raises:
        LinedexError: the file cannot be opened.
    """
    with around.opened(path) as (now, size, read):
        if now.inode != cursor.inode or now.size < cursor.size:
            return None
        told = size if is_named_compressed(path) else cursor.size
        return Position(cursor.place, cursor.line, cursor.inode, told, *edges(told, read), span=cursor.span)


def last_line(position: Position) -> int:
    """Return the number of the last line, whole or not, that a file had when this was the position of its end."""
    return position.place[1] - (position.place[0] == position.size)


def new_lines(source: Source, part: Part, count: int) -> tuple[ReadAnswer, Position | None, bool]:
    """Return up to `count` new lines of a file, the position behind them, and whether there are more of them.

    It is for `Source.steadily`.

    Raises:
        BinaryFile: it holds no text any more.
        ChangedWhileRead: it has become shorter.
    """
    source.demand_text()
    total = source.lines.total
    if part.first > total or part.given(source.fingerprint.inode, source.size):
        answer = ReadAnswer(source.path, (), LineNumber(0), LineCount(total), source.hash())
    else:
        answer = stretch(source, part.first, count)
    if answer.next_line is None:
        return answer, end_position(source), False
    place = (start_of(source, answer.next_line, source.line_ends), answer.next_line)
    return replace(answer, next_line=None), _position(source, place, done=False), True


def tail(source: Source, count: int) -> ReadAnswer:
    """Return the last lines as `read.tail` does, with a cursor that passes on to what is appended.

    There is none in a compressed file, nor where the lines have not been counted. It is for `Source.steadily`.
    """
    answer = last_lines(source, count)
    end = None if source.codec or not answer.counted else end_position(source)
    return answer if end is None else replace(answer, later=encoded(end, source.path))
