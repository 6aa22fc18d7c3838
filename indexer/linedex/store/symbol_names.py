"""Where the symbols of given names stand, read from the index of names alone.

That index holds (name, file, ordinal), the table's key included: 30,000 symbols take 30 ms to be counted and ordered,
where making all of them takes over a second. Rows are fetched only for what is shown, and where a kind or a container
must be compared.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from linedex.model import FileId, Symbol, SymbolKind
from linedex.store.symbols import _COLUMNS, KINDS, _symbol

Numbers = npt.NDArray[np.int64]


class SymbolPlaces(NamedTuple):
    """Symbols as columns: the id of the name, the file, and the ordinal in that file."""

    names: Numbers
    files: Numbers
    ordinals: Numbers


_FROM = "FROM symbols WHERE name IN (SELECT value FROM carray(?))"


def _bound(names: Sequence[int]) -> object:
    return apsw.carray(array("q", names))


def places_named(db: apsw.Connection, names: Sequence[int], kind: SymbolKind | None = None) -> SymbolPlaces:
    """Return the symbols with these names, in no order.

    Args:
        db: a reading connection.
        names: ids of names, at least one.
        kind: only symbols of this kind.
    """
    if kind is None:
        rows = db.execute(f"SELECT name, file, ordinal {_FROM}", (_bound(names),)).fetchall()
    else:
        wanted = (_bound(names), KINDS.index(kind))
        rows = db.execute(f"SELECT name, file, ordinal {_FROM} AND kind = ?", wanted).fetchall()
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return SymbolPlaces(columns[:, 0], columns[:, 1], columns[:, 2])


def containers_of(db: apsw.Connection, names: Sequence[int]) -> dict[tuple[int, int], str]:
    """Return the container of each symbol with one of these names, by (file, ordinal)."""
    rows = db.execute(f"SELECT file, ordinal, container {_FROM}", (_bound(names),))
    return {(file, ordinal): container for file, ordinal, container in rows}


def symbol_at(db: apsw.Connection, file: FileId, ordinal: int) -> Symbol:
    """Return the symbol of this ordinal, which the file has."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM symbols s JOIN names n ON n.id = s.name WHERE s.file = ? AND s.ordinal = ?",
        (file, ordinal),
    )
    return _symbol(next(rows))[1]
