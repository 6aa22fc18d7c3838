"""Plain calls of tools, answered beside the SDK's loop.

The SDK takes a request through five tasks and five models, which is 0.2 ms of a call that may need no more itself, and
0.6 where no cache is warm. The protocol's versions are closed once they are dated, so the form of a plain call and of
its answer stays as it is: in those with a handshake, and in 2026-07-28, where each request comes in an envelope.

Promise: a client sees no difference but the time. What is not known to be plain goes the SDK's way: calls before the
SDK has answered the handshake, or one in the same envelope; calls of unknown tools, long ones, and whatever has a part
that is not named here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import pydantic_core
from anyio.abc import TaskGroup
from mcp.types import SERVER_INFO_META_KEY

from linedex.query.progress import Progress
from linedex_server.calling import called
from linedex_server.daemon.outlet import Outlet
from linedex_server.render.words import encodable
from linedex_server.threads import Job, Raised, Returned, Threads
from linedex_server.tools.tool import Output, Session, Tool
from linedex_server.waiting import Teller

LONGEST_PLAIN = 64 << 10
"""Bytes of a line that is looked at here first; reading a longer one twice would take longer than is gained."""

_ENVELOPE = "io.modelcontextprotocol/"
"""How the names of metadata begin in which a request says of which version it is, and from whom."""

Number: TypeAlias = str | int
Envelope: TypeAlias = dict[str, Any]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A call that may be answered here.

    Attributes:
        number: of the request.
        tool: what is called.
        arguments: as they were sent.
        token: under which the client wants to hear of progress, None if it does not.
    """

    number: Number
    tool: Tool
    arguments: dict[str, Any]
    token: Number | None


@dataclass(slots=True)
class _Running:
    """A call that has begun, and who hears when it is answered."""

    call: PlainCall
    answered: Callable[[], object]
    progress: Progress = field(default_factory=Progress)
    teller: Teller | None = None
    cancelled: bool = False
    job: Job[bytes] | None = None


class DirectCalls:
    """The plain calls of one session."""

    def __init__(
        self,
        session: Session,
        tools: Sequence[Tool],
        threads: Threads,
        group: TaskGroup,
        outlet: Outlet,
        stamp: Mapping[str, object],
    ) -> None:
        """Answer nothing before `accept`.

        Args:
            session: what the tools work with.
            tools: those that are offered.
            threads: where they run.
            group: has what sends answers that have to wait.
            outlet: where the client is told.
            stamp: what the server says of itself in each answer to a request in an envelope.
        """
        self._session = session
        self._tools = {tool.name: tool for tool in tools}
        self._threads = threads
        self._group = group
        self._outlet = outlet
        self._stamp = {SERVER_INFO_META_KEY: dict(stamp)}
        self._envelope: Envelope | None = None
        self._running: dict[Number, _Running] = {}

    def accept(self, envelope: Envelope) -> None:
        """Hear that the SDK has answered a request in this envelope, an empty one if it was the handshake."""
        # answers in fields are shaped by the version, which the SDK knows
        if self._session.output is Output.TEXT:
            self._envelope = envelope

    def close(self) -> None:
        """Wait for no call any more."""
        for number in list(self._running):
            self.cancel(number)

    def plain(self, line: bytes) -> PlainCall | None:
        """Return the call that a line holds, None when the SDK has to see to it."""
        if self._envelope is None or len(line) > LONGEST_PLAIN:
            return None
        try:
            message = pydantic_core.from_json(line, allow_inf_nan=False)
        except ValueError:
            return None
        match message:
            case {"jsonrpc": "2.0", "id": str() | int() as number, "method": "tools/call", "params": dict(params)}:
                pass
            case _:
                return None
        match params:
            case {"name": str(name), "arguments": dict(arguments)} if name in self._tools:
                meta = params.get("_meta", {})
            case _:
                return None
        further = len(message) > 4 or len(params) > 2 + ("_meta" in params)
        if further or isinstance(number, bool) or number in self._running:
            return None
        if not isinstance(meta, dict) or envelope_of(meta) != self._envelope:
            return None
        token = meta.get("progressToken")
        if "progressToken" in meta and (isinstance(token, bool) or not isinstance(token, str | int)):
            return None
        return PlainCall(number, self._tools[name], arguments, token)

    def begin(self, call: PlainCall, answered: Callable[[], object]) -> None:
        """Let a call run; `answered` is called when its answer was sent or is about to be."""
        running = self._running[call.number] = _Running(call, answered)
        if call.token is not None:
            running.teller = Teller(partial(self._report, call.token), running.progress)
        running.job = self._threads.start(partial(self._answer, running), partial(self._ended, running))

    def cancel(self, number: Number) -> None:
        """Wait no longer for a call, if it is one of these; nothing is answered."""
        running = self._running.pop(number, None)
        if running is not None and running.job is not None:
            running.cancelled = True
            running.progress.cancel()
            self._threads.abandon(running.job)
            if running.teller is not None:
                running.teller.end()

    def _answer(self, running: _Running) -> bytes:
        """Make the answer in a thread; return what of it is still to be sent."""
        call = running.call
        ended = called(call.tool, self._session, call.arguments, running.progress)
        result: dict[str, Any] = {"content": [{"text": ended.text, "type": "text"}], "isError": ended.failed}
        if self._envelope:
            result |= {"resultType": "complete", "_meta": self._stamp}
        line = _line(id=call.number, result=result)
        # who hears of progress must not hear of it behind the answer
        silent = running.teller is None or running.teller.silence()
        return b"" if silent and not running.cancelled and self._outlet.send_at_once(line) else line

    def _ended(self, running: _Running, outcome: Returned[bytes] | Raised) -> None:
        call = running.call
        del self._running[call.number]
        running.progress.cancel()
        if running.teller is not None:
            running.teller.end()
        if isinstance(outcome, Raised):
            # a mistake in one tool must not end the session; the SDK does the same
            log.error("%s failed", call.tool.name, exc_info=outcome.error)
            line = _line(id=call.number, error={"code": 0, "message": encodable(str(outcome.error))})
        else:
            line = outcome.answer
        if line:
            self._group.start_soon(self._send, line, running.answered)
        else:
            running.answered()

    async def _send(self, line: bytes, answered: Callable[[], object]) -> None:
        await self._outlet.send(line)
        answered()

    async def _report(self, token: Number, done: float, total: float, words: str) -> None:
        params = {"progressToken": token, "progress": done, "total": total, "message": words}
        await self._outlet.send(_line(method="notifications/progress", params=params))


def envelope_of(meta: object) -> Envelope:
    """Return what the metadata of a request say of the request itself, nothing in the handshake era."""
    if not isinstance(meta, Mapping):
        return {}
    return {name: value for name, value in meta.items() if name.startswith(_ENVELOPE)}


def _line(**message: Any) -> bytes:
    return pydantic_core.to_json({"jsonrpc": "2.0", **message}) + b"\n"
