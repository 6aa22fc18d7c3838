"""Completion of paths: what a person who types the path of a file resource may mean.

Promise: only roots of the session and what lies below them is offered, 100 values at most. Folders end with a slash, so
that typing goes on inside them; hidden names come when their dot was typed, ignored ones not at all.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from linedex.errors import LinedexError
from linedex.files.names import display
from linedex.model import RelPath
from linedex_server.resources import absolute
from linedex_server.workspace import Workspace

MOST_VALUES = 100
"""The protocol's own limit."""
_MOST_LOOKED_AT = 5_000
"""Entries of one folder among which is looked; the listing also counts what is in each folder among them."""


@dataclass(frozen=True, slots=True)
class Completions:
    """The first values, and whether there are more."""

    values: tuple[str, ...]
    more: bool


def paths(workspace: Workspace, typed: str) -> Completions:
    """Return the absolute paths that begin with what was typed; a relative beginning counts from the base folder.

    Nothing is offered for what lies outside every root, is no folder, or cannot be listed.
    """
    whole = typed if typed.startswith("/") or not typed else f"{display(os.fsencode(workspace.base))}/{typed}"
    found = _roots(workspace, whole)
    cut = False
    folder, slash, start = whole.rpartition("/")
    if slash:
        entries, cut = _entries(workspace, folder or "/", start)
        found += [path for path in entries if path not in found]
    return Completions(tuple(found[:MOST_VALUES]), cut or len(found) > MOST_VALUES)


def _roots(workspace: Workspace, start: str) -> list[str]:
    shown = [display(os.fsencode(root)).rstrip("/") + "/" for root in workspace.roots]
    return [path for path in shown if path.startswith(start)]


def _entries(workspace: Workspace, folder: str, start: str) -> tuple[list[str], bool]:
    """Return the paths of a folder's entries whose names begin with `start`, and whether not all were looked at."""
    try:
        index, below = workspace.at(folder)
        listing = index.listing(
            below, max_depth=1, max_entries=_MOST_LOOKED_AT, include_hidden=start.startswith((".", "\\x"))
        )
    except LinedexError:
        return [], False
    found = []
    for entry in listing.entries:
        name = display(entry.path.rpartition(b"/")[2])
        # a link or a FIFO is no resource, and a link may lead out of the roots
        if name.startswith(start) and not entry.special:
            path = display(absolute(index, RelPath(entry.path)))
            found.append(path + "/" if entry.is_folder else path)
    return found, listing.cut
