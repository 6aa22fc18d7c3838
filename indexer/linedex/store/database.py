"""Connections to one sidecar: a single writer, read-only readers, one for each thread.

Promise: opening never fails, whatever lies at the path and whatever the system refuses. A sidecar of another version,
of another root or damaged is replaced by an empty one if this process holds its lock, and is left alone, unread, if
not; what is none of ours is moved aside. What cannot be read or written now is said in `problem` and `refusal`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from linedex.store.age import GENERATION, born
from linedex.store.condition import Condition, State, condition, side_files
from linedex.store.failures import STOPPING, is_damage, unusable, why
from linedex.store.lock import SidecarLock
from linedex.store.occupant import move_aside, strange
from linedex.store.schema import APPLICATION_ID, PAGE_SIZE, TABLES, VERSIONS

__all__ = ["NotWritable", "Sidecar", "unusable"]

CHECKPOINT_BYTES: Final = 16 << 20
"""Size of the write-ahead log at which the writer moves it into the file; automatic checkpoints are off because they
would do it inside some reader's or writer's call."""
_CACHE_KIB: Final = 32 << 10
_FREE_READERS: Final = 4
"""Connections kept for the next readings; each holds a cache."""
_BUSY_MS: Final = 5_000


class NotWritable(Exception):
    """The sidecar cannot be written now; the text says why and what to do."""


class Sidecar:
    """One SQLite file and who may write it.

    Attributes:
        path: the file.
        writer: whether this process holds the lock and may write.
        problem: why the stored index cannot be used, "" when it can.
        refusal: why nothing can be written for now, "" when it can; what is stored may be usable all the same.
        notes: what was found at the path and is none of ours, in sentences.
    """

    def __init__(self, path: Path, root: str, *, read_only: bool = False) -> None:
        """Open the sidecar at `path` for the folder `root`.

        Args:
            path: the file; it is made when it is not there.
            root: the folder it is about.
            read_only: make nothing and never write; otherwise write it unless another process does.
        """
        self.path = path
        self.root = root
        self.problem = ""
        self.refusal = ""
        self.notes: tuple[str, ...] = ()
        self._lock = SidecarLock(path.with_suffix(".lock"))
        self._local = threading.local()
        self._readers: set[apsw.Connection] = set()
        self._free: list[apsw.Connection] = []
        self._read = False
        self._guard = threading.Lock()
        self._write: apsw.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._read_identity: tuple[int, int] | None = None
        self._lost = False
        self.writer = False
        if not read_only:
            self.take_over()
        if not self.writer:
            self.problem = self._condition().words

    def _condition(self) -> Condition:
        found = condition(self.path, self.root)
        if found.state is State.ABSENT and self.writer:
            return Condition(State.GOOD)  # its writer does not mind that there is none yet
        return found

    def _prepare(self) -> None:
        """Open the file for writing, a new one where what is stored cannot be used.

        Raises:
            apsw.Error, OSError: the system refuses.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = Condition(State.USELESS, self.problem) if self._lost else self._condition()
        if found.state is State.REFUSED:
            raise NotWritable(found.words)
        if found.state is State.STRANGE:
            self._move_aside()
        elif found.state is State.USELESS:
            self._discard()
        # not by SQLite, which makes it readable by others and its side files after it
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        self._write = self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        self._write.execute("PRAGMA wal_autocheckpoint = 0")
        if not self._write.pragma("application_id"):
            with self._write:
                self._write.execute(TABLES)
                self._write.executemany(
                    "INSERT INTO meta VALUES(?, ?)", [*VERSIONS.items(), ("root", self.root), *born()]
                )
                self._write.pragma("application_id", APPLICATION_ID)
        self.path.chmod(0o600)
        self._identity = _identity(self.path)
        self._lost, self.problem, self.refusal = False, "", ""

    def _move_aside(self) -> None:
        # one after another: a log without its database is of no use to anybody, and a new one must not find it
        while (odd := strange((self.path, *side_files(self.path)))) is not None:
            self._keep(odd)
        if self._condition().state is State.STRANGE:
            kept = self._keep(self.path)
            for ours, theirs in zip(side_files(self.path), side_files(kept), strict=True):
                if ours.exists():
                    ours.rename(theirs)
        if not self.path.exists():
            self._discard()

    def _keep(self, odd: Path) -> Path:
        kept = move_aside(odd)
        self.notes = (*self.notes, f"{odd} was no index of linedex; it is kept as {kept.name}.")
        return kept

    @property
    def usable(self) -> bool:
        """Whether there is an index that can be asked."""
        return not self.problem and self.in_place

    @property
    def in_place(self) -> bool:
        """Whether the file is there, and for its writer, is the one that it opened."""
        identity = _identity(self.path)
        return identity is not None and (not self.writer or identity == self._identity)

    def look_again(self) -> bool:
        """For a process that does not write: find out whether the stored index can be used by now."""
        if self.problem:
            self.problem = self._condition().words
        return self.usable

    def take_over(self) -> bool:
        """Become the writer if no other process is; return whether this one now is and was not before.

        A writer to whom the system refuses to open the file is one all the same: `make_ready` tries again.
        """
        if self.writer:
            return False
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._lock.acquire():
                return False
        except OSError as error:
            self.refusal = why(error)
            return False
        self.writer = True
        try:
            self._opened()
        except NotWritable as refusal:
            self.problem = str(refusal)
        return True

    def make_ready(self) -> bool:
        """See to it that the file can be written, before a build; return whether it was opened or begun anew.

        Only the writer may call this, and only from the builder's thread.

        Raises:
            NotWritable: the system refuses, or the state folder was taken away and another process is the writer now.
        """
        if self._write is not None and self.in_place and not self.problem:
            return False
        if not self.in_place and self._write is not None:
            # the lock file may have gone with it, and then is no lock any more
            self._lock.release()
            try:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                held = self._lock.acquire()
            except OSError as error:
                raise self._refused(error) from error
            if not held:
                self.refusal = "another process began to write it when its folder was taken away"
                raise NotWritable(self.refusal)
        self._close_connections()
        self._opened()
        return True

    def _opened(self) -> None:
        try:
            self._prepare()
        except STOPPING as error:
            if not unusable(error):
                raise
            self._close_connections()
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> NotWritable:
        self.refusal = why(error)
        return NotWritable(self.refusal)

    def lose(self, error: Exception) -> None:
        """Hear of an error of reading or writing; after damage nothing that is stored is used any more."""
        if is_damage(error):
            self._lost = True
            self.problem = f"the index is damaged ({error}); answers come from reading the files"

    def _connect(self, flags: int) -> apsw.Connection:
        db = apsw.Connection(str(self.path), flags=flags)
        db.set_busy_timeout(_BUSY_MS)
        if flags & apsw.SQLITE_OPEN_READWRITE:
            db.pragma("page_size", PAGE_SIZE)
            db.pragma("journal_mode", "wal")
            db.pragma("synchronous", "normal")
        db.pragma("cache_size", -_CACHE_KIB)
        return db

    def _discard(self) -> None:
        for name in (self.path, *side_files(self.path)):
            name.unlink(missing_ok=True)

    @property
    def write(self) -> apsw.Connection:
        """The writing connection; only the builder's thread uses it.

        Raises:
            RuntimeError: this process is not the writer.
        """
        if self._write is None:
            raise RuntimeError("this process does not write the index")
        return self._write

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Give the writing connection inside one transaction, and move a long log into the file after it."""
        with self.write:
            yield self.write
            self.write.execute("UPDATE meta SET value = value + 1 WHERE key = ?", (GENERATION,))
        wal = side_files(self.path)[0]
        if wal.exists() and wal.stat().st_size > CHECKPOINT_BYTES:
            self.checkpoint()

    def checkpoint(self, *, truncate: bool = False) -> None:
        """Move the write-ahead log into the file; `truncate` empties it too, which waits for no reader."""
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
        try:
            self.write.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            return  # a reader holds an older state; the next checkpoint does it

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Give a read-only connection inside one read transaction, so that all it reads is of one moment.

        A reading inside another of the same thread shares its connection and its moment.

        Raises:
            apsw.Error: the stored index cannot be read (`failures.unusable` tells those errors from others).
        """
        held: apsw.Connection | None = getattr(self._local, "held", None)
        if held is not None:
            yield held
            return
        db = self._borrowed()
        self._local.held = db
        try:
            db.execute("BEGIN")
            yield db
        finally:
            self._local.held = None
            self._give_back(db)

    def _borrowed(self) -> apsw.Connection:
        identity = _identity(self.path)
        with self._guard:
            self._read = True
            if identity != self._read_identity:
                # another process has begun it anew, or somebody took it away
                stale, self._free, self._read_identity = self._free, [], identity
                for db in stale:
                    self._readers.remove(db)
                    db.close()
            if self._free:
                return self._free.pop()
        db = self._connect(apsw.SQLITE_OPEN_READONLY)
        with self._guard:
            self._readers.add(db)
        return db

    def _give_back(self, db: apsw.Connection) -> None:
        """End a reading; a connection that was lost meanwhile, or that few readings need, is closed."""
        with self._guard:
            if db not in self._readers:
                db.close(force=True)
                return
            if not db.get_autocommit():
                db.execute("ROLLBACK")
            if len(self._free) < _FREE_READERS:
                self._free.append(db)
                return
            self._readers.remove(db)
        db.close()

    def shrink(self) -> bool:
        """Give back the memory of connections that nobody reads with; return whether there was a reading since.

        Of the writing connection too, so only its thread may call this.
        """
        with self._guard:
            read, self._read = self._read, False
            for db in self._free:
                db.execute("PRAGMA shrink_memory")
        if self._write is not None:
            self._write.execute("PRAGMA shrink_memory")
        return read

    def _close_connections(self) -> None:
        with self._guard:
            readers, self._readers, self._free = self._readers, set(), []
        for db in readers:
            # one that another thread is in is closed when that gives it back
            with suppress(apsw.ThreadingViolationError):
                db.close(force=True)
        if self._write is not None:
            self._write.close(force=True)
            self._write = None

    def size(self) -> int:
        """Return the bytes the sidecar takes on disk, its log included."""
        return sum(name.stat().st_size for name in (self.path, *side_files(self.path)) if name.exists())

    def close(self) -> None:
        """Close every connection and let go of the lock; what the log holds counts also if it cannot be moved now."""
        if self._write is not None and self.in_place:
            try:
                self.checkpoint(truncate=True)
            except apsw.Error as error:
                if not unusable(error):
                    raise
        self._close_connections()
        self._lock.release()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return which file lies at `path`, None when none does or the system does not say."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
