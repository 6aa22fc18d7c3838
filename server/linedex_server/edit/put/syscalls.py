"""System calls that the standard library lacks, and which of them a commit may use here.

Promise: a call that this system or file system does not have is told by `Unsupported`, never by a wrong result, so
that each has a plain way beside it. `PLAIN` takes the plain ways everywhere, as macOS and network mounts do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from dataclasses import dataclass
from typing import Final

_RENAME_NOREPLACE: Final = 1
_RENAME_EXCHANGE: Final = 2
_SYNC_FILE_RANGE_WRITE: Final = 2
_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})

_LIBC: Final = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Unsupported(Exception):
    """The system or this file system does not know the call."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """Which of Linux's calls a commit may use; each may still turn out to be `Unsupported` by a file system.

    Attributes:
        leases: read leases, which prove that nobody has a file open for writing.
        renames: renames that exchange two names, and renames that never replace.
        ranges: copies inside the kernel, and write-back that is started without waiting for it.
    """

    leases: bool = True
    renames: bool = True
    ranges: bool = True


PLAIN: Final = Abilities(leases=False, renames=False, ranges=False)
NATIVE: Final = (
    Abilities(renames=hasattr(_LIBC, "renameat2"), ranges=hasattr(_LIBC, "sync_file_range"))
    if _LIBC is not None
    else PLAIN
)


def exchange(folder: int, one: bytes, other: bytes) -> None:
    """Let two names of a folder change places in one step.

    Raises:
        Unsupported: the file system cannot.
        OSError: as rename.
    """
    _renameat2(folder, one, other, _RENAME_EXCHANGE)


def rename_to_new(folder: int, old: bytes, new: bytes) -> None:
    """Rename inside a folder, unless `new` exists.

    Raises:
        Unsupported: the file system cannot.
        FileExistsError: there is a file of that name.
        OSError: as rename.
    """
    _renameat2(folder, old, new, _RENAME_NOREPLACE)


def _renameat2(folder: int, old: bytes, new: bytes, flags: int) -> None:
    if _LIBC is None:
        raise Unsupported
    while _LIBC.renameat2(folder, old, folder, new, ctypes.c_uint(flags)):
        number = ctypes.get_errno()
        if number in _UNSUPPORTED:
            raise Unsupported
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number), new)


def start_write_back(descriptor: int, offset: int, size: int) -> None:
    """Let the system begin to write a stretch of a file to disk; it is a hint, so a refusal is no error."""
    if _LIBC is not None:
        _LIBC.sync_file_range(
            descriptor, ctypes.c_int64(offset), ctypes.c_int64(size), ctypes.c_uint(_SYNC_FILE_RANGE_WRITE)
        )
