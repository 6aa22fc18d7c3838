"""Our own state below a root: left out of it, since each write to an index would call for indexing that write."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root

_SPECIAL = re.compile(rb"[][*?!#\\ ]")


def without_own_state(settings: WalkSettings, root: Root, sidecar: Path, state: Path | None = None) -> WalkSettings:
    """Return settings that leave our own files out, as far as they lie below the root.

    Args:
        settings: what else is taken in or left out.
        root: the folder.
        sidecar: its index; without `state` the folder around it counts as ours, if that is not the root itself.
        state: the folder that holds all our state.
    """
    place = root.below(os.path.realpath(os.fsencode(sidecar)))
    if place is None:
        return settings
    kept = root.below(os.path.realpath(os.fsencode(state))) if state is not None else None
    folder = kept or os.path.dirname(place)
    if folder:
        own = [_escaped(folder) + b"/"]
    else:
        own = [_escaped(place) + b"*", _escaped(os.path.splitext(place)[0]) + b".lock"]
    return replace(settings, globs=(*settings.globs, *(os.fsdecode(b"/" + glob) for glob in own)))


def _escaped(path: bytes) -> bytes:
    return _SPECIAL.sub(rb"\\\g<0>", path)
