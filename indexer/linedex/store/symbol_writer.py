"""Symbols on their way into the sidecar: rows of files, and each distinct name once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import apsw

from linedex.content.symbols import StoredSymbol
from linedex.model import FileId, FileState, Symbol
from linedex.store.symbols import KINDS, ORDINAL_BITS

_NUMBERS: Final = {kind: number for number, kind in enumerate(KINDS)}
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_INTERNED: Final = 200_000
"""Names whose ids are kept in memory; most symbols of a tree use few of them."""

SymbolRow: TypeAlias = tuple[int, int | None, int, str, str, int, int, int]
"""A symbol on its way from a worker to its table: place, parent's place, kind's number, name, container, lines after
the first, line of the name counted from the first, column. Plain tuples: they cross a process border by the million."""

FileSymbols: TypeAlias = tuple[FileId, Sequence[SymbolRow], str]
"""A file, its symbols in source order, and why they are not whole, "" if they are."""


def humps(name: str) -> str:
    """Return the lower-case initials of the words of a name, "" when it has fewer than two or is all capitals.

    `getTheUser`, `get_the_user` and `GetTheUser` give `gtu`; `HTTPServer` gives `hs`. Constants and macros, which are
    most names of a large C tree, have no humps to speak of.
    """
    if name.isupper():
        return ""
    words = _HUMP.findall(name)
    return "".join(word[0] for word in words).lower() if len(words) > 1 else ""


def rows_of(symbols: Sequence[Symbol | StoredSymbol]) -> tuple[SymbolRow, ...]:
    """Return the rows of a file's symbols, given in source order."""
    places = [symbol.start_line << ORDINAL_BITS | ordinal for ordinal, symbol in enumerate(symbols)]
    return tuple(
        (
            *(place, None if symbol.parent < 0 else places[symbol.parent], _NUMBERS[symbol.kind]),
            *(symbol.name, symbol.container, symbol.end_line - symbol.start_line),
            *(symbol.line - symbol.start_line, symbol.column),
        )
        for place, symbol in zip(places, symbols, strict=True)
    )


class SymbolWriter:
    """Writes the symbols of files, inside the caller's transactions."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._ids: dict[str, int] = {}
        self._next: int = (db.execute("SELECT max(id) FROM names").get or 0) + 1

    def put(self, files: Sequence[FileSymbols]) -> list[FileState]:
        """Store the symbols of files in place of those they had; return the state the symbols of each are in now."""
        ids = self._number({row[3] for _, rows, _ in files for row in rows})
        self._db.executemany("DELETE FROM symbols WHERE file = ?", ((file,) for file, _, _ in files))
        self._db.executemany(
            "INSERT INTO symbols VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (file, place, parent, kind, ids[name], container, lines, line, column)
                for file, rows, _ in files
                for place, parent, kind, name, container, lines, line, column in rows
            ),
        )
        states = [FileState.INDEXED if rows or not note else FileState.SKIPPED for _, rows, note in files]
        self._db.executemany(
            "UPDATE files SET symbol_state = ?, symbol_note = ? WHERE id = ?",
            ((state, note, file) for state, (file, _, note) in zip(states, files, strict=True)),
        )
        return states

    def _number(self, names: set[str]) -> dict[str, int]:
        """Return the id of each name; those that are new are stored, and their parts indexed, all at once.

        A name at a time took 27 us, most of it in FTS5's and RETURNING's fixed costs; together they take 3.
        """
        if len(self._ids) > _INTERNED:
            self._ids.clear()
        unknown = sorted(names - self._ids.keys())
        self._ids.update(self._stored(unknown))
        fresh = [name for name in unknown if name not in self._ids]
        first = self._next
        numbered = dict(zip(fresh, range(first, first + len(fresh)), strict=True))
        self._next += len(fresh)
        self._db.executemany(
            "INSERT INTO names VALUES(?, ?, ?)", ((number, name, humps(name)) for name, number in numbered.items())
        )
        self._db.execute("INSERT INTO name_parts(rowid, name) SELECT id, name FROM names WHERE id >= ?", (first,))
        self._ids.update(numbered)
        return self._ids

    def _stored(self, names: Sequence[str]) -> Iterable[tuple[str, int]]:
        if not names:
            return ()  # carray refuses an empty array
        rows = self._db.execute(
            "SELECT name, id FROM names WHERE name IN (SELECT value FROM carray(?))", (apsw.carray(tuple(names)),)
        )
        return [(name, number) for name, number in rows]
