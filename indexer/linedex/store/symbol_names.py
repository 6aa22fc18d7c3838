"""Names, and where the symbols of given names stand, read from the index of names alone.

That index holds (name, file, place), the table's key included: 30,000 symbols take 30 ms to be counted and ordered,
where making all of them takes over a second. Rows are fetched only for what is shown, and where a kind or a container
must be compared.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from linedex.model import SymbolKind
from linedex.store.symbol_writer import humps
from linedex.store.symbols import KINDS

_PART_CANDIDATES: Final = 20_000
Numbers = npt.NDArray[np.int64]


class SymbolPlaces(NamedTuple):
    """Symbols as columns: the id of the name, the file, and the place in that file."""

    names: Numbers
    files: Numbers
    places: Numbers


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
        rows = db.execute(f"SELECT name, file, place {_FROM}", (_bound(names),)).fetchall()
    else:
        wanted = (_bound(names), KINDS.index(kind))
        rows = db.execute(f"SELECT name, file, place {_FROM} AND kind = ?", wanted).fetchall()
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return SymbolPlaces(columns[:, 0], columns[:, 1], columns[:, 2])


def containers_of(db: apsw.Connection, names: Sequence[int]) -> dict[tuple[int, int], str]:
    """Return the container of each symbol with one of these names, by (file, place)."""
    rows = db.execute(f"SELECT file, place, container {_FROM}", (_bound(names),))
    return {(file, place): container for file, place, container in rows}


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
