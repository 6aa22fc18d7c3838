"""Who is the daemon of a state folder: the holder of its lock file, and nobody else binds the socket.

Promise: of any number of processes started at once, one is elected and the others learn that it serves. The lock is
let go by the system when its holder dies, so what a dead daemon left behind is stale by proof.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from pathlib import Path

from linedex.store.lock import SidecarLock
from linedex_server.rendezvous.address import Address, accepts, published
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.listening import listen, publish, withdraw
from linedex_server.rendezvous.private import make_private, unusable

WAIT_SECONDS = 10.0
"""How long a starter waits for a daemon that is ending: that may take 2 s, on a machine with much else to do more."""
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Seat:
    """What the elected daemon holds.

    Attributes:
        state_dir: the state folder.
        lock: the election's lock; held to the end of the process.
        listener: the bound and listening socket; clients that connect wait in its queue.
        address: where it listens.
    """

    state_dir: Path
    lock: SidecarLock
    listener: socket.socket
    address: Address

    def withdraw(self) -> None:
        """Let no new client find the way in; who stands in the queue already has to be told."""
        withdraw(self.state_dir, self.address)


def elect(state_dir: Path, *, loopback: bool | None = None, wait: float = WAIT_SECONDS) -> Seat | None:
    """Become the daemon of a state folder; return None when another serves it.

    Args:
        state_dir: the state folder.
        loopback: whether to listen on a port; None: where the system has no Unix sockets.
        wait: seconds for a daemon that ends to be gone.

    Raises:
        NoDaemon: another holds the lock and neither serves nor ends.
        Unreadable: the state folder cannot be used.
    """
    make_private(state_dir)
    try:
        return _elected(state_dir, loopback=loopback, wait=wait)
    except OSError as error:
        raise unusable(state_dir, error) from None


def _elected(state_dir: Path, *, loopback: bool | None, wait: float) -> Seat | None:
    lock = SidecarLock(state_dir / "daemon.lock")
    end = time.monotonic() + wait
    while not lock.acquire():
        if accepts(published(state_dir)):
            return None
        if time.monotonic() > end:
            raise NoDaemon(
                f"another daemon holds {state_dir / 'daemon.lock'} and neither serves nor ends",
                f"Look at {state_dir / 'daemon.log'}; end that process and try again.",
            )
        time.sleep(_LOOK_SECONDS)
    withdraw(state_dir, published(state_dir))
    listener, address = listen(state_dir) if loopback is None else listen(state_dir, loopback=loopback)
    publish(state_dir, address)
    return Seat(state_dir, lock, listener, address)
