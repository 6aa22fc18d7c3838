"""Symbols as rows: all of a file, one by its ordinal, or the chain around a line."""

from __future__ import annotations

from typing import Any, Final

import apsw

from linedex.model import ByteOffset, Column, FileId, LineNumber, Symbol, SymbolKind

KINDS: Final = tuple(SymbolKind)
"""A kind's number in the table is its place here; inserting one in the middle is a new feature version."""

_COLUMNS: Final = (
    "s.kind, n.name, s.container, s.parent, s.start_line, s.end_line, s.start_byte, s.end_byte, s.line,"
    ' s."column", s.name_byte'
)
_ENCLOSING: Final = """
WITH RECURSIVE
 last(o) AS (SELECT ordinal FROM symbols WHERE file = :file AND start_line <= :line
             ORDER BY start_line DESC, ordinal DESC LIMIT 1),
 up(ordinal, parent) AS (
  SELECT s.ordinal, s.parent FROM symbols s, last WHERE s.file = :file AND s.ordinal = last.o
  UNION ALL SELECT s.ordinal, s.parent FROM symbols s JOIN up ON s.file = :file AND s.ordinal = up.parent)
SELECT {columns} FROM up JOIN symbols s ON s.file = :file AND s.ordinal = up.ordinal JOIN names n ON n.id = s.name
WHERE s.end_line >= :line ORDER BY s.ordinal
"""


def _symbol(row: tuple[Any, ...]) -> Symbol:
    kind, name, container, parent, start_line, end_line, start_byte, end_byte, line, column, name_byte = row
    return Symbol(
        name,
        KINDS[kind],
        container,
        parent,
        LineNumber(start_line),
        LineNumber(end_line),
        ByteOffset(start_byte),
        ByteOffset(end_byte),
        LineNumber(line),
        Column(column),
        ByteOffset(name_byte),
        "",
    )


def enclosing(db: apsw.Connection, file: FileId, line: LineNumber) -> list[Symbol]:
    """Return the symbols around a line of a file, outermost first. 17 us whatever the file's size."""
    rows = db.execute(_ENCLOSING.format(columns=_COLUMNS), {"file": file, "line": line})
    return [_symbol(row) for row in rows]


def neighbours(db: apsw.Connection, file: FileId, line: LineNumber) -> tuple[Symbol | None, Symbol | None]:
    """Return the nearest symbol that ends before `line` and the nearest that starts after it."""
    before = db.execute(
        f"SELECT {_COLUMNS} FROM symbols s JOIN names n ON n.id = s.name"
        " WHERE s.file = ? AND s.start_line < ? AND s.end_line < ? ORDER BY s.start_line DESC LIMIT 1",
        (file, line, line),
    ).fetchone()
    after = db.execute(
        f"SELECT {_COLUMNS} FROM symbols s JOIN names n ON n.id = s.name"
        " WHERE s.file = ? AND s.start_line > ? ORDER BY s.start_line LIMIT 1",
        (file, line),
    ).fetchone()
    return (_symbol(before) if before else None, _symbol(after) if after else None)


def of_file(db: apsw.Connection, file: FileId) -> list[Symbol]:
    """Return the stored symbols of a file, in source order."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM symbols s JOIN names n ON n.id = s.name WHERE s.file = ? ORDER BY s.ordinal", (file,)
    )
    return [_symbol(row) for row in rows]


def symbol_at(db: apsw.Connection, file: FileId, ordinal: int) -> Symbol:
    """Return the symbol of this ordinal, which the file has."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM symbols s JOIN names n ON n.id = s.name WHERE s.file = ? AND s.ordinal = ?",
        (file, ordinal),
    )
    return _symbol(next(rows))


def counts(db: apsw.Connection) -> tuple[int, dict[tuple[int, str], int]]:
    """Return how many symbols are stored, and how many files are in each (symbol state, note)."""
    total: int = db.execute("SELECT count(*) FROM symbols").get
    states = {
        (state, note): count
        for state, note, count in db.execute(
            "SELECT symbol_state, symbol_note, count(*) FROM files WHERE state = 1 GROUP BY 1, 2"
        )
    }
    return total, states
