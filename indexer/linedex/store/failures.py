"""What SQLite and the system say when a sidecar cannot be used: is what is stored lost, or is it refused for now?

Promise: every error of either kind means that answers come from the files, and no other error does. Only damage is a
reason to begin a sidecar anew; a full disk, a lack of descriptors or a missing permission passes, and what is stored
then counts again.
"""

from __future__ import annotations

import errno
from typing import Final

import apsw

_READS: Final = frozenset(
    apsw.mapping_extended_result_codes[name]
    for name in ("SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS", "SQLITE_IOERR_DATA")
)
"""Errors of the disk about bytes that are stored: reading them again will not help."""
_DAMAGED: Final = (apsw.CorruptError, apsw.NotADBError)
_REFUSED: Final = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)

STOPPING: Final = (apsw.Error, OSError)
"""What may end a reading or a build halfway; `unusable` says whether it is the system's or the file's doing."""


def is_damage(error: Exception) -> bool:
    """Return whether `error` says that what is stored is lost."""
    return isinstance(error, _DAMAGED) or (
        isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) in _READS
    )


def unusable(error: Exception) -> bool:
    """Return whether `error` speaks of the stored index or of the system, rather than of a wrong statement."""
    return isinstance(error, (*_DAMAGED, *_REFUSED, OSError))


def why(error: Exception) -> str:
    """Return what a person has to know of a refusal: its reason, then what to do, as the end of a sentence."""
    code = error.errno if isinstance(error, OSError) else 0
    if isinstance(error, apsw.FullError) or code in {errno.ENOSPC, errno.EDQUOT}:
        return "the disk is full; free some space where the state folder lies"
    if code in {errno.EMFILE, errno.ENFILE}:
        return "too many files are open; raise the limit (ulimit -n) or end other programs"
    if isinstance(error, apsw.ReadOnlyError) or code in {errno.EROFS, errno.EACCES, errno.EPERM}:
        return f"{_words(error)}; make the state folder writable, or name another with LINEDEX_STATE_DIR"
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return "another program holds it; `linedex status` says which daemon runs"
    return f"{_words(error)}; look after the state folder and its disk"


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
