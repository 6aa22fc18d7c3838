"""Plain calls of tools in the handshake era, answered beside the SDK's loop.

The SDK takes a request through five tasks and five models, which is 0.2 ms of a call that may need no more itself. The
protocol's versions with a handshake are closed, so the form of a plain call and of its answer stays as it is.

Promise: a client sees no difference but the time. What is not known to be plain goes the SDK's way: calls before the
handshake or of unknown tools, long ones, and whatever has a part that is not named here.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import anyio
import pydantic_core
from anyio.abc import TaskGroup

from linedex_server.calling import Called, called
from linedex_server.render.words import encodable
from linedex_server.threads import Threads
from linedex_server.tools.tool import Output, Session, Tool
from linedex_server.waiting import Report, Waiting, waited_for

log = logging.getLogger(__name__)

LONGEST_PLAIN = 64 << 10
"""Bytes of a line that is looked at here first; reading a longer one twice would take longer than is gained."""

Number: TypeAlias = str | int


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


class DirectCalls:
    """The plain calls of one session."""

    def __init__(
        self,
        session: Session,
        tools: Sequence[Tool],
        threads: Threads,
        group: TaskGroup,
        tell: Callable[[bytes], Awaitable[object]],
    ) -> None:
        """Answer nothing before `open`.

        Args:
            session: what the tools work with.
            tools: those that are offered.
            threads: where they run.
            group: whose end is the end of all calls.
            tell: sends the client a line.
        """
        self._session = session
        self._tools = {tool.name: tool for tool in tools}
        self._threads = threads
        self._group = group
        self._tell = tell
        self._open = False
        self._scopes: dict[Number, anyio.CancelScope] = {}

    def open(self) -> None:
        """Hear that the handshake is over."""
        # fields are shaped by the version that was agreed on, which the SDK knows
        self._open = self._session.output is Output.TEXT

    def plain(self, line: bytes) -> PlainCall | None:
        """Return the call that a line holds, None when the SDK has to see to it."""
        if not self._open or len(line) > LONGEST_PLAIN:
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
            case {"name": str(name), "arguments": dict(arguments)}:
                tool, meta = self._tools.get(name), params.get("_meta", {})
            case _:
                return None
        if tool is None or len(message) > 4 or len(params) > 2 + ("_meta" in params) or isinstance(number, bool):
            return None
        match meta:
            case {"progressToken": str() | int() as token} if not isinstance(token, bool):
                return None if _is_enveloped(meta) else PlainCall(number, tool, arguments, token)
            case dict() if "progressToken" not in meta and not _is_enveloped(meta):
                return PlainCall(number, tool, arguments, None)
            case _:
                return None

    def begin(self, call: PlainCall, answered: Callable[[], object]) -> None:
        """Let a call run; `answered` is called when its answer was sent."""
        # at once, and not when the task begins: a thread takes its time to wake, and the call may be cancelled before
        waiting = Waiting(self._threads, partial(called, call.tool, self._session, call.arguments))
        scope = self._scopes[call.number] = anyio.CancelScope()
        self._group.start_soon(self._answer, call, waiting, scope, answered)

    def cancel(self, number: Number) -> None:
        """Wait no longer for a call, if it is one of these; nothing is answered."""
        scope = self._scopes.get(number)
        if scope is not None:
            scope.cancel()

    async def _answer(
        self, call: PlainCall, waiting: Waiting[Called], scope: anyio.CancelScope, answered: Callable[[], object]
    ) -> None:
        with scope:
            try:
                ended = await waited_for(self._report(call.token), waiting)
            except Exception as error:
                # a mistake in one tool must not end the session; the SDK does the same
                log.exception("%s failed", call.tool.name)
                line = _line(id=call.number, error={"code": 0, "message": encodable(str(error))})
            else:
                content = [{"text": ended.text, "type": "text"}]
                line = _line(id=call.number, result={"content": content, "isError": ended.failed})
            finally:
                self._scopes.pop(call.number, None)
            await self._tell(line)
            answered()

    def _report(self, token: Number | None) -> Report | None:
        if token is None:
            return None

        async def report(done: float, total: float, words: str) -> None:
            params = {"progressToken": token, "progress": done, "total": total, "message": words}
            await self._tell(_line(method="notifications/progress", params=params))

        return report


def _is_enveloped(meta: dict[str, Any]) -> bool:
    """Return whether a request says more of itself than that of the handshake era."""
    return any(name.startswith("io.modelcontextprotocol/") for name in meta)


def _line(**message: Any) -> bytes:
    return pydantic_core.to_json({"jsonrpc": "2.0", **message}) + b"\n"
