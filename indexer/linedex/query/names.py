"""Symbols by name: what a person types, from a whole `Class.method` to the humps of a name, best first.

Promise: every hit is of a file that is as the index knows it; files that are not are counted in `pending`, never
answered from what they were. Names are ranked before symbols are read, so a common part of a name costs no more than
its best `_MOST_ROWS` symbols; when there are more, the answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from linedex.answers import SymbolAnswer, SymbolHit, SymbolRequest
from linedex.content import languages
from linedex.errors import BadArgument
from linedex.model import FileState, LineNumber, RelPath, Symbol
from linedex.store import symbols as stored_symbols
from linedex.store.catalogue import Catalogue, is_hidden

ReadLine: TypeAlias = Callable[[RelPath, LineNumber], str]
"""Reads one line of a file as it is now; "" when it cannot be read."""
Mask: TypeAlias = npt.NDArray[np.bool_]

_MOST_ROWS: Final = 20_000
_MOST_NAMES: Final = 20_000
"""The sidecar gives no more names than this for each way of being like a name."""
_BATCH: Final = 256
_SIGNATURE: Final = 240
_SEPARATOR: Final = re.compile(r"::|->|[.#]")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WANTED_HUMP: Final = re.compile(r"[A-Z]?[a-z]*|[0-9]+")


class _Rank(IntEnum):
    """How well a name fits, best first."""

    EXACT = 0
    EXACT_FOLDED = 1
    PREFIX = 2
    HUMPS = 3
    PART = 4


class _Wanted(NamedTuple):
    """One reading of what was typed: a name, and the containers around it, folded."""

    name: str
    containers: tuple[str, ...]


class _Name(NamedTuple):
    """A stored name that fits: how well, its length, its id, and the reading it fits."""

    rank: _Rank
    length: int
    id: int
    wanted: _Wanted


class _Found(NamedTuple):
    """A symbol that fits, in the order of the answer."""

    rank: _Rank
    length: int
    place: int
    line: int
    column: int
    symbol: Symbol


def find_symbol(
    db: apsw.Connection, catalogue: Catalogue, request: SymbolRequest, current: Mask, read_line: ReadLine
) -> SymbolAnswer:
    """Return the symbols that may be meant by a name: equal, equal but for case, beginning, by humps, containing it.

    Within a rank shorter names come first, then path order. `Class.method`, `Class::method`, `Class#method` and
    `receiver->method` also ask that the containers around the symbol end so.

    Args:
        db: a reading connection of the sidecar.
        catalogue: its catalogue.
        request: what is looked for. Files below hidden folders are asked only when the scope is hidden itself, files
            that ignore rules leave out only when the scope is that file.
        current: for each place of the catalogue, whether the file is as the catalogue says.
        read_line: gives the signatures of the hits on the page.

    Raises:
        BadArgument: the name is empty, or the language is not known.
    """
    if not request.name.strip():
        raise BadArgument("name is empty", "Give a symbol's name, its start, a part of it or its humps.")
    asked = _files_asked(catalogue, request)
    known = asked & current & (catalogue.facts["state"] != FileState.PENDING)
    pending = asked & ~(known & (catalogue.facts["symbol_state"] != FileState.PENDING))
    known &= catalogue.facts["symbol_state"] == FileState.INDEXED
    names, whole = _names(db, request.name)
    found, rows = _symbols(db, catalogue, request, known, names)
    found.sort(key=lambda one: one[:5])
    page = found[: request.max_hits]
    note = ""
    if rows >= _MOST_ROWS or not whole:
        note = f"very many names are like this: the {rows:,} symbols whose names fit best were looked at"
    hits = tuple(_hit(one.symbol, catalogue.path(one.place), read_line) for one in page)
    return SymbolAnswer(hits, len(found), int(np.count_nonzero(pending)), note)


def _files_asked(catalogue: Catalogue, request: SymbolRequest) -> Mask:
    """Return which files are asked; those of no known language yet count, since they may be of the one asked for."""
    low, high = catalogue.below(request.scope)
    asked = np.zeros(len(catalogue), np.bool_)
    asked[low:high] = True
    if catalogue.index(request.scope) < 0:
        asked &= ~catalogue.facts["ignored"]
        if not is_hidden(request.scope):
            asked &= ~catalogue.facts["hidden"]
    if request.language:
        number = catalogue.words.languages.find(languages.canonical(request.language))
        asked &= (catalogue.facts["language"] == number) | (catalogue.facts["state"] == FileState.PENDING)
    return asked


def _hit(symbol: Symbol, path: RelPath, read_line: ReadLine) -> SymbolHit:
    signature = " ".join(read_line(path, symbol.line).split())[:_SIGNATURE]
    return SymbolHit(path, replace(symbol, signature=signature))


def _symbols(
    db: apsw.Connection, catalogue: Catalogue, request: SymbolRequest, known: Mask, names: Sequence[_Name]
) -> tuple[list[_Found], int]:
    """Return the symbols that fit, and how many were looked at for them."""
    found: list[_Found] = []
    rows_read = 0
    for batch in _batches(names):
        by_name = {name.id: name for name in batch}
        rows = [
            (file, symbol, by_name[number])
            for number in by_name
            for file, symbol in stored_symbols.named(db, [number])
            if request.kind is None or symbol.kind is request.kind
        ]
        rows_read += len(rows)
        places = _places(catalogue, [file for file, _, _ in rows])
        for (_, symbol, name), place in zip(rows, places, strict=True):
            if place >= 0 and known[place] and _inside(symbol, name.wanted):
                found.append(_Found(name.rank, name.length, place, symbol.line, symbol.column, symbol))
        if rows_read >= _MOST_ROWS:
            break
    return found, rows_read


def _batches(names: Sequence[_Name]) -> Iterator[list[_Name]]:
    """Yield names of one rank and length, which are ordered by path only together, in bounded groups."""
    for _, group in groupby(names, key=lambda name: name[:2]):
        alike = list(group)
        for at in range(0, len(alike), _BATCH):
            yield alike[at : at + _BATCH]


def _places(catalogue: Catalogue, ids: Sequence[int]) -> list[int]:
    """Return the place of each file, -1 for those the catalogue does not have."""
    places = catalogue.places(np.unique(np.array(ids, np.int64)))
    by_id = dict(zip(catalogue.facts["id"][places].tolist(), places.tolist(), strict=True))
    return [by_id.get(file, -1) for file in ids]


def _inside(symbol: Symbol, wanted: _Wanted) -> bool:
    if not wanted.containers:
        return True
    around = [part.lstrip("*&") for part in _SEPARATOR.split(symbol.container.casefold())]
    return around[-len(wanted.containers) :] == list(wanted.containers)


def _readings(typed: str) -> Iterator[_Wanted]:
    """Yield what `typed` may mean: a name as it stands, and the last part of a path of names."""
    typed = typed.strip()
    yield _Wanted(typed, ())
    parts = [part for part in _SEPARATOR.split(typed) if part]
    if len(parts) > 1:
        yield _Wanted(parts[-1], tuple(part.casefold() for part in parts[:-1]))


def _names(db: apsw.Connection, typed: str) -> tuple[list[_Name], bool]:
    """Return the stored names that fit, best first, and whether all names were asked.

    A name that fits two readings counts as the first.
    """
    names: dict[int, _Name] = {}
    whole = True
    for wanted in _readings(typed):
        folded = wanted.name.casefold()
        pieces = _wanted_humps(wanted.name)
        candidates = stored_symbols.names_like(db, wanted.name)
        initials = "".join(piece[0] for piece in pieces)
        if len(initials) > 1 and initials != folded:
            # where humps begin in `GTUs` is only known once they are compared
            candidates += stored_symbols.names_like(db, initials)
        whole &= len(candidates) < _MOST_NAMES
        for number, name in candidates:
            rank = _rank(name, wanted.name, folded, pieces)
            if rank is not None and number not in names:
                names[number] = _Name(rank, len(name), number, wanted)
    return sorted(names.values(), key=lambda name: name[:3]), whole


def _rank(name: str, wanted: str, folded: str, pieces: Sequence[str]) -> _Rank | None:
    if name == wanted:
        return _Rank.EXACT
    other = name.casefold()
    if other == folded:
        return _Rank.EXACT_FOLDED
    if other.startswith(folded):
        return _Rank.PREFIX
    if _fits_humps(name, pieces):
        return _Rank.HUMPS
    return _Rank.PART if folded in other else None


def _wanted_humps(wanted: str) -> list[str]:
    """Return what each hump of a name must begin with: `gTUs` asks for g, t, us; `gtu`, all lower, for g, t, u."""
    if wanted.isalnum() and (wanted.islower() or wanted.isupper()):
        return list(wanted.lower())
    return [piece.lower() for piece in _WANTED_HUMP.findall(wanted) if piece]


def _fits_humps(name: str, pieces: Iterable[str]) -> bool:
    humps = _HUMP.findall(name)
    wanted = list(pieces)
    return 1 < len(wanted) <= len(humps) and all(
        hump.lower().startswith(piece) for hump, piece in zip(humps, wanted, strict=False)
    )
