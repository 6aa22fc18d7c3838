"""Folders and files as rows: the only writer of the catalogue's tables, and its loader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from linedex.model import FileId, FileState, Fingerprint, Newline, SkipReason, TextFormat
from linedex.store import symbols
from linedex.store.age import count_drop, drops, life
from linedex.store.catalogue import FACTS, FOLDER_FACTS, STAT_FIELDS, Catalogue, Facts, Words, is_hidden, key_path

ROOT_FOLDER = 1
"""Id of the folder row that stands for the root."""


@dataclass(frozen=True, slots=True)
class FolderRow:
    """A folder to be stored: its key, and when it was changed and listed, in ns."""

    key: bytes
    mtime_ns: int
    seen_ns: int


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file to be stored as pending: its key, its stat, and when that was taken, in ns.

    `ignored` marks a file that ignore rules leave out and that is known only because somebody named it.
    """

    key: bytes
    stat: Fingerprint
    seen_ns: int
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class TextFacts:
    """What reading a file told: the row it becomes.

    Attributes:
        file: its id.
        fingerprint: of the bytes that were read.
        seen_ns: when they were read.
        state: `INDEXED` or `SKIPPED`.
        reason: why it was skipped, "" when it was not.
        format: how its bytes spell text.
        language: its language, "" when unknown.
        lines: its number of lines.
        outlined: whether its symbols are to be looked for.
    """

    file: FileId
    fingerprint: Fingerprint
    seen_ns: int
    state: FileState
    reason: str
    format: TextFormat
    language: str
    lines: int
    outlined: bool = False


TextRow: TypeAlias = tuple[Any, ...]
"""`TextFacts` in the order of the statement that stores them, its id last: a plain tuple of plain values, which goes
through a pipe in a tenth of the time that the facts take."""
_BINARY = str(SkipReason.BINARY)
_NO_LANGUAGE = str(SkipReason.NO_LANGUAGE)


def load(db: apsw.Connection) -> Catalogue:
    """Return the stored catalogue.

    Raises:
        apsw.CorruptError: what is stored makes no sense.
        apsw.Error: it cannot be read.
    """
    try:
        return _loaded(db)
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise apsw.CorruptError(f"its catalogue makes no sense: {error!r}") from error


def _loaded(db: apsw.Connection) -> Catalogue:
    words = Words()
    rows = {row[0]: row for row in db.execute("SELECT id, parent, name, mtime_ns, seen_ns FROM folders")}
    folder_keys = _folder_keys({folder: (parent, name) for folder, parent, name, _, _ in rows.values()})
    folders = sorted((folder_keys[folder], (folder, *times)) for folder, _, _, *times in rows.values())
    prefixes = {folder: key + b"\0" if key else b"" for folder, key in folder_keys.items()}
    hidden_folders = {folder: is_hidden(key_path(key)) for folder, key in folder_keys.items()}
    format_number, language_number, reason_number = words.formats.number, words.languages.number, words.reasons.number
    files = [
        (
            prefixes[folder] + name,
            (
                *facts,
                hidden_folders[folder] or name[:1] == b".",
                ignored,
                format_number(TextFormat(encoding, bom, Newline(newline), bool(final), reason == "binary")),
                language_number(language),
                reason_number(reason),
            ),
        )
        for folder, name, encoding, bom, newline, final, language, reason, ignored, *facts in db.execute(
            "SELECT folder, name, encoding, bom, newline, final_newline, language, reason, ignored,"
            " id, device, inode, size, mtime_ns, ctime_ns, seen_ns, lines, state, symbol_state FROM files"
        )
    ]
    files.sort(key=lambda item: item[0])
    complete = db.execute("SELECT done FROM phases WHERE name = 'catalogue'").get
    return Catalogue(
        [key for key, _ in files],
        np.array([facts for _, facts in files], FACTS),
        [key for key, _ in folders],
        np.array([facts for _, facts in folders], FOLDER_FACTS),
        words,
        bool(complete),
        life(db),
        drops(db),
    )


def _folder_keys(homes: dict[int, tuple[int, bytes]]) -> dict[int, bytes]:
    """Return the key of each folder, given its parent and name; a moved folder may have a parent with a later id."""
    keys = {ROOT_FOLDER: b""}
    for folder in homes:
        above = [folder]
        while above[-1] not in keys:
            above.append(homes[above[-1]][0])
        for inner in reversed(above):
            if inner not in keys:
                parent, name = homes[inner]
                keys[inner] = keys[parent] + b"\0" + name if keys[parent] else name
    return keys


def split_key(key: bytes) -> tuple[bytes, bytes]:
    """Return the key of the folder around a file or folder, and its name."""
    parent, _, name = key.rpartition(b"\0")
    return parent, name


def add(db: apsw.Connection, catalogue: Catalogue, folders: Sequence[FolderRow], files: Sequence[FileRow]) -> Catalogue:
    """Store new folders and files, the files as pending, and return the catalogue with them.

    Folders may come in any order; a file's folder is stored already or among `folders`.
    """
    ids = dict(zip(catalogue.folder_keys, catalogue.folder_facts["id"].tolist(), strict=True))
    next_folder = (db.execute("SELECT max(id) FROM folders").get or 0) + 1
    new_keys: list[bytes] = []
    folder_facts = []
    rows = []
    for folder in sorted(folders, key=lambda row: row.key):
        if folder.key in ids:
            continue
        parent, name = split_key(folder.key)
        # the root comes first, so it gets ROOT_FOLDER
        ids[folder.key] = next_folder
        rows.append((next_folder, ids[parent] if folder.key else 0, name, folder.mtime_ns, folder.seen_ns))
        new_keys.append(folder.key)
        folder_facts.append((next_folder, folder.mtime_ns, folder.seen_ns))
        next_folder += 1
    db.executemany("INSERT INTO folders VALUES(?, ?, ?, ?, ?)", rows)
    next_file = (db.execute("SELECT max(id) FROM files").get or 0) + 1
    file_rows = []
    facts = []
    numbers = _default_numbers(catalogue.words)
    for at, file in enumerate(files, start=next_file):
        parent, name = split_key(file.key)
        stat = (file.stat.device, file.stat.inode, file.stat.size, file.stat.mtime_ns, file.stat.ctime_ns, file.seen_ns)
        file_rows.append((at, ids[parent], name, *stat, file.ignored))
        facts.append((at, *stat, 0, FileState.PENDING, 0, is_hidden(key_path(file.key)), file.ignored, *numbers))
    db.executemany(
        "INSERT INTO files(id, folder, name, device, inode, size, mtime_ns, ctime_ns, seen_ns, ignored)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        file_rows,
    )
    return catalogue.with_added(
        [file.key for file in files], np.array(facts, FACTS), new_keys, np.array(folder_facts, FOLDER_FACTS)
    )


def add_named(db: apsw.Connection, catalogue: Catalogue, file: FileRow) -> Catalogue:
    """Store one file with the folders around it, which no walk may have met; return the catalogue with them."""
    folders = [FolderRow(b"", 0, 0)]
    parent, _ = split_key(file.key)
    while parent:
        folders.append(FolderRow(parent, 0, 0))
        parent, _ = split_key(parent)
    return add(db, catalogue, folders, [file])


def _default_numbers(words: Words) -> tuple[int, int, int]:
    return words.formats.number(TextFormat()), words.languages.number(""), words.reasons.number("")


def remove(db: apsw.Connection, catalogue: Catalogue, files: Iterable[int], folders: Iterable[int]) -> Catalogue:
    """Forget files and folders by id, with all that is stored of them, and return the catalogue without them."""
    gone, gone_folders = list(files), list(folders)
    forget_content(db, gone)
    db.executemany("DELETE FROM files WHERE id = ?", ((file,) for file in gone))
    db.executemany("DELETE FROM folders WHERE id = ?", ((folder,) for folder in gone_folders))
    return catalogue.without(gone, gone_folders)


def indexed_ids(db: apsw.Connection) -> npt.NDArray[np.int64]:
    """Return the ids of the files whose signature is stored, in no order."""
    found = db.execute("SELECT id FROM files WHERE state = ?", (int(FileState.INDEXED),))
    return np.fromiter((file for (file,) in found), np.int64)


def forget_content(db: apsw.Connection, files: Iterable[int]) -> None:
    """Drop what was stored of the content of files, before it is stored anew; their rows stay."""
    gone = [(file,) for file in files]
    if gone:
        count_drop(db)
    db.executemany("UPDATE file_groups SET dead = dead + 1 WHERE id = (SELECT grp FROM files WHERE id = ?)", gone)
    db.executemany("UPDATE files SET grp = NULL WHERE id = ?", gone)
    db.executemany("DELETE FROM delta WHERE file = ?", gone)
    symbols.forget(db, (file for (file,) in gone))
    db.executemany(
        "DELETE FROM group_rows WHERE key IN"
        " (SELECT r.key FROM block_runs b JOIN group_rows r ON r.key >= b.grp << 20 AND r.key < (b.grp + 1) << 20"
        "  WHERE b.file = ? AND b.bits > 0)",
        gone,
    )
    db.executemany("DELETE FROM block_runs WHERE file = ?", gone)
    for table in (
        "stages",
        "checkpoints",
        "logs",
        "log_segments",
        "log_templates",
        "log_shapes",
        "decodings",
        "seek_windows",
    ):
        db.executemany(f"DELETE FROM {table} WHERE file = ?", gone)


def mark_pending(db: apsw.Connection, catalogue: Catalogue, stats: Sequence[tuple[int, Fingerprint, int]]) -> Catalogue:
    """Store that files, given as (id, stat, seen_ns), hold bytes the index does not know; return the catalogue so."""
    forget_content(db, [file for file, _, _ in stats])
    changed = catalogue.facts[catalogue.places(np.array([file for file, _, _ in stats], np.int64))].copy()
    for row, (_, stat, seen_ns) in zip(changed, stats, strict=True):
        for name in STAT_FIELDS:
            row[name] = getattr(stat, name)
        row["seen_ns"], row["state"], row["symbol_state"] = seen_ns, FileState.PENDING, FileState.PENDING
    db.executemany(
        "UPDATE files SET device = ?, inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?, seen_ns = ?,"
        " state = 0, reason = '', symbol_state = 0, symbol_note = '' WHERE id = ?",
        (
            (stat.device, stat.inode, stat.size, stat.mtime_ns, stat.ctime_ns, seen_ns, file)
            for file, stat, seen_ns in stats
        ),
    )
    return catalogue.with_facts(changed)


def text_row(text: TextFacts) -> TextRow:
    """Return the facts of a file as `set_rows` takes them."""
    mark, spelling = text.fingerprint, text.format
    return (
        *(mark.device, mark.inode, mark.size, mark.mtime_ns, mark.ctime_ns, text.seen_ns, mark.head, mark.tail),
        *(int(text.state), str(text.reason)),
        *(spelling.encoding, spelling.bom, int(spelling.newline), spelling.final_newline),
        *(text.language, text.lines),
        int(FileState.PENDING if text.outlined else FileState.SKIPPED),
        "" if text.outlined else _NO_LANGUAGE,
        text.file,
    )


def set_text(db: apsw.Connection, catalogue: Catalogue, texts: Sequence[TextFacts]) -> Facts:
    """Store what reading files told; return their rows for `Catalogue.with_facts`."""
    return set_rows(db, catalogue, list(map(text_row, texts)))


def set_rows(db: apsw.Connection, catalogue: Catalogue, rows: Sequence[TextRow]) -> Facts:
    """Store what reading files told, as `set_text` does."""
    words = catalogue.words
    places = catalogue.places_of([row[-1] for row in rows])
    rows = [row for row, place in zip(rows, places.tolist(), strict=True) if place >= 0]
    changed: Facts = catalogue.facts[places[places >= 0]].copy()
    if not rows:
        return changed
    columns = list(zip(*rows, strict=True))
    for name, values in zip((*STAT_FIELDS, "seen_ns"), columns, strict=False):
        changed[name] = values
    changed["state"], changed["lines"], changed["symbol_state"] = columns[8], columns[15], columns[16]
    spellings = [(*row[10:14], row[9] == _BINARY) for row in rows]
    formats = {
        (encoding, bom, newline, *rest): words.formats.number(TextFormat(encoding, bom, Newline(newline), *rest))
        for encoding, bom, newline, *rest in set(spellings)
    }
    changed["format"] = [formats[spelling] for spelling in spellings]
    changed["language"] = [words.languages.number(language) for language in columns[14]]
    changed["reason"] = [words.reasons.number(reason) for reason in columns[9]]
    db.executemany(
        "UPDATE files SET device = ?, inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?, seen_ns = ?, head = ?, tail = ?,"
        " state = ?, reason = ?, encoding = ?, bom = ?, newline = ?, final_newline = ?, language = ?, lines = ?,"
        " symbol_state = ?, symbol_note = ?"
        " WHERE id = ?",
        rows,
    )
    return changed


def stored_fingerprint(db: apsw.Connection, file: FileId) -> Fingerprint | None:
    """Return the whole fingerprint, digests included, of the bytes that the index knows of a file, if it does."""
    row = db.execute(
        "SELECT device, inode, size, mtime_ns, ctime_ns, head, tail FROM files WHERE id = ? AND state <> 0", (file,)
    ).fetchone()
    return Fingerprint(*row) if row else None


def phase_seconds(db: apsw.Connection) -> dict[str, float]:
    """Return the phases of the last whole build and how long each took."""
    return dict(db.execute("SELECT name, seconds FROM phases"))


def set_phase(db: apsw.Connection, name: str, seconds: float) -> None:
    """Store that a phase of the build is done, and how long it took."""
    db.execute("INSERT OR REPLACE INTO phases VALUES(?, 1, ?)", (name, seconds))


def stored_text(db: apsw.Connection, file: FileId) -> TextFacts | None:
    """Return what the index knows of the text of a file, if it is indexed."""
    row = db.execute(
        "SELECT device, inode, size, mtime_ns, ctime_ns, head, tail, seen_ns, encoding, bom, newline, final_newline,"
        " language, lines FROM files WHERE id = ? AND state = ?",
        (file, FileState.INDEXED),
    ).fetchone()
    if row is None:
        return None
    *mark, seen, encoding, bom, newline, final, language, lines = row
    spelling = TextFormat(encoding, bom, Newline(newline), bool(final))
    return TextFacts(file, Fingerprint(*mark), seen, FileState.INDEXED, "", spelling, language, lines)
