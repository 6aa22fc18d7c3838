"""The state folder is its owner's alone: what lies in it is believed, and some of it is run.

Promise: nothing is read from, or made in, a state folder that another user owns or can write in; such a folder, laid
where ours will be looked for, could name a socket to talk to, an interpreter to start or a token to accept.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from linedex.errors import Unreadable

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def make_private(state_dir: Path) -> None:
    """Make the state folder, with mode 0700, unless it is there, and demand that it is private.

    Raises:
        Unreadable: it cannot be made, or `demand_private` refuses it.
    """
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(state_dir, error) from None
    demand_private(state_dir)


def demand_private(state_dir: Path) -> None:
    """Do nothing if the state folder is not there, or only this user can write in it.

    A link to it must be this user's too, or the system's.

    Raises:
        Unreadable: another user owns it or its link, or can write in it.
    """
    if os.name != "posix":
        return
    try:
        entry, folder = state_dir.lstat(), state_dir.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(state_dir, error) from None
    user = os.geteuid()
    if folder.st_uid != user or (stat.S_ISLNK(entry.st_mode) and entry.st_uid not in (user, 0)):
        raise Unreadable(
            f"the state folder {state_dir} belongs to another user",
            "Name one of your own with LINEDEX_STATE_DIR, or change its owner if you trust what is in it.",
        )
    if folder.st_mode & _OTHERS_WRITE:
        raise Unreadable(
            f"other users can write in the state folder {state_dir}",
            "Look whether somebody did; then take that from them with `chmod go-w`, or name another with "
            "LINEDEX_STATE_DIR.",
        )


def unusable(state_dir: Path, error: OSError) -> Unreadable:
    """Return the refusal for a state folder that the system does not let us use."""
    return Unreadable(
        f"the state folder {state_dir} cannot be used: {error.strerror}",
        "Mend its permissions, or name another with LINEDEX_STATE_DIR.",
    )
