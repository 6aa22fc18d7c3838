"""Bytes of any length in the history, as streams of chunks that are kept once each.

Promise: writing and reading hold two chunks at a time, however long the stream. What was written is what is read: a
chunk that has not the hash it was kept under is refused, and costs no other step anything.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from hashlib import sha256

import apsw

from linedex_server.edit.errors import NoSuchStep
from linedex_server.edit.history.schema import CHUNK_BYTES, Stream
from linedex_server.edit.history.steps import Read

_LEVEL = 1  # a step waits for it; level 6 takes three times as long for a tenth less


def write(db: apsw.Connection, file: int, stream: Stream, parts: Iterable[bytes], first: int = 0) -> None:
    """Keep `parts`, one after another, as a stream of a file; inside a transaction.

    Args:
        db: the history.
        file: key of the file.
        stream: which stream.
        parts: of any length.
        first: how many chunks the stream has already, all of them full.
    """
    for ordinal, chunk in enumerate(chunks(parts), start=first):
        db.execute("INSERT INTO pieces VALUES(?, ?, ?, ?)", (file, stream, ordinal, _chunk(db, chunk)))


def _chunk(db: apsw.Connection, content: bytes) -> int:
    digest = sha256(content).digest()
    known = db.execute("SELECT number FROM chunks WHERE hash = ?", (digest,)).get
    if known is not None:
        return int(known)
    packed = zlib.compress(content, _LEVEL)
    if len(packed) >= len(content):
        packed = content
    db.execute(
        "INSERT INTO chunks(hash, size, stored, packed) VALUES(?, ?, ?, ?)",
        (digest, len(content), len(packed), packed),
    )
    return int(db.last_insert_rowid())


def chunks(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Cut what `parts` make together into chunks, all but the last of them full."""
    kept = bytearray()
    for part in parts:
        at = 0
        while at < len(part):
            taken = part[at : at + CHUNK_BYTES - len(kept)]
            kept += taken
            at += len(taken)
            if len(kept) == CHUNK_BYTES:
                yield bytes(kept)
                kept.clear()
    if kept:
        yield bytes(kept)


def read(db: apsw.Connection, file: int, stream: Stream, offset: int, size: int) -> bytes:
    """Return up to `size` bytes of a stream from `offset`, fewer only at its end.

    Raises:
        NoSuchStep: a chunk is not what was kept.
    """
    first, last = offset // CHUNK_BYTES, (offset + size - 1) // CHUNK_BYTES
    parts = [
        _unpacked(packed, whole, digest)
        for packed, whole, digest in db.execute(
            "SELECT packed, size, hash FROM pieces JOIN chunks ON chunks.number = pieces.chunk"
            " WHERE file = ? AND stream = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal",
            (file, stream, first, last),
        )
    ]
    at = offset - first * CHUNK_BYTES
    return b"".join(parts)[at : at + size] if size > 0 else b""


def _unpacked(packed: bytes, size: int, digest: bytes) -> bytes:
    content = packed
    if len(packed) != size:
        try:
            content = zlib.decompress(packed, bufsize=size)
        except zlib.error:
            content = b""
    if sha256(content).digest() != digest:
        raise NoSuchStep("The bytes that this step kept are damaged.", "See edit_history for other steps.")
    return content


def length(db: apsw.Connection, file: int, stream: Stream) -> int:
    """Return how many bytes a stream holds."""
    return int(
        db.execute(
            "SELECT ifnull(sum(size), 0) FROM pieces JOIN chunks ON chunks.number = pieces.chunk"
            " WHERE file = ? AND stream = ?",
            (file, stream),
        ).get
        or 0
    )


def stretch(content: Read, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `start` to `end` (exclusive) in parts of at most a chunk."""
    for offset in range(start, end, CHUNK_BYTES):
        yield content(offset, min(CHUNK_BYTES, end - offset))
