"""Symbols as rows: all of a file, one by its ordinal, or the chain around a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import apsw

from linedex.model import UNKNOWN_BYTE, Column, FileId, LineNumber, Symbol, SymbolKind

KINDS: Final = tuple(SymbolKind)
"""A kind's number in the table is its place here; inserting one in the middle is a new feature version."""

ORDINAL_BITS: Final = 20
"""Low bits of a symbol's place; the others are its first line."""

_FROM: Final = (
    'SELECT s.place, s.parent, s.kind, n.name, s.container, s.lines, s.line, s."column"'
    " FROM symbols s JOIN names n ON n.id = s.name"
)
_ENCLOSING: Final = f"""
WITH RECURSIVE up(place, parent) AS (
  SELECT place, parent FROM (
    SELECT place, parent FROM symbols WHERE file = :file AND place < :behind ORDER BY place DESC LIMIT 1)
  UNION ALL SELECT s.place, s.parent FROM up JOIN symbols s ON s.file = :file AND s.place = up.parent)
{_FROM} JOIN up ON s.file = :file AND s.place = up.place
WHERE (s.place >> {ORDINAL_BITS}) + s.lines >= :line ORDER BY s.place
"""


def _behind(line: int) -> int:
    """Return the least place of a symbol that begins after a line."""
    return (line + 1) << ORDINAL_BITS


def _symbols(rows: Iterable[tuple[Any, ...]]) -> list[Symbol]:
    """Return rows as symbols; a parent is named by its place in the list, -1 when it is not in it."""
    found: list[Symbol] = []
    indices: dict[int | None, int] = {}
    for place, parent, kind, name, container, lines, line, column in rows:
        start = place >> ORDINAL_BITS
        indices[place] = len(found)
        found.append(
            Symbol(
                name,
                KINDS[kind],
                container,
                indices.get(parent, -1),
                LineNumber(start),
                LineNumber(start + lines),
                UNKNOWN_BYTE,
                UNKNOWN_BYTE,
                LineNumber(start + line),
                Column(column),
                UNKNOWN_BYTE,
                "",
            )
        )
    return found


def enclosing(db: apsw.Connection, file: FileId, line: LineNumber) -> list[Symbol]:
    """Return the symbols around a line of a file, outermost first. 17 us whatever the file's size."""
    return _symbols(db.execute(_ENCLOSING, {"file": file, "line": line, "behind": _behind(line)}))


def neighbours(db: apsw.Connection, file: FileId, line: LineNumber) -> tuple[Symbol | None, Symbol | None]:
    """Return the nearest symbol that ends before `line` and the nearest that starts after it."""
    before = _symbols(
        db.execute(
            f"{_FROM} WHERE s.file = ? AND s.place < ? AND (s.place >> {ORDINAL_BITS}) + s.lines < ?"
            " ORDER BY s.place DESC LIMIT 1",
            (file, line << ORDINAL_BITS, line),
        )
    )
    after = _symbols(
        db.execute(f"{_FROM} WHERE s.file = ? AND s.place >= ? ORDER BY s.place LIMIT 1", (file, _behind(line)))
    )
    return (before[0] if before else None, after[0] if after else None)


def of_file(db: apsw.Connection, file: FileId) -> list[Symbol]:
    """Return the stored symbols of a file, in source order."""
    return _symbols(db.execute(f"{_FROM} WHERE s.file = ? ORDER BY s.place", (file,)))


def symbol_at(db: apsw.Connection, file: FileId, place: int) -> Symbol:
    """Return the symbol at a place, which the file has."""
    (symbol,) = _symbols(db.execute(f"{_FROM} WHERE s.file = ? AND s.place = ?", (file, place)))
    return symbol


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
