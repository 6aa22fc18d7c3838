"""Large files on their way into the index: their blocks are stored, their signatures and log parts up to a byte.

Promise: up to that byte every block has its signature, and the parts of a log reach it; behind it queries read the
text. A file that is not named here is there as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from linedex.model import FileId
from linedex.store.blocks import BlockColumns, BlockRun, joined, store_group


def put(db: apsw.Connection, file: FileId, at: int) -> None:
    """Store that a file is there up to byte `at`."""
    db.execute("INSERT OR REPLACE INTO stages VALUES(?, ?)", (file, at))


def lower(db: apsw.Connection, file: FileId, at: int) -> None:
    """Store that nothing behind byte `at` counts any more of a file that is on its way."""
    db.execute("UPDATE stages SET at = min(at, ?) WHERE file = ?", (at, file))


def end(db: apsw.Connection, file: FileId) -> None:
    """Store that a file is there as a whole."""
    db.execute("DELETE FROM stages WHERE file = ?", (file,))


def of_file(db: apsw.Connection, file: FileId) -> int | None:
    """Return the byte up to which a file is there, None when it is there as a whole."""
    at: int | None = db.execute("SELECT at FROM stages WHERE file = ?", (file,)).get
    return at


def unfinished(db: apsw.Connection) -> list[tuple[FileId, int]]:
    """Return the files that are on their way, and the byte up to which each is there."""
    return [(FileId(file), at) for file, at in db.execute("SELECT file, at FROM stages ORDER BY file")]


def sign(
    db: apsw.Connection, file: FileId, first: int, run: BlockRun, made: Sequence[BlockColumns], sparse: float
) -> None:
    """Store the signatures of a run of blocks that has none, inside the caller's transaction.

    Args:
        db: the writing connection.
        file: id of the file.
        first: place of the run's first block among the file's.
        run: the run.
        made: its blocks, in order.
        sparse: columns are halved while their load is under this.
    """
    blocks = joined(made)
    group, bits = store_group(db, blocks.columns, blocks.bits, sparse)
    db.execute(
        "UPDATE block_runs SET grp = ?, bits = ?, columns = ?, place = 0 WHERE file = ? AND first = ?",
        (group, bits, len(run), file, first),
    )
