"""The daemon's life: from its election to its end.

Promise: it ends within two seconds of `linedex stop`, SIGTERM or SIGINT, whatever a tool is doing, and by itself after
some idle time if a client had started it. First it withdraws its socket, so that whoever comes while it ends starts
another. An index that is half built goes on at the next start.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import SocketListener

from linedex.build.memory import collect_seldom
from linedex.errors import LinedexError
from linedex_server.config import Settings
from linedex_server.daemon.door import Door
from linedex_server.daemon.house import House
from linedex_server.daemon.sessions import DRAIN_SECONDS
from linedex_server.edit.editor import Engine, engine_of
from linedex_server.mcp_server import GRACE_SECONDS, announce
from linedex_server.rendezvous.election import Seat
from linedex_server.rendezvous.hello import Launcher
from linedex_server.rendezvous.launch import record
from linedex_server.workspace import Workspace

if TYPE_CHECKING:
    from linedex_server.daemon.http_door import HttpDoor

log = logging.getLogger(__name__)


SWITCH_SECONDS = 0.001
"""How long a thread may keep the interpreter from another; Python's own is five times as long."""


def run(seat: Seat, settings: Settings, *, until_idle: bool, http: str | None = None) -> None:
    """Be the daemon until the end; ends the process.

    Args:
        seat: from a won election.
        settings: the daemon's own; its roots are indexed and kept so all along.
        until_idle: whether to end when nobody needed it for `settings.idle_seconds`.
        http: `HOST:PORT` where HTTP clients are answered; without own roots they see the working folder.

    Raises:
        LinedexError: an own root, or the address, cannot be used.
    """
    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper(), format="%(asctime)s linedex: %(message)s")
    record(seat.state_dir, Launcher.own())
    # a client that comes while a tree is listed needs the interpreter many times over
    sys.setswitchinterval(SWITCH_SECONDS)
    collect_seldom()
    house = House(seat, settings)
    engine = engine_of(replace(settings, state_dir=seat.state_dir))
    own = door = None
    if http is not None:
        # 30 ms that a client which starts a daemon need not wait for
        from linedex_server.daemon.http_door import HttpDoor  # noqa: PLC0415

        settings = settings.rooted(Path.cwd())
        door = HttpDoor.open(http, settings)
    if settings.allowed_roots and not until_idle:
        own = Workspace(settings, base=Path.cwd(), indexes=house.indexes)
        announce(own)
    if door is not None:
        sys.stderr.write(door.announcement)
        sys.stderr.flush()
    anyio.run(_live, house, engine, own, door, settings.idle_seconds if until_idle else None)
    house.indexes.close()
    sys.stderr.flush()
    os._exit(0)


async def _live(
    house: House, engine: Engine, own: Workspace | None, door: HttpDoor | None, idle_seconds: float | None
) -> None:
    house.seat.listener.settimeout(0)
    listener = await SocketListener.from_socket(house.seat.listener)
    async with anyio.create_task_group() as group:
        group.start_soon(_retire_on_signal, house)
        group.start_soon(_recover, engine)
        if own is not None:
            group.start_soon(_start, own)
            if door is not None:
                group.start_soon(door.serve, house, own)
        if idle_seconds is not None:
            group.start_soon(house.retire_when_idle, idle_seconds)
        group.start_soon(Door(house).attend, listener)
        await house.ending.wait()
        _end_at_the_latest()
        with anyio.move_on_after(DRAIN_SECONDS):
            await house.emptied()
        group.cancel_scope.cancel()


async def _start(own: Workspace) -> None:
    await anyio.to_thread.run_sync(own.start, limiter=anyio.CapacityLimiter(1), abandon_on_cancel=True)


async def _recover(engine: Engine) -> None:
    """See to what an earlier daemon left half written; a write that comes meanwhile waits for that."""
    try:
        await anyio.to_thread.run_sync(engine.recover, limiter=anyio.CapacityLimiter(1), abandon_on_cancel=True)
    except LinedexError as error:
        log.warning("%s %s", error, error.hint)


async def _retire_on_signal(house: House) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        async for _ in received:
            house.retire()


def _end_at_the_latest() -> None:
    """A thread that does not end, in a tool or a sidecar, is left behind."""
    timer = threading.Timer(GRACE_SECONDS, os._exit, [0])
    timer.daemon = True
    timer.start()
