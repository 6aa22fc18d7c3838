"""Where the daemon of a state folder listens, as a client finds it: published in a file of that folder."""

from __future__ import annotations

import json
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

PUBLISHED = "daemon.json"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a daemon listens.

    Attributes:
        path: of its Unix socket, "" for a loopback port.
        port: on 127.0.0.1, 0 for a Unix socket.
        secret: what the first line must carry on a loopback port, which has no owner.
    """

    path: str = ""
    port: int = 0
    secret: str = ""


def published(state_dir: Path) -> Address | None:
    """Return where the daemon of a state folder says it listens, None when none says so."""
    try:
        stored = json.loads((state_dir / PUBLISHED).read_bytes())
        return Address(str(stored["path"]), int(stored["port"]), str(stored["secret"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def connect(address: Address, timeout: float) -> socket.socket:
    """Return a connection to `address`; each later operation on it has the same timeout, in seconds.

    Raises:
        OSError: nobody listens there.
    """
    unix = bool(address.path)
    connection = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    try:
        connection.settimeout(timeout)
        connection.connect(address.path if unix else ("127.0.0.1", address.port))
    except BaseException:
        connection.close()
        raise
    return connection


def accepts(address: Address | None) -> bool:
    """Return whether somebody listens at `address`."""
    if address is None:
        return False
    try:
        connect(address, 1.0).close()
    except OSError:
        return False
    return True


def is_same_user(connection: socket.socket) -> bool:
    """Return whether the process at the other end of a Unix socket runs as this user.

    The folder's mode keeps others out already; this holds where a mode is not honoured. A loopback connection has no
    user, and is told by its secret.
    """
    if connection.family == socket.AF_INET:
        return True
    if hasattr(socket, "SO_PEERCRED"):
        credentials = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    else:
        # macOS and BSD: SOL_LOCAL, LOCAL_PEERCRED; struct xucred begins with its version and the uid
        credentials = struct.unpack_from("2I", connection.getsockopt(0, 1, 76))
    return int(credentials[1]) == os.getuid()
