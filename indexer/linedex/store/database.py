"""Connections to one sidecar: a single writer, read-only readers, one for each thread.

Promise: opening never fails because of what is in the file. A sidecar of another version, of another root or
unreadable as a database is replaced by an empty one if this process holds its lock, and is left alone, unread, if not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from linedex.store.lock import SidecarLock
from linedex.store.schema import APPLICATION_ID, PAGE_SIZE, TABLES, VERSIONS

CHECKPOINT_BYTES: Final = 16 << 20
"""Size of the write-ahead log at which the writer moves it into the file; automatic checkpoints are off because they
would do it inside some reader's or writer's call."""
_CACHE_KIB: Final = 32 << 10
_FREE_READERS: Final = 4
"""Connections kept for the next readings; each holds a cache."""
_GENERATION: Final = "generation"
_BUSY_MS: Final = 5_000
_LOST: Final = (apsw.CorruptError, apsw.NotADBError, apsw.CantOpenError, apsw.FullError, apsw.IOError)


class Sidecar:
    """One SQLite file and who may write it.

    Attributes:
        path: the file.
        writer: whether this process holds the lock and may write.
        problem: why the stored index cannot be used, "" when it can.
    """

    def __init__(self, path: Path, root: str, *, read_only: bool = False) -> None:
        """Open the sidecar at `path` for the folder `root`.

        Args:
            path: the file; it is made when it is not there.
            root: the folder it is about.
            read_only: make nothing and never write; otherwise write it unless another process does.

        Raises:
            OSError: its folder cannot be made.
        """
        self.path = path
        self.root = root
        self.problem = ""
        self._lock = SidecarLock(path.with_suffix(".lock"))
        self._local = threading.local()
        self._readers: set[apsw.Connection] = set()
        self._free: list[apsw.Connection] = []
        self._read = False
        self._guard = threading.Lock()
        self._write: apsw.Connection | None = None
        self.writer = False
        if not read_only:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.take_over()
        if not self.writer:
            self.problem = self._fault()

    def _prepare(self) -> None:
        if self._fault():
            self._discard()
        self._write = self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        self._write.execute("PRAGMA wal_autocheckpoint = 0")
        self.problem = ""
        if not self._write.pragma("application_id"):
            with self._write:
                self._write.execute(TABLES)
                self._write.executemany(
                    "INSERT INTO meta VALUES(?, ?)", [*VERSIONS.items(), ("root", self.root), (_GENERATION, "0")]
                )
                self._write.pragma("application_id", APPLICATION_ID)
        self.path.chmod(0o600)

    def _fault(self) -> str:
        """Return why the stored index cannot be used, or ""; its writer does not mind that there is none yet."""
        if not self.path.exists():
            return "" if self.writer else "there is no index yet"
        try:
            db = self._connect(apsw.SQLITE_OPEN_READONLY)
        except apsw.Error as error:
            return f"the index cannot be opened ({error})"
        try:
            if db.pragma("application_id") != APPLICATION_ID:
                return "the file is not an index of linedex"
            stored = dict(db.execute("SELECT key, value FROM meta"))
        except apsw.Error as error:
            return f"the index is damaged ({error})"
        finally:
            db.close()
        for key, value in VERSIONS.items():
            if stored.get(key) != value:
                return f"the index has another {key} version ({stored.get(key)}, this program writes {value})"
        return "" if stored.get("root") == self.root else f"the index belongs to {stored.get('root')}"

    @property
    def usable(self) -> bool:
        """Whether there is an index that can be asked."""
        return not self.problem and self.path.exists()

    def look_again(self) -> bool:
        """For a process that does not write: find out whether the stored index can be used by now."""
        if self.problem:
            self.problem = self._fault()
        return self.usable

    def take_over(self) -> bool:
        """Become the writer if no other process is; return whether this one now is and was not before."""
        if self.writer or not self._lock.acquire():
            return False
        self.writer = True
        self._prepare()
        return True

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
        for name in (self.path, *self._side_files()):
            name.unlink(missing_ok=True)

    def _side_files(self) -> list[Path]:
        return [self.path.with_name(self.path.name + end) for end in ("-wal", "-shm")]

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
            self.write.execute("UPDATE meta SET value = value + 1 WHERE key = ?", (_GENERATION,))
        wal = self._side_files()[0]
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
            apsw.Error: the stored index cannot be read (`unusable` tells those errors from others).
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
        with self._guard:
            self._read = True
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

    def rebuild(self) -> None:
        """Drop what is stored and begin anew; only the writer, only from the builder's thread."""
        self._close_connections()
        self._discard()
        self._prepare()

    def _close_connections(self) -> None:
        with self._guard:
            readers, self._readers, self._free = self._readers, set(), []
        for db in readers:
            db.close(force=True)
        if self._write is not None:
            self._write.close(force=True)
            self._write = None

    def size(self) -> int:
        """Return the bytes the sidecar takes on disk, its log included."""
        return sum(name.stat().st_size for name in (self.path, *self._side_files()) if name.exists())

    def close(self) -> None:
        """Close every connection and let go of the lock."""
        if self._write is not None:
            self.checkpoint(truncate=True)
        self._close_connections()
        self._lock.release()


def stored_root(path: Path) -> str:
    """Return the folder that the sidecar at `path` is about, "" when it cannot be read."""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return ""
    try:
        return str(db.execute("SELECT value FROM meta WHERE key = 'root'").get or "")
    except apsw.Error:
        return ""
    finally:
        db.close()


def generation(db: apsw.Connection) -> int:
    """Return a number that is another one after each committed transaction."""
    return int(db.execute("SELECT value FROM meta WHERE key = ?", (_GENERATION,)).get or 0)


def unusable(error: apsw.Error) -> bool:
    """Return whether `error` says that the stored index is lost, rather than that a statement is wrong."""
    return isinstance(error, _LOST)
