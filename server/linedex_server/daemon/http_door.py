"""HTTP clients of the daemon: one server over the daemon's own roots, that ends when the daemon does.

Promise: they see the roots that `linedex serve` was given and no other session's, in /metrics too, under the daemon's
own settings.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from linedex.answers import IndexStatus
from linedex_server.config import Settings
from linedex_server.daemon.house import House
from linedex_server.http import Address, access_for, announcement, bound, http_app, serve_http
from linedex_server.http_guard import Access
from linedex_server.mcp_server import build_server
from linedex_server.threads import Threads
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Output, Session
from linedex_server.workspace import Workspace

CALLS_AT_ONCE = 16
"""Of all HTTP clients together, who share one server."""


@dataclass(frozen=True, slots=True)
class HttpDoor:
    """Where HTTP clients come in.

    Attributes:
        listener: the listening socket.
        access: what they must show.
        announcement: what a person is told of it.
    """

    listener: socket.socket
    access: Access
    announcement: str

    @classmethod
    def open(cls, text: str, settings: Settings) -> Self:
        """Return a door at `HOST:PORT`; those who come wait until it is served.

        Raises:
            BadArgument: the address cannot be used, or other machines reach it and that was not allowed.
            Unreadable: the token cannot be used, or the system does not let us listen there.
        """
        address = Address.parse(text)
        access = access_for(address, settings)
        listener = bound(address, allow_remote=settings.http_allow_remote)
        return cls(listener, access, announcement(listener, settings.state_dir))

    async def serve(self, house: House, own: Workspace) -> None:
        """Serve until the daemon ends; `own` are the roots that are seen."""
        settings = own.settings
        tools = house.meter.counted(offered(settings.tools, read_only=settings.read_only))
        session = Session(own, Output(settings.output))

        def statuses() -> Sequence[IndexStatus]:
            return [index.status() for index in own.indexes]

        app = http_app(
            build_server(session, tools, Threads(CALLS_AT_ONCE)),
            self.access,
            statuses=statuses,
            meter=house.meter,
            sessions=lambda: len(house.guests),
        )
        await serve_http(app, self.listener, house.ending)
