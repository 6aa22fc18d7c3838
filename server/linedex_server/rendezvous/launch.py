"""Starting a daemon: the newest version that this state folder has seen, so that an old client does not undo a new one.

Promise: a daemon that was started outlives its starter. One that cannot start is told of, once the starter's own
version has failed too.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from dataclasses import asdict
from pathlib import Path

from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import Launcher, version_of
from linedex_server.rendezvous.private import make_private

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


class Launch:
    """The attempts of one client to have a daemon."""

    def __init__(self, state_dir: Path, own: Launcher) -> None:
        """Start nothing yet.

        Args:
            state_dir: the state folder.
            own: how to start the client's version.
        """
        self._state_dir = state_dir
        self._own = own
        self._launcher = newest(state_dir, own)
        self._started_at: float | None = None
        self._child: subprocess.Popen[bytes] | None = None

    def begin_anew(self) -> None:
        """Hear that a daemon ends, perhaps for the sake of a newer version: another may be started at once."""
        self._launcher = newest(self._state_dir, self._own)
        self._started_at = None

    def attend(self) -> None:
        """Start a daemon, if that was not done a while ago; to be called as long as none answers.

        Raises:
            NoDaemon: it cannot be started, or ended with a failure.
        """
        if self._child is not None and self._child.poll():
            if self._launcher == self._own:
                raise NoDaemon(
                    f"a daemon was started and ended with status {self._child.returncode}",
                    f"{self._state_dir / 'daemon.log'} says why; `--no-daemon` does without one.",
                )
            self._launcher, self._started_at, self._child = self._own, None, None
        now = time.monotonic()
        if self._started_at is None or now - self._started_at > _AGAIN_SECONDS:
            try:
                self._child, self._started_at = start(self._state_dir, self._launcher), now
            except OSError as error:
                raise NoDaemon(
                    f"a daemon cannot be started: {error.strerror} ({error.filename})",
                    "Mend that, or use `--no-daemon`, which does without one.",
                ) from None


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
        Unreadable: the state folder is not this user's alone.
    """
    make_private(state_dir)
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
