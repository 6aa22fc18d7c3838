"""The growth phase: of a large file that became longer only what is new is read.

Promise: a step reads the bytes behind the last block that is sure to stay, two kilobytes that show that the file has
only grown, and as much again at its edges; never the rest. After each step the sidecar says what it would say of a
file that ends there, so a file that has grown by much is taken in bounded steps, and one that grows all the time is
always known up to a moment ago. Where the new bytes show that the old ones are spelled otherwise than it seemed, or
the old ones are not those that were read, the file is refused, and read anew as one that was rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from linedex.build.analyze import large_language
from linedex.build.checkpoints import Stopped, first_changed
from linedex.build.columns import BLOCK_SPARSE, OVERLAP, WHOLE_LIMIT, joined_column
from linedex.build.inline import InlinePool
from linedex.build.log_pass import LogPass, gap_before, take_range
from linedex.build.ranges import RangeRead, ReadRange, blocks_of, log_range, read_range
from linedex.build.rewinding import rewound
from linedex.build.site import Site
from linedex.build.workers import Failure, Pool
from linedex.content.lines import LineEnds, cut_ranges
from linedex.content.symbols import has_outline
from linedex.errors import LinedexError
from linedex.files import fingerprint as fingerprints
from linedex.files import holes, text_format
from linedex.files.compressed.codec import is_named_compressed
from linedex.files.roots import Root
from linedex.model import Change, FileId, FileState, Fingerprint, LineCount, RelPath, TextFormat
from linedex.store import checkpoints, logs, stages
from linedex.store import files as file_rows
from linedex.store.blocks import BlockEditor, BlockRun, Replacement, Resumption, joined, resumption
from linedex.store.catalogue import Catalogue
from linedex.store.files import TextFacts
from linedex.store.signatures import ColumnWriter, take_column

_FEW = 2
"""Ranges that are read in the builder's own thread."""

_STEP_COMMITS = 4
"""Commits' worth of text in a step: its workers are started anew, and its columns (a twelfth of it) held in memory."""


class Refused(Exception):
    """A file did something else than to grow; internal to the phases of a build."""


def may_have_grown(catalogue: Catalogue, file: int, now: Fingerprint, large_file: int) -> bool:
    """Say whether a file that the index knows by its blocks may hold all that it held, by its stat."""
    place = catalogue.place(FileId(file))
    if place < 0 or catalogue.facts["state"][place] != FileState.INDEXED:
        return False
    known = catalogue.fingerprint(place)
    if is_named_compressed(catalogue.path(place)):
        return False  # behind an appended member no seek point may be trusted
    return known.size > large_file and now.inode == known.inode and now.size >= known.size


class GrowthPhase:
    """Takes in what large files of one root have grown by, and what was changed behind a byte of them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._root = Root(site.root)

    def run(self, catalogue: Catalogue, grown: Iterable[int]) -> tuple[Catalogue, list[int]]:
        """Take in the growth of the files of these ids; return the catalogue afterwards, and the ids of the refused."""
        refused = []
        for file in grown:
            try:
                catalogue = self._take_in(catalogue, FileId(file))
            except Stopped:
                break
            except (Refused, OSError, LinedexError):
                refused.append(file)
        return catalogue, refused

    def reread(self, catalogue: Catalogue, file: FileId, start: int) -> Catalogue:
        """Read a file anew from near byte `start` on; what stands before is kept. Return the catalogue afterwards.

        Raises:
            Refused: it is to be read anew as a whole.
            LinedexError: it cannot be opened.
            OSError: it cannot be read.
        """
        return self._take_in(catalogue, file, start)

    def _take_in(self, catalogue: Catalogue, file: FileId, doubted: int | None = None) -> Catalogue:
        place = catalogue.place(file)
        if place < 0:
            return catalogue
        path = catalogue.path(place)
        descriptor = self._root.open(path)
        try:
            mark, seen = fingerprints.settled(descriptor)
            if doubted is None and mark.size == catalogue.facts["size"][place]:
                doubted = first_changed(self._site, descriptor, file)
                if doubted is None:
                    return self._kept(catalogue, file, mark, seen)
            while not self._site.stop.is_set():
                step = _Step(self._site, descriptor, path, file, mark, seen)
                catalogue, end = step.run(catalogue, doubted)
                doubted = None
                if end == mark.size:
                    break
        finally:
            os.close(descriptor)
        return catalogue

    def _kept(self, catalogue: Catalogue, file: FileId, mark: Fingerprint, seen: int) -> Catalogue:
        """Store that a file was touched and holds what it held; return the catalogue afterwards."""
        db = self._site.sidecar.write
        old = file_rows.stored_text(db, file)
        if old is None or mark.head != old.fingerprint.head:
            raise Refused
        facts = replace(old, fingerprint=mark, seen_ns=seen, outlined=has_outline(old.language))
        with self._site.sidecar.transaction():
            changed = file_rows.set_text(db, catalogue, [facts])
            checkpoints.set_all_checked(db, file, seen)
        catalogue = catalogue.with_facts(changed)
        self._site.publish(catalogue)
        return catalogue


class _Step:
    """One step: from what is stored of a file to what it is when it ends at a byte further on."""

    def __init__(self, site: Site, descriptor: int, path: RelPath, file: FileId, mark: Fingerprint, seen: int) -> None:
        self._site = site
        self._descriptor = descriptor
        self._path = path
        self._file = file
        self._mark = mark
        self._seen = seen
        self._kept = (0, b"")

    def run(self, catalogue: Catalogue, doubted: int | None = None) -> tuple[Catalogue, int]:
        """Take the step; return the catalogue afterwards and the byte up to which the file is known.

        From byte `doubted` on nothing that is stored is believed.

        Raises:
            Refused: the file did not only grow.
        """
        limits, db = self._site.limits, self._site.sidecar.write
        old = file_rows.stored_text(db, self._file)
        editor = BlockEditor(db, self._file, sparse=BLOCK_SPARSE)
        runs: Sequence[BlockRun] = editor.runs
        if old is not None and doubted is not None:
            old, runs = rewound(old, runs, doubted, self._read)
        if old is None or fingerprints.change(old.fingerprint, self._mark, self._read) is not Change.APPENDED:
            raise Refused
        if not runs:
            raise Refused
        size = old.fingerprint.size
        resumed = resumption(runs, size, limits.block_slack + OVERLAP)
        self._keep(resumed.start)
        ranges, spelling = self._ranges(size, old.format, resumed)
        end = ranges[-1][1]
        facts = self._facts(old, spelling, end)
        wanted = end <= WHOLE_LIMIT
        # the parts of a log whose turn has not come yet are made with those of what is old
        staged = stages.of_file(db, self._file) is not None
        log = None if staged else self._resumed_log(resumed.start)
        reading = None if log is None else log.reading
        jobs = [
            ReadRange(
                *(self._site.root, self._file, self._path, facts.fingerprint, spelling, low, high),
                *(low > resumed.start or low == resumed.begun, wanted, limits, reading),
                summed=size,
            )
            for low, high in ranges
        ]
        between = None
        if log is not None:
            between, jobs[0] = self._joined_to_log(log, jobs[0], continues=_continues(editor, resumed.block))
        read = list(self._read_ranges(jobs))
        if not fingerprints.begins_with(self._descriptor, facts.fingerprint):
            raise Refused
        blocks = joined([one.blocks for one in read if one.blocks is not None])
        last = sum(map(len, editor.runs))
        with self._site.sidecar.transaction():
            editor.replace(Replacement(resumed.block, last, blocks, growing=True))
            editor.save()
            checkpoints.cut(db, self._file, size)
            sums = [one for part in read for one in part.sums]
            checkpoints.add(db, self._file, sums, limits.checkpoint_bytes, self._seen)
            stages.lower(db, self._file, resumed.start)
            if log is not None:
                self._store_log(log, spelling, between, zip(jobs, read, strict=True))
            elif not staged:
                logs.forget(db, self._file)
            lines = _line_count(editor, bool(blocks.ended[-1]), int(blocks.line_ends[-1]))
            column = joined_column(take_column(db, self._file), [one.whole for one in read])
            columns = ColumnWriter(db, limits)
            columns.add(self._file, *column)
            changed = file_rows.set_text(db, catalogue, [replace(facts, lines=lines)])
            columns.flush(pack=columns.worth_packing())
        catalogue = catalogue.with_facts(changed)
        self._site.publish(catalogue)
        return catalogue, end

    def _resumed_log(self, at: int) -> LogPass | None:
        db = self._site.sidecar.write
        _, reading = logs.stored_reading(db, self._file)
        if reading is None:
            return None
        return LogPass.resumed(db, self._file, reading, self._site.limits.log_part_bytes, at)

    def _joined_to_log(
        self, log: LogPass, first: ReadRange, *, continues: bool
    ) -> tuple[tuple[ReadRange, RangeRead] | None, ReadRange]:
        """Return the part of the log between its last kept part and the first range, and that range as it follows."""
        job = gap_before(log, first)
        if job is None:
            return None, replace(first, before=(log.carry, log.continues))
        data, beyond = self._read(job.start, job.end - job.start), self._read(job.end, job.beyond)
        made = log_range(job, log.reading, data, [job.start], beyond, b"")
        return (job, RangeRead(None, None, made)), replace(first, before=(made.left, continues))

    def _store_log(
        self,
        log: LogPass,
        spelling: TextFormat,
        between: tuple[ReadRange, RangeRead] | None,
        read: Iterable[tuple[ReadRange, RangeRead]],
    ) -> None:
        """Store what a log has grown by; one that has taken up another format gets its parts in the second stage."""
        for job, made in [*([] if between is None else [between]), *read]:
            if not take_range(log, job, made):
                raise Refused
        wider = log.wider(self._read, spelling, everything=False)
        if wider is None:
            log.save()
        else:
            logs.begin_again(self._site.sidecar.write, self._file, wider)
            stages.put(self._site.sidecar.write, self._file, spelling.bom)

    def _read_here(self, job: ReadRange) -> RangeRead:
        data = self._read(job.start, job.end - job.start)
        if len(data) < job.end - job.start:
            return RangeRead(None, None)
        beyond = self._read(job.end, min(job.beyond, job.fingerprint.size - job.end))
        return blocks_of(job, data, beyond, self._read(job.lead, job.start - job.lead))

    def _read(self, offset: int, size: int) -> bytes:
        begin, kept = self._kept
        if begin <= offset and offset + size <= begin + len(kept):
            return kept[offset - begin : offset - begin + size]
        return holes.pread(self._descriptor, max(0, min(size, self._mark.size - offset)), offset)

    def _keep(self, begin: int) -> None:
        """Read the end of the file once for all that looks at it, if it is short."""
        if self._mark.size - begin <= _FEW * self._site.limits.batch_bytes:
            self._kept = (begin, self._read(begin, self._mark.size - begin))

    def _ranges(self, size: int, old: TextFormat, resumed: Resumption) -> tuple[list[tuple[int, int]], TextFormat]:
        """Return the ranges of this step and the format of a file that ends with them; `size` and `old` are before it.

        Raises:
            Refused: what is new shows that the whole has another format.
        """
        limits, cutting = self._site.limits, old
        for _ in range(2):
            found: list[tuple[int, int]] = []
            ends = LineEnds.of(cutting)
            for low, high in cut_ranges(self._read, resumed.start, self._mark.size, ends, limits, resumed.begun):
                found.append((low, high))
                if high > size and high - resumed.start >= _STEP_COMMITS * limits.commit_bytes:
                    break
            now = text_format.grown(self._read, old, resumed.start, size, found[-1][1])
            if now is None:
                break
            if LineEnds.of(now) == ends:
                return found, now
            # the file had no line end yet, so that how it ends its lines is only known now
            cutting = now
        raise Refused

    def _facts(self, old: TextFacts, spelling: TextFormat, end: int) -> TextFacts:
        """Return the row of the file as if it ended at byte `end`."""
        edge = min(fingerprints.EDGE_BYTES, end)
        head = fingerprints.digest(self._read(0, edge))
        tail = fingerprints.digest(self._read(end - edge, edge))
        mark = replace(self._mark, size=end, head=head, tail=tail)
        language = large_language(self._read, end, self._path, spelling)
        return replace(
            old,
            fingerprint=mark,
            seen_ns=self._seen,
            format=spelling,
            language=language,
            outlined=has_outline(language),
        )

    def _read_ranges(self, jobs: list[ReadRange]) -> Iterator[RangeRead]:
        """Read ranges here when they are few, else in workers; yield what they hold, in order.

        Raises:
            Refused: the file has changed meanwhile.
        """
        # a worker takes longer to start than a range to be read
        alone = len(jobs) <= _FEW or not self._site.limits.workers
        pool: InlinePool[ReadRange, RangeRead] | Pool[ReadRange, RangeRead] = (
            InlinePool(self._read_here)
            if alone
            else Pool(
                read_range,
                workers=self._site.limits.workers,
                item_seconds=self._site.limits.analyse_seconds,
                nice=self._site.nice,
            )
        )
        early: dict[int, RangeRead] = {}
        order = {job.start: number for number, job in enumerate(jobs)}
        with pool:
            for job, outcome in pool.run([job] for job in jobs):
                if isinstance(outcome, Failure) or outcome.blocks is None:
                    raise Refused
                early[order[job.start]] = outcome
        yield from (early[number] for number in range(len(jobs)))


def _continues(editor: BlockEditor, block: int) -> bool:
    """Return whether a block begins inside a line."""
    return bool(np.concatenate([run.continues for run in editor.runs])[block])


def _line_count(editor: BlockEditor, ended: bool, line_ends: int) -> LineCount:
    last = int(editor.runs[-1].lines[-1]) + line_ends
    return LineCount(last - 1 if ended else last)
