"""Holes of sparse files: bytes that no block of the disk stands behind are NULs, and need not be read to be known.

Promise: `pread` returns what `os.pread` returns. Where the system or the file system tells no holes, all is read.
"""

from __future__ import annotations

import errno
import os
from functools import lru_cache
from typing import Final

_SEEK_DATA: Final[int | None] = getattr(os, "SEEK_DATA", None)
_WORTH_ASKING: Final = 64 << 10
"""Where data begins is told in 1 us, in which 10 KiB are read."""
_KEPT: Final = 4 << 20


def pread(descriptor: int, size: int, offset: int) -> bytes:
    """Return up to `size` bytes of the open file from `offset`; of a hole without reading it.

    The descriptor's own position may move.

    Raises:
        OSError: it cannot be read.
    """
    if size >= _WORTH_ASKING and (hole := _hole(descriptor, size, offset)):
        return _nuls(hole)
    return os.pread(descriptor, size, offset)


def _hole(descriptor: int, size: int, offset: int) -> int:
    """Return how many of `size` bytes there are if all of them are in a hole, else 0."""
    if _SEEK_DATA is None:
        return 0
    try:
        return size if os.lseek(descriptor, offset, _SEEK_DATA) >= offset + size else 0
    except OSError as error:
        # no data comes any more; other errors mean that holes are not told
        return max(0, min(size, os.fstat(descriptor).st_size - offset)) if error.errno == errno.ENXIO else 0


def _nuls(size: int) -> bytes:
    # the same object each time is made at once, and compared with itself at once
    return _same_nuls(size) if size <= _KEPT else bytes(size)


@lru_cache(maxsize=4)
def _same_nuls(size: int) -> bytes:
    return bytes(size)
