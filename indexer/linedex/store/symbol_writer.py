"""Symbols on their way into the sidecar: those of each file as a set, and their names into runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import apsw

from linedex.model import FileId, FileState
from linedex.store import name_runs, symbols
from linedex.store.symbol_pack import PackedSymbols

FileSymbols: TypeAlias = tuple[FileId, PackedSymbols, str]
"""A file, its symbols, and why they are not whole, "" if they are."""


class SymbolWriter:
    """Writes the symbols of files, inside the caller's transactions."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        stored = db.execute("SELECT max(id) FROM symbol_sets").get or 0
        # the number of a set that is gone may still stand in a run
        self._next = max(stored, name_runs.last_set(db)) + 1

    def put(self, files: Sequence[FileSymbols]) -> list[FileState]:
        """Store the symbols of files in place of those they had; return the state the symbols of each are in now."""
        symbols.forget(self._db, (file for file, _, _ in files))
        for file, packed, _ in files:
            if packed.total:
                self._db.execute("INSERT INTO symbol_sets VALUES(?, ?, ?)", (self._next, file, packed.total))
                self._db.execute("INSERT INTO symbol_rows VALUES(?, ?)", (self._next, packed.data))
                self._next += 1
        name_runs.write_waiting(self._db, name_runs.RUN_SYMBOLS)
        states = [FileState.INDEXED if packed.total or not note else FileState.SKIPPED for _, packed, note in files]
        self._db.executemany(
            "UPDATE files SET symbol_state = ?, symbol_note = ? WHERE id = ?",
            ((state, note, file) for state, (file, _, note) in zip(states, files, strict=True)),
        )
        return states

    def waits(self) -> bool:
        """Tell whether names wait that `settle` would put into a run."""
        return name_runs.symbols_waiting(self._db) >= name_runs.LEAST_SYMBOLS

    def settle(self) -> None:
        """Put into runs the names that have waited for it."""
        name_runs.settle(self._db)
