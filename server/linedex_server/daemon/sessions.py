"""One MCP client of the daemon, from its hello to its end.

Promise: the session sees the roots of its own hello and no others, under its own settings; what it asks holds up no
other session; it ends when its connection does, and within a second when the daemon ends, after the calls in flight if
they are done by then.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import SocketStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from linedex.errors import LinedexError
from linedex_server.config import Settings, differing
from linedex_server.daemon.direct import DirectCalls, Envelope, envelope_of
from linedex_server.daemon.house import Guest, House
from linedex_server.daemon.lines import Lines, is_crowded, send
from linedex_server.daemon.outlet import Outlet
from linedex_server.mcp_server import CALLS_AT_ONCE, build_server, unrestricted_warning
from linedex_server.rendezvous.hello import LAST_ANSWERS_SECONDS, Hello, Welcome
from linedex_server.threads import Threads
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Output, Session, Tool
from linedex_server.unreadable import refusal_of
from linedex_server.workspace import Workspace

DRAIN_SECONDS = 1.0
"""What calls in flight may take when the daemon ends."""
MOST_UNANSWERED = 1_000
"""Requests of one client that may wait for their answers; more are refused."""
CALL = "tools/call"
LISTEN = "subscriptions/listen"
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_LOOK_SECONDS = 0.02


def workspace_of(hello: Hello, house: House) -> Workspace:
    """Return the workspace that a hello asks for; its indexes are those of the daemon.

    Raises:
        LinedexError: its settings or roots cannot be used.
    """
    # the folder of state is the daemon's, whose sidecars they all are
    given = {**hello.arguments, "state_dir": str(house.seat.state_dir)}
    folder = Path(hello.folder)
    settings = Settings.load(given, environ=hello.environ).rooted(folder)
    return Workspace(settings, base=folder, indexes=house.indexes)


async def serve_client(house: House, connection: SocketStream, lines: Lines, hello: Hello) -> None:
    """Welcome the client that said `hello` and serve it to its end."""
    own_thread = anyio.CapacityLimiter(1)
    try:
        workspace = await anyio.to_thread.run_sync(workspace_of, hello, house, limiter=own_thread)
    except LinedexError as error:
        await send(connection, Welcome(error=str(error), hint=error.hint).line())
        return
    settings = workspace.settings
    tools = house.meter.counted(offered(settings.tools, read_only=settings.read_only))
    notices = [f"serving {root}" for root in workspace.roots]
    if workspace.unrestricted:
        notices.insert(0, f"WARNING: {unrestricted_warning(workspace)}")
    others = differing(house.settings, settings)
    if others:
        notices.append(
            f"the daemon (process {os.getpid()}) was started under other settings and keeps to them: "
            f"{'; '.join(others)}; `linedex stop` lets this client start one under its own"
        )
    welcome = Welcome(retry=[tool.name for tool in tools if not tool.writes], notices=notices)
    try:
        with house.hosting(Guest(hello.pid, workspace.roots)):
            if await send(connection, welcome.line()):
                session = Session(workspace, Output(settings.output))
                with closing(Outlet(connection)) as outlet:
                    async with anyio.create_task_group() as group:
                        # opening and listing a large root must not hold up the handshake
                        group.start_soon(_start, workspace, own_thread)
                        await converse(session, tools, lines, outlet, house.ending)
                        group.cancel_scope.cancel()
    finally:
        # a daemon that ends closes all indexes itself
        if not house.ending.is_set():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(workspace.close, limiter=anyio.CapacityLimiter(1))


async def _start(workspace: Workspace, limiter: anyio.CapacityLimiter) -> None:
    await anyio.to_thread.run_sync(workspace.start, limiter=limiter, abandon_on_cancel=True)


async def converse(session: Session, tools: Sequence[Tool], lines: Lines, outlet: Outlet, ending: anyio.Event) -> None:
    """Answer a client until it says no more, or the daemon ends.

    Args:
        session: what the tools work with.
        tools: those that are offered.
        lines: what the client says.
        outlet: where it is told.
        ending: set when the daemon ends.
    """
    threads = Threads(CALLS_AT_ONCE)
    server = build_server(session, tools, threads)
    with ExitStack() as ends:
        async with anyio.create_task_group() as group:
            calls = DirectCalls(session, tools, threads, group, outlet, server.server_info_stamp)
            direct = ends.enter_context(closing(calls))
            talk = ends.enter_context(closing(_Talk(lines, outlet, direct)))
            group.start_soon(talk.receive)
            group.start_soon(talk.send)
            group.start_soon(talk.end_with, ending, group.cancel_scope)
            await server.run(talk.to_server, talk.from_server, server.create_initialization_options())
            group.cancel_scope.cancel()


class _Talk:
    """Messages between a client and the protocol's loop, and which requests are unanswered.

    Attributes:
        to_server: what the loop reads.
        from_server: what the loop writes to.
    """

    def __init__(self, lines: Lines, outlet: Outlet, direct: DirectCalls) -> None:
        """Say and hear nothing yet.

        Args:
            lines: what the client says.
            outlet: where it is told.
            direct: answers what the loop need not see.
        """
        self._lines = lines
        self._outlet = outlet
        self._direct = direct
        self._received: MemoryObjectSendStream[SessionMessage | Exception]
        self.to_server: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._received, self.to_server = anyio.create_memory_object_stream(0)
        self.from_server: MemoryObjectSendStream[SessionMessage]
        self._sent: MemoryObjectReceiveStream[SessionMessage]
        self.from_server, self._sent = anyio.create_memory_object_stream(0)
        self._unanswered: dict[str | int, str] = {}
        # of requests that the loop has: the envelope, with which further ones may be answered beside it
        self._envelopes: dict[str | int, Envelope] = {}
        self._receiving = anyio.CancelScope()

    async def receive(self) -> None:
        """Hand every message of the client to the loop, until one is too long or holds too much.

        One that says no more may still listen, as at the end of a pipe: what it has asked is answered first.
        """
        with self._receiving:
            while (line := await self._lines.next()) is not None and not is_crowded(line):
                if not line or line.isspace():
                    continue
                call = self._direct.plain(line)
                if call is not None and len(self._unanswered) < MOST_UNANSWERED:
                    self._unanswered[call.number] = CALL
                    self._direct.begin(call, partial(self._unanswered.pop, call.number, None))
                    continue
                try:
                    item = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                except ValueError:
                    await self._outlet.send(_line(SessionMessage(refusal_of(line))))
                    continue
                if not await self._counted(item):
                    continue
                try:
                    await self._received.send(item)
                except _GONE:
                    return
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                while self._waits_for_answers() and not self._outlet.is_closed():
                    await anyio.sleep(_LOOK_SECONDS)
                await self._outlet.flush()
            self._received.close()

    def close(self) -> None:
        """Let go of the ways to the loop and back, which nobody uses any more."""
        self._received.close()
        self._sent.close()

    def _waits_for_answers(self) -> bool:
        """Return whether something was asked whose answer comes without more being said."""
        return any(method != LISTEN for method in self._unanswered.values())

    async def _counted(self, item: SessionMessage) -> bool:
        """Note a request; refuse it when too many are unanswered."""
        message = item.message
        if isinstance(message, JSONRPCRequest):
            if len(self._unanswered) >= MOST_UNANSWERED:
                data = ErrorData(code=INVALID_REQUEST, message=f"{MOST_UNANSWERED:,} requests wait for their answers")
                refusal = JSONRPCError(jsonrpc="2.0", id=message.id, error=data)
                await self._outlet.send(_line(SessionMessage(refusal)))
                return False
            self._unanswered[message.id] = message.method
            # a handshake is one, whatever its metadata are
            shaking = message.method == "initialize"
            envelope = {} if shaking else envelope_of((message.params or {}).get("_meta"))
            if shaking or envelope:
                self._envelopes[message.id] = envelope
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            cancelled = (message.params or {}).get("requestId")
            if isinstance(cancelled, (str, int)):
                self._unanswered.pop(cancelled, None)
                self._envelopes.pop(cancelled, None)
                self._direct.cancel(cancelled)
        return True

    async def send(self) -> None:
        """Hand every message of the loop to the client; one who is gone does not stop the loop."""
        async for item in self._sent:
            await self._outlet.send(_line(item))
            message = item.message
            if isinstance(message, (JSONRPCResponse, JSONRPCError)) and message.id is not None:
                self._unanswered.pop(message.id, None)
                envelope = self._envelopes.pop(message.id, None)
                if isinstance(message, JSONRPCResponse) and envelope is not None:
                    self._direct.accept(envelope)

    async def end_with(self, ending: anyio.Event, scope: anyio.CancelScope) -> None:
        """When the daemon ends, take nothing more in, give calls in flight a moment, and end the session."""
        await ending.wait()
        self._receiving.cancel()
        with anyio.move_on_after(DRAIN_SECONDS):
            while CALL in self._unanswered.values():
                await anyio.sleep(_LOOK_SECONDS)
            await self._outlet.flush()
        scope.cancel()


def _line(item: SessionMessage) -> bytes:
    return item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
