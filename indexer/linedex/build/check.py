"""An fsck of the sidecar: its invariants, and what it says of each file against the file itself.

Promise: an index that `check` finds nothing wrong with gives the candidates that a fresh one would give for every file
that has not changed since, and tells of its logs what reading them tells. Memory does not grow with a file's size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np

from linedex.build.analyze import ReadFiles, read_files
from linedex.build.check_logs import check_checkpoints, check_log
from linedex.build.columns import BLOCK_BITS, OVERLAP, block_column
from linedex.build.compressed import SurveyFile, survey_file
from linedex.content.grams import MAX_BITS, MIN_BITS, Bits, transpose
from linedex.content.lines import LineEnds, Reader
from linedex.errors import LinedexError
from linedex.files import holes
from linedex.files.compressed.codec import is_named_compressed
from linedex.files.fingerprint import change, from_stat, is_racy
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import Change, FileId, FileState, LineCount, TextFormat
from linedex.store import blocks, decodings, signatures, symbols
from linedex.store import files as file_rows
from linedex.store.catalogue import Catalogue, Facts
from linedex.store.schema import rows_per_chunk
from linedex.store.symbol_names import every_symbol

_BATCH = 256


def check(db: apsw.Connection, root: Root, limits: Limits) -> tuple[str, ...]:
    """Return what is wrong, in sentences.

    Args:
        db: a reading connection.
        root: the folder that is indexed.
        limits: those the index was built with.
    """
    damaged = tuple(f"SQLite: {row[0]}." for row in db.execute("PRAGMA quick_check(10)") if row[0] != "ok")
    if damaged:
        return damaged
    catalogue = file_rows.load(db)
    columns = columns_by_file(db)
    return (
        *_check_columns(catalogue, columns),
        *_check_groups(db),
        *_check_blocks(db, catalogue, limits),
        *_check_symbols(db, catalogue),
        *_check_against_files(db, catalogue, columns, root, limits),
        *_check_blocks_against_files(db, catalogue, columns, root, limits),
    )


def columns_by_file(db: apsw.Connection) -> dict[int, list[tuple[int, bytes]]]:
    """Return the live columns of each file, as (size as a power of two, packed bits)."""
    homes = dict(db.execute("SELECT id, grp FROM files"))
    found: dict[int, list[tuple[int, bytes]]] = {}
    rows = signatures.Rows(db)
    for group in signatures.file_groups(db):
        matrix: Bits = transpose(rows.all(group.id, group.bits, group.columns))
        for file, column in zip(signatures.group_files(db, group).tolist(), matrix, strict=False):
            if homes.get(file) == group.id:
                found.setdefault(file, []).append((group.bits, column.tobytes()))
    for waiting in signatures.delta_columns(db):
        for file, column in zip(waiting.files.tolist(), waiting.columns, strict=True):
            found.setdefault(file, []).append((waiting.bits, column.tobytes()))
    return found


def _check_columns(catalogue: Catalogue, columns: dict[int, list[tuple[int, bytes]]]) -> Iterator[str]:
    for place, (file, state) in enumerate(
        zip(catalogue.facts["id"].tolist(), catalogue.facts["state"].tolist(), strict=True)
    ):
        count = len(columns.get(file, ()))
        if state == FileState.INDEXED and count != 1:
            yield f"{display(catalogue.path(place))} is indexed and has {count} signature columns instead of one."


def _check_groups(db: apsw.Connection) -> Iterator[str]:
    for groups in (
        "SELECT id, bits, columns FROM file_groups",
        "SELECT DISTINCT grp, bits, columns FROM block_runs WHERE bits > 0",
    ):
        for group, bits, count in db.execute(groups):
            chunks = -(-(1 << bits) // rows_per_chunk(count))
            found = db.execute(
                "SELECT count(*) FROM group_rows WHERE key >= ? AND key < ?", (group << 20, (group + 1) << 20)
            ).get
            if found != chunks:
                yield f"Signature group {group} has {found} of its {chunks} rows."


def _large(db: apsw.Connection, catalogue: Catalogue, limits: Limits) -> list[tuple[int, int]]:
    """Return the places of the files that are known by blocks, and the bytes of their text."""
    facts = catalogue.facts
    texts = decodings.sizes(db)
    found = []
    for place in np.flatnonzero(facts["state"] == FileState.INDEXED).tolist():
        size = texts.get(int(facts["id"][place]))
        if size is None and int(facts["size"][place]) > limits.large_file:
            size = 0 if is_named_compressed(catalogue.path(place)) else int(facts["size"][place])
        if size:
            found.append((place, size))
    return found


def _check_blocks(db: apsw.Connection, catalogue: Catalogue, limits: Limits) -> Iterator[str]:
    for place, size in _large(db, catalogue, limits):
        row = catalogue.facts[place]
        index = blocks.line_index(db, FileId(int(row["id"])), size, LineCount(int(row["lines"])))
        name = display(catalogue.path(place))
        if index is None:
            yield f"{name} has {size:,} bytes and no blocks."
            continue
        try:
            index.check()
        except AssertionError as broken:
            yield f"{name}: {broken}."


def _check_symbols(db: apsw.Connection, catalogue: Catalogue) -> Iterator[str]:
    count = named = 0
    for place in np.flatnonzero(catalogue.facts["symbol_state"] == FileState.INDEXED).tolist():
        file = FileId(int(catalogue.facts["id"][place]))
        found = symbols.of_file(db, file)
        for at, symbol in enumerate(found):
            holder = found[symbol.parent] if 0 <= symbol.parent < at else None
            if symbol.parent >= 0 and (holder is None or holder.end_line < symbol.end_line):
                yield f"{display(catalogue.path(place))}: {symbol.path} reaches out of the symbol around it."
            named += hash((symbol.name, file, at))
        count += len(found)
    # names come in another order than files: millions of both are compared by the sums of their hashes
    for one in every_symbol(db):
        named -= hash(one)
        count -= 1
    if named or count:
        yield f"Names do not lead to the symbols that files have ({count:+,} in files)."


def _check_against_files(
    db: apsw.Connection,
    catalogue: Catalogue,
    columns: dict[int, list[tuple[int, bytes]]],
    root: Root,
    limits: Limits,
) -> Iterator[str]:
    """Read every small file again and compare; a file that has changed since is no error."""
    facts = catalogue.facts
    texts, copies = decodings.sizes(db), decodings.shadows(Path(db.filename), limits).folder
    small = np.flatnonzero((facts["state"] == FileState.INDEXED) & (facts["size"] <= limits.large_file)).tolist()
    for at in range(0, len(small), _BATCH):
        places = {int(facts["id"][place]): place for place in small[at : at + _BATCH]}
        job = ReadFiles(
            _spelled(root),
            tuple((FileId(file), catalogue.path(place), int(facts["size"][place])) for file, place in places.items()),
            limits,
        )
        outcome = read_files(job)
        fresh = {file: (bits, column.tobytes()) for file, bits, column in outcome.columns}
        facts_now = list(outcome.facts)
        for file, path in outcome.compressed:
            if file in texts:
                continue
            decoded = survey_file(SurveyFile(_spelled(root), file, path, limits, copies))
            if decoded.facts is not None and decoded.column is not None:
                fresh[file] = decoded.column[0], decoded.column[1].tobytes()
                facts_now.append(decoded.facts)
        for text in facts_now:
            place = places[text.file]
            known = catalogue.fingerprint(place)
            if text.state != FileState.INDEXED or change(known, text.fingerprint) is not Change.UNCHANGED:
                continue
            if is_racy(known, int(facts["seen_ns"][place])):
                continue
            name = display(catalogue.path(place))
            if columns.get(text.file) != [fresh[text.file]]:
                yield f"{name}: the stored signature is not that of the file."
            stored = (catalogue.format(place), catalogue.language(place), int(facts["lines"][place]))
            if stored != (text.format, text.language, text.lines):
                yield f"{name}: {stored} is stored, the file says {(text.format, text.language, text.lines)}."


def _check_blocks_against_files(
    db: apsw.Connection,
    catalogue: Catalogue,
    columns: dict[int, list[tuple[int, bytes]]],
    root: Root,
    limits: Limits,
) -> Iterator[str]:
    """Read every large file again, a block at a time; a file that has changed since is no error."""
    facts = catalogue.facts
    for place, size in _large(db, catalogue, limits):
        path = catalogue.path(place)
        file = FileId(int(facts["id"][place]))
        try:
            descriptor = root.open(path)
        except LinedexError:
            continue
        try:
            if change(catalogue.fingerprint(place), from_stat(os.fstat(descriptor))) is Change.UNCHANGED:
                stored = columns.get(file, [(MIN_BITS, b"")])[0]
                with _text(db, descriptor, file, limits) as read:
                    facts_now = catalogue.facts[place]
                    spelling = catalogue.format(place)
                    yield from _check_large(db, read, size, file, facts_now, spelling, stored)
                    yield from check_log(db, file, read, size, spelling)
                    if decodings.stored(db, file) is None:
                        yield from check_checkpoints(db, file, read, size, spelling)
        finally:
            os.close(descriptor)


@contextmanager
def _text(db: apsw.Connection, descriptor: int, file: FileId, limits: Limits) -> Iterator[Reader]:
    """Give what reads the text of an open file, compressed or not."""

    def read(offset: int, size: int) -> bytes:
        return holes.pread(descriptor, size, offset)

    decoding = decodings.stored(db, file)
    mark = file_rows.stored_fingerprint(db, file)
    if decoding is None or mark is None:
        yield read
        return
    reader, copy = decodings.opened(db, file, decoding, mark, read, limits)
    try:
        yield reader.read
    finally:
        if copy >= 0:
            os.close(copy)


def _check_large(
    db: apsw.Connection,
    read: Reader,
    size: int,
    file: FileId,
    facts: Facts,
    spelling: TextFormat,
    stored: tuple[int, bytes],
) -> Iterator[str]:
    runs, ends, inside = blocks.block_runs(db, file), LineEnds.of(spelling), replace(spelling, bom=0)
    starts = [*(start for run in runs for start in run.starts.tolist()), size]
    seen = np.zeros(1 << MAX_BITS, np.bool_)
    line, continues, at = 1, False, 0
    for run in runs:
        signed = blocks.columns_of(db, run, run.bits) if run.bits else None
        for number in range(len(run)):
            low, high = starts[at], starts[at + 1]
            at += 1
            data = read(low, high - low)
            if (line, continues) != (int(run.lines[number]), bool(run.continues[number])):
                yield f"The block of file {file} at byte {low} begins in line {line}, not {int(run.lines[number])}."
                return
            line += ends.count(data)
            continues = not data.endswith(ends.unit)
            beyond = read(high, min(OVERLAP, size - high)) if continues else b""
            column = block_column(data + beyond, inside, seen)
            if signed is not None and _halved(column, BLOCK_BITS, run.bits) != signed[number].tobytes():
                yield f"The signature of the block of file {file} at byte {low} is not that of its text."
    if line - (not continues) != int(facts["lines"]):
        yield f"File {file} has {line - (not continues)} lines, not {int(facts['lines'])}."
    bits, whole = stored
    needed = np.frombuffer(_halved(np.packbits(seen), MAX_BITS, bits), np.uint8)
    if (needed & ~np.frombuffer(whole, np.uint8)).any():
        yield f"The column of file {file} lacks grams of its text."


def _halved(column: Bits, bits: int, wanted: int) -> bytes:
    present = np.unpackbits(column)
    for _ in range(bits - wanted):
        present = present[0::2] | present[1::2]
    return np.packbits(present).tobytes()


def _spelled(root: Root) -> str:
    return root.path.decode("utf-8", "surrogateescape")
