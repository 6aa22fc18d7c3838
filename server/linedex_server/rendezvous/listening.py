"""Listening for clients: the daemon's side of an address.

Promise: what is published is whole; a connection comes from a process of the same user or is refused. A Unix socket
lies in the user's runtime folder, else in the state folder, else, where those paths are too long for a socket, under a
short name in a private temporary folder. A system without Unix sockets gets a loopback port and a secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from linedex_server.rendezvous.address import PUBLISHED, Address

PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""Longest path of a Unix socket: `sun_path` has 104 or 108 bytes with its NUL."""
BACKLOG = 128
_TEMPORARY = "linedex-"


def publish(state_dir: Path, address: Address) -> None:
    """Say where the daemon listens; a reader sees all of it or what was there before."""
    fresh = state_dir / f"{PUBLISHED}.{os.getpid()}"
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(json.dumps(asdict(address)).encode())
    fresh.replace(state_dir / PUBLISHED)


def withdraw(state_dir: Path, address: Address | None) -> None:
    """Take back what was published and remove the socket; only the holder of the election's lock may."""
    (state_dir / PUBLISHED).unlink(missing_ok=True)
    if address is None or not address.path:
        return
    path = Path(address.path)
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(_TEMPORARY):
        with contextlib.suppress(OSError):
            path.parent.rmdir()


def listen(
    state_dir: Path, environ: Mapping[str, str] = os.environ, *, loopback: bool = not hasattr(socket, "AF_UNIX")
) -> tuple[socket.socket, Address]:
    """Bind a new listening socket for the daemon of a state folder; only the holder of the election's lock may.

    Args:
        state_dir: the state folder.
        environ: names the runtime folder.
        loopback: whether to listen on a port instead.

    Raises:
        OSError: no place for a socket can be used.
    """
    if loopback:
        listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        return listener, Address(port=listener.getsockname()[1], secret=secrets.token_hex(32))
    path = _socket_path(state_dir, environ)
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listener.bind(path)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener, Address(path)


def _socket_path(state_dir: Path, environ: Mapping[str, str]) -> str:
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.path.isabs(runtime):
        # two state folders of one user have two daemons
        name = hashlib.sha256(os.fsencode(state_dir.resolve())).hexdigest()[:16] + ".sock"
        path = Path(runtime, "linedex", name)
        if len(os.fsencode(path)) <= PATH_BYTES and _private(path.parent):
            return str(path)
    path = state_dir / "daemon.sock"
    if len(os.fsencode(path)) <= PATH_BYTES:
        return str(path)
    return str(Path(tempfile.mkdtemp(prefix=_TEMPORARY), "s"))


def _private(folder: Path) -> bool:
    """Make `folder` if need be; return whether it is this user's alone."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    return found.st_uid == os.getuid() and not found.st_mode & 0o077 and folder.is_dir() and not folder.is_symlink()
