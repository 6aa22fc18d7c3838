"""The walk: every regular file and folder below a root that ignore rules leave in, with its stat.

Promise: each file is met once, links are never followed, and what cannot be listed or read is reported, not dropped.
Names are raw bytes. A folder is opened below the root and everything in it is stat-ed through that descriptor, so no
link set meanwhile leads the walk elsewhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from linedex.errors import LinedexError, Unreadable
from linedex.files.ignore import REPOSITORY, FolderRules, IgnoreRules, WalkSettings
from linedex.files.roots import Root
from linedex.model import RelPath, SkipReason

_DOT = ord(".")


class SpecialKind(StrEnum):
    """What an entry is that is neither a regular file nor a folder."""

    LINK = "link"
    FIFO = "fifo"
    SOCKET = "socket"
    DEVICE = "device"


_SPECIAL_KINDS = {
    stat.S_IFLNK: SpecialKind.LINK,
    stat.S_IFIFO: SpecialKind.FIFO,
    stat.S_IFSOCK: SpecialKind.SOCKET,
}


class WalkedFile(NamedTuple):
    """A regular file; `hidden` says whether its name or that of a folder around it starts with a dot."""

    name: bytes
    status: os.stat_result
    hidden: bool
    ignored: bool


class WalkedSubfolder(NamedTuple):
    """A folder inside the walked one; the walk comes to it later."""

    name: bytes
    hidden: bool
    ignored: bool


class WalkedSpecial(NamedTuple):
    """An entry that is never opened: a link, FIFO, socket or device."""

    name: bytes
    kind: SpecialKind
    hidden: bool
    ignored: bool


@dataclass(frozen=True, slots=True)
class WalkedFolder:
    """One folder and its entries, each kind sorted by name.

    Attributes:
        path: the folder below the root.
        status: its stat, taken before it was listed; None when it could not be opened.
        hidden: whether a component of its path starts with a dot.
        ignored: whether rules leave it out (met only when asked for).
        repository: whether git's ignore files count in it.
        files: its regular files.
        folders: the folders in it.
        specials: links, FIFOs, sockets and devices.
        vanished: names that were gone before they could be stat-ed.
        problem: why it could not be listed, or None.
    """

    path: RelPath
    status: os.stat_result | None
    hidden: bool
    ignored: bool
    repository: bool = False
    files: tuple[WalkedFile, ...] = ()
    folders: tuple[WalkedSubfolder, ...] = ()
    specials: tuple[WalkedSpecial, ...] = ()
    vanished: tuple[bytes, ...] = ()
    problem: SkipReason | None = None


def walk(
    root: Root, settings: WalkSettings, below: RelPath = RelPath(b""), rules: IgnoreRules | None = None
) -> Iterator[WalkedFolder]:
    """Yield a folder of the root and all folders in it, each before those inside it.

    Args:
        root: where the walk is confined to.
        settings: what it takes in.
        below: the folder to start at.
        rules: the root's ignore rules when the caller has them at hand.
    """
    rules = rules or IgnoreRules(root, settings)
    start = below, rules.above(below), rules.is_ignored(below, is_folder=True)
    waiting: list[tuple[RelPath, FolderRules, bool]] = [start]
    while waiting:
        path, above, ignored = waiting.pop()
        folder, here = _listed(root, path, settings, rules, above, ignored=ignored)
        yield folder
        prefix = path + b"/" if path else b""
        waiting.extend((RelPath(prefix + sub.name), here, sub.ignored) for sub in reversed(folder.folders))


def list_folder(root: Root, path: RelPath, settings: WalkSettings, rules: IgnoreRules | None = None) -> WalkedFolder:
    """Return one folder as `walk` would yield it, judged by the rules of all folders around it."""
    rules = rules or IgnoreRules(root, settings)
    ignored = rules.is_ignored(path, is_folder=True)
    return _listed(root, path, settings, rules, rules.above(path), ignored=ignored)[0]


def is_hidden(path: bytes) -> bool:
    """Say whether a component of a path below a root starts with a dot."""
    return path.startswith(b".") or b"/." in path


def _listed(
    root: Root, path: RelPath, settings: WalkSettings, rules: IgnoreRules, above: FolderRules, *, ignored: bool
) -> tuple[WalkedFolder, FolderRules]:
    """List one folder, and return with it the rules that govern its entries."""
    hidden = is_hidden(path)
    try:
        descriptor = root.open_folder(path)
    except LinedexError as error:
        problem = SkipReason.UNREADABLE if isinstance(error, Unreadable) else SkipReason.VANISHED
        return WalkedFolder(path, None, hidden, ignored, problem=problem), above
    try:
        status = os.fstat(descriptor)
        files, folders, specials = _entries(descriptor)
        here = above if ignored else rules.enter(above, path, descriptor, [*files, *folders])
        left_out = set() if ignored else here.ignored([*files, *specials], folders)
        files, folders, others = (_wanted(listed, settings, left_out) for listed in (files, folders, specials))
        walked: list[WalkedFile] = []
        vanished: list[bytes] = []
        for name, found in zip(files, stat_entries(descriptor, files), strict=True):
            if found is None:
                vanished.append(name)
            elif stat.S_ISREG(found.st_mode):
                walked.append(WalkedFile(name, found, hidden or name[0] == _DOT, ignored or name in left_out))
            else:
                others.append(name)
                specials[name] = _SPECIAL_KINDS.get(stat.S_IFMT(found.st_mode), SpecialKind.DEVICE)
        return WalkedFolder(
            path,
            status,
            hidden,
            ignored,
            repository=here.repository,
            files=tuple(walked),
            folders=tuple(
                WalkedSubfolder(name, hidden or name[0] == _DOT, ignored or name in left_out) for name in folders
            ),
            specials=tuple(
                WalkedSpecial(name, specials[name], hidden or name[0] == _DOT, ignored or name in left_out)
                for name in others
            ),
            vanished=tuple(vanished),
        ), here
    except OSError:
        return WalkedFolder(path, status, hidden, ignored, problem=SkipReason.UNREADABLE), above
    finally:
        os.close(descriptor)


def _wanted(listed: Iterable[bytes], settings: WalkSettings, left_out: set[bytes]) -> list[bytes]:
    wanted = sorted(listed)
    if REPOSITORY in wanted:
        wanted.remove(REPOSITORY)
    if left_out and not settings.include_ignored:
        wanted = [name for name in wanted if name not in left_out]
    if not settings.include_hidden:
        wanted = [name for name in wanted if name[0] != _DOT]
    return wanted


def _entries(folder: int) -> tuple[list[bytes], list[bytes], dict[bytes, SpecialKind]]:
    """Return the names in an open folder: regular files, folders, and the rest with its kind."""
    files: list[bytes] = []
    folders: list[bytes] = []
    specials: dict[bytes, SpecialKind] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            name = os.fsencode(entry.name)
            if entry.is_file(follow_symlinks=False):
                files.append(name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif entry.is_symlink():
                specials[name] = SpecialKind.LINK
            else:
                mode = entry.stat(follow_symlinks=False).st_mode
                specials[name] = _SPECIAL_KINDS.get(stat.S_IFMT(mode), SpecialKind.DEVICE)
    return files, folders, specials


def stat_entries(folder: int, listed: Sequence[bytes]) -> list[os.stat_result | None]:
    """Return the stat of each name in an open folder, links not followed; None where there is nothing any more."""
    look = os.stat
    try:
        return [look(name, dir_fd=folder, follow_symlinks=False) for name in listed]
    except OSError:
        return [_stat_entry(folder, name) for name in listed]


def _stat_entry(folder: int, name: bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
