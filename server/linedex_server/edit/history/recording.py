"""What is recorded of a step before it is made: each file, its splices, the bytes that undo it and find it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from linedex_server.edit.history import kept_bytes, rows
from linedex_server.edit.history.budget import Budget
from linedex_server.edit.history.schema import Stream
from linedex_server.edit.history.steps import Change, Intent, NewFileStep


def _is_whole(file: NewFileStep, budget: Budget) -> bool:
    return not file.created and (file.removed or file.size_before <= budget.whole_bytes)


def ranges(file: NewFileStep, budget: Budget) -> Sequence[tuple[int, int]]:
    """Return where the bytes stand that a file loses or that are kept whole, start and end (exclusive)."""
    if _is_whole(file, budget):
        return [(0, file.size_before)]
    return [(splice.start, splice.end) for splice in file.splices]


def former_bytes(file: NewFileStep, budget: Budget) -> Iterator[bytes]:
    """Yield the former bytes that are kept of a file."""
    return (part for start, end in ranges(file, budget) for part in kept_bytes.stretch(file.read, start, end))


def record_file(db: apsw.Connection, step: int, file: NewFileStep, budget: Budget) -> int:
    """Record all of a file but its former bytes; return its key."""
    db.execute(
        "INSERT INTO files(step, path, size_before, size_after, created, removed, mode_before, mode_after,"
        " hash_before, hash_after, made_folders, lines_added, lines_removed, whole)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            step,
            file.path,
            file.size_before,
            file.size_after,
            file.created,
            file.removed,
            file.mode_before,
            file.mode_after,
            file.hash_before,
            file.hash_after,
            rows.FOLDERS.join(file.made_folders),
            file.lines_added,
            file.lines_removed,
            _is_whole(file, budget),
        ),
    )
    number = db.last_insert_rowid()
    changes, places = _places(file, budget)
    kept_bytes.write(db, number, Stream.SPLICES, rows.pack(changes))
    kept_bytes.write(db, number, Stream.PLACES, places)
    return number


def _places(file: NewFileStep, budget: Budget) -> tuple[list[Change], list[bytes]]:
    """Return the splices of a file, and the bytes that find them again: of each lead, new bytes and trail."""
    splices = file.splices
    if (
        file.removed
        or len(splices) > budget.placing_splices
        or sum(len(splice.new) for splice in splices) > budget.placing_bytes
    ):
        return [Change(splice.start, splice.end, len(splice.new)) for splice in splices], []
    changes, places = [], []
    floors = [0, *(splice.end for splice in splices)]
    roofs = [*(splice.start for splice in splices[1:]), file.size_before]
    for splice, floor, roof in zip(splices, floors, roofs, strict=False):
        lead = min(splice.start - floor, budget.context_bytes)
        trail = min(roof - splice.end, budget.context_bytes)
        changes.append(Change(splice.start, splice.end, len(splice.new), lead, trail))
        places += [
            file.read(splice.start - lead, lead) if lead else b"",
            splice.new,
            file.read(splice.end, trail) if trail else b"",
        ]
    return changes, places


def record_intents(db: apsw.Connection, step: int, intents: Sequence[Intent]) -> None:
    """Record how files of a step will be put down, in place of what was known before."""
    for one in intents:
        file = rows.file_number(db, step, one.path)
        start, end = one.kept or (None, None)
        db.execute(
            "INSERT OR REPLACE INTO intents VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (file, one.way, one.temporary, one.device, one.inode, start, end, one.note),
        )
