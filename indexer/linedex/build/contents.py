"""All that an index says of each file, ids and times left out: what two indexes of one tree must agree on.

The oracle of the tests that interrupt a build, or that keep an index up to date step by step: its contents must be
those of an index made at once. Held in memory whole, so for trees of some ten thousand files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import apsw
import numpy as np

from linedex.build.check import columns_by_file
from linedex.content.grams import MIN_BITS
from linedex.store import blocks, files, symbols

Contents: TypeAlias = dict[bytes, object]
"""What is said of each path; the paths of the folders stand under b"/", which no file has."""

_FACTS = (
    "SELECT id, size, head, tail, state, reason, encoding, bom, newline, final_newline, language, lines, ignored,"
    " symbol_state, symbol_note FROM files"
)


def contents(sidecar: Path) -> Contents:
    """Return what the index in `sidecar` says of each file.

    Raises:
        apsw.Error: it cannot be read.
    """
    db = apsw.Connection(str(sidecar), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        catalogue = files.load(db)
        columns = columns_by_file(db)
        facts = {file: told for file, *told in db.execute(_FACTS)}
        said: Contents = {b"/": sorted(catalogue.folder_keys)}
        for place, file in enumerate(catalogue.facts["id"].tolist()):
            runs = blocks.block_runs(db, file)
            told = _blocks(db, runs) if runs else columns.get(file)
            said[catalogue.path(place)] = (facts[file], told, symbols.of_file(db, file))
        return said
    finally:
        db.close()


def _blocks(db: apsw.Connection, runs: list[blocks.BlockRun]) -> tuple[object, ...]:
    """Return what is said of each block, whatever runs they stand in.

    Columns are compared at their least size, which all have in common. The last block may have none, and the column of
    the whole file depends on the way it grew: of both, `check` says whether they are right.
    """
    facts = [
        np.concatenate([getattr(run, name) for run in runs]).tolist()
        for name in ("starts", "lines", "continues", "ranges")
    ]
    columns = [column.tobytes() for run in runs if run.bits for column in blocks.columns_of(db, run, MIN_BITS)]
    return (*facts, columns[: len(facts[0]) - 1])
