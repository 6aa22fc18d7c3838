"""Names, and where the symbols of given names stand, read from the index of names.

A name's number says in which block it was found and where in it; it holds within one reading. Blocks that can't hold
what is looked for are left out by the order of names or by their grams; the names of the others are unpacked, 20 us a
block, and compared.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from linedex.model import SymbolKind
from linedex.store.name_blocks import SYMBOL, containers_in, ends_in, names_in, rows_in, symbols_in, texts_in
from linedex.store.name_grams import GRAM_BITS, Grams, grams_of, grams_of_humps
from linedex.store.name_runs import last_set, names_of
from linedex.store.symbol_pack import KINDS
from linedex.store.waiting_names import waiting_names

_PLACE_BITS: Final = 32
"""Low bits of a name's number: its place in its block, or the ordinal of a symbol of a set. Blocks are numbered from 1;
what stands in no run has its set's negative number for a block."""
_PLACE: Final = (1 << _PLACE_BITS) - 1
_GRAM_BYTES: Final = 3
_LAST: Final = "\U0010ffff"
_BLOCKS: Final = "FROM name_blocks WHERE id IN (SELECT value FROM carray(?))"
_BLOCKS_BETWEEN: Final = """
SELECT b.id, b.names FROM name_runs r CROSS JOIN name_blocks b ON b.run = r.id AND b.first < ?2 AND b.first >=
  coalesce((SELECT max(first) FROM name_blocks WHERE run = r.id AND first <= ?1), x'')
"""
Numbers: TypeAlias = npt.NDArray[np.int64]


class SymbolPlaces(NamedTuple):
    """Symbols as columns: the number of the name, the file, and the ordinal in that file."""

    names: Numbers
    files: Numbers
    ordinals: Numbers


def places_named(db: apsw.Connection, names: Sequence[int], kind: SymbolKind | None = None) -> SymbolPlaces:
    """Return the symbols with these names, in no order.

    Args:
        db: a reading connection, in the reading that the names come from.
        names: numbers of names, at least one.
        kind: only symbols of this kind.
    """
    numbers: list[int] = []
    counts: list[int] = []
    parts: list[bytes] = []
    blocks, sets = _by_block(names)
    for block, data in db.execute(f"SELECT id, symbols {_BLOCKS}", (_bound(blocks),)) if blocks else ():
        ends, base = ends_in(data)
        for place in blocks[block]:
            low, high = ends[place - 1] if place else 0, ends[place]
            numbers.append(block << _PLACE_BITS | place)
            counts.append(high - low)
            parts.append(data[base + SYMBOL.itemsize * low : base + SYMBOL.itemsize * high])
    for number, ordinals in sets.items():
        rows = names_of(number, _set(db, number))
        for ordinal in ordinals:
            alike = [at for at, name in enumerate(rows.names) if name == rows.names[ordinal]]
            numbers.append((-number) << _PLACE_BITS | ordinal)
            counts.append(len(alike))
            parts.append(rows.symbols[alike].tobytes())
    found = np.frombuffer(b"".join(parts), SYMBOL)
    files = _files(db, found["set"].astype(np.int64))
    kept = files >= 0
    if kind is not None:
        kept &= found["kind"] == KINDS.index(kind)
    owners = np.repeat(np.array(numbers, np.int64), counts)
    return SymbolPlaces(owners[kept], files[kept], found["ordinal"][kept].astype(np.int64))


def containers_of(db: apsw.Connection, names: Sequence[int]) -> dict[tuple[int, int], str]:
    """Return the container of each symbol with one of these names that has one, by (file, ordinal)."""
    symbols = []
    containers: list[str] = []
    blocks, sets = _by_block(names)
    query = f"SELECT id, symbols, containers {_BLOCKS} AND containers <> x''"
    for block, data, packed in db.execute(query, (_bound(blocks),)) if blocks else ():
        ends, records = symbols_in(data)
        around = containers_in(packed, len(records))
        for place in blocks[block]:
            low, high = ends[place - 1] if place else 0, ends[place]
            symbols.append(records[low:high])
            containers += around[low:high]
    for number in sets:
        rows = names_of(number, _set(db, number))
        symbols.append(rows.symbols)
        containers += rows.containers
    if not symbols:
        return {}
    found = np.concatenate(symbols)
    files = _files(db, found["set"].astype(np.int64)).tolist()
    keys = zip(files, found["ordinal"].tolist(), strict=True)
    return {key: container for key, container in zip(keys, containers, strict=True) if container}


def every_symbol(db: apsw.Connection) -> Iterator[tuple[str, int, int]]:
    """Yield name, file and ordinal of every symbol that a name leads to, in no order."""
    blocks = db.execute("SELECT names, symbols, containers FROM name_blocks")
    waiting = db.execute("SELECT id, data FROM symbol_rows WHERE id > ?", (last_set(db),))
    for rows in chain((rows_in(*blobs) for blobs in blocks), (names_of(*row) for row in waiting)):
        files = _files(db, rows.symbols["set"].astype(np.int64)).tolist()
        for name, file, ordinal in zip(rows.names, files, rows.symbols["ordinal"].tolist(), strict=True):
            if file >= 0:
                yield name, file, ordinal


def names_equal(db: apsw.Connection, name: str) -> list[int]:
    """Return the numbers of the names in runs that are `name`, one for each run that has it."""
    if not name or "\n" in name:
        return []
    return [number for number, _ in _beginning(db, name, name + "\0")]


def names_like(
    db: apsw.Connection, name: str, words: Sequence[str] = (), most: int = 20_000
) -> tuple[list[tuple[int, str]], bool]:
    """Return the names that may be meant by `name`: equal, beginning, containing, or by camel humps.

    A name that is in several runs comes several times. Where more than `most` begin so or contain it, those that are
    equal but for the usual ways of writing in capitals are among them all the same.

    Args:
        db: a reading connection.
        name: what they begin with, and what they contain whatever its case if it has three bytes.
        words: what the first humps of a name begin with, in lower case; looked for if they are two or more. Names that
            are all capitals have no humps.
        most: names that are given for each way.

    Returns:
        (number, name) of each, and whether these are all.
    """
    if not name or "\n" in name:
        return [], True
    folded = name.casefold()
    initials = "".join(word[0] for word in words)
    has_parts = len(folded.encode("utf-8", "surrogatepass")) >= _GRAM_BYTES
    has_humps = len(initials) > 1 and initials.isascii()
    ways = [_beginning(db, name, name + _LAST)]
    if has_parts:
        ways.append(_containing(db, folded))
    if has_humps:
        ways.append(_with_humps(db, initials, words))
    found: dict[int, str] = {}
    many = False
    for way in ways:
        taken = list(islice(way, most))
        found.update(taken)
        many |= len(taken) == most
    for variant in {name, name.lower(), name.upper(), name.capitalize()} if many else ():
        found.update(_beginning(db, variant, variant + "\0"))
    waiting = waiting_names(db, name, folded if has_parts else "", initials if has_humps else "")
    found.update(((-number) << _PLACE_BITS | ordinal, one) for number, ordinal, one in waiting)
    return list(found.items()), not many


def _beginning(db: apsw.Connection, name: str, end: str) -> Iterator[tuple[int, str]]:
    """Yield the names in runs that are not before `name`, and before `end`."""
    bounds = tuple(one.encode("utf-8", "surrogatepass") for one in (name, end))
    for block, packed in db.execute(_BLOCKS_BETWEEN, bounds):
        names = names_in(texts_in(packed)[0])
        for place in range(bisect_left(names, name), bisect_left(names, end)):
            yield block << _PLACE_BITS | place, names[place]


def _containing(db: apsw.Connection, folded: str) -> Iterator[tuple[int, str]]:
    """Yield the names in runs that contain a text whose case is folded, of at least three bytes."""
    wanted = folded.encode("utf-8", "surrogatepass")
    for block, packed in _blocks_with(db, grams_of(folded)):
        text, _ = texts_in(packed)
        if text.isascii():
            for place, low, high in _lines_with(text.lower(), wanted):
                yield block << _PLACE_BITS | place, text[low:high].decode()
        else:
            for place, name in enumerate(names_in(text)):
                if folded in name.casefold():
                    yield block << _PLACE_BITS | place, name


def _lines_with(text: bytes, wanted: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield number, from 0, start and end of the lines that hold a text."""
    number = low = 0
    at = text.find(wanted)
    while at >= 0:
        start = text.rfind(b"\n", low, at) + 1 or low
        number += text.count(b"\n", low, start)
        low = start
        end = text.find(b"\n", at)
        if end < 0:
            yield number, low, len(text)
            return
        yield number, low, end
        at = text.find(wanted, end)


def _with_humps(db: apsw.Connection, initials: str, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the names in runs whose humps begin with two initials or more, of blocks that hold the words as well."""
    grams = np.unique(np.concatenate([grams_of_humps(initials), *map(grams_of, words)]))
    wanted = b"\n" + initials.encode()
    for block, packed in _blocks_with(db, grams):
        text, humps = texts_in(packed)
        lines = b"\n" + humps
        places = []
        at = lines.find(wanted)
        while at >= 0:
            places.append(lines.count(b"\n", 0, at))
            at = lines.find(wanted, at + 1)
        if places:
            names = names_in(text)
            for place in places:
                yield block << _PLACE_BITS | place, names[place]


def _blocks_with(db: apsw.Connection, grams: Grams) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks that have all of some distinct grams, and their packed names."""
    runs = dict(db.execute("SELECT id, first_block FROM name_runs"))
    keys = array("q", [run << GRAM_BITS | gram for run in runs for gram in grams.tolist()])
    if not keys:
        return
    members = defaultdict(list)
    for key, blocks in db.execute(
        "SELECT id, blocks FROM name_grams WHERE id IN (SELECT value FROM carray(?))", (apsw.carray(keys),)
    ):
        members[key >> GRAM_BITS].append(blocks)
    found: list[int] = []
    for run, held in members.items():
        if len(held) == len(grams):
            times = np.bincount(np.frombuffer(b"".join(held), "<u2"))
            found += (np.flatnonzero(times == len(grams)) + runs[run]).tolist()
    if found:
        yield from db.execute(f"SELECT id, names {_BLOCKS}", (apsw.carray(array("q", sorted(found))),))


def _set(db: apsw.Connection, number: int) -> bytes:
    data: bytes = db.execute("SELECT data FROM symbol_rows WHERE id = ?", (number,)).get
    return data


def _by_block(names: Sequence[int]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the places of names by block, and the ordinals of those that stand in no run by set."""
    blocks: dict[int, list[int]] = defaultdict(list)
    sets: dict[int, list[int]] = defaultdict(list)
    for name in names:
        block = name >> _PLACE_BITS
        (blocks[block] if block > 0 else sets[-block]).append(name & _PLACE)
    return blocks, sets


def _bound(numbers: dict[int, list[int]]) -> object:
    return apsw.carray(array("q", sorted(numbers)))


def _files(db: apsw.Connection, sets: Numbers) -> Numbers:
    """Return the file of each set, -1 for those that are gone."""
    distinct, where = np.unique(sets, return_inverse=True)
    files = np.full(len(distinct), -1, np.int64)
    if len(distinct):
        known = db.execute(
            "SELECT id, file FROM symbol_sets WHERE id IN (SELECT value FROM carray(?)) ORDER BY id",
            (apsw.carray(distinct),),
        ).fetchall()
        pairs = np.array(known, np.int64).reshape(-1, 2)
        files[np.searchsorted(distinct, pairs[:, 0])] = pairs[:, 1]
    aligned: Numbers = files[where]
    return aligned
