"""Signature columns on their way into groups, and rows of groups on their way to a query.

`ColumnWriter` takes columns of small files as they are made; at each commit, sizes that have enough of them become
groups and the rest go to `delta`. `BlockWriter` takes the blocks of one large file in order and writes a group a run.
Readers see what is committed: `file_groups`, `delta_columns`, `block_runs`, and `Rows` for the bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from linedex.content.grams import Bits, halve_rows, row_load, transpose
from linedex.content.lines import LineIndex, Offsets
from linedex.limits import Limits
from linedex.model import FileId, LineCount
from linedex.store.schema import rows_per_chunk

BLOCK_RUN = 2_048
"""Blocks of a large file that share a group."""
_GROUP_SHIFT = 20
_SMALLEST_GROUP = 64
_DELTA_LIMIT = 1_000
Ids: TypeAlias = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class FileGroup:
    """A group of columns of files.

    Attributes:
        id: names its rows.
        bits: a column has 2**bits bits.
        files: the file of each column.
    """

    id: int
    bits: int
    files: Ids


@dataclass(frozen=True, slots=True)
class BlockRun:
    """A run of blocks of one file.

    Attributes:
        id: names its rows.
        bits: a column has 2**bits bits; 0 when the blocks have no signatures.
        first: place of the first block among the file's blocks.
        starts: first byte of each block.
        lines: number of the line that byte belongs to.
        continues: whether that line began in an earlier block.
    """

    id: int
    bits: int
    first: int
    starts: Offsets
    lines: Offsets
    continues: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DeltaColumns:
    """The columns of one size that are not in a group yet, a row each."""

    bits: int
    files: Ids
    columns: Bits


def _next_group(db: apsw.Connection) -> int:
    newest: int = db.execute(
        "SELECT max(coalesce((SELECT max(id) FROM file_groups), 0), coalesce((SELECT max(id) FROM block_groups), 0))"
    ).get
    return newest + 1


def _write_rows(db: apsw.Connection, group: int, rows: Bits, columns: int) -> None:
    step = rows_per_chunk(columns)
    db.executemany(
        "INSERT INTO group_rows VALUES(?, ?)",
        ((group << _GROUP_SHIFT | at // step, rows[at : at + step].tobytes()) for at in range(0, len(rows), step)),
    )


class ColumnWriter:
    """Takes columns of files and writes them, inside the caller's transactions."""

    def __init__(self, db: apsw.Connection, limits: Limits) -> None:
        self._db = db
        self._limits = limits
        self._fresh: dict[int, list[tuple[int, Bits]]] = defaultdict(list)
        self._waiting = dict(db.execute("SELECT bits, count(*) FROM delta GROUP BY bits"))

    def add(self, file: FileId, bits: int, column: Bits) -> None:
        """Take the column of one file; it is stored at the next `flush`."""
        self._fresh[bits].append((file, column))

    def flush(self, *, pack: bool = False) -> None:
        """Store what was added. With `pack`, make groups of all columns, however few of a size there are."""
        for bits in sorted({*self._fresh, *self._waiting}):
            fresh = self._fresh.pop(bits, [])
            capacity = self.capacity(bits)
            if not pack and self._waiting.get(bits, 0) + len(fresh) < capacity:
                self._delay(bits, fresh)
                continue
            stored = [
                (file, np.frombuffer(signature, np.uint8))
                for file, signature in self._db.execute("SELECT file, signature FROM delta WHERE bits = ?", (bits,))
            ]
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

    def _delay(self, bits: int, columns: Sequence[tuple[int, Bits]]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO delta VALUES(?, ?, ?)",
            ((file, bits, column.tobytes()) for file, column in columns),
        )
        self._db.executemany("UPDATE files SET grp = NULL WHERE id = ?", ((file,) for file, _ in columns))
        if columns:
            self._waiting[bits] = self._waiting.get(bits, 0) + len(columns)

    def _group(self, bits: int, columns: Sequence[tuple[int, Bits]]) -> None:
        group = _next_group(self._db)
        files = np.array([file for file, _ in columns], np.uint32)
        self._db.execute(
            "INSERT INTO file_groups(id, bits, columns, files) VALUES(?, ?, ?, ?)",
            (group, bits, len(columns), files.tobytes()),
        )
        _write_rows(self._db, group, transpose(np.stack([column for _, column in columns])), len(columns))
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
        for file, column in zip(np.frombuffer(files, np.uint32).tolist(), matrix, strict=False):
            if file in live:
                writer.add(FileId(file), bits, column)
        db.execute("DELETE FROM file_groups WHERE id = ?", (group,))
        db.execute(
            "DELETE FROM group_rows WHERE key >= ? AND key < ?", (group << _GROUP_SHIFT, (group + 1) << _GROUP_SHIFT)
        )
    return len(worn)


@dataclass(frozen=True, slots=True)
class BlockColumns:
    """The blocks of one stretch of a file, in order.

    Attributes:
        starts: first byte of each.
        line_ends: line ends in each.
        ended: whether a line ends at the end of each.
        bits: size of their columns as a power of two.
        columns: their signatures, packed, a row each.
    """

    starts: Offsets
    line_ends: Offsets
    ended: npt.NDArray[np.bool_]
    bits: int
    columns: Bits


class BlockWriter:
    """Takes the blocks of one large file in order and writes them, inside the caller's transactions."""

    def __init__(self, db: apsw.Connection, file: FileId, *, sparse: float) -> None:
        """Begin with the first block of `file`; runs are halved while their load stays under `sparse`."""
        self._db = db
        self._file = file
        self._sparse = sparse
        self._stretches: list[BlockColumns] = []
        self._held = 0
        self._first = 0
        self._line = 1
        self._ended = True

    def add(self, stretch: BlockColumns) -> None:
        """Take the next blocks; full runs are written."""
        self._stretches.append(stretch)
        self._held += len(stretch.starts)
        while self._held >= BLOCK_RUN:
            self._write(BLOCK_RUN)

    def finish(self) -> LineCount:
        """Write what is left; return the number of lines of the file."""
        if self._held:
            self._write(self._held)
        return LineCount(self._line - 1 if self._ended else self._line)

    def _write(self, count: int) -> None:
        starts = np.concatenate([part.starts for part in self._stretches])
        line_ends = np.concatenate([part.line_ends for part in self._stretches])
        ended = np.concatenate([part.ended for part in self._stretches])
        columns = np.concatenate([part.columns for part in self._stretches])
        bits = self._stretches[0].bits
        lines = self._line + np.concatenate(([0], np.cumsum(line_ends)))
        continues = ~np.concatenate(([self._ended], ended))
        rows = transpose(columns[:count])
        while bits > 8 and row_load(rows, count) < self._sparse:
            rows, bits = halve_rows(rows), bits - 1
        group = _next_group(self._db)
        self._db.execute(
            "INSERT INTO block_groups VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(group, self._file, self._first, bits, count, int(lines[0])),
                *(starts[:count].astype("<i8").tobytes(), lines[:count].astype("<i8").tobytes()),
                np.packbits(continues[:count]).tobytes(),
            ),
        )
        _write_rows(self._db, group, rows, count)
        self._first += count
        self._line = int(lines[count])
        self._ended = not continues[count]
        rest = BlockColumns(starts[count:], line_ends[count:], ended[count:], self._stretches[0].bits, columns[count:])
        self._held -= count
        self._stretches = [rest] if self._held else []


class Rows:
    """Reads rows of groups on one connection."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def row(self, group: int, columns: int, position: int) -> Bits:
        """Return row `position` of a group, eight columns to a byte."""
        step = rows_per_chunk(columns)
        width = -(-columns // 8)
        blob = self._db.execute(
            "SELECT substr(bits, ?, ?) FROM group_rows WHERE key = ?",
            (position % step * width + 1, width, group << _GROUP_SHIFT | position // step),
        ).get
        return np.frombuffer(blob, np.uint8)

    def all(self, group: int, bits: int, columns: int) -> Bits:
        """Return all rows of a group."""
        blobs = self._db.execute(
            "SELECT bits FROM group_rows WHERE key >= ? AND key < ? ORDER BY key",
            (group << _GROUP_SHIFT, (group + 1) << _GROUP_SHIFT),
        )
        whole = b"".join(blob for (blob,) in blobs)
        return np.frombuffer(whole, np.uint8).reshape(1 << bits, -(-columns // 8))


def file_groups(db: apsw.Connection) -> Iterator[FileGroup]:
    """Yield the groups of columns of files."""
    for group, bits, files in db.execute("SELECT id, bits, files FROM file_groups"):
        yield FileGroup(group, bits, np.frombuffer(files, np.uint32))


def delta_columns(db: apsw.Connection) -> Iterator[DeltaColumns]:
    """Yield the columns that are not in a group, by size."""
    for (bits,) in list(db.execute("SELECT DISTINCT bits FROM delta")):
        found = list(db.execute("SELECT file, signature FROM delta WHERE bits = ?", (bits,)))
        columns = np.frombuffer(b"".join(signature for _, signature in found), np.uint8).reshape(len(found), -1)
        yield DeltaColumns(bits, np.array([file for file, _ in found], np.uint32), columns)


_RUN = "SELECT id, bits, first, columns, starts, lines, continues FROM block_groups"


def _run(row: tuple[int, int, int, int, bytes, bytes, bytes]) -> BlockRun:
    group, bits, first, columns, starts, lines, continues = row
    return BlockRun(
        group,
        bits,
        first,
        np.frombuffer(starts, "<i8"),
        np.frombuffer(lines, "<i8"),
        np.unpackbits(np.frombuffer(continues, np.uint8), count=columns).astype(np.bool_),
    )


def block_runs(db: apsw.Connection, file: FileId) -> list[BlockRun]:
    """Return the runs of blocks of a large file, in order; none when its blocks are not stored."""
    return [_run(row) for row in db.execute(f"{_RUN} WHERE file = ? ORDER BY first", (file,))]


def line_index(db: apsw.Connection, file: FileId, size: int, total: LineCount) -> LineIndex | None:
    """Return the line index of a large file whose blocks are stored, else None.

    Args:
        db: a reading connection.
        file: the file's id.
        size: its size in bytes.
        total: its number of lines.
    """
    runs = block_runs(db, file)
    if not runs:
        return None
    return LineIndex(
        np.concatenate([run.starts for run in runs]),
        np.concatenate([run.lines for run in runs]),
        np.concatenate([run.continues for run in runs]),
        size,
        total,
    )


def signature_bytes(db: apsw.Connection) -> int:
    """Return the bytes of all stored signatures."""
    packed: int = db.execute("SELECT coalesce(sum(columns * (1 << bits)) / 8, 0) FROM file_groups").get
    blocks: int = db.execute("SELECT coalesce(sum((columns + 7) / 8 * (1 << bits)), 0) FROM block_groups").get
    waiting: int = db.execute("SELECT coalesce(sum(1 << bits) / 8, 0) FROM delta").get
    return packed + blocks + waiting
