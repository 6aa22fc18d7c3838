"""Symbols as rows: written per file, found by name, by part of a name, or as the chain around a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import apsw

from linedex.model import ByteOffset, Column, FileId, FileState, LineNumber, Symbol, SymbolKind

KINDS: Final = tuple(SymbolKind)
"""A kind's number in the table is its place here; inserting one in the middle is a new feature version."""
_NUMBERS: Final = {kind: number for number, kind in enumerate(KINDS)}
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_INTERNED: Final = 200_000
_PART_CANDIDATES: Final = 20_000

_COLUMNS: Final = (
    "s.file, s.kind, n.name, s.container, s.parent, s.start_line, s.end_line, s.start_byte, s.end_byte, s.line,"
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


def humps(name: str) -> str:
    """Return the lower-case initials of the words of a name, "" when it has fewer than two.

    `getTheUser`, `get_the_user` and `GetTheUser` give `gtu`; `HTTPServer` gives `hs`.
    """
    words = _HUMP.findall(name)
    return "".join(word[0] for word in words).lower() if len(words) > 1 else ""


SymbolRow: TypeAlias = tuple[int, int, str, str, int, int, int, int, int, int, int]
"""A symbol on its way from a worker to its table: parent, kind's number, name, container, start and end line, start
and end byte, line and column and byte of the name. Plain tuples: they cross a process border by the million."""


def row_of(symbol: Symbol) -> SymbolRow:
    """Return the row of a symbol; its signature is not stored."""
    return (
        *(symbol.parent, _NUMBERS[symbol.kind], symbol.name, symbol.container),
        *(symbol.start_line, symbol.end_line, symbol.start_byte, symbol.end_byte),
        *(symbol.line, symbol.column, symbol.name_byte),
    )


class SymbolWriter:
    """Writes the symbols of files, inside the caller's transactions."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._ids: dict[str, int] = {}

    def put(self, file: FileId, rows: Sequence[SymbolRow], note: str) -> FileState:
        """Store the symbols of `file` in place of those it had; return the state its symbols are in now.

        Args:
            file: the file's id.
            rows: its symbols, in source order.
            note: why they are not whole, "" if they are.
        """
        self._db.execute("DELETE FROM symbols WHERE file = ?", (file,))
        self._db.executemany(
            "INSERT INTO symbols VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (file, ordinal, parent, kind, self._name(name), *place)
                for ordinal, (parent, kind, name, *place) in enumerate(rows)
            ),
        )
        state = FileState.INDEXED if rows or not note else FileState.SKIPPED
        self._db.execute("UPDATE files SET symbol_state = ?, symbol_note = ? WHERE id = ?", (state, note, file))
        return state

    def _name(self, name: str) -> int:
        number: Any = self._ids.get(name)
        if number is None:
            # a name that was there gives no row
            number = self._db.execute(
                "INSERT INTO names(name, humps) VALUES(?, ?) ON CONFLICT DO NOTHING RETURNING id", (name, humps(name))
            ).get
            if number is not None:
                self._db.execute("INSERT INTO name_parts(rowid, name) VALUES(?, ?)", (number, name))
            else:
                number = self._db.execute("SELECT id FROM names WHERE name = ?", (name,)).get
            if len(self._ids) >= _INTERNED:
                self._ids.clear()
            self._ids[name] = number
        known: int = number
        return known


def _symbol(row: tuple[Any, ...]) -> tuple[FileId, Symbol]:
    file, kind, name, container, parent, start_line, end_line, start_byte, end_byte, line, column, name_byte = row
    symbol = Symbol(
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
    return FileId(file), symbol


def enclosing(db: apsw.Connection, file: FileId, line: LineNumber) -> list[Symbol]:
    """Return the symbols around a line of a file, outermost first. 17 us whatever the file's size."""
    rows = db.execute(_ENCLOSING.format(columns=_COLUMNS), {"file": file, "line": line})
    return [_symbol(row)[1] for row in rows]


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
    return (_symbol(before)[1] if before else None, _symbol(after)[1] if after else None)


def of_file(db: apsw.Connection, file: FileId) -> list[Symbol]:
    """Return the stored symbols of a file, in source order."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM symbols s JOIN names n ON n.id = s.name WHERE s.file = ? ORDER BY s.ordinal", (file,)
    )
    return [_symbol(row)[1] for row in rows]


def names_like(db: apsw.Connection, name: str) -> list[tuple[int, str]]:
    """Return (id, name) of the names that may be meant by `name`: equal, beginning, containing, or by camel humps.

    Case is ignored except that humps need their capitals or an all-lower query. At most 20,000 names.
    """
    found: dict[int, str] = {}
    wanted = name.lower()
    found.update(db.execute("SELECT id, name FROM names WHERE name = ?", (name,)))
    found.update(
        db.execute(
            "SELECT id, name FROM names WHERE name >= ? AND name < ? LIMIT ?",
            (name, name + "\U0010ffff", _PART_CANDIDATES),
        )
    )
    if len(wanted) >= 3:
        # detail=none takes no phrases: AND the trigrams, the caller compares the names
        grams = " AND ".join(_quoted(wanted[at : at + 3]) for at in range(len(wanted) - 2))
        found.update(
            db.execute(
                "SELECT id, name FROM names WHERE id IN"
                " (SELECT rowid FROM name_parts WHERE name_parts MATCH ? LIMIT ?)",
                (grams, _PART_CANDIDATES),
            )
        )
    initials = humps(name) or (wanted if wanted.isalpha() else "")
    if len(initials) > 1:
        found.update(
            db.execute(
                "SELECT id, name FROM names WHERE humps <> '' AND humps >= ? AND humps < ? LIMIT ?",
                (initials, initials + "\U0010ffff", _PART_CANDIDATES),
            )
        )
    return list(found.items())


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def named(db: apsw.Connection, names: Iterable[int]) -> list[tuple[FileId, Symbol]]:
    """Return the symbols with these names, in no order."""
    found = []
    for name in names:
        rows = db.execute(f"SELECT {_COLUMNS} FROM symbols s JOIN names n ON n.id = s.name WHERE s.name = ?", (name,))
        found += [_symbol(row) for row in rows]
    return found


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
