"""Moves: which of the files that a difference calls new are files the catalogue knows under another name.

Promise: a row is given to another name only when it is the same inode of the same device with the same size and time
of writing, when its bytes were not in doubt before, and when, its time of change being another, head and tail have the
digests that are stored. Renaming gives a new time of change, so that one alone says nothing. A file that only grew is
given its name and counts as changed. Everything else stays what the difference says: gone here, new there.

Nothing here needs events: two looks at the disk tell the same. A chain of renames (`app.log` to `app.log.1`, and that
to `app.log.2`), files or folders that changed places, and a file renamed over another are all one assignment of rows
to names.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import apsw
import numpy as np

from linedex.build.sync import Difference
from linedex.content import languages
from linedex.content.folding import utf8_text
from linedex.content.symbols import has_outline
from linedex.errors import LinedexError
from linedex.files import fingerprint
from linedex.files.compressed.codec import is_named_compressed, plain_name
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileId, FileState, Fingerprint, RelPath, SkipReason, TextFormat
from linedex.store.catalogue import Catalogue, key_path
from linedex.store.files import FileRow, split_key, stored_fingerprint
from linedex.store.moves import KeptText, Moves

_TICK_SECONDS = 0.02
"""Time after which a rename can be told from what happens to the file next."""
_EDGE = 4096
_EDGE_SPELLED = 4 * _EDGE
"""Bytes of a file that spell so many of UTF-8, at least."""


class _Known(NamedTuple):
    """A row that may belong to another name by now."""

    place: int
    file: int
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class _Pair(NamedTuple):
    """A row, and the file that seems to be its own under another name."""

    known: _Known
    row: FileRow


def find_moves(
    root: Root,
    db: apsw.Connection,
    catalogue: Catalogue,
    found: Difference,
    limits: Limits,
    wait: Callable[[float], object] = time.sleep,
) -> tuple[Moves, Difference]:
    """Return what of a difference is moves, and what it comes to when they are made.

    Args:
        root: where the files are; those that seem to be moved are opened, and 2 KiB of each are read.
        db: a connection to the index.
        catalogue: what the difference is to.
        found: the difference.
        limits: sizes.
        wait: waits so many seconds; called once at most, for a rename that is too young to be told from a write.
    """
    pairs = list(_pairs(catalogue, found))
    if not pairs:
        return Moves(), found
    grown: list[_Pair] = []
    kept: list[KeptText] = []
    same: list[_Pair] = []
    renamed: list[_Pair] = []
    for pair in pairs:
        known, now = pair.known, pair.row.stat
        if (known.size, known.mtime_ns) != (now.size, now.mtime_ns):
            grown.append(pair)
        elif known.ctime_ns == now.ctime_ns and _named_alike(catalogue, pair):
            same.append(pair)
        else:
            renamed.append(pair)
    latest = max((pair.row.stat.ctime_ns for pair in renamed), default=0)
    if latest + int(_TICK_SECONDS * 1e9) >= time.time_ns():
        wait(_TICK_SECONDS)
    for pair in renamed:
        text = _kept(root, db, catalogue, pair, limits)
        if text is not None:
            kept.append(text)
            same.append(pair)
    files = {pair.known.file: pair for pair in (*same, *grown)}
    found = _without(catalogue, found, files)
    found = replace(
        found, changed=(*found.changed, *((pair.known.file, pair.row.stat, pair.row.seen_ns) for pair in grown))
    )
    folders = _folder_moves(catalogue, found, files.values())
    moved_to = {key for _, key in folders}
    moved = {folder for folder, _ in folders}
    found = replace(
        found,
        folders=tuple(folder for folder in found.folders if folder.key not in moved_to),
        gone_folders=tuple(folder for folder in found.gone_folders if folder not in moved),
    )
    return Moves(folders, tuple((file, pair.row.key) for file, pair in files.items()), tuple(kept)), found


def _pairs(catalogue: Catalogue, found: Difference) -> Iterator[_Pair]:
    """Yield rows whose inode stands under another name now."""
    now = {file: (stat, seen) for file, stat, seen in found.changed}
    waiting: dict[tuple[int, int], list[_Known]] = {}
    targets = list(found.files)
    for known, usable in _rows(catalogue, [*found.gone, *now]):
        stands = now.get(known.file)
        if stands is not None:
            if stands[0].inode == known.inode:
                continue
            targets.append(FileRow(catalogue.keys[known.place], *stands))
        if usable:
            waiting.setdefault((known.device, known.inode), []).append(known)
    if not waiting:
        return
    for target in targets:
        stat = target.stat
        rows = waiting.get((stat.device, stat.inode), [])
        same = [known for known in rows if (known.size, known.mtime_ns) == (stat.size, stat.mtime_ns)]
        for known in same[:1] or [known for known in rows if known.size < stat.size][:1]:
            rows.remove(known)
            yield _Pair(known, target)


def _rows(catalogue: Catalogue, files: list[int]) -> Iterator[tuple[_Known, bool]]:
    """Yield the rows of these files, and whether what is stored of them is worth another name."""
    places = catalogue.places(np.array(files, np.int64))
    facts = catalogue.facts[places]
    # what could not be read or analysed may be better off under another name
    binary = catalogue.words.reasons.find(SkipReason.BINARY)
    usable = (facts["state"] == FileState.INDEXED) | (
        (facts["state"] == FileState.SKIPPED) & (facts["reason"] == binary)
    )
    usable &= ~facts["ignored"] & (facts["inode"] != 0)
    usable &= ~fingerprint.suspects(facts["mtime_ns"], facts["ctime_ns"], facts["seen_ns"])
    columns = (facts[name].tolist() for name in ("id", "device", "inode", "size", "mtime_ns", "ctime_ns"))
    yield from zip(map(_Known, places.tolist(), *columns), usable.tolist(), strict=True)


def _is_compressed(pair: _Pair) -> bool:
    return is_named_compressed(pair.row.key)


def _decoded_alike(catalogue: Catalogue, pair: _Pair) -> bool:
    """Say whether a file is decoded, and its text named, under its new name as it was under its old one."""
    before, now = catalogue.keys[pair.known.place], pair.row.key
    if not (is_named_compressed(before) or is_named_compressed(now)):
        return True
    named = [languages.detect(RelPath(plain_name(split_key(key)[1]))) for key in (before, now)]
    return is_named_compressed(before) and is_named_compressed(now) and named[0] == named[1]


def _named_alike(catalogue: Catalogue, pair: _Pair) -> bool:
    return split_key(catalogue.keys[pair.known.place])[1] == split_key(pair.row.key)[1]


def _kept(root: Root, db: apsw.Connection, catalogue: Catalogue, pair: _Pair, limits: Limits) -> KeptText | None:
    """Return what is to be stored of a renamed file, None when its bytes may be others."""
    stored = stored_fingerprint(db, FileId(pair.known.file))
    seen = time.time_ns()
    path = key_path(pair.row.key)
    try:
        descriptor = root.open(path)
    except LinedexError:
        return None
    try:
        mark = fingerprint.of(descriptor)
        unmoved = (mark.inode, mark.size, mark.mtime_ns, mark.ctime_ns) == _times(pair.row.stat)
        if stored is None or not unmoved or (mark.head, mark.tail) != (stored.head, stored.tail):
            return None
        language = catalogue.language(pair.known.place)
        if not _decoded_alike(catalogue, pair):
            return None
        if _is_compressed(pair):
            return KeptText(FileId(pair.known.file), mark.ctime_ns, seen, language, outlined=False)
        if not _named_alike(catalogue, pair) and catalogue.facts["state"][pair.known.place] == FileState.INDEXED:
            language = _language(descriptor, path, mark.size, catalogue.format(pair.known.place), limits)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return KeptText(FileId(pair.known.file), mark.ctime_ns, seen, language, has_outline(language))


def _times(stat: Fingerprint) -> tuple[int, int, int, int]:
    return stat.inode, stat.size, stat.mtime_ns, stat.ctime_ns


def _language(descriptor: int, path: RelPath, size: int, spelling: TextFormat, limits: Limits) -> str:
    """Return the language that reading the whole file would find, from its edges."""
    plain = replace(spelling, bom=0)
    edge = _EDGE if size > limits.large_file else _EDGE_SPELLED
    head = utf8_text(os.pread(descriptor, edge, spelling.bom), plain)
    tail = utf8_text(os.pread(descriptor, edge, max(spelling.bom, size - edge)), plain)
    return languages.detect(path, head[:_EDGE], tail[-_EDGE:])


def _without(catalogue: Catalogue, found: Difference, moved: dict[int, _Pair]) -> Difference:
    """Return the difference that is left when these rows have their new names."""
    taken = {pair.row.key for pair in moved.values()}
    files = [file for file in found.files if file.key not in taken]
    gone = [file for file in found.gone if file not in moved]
    changed = []
    places = catalogue.places(np.array([file for file, _, _ in found.changed], np.int64)).tolist()
    for place, (file, stat, seen) in zip(places, found.changed, strict=True):
        key = catalogue.keys[place]
        if file in moved and key not in taken:
            files.append(FileRow(key, stat, seen))
        elif file not in moved and key in taken:
            gone.append(file)
        elif file not in moved:
            changed.append((file, stat, seen))
    return replace(found, files=tuple(files), gone=tuple(gone), changed=tuple(changed))


def _folder_moves(catalogue: Catalogue, found: Difference, files: Iterable[_Pair]) -> tuple[tuple[int, bytes], ...]:
    """Return which gone folders are new ones under another name: those that most of their files went to."""
    new = {folder.key for folder in found.folders}
    gone_folders = set(found.gone_folders)
    ids = dict(zip(catalogue.folder_keys, catalogue.folder_facts["id"].tolist(), strict=True))
    gone = {key for key, folder in ids.items() if folder in gone_folders}
    votes = Counter((split_key(catalogue.keys[pair.known.place])[0], split_key(pair.row.key)[0]) for pair in files)
    moved: dict[bytes, bytes] = {}
    taken: set[bytes] = set()

    def give(former: bytes, now: bytes) -> None:
        if former in gone and now in new and former not in moved and now not in taken:
            moved[former] = now
            taken.add(now)

    for (former, now), _ in votes.most_common():
        give(former, now)
    # a folder that holds nothing but folders goes where they went
    for former, now in _upwards(moved):
        give(former, now)
    return tuple((ids[former], now) for former, now in moved.items())


def _upwards(moved: dict[bytes, bytes]) -> Iterable[tuple[bytes, bytes]]:
    """Return the pairs of folders around each pair, the innermost first."""
    found: dict[tuple[bytes, bytes], None] = {}
    for pair in moved.items():
        above = pair
        while all(above):
            above = split_key(above[0])[0], split_key(above[1])[0]
            found[above] = None
    return sorted(found, key=lambda pair: -len(pair[0]))
