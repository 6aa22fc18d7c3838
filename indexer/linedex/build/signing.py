"""The second stage of very large files: their blocks, cut before, get signatures, and the parts of logs are made.

A run of blocks is read at a time, its ranges by several workers, and committed; so a build that is stopped at any
moment goes on there, and memory does not grow with the file. Queries are complete all along: a block without a
signature is read.

Promise: what a run is given is of the very blocks that were cut. A file whose bytes are no longer those is left to the
next look at the disk, which takes it in as one that grew or was rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from linedex.answers import Phase
from linedex.build.columns import BLOCK_SPARSE
from linedex.build.inline import InlinePool
from linedex.build.log_pass import LogPass, gap_before, take_range
from linedex.build.ranges import RangeRead, ReadRange, range_bytes, read_range
from linedex.build.site import Site
from linedex.build.workers import Failure, Pool
from linedex.content.logs.texts import LogReading
from linedex.model import FileId
from linedex.store import blocks, logs, stages
from linedex.store import files as file_rows
from linedex.store.blocks import BlockRun
from linedex.store.catalogue import Catalogue
from linedex.store.files import TextFacts

_AHEAD = 16
"""Ranges a worker that are read while a run is committed: a run takes about as long as 30, whose columns are 8 MB."""
_Pool: TypeAlias = Pool[ReadRange, RangeRead] | InlinePool[ReadRange, RangeRead]


class _Changed(Exception):
    """A file is not any more what its blocks were cut of."""


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A run of blocks whose turn it is.

    Attributes:
        first: place of its first block among the file's.
        run: the run, or what of it is still to be read.
        edges: where its ranges begin, and where the last one ends.
    """

    first: int
    run: BlockRun
    edges: list[int]


class SigningPhase:
    """Brings files whose blocks are cut into the index as a whole."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def run(self, catalogue: Catalogue) -> None:
        """Do what is left to do of the files that `catalogue` knows."""
        db = self._site.sidecar.write
        waiting = [(file, at) for file, at in stages.unfinished(db) if catalogue.place(file) >= 0]
        if not waiting:
            return
        known = [(at, file_rows.stored_text(db, file)) for file, at in waiting]
        size = sum(text.fingerprint.size - at for at, text in known if text is not None)
        self._site.progress.begin(Phase.SIGNATURES, len(known), size)
        with self._pool() as pool:
            for _, text in known:
                if text is not None and not self._site.stop.is_set():
                    try:
                        while _Signing(self._site, pool, catalogue, text).run():
                            self._site.progress.more(text.fingerprint.size)
                    except _Changed:
                        continue
                    self._site.progress.advance(1, 0)
        took = self._site.progress.end()
        if not self._site.stop.is_set():
            with self._site.sidecar.transaction():
                file_rows.set_phase(db, Phase.SIGNATURES, took)

    def _pool(self) -> _Pool:
        limits = self._site.limits
        if not limits.workers:
            return InlinePool(read_range)
        return Pool(
            read_range,
            workers=limits.workers,
            item_seconds=limits.analyse_seconds,
            nice=self._site.nice,
        )


class _Signing:
    """The second stage of one file."""

    def __init__(self, site: Site, pool: _Pool, catalogue: Catalogue, text: TextFacts) -> None:
        self._site = site
        self._pool = pool
        self._text = text
        self._path = catalogue.path(catalogue.place(text.file))
        self._file: FileId = text.file
        self._db = site.sidecar.write
        _, self._reading = logs.stored_reading(self._db, self._file)

    def run(self) -> bool:
        """Sign run after run, each in a transaction of its own; return whether the log is to be read in another way.

        Raises:
            _Changed: the file is not what it was.
        """
        at = stages.of_file(self._db, self._file) or 0
        turns = self._turns(blocks.block_runs(self._db, self._file), at)
        jobs = [self._job(low, high, signed=not turn.run.bits) for turn in turns for low, high in pairwise(turn.edges)]
        log = None if self._reading is None else self._log(self._reading, at)
        if log is not None and jobs:
            jobs[0] = self._joined(log, jobs[0], continues=bool(turns[0].run.continues[0]))
        elif log is not None:
            size = self._text.fingerprint.size
            self._joined(log, self._job(size, size, signed=False), continues=False)
        outcomes = self._in_order(jobs)
        for turn in turns:
            if self._site.stop.is_set():
                return False
            self._commit(turn, [next(outcomes) for _ in turn.edges[1:]], log)
        wider = None if log is None else log.wider(self._read, self._text.format, everything=True)
        with self._site.sidecar.transaction():
            if wider is not None:
                logs.begin_again(self._db, self._file, wider)
                stages.put(self._db, self._file, self._text.format.bom)
                return True
            if log is not None:
                log.save()
            stages.end(self._db, self._file)
        return False

    def _read(self, offset: int, size: int) -> bytes:
        found = range_bytes(replace(self._job(offset, offset + size, signed=False), log=None))
        return b"" if found is None else found.data

    def _turns(self, runs: list[BlockRun], at: int) -> list[_Turn]:
        """Return what is left to read: runs without signatures, and those behind byte `at` if the file is a log."""
        size, found, first = self._text.fingerprint.size, [], 0
        for run, after in zip(runs, [*runs[1:], None], strict=True):
            end = size if after is None else int(after.starts[0])
            if not run.bits:
                found.append(_Turn(first, run, _edges(run, end)))
            elif self._reading is not None and end > at:
                # signed already, by the growth of the file
                left = run.part(int(np.searchsorted(run.starts, at)), len(run))
                if len(left):
                    found.append(_Turn(first, left, _edges(left, end)))
            first += len(run)
        return found

    def _job(self, low: int, high: int, *, signed: bool) -> ReadRange:
        return ReadRange(
            *(self._site.root, self._file, self._path, self._text.fingerprint, self._text.format, low, high),
            *(False, False, self._site.limits, self._reading),
            summed=high,
            signed=signed,
        )

    def _log(self, reading: LogReading, at: int) -> LogPass:
        part_bytes = self._site.limits.log_part_bytes
        resumed = LogPass.resumed(self._db, self._file, reading, part_bytes, at)
        return resumed or LogPass(self._db, self._file, reading, part_bytes, self._text.format.bom)

    def _joined(self, log: LogPass, first: ReadRange, *, continues: bool) -> ReadRange:
        """Take what stands between the parts that are kept and the first range; return that range as it follows."""
        gap = gap_before(log, first)
        if gap is None:
            return replace(first, before=(log.carry, log.continues))
        if not take_range(log, gap, read_range(gap)):
            raise _Changed
        return replace(first, before=(log.carry, continues))

    def _in_order(self, jobs: list[ReadRange]) -> Iterator[tuple[ReadRange, RangeRead]]:
        early: dict[int, tuple[ReadRange, RangeRead]] = {}
        places = {job.start: number for number, job in enumerate(jobs)}
        wanted = 0
        for job, outcome in self._pool.run(([job] for job in jobs), ahead=_AHEAD):
            if isinstance(outcome, Failure) or outcome.blocks is None:
                raise _Changed
            early[places[job.start]] = (job, outcome)
            while (ready := early.pop(wanted, None)) is not None:
                wanted += 1
                yield ready

    def _commit(self, turn: _Turn, read: list[tuple[ReadRange, RangeRead]], log: LogPass | None) -> None:
        made = [outcome.blocks for _, outcome in read if outcome.blocks is not None]
        if not np.array_equal(np.concatenate([one.starts for one in made]), turn.run.starts):
            raise _Changed
        end = turn.edges[-1]
        with self._site.sidecar.transaction():
            if not turn.run.bits:
                stages.sign(self._db, self._file, turn.first, turn.run, made, BLOCK_SPARSE)
            if log is not None:
                for job, outcome in read:
                    if not take_range(log, job, outcome):
                        raise _Changed
                log.save(more=True)
            stages.put(self._db, self._file, end)
        self._site.progress.advance(0, end - turn.edges[0])


def _edges(run: BlockRun, end: int) -> list[int]:
    """Return where the ranges begin that a run was cut in, and where it ends."""
    begins = run.ranges.copy()
    begins[0] = True
    return [*run.starts[begins].tolist(), end]
