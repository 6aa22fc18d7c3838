"""The end of HTTP serving, one ASGI message at a time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linedex_server.http_drain import Drain

LONG = 60.0
SHORT = 0.01


class Wire:
    """What a client sent and was sent."""

    def __init__(self, method: str = "POST") -> None:
        self.scope: Scope = {"type": "http", "method": method, "path": "/", "headers": []}
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    @property
    def whole(self) -> bool:
        """Whether the response has one start and one end, and nothing after."""
        ends = [not message.get("more_body", False) for message in self.sent[1:]]
        return self.sent[0]["type"] == "http.response.start" and ends[-1] and not any(ends[:-1])


class Answering:
    """An application that begins, waits until it may go on, and answers."""

    def __init__(self, *, begins: bool) -> None:
        self.begins = begins
        self.reached = anyio.Event()
        self.go_on = anyio.Event()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        if self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"one", "more_body": True})
        self.reached.set()
        await self.go_on.wait()
        if not self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"two", "more_body": False})


def ran(steps: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def in_time() -> None:
        with anyio.fail_after(20):
            await steps()

    anyio.run(in_time)


@pytest.mark.parametrize("begins", [True, False])
def test_a_call_in_flight_is_answered_and_new_ones_are_turned_away(begins: bool) -> None:
    async def steps() -> None:
        app = Answering(begins=begins)
        drain = Drain(app)
        early, late = Wire(), Wire()
        async with anyio.create_task_group() as group:
            group.start_soon(drain, early.scope, early.receive, early.send)
            await app.reached.wait()
            group.start_soon(drain.drain, LONG)
            await anyio.wait_all_tasks_blocked()
            await drain(late.scope, late.receive, late.send)
            app.go_on.set()
        assert early.whole
        assert early.body.endswith(b"two")
        assert (late.status, late.whole) == (503, True)

    ran(steps)


def test_a_stream_is_ended_at_once_and_whole() -> None:
    async def steps() -> None:
        app = Answering(begins=True)
        drain = Drain(app)
        wire = Wire("GET")
        async with anyio.create_task_group() as group:
            group.start_soon(drain, wire.scope, wire.receive, wire.send)
            await app.reached.wait()
            await drain.drain(LONG)
        assert (wire.status, wire.body, wire.whole) == (200, b"one", True)

    ran(steps)


@pytest.mark.parametrize(("begins", "status", "body"), [(True, 200, b"one"), (False, 503, b"linedex: The server")])
def test_a_call_that_takes_too_long_is_cut_off_but_ends_whole(begins: bool, status: int, body: bytes) -> None:
    async def steps() -> None:
        app = Answering(begins=begins)
        drain = Drain(app)
        wire = Wire()
        async with anyio.create_task_group() as group:
            group.start_soon(drain, wire.scope, wire.receive, wire.send)
            await app.reached.wait()
            await drain.drain(SHORT)
        assert (wire.status, wire.whole) == (status, True)
        assert wire.body.startswith(body)

    ran(steps)


def test_one_that_cannot_be_cancelled_does_not_hold_up_the_end() -> None:
    async def steps() -> None:
        go_on = anyio.Event()

        async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
            with anyio.CancelScope(shield=True):
                await go_on.wait()

        app: ASGIApp = stubborn
        drain = Drain(app)
        wire = Wire()
        async with anyio.create_task_group() as group:
            group.start_soon(drain, wire.scope, wire.receive, wire.send)
            await anyio.wait_all_tasks_blocked()
            await drain.drain(SHORT)
            assert wire.sent == []
            go_on.set()

    ran(steps)


def test_nothing_in_flight_ends_at_once() -> None:
    async def steps() -> None:
        drain = Drain(Answering(begins=False))
        await drain.drain(LONG)

    ran(steps)
