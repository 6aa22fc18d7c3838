"""The text phase: every pending file is read by a worker, and what it holds is committed in bounded batches.

Promise: after each commit the catalogue that queries see and the sidecar say the same, and stopping at any moment,
even by `kill -9`, loses at most what was not committed yet; those files are still pending and are read again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self, TypeAlias

import apsw
import numpy as np

from linedex.answers import Phase
from linedex.build.analyze import FilesTold, LargeFile, ReadFiles, tell_files
from linedex.build.columns import BLOCK_SPARSE, WHOLE_LIMIT, whole_column
from linedex.build.compressed import FileSurveyed, SurveyFile, survey_or_range
from linedex.build.decoded_ranges import DecodedRanges, let_go
from linedex.build.inline import InlinePool
from linedex.build.log_pass import LogPass, take_range
from linedex.build.ranges import RangeRead, ReadRange, confirmed, range_bytes, read_range
from linedex.build.site import Site
from linedex.build.workers import Failure, Pool, PoolClosed
from linedex.content.grams import Bits
from linedex.files.compressed.decoding import Survey
from linedex.model import FileId, FileState, Fingerprint, RelPath, SkipReason, TextFormat
from linedex.store import checkpoints, decodings, logs, stages
from linedex.store import files as file_rows
from linedex.store.blocks import BlockWriter
from linedex.store.catalogue import Catalogue
from linedex.store.files import TextFacts, TextRow, text_row
from linedex.store.signatures import ColumnWriter, repack

_Pool: TypeAlias = Pool[Any, Any] | InlinePool[Any, Any]

_COMMITS = 6
"""Of small files a seventh of the text waits, as columns, so more text may wait than `commit_bytes`: then more columns
fill a group at once and need not be stored in between."""
_AHEAD = 8
"""Ranges a worker is sent before their outcomes are taken: enough to go on with while the writer commits."""
_AHEAD_BYTES = 96 << 20
"""Text of small files that a worker is sent: a commit takes up to a second, and what waits is a seventh of it."""
_STOP_SECONDS = 0.2
"""How long it may take until a survey is ended with its build."""


@dataclass
class _Batch:
    """What waits for the next commit."""

    rows: list[TextRow] = field(default_factory=list)
    size: int = 0
    since: float = field(default_factory=time.monotonic)


@dataclass
class _Large:
    """A large file on its way through the workers: its blocks, and the ranges that came out of order."""

    plan: LargeFile
    blocks: BlockWriter
    log: LogPass | None
    jobs: list[ReadRange]
    staged: bool
    survey: Survey | None = None
    decoded: DecodedRanges | None = None
    early: dict[int, RangeRead] = field(default_factory=dict)
    next_range: int = 0
    whole: Bits | None = None

    def __post_init__(self) -> None:
        self.numbers = {job.start: number for number, job in enumerate(self.jobs)}

    def job(self, number: int) -> ReadRange:
        """Return the job of a range; the seek point of one in a compressed file is looked up when it is needed."""
        return self._placed(self.jobs[number])

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes of the text, none when the file is not what it was."""
        found = range_bytes(self._placed(replace(self.jobs[0], start=offset, end=offset + size, log=None)))
        return b"" if found is None else found.data

    def _placed(self, job: ReadRange) -> ReadRange:
        if self.decoded is None:
            return job
        part = self.decoded.part(job.lead)
        # checkpoints are compared with the bytes of the file, which are not those of the text
        return replace(job, decoded=part, summed=part.size)


def files_or_range(job: ReadFiles | ReadRange) -> FilesTold | RangeRead:
    """Do what either job asks, so that the processes that read small files read the ranges of large ones too."""
    return tell_files(job) if isinstance(job, ReadFiles) else read_range(job)


class TextPhase:
    """Reads all pending files of one root, once; its workers live as long as its `with`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._batch = _Batch()
        self._compressed: list[tuple[FileId, RelPath]] = []
        self._workers = self._pool(files_or_range)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(kind, error, trace)

    def start(self) -> None:
        """Let the workers start now, for text that is about to be found."""
        self._workers.start()

    def run(self, catalogue: Catalogue) -> Catalogue:
        """Read what is pending in `catalogue`; return the catalogue afterwards."""
        pending = np.flatnonzero(catalogue.facts["state"] == FileState.PENDING)
        if not len(pending):
            return catalogue
        sizes = catalogue.facts["size"][pending]
        self._site.progress.begin(Phase.TEXT, len(pending), int(sizes.sum()))
        self._catalogue = catalogue
        self._columns = ColumnWriter(self._site.sidecar.write, self._site.limits)
        self._recorded = dict(zip(catalogue.facts["id"][pending].tolist(), sizes.tolist(), strict=True))
        large = self._read_files(self._jobs(pending.tolist()))
        if large and not self._site.stop.is_set():
            self._read_large(large)
        # whoever decodes has processes of its own
        self._workers.close()
        if self._compressed and not self._site.stop.is_set():
            self._read_compressed()
        self._commit(last=not self._site.stop.is_set())
        took = self._site.progress.end()
        if not self._site.stop.is_set():
            with self._site.sidecar.transaction() as db:
                file_rows.set_phase(db, "text", took)
        return self._catalogue

    def _jobs(self, pending: list[int]) -> Iterator[ReadFiles]:
        files: list[tuple[FileId, bytes, int]] = []
        held = 0
        catalogue = self._catalogue
        for place, file, size in zip(
            pending, catalogue.facts["id"][pending].tolist(), catalogue.facts["size"][pending].tolist(), strict=True
        ):
            weight = size if size <= self._site.limits.large_file else 0
            if files and held + weight > self._site.limits.batch_bytes:
                yield self._job(files)
                files, held = [], 0
            files.append((file, catalogue.path(place), size))
            held += weight
        if files:
            yield self._job(files)

    def _job(self, files: list[tuple[FileId, bytes, int]]) -> ReadFiles:
        return ReadFiles(self._site.root, tuple(files), self._site.limits)  # type: ignore[arg-type]

    def _read_files(self, jobs: Iterator[ReadFiles]) -> list[LargeFile]:
        large: list[LargeFile] = []
        alone: list[ReadFiles] = []
        ahead = max(_AHEAD, _AHEAD_BYTES // self._site.limits.batch_bytes)
        for job, outcome in self._workers.run(([job] for job in jobs), ahead=ahead):
            if isinstance(outcome, Failure):
                alone += [replace(job, files=(one,)) for one in job.files]
            else:
                large += self._take(outcome)
            if self._site.stop.is_set():
                return large
        # a batch that failed is asked for file by file, so that only the culprit is left out
        for job, outcome in self._workers.run(([job] for job in alone), ahead=_AHEAD):
            if isinstance(outcome, Failure):
                self._give_up(job)
            else:
                large += self._take(outcome)
            if self._site.stop.is_set():
                break
        return large

    def _pool(self, task: Callable[[Any], Any], item_seconds: float | None = None) -> _Pool:
        if not self._site.limits.workers:
            return InlinePool(task)
        return Pool(
            task,
            workers=self._site.limits.workers,
            item_seconds=item_seconds or self._site.limits.analyse_seconds,
            nice=self._site.nice,
        )

    def _give_up(self, job: ReadFiles) -> None:
        for file, path, _ in job.files:
            self._not_analysed(file, path)

    def _not_analysed(self, file: FileId, path: RelPath) -> None:
        place = self._catalogue.index(path)
        mark = self._catalogue.fingerprint(place) if place >= 0 else Fingerprint(0, 0, 0, 0, 0)
        reason = SkipReason.NOT_ANALYSED
        self._add([text_row(TextFacts(file, mark, time.time_ns(), FileState.SKIPPED, reason, TextFormat(), "", 0))])

    def _take(self, outcome: FilesTold) -> tuple[LargeFile, ...]:
        for file, bits, column in outcome.columns:
            self._columns.add(file, bits, column)
        self._add(outcome.rows)
        self._compressed += outcome.compressed
        self._commit_if_due()
        return outcome.large

    def _add(self, rows: Sequence[TextRow]) -> None:
        size = sum(self._recorded.get(row[-1], 0) for row in rows)
        self._batch.rows += rows
        self._batch.size += size
        self._site.progress.advance(len(rows), size)

    def _commit_if_due(self) -> None:
        due = time.monotonic() - self._batch.since >= self._site.limits.commit_seconds
        if due or self._batch.size >= _COMMITS * self._site.limits.commit_bytes:
            self._commit()

    def _commit(self, *, last: bool = False) -> None:
        batch, self._batch = self._batch, _Batch()
        with self._site.sidecar.transaction() as db:
            changed = file_rows.set_rows(db, self._catalogue, batch.rows)
            if last:
                repack(db, self._columns)
            self._columns.flush(pack=last and self._columns.worth_packing())
        self._catalogue = self._catalogue.with_facts(changed)
        self._site.publish(self._catalogue)

    def _read_large(self, large: list[LargeFile]) -> None:
        """Cut large files into blocks, a range at a time; each is committed when its last range has come."""
        self._read_ranges(self._workers, ((plan, None) for plan in large))

    def _read_compressed(self) -> None:
        """Survey compressed files, each decoded whole by one worker, and cut the large ones into blocks."""
        copies = decodings.shadows(self._site.sidecar.path, self._site.limits)
        copies.tidy()
        if self._compressed:
            with self._site.sidecar.transaction() as db:
                decodings.forget_pending(db)
        jobs = [
            SurveyFile(self._site.root, file, path, self._site.limits, copies.folder) for file, path in self._compressed
        ]
        with self._pool(survey_or_range, self._site.limits.decode_seconds) as pool, self._closed_on_stop(pool):
            for job, outcome in pool.run(([job] for job in jobs), ahead=_AHEAD):
                if self._site.stop.is_set():
                    break
                if isinstance(outcome, Failure):
                    self._not_analysed(job.file, job.path)
                else:
                    self._take_survey(pool, job, outcome)
        let_go()

    def _take_survey(self, pool: _Pool, job: SurveyFile, found: FileSurveyed) -> None:
        if found.facts is not None:
            if found.column is not None:
                self._columns.add(job.file, *found.column)
            self._add([text_row(found.facts)])
            self._commit_if_due()
        elif found.plan is not None and found.survey is not None:
            self._read_ranges(pool, [(found.plan, found.survey)])

    @contextmanager
    def _closed_on_stop(self, pool: _Pool) -> Iterator[None]:
        """Close a pool as soon as the build is to end: a survey may take minutes, and nothing of it is lost."""
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                if self._site.stop.wait(_STOP_SECONDS) and isinstance(pool, Pool):
                    pool.close()
                    return

        watcher = threading.Thread(target=watch, name="linedex-stop", daemon=True)
        watcher.start()
        try:
            yield
        except PoolClosed:
            if not self._site.stop.is_set():
                raise
        finally:
            done.set()
            watcher.join()

    def _read_ranges(self, pool: _Pool, plans: Iterable[tuple[LargeFile, Survey | None]]) -> None:
        """Read the ranges of large files, those of logs that show other formats than they seemed to have once more."""
        again = list(self._read_once(pool, plans))
        while again and not self._site.stop.is_set():
            again = list(self._read_once(pool, again))

    def _read_once(
        self, pool: _Pool, plans: Iterable[tuple[LargeFile, Survey | None]]
    ) -> Iterator[tuple[LargeFile, Survey | None]]:
        """Read ranges; those of the next file are under way while the last ones of a file come. Yield what is amiss."""
        underway: dict[FileId, _Large] = {}

        def jobs() -> Iterator[list[ReadRange]]:
            for plan, survey in plans:
                going = underway[plan.facts.file] = self._begin_large(plan, survey)
                for number in range(len(going.jobs)):
                    if plan.facts.file not in underway:
                        break
                    yield [going.job(number)]

        for job, outcome in pool.run(jobs(), ahead=_AHEAD):
            if self._site.stop.is_set():
                break
            going = underway.get(job.file)
            if going is None:
                continue
            if isinstance(outcome, Failure) or outcome.blocks is None or not self._take_range(going, job, outcome):
                # it changed while it was read: its row stays pending, so it is scanned, and read again later
                del underway[job.file]
                self._forget(job.file)
            elif going.next_range == len(going.jobs):
                del underway[job.file]
                wider = None if going.log is None else going.log.wider(going.read, job.format, everything=False)
                if wider is None:
                    self._finish_large(going)
                else:
                    yield replace(going.plan, log=wider), going.survey
        for file in underway:
            self._forget(file)

    def _begin_large(self, plan: LargeFile, survey: Survey | None) -> _Large:
        file = plan.facts.file
        with self._site.sidecar.transaction() as db:
            file_rows.forget_content(db, [file])
            if survey is not None:
                decodings.put(db, file, survey)
            logs.put_reading(db, file, plan.log)
        size = plan.facts.fingerprint.size if survey is None else survey.decoding.size
        # lines first: those of 10 GB are known in seconds, signatures in a minute or two
        staged = survey is None and size > self._site.limits.staged_bytes
        reading = None if staged else plan.log
        job = replace(self._range_job(plan), whole=size <= WHOLE_LIMIT and not staged, log=reading, signed=not staged)
        jobs = [replace(job, start=start, end=end) for start, end in plan.ranges]
        log = None if reading is None else LogPass(db, file, reading, self._site.limits.log_part_bytes)
        going = _Large(plan, BlockWriter(db, file, sparse=BLOCK_SPARSE), log, jobs, staged, survey)
        if survey is not None:
            mark = plan.facts.fingerprint
            copy = decodings.shadows(self._site.sidecar.path, self._site.limits).path(mark)
            going.decoded = DecodedRanges(survey.decoding, decodings.windows(db, file), copy)
        return going

    def _take_range(self, going: _Large, job: ReadRange, outcome: RangeRead) -> bool:
        """Store a range when its turn has come; return False when the file has changed meanwhile."""
        going.early[going.numbers[job.start]] = outcome
        # runs are committed as they fill, so that no transaction grows with the file
        with self._site.sidecar.transaction() as db:
            return self._drain(db, going)

    def _finish_large(self, going: _Large) -> None:
        facts = going.plan.facts
        if not confirmed(self._site.root, going.plan.path, facts.fingerprint):
            self._forget(facts.file)
            return
        with self._site.sidecar.transaction() as db:
            lines = going.blocks.finish()
            if going.log is not None:
                going.log.save()
            if going.staged:
                stages.put(db, facts.file, facts.format.bom)
        self._columns.add(facts.file, *whole_column(going.whole))
        self._add([text_row(replace(facts, lines=lines))])
        self._commit_if_due()

    def _forget(self, file: FileId) -> None:
        with self._site.sidecar.transaction() as db:
            file_rows.forget_content(db, [file])

    def _range_job(self, plan: LargeFile) -> ReadRange:
        """Return the job of an empty range at a file's beginning."""
        facts = plan.facts
        return ReadRange(
            *(self._site.root, facts.file, plan.path, facts.fingerprint, facts.format),
            *(0, 0, True, False, self._site.limits),
        )

    def _drain(self, db: apsw.Connection, going: _Large) -> bool:
        """Store the ranges whose turn it is; return False when the file has changed meanwhile."""
        while (ready := going.early.pop(going.next_range, None)) is not None:
            assert ready.blocks is not None
            going.blocks.add(ready.blocks)
            step, seen = self._site.limits.checkpoint_bytes, going.plan.facts.seen_ns
            checkpoints.add(db, going.plan.facts.file, ready.sums, step, seen)
            if ready.whole is not None:
                going.whole = ready.whole if going.whole is None else going.whole | ready.whole
            if going.log is not None and not take_range(going.log, going.job(going.next_range), ready):
                return False
            going.next_range += 1
        return True
