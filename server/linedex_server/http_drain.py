"""How the HTTP door closes: what streams is ended, what answers may finish, what comes is turned away.

Promise: `drain` returns within its time plus a few milliseconds, and afterwards no request runs. A response that has
begun is ended as a whole HTTP response, so that a client reads an end and no torn connection.
"""

from __future__ import annotations

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Drain:
    """An ASGI application that passes everything on to another one, until it is told to end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running: set[_Exchange] = set()
        self._ending = anyio.Event()
        self._empty = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI connection, or have it answered."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(send, streams=scope.get("method") == "GET")
        if self._ending.is_set():
            await exchange.finish()
            return
        self._running.add(exchange)
        try:
            with exchange.cancelling:
                await self._app(scope, receive, exchange.send)
            if exchange.cancelling.cancelled_caught:
                await exchange.finish()
        finally:
            self._running.discard(exchange)
            if self._ending.is_set() and not self._running:
                self._empty.set()

    async def drain(self, seconds: float) -> None:
        """Turn away new requests, end streams now, and what else still runs after `seconds`.

        A GET is taken for a stream: it waits for news, and others that are answered by GET take milliseconds.
        """
        self._ending.set()
        if not self._running:
            return
        for exchange in self._running:
            if exchange.streams:
                exchange.cancelling.cancel()
        with anyio.move_on_after(seconds):
            await self._empty.wait()
            return
        for exchange in self._running:
            exchange.cancelling.cancel()
        with anyio.move_on_after(seconds):
            await self._empty.wait()


class _Exchange:
    """One request and how far its response has come."""

    def __init__(self, send: Send, *, streams: bool) -> None:
        self.streams = streams
        self.cancelling = anyio.CancelScope()
        self._send = send
        self._begun = False
        self._ended = False

    async def send(self, message: Message) -> None:
        """Pass one message on."""
        if message["type"] == "http.response.start":
            self._begun = True
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self._ended = True
        await self._send(message)

    async def finish(self) -> None:
        """End the response; one that has not begun says that the server is stopping."""
        text = b""
        if not self._begun:
            text = b"linedex: The server is stopping. Try again when it is there.\n"
            headers = [
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", str(len(text)).encode()),
                (b"connection", b"close"),
                (b"retry-after", b"1"),
            ]
            await self._send({"type": "http.response.start", "status": 503, "headers": headers})
        if not self._ended:
            await self._send({"type": "http.response.body", "body": text, "more_body": False})
