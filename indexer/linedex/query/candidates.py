"""Which files, and which blocks of large files, may hold a match: the part of a query that the index answers.

Promise: nothing that holds a match is left out. A column with a bit missing proves that a gram is absent; a column
with all bits set proves nothing, so what is named here is verified on bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import apsw
import numpy as np
import numpy.typing as npt

from linedex.content.grams import HASH_BITS, Bits, hash_of, positions
from linedex.model import FileId
from linedex.query.gram_query import GramQuery, Op
from linedex.store.blocks import BlockRun, block_runs
from linedex.store.signatures import DeltaColumns, SingleRows, delta_columns, file_groups, group_files

_BYTE = np.uint8(0xFF)


def candidate_files(db: apsw.Connection, query: GramQuery) -> npt.NDArray[np.uint32] | None:
    """Return the ids of the files whose column passes `query`, in no order; None when the query excludes nothing.

    Args:
        db: a reading connection.
        query: the grams of the pattern, of the length that files' columns are made of.
    """
    if query.op is Op.ALL:
        return None
    found = []
    wanted = _Wanted.by(query)
    with SingleRows(db) as rows:
        for group in file_groups(db):
            passing = _GroupRows(rows, group.id, group.bits, group.columns).evaluate(wanted)
            if passing.any():
                found.append(group_files(db, group)[np.unpackbits(passing, count=group.columns).astype(np.bool_)])
    found += [waiting.files[_evaluate_delta(waiting, query)] for waiting in delta_columns(db)]
    return np.concatenate(found) if found else np.empty(0, np.uint32)


def candidate_blocks(
    db: apsw.Connection, file: FileId, query: GramQuery, *, grown: bool = False
) -> list[tuple[BlockRun, npt.NDArray[np.bool_]]]:
    """Return the runs of a large file's blocks, each with which of its blocks may hold a part of a matching line.

    A line that spans several blocks is judged by all of them together: its grams may be spread over them.

    Args:
        db: a reading connection.
        file: the file's id.
        query: the grams of the pattern, of the length that blocks' columns are made of.
        grown: whether the file has grown since. Then its last block is a candidate, with all that its first line is in.
    """
    runs = block_runs(db, file)
    wanted = _Wanted.by(query)
    answers = []
    with SingleRows(db) as rows:
        for run, after in zip(runs, [*runs[1:], None], strict=True):
            follows = after is not None and bool(after.continues[0])
            answers.append((run, _passing_blocks(rows, run, wanted, follows=follows)))
    if grown:
        _pass_last_line(answers)
    return answers


def _pass_last_line(answers: list[tuple[BlockRun, npt.NDArray[np.bool_]]]) -> None:
    """Let pass the last block and those before it that its first line stands in: they may end otherwise by now."""
    for run, passing in reversed(answers):
        opening = np.flatnonzero(~run.continues)
        passing[opening[-1] if len(opening) else 0 :] = True
        if len(opening):
            return


def _passing_blocks(rows: SingleRows, run: BlockRun, wanted: _Wanted, *, follows: bool) -> npt.NDArray[np.bool_]:
    count = len(run)
    if wanted.op is Op.ALL or not run.bits:
        return np.ones(count, np.bool_)
    group = _GroupRows(rows, run.group, run.bits, run.columns)
    inside = slice(run.offset, run.offset + count)
    if not run.continues.any() and not follows:
        return np.unpackbits(group.evaluate(wanted), count=run.columns)[inside].astype(np.bool_)
    # blocks that share a line: each gathers the bits of all blocks of its stretch before they are ANDed
    joined = run.continues.copy()
    joined[0] = False
    firsts = np.flatnonzero(~joined)
    spans = np.diff(np.append(firsts, count))
    # columns of the group that are not of this run stay as they are
    others = run.columns - run.offset - count
    group.stretch = (
        np.concatenate((np.arange(run.offset), firsts + run.offset, np.arange(run.columns - others, run.columns))),
        np.concatenate((np.ones(run.offset, np.intp), spans, np.ones(others, np.intp))),
    )
    passing = np.unpackbits(group.evaluate(wanted), count=run.columns)[inside].astype(np.bool_)
    # a stretch that leaves this run is not known whole
    if run.continues[0]:
        passing[: spans[0]] = True
    if follows:
        passing[firsts[-1] :] = True
    return passing


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A query with the hashes of its grams, which say where their bits are in the columns of any group."""

    op: Op
    hashes: tuple[int, ...]
    parts: tuple[_Wanted, ...]

    @classmethod
    def by(cls, query: GramQuery) -> _Wanted:
        return cls(query.op, tuple(map(hash_of, query.grams)), tuple(map(cls.by, query.parts)))


class _GroupRows:
    """Evaluates queries over the columns of one group, all at once."""

    def __init__(self, rows: SingleRows, group: int, bits: int, count: int) -> None:
        self._row_at = rows.of(group, count)
        self._shift = HASH_BITS - bits
        self._count = count
        self._width = -(-count // 8)
        self.stretch: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]] | None = None

    def evaluate(self, wanted: _Wanted) -> Bits:
        """Return which columns pass, eight to a byte."""
        if wanted.op is Op.ALL:
            return np.full(self._width, _BYTE)
        if wanted.op is Op.NONE:
            return np.zeros(self._width, np.uint8)
        shift = self._shift
        if wanted.op is Op.OR:
            branches = [self._row(hashed >> shift) for hashed in wanted.hashes]
            branches += [self.evaluate(part) for part in wanted.parts]
            return reduce(np.bitwise_or, branches)
        passing: Bits | None = None
        nothing = bytes(self._width)
        row = self._row if self.stretch else self._row_at
        for hashed in wanted.hashes:
            one = row(hashed >> shift)
            passing = one if passing is None else passing & one
            # some hundred times a query, and four times as fast as counting
            if passing.tobytes() == nothing:
                return passing
        for part in wanted.parts:
            one = self.evaluate(part)
            passing = one if passing is None else passing & one
            if passing.tobytes() == nothing:
                return passing
        assert passing is not None  # an AND of nothing is ALL
        return passing

    def _row(self, position: int) -> Bits:
        row = self._row_at(position)
        if self.stretch is None:
            return row
        firsts, spans = self.stretch
        bits = np.unpackbits(row, count=self._count)
        return np.packbits(np.repeat(np.maximum.reduceat(bits, firsts), spans))


def _evaluate_delta(waiting: DeltaColumns, query: GramQuery) -> npt.NDArray[np.bool_]:
    def has(position: int) -> npt.NDArray[np.bool_]:
        bit = np.uint8(0x80 >> (position & 7))
        found: npt.NDArray[np.bool_] = (waiting.columns[:, position >> 3] & bit) != 0
        return found

    def admits(part: GramQuery) -> npt.NDArray[np.bool_]:
        if part.op is Op.ALL:
            return np.ones(len(waiting.files), np.bool_)
        if part.op is Op.NONE:
            return np.zeros(len(waiting.files), np.bool_)
        parts = [has(at) for at in positions(part.grams, waiting.bits)] + [admits(inner) for inner in part.parts]
        return reduce(np.logical_and if part.op is Op.AND else np.logical_or, parts)

    return admits(query)
