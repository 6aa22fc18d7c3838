"""An fsck of the sidecar: its invariants, and what it says of each file against the file itself.

Promise: an index that `check` finds nothing wrong with gives the candidates that a fresh one would give for every file
that has not changed since.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import numpy as np

from linedex.build.analyze import ReadFiles, read_files
from linedex.content.grams import Bits, transpose
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileId, FileState, LineCount
from linedex.store import files as file_rows
from linedex.store import signatures, symbols
from linedex.store.catalogue import Catalogue
from linedex.store.schema import rows_per_chunk

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
        *_check_against_files(catalogue, columns, root, limits),
    )


def columns_by_file(db: apsw.Connection) -> dict[int, list[tuple[int, bytes]]]:
    """Return the live columns of each file, as (size as a power of two, packed bits)."""
    homes = dict(db.execute("SELECT id, grp FROM files"))
    found: dict[int, list[tuple[int, bytes]]] = {}
    rows = signatures.Rows(db)
    for group in signatures.file_groups(db):
        matrix: Bits = transpose(rows.all(group.id, group.bits, len(group.files)))
        for file, column in zip(group.files.tolist(), matrix, strict=False):
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
    for table in ("file_groups", "block_groups"):
        for group, bits, count in db.execute(f"SELECT id, bits, columns FROM {table}"):
            chunks = -(-(1 << bits) // rows_per_chunk(count))
            found = db.execute(
                "SELECT count(*) FROM group_rows WHERE key >= ? AND key < ?", (group << 20, (group + 1) << 20)
            ).get
            if found != chunks:
                yield f"Signature group {group} has {found} of its {chunks} rows."


def _check_blocks(db: apsw.Connection, catalogue: Catalogue, limits: Limits) -> Iterator[str]:
    large = (catalogue.facts["state"] == FileState.INDEXED) & (catalogue.facts["size"] > limits.large_file)
    for place in np.flatnonzero(large).tolist():
        row = catalogue.facts[place]
        index = signatures.line_index(db, FileId(int(row["id"])), int(row["size"]), LineCount(int(row["lines"])))
        name = display(catalogue.path(place))
        if index is None:
            yield f"{name} has {int(row['size']):,} bytes and no blocks."
            continue
        try:
            index.check()
        except AssertionError as broken:
            yield f"{name}: {broken}."


def _check_symbols(db: apsw.Connection, catalogue: Catalogue) -> Iterator[str]:
    for place in np.flatnonzero(catalogue.facts["symbol_state"] == FileState.INDEXED).tolist():
        found = symbols.of_file(db, FileId(int(catalogue.facts["id"][place])))
        for at, symbol in enumerate(found):
            holder = found[symbol.parent] if 0 <= symbol.parent < at else None
            if symbol.parent >= 0 and (holder is None or holder.end_line < symbol.end_line):
                yield f"{display(catalogue.path(place))}: {symbol.path} reaches out of the symbol around it."


def _check_against_files(
    catalogue: Catalogue, columns: dict[int, list[tuple[int, bytes]]], root: Root, limits: Limits
) -> Iterator[str]:
    """Read every small file again and compare; a file that has changed since is no error."""
    facts = catalogue.facts
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
        for text in outcome.facts:
            place = places[text.file]
            if text.state != FileState.INDEXED or text.fingerprint.mtime_ns != int(facts["mtime_ns"][place]):
                continue
            name = display(catalogue.path(place))
            if columns.get(text.file) != [fresh[text.file]]:
                yield f"{name}: the stored signature is not that of the file."
            stored = (catalogue.format(place), catalogue.language(place), int(facts["lines"][place]))
            if stored != (text.format, text.language, text.lines):
                yield f"{name}: {stored} is stored, the file says {(text.format, text.language, text.lines)}."


def _spelled(root: Root) -> str:
    return root.path.decode("utf-8", "surrogateescape")
