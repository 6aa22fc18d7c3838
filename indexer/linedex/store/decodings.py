"""How compressed files are decoded, as rows: codec, size of the text, seek points and their windows.

A row is of the bytes that the file's own row speaks of, and goes with it. Seekable copies lie beside the sidecar.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from pathlib import Path

import apsw

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.decoding import Decoding, Survey, Way
from linedex.files.compressed.points import Points, Windows
from linedex.files.compressed.shadow import Shadows
from linedex.limits import Limits
from linedex.model import FileId

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


def stored(db: apsw.Connection, file: FileId) -> Decoding | None:
    """Return how a file is decoded, None when nothing is stored of it."""
    row = db.execute("SELECT codec, way, size, damage, points FROM decodings WHERE file = ?", (file,)).fetchone()
    if row is None:
        return None
    codec, way, size, damage, points = row
    return Decoding(Codec(codec), Way(way), size, damage, Points.unpacked(points))


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
