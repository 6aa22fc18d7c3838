"""What is tried: the library in this process, or a daemon with several clients; each opened, ended and damaged alike.

Limits are so small that files of some kilobytes are large ones. A daemon takes them from `endure.py --serve`, which is
`linedex serve` with these limits in place of its own; half of the trials over MCP have a daemon as users have it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from trials.answers import Asker
from trials.client import Client
from trials.edits import EngineWriter, Writer
from trials.remote import Remote
from trials.remote_edits import RemoteWriter

from linedex.build import freshness
from linedex.index import Index
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex_server import config
from linedex_server.asking.control import daemon_status, stop_daemon
from linedex_server.workspace import sidecar_path

COMMAND = Path(__file__).parents[1] / "endure.py"
LIMITS = Limits(
    large_file=2 << 10,
    block_bytes=512,
    block_slack=256,
    group_bytes=64 << 10,
    group_columns=64,
    batch_bytes=8 << 10,
    commit_bytes=64 << 10,
    staged_bytes=24 << 10,
    checkpoint_bytes=8 << 10,
    checkpoint_seconds=0.05,
    recheck_seconds=0.5,
    still_seconds=0.01,
    reconcile_seconds=20.0,
    log_part_bytes=1 << 10,
    log_zone="UTC",
    window_bytes=2 << 10,
    window_overlap=1 << 10,
    workers=0,
)
_WAIT_SECONDS = 60.0
_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.2


class Wrong(Exception):
    """Something was not as it should be."""


class Subject(Protocol):
    """What a trial asks.

    Attributes:
        askers: who answers; all say the same.
        writers: who edits.
        sidecar: the file of its index.
        limits: those of its index.
    """

    askers: list[Asker]
    writers: list[Writer]
    sidecar: Path
    limits: Limits

    def open(self) -> None:
        """Begin."""

    def close(self) -> None:
        """End in peace."""

    def settle(self) -> None:
        """Let the index take in what was changed."""

    def kill(self, draw: random.Random, change: Callable[[], None]) -> None:
        """End at an arbitrary moment of taking in what `change` does, and begin again."""


class Local:
    """An index in this process."""

    def __init__(self, folder: Path) -> None:
        """Take a folder that holds `root`, and nothing else that is used yet."""
        self.limits = LIMITS
        self.root = folder / "root"
        self.sidecar = folder / "state" / "index.db"
        self.sidecar.parent.mkdir()
        self.askers: list[Asker] = []
        self._writer = EngineWriter(self.root, folder / "history")
        self.writers: list[Writer] = [self._writer]
        self.open()

    def open(self) -> None:
        """Start the index."""
        index = Index(self.root, self.sidecar, LIMITS)
        index.start()
        self.askers[:] = [index]
        self._closed = False
        self._writer.use(index)

    def close(self) -> None:
        """Close it."""
        self._index.close()
        self._closed = True

    @property
    def _index(self) -> Index:
        (index,) = self.askers
        assert isinstance(index, Index)
        return index

    def settle(self) -> None:
        """Let it take in what was changed."""
        if self._closed:
            with Index(self.root, self.sidecar, LIMITS) as index:
                index.build()
            return
        self._index.refresh()
        if not self._index.wait(_WAIT_SECONDS):
            raise Wrong("the index does not come to rest")

    def kill(self, draw: random.Random, change: Callable[[], None]) -> None:
        """Close it, have a process take in what was changed, kill that, and start the index again."""
        self.close()
        change()
        command = [sys.executable, str(COMMAND), "--only-index", str(self.root), str(self.sidecar)]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as indexing:
            assert indexing.stdout is not None
            indexing.stdout.readline()
            with suppress(subprocess.TimeoutExpired):
                indexing.wait(draw.random() * 0.3)
            indexing.kill()
        self.open()


class Served:
    """A daemon with three clients."""

    def __init__(self, folder: Path, draw: random.Random) -> None:
        """Take a folder that holds `root`; `draw` decides what daemon it is."""
        self.root = folder / "root"
        self.state = folder / "daemon"
        self.state.mkdir(mode=0o700)
        self.small = draw.random() < 0.5
        self.limits = LIMITS if self.small else replace(DEFAULT_LIMITS, log_zone="UTC", workers=0)
        self.sidecar = sidecar_path(self.state, self.root)
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(config.PREFIX)}
        self.environ |= {
            "PYTHONPATH": os.pathsep.join(sys.path),
            config.CONFIG_FOLDER_VARIABLE: str(self.state),
            "LINEDEX_STATE_DIR": str(self.state),
            "LINEDEX_LOG_ZONE": "UTC",
            "LINEDEX_WORKERS": "1",
            "LINEDEX_RECONCILE_SECONDS": "20",
            "LINEDEX_IDLE_SECONDS": "60",
            "LINEDEX_PAGE_CHARACTERS": str(draw.choice((12_000, 20_000, 200_000))),
        }
        self._daemon: subprocess.Popen[bytes] | None = None
        self._clients: list[Client] = []
        self.askers: list[Asker] = []
        self.writers: list[Writer] = []
        self.open()

    def open(self) -> None:
        """Start the daemon, and connect."""
        if self.small:
            self._serve()
        self._clients[:] = [Client(self.root, self.environ) for _ in range(3)]
        self.askers[:] = [Remote(client, self.root) for client in self._clients]
        self.writers[:] = [RemoteWriter(client, self.root) for client in self._clients]

    def _serve(self) -> None:
        with (self.state / "daemon.log").open("ab") as log:
            self._daemon = subprocess.Popen(
                [sys.executable, str(COMMAND), "--serve"],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + _WAIT_SECONDS
        while self._pid() is None:
            if time.monotonic() > until:
                raise Wrong("the daemon does not start")
            time.sleep(_PAUSE_SECONDS)

    def _pid(self) -> int | None:
        status = daemon_status(self.state)
        return None if status is None else status.pid

    def close(self) -> None:
        """Disconnect, and stop the daemon."""
        self._disconnect()
        stop_daemon(self.state)
        self._bury()

    def _bury(self) -> None:
        if self._daemon is not None:
            self._daemon.wait(_WAIT_SECONDS)
            self._daemon = None

    def _disconnect(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()

    def settle(self) -> None:
        """Let the index take in what was changed."""
        client = self._clients[0]
        client.call("search_directory", absolute_dir_path=str(self.root), pattern="nothing of this")
        until, pause = time.monotonic() + _WAIT_SECONDS, _PAUSE_SECONDS
        while True:
            (status,) = client.call("index_status")["roots"]
            if status["phase"] == "idle" and not status["pending"] and not status["symbol_pending"]:
                return
            if time.monotonic() > until:
                raise Wrong(f"the index does not come to rest: {status}")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def kill(self, draw: random.Random, change: Callable[[], None]) -> None:
        """Kill the daemon under its clients; those of a usual one start another."""
        change()
        pid = self._pid()
        if self.small:
            self._disconnect()
        if pid is not None:
            time.sleep(draw.random() * 0.1)
            os.kill(pid, signal.SIGKILL)
            self._bury()
        if self.small:
            self.open()
        else:
            # of a write sent before a client has noticed, nobody could say whether it was made
            for client in self._clients:
                client.call("index_status")


def only_index(root: Path, sidecar: Path) -> None:
    """Say that we are about to, and bring an index up to date."""
    with Index(root, sidecar, LIMITS) as index:
        print("ready", flush=True)
        index.build()


def serve() -> None:
    """Be a daemon whose limits are small."""
    from linedex_server.cli import main  # noqa: PLC0415 - a daemon imports the rest once it was elected

    shrink()
    sys.argv[1:] = ["serve", "--until-idle"]
    sys.exit(main())


def shrink() -> Callable[[], None]:
    """Take the small limits for those of edits and of a daemon's indexes, and bursts of changes to be over soon.

    More answers come from an index at rest then.

    Returns:
        what undoes it.
    """
    former = config.DEFAULT_LIMITS, freshness._QUIET_SECONDS, freshness._DRAIN_SECONDS

    def put(limits: Limits, quiet: float, drain: float) -> None:
        config.DEFAULT_LIMITS = limits
        freshness._QUIET_SECONDS, freshness._DRAIN_SECONDS = quiet, drain

    put(LIMITS, 0.004, 0.002)
    return lambda: put(*former)
