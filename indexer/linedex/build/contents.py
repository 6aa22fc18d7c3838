"""All that an index says of each file, ids and times left out: what two indexes of one tree must agree on.

The oracle of the tests that interrupt a build, or that keep an index up to date step by step: its contents must be
those of an index made at once. Held in memory whole, so for trees of some ten thousand files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import apsw

from linedex.build.check import columns_by_file
from linedex.store import files, signatures, symbols

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
            blocks = [_block_run(db, run) for run in signatures.block_runs(db, file)]
            said[catalogue.path(place)] = (facts[file], columns.get(file), blocks, symbols.of_file(db, file))
        return said
    finally:
        db.close()


def _block_run(db: apsw.Connection, run: signatures.BlockRun) -> tuple[object, ...]:
    rows = signatures.Rows(db).all(run.id, run.bits, len(run.starts))
    return run.first, run.bits, run.starts.tolist(), run.lines.tolist(), run.continues.tolist(), rows.tobytes()
