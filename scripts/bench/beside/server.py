"""MCP servers, ours and others, asked in bare lines.

The protocol's own client in Python takes 0.4 ms of a call for itself, a fifth of our shortest answers.
"""

from __future__ import annotations

import os
import re
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from common import ran
from spoken import Spoken, Unanswered

from beside.contest import MARK, MCP, Bench, Failed, Outcome

LINEDEX = (sys.executable, "-m", "linedex_server")
"""Not scripts/linedex, whose shell takes its own time."""


@dataclass(frozen=True)
class Server:
    """How a server is started.

    Attributes:
        name: what tables call it, with its version.
        kind: of which peer it is.
        mark: tells its processes from others.
    """

    name: str
    kind: str
    command: tuple[str, ...]
    environ: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def full_environ(self) -> dict[str, str]:
        """The whole environment of its processes."""
        return {**os.environ, **self.environ, MARK: self.mark}


def linedex(root: Path, state: Path) -> Server:
    """Return ours, over the bridge to the daemon of a state folder."""
    command = (*LINEDEX, "mcp", "--root", str(root), "--tools", "all")
    return Server(MCP, "linedex", command, {"LINEDEX_STATE_DIR": str(state)})


def others(bench: Bench, root: Path) -> Iterator[Server]:
    """Yield the other servers for a folder."""
    for program in bench.peers.of("largefile"):
        limited = f'ulimit -v {int(bench.memory_gib * 2**20)}; exec "$0"'
        # a copy of the whole file each
        environ = {"LARGEFILE_BACKUP_DIR": str(bench.folder / "backups"), "LARGEFILE_MAX_BACKUPS": "2"}
        yield Server(program.name, program.kind, ("/bin/sh", "-c", limited, program.path), environ)
    for program in bench.peers.of("filesystem server"):
        yield Server(program.name, program.kind, (program.path, str(root)))


class Asked:
    """A server in session."""

    def __init__(self, server: Server, spoken: Spoken) -> None:
        self.server = server
        self._spoken = spoken

    def ask(self, tool: str, /, **arguments: object) -> str:
        """Return the text that a tool answers.

        Raises:
            Failed: the answer is an error, or there is none.
        """
        try:
            return self._spoken.told(tool, **arguments)
        except Unanswered as error:
            raise Failed(str(error).strip().split("\n", 1)[0][:120]) from error

    def timed(self, tool: str, telling: str = "", /, **arguments: object) -> Outcome:
        """Return the seconds of a call, and the number at the group of an expression in its answer."""
        began = time.perf_counter()
        answer = self.ask(tool, **arguments)
        took = time.perf_counter() - began
        number = re.search(telling, answer) if telling else None
        return Outcome(took, int(number[1].replace(",", "")) if number else None)

    def settle(self) -> None:
        """Wait until everything is indexed; only ours can be asked."""
        while ": up to date\n" not in self.ask("index_status"):
            time.sleep(0.2)


@contextmanager
def asked(server: Server, patience: float) -> Iterator[Asked]:
    """Start a server and hold a session with it."""
    with Spoken(server.command, server.full_environ, patience) as spoken:
        yield Asked(server, spoken)


def stop(state: Path) -> None:
    """End the daemon of a state folder, if there is one."""
    ran(*LINEDEX, "stop", check=False, env={**os.environ, "LINEDEX_STATE_DIR": str(state)})
