"""The history: what every write changed, durable before the write and outside of every index.

Promise: a step that `prepare` returned is on the disk, with all bytes that undo it. Killed at any moment, in any
process, the history opens again with every settled step. A damaged file is moved aside and said so, never a reason to
refuse a write; a full disk is one. The oldest steps go first when the budget is used up, never one that is not settled,
and only once a newer one is: a write that fails costs no step.

Several processes may open one history; in one process it may be used from any thread.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import apsw

from linedex_server.edit.errors import NoSuchStep, WriteFailed
from linedex_server.edit.history import kept_bytes, rows, writers
from linedex_server.edit.history.budget import Budget, give_back, remove_oldest, steps_told
from linedex_server.edit.history.connection import HistoryFile
from linedex_server.edit.history.recording import former_bytes, ranges, record_file, record_intents
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
        found = self._file.read(lambda db: kept_bytes.read(db, self._number, self._stream, offset, size))
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
            file
            for file in files
            if sum(end - start for start, end in ranges(file, self.budget)) > self.budget.batch_bytes
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
                key = record_file(db, number, file, self.budget)
                if file not in later:
                    kept_bytes.write(db, key, Stream.FORMER, former_bytes(file, self.budget))
            if not later:
                record_intents(db, number, intents)
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
                kept = kept_bytes.chunks(former_bytes(file, self.budget))
                first = 0
                while batch := list(islice(kept, max(1, self.budget.batch_bytes // CHUNK_BYTES))):
                    self._file.write(partial(_append, step=step, path=file.path, parts=batch, first=first))
                    first += len(batch)
            whole = True
        finally:
            if not whole:
                self.discard(step)

    def intend(self, step: str, intents: Sequence[Intent]) -> None:
        """Replace the intents of these files, durably; for example once the temporary file's inode is known.

        Raises:
            WriteFailed: the history cannot be written, or the step was lost with a damaged one.
        """
        self._file.write(lambda db: record_intents(db, _prepared(db, step), intents))

    def keep(self, step: str, path: bytes, start: int, end: int, read: Read) -> None:
        """Keep the former bytes from `start` to `end` (exclusive), durably, to roll back a write in place.

        Raises:
            WriteFailed: the history cannot be written, or the step was lost with a damaged one.
        """

        def record(db: apsw.Connection) -> None:
            file = rows.file_number(db, _prepared(db, step), path)
            db.execute("DELETE FROM pieces WHERE file = ? AND stream = ?", (file, Stream.ROLL_BACK))
            kept_bytes.write(db, file, Stream.ROLL_BACK, kept_bytes.stretch(read, start, end))

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
            removed = remove_oldest(db, self.budget, number)
            give_back(db, self.budget.free_bytes)
            return removed

        removed = self._file.write(record)
        notes = self._file.take_notes()
        if removed < 0:
            notes.append(f"Step {step} was lost from the history, so it cannot be reverted.")
        elif removed:
            notes.append(f"The history removed {steps_told(removed)}, the oldest, to stay within {self.budget.words}.")
        return tuple(notes)

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
        return self._file.read(rows.unsettled, mend=True)

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
        return self._file.read(lambda db: rows.settled(db, path, end, limit))

    def step(self, identifier: str) -> Step:
        """Return one step, settled or not.

        Raises:
            NoSuchStep: there is none, or it was removed to keep the budget.
            Unreadable: the history cannot be read.
        """
        return self._file.read(lambda db: rows.one_step(db, self._known(db, identifier)))

    def newest_standing(self, path: bytes) -> str | None:
        """Return the newest step of a file that is neither undone nor itself an undo, None when there is none.

        Raises:
            Unreadable: the history cannot be read.
        """
        number = self._file.read(lambda db: rows.standing_of_file(db, path).newest)
        return None if number is None else step_id(number)

    def since(self, path: bytes, identifier: str) -> Sequence[PastStep]:
        """Return what all settled steps of a file, from the newest back to one of them, did to it.

        Raises:
            NoSuchStep: there is no such step.
            Unreadable: the history cannot be read.
        """
        return self._file.read(lambda db: rows.steps_of_file(db, path, self._known(db, identifier)))

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
        return rows.unpack(packed.read(0, packed.size))

    def places(self, step: str, path: bytes) -> Kept:
        """Return lead, new bytes and trail of each splice one after another; empty where they were not remembered.

        Raises:
            NoSuchStep: there is no such step, or it does not touch the file.
            Unreadable: the history cannot be read.
        """
        return self._kept(step, path, Stream.PLACES)

    def _kept(self, step: str, path: bytes, stream: Stream) -> Kept:
        def find(db: apsw.Connection) -> Kept:
            file = rows.file_number(db, self._known(db, step), path)
            return Kept(self._file, file, stream, kept_bytes.length(db, file, stream))

        return self._file.read(find)

    def _known(self, db: apsw.Connection, identifier: str) -> int:
        """Return the number of a step that is there."""
        number = step_number(identifier)
        if number is not None and db.execute("SELECT 1 FROM steps WHERE number = ?", (number,)).get:
            return number
        if number is not None and number <= int(db.execute("SELECT removed_to FROM totals").get or 0):
            raise NoSuchStep(
                f"Step {step_id(number)} was removed to keep the history within {self.budget.words}.",
                "See edit_history for the steps that are left.",
            )
        raise NoSuchStep(f"There is no step `{identifier}`.", "See edit_history for the steps there are.")


def _prepared(db: apsw.Connection, step: str) -> int:
    number = step_number(step)
    if number is None or not db.execute("SELECT 1 FROM steps WHERE number = ? AND NOT done", (number,)).get:
        raise WriteFailed(f"Step {step} is not being made any more.", "Nothing was written. Try again.")
    return number


def _append(db: apsw.Connection, *, step: str, path: bytes, parts: Sequence[bytes], first: int) -> None:
    file = rows.file_number(db, _prepared(db, step), path)
    kept_bytes.write(db, file, Stream.FORMER, parts, first)
