"""Rows that go to another place with all that hangs on them: what a rename costs the sidecar.

Promise: a row keeps its id, so its column, blocks and symbols stay where they are. A folder takes its whole subtree
along with one row, since files and folders are keyed by (folder, name). Any permutation of places is possible, also
two folders that change places or one that moves into a folder which was inside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from linedex.model import FileId, FileState, SkipReason
from linedex.store import files as file_rows
from linedex.store import symbols
from linedex.store.catalogue import Catalogue, Facts
from linedex.store.files import FolderRow, split_key


@dataclass(frozen=True, slots=True)
class KeptText:
    """A file whose text is the one that is stored, though its stat or its name is another.

    Attributes:
        file: its id.
        ctime_ns: the time of its last change of any kind now.
        seen_ns: when that was seen.
        language: what its name makes of its text.
        outlined: whether that language has symbols to be looked for.
    """

    file: FileId
    ctime_ns: int
    seen_ns: int
    language: str
    outlined: bool


@dataclass(frozen=True, slots=True)
class Moves:
    """What stands elsewhere than before: (id, key) of folders and files, and files that were proved to be the same."""

    folders: tuple[tuple[int, bytes], ...] = ()
    files: tuple[tuple[int, bytes], ...] = ()
    kept: tuple[KeptText, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.folders)


def move(db: apsw.Connection, catalogue: Catalogue, moves: Moves, new_folders: Sequence[FolderRow]) -> Catalogue:
    """Store that folders and files stand elsewhere, and folders that are new; return the catalogue so.

    What stood in those places before is moved too, or removed already.
    """
    after = catalogue.with_moved(moves.folders, moves.files)
    folders = _replaced(catalogue, after, moves.folders, dict(_ids(catalogue.folder_keys, catalogue.folder_facts)))
    files = _replaced(catalogue, after, moves.files, dict(_ids(catalogue.keys, catalogue.facts)))
    # two rows that change places would meet in one on the way
    db.executemany("UPDATE folders SET parent = -id, name = x'' WHERE id = ?", ((folder,) for folder, _ in folders))
    db.executemany("UPDATE files SET folder = -id, name = x'' WHERE id = ?", ((file,) for file, _ in files))
    after = file_rows.add(db, after, new_folders, ())
    homes = dict(_ids(after.folder_keys, after.folder_facts))
    for table, column, rows in (("folders", "parent", folders), ("files", "folder", files)):
        db.executemany(
            f"UPDATE {table} SET {column} = ?, name = ? WHERE id = ?",
            ((homes[parent], name, row) for row, key in rows for parent, name in (split_key(key),)),
        )
    return _keep(db, after, moves.kept)


def _ids(keys: Sequence[bytes], facts: Facts) -> zip[tuple[bytes, int]]:
    return zip(keys, facts["id"].tolist(), strict=True)


def _replaced(
    before: Catalogue, after: Catalogue, moved: Sequence[tuple[int, bytes]], ids: dict[bytes, int]
) -> list[tuple[int, bytes]]:
    """Return those of `moved` whose own row changes; the others only go along with the folder around them."""
    former = {row: key for key, row in ids.items()}
    homes = dict(_ids(before.folder_keys, before.folder_facts))
    next_homes = dict(_ids(after.folder_keys, after.folder_facts))
    found = []
    for row, key in moved:
        (parent, name), (next_parent, next_name) = split_key(former[row]), split_key(key)
        if name != next_name or homes.get(parent) != next_homes.get(next_parent):
            found.append((row, key))
    return found


def _keep(db: apsw.Connection, catalogue: Catalogue, kept: Sequence[KeptText]) -> Catalogue:
    """Store what is new of files whose text is not; symbols of another language are looked for anew."""
    words = catalogue.words
    changed = catalogue.facts[catalogue.places(np.array([one.file for one in kept], np.int64))].copy()
    for row, one in zip(changed, kept, strict=True):
        row["ctime_ns"], row["seen_ns"] = one.ctime_ns, one.seen_ns
        language = words.languages.number(one.language)
        db.execute("UPDATE files SET ctime_ns = ?, seen_ns = ? WHERE id = ?", (one.ctime_ns, one.seen_ns, one.file))
        if row["language"] == language:
            continue
        row["language"] = language
        row["symbol_state"] = FileState.PENDING if one.outlined else FileState.SKIPPED
        symbols.forget(db, (one.file,))
        db.execute(
            "UPDATE files SET language = ?, symbol_state = ?, symbol_note = ? WHERE id = ?",
            (one.language, int(row["symbol_state"]), "" if one.outlined else SkipReason.NO_LANGUAGE, one.file),
        )
    return catalogue.with_facts(changed)
