"""The history's format: one SQLite file for all folders, in the state folder, told at length; how it is opened.

What is in it
-------------
`steps` is one row for each write call, `files` one for each file that it changed. Numbers of steps are never used
again; a step's name is its number in base 36.

Bytes lie in `chunks`, at most 1 MiB each, keyed by their SHA-256, so that equal bytes are kept once: the former bytes
of a step are mostly the new ones of the step before. `pieces` says which chunks make up a stream of a file, and counts
in `chunks.uses` who needs them; a chunk that nobody needs goes at once. `totals.bytes` is what all chunks take. All of
that is kept by triggers, inside the transaction that changes `pieces`.

A file has up to four streams (`Stream`): the former bytes (of the whole file, or of its splices one after another);
the splices themselves, 40 bytes each; the new bytes with a few unchanged ones around each splice, to find them again
after somebody else has changed the file; and the former bytes that roll back a write in place.

`intents` says how the files of a step that is not `done` are about to be put down, and which process does it.

The file is in WAL mode with `synchronous = FULL`: what a transaction wrote is on the disk when it returns. A damaged
file is not written to: it is moved aside and a new one begun. The numbers of the new one begin far above, so that
an old name never names a new step.

Versions
--------
1: the first.
"""

from __future__ import annotations

import functools
import os
import time
from enum import IntEnum
from pathlib import Path
from typing import Final

import apsw

from linedex.store.lock import SidecarLock
from linedex_server.edit.errors import WriteFailed

APPLICATION_ID: Final = 0x6C646869  # "ldhi"
VERSION: Final = 1
CHUNK_BYTES: Final = 1 << 20
DAMAGED: Final = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)
"""What SQLite raises for damage, and apsw for text that has none of its encoding."""
REFUSED: Final = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.LockedError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)
"""What the system, not the file's content, may refuse at any time."""

_FIRST_STEP: Final = 36**2
_STEPS_OF_A_FILE: Final = 36**4
_BUSY_MS: Final = 30_000
_LOG_BYTES: Final = 16 << 20
_LOCK_SECONDS: Final = 5.0


class Stream(IntEnum):
    """Which bytes of a file a piece is part of."""

    FORMER = 0
    SPLICES = 1
    PLACES = 2
    ROLL_BACK = 3


TABLES: Final = """
CREATE TABLE steps(
    number INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER NOT NULL, tool TEXT NOT NULL,
    undoes INTEGER, restores INTEGER NOT NULL, done INTEGER NOT NULL, process INTEGER NOT NULL, started TEXT NOT NULL
);
CREATE INDEX unfinished ON steps(number) WHERE NOT done;
CREATE TABLE files(
    number INTEGER PRIMARY KEY, step INTEGER NOT NULL REFERENCES steps ON DELETE CASCADE, path BLOB NOT NULL,
    size_before INTEGER NOT NULL, size_after INTEGER NOT NULL, created INTEGER NOT NULL, removed INTEGER NOT NULL,
    mode_before INTEGER, mode_after INTEGER, hash_before TEXT, hash_after TEXT, made_folders BLOB NOT NULL,
    lines_added INTEGER NOT NULL, lines_removed INTEGER NOT NULL, whole INTEGER NOT NULL, UNIQUE(step, path)
);
CREATE INDEX files_by_path ON files(path, step);
CREATE TABLE chunks(
    number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, stored INTEGER NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0, packed BLOB NOT NULL
);
CREATE TABLE pieces(
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE, stream INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    chunk INTEGER NOT NULL REFERENCES chunks, PRIMARY KEY(file, stream, ordinal)
) WITHOUT ROWID;
CREATE TABLE intents(
    file INTEGER PRIMARY KEY REFERENCES files ON DELETE CASCADE, way TEXT NOT NULL, temporary BLOB NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, kept_start INTEGER, kept_end INTEGER, note TEXT NOT NULL
);
CREATE TABLE totals(bytes INTEGER NOT NULL, removed_to INTEGER NOT NULL);
INSERT INTO totals VALUES(0, 0);
CREATE TRIGGER chunk_kept AFTER INSERT ON chunks BEGIN
    UPDATE totals SET bytes = bytes + new.stored;
END;
CREATE TRIGGER chunk_gone AFTER DELETE ON chunks BEGIN
    UPDATE totals SET bytes = bytes - old.stored;
END;
CREATE TRIGGER piece_kept AFTER INSERT ON pieces BEGIN
    UPDATE chunks SET uses = uses + 1 WHERE number = new.chunk;
END;
CREATE TRIGGER piece_gone AFTER DELETE ON pieces BEGIN
    UPDATE chunks SET uses = uses - 1 WHERE number = old.chunk;
    DELETE FROM chunks WHERE number = old.chunk AND uses = 0;
END;
"""


def connect(path: Path) -> apsw.Connection:
    """Return a connection to the history at `path`, which is made if it is not there.

    Raises:
        apsw.Error: one of `DAMAGED` or `REFUSED`.
        OSError: its folder or file cannot be made.
        WriteFailed: a later version of this program has written it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    # made by us first: SQLite gives its side files the mode of the file
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(_BUSY_MS)
        if path.stat().st_size == 0:  # only before the first page is written, which WAL mode does
            db.pragma("auto_vacuum", "incremental")
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "full")
        db.pragma("journal_size_limit", _LOG_BYTES)
        db.pragma("foreign_keys", "on")
        _demand_format(db, path)
    except BaseException:
        db.close(force=True)
        raise
    return db


def _demand_format(db: apsw.Connection, path: Path) -> None:
    if db.pragma("application_id") == 0:
        db.execute("BEGIN IMMEDIATE")
        # another process may have made the tables since
        if db.pragma("application_id") == 0:
            if db.execute("SELECT 1 FROM sqlite_schema").get:
                raise apsw.NotADBError("not a history")
            db.execute(TABLES)
            first = _FIRST_STEP + _STEPS_OF_A_FILE * len(_aside(path))
            db.execute("INSERT INTO sqlite_sequence VALUES('steps', ?)", (first - 1,))
            db.pragma("user_version", VERSION)
            db.pragma("application_id", APPLICATION_ID)
        db.execute("COMMIT")
    if db.pragma("application_id") != APPLICATION_ID:
        raise apsw.NotADBError("not a history")
    if db.pragma("user_version") > VERSION:
        raise WriteFailed(
            f"the history {path} was written by a later version of linedex.", "Use that version, or move the file away."
        )

    # a statement of ours that fails for a damaged schema could not be told from a mistake of ours
    if _schema(db) != _expected_schema():
        raise apsw.CorruptError("its tables are not those of a history")


def _schema(db: apsw.Connection) -> list[tuple[str, str]]:
    return list(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"))


@functools.cache
def _expected_schema() -> list[tuple[str, str]]:
    db = apsw.Connection(":memory:")
    try:
        db.execute(TABLES)
        return _schema(db)
    finally:
        db.close()


def _aside(path: Path) -> list[Path]:
    return [other for other in path.parent.glob(f"{path.name}.damaged-*") if not other.name.endswith(("-wal", "-shm"))]


def move_aside(path: Path, identity: tuple[int, int]) -> Path | None:
    """Give a damaged history another name, which is returned; None if another process has done so.

    Args:
        path: the file.
        identity: device and inode of the file that was found damaged.

    Raises:
        OSError: the system refuses.
    """
    lock = SidecarLock(path.with_suffix(".lock"))
    deadline = time.monotonic() + _LOCK_SECONDS
    while not lock.acquire():
        if time.monotonic() > deadline:
            return None
        time.sleep(0.01)
    try:
        if identity_of(path) != identity:
            return None
        number = 1 + max((int(other.name.rpartition("-")[2]) for other in _aside(path)), default=0)
        name = path.with_name(f"{path.name}.damaged-{number}")
        # the log first: a new file must never be given the old one's
        for end in ("-wal", "-shm", ""):
            part = path.with_name(path.name + end)
            if part.exists():
                part.rename(name.with_name(name.name + end))
        return name
    finally:
        lock.release()


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, None when it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
