"""The secret of the HTTP door: made on first use, kept in the state folder, never logged.

Promise: two processes that make it at once end up with the same one, and a file that others could have read is
refused rather than trusted.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import tempfile
from pathlib import Path

from linedex.errors import Unreadable
from linedex_server.rendezvous.private import make_private

TOKEN_BYTES = 32
_FORM = re.compile(rb"[A-Za-z0-9_-]{32,512}")
"""A person may put a token of their own into the file, but not a short one."""
_ANEW = "Delete it, so that a new one is made, and give clients that."


def token_path(state_dir: Path) -> Path:
    """Return where the token lies; nothing is made."""
    return state_dir / "http" / "token"


def http_token(state_dir: Path) -> str:
    """Return the token that HTTP clients must send, making it when there is none.

    Its file has mode 0600, in a folder of mode 0700 of its own.

    Raises:
        Unreadable: the file cannot be read or made, is open to others, or holds no token.
    """
    path = token_path(state_dir)
    try:
        make_private(state_dir)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.parent.chmod(0o700)
        try:
            return _read(path)
        except FileNotFoundError:
            _make(path)
            return _read(path)
    except OSError as error:
        raise Unreadable(
            f"the HTTP token {path} cannot be used: {error.strerror}",
            "Mend the state folder's permissions, or name another with LINEDEX_STATE_DIR.",
        ) from None


def _read(path: Path) -> str:
    # O_NONBLOCK: a FIFO under this name must not hold up the start
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(number, "rb") as file:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            raise Unreadable(f"the HTTP token {path} is not an ordinary file", _ANEW)
        if os.name == "posix" and (facts.st_mode & 0o077 or facts.st_uid != os.geteuid()):
            raise Unreadable(f"the HTTP token {path} is open to other users", _ANEW)
        text = file.read(1024).strip()
    if not _FORM.fullmatch(text):
        raise Unreadable(f"{path} holds no token: 32 to 512 letters, digits, `-` and `_` are needed", _ANEW)
    return text.decode("ascii")


def _make(path: Path) -> None:
    """Write a new token beside its place, then link it there: it appears whole, and only once."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix="token.")  # mode 0600
    try:
        with open(number, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
        os.link(name, path)
    except FileExistsError:
        pass  # another process was first: its token counts
    finally:
        os.unlink(name)
