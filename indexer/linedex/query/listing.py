"""What is in a folder, read from the disk at the moment of asking.

Promise: entries come in path order, what stands in a folder right after it; what is no file or folder is named as what
it is and never opened; links are not followed. At `max_entries` the list is cut, said so, and the rest only counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace

from linedex.answers import FolderEntry, FolderListing
from linedex.errors import Unreadable
from linedex.files.ignore import IgnoreRules, WalkSettings
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.files.walk import WalkedFile, WalkedFolder, WalkedSpecial, WalkedSubfolder, list_folder
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.query.read import demand_positive

_Entry = WalkedFile | WalkedSubfolder | WalkedSpecial


def listing(
    root: Root,
    settings: WalkSettings,
    path: RelPath,
    limits: Limits,
    *,
    max_depth: int = 1,
    max_entries: int = 200,
    include_hidden: bool = False,
    include_ignored: bool = False,
) -> FolderListing:
    """Return the entries of a folder, and of those in it down to a depth.

    A folder that is hidden or ignored itself is listed when it is asked for. Past `limits.query_seconds` counting ends
    too, and the list is said to be cut.

    Args:
        root: the root it is below.
        settings: which ignore rules count.
        path: the folder; b"" is the root.
        limits: the time it may take.
        max_depth: levels to go down; 1 is the folder itself.
        max_entries: entries in the list.
        include_hidden: also names that start with a dot.
        include_ignored: also what ignore rules leave out, marked.

    Raises:
        BadArgument: `max_depth` or `max_entries` is under 1.
        NotFound: there is no such folder.
        NotAFolder: the path names something else.
        Unreadable: the system refuses.
        OutsideRoots: it leads out of the root.
    """
    demand_positive("max_depth", max_depth)
    demand_positive("max_entries", max_entries)
    os.close(root.open_folder(path))  # refuses in the words for what is wrong
    wanted = replace(settings, include_hidden=include_hidden, include_ignored=include_ignored)
    rules = IgnoreRules(root, wanted)
    top = list_folder(root, path, wanted, rules)
    if top.problem is not None:
        raise Unreadable(f"`{display(path)}` cannot be listed: {top.problem}.", "Mend its permissions, or ask again.")
    deadline = time.monotonic() + limits.query_seconds
    entries: list[FolderEntry] = []
    files = folders = 0
    late = False
    levels = [_in_order(top)]
    while levels and not late:
        for place, entry in levels[-1]:
            is_folder = isinstance(entry, WalkedSubfolder)
            files, folders = files + (not is_folder), folders + is_folder
            room, deeper = len(entries) < max_entries, len(levels) < max_depth
            inside = list_folder(root, place, wanted, rules) if is_folder and (room or deeper) else None
            if room:
                entries.append(_listed(place, entry, inside, len(levels)))
            if inside is not None and deeper:
                levels.append(_in_order(inside))
                late = time.monotonic() > deadline
                break
        else:
            levels.pop()
    return FolderListing(path, tuple(entries), files, folders, cut=late or files + folders > len(entries))


def _in_order(folder: WalkedFolder) -> Iterator[tuple[RelPath, _Entry]]:
    """Yield path and entry of what is in a folder, by name."""
    prefix = folder.path + b"/" if folder.path else b""
    entries: list[_Entry] = [*folder.files, *folder.folders, *folder.specials]
    for entry in sorted(entries, key=lambda one: one.name):
        yield RelPath(prefix + entry.name), entry


def _listed(place: RelPath, entry: _Entry, inside: WalkedFolder | None, depth: int) -> FolderEntry:
    return FolderEntry(
        path=place,
        is_folder=isinstance(entry, WalkedSubfolder),
        size=entry.status.st_size if isinstance(entry, WalkedFile) else 0,
        children=None if inside is None or inside.problem is not None else _count(inside),
        depth=depth,
        ignored=entry.ignored,
        special=entry.kind if isinstance(entry, WalkedSpecial) else "",
    )


def _count(folder: WalkedFolder) -> int:
    return len(folder.files) + len(folder.folders) + len(folder.specials)
