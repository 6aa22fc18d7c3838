"""What stands on disk, kept beside a catalogue: which of its rows still tell the truth, and which files it lacks.

Promise: `look` and `difference` say what a walk would say, if each change on disk was told through `meet` and `drop`.
They cost a copy of two columns, and a look nothing where the last one was of the same place and nothing was told since;
telling costs a look-up a file; following the builder from one catalogue to the next (`rebase`) is a few passes over
columns, 4 ms for 80,000 files.

A file of the catalogue is a place in columns; any other is a `NewFile` by its key. Ignored files are in neither: they
are known to the catalogue only when somebody named them, and are looked at by themselves. Once rules leave such a file
in, it is told as gone and new: its row gives way to an ordinary one.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress

import numpy as np
import numpy.typing as npt

from linedex.build.sync import Difference, gone_folders, named_difference, stat_array
from linedex.files.fingerprint import from_stat, signed, suspects
from linedex.files.roots import Root
from linedex.files.walk import is_hidden
from linedex.model import FileState, Fingerprint, RelPath
from linedex.store.catalogue import Catalogue, key_path, path_key
from linedex.store.files import FileRow, FolderRow
from linedex.store.look import Look, NewFile

_STAT = ("inode", "size", "mtime_ns", "ctime_ns")
_MANY = 500
"""From so many files on, a dictionary of places is made rather than searching the sorted keys for each."""

Stats = npt.NDArray[np.int64]


class Present:
    """The files and folders of one root, as far as it was told of them.

    Attributes:
        catalogue: what they are compared with.
        linked: keys of files with more than one link, whose bytes may change through a name nobody watches.
        folders: by their keys, mode, owner and group, time of change, and when they were listed, in ns. Told through
            `meet_folder` and `drop_folders`.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.linked: set[bytes] = set()
        self._twins: set[bytes] = set()
        self.folders: dict[bytes, FolderFacts] = {}
        self._problems: dict[bytes, str] = {}
        self._stats = _stats_of(catalogue)
        self._there = np.zeros(len(catalogue), np.bool_)
        self._current = np.zeros(len(catalogue), np.bool_)
        self._new: dict[bytes, NewFile] = {}
        self._new_keys: list[bytes] = []
        self._unsorted = False
        self._last: Look | None = None

    # being told

    def meet_folder(self, key: bytes, status: os.stat_result) -> bool:
        """Take in that a folder has this stat; return whether it was not known before."""
        fresh = key not in self.folders
        self.folders[key] = FolderFacts(status)
        if fresh:
            self._last = None
        return fresh

    def meet_problem(self, key: bytes, words: str) -> None:
        """Take in that a folder could not be listed, and why."""
        self._problems[key] = words
        self._last = None

    def meet(self, files: Sequence[tuple[bytes, os.stat_result]], *, twins: bool = True) -> list[bytes]:
        """Take in that these files, by key, have these stats; return the keys of those that had not before.

        Args:
            files: what was met.
            twins: whether a file that has a second link may be known under another name that is not among them.
        """
        changed, places, rows, keys = [], [], [], []
        linked: dict[bytes, int] = {}
        find = self.catalogue.places_by_key.get if len(files) > _MANY else self._place
        for key, status in files:
            if status.st_nlink > 1:
                linked[key] = signed(status.st_ino)
            else:
                self.linked.discard(key)
            place = find(key, -1)
            if place >= 0:
                keys.append(key)
                places.append(place)
                rows.append(
                    (signed(status.st_ino), status.st_size, status.st_mtime_ns, status.st_ctime_ns),
                )
                continue
            stat = from_stat(status)
            former = self._new.get(key)
            if former is None or former.stat != stat:
                changed.append(key)
                self._add_new(NewFile(key, stat, is_hidden(key_path(key))))
        if places:
            at = np.array(places, np.intp)
            now = stat_array(rows)
            differs = (self._stats[at] != now).any(axis=1) | ~self._there[at]
            self._stats[at] = now
            self._there[at] = True
            self._judge(at)
            changed += compress(keys, differs.tolist())
        if changed:
            self._last = None
        self.linked.update(linked)
        if twins and (inodes := [linked[key] for key in changed if key in linked]):
            self._find_twins(inodes)
        return changed

    def drop(self, key: bytes) -> tuple[list[bytes], list[bytes]]:
        """Take in that nothing is at `key` or below; return the keys of the files and folders that were there."""
        self._last = None
        gone = self.files_below(key)
        low, high = self.catalogue.below(key_path(key))
        self._there[low:high] = False
        self._current[low:high] = False
        self._drop_new(gone)
        self.linked.difference_update(gone)
        self.forget_problems(key)
        return gone, self.drop_folders(self.folders_below(key))

    def drop_files(self, keys: Iterable[bytes]) -> None:
        """Take in that these files are not there."""
        self._last = None
        gone = list(keys)
        places = [place for key in gone if (place := self._place(key)) >= 0]
        self._there[places] = False
        self._current[places] = False
        self._drop_new(gone)
        self.linked.difference_update(gone)

    def drop_folders(self, keys: Iterable[bytes]) -> list[bytes]:
        """Take in that these folders are not there; return those that were."""
        self._last = None
        gone = [key for key in keys if key in self.folders]
        for key in gone:
            del self.folders[key]
        return gone

    def forget_problems(self, key: bytes) -> None:
        """Forget what was wrong with the folder at `key` and with those in it."""
        for folder in [folder for folder in self._problems if _is_below(folder, key)]:
            del self._problems[folder]
            self._last = None

    # asking

    def has(self, key: bytes) -> bool:
        """Say whether a file is there."""
        place = self._place(key)
        return bool(self._there[place]) if place >= 0 else key in self._new

    def files_below(self, key: bytes) -> list[bytes]:
        """Return the keys of the files that are at `key` or below."""
        low, high = self.catalogue.below(key_path(key))
        return [*compress(self.catalogue.keys[low:high], self._there[low:high].tolist()), *self._new_below(key)]

    def folders_below(self, key: bytes) -> list[bytes]:
        """Return the keys of the folders that are at `key` or below."""
        if not key:
            return list(self.folders)
        if key not in self.folders:
            return []
        return [folder for folder in self.folders if _is_below(folder, key)]

    def look(self, scope: RelPath) -> Look | None:
        """Return what stands at or below `scope`, None when nothing is known to be there."""
        if self._last is not None and self._last.scope == scope:
            return self._last
        began = time.perf_counter()
        key = path_key(scope)
        if key not in self.folders and not self.has(key):
            return None
        low, high = self.catalogue.below(scope)
        there = self._there[low:high] & ~self.catalogue.column("ignored")[low:high]
        new = tuple(self._new[name] for name in self._new_below(key))
        if admitted := self._admitted(low, high):
            new = tuple(sorted((*new, *map(self._as_new, admitted)), key=lambda file: file.key))
        problems = tuple(text for folder, text in self._problems.items() if _is_below(folder, key))
        current = self._current[low:high].copy()
        seconds = time.perf_counter() - began
        self._last = Look(self.catalogue, scope, low, high, current, ~there, new, seconds, problems)
        return self._last

    def difference(self, root: Root) -> Difference:
        """Return what the catalogue has to learn; files that somebody named are looked at in `root`."""
        catalogue, facts = self.catalogue, self.catalogue.facts
        seen = time.time_ns()
        stale = np.flatnonzero(self._there & ~self._current & ~facts["ignored"] & (facts["state"] != FileState.PENDING))
        changed = tuple(
            (int(facts["id"][place]), Fingerprint(int(facts["device"][place]), *_unsigned(stats)), seen)
            for place, stats in zip(stale.tolist(), self._stats[stale].tolist(), strict=True)
        )
        admitted = self._admitted(0, len(catalogue))
        named = named_difference(root, catalogue, np.flatnonzero(facts["ignored"] & ~self._there).tolist())
        known_folders = set(catalogue.folder_keys)
        return Difference(
            tuple(
                FolderRow(key, folder.mtime_ns, folder.seen_ns)
                for key, folder in self.folders.items()
                if key not in known_folders
            ),
            (
                *(FileRow(key, self._new[key].stat, seen) for key in self._new_below(b"")),
                *(FileRow(new.key, new.stat, seen) for new in map(self._as_new, admitted)),
            ),
            (*changed, *named.changed),
            (*facts["id"][~self._there & ~facts["ignored"]].tolist(), *facts["id"][admitted].tolist(), *named.gone),
            gone_folders(catalogue, self.folders, named),
        )

    # following the builder

    def rebase(self, catalogue: Catalogue) -> None:
        """Compare with `catalogue` from now on."""
        before = self.catalogue
        if catalogue is before:
            return
        self._last = None
        self.catalogue = catalogue
        if catalogue.keys is not before.keys:
            self._realign(before, catalogue)
        self._current = np.zeros(len(catalogue), np.bool_)
        self._judge(np.flatnonzero(self._there))

    def _realign(self, before: Catalogue, after: Catalogue) -> None:
        """Carry the columns over to the places of another catalogue."""
        ids, next_ids = before.facts["id"], after.facts["id"]
        stays, stayed = np.isin(ids, next_ids), np.isin(next_ids, ids)
        if list(compress(before.keys, stays.tolist())) != list(compress(after.keys, stayed.tolist())):
            # a row has another key than before: it speaks of another file of the disk
            kept = set(before.keys).intersection(after.keys)
            stays = np.fromiter((key in kept for key in before.keys), np.bool_, len(before))
            stayed = np.fromiter((key in kept for key in after.keys), np.bool_, len(after))
        stats, there = self._stats, self._there
        self._stats = _stats_of(after)
        self._there = np.zeros(len(after), np.bool_)
        self._stats[stayed] = stats[stays]
        self._there[stayed] = there[stays]
        for place in np.flatnonzero(~stays & there).tolist():
            new = _new_file(before, place, stats[place].tolist())
            self._new[new.key] = new
        for place in np.flatnonzero(~stayed).tolist():
            met = self._new.pop(after.keys[place], None)
            if met is not None:
                stat = met.stat
                self._stats[place] = (signed(stat.inode), stat.size, stat.mtime_ns, stat.ctime_ns)
                self._there[place] = True
        self._unsorted = True

    def _admitted(self, low: int, high: int) -> list[int]:
        """Return the places, from `low` up to `high`, of files that are there and known as left out."""
        found = np.flatnonzero(self._there[low:high] & self.catalogue.column("ignored")[low:high])
        return [low + place for place in found.tolist()]

    def _as_new(self, place: int) -> NewFile:
        return _new_file(self.catalogue, place, self._stats[place].tolist())

    def _judge(self, at: npt.NDArray[np.intp]) -> None:
        rows = self.catalogue.facts[at]
        stats = self._stats[at]
        same = np.ones(len(at), np.bool_)
        for column, name in enumerate(_STAT):
            same &= stats[:, column] == rows[name].astype(np.int64)
        self._current[at] = same & ~suspects(rows["mtime_ns"], rows["ctime_ns"], rows["seen_ns"])

    def _find_twins(self, inodes: list[int]) -> None:
        twins = {self.catalogue.keys[at] for at in np.flatnonzero(np.isin(self._stats[:, 0], inodes) & self._there)}
        wanted = set(inodes)
        twins.update(key for key, met in self._new.items() if signed(met.stat.inode) in wanted)
        self._twins |= twins - self.linked
        self.linked |= twins

    def take_twins(self) -> set[bytes]:
        """Return the files that were found to have a second link since the last call, and not by looking at them.

        Those that are known no more are not among them: rules may have left one out meanwhile.
        """
        twins, self._twins = self._twins, set()
        return set(filter(self.has, twins))

    # files the catalogue lacks

    def _place(self, key: bytes, otherwise: int = -1) -> int:
        keys = self.catalogue.keys
        at = bisect_left(keys, key)
        return at if at < len(keys) and keys[at] == key else otherwise

    def _add_new(self, file: NewFile) -> None:
        if file.key not in self._new:
            self._unsorted = True
        self._new[file.key] = file

    def _drop_new(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            if self._new.pop(key, None) is not None:
                self._unsorted = True

    def _new_below(self, key: bytes) -> list[bytes]:
        if self._unsorted:
            self._new_keys = sorted(self._new)
            self._unsorted = False
        keys = self._new_keys
        if not key:
            return list(keys)
        return keys[bisect_left(keys, key) : bisect_left(keys, key + b"\1")]


class FolderFacts:
    """What is known of a folder; see `Present.folders`."""

    __slots__ = ("access", "mtime_ns", "seen_ns")

    def __init__(self, status: os.stat_result) -> None:
        self.access = access_of(status)
        self.mtime_ns = signed(status.st_mtime_ns)
        self.seen_ns = time.time_ns()


def _is_below(key: bytes, folder: bytes) -> bool:
    return not folder or key == folder or key.startswith(folder + b"\0")


def access_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return what decides whether a folder can be listed, and which folder it is."""
    return status.st_mode, status.st_uid, status.st_gid, status.st_ino


def _stats_of(catalogue: Catalogue) -> Stats:
    stats = np.empty((len(catalogue), len(_STAT)), np.int64)
    for column, name in enumerate(_STAT):
        stats[:, column] = catalogue.facts[name].astype(np.int64)
    return stats


def _new_file(catalogue: Catalogue, place: int, stats: list[int]) -> NewFile:
    key = catalogue.keys[place]
    stat = Fingerprint(int(catalogue.facts["device"][place]), *_unsigned(stats))
    return NewFile(key, stat, is_hidden(key_path(key)))


def _unsigned(stats: list[int]) -> tuple[int, int, int, int]:
    inode, size, mtime_ns, ctime_ns = stats
    return inode % (1 << 64), size, mtime_ns, ctime_ns
