"""Recheck: the fast way to compare a catalogue of known folders and files with the disk.

Promise: what differs is named, and what is not named had, at the time of the call, the stat that the catalogue holds.
A folder whose own stat differs must be listed again, since only a listing shows what was added.

Measured on a source tree of 78,579 files in 5,096 folders, warm: 0.26 s, of which the system calls alone are 0.14 s.
One stat a file through the descriptor of its folder (0.21 s bare) was the fastest plain way of those tried: full paths
took 0.24 s, two threads 0.26 s (the interpreter's lock changes hands at each call), scandir with stat 0.32 s, statx
through ctypes into one array 0.20 s.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linedex.errors import LinedexError
from linedex.files.roots import Root
from linedex.files.walk import stat_entries
from linedex.model import RelPath


class StatKey(NamedTuple):
    """The part of a stat that changes when a file or folder does; times in nanoseconds."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> StatKey:
        """Return the key of a stat."""
        return cls(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class KnownFolder(NamedTuple):
    """A folder as the catalogue knows it; `keys` go with `names`. Plain 4-tuples do for keys, and compare faster."""

    path: RelPath
    key: tuple[int, int, int, int]
    names: Sequence[bytes]
    keys: Sequence[tuple[int, int, int, int]]


@dataclass(frozen=True, slots=True)
class FolderDifference:
    """How a folder differs from the catalogue.

    Attributes:
        path: the folder.
        status: its stat now; None when it is gone or cannot be opened, and then nothing is said about its files.
        relist: whether its own stat differs, so that it must be listed again.
        changed: files whose stat differs, with their stat now.
        gone: files that are there no more.
    """

    path: RelPath
    status: os.stat_result | None
    relist: bool
    changed: tuple[tuple[bytes, os.stat_result], ...] = ()
    gone: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderStats:
    """The stats of one folder and of names in it; None for what is gone or cannot be reached."""

    path: RelPath
    status: os.stat_result | None
    entries: Sequence[os.stat_result | None]


def stat_many(root: Root, folders: Iterable[tuple[RelPath, Sequence[bytes]]]) -> Iterator[FolderStats]:
    """Yield the stats of many files, a folder at a time, in the order given; links are not followed."""
    for path, names in folders:
        try:
            descriptor = root.open_folder(path)
        except LinedexError:
            yield FolderStats(path, None, [None] * len(names))
            continue
        try:
            stats = FolderStats(path, os.fstat(descriptor), stat_entries(descriptor, names))
        finally:
            os.close(descriptor)
        yield stats


def recheck(root: Root, known: Iterable[KnownFolder]) -> Iterator[FolderDifference]:
    """Yield the folders in which something differs from what is known."""
    for path, key, names, keys in known:
        try:
            descriptor = root.open_folder(path)
        except LinedexError:
            yield FolderDifference(path, None, relist=True)
            continue
        try:
            status = os.fstat(descriptor)
            differences = _differences(descriptor, names, keys)
        finally:
            os.close(descriptor)
        relist = StatKey.of(status) != key
        if relist or differences:
            changed = tuple((name, found) for name, found in differences if found is not None)
            gone = tuple(name for name, found in differences if found is None)
            yield FolderDifference(path, status, relist, changed, gone)


def _differences(
    folder: int, names: Sequence[bytes], keys: Sequence[tuple[int, int, int, int]]
) -> list[tuple[bytes, os.stat_result | None]]:
    differences: list[tuple[bytes, os.stat_result | None]] = []
    look = os.stat
    for name, key in zip(names, keys, strict=True):
        try:
            found = look(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            differences.append((name, None))
            continue
        if (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns) != key:
            differences.append((name, found))
    return differences
