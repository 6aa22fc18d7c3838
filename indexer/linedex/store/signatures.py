"""Signature columns of files on their way into groups, and rows of groups on their way to a query.

`ColumnWriter` takes columns of files as they are made; at each commit, sizes that have enough of them become groups
and the rest go to `delta`. Readers see what is committed: `file_groups`, `delta_columns`, and for the bits `SingleRows`
or `Rows`. The blocks of large files are in `blocks`, and their groups are written and read by the functions here.

Promise: a bit that was lost on the disk hides nothing. What is stored here has checksums (`seal`), and what does not
fit them is refused as damage, so that the query reads the files and the index is begun anew. Rows are sealed by strips
of some 256 bytes, so that one row is read with little more.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from linedex.content.grams import Bits, transpose
from linedex.limits import Limits
from linedex.model import FileId
from linedex.store.schema import SEAL_BYTES, rows_per_chunk, rows_per_strip

_GROUP_SHIFT = 20
_SMALLEST_GROUP = 64
_DELTA_LIMIT = 1_000
_KEY_BITS = 0xFFFFFFFF
_SEALED = 0x2144DF1C
"""The CRC-32 of whatever its own CRC-32 follows."""
Ids: TypeAlias = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class FileGroup:
    """A group of columns of files.

    Attributes:
        id: names its rows.
        bits: a column has 2**bits bits.
        columns: how many it has.
    """

    id: int
    bits: int
    columns: int


@dataclass(frozen=True, slots=True)
class DeltaColumns:
    """The columns of one size that are not in a group yet, a row each."""

    bits: int
    files: Ids
    columns: Bits


def seal(blob: bytes, key: int) -> bytes:
    """Return what is stored of `blob` under a key: with a checksum of both."""
    return blob + zlib.crc32(blob, key & _KEY_BITS).to_bytes(SEAL_BYTES, "little")


def unsealed(stored: bytes | memoryview | None, key: int) -> memoryview:
    """Return what was sealed under a key, None when nothing is stored there.

    Raises:
        apsw.CorruptError: that is not what is stored now.
    """
    if not stored or not _is_sealed(stored, key):
        raise apsw.CorruptError(f"a stored signature is not what was written ({key})")
    return memoryview(stored)[:-SEAL_BYTES]


def _is_sealed(stored: bytes | memoryview, key: int) -> bool:
    return zlib.crc32(stored, key & _KEY_BITS) == _SEALED and len(stored) >= SEAL_BYTES


def next_group(db: apsw.Connection) -> int:
    """Return a number that no group has."""
    newest: int = db.execute("SELECT coalesce(max(key), 0) FROM group_rows").get
    return (newest >> _GROUP_SHIFT) + 1


def write_rows(db: apsw.Connection, group: int, rows: Bits, columns: int) -> None:
    """Store the rows of a group of so many columns, inside the caller's transaction."""
    step = rows_per_chunk(columns)
    chunks = (((group << _GROUP_SHIFT) | at // step, rows[at : at + step]) for at in range(0, len(rows), step))
    db.executemany(
        "INSERT INTO group_rows VALUES(?, ?)", ((key, _strips(chunk, key, columns)) for key, chunk in chunks)
    )


def _strips(rows: Bits, key: int, columns: int) -> bytes:
    """Return rows as they are stored in one blob."""
    step = rows_per_strip(columns)
    return b"".join(seal(rows[at : at + step].tobytes(), key) for at in range(0, len(rows), step))


def _unsealed_strips(stored: bytes, key: int, columns: int) -> bytes:
    view, step = memoryview(stored), rows_per_strip(columns) * -(-columns // 8) + SEAL_BYTES
    return b"".join(unsealed(view[at : at + step], key) for at in range(0, len(stored), step))


class ColumnWriter:
    """Takes columns of files and writes them, inside the caller's transactions."""

    def __init__(self, db: apsw.Connection, limits: Limits) -> None:
        self._db = db
        self._limits = limits
        self._fresh: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        self._waiting = dict(db.execute("SELECT bits, count(*) FROM delta GROUP BY bits"))

    def add(self, file: FileId, bits: int, column: Bits | bytes) -> None:
        """Take the column of one file that has none; it is stored at the next `flush`."""
        self._fresh[bits].append((file, bytes(column)))

    def flush(self, *, pack: bool = False) -> None:
        """Store what was added. With `pack`, make groups of all columns, however few of a size there are."""
        for bits in sorted({*self._fresh, *self._waiting}):
            fresh = self._fresh.pop(bits, [])
            capacity = self.capacity(bits)
            if not pack and self._waiting.get(bits, 0) + len(fresh) < capacity:
                self._delay(bits, fresh)
                continue
            stored = [(file, bytes(column)) for file, column in _waiting(self._db, bits)]
            self._db.execute("DELETE FROM delta WHERE bits = ?", (bits,))
            self._waiting.pop(bits, None)
            columns = stored + fresh
            whole = len(columns) if pack else len(columns) - len(columns) % capacity
            for at in range(0, whole, capacity):
                self._group(bits, columns[at : min(at + capacity, whole)])
            self._delay(bits, columns[whole:])

    def worth_packing(self) -> bool:
        """Return whether so many columns wait that a query would notice them."""
        waiting: int = sum(self._waiting.values())
        return waiting + sum(map(len, self._fresh.values())) >= _DELTA_LIMIT

    def capacity(self, bits: int) -> int:
        """Return how many columns of a size make a group."""
        return min(self._limits.group_columns, max(_SMALLEST_GROUP, (self._limits.group_bytes * 8) >> bits))

    def _delay(self, bits: int, columns: Sequence[tuple[int, bytes]]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO delta VALUES(?, ?, ?)",
            ((file, bits, seal(column, file)) for file, column in columns),
        )
        if columns:
            self._waiting[bits] = self._waiting.get(bits, 0) + len(columns)

    def _group(self, bits: int, columns: Sequence[tuple[int, bytes]]) -> None:
        group = next_group(self._db)
        files = np.array([file for file, _ in columns], np.uint32)
        self._db.execute(
            "INSERT INTO file_groups(id, bits, columns, files) VALUES(?, ?, ?, ?)",
            (group, bits, len(columns), seal(files.tobytes(), group)),
        )
        matrix = np.frombuffer(b"".join(column for _, column in columns), np.uint8).reshape(len(columns), -1)
        write_rows(self._db, group, transpose(matrix), len(columns))
        self._db.executemany("UPDATE files SET grp = ? WHERE id = ?", ((group, file) for file, _ in columns))


def repack(db: apsw.Connection, writer: ColumnWriter) -> int:
    """Dissolve groups of which more than half is dead and write their live columns again; return how many there were.

    Its reads and writes belong to the caller's transaction.
    """
    worn = list(db.execute("SELECT id, bits, columns, files FROM file_groups WHERE dead * 2 > columns"))
    for group, bits, columns, files in worn:
        live = {file for (file,) in db.execute("SELECT id FROM files WHERE grp = ?", (group,))}
        rows = Rows(db)
        matrix = transpose(rows.all(group, bits, columns))
        for file, column in zip(_files(files, group).tolist(), matrix, strict=False):
            if file in live:
                writer.add(FileId(file), bits, column)
        db.execute("UPDATE files SET grp = NULL WHERE grp = ?", (group,))
        db.execute("DELETE FROM file_groups WHERE id = ?", (group,))
        delete_rows(db, group)
    return len(worn)


def delete_rows(db: apsw.Connection, group: int) -> None:
    """Forget the rows of a group, inside the caller's transaction."""
    db.execute(
        "DELETE FROM group_rows WHERE key >= ? AND key < ?", (group << _GROUP_SHIFT, (group + 1) << _GROUP_SHIFT)
    )


def take_column(db: apsw.Connection, file: FileId) -> tuple[int, Bits] | None:
    """Return the column of a file, as its size as a power of two and packed bits, and forget it; None if it has none.

    Its reads and writes belong to the caller's transaction.
    """
    waiting = db.execute("SELECT bits, signature FROM delta WHERE file = ?", (file,)).fetchone()
    if waiting is not None:
        db.execute("DELETE FROM delta WHERE file = ?", (file,))
        return waiting[0], np.frombuffer(unsealed(waiting[1], file), np.uint8)
    home = db.execute(
        "SELECT g.id, g.bits, g.files FROM files f JOIN file_groups g ON g.id = f.grp WHERE f.id = ?", (file,)
    ).fetchone()
    if home is None:
        return None
    group, bits, packed = home
    files = _files(packed, group)
    at = int(np.flatnonzero(files == file)[0])
    rows = Rows(db).all(group, bits, len(files))
    column = np.packbits((rows[:, at >> 3] & np.uint8(0x80 >> (at & 7))) != 0)
    db.execute("UPDATE file_groups SET dead = dead + 1 WHERE id = ?", (group,))
    db.execute("UPDATE files SET grp = NULL WHERE id = ?", (file,))
    return bits, column


class SingleRows:
    """Reads single rows of groups on one connection, within a `with`.

    A query of a large tree reads some hundreds of them. By a handle that goes from blob to blob one takes 2.4 us, by a
    statement 3.6.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._blob: apsw.Blob | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._blob is not None:
            self._blob.close(force=True)

    def of(self, group: int, columns: int) -> Callable[[int], Bits]:
        """Return what gives row N of a group, eight columns to a byte.

        It raises apsw.CorruptError if the row is not there or not as it was written: the sidecar is damaged.
        """
        first = group << _GROUP_SHIFT
        step, strip = rows_per_chunk(columns), rows_per_strip(columns)
        width = -(-columns // 8)
        strip_bytes = strip * width + SEAL_BYTES
        blob = self._at(first)
        # called some hundreds of times a query, so it calls nothing else of ours
        reopen, seek, read, crc32, array = blob.reopen, blob.seek, blob.read, zlib.crc32, np.frombuffer

        def row(position: int) -> Bits:
            chunk, at = divmod(position, step)
            number, within = divmod(at, strip)
            key = first | chunk
            try:
                reopen(key)
                seek(number * strip_bytes)
            except (apsw.SQLError, ValueError) as error:  # no such chunk, or one that ends before
                raise apsw.CorruptError(f"a row of group {group} is missing") from error
            stored = read(strip_bytes)
            if crc32(stored, key & _KEY_BITS) != _SEALED or len(stored) < (within + 1) * width + SEAL_BYTES:
                raise apsw.CorruptError(f"a row of group {group} is missing or not what was written")
            return array(stored, np.uint8, width, within * width)

        return row

    def _at(self, key: int) -> apsw.Blob:
        if self._blob is None:
            try:
                self._blob = self._db.blob_open("main", "group_rows", "bits", key, False)  # noqa: FBT003
            except apsw.SQLError as error:
                raise apsw.CorruptError(f"the rows of group {key >> _GROUP_SHIFT} are missing") from error
        return self._blob


class Rows:
    """Reads groups on one connection."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def all(self, group: int, bits: int, columns: int) -> Bits:
        """Return all rows of a group.

        Raises:
            apsw.CorruptError: some are not there or not as they were written: the sidecar is damaged.
        """
        blobs = self._db.execute(
            "SELECT key, bits FROM group_rows WHERE key >= ? AND key < ? ORDER BY key",
            (group << _GROUP_SHIFT, (group + 1) << _GROUP_SHIFT),
        )
        whole = b"".join(_unsealed_strips(blob, key, columns) for key, blob in blobs)
        width = -(-columns // 8)
        if len(whole) != width << bits:
            raise apsw.CorruptError(f"rows of group {group} are missing")
        return np.frombuffer(whole, np.uint8).reshape(1 << bits, width)


def _files(stored: bytes, group: int) -> Ids:
    return np.frombuffer(unsealed(stored, group), np.uint32)


def _waiting(db: apsw.Connection, bits: int) -> list[tuple[int, memoryview]]:
    """Return the files and columns of one size that are in no group."""
    found = db.execute("SELECT file, signature FROM delta WHERE bits = ?", (bits,))
    return [(file, unsealed(column, file)) for file, column in found]


def file_groups(db: apsw.Connection) -> Iterator[FileGroup]:
    """Yield the groups of columns of files."""
    for group, bits, columns in db.execute("SELECT id, bits, columns FROM file_groups"):
        yield FileGroup(group, bits, columns)


def group_files(db: apsw.Connection, group: FileGroup) -> Ids:
    """Return the file of each column of a group.

    Raises:
        apsw.CorruptError: what is stored is not what was written.
    """
    files = _files(db.execute("SELECT files FROM file_groups WHERE id = ?", (group.id,)).get, group.id)
    if len(files) != group.columns:
        raise apsw.CorruptError(f"group {group.id} has {len(files)} files and {group.columns} columns")
    return files


def delta_columns(db: apsw.Connection) -> Iterator[DeltaColumns]:
    """Yield the columns that are not in a group, by size.

    Raises:
        apsw.CorruptError: one is not what was written.
    """
    for (bits,) in list(db.execute("SELECT DISTINCT bits FROM delta")):
        found = _waiting(db, bits)
        columns = np.frombuffer(b"".join(signature for _, signature in found), np.uint8).reshape(len(found), -1)
        yield DeltaColumns(bits, np.array([file for file, _ in found], np.uint32), columns)


def signature_bytes(db: apsw.Connection) -> int:
    """Return the bytes of all stored signatures."""
    packed: int = db.execute("SELECT coalesce(sum(columns * (1 << bits)) / 8, 0) FROM file_groups").get
    blocks: int = db.execute(
        "SELECT coalesce(sum((columns + 7) / 8 * (1 << bits)), 0)"
        " FROM (SELECT DISTINCT grp, columns, bits FROM block_runs WHERE bits > 0)"
    ).get
    waiting: int = db.execute("SELECT coalesce(sum(1 << bits) / 8, 0) FROM delta").get
    return packed + blocks + waiting
