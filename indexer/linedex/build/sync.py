"""The look at the disk: what stands below a path now, against what the catalogue says of it.

Promise: a file that `look` calls current had, a moment ago, the very stat its row was made from, and was not touched
in the clock tick of that reading; everything else is new, changed or gone. Nothing is taken from an earlier look.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from linedex.errors import LinedexError, NotFound
from linedex.files.fingerprint import from_stat, is_racy, signed, suspects
from linedex.files.ignore import IgnoreRules, WalkSettings
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.files.walk import is_hidden, walk
from linedex.model import FileState, Fingerprint, RelPath
from linedex.store.catalogue import Catalogue, Facts, path_key
from linedex.store.files import FileRow, FolderRow, split_key
from linedex.store.look import Look, NewFile


@dataclass(frozen=True, slots=True)
class Difference:
    """What the catalogue has to learn to be true of the disk.

    Attributes:
        folders: folders it does not have.
        files: files it does not have, or has only as one that was left out and somebody named.
        changed: files it has with other bytes: id, their stat, when it was taken in ns.
        gone: ids of files that are no longer there, or that are among `files`.
        gone_folders: ids of folders that are no longer there.
    """

    folders: tuple[FolderRow, ...] = ()
    files: tuple[FileRow, ...] = ()
    changed: tuple[tuple[int, Fingerprint, int], ...] = ()
    gone: tuple[int, ...] = ()
    gone_folders: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.folders or self.files or self.changed or self.gone or self.gone_folders)


@dataclass
class _Met:
    """What a walk met, as columns."""

    places: list[int] = field(default_factory=list)
    stats: list[tuple[int, int, int, int]] = field(default_factory=list)
    new: list[NewFile] = field(default_factory=list)
    folders: list[FolderRow] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def look(root: Root, settings: WalkSettings, catalogue: Catalogue, scope: RelPath = RelPath(b"")) -> Look:
    """Return what stands at or below `scope` now, against `catalogue`.

    A file named by its path is found whether or not rules ignore it.

    Raises:
        NotFound: there is nothing at `scope`.
        Unreadable: the system does not let us look.
    """
    return _look(root, settings, catalogue, scope)[0]


def walked(root: Root, settings: WalkSettings, catalogue: Catalogue) -> tuple[Look, tuple[FolderRow, ...]]:
    """Return what stands in the whole root, and the folders that were met; raises as `look` does."""
    found, met = _look(root, settings, catalogue, RelPath(b""))
    return found, tuple(met.folders)


def difference(root: Root, settings: WalkSettings, catalogue: Catalogue) -> Difference:
    """Return what `catalogue` has to learn of the whole root."""
    found, met = _look(root, settings, catalogue, RelPath(b""))
    seen = time.time_ns()
    facts = catalogue.facts
    stats = dict(zip(met.places, met.stats, strict=True))
    stale = np.flatnonzero(~found.current & ~found.gone & ~facts["ignored"] & (facts["state"] != FileState.PENDING))
    changed = [_restated(catalogue, place, stats[place], seen) for place in stale.tolist()]
    named_places = np.flatnonzero(facts["ignored"]).tolist()
    new_keys = {new.key for new in found.new} if named_places else set()
    admitted = [place for place in named_places if catalogue.keys[place] in new_keys]
    named = named_difference(root, catalogue, sorted(set(named_places).difference(admitted)))
    met_folders = {folder.key for folder in met.folders}
    known_folders = set(catalogue.folder_keys)
    return Difference(
        tuple(folder for folder in met.folders if folder.key not in known_folders),
        tuple(FileRow(new.key, new.stat, seen, new.ignored) for new in found.new),
        (*changed, *named.changed),
        (*facts["id"][found.gone & ~facts["ignored"]].tolist(), *facts["id"][admitted].tolist(), *named.gone),
        gone_folders(catalogue, met_folders, named),
    )


def gone_folders(catalogue: Catalogue, there: Container[bytes], named: Difference) -> tuple[int, ...]:
    """Return the ids of known folders that no walk meets any more and that hold no file which somebody named.

    Args:
        catalogue: what is known.
        there: keys of the folders that a walk meets.
        named: what became of the files that somebody named.
    """
    facts, lost = catalogue.facts, set(named.gone)
    holding: set[bytes] = set()
    for place in np.flatnonzero(facts["ignored"]).tolist():
        key = b"" if int(facts["id"][place]) in lost else split_key(catalogue.keys[place])[0]
        while key and key not in holding:
            holding.add(key)
            key = split_key(key)[0]
    return tuple(
        folder
        for key, folder in zip(catalogue.folder_keys, catalogue.folder_facts["id"].tolist(), strict=True)
        if key not in there and key not in holding
    )


def named_difference(root: Root, catalogue: Catalogue, places: Iterable[int]) -> Difference:
    """Return what the catalogue has to learn of files that no walk meets, because only somebody's naming them counts.

    Args:
        root: where they are.
        catalogue: what is known of them.
        places: which of its files.
    """
    changed, gone = [], []
    for place in places:
        row = catalogue.facts[place]
        try:
            status = root.stat(catalogue.path(place))
        except LinedexError:
            gone.append(int(row["id"]))
            continue
        now, known = from_stat(status), catalogue.fingerprint(place)
        same = replace(now, device=known.device) == known
        if row["state"] != FileState.PENDING and not (same and not is_racy(known, int(row["seen_ns"]))):
            stat_key = now.inode, now.size, now.mtime_ns, now.ctime_ns
            changed.append(_restated(catalogue, place, stat_key, time.time_ns()))
    return Difference(changed=tuple(changed), gone=tuple(gone))


def stat_array(stats: Sequence[tuple[int, int, int, int]]) -> npt.NDArray[np.int64]:
    """Return stats as rows of 64-bit numbers, in the form in which they are stored."""
    try:
        return np.array(stats, np.int64)
    except OverflowError:
        return np.array([[signed(number) for number in one] for one in stats], np.int64)


def not_a_folder_any_more(root: Root) -> NotFound:
    """Return the error to raise where something else lies at the root's path by now."""
    return NotFound(f"`{display(root.path)}` is no folder any more.", "Name the folder as it is called now.")


def _restated(
    catalogue: Catalogue, place: int, stat_key: tuple[int, int, int, int], seen: int
) -> tuple[int, Fingerprint, int]:
    """Return id, present stat and time of the look of a file whose bytes are not those the index knows."""
    row = catalogue.facts[place]
    inode, size, mtime_ns, ctime_ns = stat_key
    return int(row["id"]), Fingerprint(int(row["device"]), inode, size, signed(mtime_ns), signed(ctime_ns)), seen


def _look(root: Root, settings: WalkSettings, catalogue: Catalogue, scope: RelPath) -> tuple[Look, _Met]:
    began = time.perf_counter()
    met = _Met()
    low, high = catalogue.below(scope)
    try:
        status = root.stat(scope)
    except OSError as error:
        raise NotFound(
            f"The folder `{display(root.path)}` is not there any more ({error.strerror}).",
            "Name it as it is called now.",
        ) from error
    if not scope and not stat.S_ISDIR(status.st_mode):
        raise not_a_folder_any_more(root)
    if stat.S_ISDIR(status.st_mode):
        _meet_folder(root, settings, catalogue, scope, met)
    elif stat.S_ISREG(status.st_mode):
        place = catalogue.index(scope)
        if place >= 0:
            met.places.append(place)
            met.stats.append((status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        else:
            ignored = IgnoreRules(root, settings).is_ignored(scope, is_folder=False)
            met.new.append(NewFile(path_key(scope), from_stat(status), is_hidden(scope), ignored))
    else:
        raise NotFound(f"`{display(scope)}` is neither a file nor a folder.", "Name a regular file or a folder.")
    current, gone = _judge(catalogue.facts[low:high], low, met)
    met.new.sort(key=lambda new: new.key)
    seconds = time.perf_counter() - began
    return Look(catalogue, scope, low, high, current, gone, tuple(met.new), seconds, tuple(met.problems)), met


def _meet_folder(root: Root, settings: WalkSettings, catalogue: Catalogue, scope: RelPath, met: _Met) -> None:
    known = catalogue.places_by_key
    # the row of a file that was left out when somebody named it, and no longer is, gives way to an ordinary one
    named = frozenset(np.flatnonzero(catalogue.facts["ignored"]).tolist())
    places, stats, new = met.places, met.stats, met.new
    for folder in walk(root, settings, scope):
        if folder.problem is not None or folder.status is None:
            met.problems.append(f"{display(folder.path) or '.'}: {folder.problem}")
            continue
        key = path_key(folder.path)
        met.folders.append(FolderRow(key, signed(folder.status.st_mtime_ns), time.time_ns()))
        prefix = key + b"\0" if key else b""
        for name, status, hidden, ignored in folder.files:
            place = known.get(prefix + name, -1)
            if place >= 0 and (ignored or place not in named):
                places.append(place)
                stats.append((status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
            else:
                new.append(NewFile(prefix + name, from_stat(status), hidden, ignored))


def _judge(facts: Facts, low: int, met: _Met) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return, for each known file in scope, whether its row is current and whether the file is gone."""
    current = np.zeros(len(facts), np.bool_)
    gone = np.ones(len(facts), np.bool_)
    if met.places:
        at = np.array(met.places, np.int64) - low
        found = stat_array(met.stats)
        rows = facts[at]
        same = np.ones(len(at), np.bool_)
        for column, name in enumerate(("inode", "size", "mtime_ns", "ctime_ns")):
            same &= found[:, column] == rows[name].astype(np.int64)
        current[at] = same & ~suspects(rows["mtime_ns"], rows["ctime_ns"], rows["seen_ns"])
        gone[at] = False
    return current, gone
