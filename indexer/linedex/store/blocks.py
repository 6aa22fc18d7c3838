"""The blocks of large files: where each begins, which line that is, and the signatures of runs of them.

A run is consecutive blocks whose columns stand side by side in one group of rows. `BlockWriter` takes the blocks of a
file in order and writes a run a group. `BlockEditor` replaces a part of them and keeps every other run: a run is cut
in two without touching its rows, because each half names the columns it stands in, and what lies behind is shifted.

Promise: the runs of a file cover it without a gap, and a group lives as long as a run that stands in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import apsw
import numpy as np
import numpy.typing as npt

from linedex.content.grams import Bits, halve_rows, row_load, transpose
from linedex.content.lines import LineIndex, Offsets
from linedex.model import FileId, LineCount
from linedex.store.signatures import Rows, delete_rows, next_group, write_rows

BLOCK_RUN = 8_192
"""Blocks of a large file that share a group."""
_SPARE_RUNS = 32
"""Runs beside those that a file needs, before small neighbours are merged."""
_SMALLEST_BITS = 8
_HALVED_FROM = 64
"""Columns of a new run from which on their load says how large they need to be."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class BlockRun:
    """A run of blocks of one file.

    Attributes:
        group: names its rows; 0 when the blocks have no signatures.
        bits: a column has 2**bits bits; 0 when the blocks have no signatures.
        columns: columns of the group.
        offset: which of them is that of the first block.
        starts: first byte of each block.
        lines: number of the line that byte belongs to.
        continues: whether that line began in an earlier block.
        ranges: whether the cutting began anew at that byte, see `lines.cut_ranges`.
    """

    group: int
    bits: int
    columns: int
    offset: int
    starts: Offsets
    lines: Offsets
    continues: Flags
    ranges: Flags

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, first: int, last: int) -> BlockRun:
        """Return the run of its blocks from `first` to `last`, exclusive."""
        kept = slice(first, last)
        parts = (self.starts[kept], self.lines[kept], self.continues[kept], self.ranges[kept])
        return BlockRun(self.group, self.bits, self.columns, self.offset + first, *parts)

    def shifted(self, size: int, lines: int) -> BlockRun:
        """Return the run as it is when it begins `size` bytes and `lines` lines later."""
        return self if not (size or lines) else replace(self, starts=self.starts + size, lines=self.lines + lines)


@dataclass(frozen=True, slots=True)
class BlockColumns:
    """The blocks of one stretch of a file, in order.

    Attributes:
        starts: first byte of each.
        line_ends: line ends in each.
        ended: whether a line ends at the end of each.
        bits: size of their columns as a power of two; 0 when they have none yet.
        columns: their signatures, packed, a row each.
        ranges: whether the cutting began anew at each; at the first alone when it is not said.
    """

    starts: Offsets
    line_ends: Offsets
    ended: Flags
    bits: int
    columns: Bits
    ranges: Flags | None = None

    @property
    def begins(self) -> Flags:
        """For each block, whether the cutting began anew at it."""
        return np.arange(len(self.starts)) == 0 if self.ranges is None else self.ranges

    def shifted(self, size: int) -> BlockColumns:
        """Return the blocks as they are `size` bytes later."""
        return replace(self, starts=self.starts + size)


def joined(parts: Sequence[BlockColumns]) -> BlockColumns:
    """Return the blocks of adjoining stretches as those of one."""
    return BlockColumns(
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.line_ends for part in parts]),
        np.concatenate([part.ended for part in parts]),
        parts[0].bits,
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.begins for part in parts]),
    )


def store_group(db: apsw.Connection, columns: Bits, bits: int, sparse: float) -> tuple[int, int]:
    """Store columns as a new group, halved while their load is under `sparse`; return its number and size."""
    rows, count = transpose(columns), len(columns)
    while bits > _SMALLEST_BITS and row_load(rows, count) < sparse:
        rows, bits = halve_rows(rows), bits - 1
    group = next_group(db)
    write_rows(db, group, rows, count)
    return group, bits


def _insert(db: apsw.Connection, file: FileId, first: int, run: BlockRun) -> None:
    db.execute(
        "INSERT INTO block_runs(file, first, grp, bits, columns, place, starts, lines, continues, ranges)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(file, first, run.group, run.bits, run.columns, run.offset),
            *(run.starts.astype("<i8").tobytes(), run.lines.astype("<i8").tobytes()),
            *(np.packbits(run.continues).tobytes(), np.packbits(run.ranges).tobytes()),
        ),
    )


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
        held = joined(self._stretches)
        lines, continues = _lines_of(held, self._line, continued=not self._ended)
        parts = (held.starts[:count], lines[:count], continues[:count], held.begins[:count])
        group, bits = 0, 0
        if held.bits:
            group, bits = store_group(self._db, held.columns[:count], held.bits, self._sparse)
        _insert(self._db, self._file, self._first, BlockRun(group, bits, count if bits else 0, 0, *parts))
        self._first += count
        self._line = int(lines[count])
        self._ended = not continues[count]
        rest = BlockColumns(
            *(held.starts[count:], held.line_ends[count:], held.ended[count:], held.bits),
            *(held.columns[count:], held.begins[count:]),
        )
        self._held -= count
        self._stretches = [rest] if self._held else []


def _lines_of(blocks: BlockColumns, line: int, *, continued: bool) -> tuple[Offsets, Flags]:
    """Return the number of the line that each block begins in and whether it continues it; and of what follows them."""
    lines = line + np.concatenate(([0], np.cumsum(blocks.line_ends)))
    return lines, np.concatenate(([continued], ~blocks.ended))


def block_runs(db: apsw.Connection, file: FileId) -> list[BlockRun]:
    """Return the runs of blocks of a large file, in order; none when its blocks are not stored."""
    found = []
    for group, bits, columns, place, starts, lines, continues, ranges in db.execute(
        "SELECT grp, bits, columns, place, starts, lines, continues, ranges FROM block_runs WHERE file = ?"
        " ORDER BY first",
        (file,),
    ):
        begins = np.frombuffer(starts, "<i8")
        flags = (_flags(packed, len(begins)) for packed in (continues, ranges))
        found.append(BlockRun(group, bits, columns, place, begins, np.frombuffer(lines, "<i8"), *flags))
    return found


def _flags(packed: bytes, count: int) -> Flags:
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count).astype(np.bool_)


def last_block(db: apsw.Connection, file: FileId) -> int:
    """Return the first byte of the last block of a large file, -1 when its blocks are not stored."""
    row = db.execute("SELECT starts FROM block_runs WHERE file = ? ORDER BY first DESC LIMIT 1", (file,)).fetchone()
    return int.from_bytes(row[0][-8:], "little") if row else -1


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


# what a change of a part of a file does to its runs


@dataclass(frozen=True, slots=True)
class Replacement:
    """Blocks that take the place of others.

    Attributes:
        first: the first block that is replaced, by its place among the file's.
        last: the one behind the last.
        blocks: what stands there now.
        shift: bytes by which what follows begins later.
        growing: whether the last of them is the end of a file that grows: it gets no column, so every query reads it.
    """

    first: int
    last: int
    blocks: BlockColumns
    shift: int = 0
    growing: bool = False


class BlockEditor:
    """Replaces blocks of one large file, inside the caller's transaction; nothing counts before `save`.

    Attributes:
        runs: of the file's blocks, as they are after what was replaced so far.
    """

    def __init__(self, db: apsw.Connection, file: FileId, *, sparse: float) -> None:
        """Begin with what is stored of `file`; new runs are halved while their load stays under `sparse`."""
        self._db = db
        self._file = file
        self._sparse = sparse
        self._stored = block_runs(db, file)
        self._groups = {run.group for run in self._stored if run.bits}
        self.runs = self._stored

    def replace(self, change: Replacement) -> int:
        """Put blocks in the place of others; return by how many lines what follows moved."""
        before, rest = cut(self.runs, change.first)
        gone, after = cut(rest, change.last - change.first)
        lines, continues = _lines_of(change.blocks, int(gone[0].lines[0]), continued=bool(gone[0].continues[0]))
        moved = 0
        if after:
            moved = int(lines[-1] - after[0].lines[0])
            after = [run.shifted(change.shift, moved) for run in after]
            if bool(after[0].continues[0]) != bool(continues[-1]):
                opening = after[0].continues.copy()
                opening[0] = continues[-1]
                after[0] = replace(after[0], continues=opening)
        self.runs = [*before, *self._made(change, lines, continues), *after]
        return moved

    def _made(self, change: Replacement, lines: Offsets, continues: Flags) -> list[BlockRun]:
        blocks, found = change.blocks, []
        count = len(blocks.starts)
        signed = count - change.growing
        all_of_them = BlockRun(0, 0, 0, 0, blocks.starts, lines[:count], continues[:count], blocks.begins)
        for at in range(0, signed, BLOCK_RUN):
            end = min(at + BLOCK_RUN, signed)
            found.append(self._signed(all_of_them.part(at, end), blocks.columns[at:end], blocks.bits))
        if change.growing:
            found.append(replace(all_of_them.part(signed, count), offset=0))
        return found

    def _signed(self, run: BlockRun, columns: Bits, bits: int) -> BlockRun:
        """Store the columns of a run's blocks; return the run that stands in them."""
        # one short block would halve a run so far that nothing it is merged with could be told apart
        sparse = self._sparse if len(columns) >= _HALVED_FROM else 0.0
        group, bits = store_group(self._db, columns, bits, sparse)
        self._groups.add(group)
        return replace(run, group=group, bits=bits, columns=len(columns), offset=0)

    def save(self) -> None:
        """Merge small neighbours, store the runs in the place of those the file had, and forget groups without runs."""
        self._tidy()
        before, after, same = self._stored, self.runs, 0
        while same < min(len(before), len(after)) and before[same] is after[same]:
            same += 1
        first = sum(map(len, after[:same]))
        self._db.execute("DELETE FROM block_runs WHERE file = ? AND first >= ?", (self._file, first))
        for run in after[same:]:
            _insert(self._db, self._file, first, run)
            first += len(run)
        used = {run.group for run in after if run.bits}
        for group in self._groups - used:
            delete_rows(self._db, group)
        self._stored, self._groups = after, used

    def _tidy(self) -> None:
        """Merge runs with small neighbours, so that a query asks few of them.

        At the end of a file that grows a run is merged with the one before it when that is not larger, as the digits
        of a binary number carry: each column is written some ten times in all. Anywhere else neighbours are merged
        when there are many. Blocks without columns stay as they are.
        """
        runs = list(self.runs)
        end = len(runs) - (bool(runs) and not runs[-1].bits)
        while end > 1 and _mergeable(runs[end - 2], runs[end - 1]) and len(runs[end - 2]) <= _padded(runs[end - 1]):
            runs[end - 2 : end] = [self._merged(runs[end - 2], runs[end - 1])]
            end -= 1
        needed = sum(map(len, runs)) // BLOCK_RUN + _SPARE_RUNS
        while len(runs) > needed:
            pairs = [at for at in range(len(runs) - 1) if _mergeable(runs[at], runs[at + 1])]
            if not pairs:
                break
            at = min(pairs, key=lambda at: len(runs[at]) + len(runs[at + 1]))
            runs[at : at + 2] = [self._merged(runs[at], runs[at + 1])]
        self.runs = runs

    def _merged(self, one: BlockRun, other: BlockRun) -> BlockRun:
        bits = min(one.bits, other.bits)
        columns = np.concatenate([columns_of(self._db, run, bits) for run in (one, other)])
        both = replace(
            one,
            starts=np.concatenate((one.starts, other.starts)),
            lines=np.concatenate((one.lines, other.lines)),
            continues=np.concatenate((one.continues, other.continues)),
            ranges=np.concatenate((one.ranges, other.ranges)),
        )
        return self._signed(both, columns, bits)


def _padded(run: BlockRun) -> int:
    """Return how many columns a group of the run takes on disk."""
    return -len(run) // 8 * -8


def _mergeable(one: BlockRun, other: BlockRun) -> bool:
    return bool(one.bits and other.bits) and len(one) + len(other) <= BLOCK_RUN


def cut(runs: Sequence[BlockRun], block: int) -> tuple[list[BlockRun], list[BlockRun]]:
    """Return the runs before a block and those from it on; a run that holds both is cut in two."""
    before: list[BlockRun] = []
    for at, run in enumerate(runs):
        if block < len(run):
            if not block:
                return before, list(runs[at:])
            return [*before, run.part(0, block)], [run.part(block, len(run)), *runs[at + 1 :]]
        before.append(run)
        block -= len(run)
    return before, []


def columns_of(db: apsw.Connection, run: BlockRun, bits: int) -> Bits:
    """Return the columns of a run's blocks, a row each, at a size that is not larger than theirs."""
    rows = Rows(db).all(run.group, run.bits, run.columns)
    for _ in range(run.bits - bits):
        rows = halve_rows(rows)
    return transpose(rows)[run.offset : run.offset + len(run)]


@dataclass(frozen=True, slots=True)
class Resumption:
    """Where the cutting of a file that has grown goes on.

    Attributes:
        block: the first block that may end otherwise by now, by its place.
        start: its first byte.
        line: number of the line that byte belongs to.
        begun: where the range that holds it began.
    """

    block: int
    start: int
    line: int
    begun: int


def resumption(runs: Sequence[BlockRun], size: int, reach: int) -> Resumption:
    """Return where to go on cutting a file of which `runs` are the first `size` bytes.

    Args:
        runs: of its blocks, at least one.
        size: the bytes that they cover.
        reach: how far behind the start of a block it is looked for a line end, and text hashed with the one before.
    """
    starts, lines, continues, ranges = (
        np.concatenate([getattr(run, name) for run in runs]) for name in ("starts", "lines", "continues", "ranges")
    )
    # where a block begins inside a line, it might have begun at a line end if that was there to be seen, and the
    # block before it was hashed with less of what follows
    unsure = np.flatnonzero(continues & (starts + reach > size))
    block = int(unsure[0]) - 1 if len(unsure) else len(starts) - 1
    begun = int(np.flatnonzero(ranges[: block + 1])[-1])
    return Resumption(block, int(starts[block]), int(lines[block]), int(starts[begun]))
