"""The symbol phase: every indexed file whose language has an outline is parsed by a worker, and its rows are stored.

A parser that hangs, crashes or eats memory costs its file the outline: the reason is stored with the file, tied to the
bytes that caused it, and it is not tried again until they change.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from linedex.answers import Phase
from linedex.build.crash_policy import CrashPolicy
from linedex.build.inline import InlinePool
from linedex.build.outliner import prepare_worker, refusal, switched_off
from linedex.build.site import Site
from linedex.build.workers import Failure, Pool
from linedex.content.folding import utf8_text
from linedex.content.symbols import extract_stored
from linedex.errors import LinedexError
from linedex.files.fingerprint import signed
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileId, FileState, Fingerprint, RelPath, TextFormat
from linedex.store import files as file_rows
from linedex.store.catalogue import Catalogue
from linedex.store.symbol_pack import NO_SYMBOLS, PackedSymbols, packed
from linedex.store.symbol_writer import FileSymbols, SymbolWriter

_BATCH_FILES = 32
_BATCH_BYTES = 256 << 10
_COMMIT_SYMBOLS = 100_000


@dataclass(frozen=True, slots=True)
class ParseFile:
    """One file to be parsed: where it is, in which state, how it spells text, and its language."""

    root: str
    file: FileId
    path: RelPath
    fingerprint: Fingerprint
    format: TextFormat
    language: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The stored symbols of a file and why they are not whole; `changed` when it is not the file that was meant."""

    symbols: PackedSymbols = NO_SYMBOLS
    note: str = ""
    changed: bool = False


def parse_file(job: ParseFile) -> ParsedFile:
    """Extract the symbols of one file, in a worker."""
    try:
        descriptor = Root(job.root).open(job.path)
    except LinedexError:
        return ParsedFile(changed=True)
    try:
        status = os.fstat(descriptor)
        mark = job.fingerprint
        if (status.st_ino, status.st_size, signed(status.st_mtime_ns)) != (mark.inode, mark.size, mark.mtime_ns):
            return ParsedFile(changed=True)
        # larger files give only what a line scan finds, and say so; they are not read whole for it
        data = os.pread(descriptor, job.limits.parse_line_scan_bytes, 0)
    except OSError:
        return ParsedFile(changed=True)
    finally:
        os.close(descriptor)
    extraction = extract_stored(utf8_text(data, job.format), job.language, job.limits)
    return ParsedFile(packed(extraction.symbols), extraction.note)


class SymbolPhase:
    """Parses all files of one root whose symbols are pending."""

    def __init__(self, site: Site, policy: CrashPolicy, added_languages: Path | None) -> None:
        self._site = site
        self._policy = policy
        self._added_languages = added_languages

    def run(self, catalogue: Catalogue) -> Catalogue:
        """Parse what is pending in `catalogue`; return the catalogue afterwards."""
        facts = catalogue.facts
        waiting = (facts["state"] == FileState.INDEXED) & (facts["symbol_state"] == FileState.PENDING)
        pending = np.flatnonzero(waiting)
        if not len(pending):
            self._settle_what_was_left()
            return catalogue
        self._site.progress.begin(Phase.SYMBOLS, len(pending), int(facts["size"][pending].sum()))
        self._catalogue = catalogue
        self._off: list[int] = []
        writer = SymbolWriter(self._site.sidecar.write)
        done: list[FileSymbols] = []
        held, since = 0, time.monotonic()
        with self._pool() as pool:
            for job, outcome in pool.run(self._batches(pending.tolist())):
                self._site.progress.advance(1, job.fingerprint.size)
                symbols, note = self._judge(job, outcome)
                if symbols is None:
                    continue
                done.append((job.file, symbols, note))
                held += symbols.total
                if held >= _COMMIT_SYMBOLS or time.monotonic() - since >= self._site.limits.commit_seconds:
                    self._commit(writer, done)
                    done, held, since = [], 0, time.monotonic()
                if self._site.stop.is_set():
                    break
        self._commit(writer, done)
        self._leave_out(writer, self._off)
        if self._site.stop.is_set():
            self._site.progress.end()
            return self._catalogue
        with self._site.sidecar.transaction() as db:
            writer.settle()
            file_rows.set_phase(db, "symbols", self._site.progress.end())
        return self._catalogue

    def _settle_what_was_left(self) -> None:
        """Go on where a process ended after its last file and before it had settled the names."""
        writer = SymbolWriter(self._site.sidecar.write)
        if writer.waits():
            with self._site.sidecar.transaction():
                writer.settle()

    def _pool(self) -> Pool[ParseFile, ParsedFile] | InlinePool[ParseFile, ParsedFile]:
        if not self._site.limits.workers:
            return InlinePool(parse_file)
        return Pool(
            parse_file,
            workers=self._site.limits.workers,
            item_seconds=self._site.limits.outline_seconds,
            memory_bytes=self._site.limits.outline_memory,
            nice=self._site.nice,
            setup=partial(prepare_worker, self._added_languages),
        )

    def _batches(self, pending: list[int]) -> Iterator[list[ParseFile]]:
        batch: list[ParseFile] = []
        held = 0
        for place in pending:
            catalogue = self._catalogue
            language = catalogue.language(place)
            if not self._policy.allows(language):
                self._off.append(place)
                continue
            mark = catalogue.fingerprint(place)
            batch.append(
                ParseFile(
                    self._site.root,
                    FileId(int(catalogue.facts["id"][place])),
                    catalogue.path(place),
                    mark,
                    catalogue.format(place),
                    language,
                    self._site.limits,
                )
            )
            held += mark.size
            if held >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                yield batch
                batch, held = [], 0
        if batch:
            yield batch

    def _judge(self, job: ParseFile, outcome: ParsedFile | Failure) -> tuple[PackedSymbols | None, str]:
        """Return the symbols and the note to store, or None when the file changed and will be read again."""
        failure = outcome if isinstance(outcome, Failure) else None
        self._policy.record(job.language, failure)
        if failure is not None:
            return NO_SYMBOLS, refusal(failure).note
        assert not isinstance(outcome, Failure)
        return (None, "") if outcome.changed else (outcome.symbols, outcome.note)

    def _leave_out(self, writer: SymbolWriter, places: list[int]) -> None:
        """Store of files of a language that was switched off why they have no symbols."""
        catalogue = self._catalogue
        self._commit(
            writer,
            [
                (
                    FileId(int(catalogue.facts["id"][place])),
                    NO_SYMBOLS,
                    switched_off(catalogue.language(place)).note,
                )
                for place in places
            ],
        )

    def _commit(self, writer: SymbolWriter, done: list[FileSymbols]) -> None:
        if not done:
            return
        places = self._catalogue.places(np.array([file for file, _, _ in done], np.int64))
        changed = self._catalogue.facts[places].copy()
        with self._site.sidecar.transaction():
            changed["symbol_state"] = writer.put(done)
        self._catalogue = self._catalogue.with_facts(changed)
        self._site.publish(self._catalogue)
