"""A question of the command line to the daemon: how it is heard, and the indexes that are held while it is answered.

Promise: only an index that is kept up to date answers, so an answer knows what was changed before the question; none is
opened or made for one. Like the command itself, which could read the files as well, a question is not confined to
allowed roots: those are for MCP clients, who have no way to ask this.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import ByteStream

from linedex.errors import LinedexError
from linedex.limits import Limits
from linedex.model import RelPath
from linedex_server.config import Settings
from linedex_server.daemon.house import House
from linedex_server.daemon.lines import Lines, send
from linedex_server.indexes import Lease
from linedex_server.json_lines import QUESTION_BYTES
from linedex_server.rendezvous.hello import Hello, Welcome
from linedex_server.workspace import below, indexed_around, opening_of

_QUESTION_SECONDS = 10.0
"""What a client may take to say its question."""

T = TypeVar("T")


class InThread(Protocol):
    """Does something in a thread of its own, and returns what it returns."""

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Do `work`, one at a time."""


class Held(NamedTuple):
    """An index that answers for a path, and where in it the path lies."""

    lease: Lease
    scope: RelPath


async def question_line(connection: ByteStream, lines: Lines) -> bytes:
    """Welcome a client and return the line with its question, b"" when it says none in time."""
    line = None
    if await send(connection, Welcome().line()):
        with anyio.move_on_after(_QUESTION_SECONDS):
            line = await lines.next(QUESTION_BYTES)
    return line or b""


def own_thread() -> InThread:
    """Return what does things one after the other, beside what other sessions do."""
    limiter = anyio.CapacityLimiter(1)

    async def in_thread(work: Callable[[], T], /) -> T:
        # not abandoned when the session is: nobody shall close an index that is still read
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    return in_thread


def settings_of(house: House, hello: Hello) -> Settings:
    """Return the settings of a client; the folder of state is the daemon's, whose sidecars they all are.

    Raises:
        LinedexError: they cannot be used.
    """
    return Settings.load({"state_dir": str(house.seat.state_dir)}, environ=hello.environ)


def held_at(path: Path, house: House, settings: Settings, limits: Limits) -> Held | None:
    """Return what answers for a path here, None when nothing does. Whoever asks releases the lease."""
    try:
        root = indexed_around(settings, path, is_folder=os.path.isdir(path))
    except LinedexError:
        # a folder that went away at this moment; the command says so itself
        return None
    lease = None if root is None else house.indexes.lease_started(opening_of(settings, root), limits)
    return None if root is None or lease is None else Held(lease, below(root, path))


async def release(house: House, give_back: Callable[[], None], in_thread: InThread) -> None:
    """Give leases back, even of a session that is cancelled; a daemon that ends closes all indexes itself."""
    if not house.ending.is_set():
        with anyio.CancelScope(shield=True):
            await in_thread(give_back)
