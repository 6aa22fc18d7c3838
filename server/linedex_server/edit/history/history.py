"""The history: what every write changed, durable before the write and outside of every index.

Promise: a step that `prepare` returned is on the disk, with all bytes that undo it. Killed at any moment, in any
process, the history opens again with every settled step. A damaged file is moved aside and said so, never a reason to
refuse a write; a full disk is one. The oldest steps go first when the budget is used up, never one that is not settled,
and only once a newer one is: a write that fails costs no step.

Several processes may open one history; in one process it may be used from any thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import apsw

from linedex_server.edit.errors import NoSuchStep, WriteFailed
from linedex_server.edit.history import kept_bytes as history_bytes
from linedex_server.edit.history import rows as history_rows
from linedex_server.edit.history import writers
from linedex_server.edit.history.connection import HistoryFile
from linedex_server.edit.history.schema import CHUNK_BYTES, Stream
from linedex_server.edit.history.steps import (
    Change,
    Intent,
    NewFileStep,
    PastStep,
    Pending,
    Read,
    Step,
    Undoes,
    step_id,
    step_number,
)

_GIVEN_BACK_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class Budget:
    """What the history may keep.

    Attributes:
        stored_bytes: bytes of kept content, as stored; a single larger step is kept all the same.
        steps: number of steps.
        whole_bytes: size up to which the former file is kept whole, so that it can be restored whatever it is now.
        placing_bytes: new bytes of one file that are remembered to find them again after somebody else's change.
        placing_splices: number of splices up to which that is done.
        context_bytes: unchanged bytes remembered on either side of a splice.
        batch_bytes: former bytes that are recorded in one transaction; other writers wait for no more.
        free_bytes: room in the file that is left for later steps; what is more goes back to the system bit by bit.
    """

    stored_bytes: int = 1 << 30
    steps: int = 10_000
    whole_bytes: int = 1 << 20
    placing_bytes: int = 1 << 20
    placing_splices: int = 1_000
    context_bytes: int = 64
    batch_bytes: int = 16 << 20
    free_bytes: int = 64 << 20


class Kept:
    """Bytes that a step kept, read on demand.

    Attributes:
        size: how many.
    """

    def __init__(self, file: HistoryFile, number: int, stream: Stream, size: int) -> None:
        """Take a stream of the file step with that key; see `History.former` and its like."""
        self._file = file
        self._number = number
        self._stream = stream
        self.size = size

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes from `offset`, fewer only at the end.

        Raises:
            NoSuchStep: the step has been removed since, or these bytes are damaged.
            Unreadable: the history cannot be read.
        """
        size = max(0, min(size, self.size - offset))
        found = self._file.read(lambda db: history_bytes.read(db, self._number, self._stream, offset, size))
        if len(found) < size:
            raise NoSuchStep("The bytes of that step are not in the history any more.", "See edit_history for others.")
        return found


class History:
    """The steps of one state folder.

    Attributes:
        path: the file, normally `<state>/history/history.db`.
        budget: what it may keep.
    """

    def __init__(self, path: Path, budget: Budget | None = None) -> None:
        """Take the history at `path`; nothing is opened or made yet."""
        self.path = path
        self.budget = budget or Budget()
        self._file = HistoryFile(path)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    # making a step

    def prepare(
        self,
        tool: str,
        files: Sequence[NewFileStep],
        *,
        undoes: Undoes | None = None,
        intents: Sequence[Intent] = (),
    ) -> str:
        """Record a step that is about to be made, and return its id; it is on the disk then.

        Args:
            tool: which tool makes it.
            files: what it will change.
            undoes: what it takes back.
            intents: how it will be put down, as far as known; see `intend`.

        Raises:
            WriteFailed: the history cannot be written: no space, no permission, busy for half a minute.
            Conflict: a file became shorter while its former bytes were read.
        """
        later = [
            file for file in files if sum(end - start for start, end in self._ranges(file)) > self.budget.batch_bytes
        ]

        def record(db: apsw.Connection) -> str:
            me = writers.this_process()
            taken_back = None if undoes is None else step_number(undoes.step)
            restores = undoes is not None and undoes.restores
            db.execute(
                "INSERT INTO steps(time_ns, tool, undoes, restores, done, process, started)"
                " VALUES(?, ?, ?, ?, 0, ?, ?)",
                (time.time_ns(), tool, taken_back, restores, me.process, me.started),
            )
            number = db.last_insert_rowid()
            for file in files:
                key = self._record_file(db, number, file)
                if file not in later:
                    history_bytes.write(db, key, Stream.FORMER, self._former(file))
            if not later:
                _record_intents(db, number, intents)
            return step_id(number)

        step = self._file.write(record)
        if later:
            self._record_later(step, later)
            self.intend(step, intents)
        return step

    def _record_later(self, step: str, files: Sequence[NewFileStep]) -> None:
        """Keep former bytes in a transaction for each batch, so that other writers need not wait for all of them."""
        whole = False
        try:
            for file in files:
                kept = history_bytes.chunks(self._former(file))
                first = 0
                while batch := list(islice(kept, max(1, self.budget.batch_bytes // CHUNK_BYTES))):
                    self._file.write(partial(_append, step=step, path=file.path, parts=batch, first=first))
                    first += len(batch)
            whole = True
        finally:
            if not whole:
                self.discard(step)

    def _is_whole(self, file: NewFileStep) -> bool:
        return not file.created and (file.removed or file.size_before <= self.budget.whole_bytes)

    def _ranges(self, file: NewFileStep) -> Sequence[tuple[int, int]]:
        if self._is_whole(file):
            return [(0, file.size_before)]
        return [(splice.start, splice.end) for splice in file.splices]

    def _former(self, file: NewFileStep) -> Iterator[bytes]:
        return (part for start, end in self._ranges(file) for part in history_bytes.stretch(file.read, start, end))

    def _record_file(self, db: apsw.Connection, step: int, file: NewFileStep) -> int:
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
                history_rows.FOLDERS.join(file.made_folders),
                file.lines_added,
                file.lines_removed,
                self._is_whole(file),
            ),
        )
        number = db.last_insert_rowid()
        changes, places = self._places(file)
        history_bytes.write(db, number, Stream.SPLICES, history_rows.pack(changes))
        history_bytes.write(db, number, Stream.PLACES, places)
        return number

    def _places(self, file: NewFileStep) -> tuple[list[Change], list[bytes]]:
        """Return the splices of a file, and the bytes that find them again: of each lead, new bytes and trail."""
        splices = file.splices
        budget = self.budget
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

    def intend(self, step: str, intents: Sequence[Intent]) -> None:
        """Replace the intents of these files, durably; for example once the temporary file's inode is known.

        Raises:
            WriteFailed: the history cannot be written, or the step was lost with a damaged one.
        """
        self._file.write(lambda db: _record_intents(db, _prepared(db, step), intents))

    def keep(self, step: str, path: bytes, start: int, end: int, read: Read) -> None:
        """Keep the former bytes from `start` to `end` (exclusive), durably, to roll back a write in place.

        Raises:
            WriteFailed: the history cannot be written, or the step was lost with a damaged one.
        """

        def record(db: apsw.Connection) -> None:
            file = history_rows.file_number(db, _prepared(db, step), path)
            db.execute("DELETE FROM pieces WHERE file = ? AND stream = ?", (file, Stream.ROLL_BACK))
            history_bytes.write(db, file, Stream.ROLL_BACK, history_bytes.stretch(read, start, end))

        self._file.write(record)

    def settle(self, step: str, hashes: Mapping[bytes, str] | None = None) -> tuple[str, ...]:
        """Say that a step was made, and keep the budget; return what the caller should be told of the history.

        Args:
            step: its id.
            hashes: of the new bytes by path, where `prepare` was not told.

        Raises:
            WriteFailed: the history cannot be written; the step stays among `pending`.
        """

        def record(db: apsw.Connection) -> int:
            number = step_number(step)
            if not db.execute("SELECT 1 FROM steps WHERE number = ?", (number,)).get:
                return -1  # lost with a damaged history, which the notes say
            assert number is not None
            for path, name in (hashes or {}).items():
                db.execute("UPDATE files SET hash_after = ? WHERE step = ? AND path = ?", (name, number, path))
            files = "SELECT number FROM files WHERE step = ?"
            db.execute(f"DELETE FROM intents WHERE file IN ({files})", (number,))
            db.execute(f"DELETE FROM pieces WHERE file IN ({files}) AND stream = ?", (number, Stream.ROLL_BACK))
            db.execute("UPDATE steps SET done = 1 WHERE number = ?", (number,))
            removed = self._remove_oldest(db, number)
            _give_back(db, self.budget.free_bytes)
            return removed

        removed = self._file.write(record)
        notes = self._file.take_notes()
        if removed < 0:
            notes.append(f"Step {step} was lost from the history, so it cannot be reverted.")
        elif removed:
            notes.append(f"The history removed {_steps(removed)}, the oldest, to stay within {self._bounds()}.")
        return tuple(notes)

    def _remove_oldest(self, db: apsw.Connection, newest: int) -> int:
        """Remove settled steps, oldest first, until the budget is kept; return how many."""
        count = int(db.execute("SELECT count(*) FROM steps").get or 0)
        removed = 0
        while count > self.budget.steps or _stored(db) > self.budget.stored_bytes:
            oldest = db.execute(
                "SELECT number FROM steps WHERE done AND number <> ? ORDER BY number LIMIT 1", (newest,)
            ).get
            if oldest is None:
                break
            db.execute("DELETE FROM steps WHERE number = ?", (oldest,))
            db.execute("UPDATE totals SET removed_to = max(removed_to, ?)", (oldest,))
            count -= 1
            removed += 1
        return removed

    def discard(self, step: str) -> None:
        """Forget a step that was prepared and not made; nothing happens if it is not there.

        Raises:
            WriteFailed: the history cannot be written; the step stays among `pending`.
        """
        number = step_number(step)
        self._file.write(lambda db: db.execute("DELETE FROM steps WHERE number = ? AND NOT done", (number,)))

    # after a crash

    def pending(self) -> Sequence[Pending]:
        """Return the steps that were prepared and neither settled nor discarded, oldest first.

        Those of other processes that still run (`writers.running`) are among them.

        Raises:
            Unreadable: the history cannot be read.
        """
        return self._file.read(history_rows.unsettled, mend=True)

    def roll_back(self, step: str, path: bytes) -> Kept:
        """Return the bytes that `keep` kept; their place is in the intent.

        Raises:
            NoSuchStep: there is no such step, or it does not touch the file.
            Unreadable: the history cannot be read.
        """
        return self._kept(step, path, Stream.ROLL_BACK)

    # asking

    def steps(self, path: bytes | None = None, limit: int = 20, before: str | None = None) -> Sequence[Step]:
        """Return settled steps, newest first.

        Args:
            path: only steps that touch this file; every file's when None.
            limit: the most that are returned.
            before: only steps older than this one, which need not exist any more.

        Raises:
            NoSuchStep: `before` is not a step's id.
            Unreadable: the history cannot be read.
        """
        end = 1 << 62 if before is None else step_number(before)
        if end is None:
            raise NoSuchStep(f"`{before}` is not a step's id.", "Take one from edit_history.")
        return self._file.read(lambda db: history_rows.settled(db, path, end, limit))

    def step(self, identifier: str) -> Step:
        """Return one step, settled or not.

        Raises:
            NoSuchStep: there is none, or it was removed to keep the budget.
            Unreadable: the history cannot be read.
        """
        return self._file.read(lambda db: history_rows.one_step(db, self._known(db, identifier)))

    def newest_standing(self, path: bytes) -> str | None:
        """Return the newest step of a file that is neither undone nor itself an undo, None when there is none.

        Raises:
            Unreadable: the history cannot be read.
        """
        number = self._file.read(lambda db: history_rows.standing_of_file(db, path).newest)
        return None if number is None else step_id(number)

    def since(self, path: bytes, identifier: str) -> Sequence[PastStep]:
        """Return what all settled steps of a file, from the newest back to one of them, did to it.

        Raises:
            NoSuchStep: there is no such step.
            Unreadable: the history cannot be read.
        """
        return self._file.read(lambda db: history_rows.steps_of_file(db, path, self._known(db, identifier)))

    def former(self, step: str, path: bytes) -> Kept:
        """Return the former bytes of a file: of all of it if `FileStep.whole`, else of its splices in their order.

        Raises:
            NoSuchStep: there is no such step, or it does not touch the file.
            Unreadable: the history cannot be read.
        """
        return self._kept(step, path, Stream.FORMER)

    def changes(self, step: str, path: bytes) -> tuple[Change, ...]:
        """Return the splices of a file, in their order.

        Raises:
            NoSuchStep: there is no such step, or it does not touch the file.
            Unreadable: the history cannot be read.
        """
        packed = self._kept(step, path, Stream.SPLICES)
        return history_rows.unpack(packed.read(0, packed.size))

    def places(self, step: str, path: bytes) -> Kept:
        """Return lead, new bytes and trail of each splice one after another; empty where they were not remembered.

        Raises:
            NoSuchStep: there is no such step, or it does not touch the file.
            Unreadable: the history cannot be read.
        """
        return self._kept(step, path, Stream.PLACES)

    def _kept(self, step: str, path: bytes, stream: Stream) -> Kept:
        def find(db: apsw.Connection) -> Kept:
            file = history_rows.file_number(db, self._known(db, step), path)
            return Kept(self._file, file, stream, history_bytes.length(db, file, stream))

        return self._file.read(find)

    def _known(self, db: apsw.Connection, identifier: str) -> int:
        """Return the number of a step that is there."""
        number = step_number(identifier)
        if number is not None and db.execute("SELECT 1 FROM steps WHERE number = ?", (number,)).get:
            return number
        if number is not None and number <= int(db.execute("SELECT removed_to FROM totals").get or 0):
            raise NoSuchStep(
                f"Step {step_id(number)} was removed to keep the history within {self._bounds()}.",
                "See edit_history for the steps that are left.",
            )
        raise NoSuchStep(f"There is no step `{identifier}`.", "See edit_history for the steps there are.")

    def _bounds(self) -> str:
        return f"{self.budget.stored_bytes:,} bytes and {_steps(self.budget.steps)}"


def _record_intents(db: apsw.Connection, step: int, intents: Sequence[Intent]) -> None:
    for one in intents:
        file = history_rows.file_number(db, step, one.path)
        start, end = one.kept or (None, None)
        db.execute(
            "INSERT OR REPLACE INTO intents VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (file, one.way, one.temporary, one.device, one.inode, start, end, one.note),
        )


def _prepared(db: apsw.Connection, step: str) -> int:
    number = step_number(step)
    if number is None or not db.execute("SELECT 1 FROM steps WHERE number = ? AND NOT done", (number,)).get:
        raise WriteFailed(f"Step {step} is not being made any more.", "Nothing was written. Try again.")
    return number


def _append(db: apsw.Connection, *, step: str, path: bytes, parts: Sequence[bytes], first: int) -> None:
    file = history_rows.file_number(db, _prepared(db, step), path)
    history_bytes.write(db, file, Stream.FORMER, parts, first)


def _give_back(db: apsw.Connection, free_bytes: int) -> None:
    page = int(db.pragma("page_size"))
    more = int(db.pragma("freelist_count")) - free_bytes // page
    if more > 0:
        # each page is moved: a bounded part of them at a time
        list(db.execute(f"PRAGMA incremental_vacuum({min(more, _GIVEN_BACK_BYTES // page)})"))


def _stored(db: apsw.Connection) -> int:
    return int(db.execute("SELECT bytes FROM totals").get or 0)


def _steps(count: int) -> str:
    return f"{count:,} step{'' if count == 1 else 's'}"
