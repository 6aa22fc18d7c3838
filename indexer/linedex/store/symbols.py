"""Symbols of one file: all of them, one by its ordinal, or the chain around a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw
import numpy as np

from linedex.model import UNKNOWN_BYTE, Column, FileId, LineNumber, Symbol
from linedex.store.symbol_pack import KINDS, FileRows, unpacked_again


def enclosing(db: apsw.Connection, file: FileId, line: LineNumber) -> list[Symbol]:
    """Return the symbols around a line of a file, outermost first."""
    rows = _rows(db, file)
    if rows is None:
        return []
    chain: list[int] = []
    at = int(np.searchsorted(rows.starts, line, side="right")) - 1
    while at >= 0:
        chain.append(at)
        at = int(rows.parents[at])
    return _symbols(rows, [at for at in reversed(chain) if rows.ends[at] >= line])


def neighbours(db: apsw.Connection, file: FileId, line: LineNumber) -> tuple[Symbol | None, Symbol | None]:
    """Return the nearest symbol that ends before `line` and the nearest that starts after it."""
    rows = _rows(db, file)
    if rows is None:
        return None, None
    before = np.flatnonzero(rows.ends < line)[-1:]
    after = np.flatnonzero(rows.starts > line)[:1]
    found = [_symbols(rows, places.tolist()) for places in (before, after)]
    return (found[0][0] if found[0] else None, found[1][0] if found[1] else None)


def of_file(db: apsw.Connection, file: FileId) -> list[Symbol]:
    """Return the stored symbols of a file, in source order."""
    rows = _rows(db, file)
    return [] if rows is None else _symbols(rows, range(len(rows.names)))


def symbol_at(db: apsw.Connection, file: FileId, ordinal: int) -> Symbol:
    """Return the symbol of a file with an ordinal, which the file has.

    Raises:
        apsw.CorruptError: it has none.
    """
    rows = _rows(db, file)
    if rows is None or ordinal >= len(rows.names):
        raise apsw.CorruptError(f"a name leads to symbol {ordinal} of file {file}, which is not there")
    return _symbols(rows, (ordinal,))[0]


def forget(db: apsw.Connection, files: Iterable[int]) -> None:
    """Drop the symbols of files; names that lead to them are dropped when their run is merged."""
    gone = [(file,) for file in files]
    db.executemany("DELETE FROM symbol_rows WHERE id = (SELECT id FROM symbol_sets WHERE file = ?)", gone)
    db.executemany("DELETE FROM symbol_sets WHERE file = ?", gone)


def counts(db: apsw.Connection) -> tuple[int, dict[tuple[int, str], int]]:
    """Return how many symbols are stored, and how many files are in each (symbol state, note)."""
    total: int = db.execute("SELECT total(symbols) FROM symbol_sets").get
    states = {
        (state, note): count
        for state, note, count in db.execute(
            "SELECT symbol_state, symbol_note, count(*) FROM files WHERE state = 1 GROUP BY 1, 2"
        )
    }
    return int(total), states


def _rows(db: apsw.Connection, file: FileId) -> FileRows | None:
    data: bytes | None = db.execute(
        "SELECT data FROM symbol_rows WHERE id = (SELECT id FROM symbol_sets WHERE file = ?)", (file,)
    ).get
    return None if data is None else unpacked_again(data)


def _symbols(rows: FileRows, chosen: Sequence[int]) -> list[Symbol]:
    """Return some rows as symbols; a parent is named by its place in the list, -1 when it is not in it."""
    indices = {ordinal: index for index, ordinal in enumerate(chosen)}
    return [
        Symbol(
            rows.names[at],
            KINDS[rows.kinds[at]],
            rows.containers[at],
            indices.get(int(rows.parents[at]), -1),
            LineNumber(int(rows.starts[at])),
            LineNumber(int(rows.ends[at])),
            UNKNOWN_BYTE,
            UNKNOWN_BYTE,
            LineNumber(int(rows.lines[at])),
            Column(int(rows.columns[at])),
            UNKNOWN_BYTE,
            "",
        )
        for at in chosen
    ]
