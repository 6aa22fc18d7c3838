"""How the daemon is, an index brought up to date by it, and its end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linedex.answers import IndexStatus, Phase, PhaseProgress
from linedex.errors import IndexBusy
from linedex.store.lock import SidecarLock
from linedex_server.config import variables
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import INDEX, STATUS, STOP, Hello
from linedex_server.rendezvous.reach import Link, reach

STOP_SECONDS = 5.0
"""A daemon ends within two; a machine with much else to do may take longer."""
_ANSWER_SECONDS = 10.0
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """A running daemon.

    Attributes:
        pid: its process.
        version: its version.
        began: when it started, in seconds since the epoch.
        clients: process and roots of each client that is connected.
        indexes: the state of each index that it has open.
    """

    pid: int
    version: str
    began: float
    clients: tuple[tuple[int, tuple[str, ...]], ...]
    indexes: tuple[IndexStatus, ...]


def daemon_status(state_dir: Path) -> DaemonStatus | None:
    """Return the state of the daemon of a state folder.

    Raises:
        NoDaemon: it does not answer.
    """
    link = _asked(state_dir, STATUS)
    if link is None:
        return None
    try:
        told = next(_told(link), None)
        if told is None:
            return None
        clients = tuple((int(one["pid"]), tuple(one["roots"])) for one in told["clients"])
        indexes = tuple(status_of(one) for one in told["indexes"])
        return DaemonStatus(link.welcome.pid, link.welcome.version, float(told["began"]), clients, indexes)
    finally:
        link.close()


def index_by_daemon(state_dir: Path, root: Path, progress: Callable[[IndexStatus], None] | None) -> IndexStatus | None:
    """Have the daemon bring the index of `root` up to date, and return its state then.

    Args:
        state_dir: the state folder.
        root: the folder.
        progress: called a few times a second meanwhile.

    Raises:
        IndexBusy: the daemon ended meanwhile.
        NoDaemon: it does not answer.
        BadArgument: it refuses.
    """
    link = _asked(state_dir, INDEX, {"allowed_roots": [str(root)]})
    if link is None:
        return None
    link.connection.settimeout(_ANSWER_SECONDS)
    try:
        for told in _told(link):
            state = status_of(told["status"])
            if told["done"]:
                return state
            if progress is not None:
                progress(state)
    finally:
        link.close()
    raise IndexBusy("The daemon that was indexing it ended.", "Try again; what was indexed is kept.")


def stop_daemon(state_dir: Path) -> int | None:
    """End the daemon of a state folder, wait until it is gone, and return the process it was.

    Raises:
        NoDaemon: it does not answer or does not end.
    """
    link = _asked(state_dir, STOP)
    if link is None:
        return None
    link.close()
    lock = SidecarLock(state_dir / "daemon.lock")
    end = time.monotonic() + STOP_SECONDS
    while not lock.acquire():
        if time.monotonic() > end:
            raise NoDaemon(
                f"the daemon (process {link.welcome.pid}) was asked to end and has not after {STOP_SECONDS:.0f} s",
                "If another was started meanwhile, all is well; else end that process.",
            )
        time.sleep(_LOOK_SECONDS)
    lock.release()
    return link.welcome.pid


def status_of(told: dict[str, Any]) -> IndexStatus:
    """Return the state of an index that the daemon told as fields."""
    progress = {Phase(name): PhaseProgress(**facts) for name, facts in told["progress"].items()}
    changed = {"phase": Phase(told["phase"]), "progress": progress, "problems": tuple(told["problems"])}
    return IndexStatus(**{name: changed.get(name, told[name]) for name in IndexStatus.__slots__})


def _asked(state_dir: Path, purpose: str, arguments: dict[str, Any] | None = None) -> Link | None:
    hello = Hello.here(purpose, arguments or {}, variables())
    return reach(state_dir, hello, starting=False, seconds=_ANSWER_SECONDS)


def _told(link: Link) -> Iterator[dict[str, Any]]:
    try:
        while (line := link.received.readline()).endswith(b"\n"):
            yield json.loads(line)
    except OSError:
        return
