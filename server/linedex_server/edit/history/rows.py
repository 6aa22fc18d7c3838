"""Rows of the history as the values they stand for.

Promise: every function reads inside the caller's transaction and writes nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import apsw

from linedex.files.names import display
from linedex.model import RelPath
from linedex_server.edit.errors import NoSuchStep
from linedex_server.edit.history.steps import (
    Change,
    Event,
    FileStep,
    Intent,
    PastStep,
    Pending,
    Standing,
    Step,
    Undoes,
    Writer,
    standing,
    step_id,
)

FOLDERS: Final = b"\0"
"""Separates the folders that a step made."""

_CHANGE: Final = struct.Struct("<5q")
_STEP: Final = "number, time_ns, tool, undoes, restores"
_FILE: Final = (
    "path, size_before, size_after, created, removed, mode_before, mode_after, hash_before, hash_after, made_folders,"
    " lines_added, lines_removed, whole"
)


def settled(db: apsw.Connection, path: bytes | None, end: int, limit: int) -> list[Step]:
    """Return up to `limit` settled steps below number `end`, newest first; of one file only if `path` is given."""
    touching = "" if path is None else " AND number IN (SELECT step FROM files WHERE path = ?)"
    rows = db.execute(
        f"SELECT {_STEP} FROM steps WHERE done AND number < ?{touching} ORDER BY number DESC LIMIT ?",
        (end, *(() if path is None else (path,)), limit),
    )
    known: dict[bytes, Standing] = {}
    return [_step(db, row, known) for row in list(rows)]


def one_step(db: apsw.Connection, number: int) -> Step:
    """Return the step of a number that is there."""
    (row,) = db.execute(f"SELECT {_STEP} FROM steps WHERE number = ?", (number,))
    return _step(db, row, {})


def unsettled(db: apsw.Connection) -> list[Pending]:
    """Return the steps that are neither settled nor discarded, oldest first."""
    rows = list(db.execute(f"SELECT {_STEP}, process, started FROM steps WHERE NOT done ORDER BY number"))
    return [Pending(_step(db, row[:5], {}), _intents(db, row[0]), Writer(row[5], row[6])) for row in rows]


def steps_of_file(db: apsw.Connection, path: bytes, first: int) -> list[PastStep]:
    """Return what the settled steps from number `first` on did to a file, newest first."""
    rows = db.execute(
        f"SELECT steps.number, undoes, restores, {_FILE} FROM files JOIN steps ON steps.number = files.step"
        " WHERE path = ? AND steps.number >= ? AND done ORDER BY steps.number DESC",
        (path, first),
    )
    undone = standing_of_file(db, path).undone_by
    return [
        PastStep(step_id(row[0]), _undoes(row[1], row[2]), _file_step(row[3:], undone.get(row[0])))
        for row in list(rows)
    ]


def standing_of_file(db: apsw.Connection, path: bytes) -> Standing:
    """Return which settled steps of a file stand."""
    rows = db.execute(
        "SELECT steps.number, undoes, restores FROM files JOIN steps ON steps.number = files.step"
        " WHERE path = ? AND done ORDER BY steps.number",
        (path,),
    )
    return standing([Event(number, undoes, bool(restores)) for number, undoes, restores in rows])


def file_number(db: apsw.Connection, step: int, path: bytes) -> int:
    """Return the key of a file of a step.

    Raises:
        NoSuchStep: the step does not touch it.
    """
    number = db.execute("SELECT number FROM files WHERE step = ? AND path = ?", (step, path)).get
    if number is None:
        raise NoSuchStep(
            f"Step {step_id(step)} did not change `{display(RelPath(path))}`.",
            "See edit_history with this path for the steps that did.",
        )
    return int(number)


def pack(changes: Iterable[Change]) -> Iterator[bytes]:
    """Yield changes as bytes."""
    return (_CHANGE.pack(one.start, one.end, one.length, one.lead, one.trail) for one in changes)


def unpack(packed: bytes) -> tuple[Change, ...]:
    """Return the changes of bytes."""
    return tuple(Change(*fields) for fields in _CHANGE.iter_unpack(packed))


def _step(db: apsw.Connection, row: Sequence[Any], known: dict[bytes, Standing]) -> Step:
    """Return the step of a row; `known` remembers what was derived for a file, over the steps of one answer."""
    number, time_ns, tool, undoes, restores = row
    files = []
    for fields in list(db.execute(f"SELECT {_FILE} FROM files WHERE step = ? ORDER BY number", (number,))):
        path = fields[0]
        if path not in known:
            known[path] = standing_of_file(db, path)
        files.append(_file_step(fields, known[path].undone_by.get(number)))
    return Step(step_id(number), time_ns, tool, _undoes(undoes, restores), tuple(files))


def _undoes(number: int | None, restores: int) -> Undoes | None:
    return None if number is None else Undoes(step_id(number), bool(restores))


def _file_step(fields: Sequence[Any], undone_by: int | None) -> FileStep:
    (path, before, after, created, removed, mode_before, mode_after, hash_before, hash_after, folders, *rest) = fields
    added, taken, whole = rest
    return FileStep(
        path=path,
        size_before=before,
        size_after=after,
        created=bool(created),
        removed=bool(removed),
        mode_before=mode_before,
        mode_after=mode_after,
        hash_before=hash_before,
        hash_after=hash_after,
        made_folders=tuple(folders.split(FOLDERS)) if folders else (),
        lines_added=added,
        lines_removed=taken,
        whole=bool(whole),
        undone_by=None if undone_by is None else step_id(undone_by),
    )


def _intents(db: apsw.Connection, step: int) -> tuple[Intent, ...]:
    rows = db.execute(
        "SELECT path, way, temporary, device, inode, kept_start, kept_end, note FROM intents"
        " JOIN files ON files.number = intents.file WHERE step = ? ORDER BY files.number",
        (step,),
    )
    return tuple(
        Intent(path, way, temporary, device, inode, None if start is None else (start, end), note)
        for path, way, temporary, device, inode, start, end, note in rows
    )
