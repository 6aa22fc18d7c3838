"""What lies at a sidecar's path and is none of ours: it is moved aside, never deleted and never opened.

Promise: whatever another program or a person put there is kept, under a name beside it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

_KEPT = 1_000
"""Names that are tried for what is moved aside."""


def strange(paths: Iterable[Path]) -> Path | None:
    """Return the first of `paths` that is there and no regular file; opening a FIFO would wait for its other end."""
    for path in paths:
        try:
            status = path.stat()
        except FileNotFoundError:
            # a link that leads nowhere would have SQLite make a file where it points to
            if path.is_symlink():
                return path
            continue
        if not stat.S_ISREG(status.st_mode):
            return path
    return None


def move_aside(path: Path) -> Path:
    """Rename what lies at `path` to a free name beside it, and return that.

    Raises:
        OSError: the system refuses, or every name is taken.
    """
    for number in range(1, _KEPT):
        kept = path.with_name(f"{path.name}.kept-{number}")
        if not os.path.lexists(kept):
            path.rename(kept)
            return kept
    raise FileExistsError(f"{_KEPT:,} files were moved aside beside {path} already")
