"""Who else writes a file: read leases on Linux, the time of the last change elsewhere.

Promise: `Lease.take` answers from the kernel's own count of writers. While the lease is held, a process that opens the
file for writing waits inside its open until the lease is given back (45 s at most, then the kernel takes it), and
`breaking` tells so: what that process will write is never written to a file that has lost its name.

The kernel announces a breaking lease by a signal, SIGIO unless told otherwise, which ends a process that does not
expect it. SIGURG is ignored by default; nothing here waits for it, since `F_GETLEASE` tells the same when asked.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import time
from enum import Enum
from typing import Final

if sys.platform == "linux":
    import fcntl

_SECOND: Final = 1_000_000_000


class Writers(Enum):
    """What is known of processes that have a file open for writing."""

    NONE = "none"
    SOME = "some"
    UNKNOWN = "unknown"


class Lease:
    """A read lease on an open file, or the knowledge that there can be none.

    Attributes:
        writers: who had the file open for writing when the lease was asked for; with NONE the lease is held.
    """

    def __init__(self, descriptor: int, *, wanted: bool) -> None:
        """Ask for a lease on a file open for reading.

        Args:
            descriptor: stays the caller's; closing its last copy gives the lease back.
            wanted: False not to ask, as if the system had no leases.
        """
        self._descriptor = descriptor
        self.writers = _taken(descriptor) if wanted else Writers.UNKNOWN

    @property
    def breaking(self) -> bool:
        """Whether somebody waits to open the file for writing, or the kernel took the lease from us for it."""
        if sys.platform == "linux" and self.writers is Writers.NONE:
            return fcntl.fcntl(self._descriptor, fcntl.F_GETLEASE) != fcntl.F_RDLCK
        return False

    def release(self) -> None:
        """Give the lease back; who waits goes on."""
        if sys.platform == "linux" and self.writers is Writers.NONE:
            self.writers = Writers.UNKNOWN
            # the kernel has taken it already if it was not given back in time
            with contextlib.suppress(BlockingIOError):
                fcntl.fcntl(self._descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _taken(descriptor: int) -> Writers:
    if sys.platform != "linux":
        return Writers.UNKNOWN
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        # EACCES: another's file; EINVAL, EOPNOTSUPP: a file system without leases
        return Writers.SOME if error.errno == errno.EAGAIN else Writers.UNKNOWN
    return Writers.NONE


def is_recent(status: os.stat_result, seconds: float) -> bool:
    """Say whether a file's bytes were changed within the last `seconds`, by its own time and the system's clock."""
    return abs(time.time_ns() - status.st_mtime_ns) < seconds * _SECOND
