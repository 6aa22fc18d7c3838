"""Going on in a file from a position: in it, in what it is called after a rotation, and in what took its place.

Promise: nothing is skipped and nothing begun anew in silence. Where the file of a position is found, under its own name
or another, or as the copy that `copytruncate` leaves, it is finished first, then the files that were begun after it, in
the order of their last writing. Where it is not, that is said with the number of bytes that were not read of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from linedex.answers import ReadAnswer
from linedex.content.lines import Reader
from linedex.errors import LinedexError, NotFound
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.model import LineCount, LineNumber, RelPath
from linedex.query.cursor import Cursor
from linedex.query.position import Position, edges, encoded
from linedex.query.read import start_of, stretch
from linedex.query.read import tail as last_lines
from linedex.query.source import Source

_MOST_NAMES: Final = 64
"""Rotated files that are looked at; of more the last written."""
_START: Final = (0, 1)


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be read of one file: `place`, `after` and `done` as of a position; `size` is what it held then."""

    path: RelPath
    place: tuple[int, int]
    after: LineNumber
    inode: int
    size: int
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


def route(root: Root, path: RelPath, position: Position) -> Route:
    """Return where a position in the file at `path` leads to now.

    Raises:
        NotFound: there is neither that file any more nor the one of the position.
        LinedexError: it cannot be read.
    """
    try:
        with _opened(root, path) as (status, read):
            if position.holds(status.st_ino, status.st_size, read):
                return Route((_going_on(path, status, position),))
            now: os.stat_result | None = status
    except NotFound:
        now = None
    others = _siblings(root, path)
    found = _former(root, others, position)
    new = () if now is None else (_whole(path, now),)
    if found is None:
        if now is None:
            raise NotFound(f"`{display(path)}` is gone.", "Ask again when its program writes it anew.")
        left = max(0, position.size - position.place[0])
        why = "was truncated or rewritten" if now.st_ino == position.inode else "is another file now"
        return Route(
            new,
            f"{display(path)} {why} by {_time(now.st_mtime_ns)}: {left:,} bytes of it that were not read, and what was"
            " written to it since, may be lost; restarting at the new file's start",
        )
    former, status = found
    between = sorted(
        (other.st_mtime_ns, name, other)
        for name, other in others
        if name != former and other.st_mtime_ns > status.st_mtime_ns and other.st_ino != position.inode
    )
    middle = tuple(_whole(name, other) for _, name, other in between if now is None or other.st_ino != now.st_ino)
    note = f"{display(path)} was rotated at {_time(status.st_ctime_ns)}, continued in {display(former)}"
    return Route((_going_on(former, status, position), *middle, *new), note)


@contextmanager
def _opened(root: Root, path: RelPath) -> Iterator[tuple[os.stat_result, Reader]]:
    with root.opened(path) as descriptor:
        yield os.fstat(descriptor), lambda offset, size: os.pread(descriptor, size, offset)


def _going_on(path: RelPath, status: os.stat_result, position: Position) -> Part:
    return Part(path, position.place, position.after, status.st_ino, position.size, position.done)


def _whole(path: RelPath, status: os.stat_result) -> Part:
    return Part(path, _START, LineNumber(0), status.st_ino, 0)


def _siblings(root: Root, path: RelPath) -> list[tuple[RelPath, os.stat_result]]:
    """Return the files beside one that rotation may have named after it, the last written first."""
    folder, _, name = path.rpartition(b"/")
    stem, dot, extension = name.rpartition(b".")
    found = []
    descriptor = root.open_folder(RelPath(folder))
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                other = os.fsencode(entry.name)
                inside = dot and stem and other.startswith(stem) and other.endswith(dot + extension)
                if other != name and (other.startswith(name) or inside) and entry.is_file(follow_symlinks=False):
                    below = folder + b"/" + other if folder else other
                    found.append((RelPath(below), entry.stat(follow_symlinks=False)))
    finally:
        os.close(descriptor)
    found.sort(key=lambda item: -item[1].st_mtime_ns)
    return found[:_MOST_NAMES]


def _former(
    root: Root, others: list[tuple[RelPath, os.stat_result]], position: Position
) -> tuple[RelPath, os.stat_result] | None:
    """Return the file of a position under another name, the same one rather than a copy of it."""
    if not position.size:
        return next((item for item in others if item[1].st_ino == position.inode), None)
    for name, _ in sorted(others, key=lambda item: item[1].st_ino != position.inode):
        try:
            with _opened(root, name) as (status, read):
                if position.continues_in(status.st_size, read):
                    return name, status
        except LinedexError:
            continue  # what cannot be opened is not told from what is not there
    return None


def _time(moment_ns: int) -> str:
    return datetime.fromtimestamp(moment_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def start_position(part: Part) -> Position:
    """Return the position before the first byte of a part that is wholly new."""
    return Position(_START, LineNumber(0), part.inode, 0, *edges(0, lambda _, __: b""))


def end_position(source: Source) -> Position | None:
    """Return the position behind the last whole line of a file, None for one whose bytes are not its text."""
    if source.codec or source.format.binary:
        return None
    total = source.total_lines
    place = (source.size, total + 1)
    if total and not source.format.final_newline:
        place = (start_of(source, total, source.line_ends), total)
    return _position(source, place, done=True)


def _position(source: Source, place: tuple[int, int], *, done: bool) -> Position:
    mark = source.fingerprint
    return Position(place, LineNumber(0), mark.inode, source.size, *edges(source.size, source.read), done)


def position_of(root: Root, path: RelPath, cursor: Cursor) -> Position | None:
    """Return the position of a cursor that a search has just given, None when its file has changed since.

    Raises:
        LinedexError: the file cannot be opened.
    """
    with _opened(root, path) as (status, read):
        if status.st_ino != cursor.inode or status.st_size < cursor.size:
            return None
        return Position(cursor.place, cursor.line, cursor.inode, cursor.size, *edges(cursor.size, read))


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
    total = source.total_lines
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

    It is for `Source.steadily`.
    """
    answer = last_lines(source, count)
    end = end_position(source)
    return answer if end is None else replace(answer, later=encoded(end, source.path))
