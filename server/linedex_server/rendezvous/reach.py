"""Reaching the daemon of a state folder, and having it started when it does not run.

Promise: `reach` returns a session with a daemon that has welcomed it, or says within its time why there is none.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from linedex.errors import BadArgument
from linedex_server.rendezvous.address import Address, connect, is_same_user, published
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import Hello, Welcome
from linedex_server.rendezvous.private import demand_private

if TYPE_CHECKING:
    from linedex_server.rendezvous.launch import Launch

_CREDENTIALS = struct.Struct("3i")
"""What Linux tells of a peer: its process, user and group."""
REACH_SECONDS = 15.0
"""More than a starter waits for a daemon that ends."""


@dataclass(frozen=True, slots=True)
class Link:
    """A session that was welcomed: its connection, what comes from it, and the welcome."""

    connection: socket.socket
    received: BufferedReader
    welcome: Welcome

    def end_sending(self) -> None:
        """Say that nothing more will be sent; what the other side still has to say can be received."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End the session; another thread that waits for its next line gets none."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.received.close()
        self.connection.close()


def reach(state_dir: Path, hello: Hello, *, starting: bool = True, seconds: float = REACH_SECONDS) -> Link | None:
    """Return a session with the daemon of a state folder.

    Args:
        state_dir: the state folder.
        hello: what to say first.
        starting: whether to start a daemon if none runs; otherwise None is returned then.
        seconds: how long that may take.

    Raises:
        NoDaemon: none could be started or none answered in time.
        BadArgument: the daemon refuses the session.
        Unreadable: the state folder is not this user's alone.
    """
    end = time.monotonic() + seconds
    pause = 0.002
    launch: Launch | None = None
    demand_private(state_dir)
    while True:
        address = published(state_dir)
        link = None if address is None else _greeted(address, hello, max(end - time.monotonic(), 0.1))
        if link is not None and not link.welcome.retiring:
            return link
        if link is not None:
            link.close()
        if not starting:
            return None
        if launch is None:
            # 6 ms that nobody waits for while a daemon runs
            from linedex_server.rendezvous.launch import Launch  # noqa: PLC0415

            launch = Launch(state_dir, hello.launcher)
        if link is not None:
            launch.begin_anew()
        if time.monotonic() > end:
            raise NoDaemon(
                f"no daemon answered within {seconds:.0f} s",
                f"Look at {state_dir / 'daemon.log'}; `--no-daemon` does without one.",
            )
        launch.attend()
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def peer(connection: socket.socket) -> int:
    """Return the process that listens at the other end, 0 where the system does not say."""
    wanted = getattr(socket, "SO_PEERCRED", None)
    if wanted is None or connection.family != socket.AF_UNIX:
        return 0
    return int(_CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, wanted, _CREDENTIALS.size))[0])


def silent(process: int, seconds: float) -> NoDaemon:
    """Return the error to raise for a daemon that is there and says nothing for so long."""
    named = f"the daemon (process {process})" if process else "the daemon"
    number = process or "PID"
    return NoDaemon(
        f"{named} has not answered for {seconds:.0f} s: it is stopped, or hangs",
        f"`kill -CONT {number}` lets it go on if it was stopped; `kill -9 {number}` ends it, and another is started.",
    )


def _greeted(address: Address, hello: Hello, seconds: float) -> Link | None:
    """Return the session if somebody is there and answers; one that dies meanwhile counts as nobody."""
    try:
        connection = connect(address, seconds)
    except OSError:
        return None
    if not is_same_user(connection):
        connection.close()
        return None
    received = connection.makefile("rb")
    try:
        connection.sendall(replace(hello, secret=address.secret).line())
        line = received.readline()
        welcome = Welcome.of(line) if line.endswith(b"\n") else None
    except TimeoutError:
        # a process that was stopped, or hangs: it holds the election's lock, so another could not serve either
        process = peer(connection)
        received.close()
        connection.close()
        raise silent(process, seconds) from None
    except (OSError, ValueError):
        welcome = None
    if welcome is None:
        received.close()
        connection.close()
        return None
    if welcome.error:
        received.close()
        connection.close()
        raise BadArgument(welcome.error, welcome.hint)
    connection.settimeout(None)
    return Link(connection, received, welcome)
