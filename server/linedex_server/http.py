"""The HTTP door: MCP over Streamable HTTP at /mcp, /healthz and /metrics, all behind one guard.

Promise: both protocol eras are answered; nothing but loopback is bound unless that was allowed by name, and then the
guard checks as much as before; serving ends within two seconds of being told to, whatever its clients do. The sessions
of one server see the same roots, those of the server it was given.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from linedex.answers import IndexStatus
from linedex.errors import BadArgument, Unreadable
from linedex_server.config import Settings
from linedex_server.http_drain import Drain
from linedex_server.http_guard import LOOPBACK_NAMES, Access, Guard, host_of, is_host, is_origin
from linedex_server.http_token import http_token, token_path
from linedex_server.metrics import CONTENT_TYPE, Meter, exposition

LOOPBACK = "127.0.0.1"
SESSIONS = 1_000
"""Sessions of the handshake era that are open at once; those of a client that went away end after half an hour."""
CONNECTIONS = 128
HEAD_SECONDS = 10.0
"""Time in which a new connection must have sent the head of a request."""
KEPT_SECONDS = 30
"""An idle connection is kept longer than clients keep theirs (5 s), so that none sends into a closed one."""
CALL_SECONDS = 0.7
"""What calls in flight may take at the end; what then still runs is cancelled."""
UNREAD_SECONDS = 1
"""What clients may then take to read their answers; uvicorn knows whole seconds only."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen.

    Attributes:
        host: an IP address, without brackets, or a name.
        port: 0 lets the system choose.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address that `HOST:PORT`, `[IPV6]:PORT`, `:PORT` or `PORT` spells; loopback without a host.

        Raises:
            BadArgument: it spells none.
        """
        host, colon, port = text.strip().rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        usable = port.isascii() and port.isdigit() and int(port) <= 65535
        if not usable or (":" in bare and bare == host) or (colon and host == "[]"):
            raise BadArgument(
                f"`{text}` is no address to listen at.", "Write HOST:PORT, for example 127.0.0.1:8765 or [::1]:8765."
            )
        return cls(bare or LOOPBACK, int(port))


def bound(address: Address, *, allow_remote: bool = False) -> socket.socket:
    """Return a listening socket.

    What decides is the IP address that a name stands for, not the name.

    Args:
        address: where to listen.
        allow_remote: whether other machines may reach it.

    Raises:
        BadArgument: the address is not a loopback one and `allow_remote` is not set, or the name is unknown.
        Unreadable: the system does not let us listen there.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):
        raise BadArgument(f"The host `{address.host}` is unknown.", "Listen at 127.0.0.1:PORT.") from None
    if not allow_remote and not is_loopback(str(place[0])):
        raise BadArgument(
            f"{address.host}:{address.port} can be reached from other machines.",
            "Listen at 127.0.0.1:PORT, or allow it with --http-allow-remote; the connection is not encrypted.",
        )
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let another process take the port over
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(CONNECTIONS)
    except OSError as error:
        listener.close()
        hint = "Choose another port; 0 takes a free one." if error.errno == errno.EADDRINUSE else ""
        raise Unreadable(f"Cannot listen at {address.host}:{address.port}: {error.strerror}.", hint) from None
    listener.settimeout(0)
    return listener


def is_loopback(host: str) -> bool:
    """Whether an IP address, perhaps with a zone, is this machine's own."""
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback


def access_for(address: Address, settings: Settings) -> Access:
    """Return what requests to a server at this address must show, making the token on first use.

    Raises:
        BadArgument: an allowed host or origin is misspelled.
        Unreadable: the token cannot be used.
    """
    for host in settings.http_allowed_hosts:
        if not is_host(host):
            raise BadArgument(f"http_allowed_hosts holds `{host}`.", "Write NAME, NAME:PORT or [IPV6]:PORT.")
    for origin in settings.http_allowed_origins:
        if not is_origin(origin):
            raise BadArgument(f"http_allowed_origins holds `{origin}`.", "Write SCHEME://HOST or SCHEME://HOST:PORT.")
    own = () if address.host in ("0.0.0.0", "::") else (host_of(address.host),)
    return Access(
        token=http_token(settings.state_dir),
        hosts=(*LOOPBACK_NAMES, *own, *settings.http_allowed_hosts),
        origins=settings.http_allowed_origins,
    )


def announcement(listener: socket.socket, state_dir: Path) -> str:
    """Return what a person is told at the start: the URL, where the token lies, and who can reach it."""
    host, port = listener.getsockname()[:2]
    warning = (
        ""
        if is_loopback(host)
        else "linedex: WARNING: other machines can reach this port, and the connection is NOT encrypted\n"
    )
    return (
        f"{warning}linedex: MCP over HTTP at http://{host_of(host)}:{port}/mcp, "
        f"bearer token in {token_path(state_dir)}\n"
    )


def http_app(
    server: Server[Any],
    access: Access,
    *,
    statuses: Callable[[], Sequence[IndexStatus]],
    meter: Meter,
    sessions: Callable[[], int] = lambda: 0,
) -> Drain:
    """Return the ASGI application that answers over HTTP; it needs the ASGI lifespan.

    Args:
        server: answers at /mcp; its lifespan is entered once.
        access: what every request must show.
        statuses: the state of each root, for /metrics; called in a thread, once at a time.
        meter: what was counted, for /metrics.
        sessions: clients that are connected by other ways, for /metrics.
    """
    # Host and Origin are the guard's: the protocol package would check them at /mcp alone.
    manager = StreamableHTTPSessionManager(server, max_request_body_size=access.body_bytes, max_sessions=SESSIONS)
    one_scrape = anyio.CapacityLimiter(1)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    async def metrics(_: Request) -> Response:
        known = await anyio.to_thread.run_sync(statuses, limiter=one_scrape, abandon_on_cancel=True)
        # the package has no public count of its sessions
        connected = sessions() + len(manager._server_instances)
        return Response(exposition(known, meter, sessions=connected), media_type=None, headers=_METRICS)

    routes = [
        Route("/mcp", StreamableHTTPASGIApp(manager)),
        Route("/healthz", _healthz),
        Route("/metrics", metrics),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False
    return Drain(Guard(app, access))


_METRICS = {"content-type": CONTENT_TYPE, "cache-control": "no-store"}


async def _healthz(_: Request) -> Response:
    return PlainTextResponse("ok\n", headers={"cache-control": "no-store"})


class _Impatient(H11Protocol):
    """Hangs up on who connects and asks nothing; uvicorn itself waits for ever, and so they would use up the places.

    Who asked once and is still connected has shown the token: the guard hangs up on all others.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._hang_up)

    def _hang_up(self) -> None:
        if not self.cycle:
            self.transport.close()


class _Uvicorn(uvicorn.Server):
    """Leaves signals to whoever runs it, and wakes once a second, for the Date header, instead of ten times."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._end = anyio.Event()

    def end(self) -> None:
        """Begin to end."""
        self.should_exit = True
        self._end.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with anyio.move_on_after(1):
                await self._end.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_http(app: Drain, listener: socket.socket, stop: anyio.Event) -> None:
    """Serve until `stop` is set or the task is cancelled; then end within two seconds. Signals are the caller's.

    Args:
        app: as `http_app` returns it.
        listener: as `bound` returns it; closed at the end.
        stop: new connections are refused once it is set; calls in flight have `CALL_SECONDS`.
    """
    config = uvicorn.Config(
        app,
        http=_Impatient,
        ws="none",
        lifespan="on",
        # the process's logging stands; an access log would only repeat paths
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=KEPT_SECONDS,
        timeout_graceful_shutdown=UNREAD_SECONDS,
    )
    serving = _Uvicorn(config)

    async def tell_the_end() -> None:
        try:
            await stop.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await app.drain(CALL_SECONDS)
            serving.end()

    async with anyio.create_task_group() as group:
        group.start_soon(tell_the_end)
        # uvicorn ends in order when told to, not when cancelled
        with anyio.CancelScope(shield=True):
            await serving.serve(sockets=[listener])
        group.cancel_scope.cancel()
