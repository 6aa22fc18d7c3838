"""What the command line asks the daemon itself: how it is, to bring an index up to date, to stop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

import anyio
import anyio.to_thread
from anyio.abc import ByteStream

from linedex.errors import LinedexError
from linedex.index import Index
from linedex_server.daemon.house import Guest, House
from linedex_server.daemon.lines import send
from linedex_server.daemon.sessions import workspace_of
from linedex_server.rendezvous.hello import Hello, Welcome

_TELL_SECONDS = 0.2


async def tell_status(house: House, connection: ByteStream) -> None:
    """Tell who is connected and the state of every open index, in one line."""

    def told() -> Mapping[str, object]:
        return {
            "began": house.began,
            "clients": [{"pid": guest.pid, "roots": [str(root) for root in guest.roots]} for guest in guests],
            "indexes": [asdict(index.status()) for index in house.indexes.opened()],
        }

    guests = house.guests
    if await send(connection, Welcome().line()):
        limiter = anyio.CapacityLimiter(1)
        await send(connection, _line(await anyio.to_thread.run_sync(told, limiter=limiter, abandon_on_cancel=True)))


async def bring_up_to_date(house: House, connection: ByteStream, hello: Hello) -> None:
    """Index the roots of `hello`, telling their state a few times a second, and once more at the end.

    When the asker goes away, or the daemon ends, the telling ends; the indexing goes on, or goes on later.
    """
    limiter = anyio.CapacityLimiter(2)
    try:
        workspace = await anyio.to_thread.run_sync(workspace_of, hello, house, limiter=limiter)
    except LinedexError as error:
        await send(connection, Welcome(error=str(error), hint=error.hint).line())
        return
    try:
        if len(workspace.indexes) != 1:
            refusal = Welcome(error="one folder is brought up to date at a time", hint="Name one that is served.")
            await send(connection, refusal.line())
            return
        (index,) = workspace.indexes
        with house.hosting(Guest(hello.pid, workspace.roots)):
            asked = await send(connection, Welcome().line())
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_when_ending, house, group.cancel_scope)
                await anyio.to_thread.run_sync(_begin, index, limiter=limiter, abandon_on_cancel=True)
                while asked:
                    done, state = await anyio.to_thread.run_sync(_state, index, limiter=limiter, abandon_on_cancel=True)
                    asked = await send(connection, _line({"done": done, "status": state})) and not done
                group.cancel_scope.cancel()
    finally:
        if not house.ending.is_set():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(workspace.close, limiter=anyio.CapacityLimiter(1))


async def _cancel_when_ending(house: House, scope: anyio.CancelScope) -> None:
    await house.ending.wait()
    scope.cancel()


def _begin(index: Index) -> None:
    index.start()
    index.refresh()


def _state(index: Index) -> tuple[bool, Mapping[str, object]]:
    done = index.wait(_TELL_SECONDS)
    return done, asdict(index.status())


def _line(told: Mapping[str, object]) -> bytes:
    return json.dumps(told).encode() + b"\n"
