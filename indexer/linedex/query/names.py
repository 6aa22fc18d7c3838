"""Symbols by name: what a person types, from a whole `Class.method` to the humps of a name, best first.

Promise: every hit is of a file that is as the index knows it; files that are not are counted in `pending`, never
answered from what they were. Names are ranked before symbols are looked at, and symbols are ordered before one is
read; where very many fit, some are not looked at and the answer says so. Symbols of the very name always are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from linedex.answers import SymbolAnswer, SymbolHit, SymbolRequest
from linedex.content import languages
from linedex.content.symbols.signature import balanced, one_line
from linedex.errors import BadArgument
from linedex.model import FileId, FileState, LineNumber, RelPath, SymbolKind
from linedex.store.catalogue import Catalogue, is_hidden
from linedex.store.symbol_names import Numbers, SymbolPlaces, containers_of, names_equal, names_like, places_named
from linedex.store.symbols import symbol_at

ReadHead: TypeAlias = Callable[[RelPath, LineNumber], str]
"""Reads a few lines of a file as they are now; "" when it cannot be read."""
Mask: TypeAlias = npt.NDArray[np.bool_]

_MOST_SYMBOLS: Final = 50_000
_LONGEST_NAME: Final = 1_000
_ENOUGH_SYMBOLS: Final = 5_000
"""Symbols that are counted behind a full page."""
_MOST_NAMES: Final = 2_000
"""Names that are looked at for each way of being like a name; 1,000 take some 10 ms."""
_MORE_NAMES: Final = 500
"""The same where symbols of the very name fill the page: what else is like it is only counted."""
_NAMES_AT_ONCE: Final = 1_024
HEAD_LINES: Final = 12
"""Lines over which the head of a definition is followed."""
_OVER_LINES: Final = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD, SymbolKind.CONSTRUCTOR, SymbolKind.CLASS})
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


class _Name(NamedTuple):
    """A stored name that fits: how well, its length, its id, and the containers that were asked for, folded."""

    rank: _Rank
    length: int
    id: int
    containers: tuple[str, ...]


def find_symbol(
    db: apsw.Connection, catalogue: Catalogue, request: SymbolRequest, current: Mask, read_head: ReadHead
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
        read_head: gives up to `HEAD_LINES` lines of a file from a line on; the signatures of the hits are made of them.

    Raises:
        BadArgument: the name is empty or too long, or the language is not known.
    """
    if len(request.name) > _LONGEST_NAME:
        raise BadArgument(
            f"`name` has {len(request.name):,} characters; at most {_LONGEST_NAME:,} are taken.",
            "Give a symbol's name or a part of it.",
        )
    if not request.name.strip():
        raise BadArgument("`name` is empty.", "Give a symbol's name, its start, a part of it or its humps.")
    asked = _files_asked(catalogue, request)
    known = asked & current & (catalogue.column("state") != FileState.PENDING)
    pending = asked & ~(known & (catalogue.column("symbol_state") != FileState.PENDING))
    known &= catalogue.column("symbol_state") == FileState.INDEXED
    very, *_ = _ordered(db, catalogue, request, known, _very_names(db, request.name))
    names, whole = _names(db, request.name, _MOST_NAMES if len(very) < request.max_hits else _MORE_NAMES)
    found, looked_at, to_the_end = _ordered(db, catalogue, request, known, names)
    hits = []
    for place, ordinal in found[: request.max_hits]:
        path = catalogue.path(place)
        symbol = symbol_at(db, FileId(int(catalogue.facts["id"][place])), ordinal)
        head = read_head(path, symbol.line)
        head = balanced(head) if symbol.kind in _OVER_LINES else head.partition("\n")[0]
        hits.append(SymbolHit(path, replace(symbol, signature=one_line(head))))
    note = ""
    if not (whole and to_the_end):
        note = f"very many names are like this: the {looked_at:,} symbols whose names fit best were looked at"
    return SymbolAnswer(tuple(hits), len(found), int(np.count_nonzero(pending)), note)


def _files_asked(catalogue: Catalogue, request: SymbolRequest) -> Mask:
    """Return which files are asked; those of no known language yet count, since they may be of the one asked for."""
    low, high = catalogue.below(request.scope)
    asked = np.zeros(len(catalogue), np.bool_)
    asked[low:high] = True
    if catalogue.index(request.scope) < 0:
        asked &= ~catalogue.column("ignored")
        if not is_hidden(request.scope):
            asked &= ~catalogue.column("hidden")
    if request.language:
        number = catalogue.words.languages.find(languages.canonical(request.language))
        asked &= (catalogue.column("language") == number) | (catalogue.column("state") == FileState.PENDING)
    return asked


def _ordered(
    db: apsw.Connection, catalogue: Catalogue, request: SymbolRequest, known: Mask, names: Sequence[_Name]
) -> tuple[list[tuple[int, int]], int, bool]:
    """Return place and ordinal of the symbols that fit, best first; how many were looked at, and whether all were."""
    found: list[tuple[int, int]] = []
    looked_at = 0
    for alike in _groups(names) if known.any() else ():
        symbols = places_named(db, [name.id for name in alike], request.kind)
        looked_at += len(symbols.names)
        places = _places(catalogue, symbols.files)
        kept = np.flatnonzero((places >= 0) & known[places] & _inside(db, alike, symbols))
        places, ordinals = places[kept], symbols.ordinals[kept]
        order = np.lexsort((ordinals, places, _fits(alike, symbols.names[kept])))
        found += zip(places[order].tolist(), ordinals[order].tolist(), strict=True)
        if looked_at >= (_MOST_SYMBOLS if len(found) < request.max_hits else _ENOUGH_SYMBOLS):
            return found, looked_at, alike[-1] is names[-1]
    return found, looked_at, True


def _groups(names: Sequence[_Name]) -> Iterator[list[_Name]]:
    """Yield names some thousand at a time; those of one rank and length, which path orders, stay together."""
    group: list[_Name] = []
    for _, alike in groupby(names, key=lambda name: name[:2]):
        group += alike
        if len(group) >= _NAMES_AT_ONCE:
            yield group
            group = []
    if group:
        yield group


def _fits(alike: Sequence[_Name], ids: Numbers) -> Numbers:
    """Return a number for each id that is less the better and the shorter its name is."""
    by_id = sorted(alike, key=lambda name: name.id)
    fits = np.array([name.rank << 32 | name.length for name in by_id], np.int64)
    found: Numbers = fits[np.searchsorted(np.array([name.id for name in by_id], np.int64), ids)]
    return found


def _places(catalogue: Catalogue, ids: Numbers) -> npt.NDArray[np.intp]:
    """Return the place of each file, -1 for those the catalogue does not have."""
    distinct, where = np.unique(ids, return_inverse=True)
    places = np.full(len(distinct), -1, np.intp)
    known = catalogue.places(distinct)
    places[np.searchsorted(distinct, catalogue.facts["id"][known])] = known
    aligned: npt.NDArray[np.intp] = places[where]
    return aligned


def _inside(db: apsw.Connection, alike: Sequence[_Name], symbols: SymbolPlaces) -> Mask:
    """Return which symbols stand in the containers that were asked for."""
    wanted = {name.id: list(name.containers) for name in alike if name.containers}
    inside = np.ones(len(symbols.names), np.bool_)
    if not wanted:
        return inside
    containers = containers_of(db, list(wanted))
    for at, (name, file, ordinal) in enumerate(zip(*(column.tolist() for column in symbols), strict=True)):
        if name in wanted:
            parts = [part.lstrip("*&") for part in _SEPARATOR.split(containers.get((file, ordinal), "").casefold())]
            inside[at] = parts[-len(wanted[name]) :] == wanted[name]
    return inside


def _very_names(db: apsw.Connection, typed: str) -> list[_Name]:
    """Return the stored names that are what was typed."""
    return sorted(
        _Name(_Rank.EXACT, len(wanted), number, containers)
        for wanted, containers in _readings(typed.strip())
        for number in names_equal(db, wanted)
    )


def _names(db: apsw.Connection, typed: str, most: int) -> tuple[list[_Name], bool]:
    """Return the stored names that fit, best first, at most so many for each way, and whether these are all.

    A name that fits both as it stands and as the last part of a path of names counts as the former.
    """
    names: dict[int, _Name] = {}
    whole = True
    for wanted, containers in _readings(typed.strip()):
        folded = wanted.casefold()
        pieces = _wanted_humps(wanted)
        candidates, all_of_them = names_like(db, wanted, pieces, most)
        whole &= all_of_them
        for number, name in candidates:
            rank = _rank(name, wanted, folded, pieces)
            if rank is not None and number not in names:
                names[number] = _Name(rank, len(name), number, containers)
    return sorted(names.values()), whole


def _readings(typed: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what `typed` may mean, as a name and the containers around it."""
    yield typed, ()
    parts = [part for part in _SEPARATOR.split(typed) if part]
    if len(parts) > 1:
        yield parts[-1], tuple(part.casefold() for part in parts[:-1])


def _rank(name: str, wanted: str, folded: str, pieces: Sequence[str]) -> _Rank | None:
    if name.startswith(wanted):
        return _Rank.EXACT if len(name) == len(wanted) else _Rank.PREFIX
    other = name.casefold()
    if other.startswith(folded):
        return _Rank.EXACT_FOLDED if other == folded else _Rank.PREFIX
    if _fits_humps(name, other, pieces):
        return _Rank.HUMPS
    return _Rank.PART if folded in other else None


def _wanted_humps(wanted: str) -> list[str]:
    """Return what each hump of a name must begin with: `gTUs` asks for g, t, us; `gtu`, all lower, for g, t, u."""
    if wanted.isalnum() and (wanted.islower() or wanted.isupper()):
        return list(wanted.lower())
    return [piece.lower() for piece in _WANTED_HUMP.findall(wanted) if piece]


def _fits_humps(name: str, folded: str, pieces: Sequence[str]) -> bool:
    if len(pieces) < 2 or not folded.lstrip("_$@").startswith(pieces[0][0]):
        return False  # two cheap tests that most names fail
    humps = _HUMP.findall(name)
    return len(pieces) <= len(humps) and all(
        hump.lower().startswith(piece) for hump, piece in zip(humps, pieces, strict=False)
    )
