"""What of ours lies below a root and is left out of it.

Each write to an index would call for indexing that write, and the copy of a file that an edit makes is not the user's.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root

TEMPORARY_PREFIX = b".linedex-"
TEMPORARY_SUFFIX = b".tmp"
FORMER_SUFFIX = b".old"
"""How files are named that exist beside a user's file for the time of an edit."""

_SPECIAL = re.compile(rb"[][*?!#\\ ]")


def without_own_state(settings: WalkSettings, root: Root, sidecar: Path, state: Path | None = None) -> WalkSettings:
    """Return settings that leave our own files out, as far as they lie below the root.

    Args:
        settings: what else is taken in or left out.
        root: the folder.
        sidecar: its index; without `state` the folder around it counts as ours, if that is not the root itself.
        state: the folder that holds all our state.
    """
    ours = [TEMPORARY_PREFIX + b"*" + suffix for suffix in (TEMPORARY_SUFFIX, FORMER_SUFFIX)]
    ours += [b"/" + glob for glob in _state(root, sidecar, state)]
    return replace(settings, globs=(*settings.globs, *map(os.fsdecode, ours)))


def _state(root: Root, sidecar: Path, state: Path | None) -> list[bytes]:
    place = root.below(os.path.realpath(os.fsencode(sidecar)))
    if place is None:
        return []
    kept = root.below(os.path.realpath(os.fsencode(state))) if state is not None else None
    folder = kept or os.path.dirname(place)
    if folder:
        return [_escaped(folder) + b"/"]
    return [_escaped(place) + b"*", _escaped(os.path.splitext(place)[0]) + b".lock"]


def _escaped(path: bytes) -> bytes:
    return _SPECIAL.sub(rb"\\\g<0>", path)
