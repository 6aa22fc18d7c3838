"""Owner, extended attributes, access list and mode, carried over to the file that takes another's place.

Promise: after `carry_over` the new file has what the old one had, or `Irreproducible` says what it could not have. The
order matters: changing the owner clears the set-user bits, an access list sets the mode's group bits, so the mode is
last.
"""

from __future__ import annotations

import os
import stat
import sys


class Irreproducible(Exception):
    """A new file cannot have this attribute of the old one; the message says which, as the reason for in place."""


def permissions(status: os.stat_result) -> int:
    """Return the permission bits of a file, with set-user, set-group and sticky."""
    return stat.S_IMODE(status.st_mode)


def carry_over(old: int, new: int, mode: int | None) -> None:
    """Give the file open as `new` the attributes of the one open as `old`.

    Args:
        old: descriptor of the file they come from.
        new: descriptor of a file of ours.
        mode: permission bits to set instead of the old ones, None for those.

    Raises:
        Irreproducible: one of them cannot be given; nothing is said of the others.
    """
    former, present = os.fstat(old), os.fstat(new)
    if (former.st_uid, former.st_gid) != (present.st_uid, present.st_gid):
        try:
            os.fchown(new, former.st_uid, former.st_gid)
        except OSError as error:
            raise Irreproducible("its owner or group cannot be given to a new file") from error
    _carry_extended(old, new)
    wanted = permissions(former) if mode is None else mode
    os.fchmod(new, wanted)
    # where the file's group is not ours, the system clears set-group without an error
    if permissions(os.fstat(new)) != wanted:
        raise Irreproducible("its mode cannot be given to a new file")


def _carry_extended(old: int, new: int) -> None:
    """Carry over extended attributes; POSIX access lists are among them, as system.posix_acl_access."""
    if sys.platform != "linux":
        return
    try:
        wanted = {name: os.getxattr(old, name) for name in os.listxattr(old)}
        present = {name: os.getxattr(new, name) for name in os.listxattr(new)}
    except OSError:
        # the file system has none
        return
    try:
        for name in present.keys() - wanted.keys():
            os.removexattr(new, name)
        for name, value in wanted.items():
            if present.get(name) != value:
                os.setxattr(new, name, value)
    except OSError as error:
        what = "access list" if "posix_acl" in name else f"attribute {name}"
        raise Irreproducible(f"its {what} cannot be given to a new file") from error
