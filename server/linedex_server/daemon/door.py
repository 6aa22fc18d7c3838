"""Who may come in, and to whom they are led."""

from __future__ import annotations

import hmac

import anyio
from anyio.abc import SocketAttribute, SocketStream

from linedex_server import VERSION
from linedex_server.daemon.control import bring_up_to_date, tell_status
from linedex_server.daemon.house import House
from linedex_server.daemon.lines import Lines
from linedex_server.daemon.sessions import send, serve_client
from linedex_server.rendezvous.hello import INDEX, MCP, STATUS, STOP, Hello, Welcome, version_of
from linedex_server.rendezvous.launch import record
from linedex_server.rendezvous.listening import is_same_user

HELLO_SECONDS = 10.0
"""What a client may take to say its first line."""


async def receive(house: House, connection: SocketStream) -> None:
    """Serve one connection to its end.

    Another user's process, one without the secret, and one that says no hello are given no answer. A newer client has
    this daemon retire in favour of its own version.
    """
    async with connection:
        if not is_same_user(connection.extra(SocketAttribute.raw_socket)):
            return
        lines = Lines(connection)
        line = None
        with anyio.move_on_after(HELLO_SECONDS):
            line = await lines.next()
        try:
            hello = Hello.of(line or b"")
        except ValueError:
            return
        if not hmac.compare_digest(hello.secret, house.seat.address.secret):
            return
        if hello.purpose == MCP and version_of(hello.launcher.version) > version_of(VERSION):
            record(house.seat.state_dir, hello.launcher)
            house.retire()
        if house.ending.is_set():
            await send(connection, Welcome(retiring=True).line())
        elif hello.purpose == STOP:
            await send(connection, Welcome().line())
            house.retire()
        elif hello.purpose == STATUS:
            await tell_status(house, connection)
        elif house.is_full:
            hint = "End some of them; `linedex status` lists them."
            await send(connection, Welcome(error="the daemon serves too many clients", hint=hint).line())
        elif hello.purpose == INDEX:
            await bring_up_to_date(house, connection, hello)
        elif hello.purpose == MCP:
            await serve_client(house, connection, lines, hello)
        else:
            await send(connection, Welcome(error=f"the daemon knows no purpose {hello.purpose!r}").line())
