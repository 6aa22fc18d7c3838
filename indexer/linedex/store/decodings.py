"""How compressed files are decoded, as rows: codec, size of the text, seek points and their windows.

A row is of the bytes that the file's own row speaks of, and goes with it. Seekable copies lie beside the sidecar.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import apsw

from linedex.files.compressed.codec import Codec, ReadRaw
from linedex.files.compressed.decoding import Decoding, Survey, Way
from linedex.files.compressed.points import Points, Windows
from linedex.files.compressed.reader import DecodedReader, never
from linedex.files.compressed.shadow import Shadows
from linedex.limits import Limits
from linedex.model import FileId, FileState, Fingerprint

_FOLDER = "-shadows"


def put(db: apsw.Connection, file: FileId, found: Survey) -> None:
    """Store how a file is decoded, in place of what was stored before."""
    decoding = found.decoding
    db.execute("DELETE FROM seek_windows WHERE file = ?", (file,))
    db.execute(
        "INSERT OR REPLACE INTO decodings VALUES(?, ?, ?, ?, ?, ?)",
        (file, decoding.codec, decoding.way, decoding.size, decoding.damage, decoding.points.packed()),
    )
    db.executemany(
        "INSERT INTO seek_windows VALUES(?, ?, ?)", ((file, number, group) for number, group in enumerate(found.groups))
    )


def forget_pending(db: apsw.Connection) -> None:
    """Drop what an interrupted build stored of files that are still to be read: they may hold other bytes by now.

    Its writes belong to the caller's transaction.
    """
    for table in ("decodings", "seek_windows"):
        db.execute(f"DELETE FROM {table} WHERE file IN (SELECT id FROM files WHERE state = ?)", (FileState.PENDING,))


def stored(db: apsw.Connection, file: FileId) -> Decoding | None:
    """Return how a file is decoded, None when nothing is stored of it."""
    row = db.execute("SELECT codec, way, size, damage, points FROM decodings WHERE file = ?", (file,)).fetchone()
    if row is None:
        return None
    codec, way, size, damage, points = row
    return Decoding(Codec(codec), Way(way), size, damage, Points.unpacked(points))


def sizes(db: apsw.Connection) -> dict[int, int]:
    """Return the bytes of text of each file of which that is stored."""
    return dict(db.execute("SELECT file, size FROM decodings"))


def opened(
    db: apsw.Connection,
    file: FileId,
    decoding: Decoding,
    mark: Fingerprint,
    read: ReadRaw,
    limits: Limits,
    check: Callable[[], None] = never,
) -> tuple[DecodedReader, int]:
    """Return what reads the text of an open file as it is stored, and a descriptor for the caller to close, or -1.

    Args:
        db: a reading connection.
        file: the file's id.
        decoding: what is stored of it.
        mark: the state of which that is, as stored.
        read: reads (offset, size) bytes of the file, which is in that state.
        limits: sizes.
        check: called before each step of decoding; whatever it raises ends the read.
    """
    if decoding.way is not Way.SHADOW:
        seekable = DecodedReader(read, decoding.codec, decoding.size, decoding.points, windows(db, file), check=check)
        return seekable, -1
    copy = shadows(Path(db.filename), limits).open(mark)
    if copy is None:
        return DecodedReader(read, decoding.codec, decoding.size, check=check), -1

    def read_copy(offset: int, size: int) -> bytes:
        return os.pread(copy, size, offset)

    return DecodedReader(read_copy, Codec.ZSTD, decoding.size, decoding.points, check=check), copy


def windows(db: apsw.Connection, file: FileId) -> Windows:
    """Return what gives the windows of a file's seek points, a group at a time; it keeps the last group."""

    @lru_cache(maxsize=1)
    def group(number: int) -> bytes:
        data: bytes = db.execute("SELECT data FROM seek_windows WHERE file = ? AND grp = ?", (file, number)).get
        return zlib.decompress(data)

    return group


def shadows(sidecar: Path, limits: Limits) -> Shadows:
    """Return the seekable copies that go with a sidecar."""
    return Shadows(sidecar.with_name(sidecar.name + _FOLDER), limits.shadow_bytes)
