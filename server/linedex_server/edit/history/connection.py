"""The open file of a history: one connection, one transaction at a time, damage moved aside.

Promise: each operation runs in one transaction, on the file that is at the path now, whatever another process has moved
or deleted. Where a write finds the file damaged, it is kept under another name and a new one begun, and `take_notes`
says so once; a read that finds damage leaves the file to be read elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from linedex.errors import Unreadable
from linedex_server.edit.errors import WriteFailed
from linedex_server.edit.history.schema import DAMAGED, REFUSED, connect, identity_of, move_aside

T = TypeVar("T")


class HistoryFile:
    """The database at a path; usable from any thread."""

    def __init__(self, path: Path) -> None:
        """Take the file at `path`; nothing is opened or made yet."""
        self.path = path
        self._guard = threading.RLock()
        self._db: apsw.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._inside = False
        self._notes: list[str] = []

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._guard:
            if self._db is not None:
                self._db.close(force=True)
                self._db = None

    def take_notes(self) -> list[str]:
        """Return what has happened to the file since the last call, for people."""
        with self._guard:
            notes, self._notes = self._notes, []
            return notes

    def read(self, operation: Callable[[apsw.Connection], T], *, mend: bool = False) -> T:
        """Return what `operation` finds in one state of the history.

        Args:
            operation: reads.
            mend: whether a damaged file is moved aside, as a write would do; the answer is that of an empty history.

        Raises:
            Unreadable: the system refuses, or the file is damaged.
        """
        try:
            return self._run(operation, "BEGIN DEFERRED", mend=mend)
        except DAMAGED as error:
            raise Unreadable(
                f"the history {self.path} is damaged: {error}.",
                "Copy it to look into it; the next write moves it aside and begins a new one.",
            ) from error
        except (*REFUSED, OSError) as error:
            raise Unreadable(f"the history {self.path} cannot be read: {error}.", "Check the state folder.") from error

    def write(self, operation: Callable[[apsw.Connection], T]) -> T:
        """Return what `operation` returns; what it wrote is on the disk then, or nothing of it is.

        It may be run twice, and may call `read` and `write` of this history: they take part in its transaction.

        Raises:
            WriteFailed: the system refuses: no space, no permission, another process is writing for half a minute.
        """
        try:
            return self._run(operation, "BEGIN IMMEDIATE", mend=True)
        except (*REFUSED, *DAMAGED, OSError) as error:
            message = f"the change cannot be recorded in the history {self.path}: {error}."
            raise WriteFailed(message, f"Nothing was written. {_mending(error)}") from error

    def _run(self, operation: Callable[[apsw.Connection], T], begin: str, *, mend: bool) -> T:
        with self._guard:
            if self._inside:  # by this thread, the guard says
                return operation(self._connected())
            self._inside = True
            try:
                return self._transact(operation, begin)
            except DAMAGED as error:
                if not mend:
                    raise
                self._set_aside(error)
                return self._transact(operation, begin)
            finally:
                self._inside = False

    def _transact(self, operation: Callable[[apsw.Connection], T], begin: str) -> T:
        if self._db is not None and identity_of(self.path) != self._identity:
            self.close()  # moved aside or deleted
        db = self._connected()
        db.execute(begin)
        try:
            found = operation(db)
            db.execute("COMMIT")
        finally:
            # some errors have ended it already
            if not db.get_autocommit():
                db.execute("ROLLBACK")
        return found

    def _connected(self) -> apsw.Connection:
        if self._db is None:
            self._db = connect(self.path)
            self._identity = identity_of(self.path)
        return self._db

    def _set_aside(self, error: Exception) -> None:
        identity = self._identity if self._db is not None else identity_of(self.path)
        self.close()
        if identity is not None and (name := move_aside(self.path, identity)):
            self._notes.append(f"The history was damaged ({error}); it is kept as {name}, and a new one was begun.")


def _mending(error: Exception) -> str:
    if isinstance(error, apsw.FullError):
        return "Free some space where the state folder lies."
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return "Another process is writing the history; try again."
    return "Check the state folder, its permissions and its free space."
