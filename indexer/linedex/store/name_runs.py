"""The index of names: runs of symbols in the order of their names, in blocks, with the grams of each block.

Promise: a run is written once and only dropped whole. The sets of symbols that are in no run yet are those after the
last that is; so few symbols wait that a query can look at them one by one. A name that leads to a set which is gone
leads nowhere. Runs of a size are merged when there are several, so that there are few and each symbol is moved seldom.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

import apsw
import numpy as np

from linedex.store.name_blocks import SYMBOL, NamedSymbols, blocks_of, chosen, in_order, joined, rows_in
from linedex.store.name_grams import GRAM_BITS, MOST_BLOCKS, blocks_by_gram
from linedex.store.symbol_pack import unpacked

RUN_SYMBOLS: Final = 250_000
"""Symbols that make a run in a build: sorting them takes some 60 MB."""
LEAST_SYMBOLS: Final = 2_000
"""Symbols that make a run when a phase ends; fewer are looked at one by one, in a few ms."""
_MERGED: Final = 8
"""Runs of about one size that make a larger one."""


def write_waiting(db: apsw.Connection, least: int) -> None:
    """Put the sets that are in no run into runs if they have `least` symbols together."""
    if symbols_waiting(db) < least:
        return
    waiting = list(db.execute("SELECT id, symbols FROM symbol_sets WHERE id > ? ORDER BY id", (last_set(db),)))
    batch: list[int] = []
    held = 0
    for number, symbols in waiting:
        batch.append(number)
        held += symbols
        if held >= RUN_SYMBOLS:
            _write(db, _of_sets(db, batch), number)
            batch, held = [], 0
    if held >= least:
        _write(db, _of_sets(db, batch), batch[-1])


def settle(db: apsw.Connection) -> None:
    """Put into runs what has waited till the end of a phase, if it is enough, and merge runs.

    At most one merge of at most `RUN_SYMBOLS` symbols, which takes a second; the next phase goes on.
    """
    write_waiting(db, LEAST_SYMBOLS)
    runs = list(db.execute("SELECT id, symbols FROM name_runs ORDER BY id"))
    live = int(db.execute("SELECT total(symbols) FROM symbol_sets").get)
    if sum(symbols for _, symbols in runs) > 2 * live + RUN_SYMBOLS:
        _rewrite(db, [runs[0][0]])
        return
    for low, high in pairwise((0, 2 * LEAST_SYMBOLS, 2 * _MERGED * LEAST_SYMBOLS, RUN_SYMBOLS // 2)):
        alike = sorted((symbols, number) for number, symbols in runs if low <= symbols < high)
        if len(alike) >= _MERGED:
            together = accumulate(symbols for symbols, _ in alike)
            _rewrite(db, [number for (_, number), held in zip(alike, together, strict=True) if held <= RUN_SYMBOLS])
            return


def symbols_waiting(db: apsw.Connection) -> int:
    """Return how many symbols are in no run yet."""
    return int(db.execute("SELECT total(symbols) FROM symbol_sets WHERE id > ?", (last_set(db),)).get)


def last_set(db: apsw.Connection) -> int:
    """Return the last set of symbols that is in a run."""
    return int(db.execute("SELECT max(last_set) FROM name_runs").get or 0)


def names_of(number: int, data: bytes) -> NamedSymbols:
    """Return the symbols of one set, in source order."""
    rows = unpacked(data)
    symbols = np.empty(len(rows.names), SYMBOL)
    symbols["set"] = number
    symbols["ordinal"] = np.arange(len(rows.names))
    symbols["kind"] = rows.kinds
    return NamedSymbols(rows.names, rows.containers, symbols)


def _of_sets(db: apsw.Connection, sets: Sequence[int]) -> NamedSymbols:
    query = "SELECT id, data FROM symbol_rows WHERE id IN (SELECT value FROM carray(?)) ORDER BY id"
    return joined(names_of(number, data) for number, data in db.execute(query, (apsw.carray(array("q", sets)),)))


def _write(db: apsw.Connection, rows: NamedSymbols, last: int) -> None:
    """Write rows, in any order, as a run, or as several when they are too many for one."""
    blocks = list(blocks_of(in_order(rows))) if rows.names else []
    for at in range(0, len(blocks), MOST_BLOCKS):
        part = blocks[at : at + MOST_BLOCKS]
        run = int(db.execute("SELECT max(id) FROM name_runs").get or 0) + 1
        first = int(db.execute("SELECT max(id) FROM name_blocks").get or 0) + 1
        symbols = sum(len(block.symbols) - 4 * len(block.names) - 4 for block in part) // SYMBOL.itemsize
        db.execute("INSERT INTO name_runs VALUES(?, ?, ?, ?)", (run, last, symbols, first))
        db.executemany(
            "INSERT INTO name_blocks VALUES(?, ?, ?, ?, ?, ?)",
            (
                (number, run, block.names[0].encode("utf-8", "surrogatepass"), *block[2:])
                for number, block in enumerate(part, first)
            ),
        )
        grams = blocks_by_gram((block.names, block.humps) for block in part)
        db.executemany("INSERT INTO name_grams VALUES(?, ?)", ((run << GRAM_BITS | gram, held) for gram, held in grams))


def _rewrite(db: apsw.Connection, runs: Sequence[int]) -> None:
    """Make runs one, without the symbols that are gone."""
    alive = np.array([number for (number,) in db.execute("SELECT id FROM symbol_sets")], np.int64)
    rows = joined(
        rows_in(*blobs)
        for run in runs
        for blobs in db.execute("SELECT names, symbols, containers FROM name_blocks WHERE run = ? ORDER BY id", (run,))
    )
    last = last_set(db)
    for run in runs:
        db.execute("DELETE FROM name_grams WHERE id >= ? AND id < ?", (run << GRAM_BITS, (run + 1) << GRAM_BITS))
        db.execute("DELETE FROM name_blocks WHERE run = ?", (run,))
        db.execute("DELETE FROM name_runs WHERE id = ?", (run,))
    _write(db, chosen(rows, np.flatnonzero(np.isin(rows.symbols["set"], alive))), last)
