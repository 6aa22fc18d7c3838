"""Reaching the daemon of a state folder, and starting it when it does not run.

Promise: `reach` returns a session with a daemon that has welcomed it, or says why there is none within its time. It
starts the newest version that this state folder has seen, so that an old client does not replace a new daemon.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from dataclasses import asdict, dataclass, replace
from io import BufferedReader
from pathlib import Path

from linedex.errors import BadArgument
from linedex_server.rendezvous.address import Address, connect, published
from linedex_server.rendezvous.election import NoDaemon
from linedex_server.rendezvous.hello import Hello, Launcher, Welcome, version_of

REACH_SECONDS = 15.0
"""More than a starter waits for a daemon that ends."""
_AGAIN_SECONDS = 12.0
"""After so long without a daemon another is started; a second one at once would only wait for the same lock."""
_LOG_BYTES = 1 << 20
_RECORD = "launcher.json"
_START = """\
import sys
folder = sys.argv.pop(1)
if folder not in sys.path:
    sys.path.insert(0, folder)
from linedex_server.cli import main
sys.exit(main())
"""
"""The program of a daemon: the folder of its package counts also where it is not installed in the interpreter."""


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


def newest(state_dir: Path, own: Launcher) -> Launcher:
    """Return how to start the newest version that was recorded in a state folder, or `own` if that is as new."""
    try:
        stored = Launcher(**json.loads((state_dir / _RECORD).read_bytes()))
        newer = version_of(stored.version) > version_of(own.version)
    except (OSError, ValueError, TypeError, AttributeError):
        return own
    return stored if newer and os.access(stored.python, os.X_OK) and os.path.isdir(stored.folder) else own


def record(state_dir: Path, launcher: Launcher) -> None:
    """Store how to start a version, unless a newer one is stored."""
    if newest(state_dir, launcher) != launcher:
        return
    fresh = state_dir / f"{_RECORD}.{os.getpid()}"
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(json.dumps(asdict(launcher)).encode())
    fresh.replace(state_dir / _RECORD)


def start(state_dir: Path, launcher: Launcher) -> subprocess.Popen[bytes]:
    """Start a daemon that outlives this process and ends by itself when nobody needs it.

    Raises:
        OSError: the interpreter cannot be started.
    """
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = state_dir / "daemon.log"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with contextlib.suppress(FileNotFoundError):
        flags |= os.O_TRUNC if log.stat().st_size > _LOG_BYTES else 0
    # so that neither the end of the client's terminal nor a signal to its group reaches the daemon
    windows = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    with os.fdopen(os.open(log, flags, 0o600), "ab") as output:
        return subprocess.Popen(
            [launcher.python, "-P", "-c", _START, launcher.folder, "serve", "--until-idle"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # not the client's folder, which would be held, nor one whose modules could be imported
            cwd=state_dir,
            env={**os.environ, "LINEDEX_STATE_DIR": str(state_dir)},
            start_new_session=os.name == "posix",
            creationflags=windows,
        )


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
    """
    end = time.monotonic() + seconds
    pause, started_at, child, launcher = 0.002, 0.0, None, newest(state_dir, hello.launcher)
    while True:
        address = published(state_dir)
        link = None if address is None else _greeted(address, hello, max(end - time.monotonic(), 0.1))
        if link is not None and not link.welcome.retiring:
            return link
        if link is not None:
            # it ends, perhaps because we are newer: ours may be started at once
            link.close()
            started_at, launcher = 0.0, newest(state_dir, hello.launcher)
        if not starting:
            return None
        now = time.monotonic()
        if child is not None and child.poll():
            if launcher == hello.launcher:
                raise NoDaemon(
                    f"a daemon was started and ended with status {child.returncode}",
                    f"{state_dir / 'daemon.log'} says why; `--no-daemon` does without one.",
                )
            launcher, started_at, child = hello.launcher, 0.0, None
        if now > end:
            raise NoDaemon(
                f"no daemon answered within {seconds:.0f} s",
                f"Look at {state_dir / 'daemon.log'}; `--no-daemon` does without one.",
            )
        if starting and (not started_at or now - started_at > _AGAIN_SECONDS):
            child, started_at = _started(state_dir, launcher), now
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def _started(state_dir: Path, launcher: Launcher) -> subprocess.Popen[bytes]:
    try:
        return start(state_dir, launcher)
    except OSError as error:
        raise NoDaemon(
            f"a daemon cannot be started: {error.strerror} ({error.filename})",
            "Mend that, or use `--no-daemon`, which does without one.",
        ) from None


def _greeted(address: Address, hello: Hello, seconds: float) -> Link | None:
    """Return the session if somebody is there and answers; one that dies meanwhile counts as nobody."""
    try:
        connection = connect(address, seconds)
    except OSError:
        return None
    received = connection.makefile("rb")
    try:
        connection.sendall(replace(hello, secret=address.secret).line())
        line = received.readline()
        welcome = Welcome.of(line) if line.endswith(b"\n") else None
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
