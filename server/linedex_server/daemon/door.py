"""Who may come in, and to whom they are led.

Promise: whatever connects, sends nonsense or says nothing, and however often, the sessions that were welcomed go on,
and whoever says a hello at once is let in. A connection that fails ends alone.
"""

from __future__ import annotations

import hmac
import logging
from collections import OrderedDict

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream

from linedex_server import VERSION
from linedex_server.daemon.control import bring_up_to_date, tell_status
from linedex_server.daemon.house import House
from linedex_server.daemon.lines import Lines, send
from linedex_server.daemon.looking_up import answer_lookup
from linedex_server.daemon.searching import answer_search
from linedex_server.daemon.sessions import serve_client
from linedex_server.rendezvous.address import is_same_user
from linedex_server.rendezvous.hello import (
    HELLO_BYTES,
    INDEX,
    LOOKUP,
    MCP,
    SEARCH,
    STATUS,
    STOP,
    Hello,
    Welcome,
    version_of,
)
from linedex_server.rendezvous.launch import record

HELLO_SECONDS = 10.0
"""What a client may take to say its first line."""
MOST_SILENT = 64
"""Connections that may be silent at once; a further one ends the one that has been silent for longest."""
MOST_INSIDE = 320
"""Clients that were let in; more than `MOST_SESSIONS`, so that a full daemon can be asked how it is and stopped."""
_PAUSE_SECONDS = 0.05

log = logging.getLogger(__name__)


class Door:
    """The way into one daemon; all of it belongs to the event loop's thread."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._silent: OrderedDict[SocketStream, anyio.CancelScope] = OrderedDict()
        self._inside = 0

    async def attend(self, listener: SocketListener) -> None:
        """Take in whoever comes, until cancelled."""
        async with anyio.create_task_group() as group:
            while True:
                try:
                    connection = await listener.accept()
                except (OSError, anyio.BrokenResourceError) as error:
                    # no descriptor is left, or the client was gone already
                    log.warning("a connection was not accepted: %s", error.__cause__ or error)
                    self._end_longest_silence()
                    await anyio.sleep(_PAUSE_SECONDS)
                    continue
                if len(self._silent) >= MOST_SILENT:
                    self._end_longest_silence()
                # counted before its task begins, or any number could wait for theirs
                silence = self._silent[connection] = anyio.CancelScope()
                group.start_soon(self._receive, connection, silence)

    def _end_longest_silence(self) -> None:
        if self._silent:
            _, silence = self._silent.popitem(last=False)
            silence.cancel()

    async def _receive(self, connection: SocketStream, silence: anyio.CancelScope) -> None:
        try:
            async with connection:
                lines = Lines(connection)
                hello = await self._hello(connection, lines, silence)
                if hello is not None:
                    self._inside += 1
                    try:
                        await self._lead(connection, lines, hello)
                    finally:
                        self._inside -= 1
        except Exception:
            # a mistake of ours that one client meets must not end the sessions of all others
            log.exception("a connection ended by a fault of the daemon's own")

    async def _hello(self, connection: SocketStream, lines: Lines, silence: anyio.CancelScope) -> Hello | None:
        """Return what a client says first; None if it is another user's, says no hello in time or lacks the secret."""
        line = None
        try:
            with silence:
                if is_same_user(connection.extra(SocketAttribute.raw_socket)):
                    with anyio.move_on_after(HELLO_SECONDS):
                        line = await lines.next(HELLO_BYTES)
        finally:
            self._silent.pop(connection, None)
        try:
            hello = Hello.of(line or b"")
        except ValueError:
            return None
        # bytes: compare_digest refuses text that is not ASCII
        told, secret = (
            one.encode("utf-8", "surrogateescape") for one in (hello.secret, self._house.seat.address.secret)
        )
        return hello if hmac.compare_digest(told, secret) else None

    async def _lead(self, connection: SocketStream, lines: Lines, hello: Hello) -> None:
        """Serve a client to its end; a newer one has this daemon retire in favour of its own version."""
        house = self._house
        if hello.purpose == MCP and version_of(hello.launcher.version) > version_of(VERSION):
            record(house.seat.state_dir, hello.launcher)
            house.retire()
        if house.ending.is_set():
            await send(connection, Welcome(retiring=True).line())
        elif hello.purpose == STOP:
            await send(connection, Welcome().line())
            house.retire()
        elif self._inside > MOST_INSIDE or (house.is_full and hello.purpose != STATUS):
            hint = "End some of them; `linedex status` lists them."
            await send(connection, Welcome(error="the daemon serves too many clients", hint=hint).line())
        elif hello.purpose == STATUS:
            await tell_status(house, connection)
        elif hello.purpose == INDEX:
            await bring_up_to_date(house, connection, hello)
        elif hello.purpose == SEARCH:
            await answer_search(house, connection, lines, hello)
        elif hello.purpose == LOOKUP:
            await answer_lookup(house, connection, lines, hello)
        elif hello.purpose == MCP:
            await serve_client(house, connection, lines, hello)
        else:
            await send(connection, Welcome(error=f"the daemon knows no purpose {hello.purpose!r}").line())
