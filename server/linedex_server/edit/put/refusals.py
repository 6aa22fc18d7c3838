"""What the system refuses to a write, in words: what failed, why, what to do next."""

from __future__ import annotations

import errno
from typing import Final

from linedex_server.edit.errors import WriteFailed

_WHY: Final = {
    errno.ENOSPC: ("the disk is full", "Free some space, then try again."),
    errno.EDQUOT: ("your disk quota is used up", "Free some space, then try again."),
    errno.EROFS: ("its file system is read-only", "Remount it for writing, or write elsewhere."),
    errno.EACCES: ("permission is denied", "Check the permissions of the file and its folder."),
    errno.EPERM: ("the system does not permit it", "Check owner and attributes of the file and its folder."),
    errno.ENOENT: ("its folder is gone", "List the folder above to see what is there."),
    errno.ENOTDIR: ("its folder is gone", "List the folder above to see what is there."),
    errno.ENAMETOOLONG: ("its name is too long", "Choose a shorter name."),
    errno.EFBIG: ("the file would become too large", "Write less, or raise the limit of file sizes."),
    errno.EIO: ("the disk reports an error", "Look after the disk before you write again."),
    errno.EINTR: ("the system interrupted the write", "Try again."),
    errno.EAGAIN: ("another process holds it under a lease", "Try again in a moment."),
    errno.ETXTBSY: ("it is a program that is running", "End the program, then try again."),
}


def refusal(error: OSError, shown: str, *, taken_back: bool) -> WriteFailed:
    """Return the error to raise for one of the system.

    Args:
        error: what the system said.
        shown: how the caller spells what was to be written.
        taken_back: whether everything is as before; if not, the next start sees to it.
    """
    why, hint = _WHY.get(error.errno or 0, (error.strerror or str(error), "Correct that, then try again."))
    after = "it is unchanged" if taken_back else "what was begun could not be taken back, which the next start will do"
    return WriteFailed(f"{shown} was not written: {why}; {after}.", hint)
