"""Who may ask over HTTP: one ASGI wrapper in front of every route and method.

Promise: the wrapped application sees a request only if its Host names this server, its Origin (when there is one) is a
page of such a host or was allowed by name, it carries the token, and its body has arrived whole within the limit. Host
and Origin are what keeps a web page, through a name that it made point here, from asking; the token keeps other users
of the machine out. A connection that is no HTTP request (a WebSocket) is refused.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_BYTES: Final = 4 << 20
"""Largest body of a request; the protocol package has the same limit."""
BODY_SECONDS: Final = 30.0
"""Time in which a body must have arrived."""
LINGER_SECONDS: Final = 1.0
_LINGER_BYTES: Final = 64 << 20

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Access:
    """What a request must show.

    Attributes:
        token: the bearer token.
        hosts: the names by which clients call this server, `NAME` with any port or `NAME:PORT`; an IPv6 address stands
            in brackets. A tunnel or a published container port changes the port, so only the name protects.
        origins: further origins whose pages may ask, spelled as browsers send them.
        body_bytes: largest body.
        body_seconds: time in which it must have arrived.
    """

    token: str
    hosts: tuple[str, ...] = LOOPBACK_NAMES
    origins: tuple[str, ...] = ()
    body_bytes: int = BODY_BYTES
    body_seconds: float = BODY_SECONDS


@dataclass(frozen=True, slots=True)
class _Refusal:
    status: int
    words: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Guard:
    """An ASGI application that lets through to another one only what `Access` allows."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._token = access.token.encode()
        self._hosts = frozenset(host.lower() for host in access.hosts)
        self._origins = frozenset(origin.lower() for origin in access.origins)
        self._body_bytes = access.body_bytes
        self._body_seconds = access.body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI connection, or have it answered."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._judged(scope["headers"])
        if refusal is None:
            body = await self._body(receive)
            if isinstance(body, bytes):
                await self._app(scope, _arrived(body, receive), send)
                return
            refusal = body
        if refusal is not None:
            await _refuse(refusal, receive, send)

    def _judged(self, headers: Iterable[tuple[bytes, bytes]]) -> _Refusal | None:
        hosts, origins, secrets, lengths = (
            [value.decode("latin-1") for name, value in headers if name == wanted]
            for wanted in (b"host", b"origin", b"authorization", b"content-length")
        )
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return _Refusal(421, "The Host header does not name this server. Names are added with http_allowed_hosts.")
        if len(origins) > 1 or not all(map(self._may_ask, origins)):
            return _Refusal(403, "Pages of this Origin may not ask. Origins are added with http_allowed_origins.")
        if not secrets:
            return _unauthorized("A bearer token is needed; it lies in linedex's state folder, http/token.")
        if len(secrets) > 1 or not self._is_token(secrets[0]):
            return _unauthorized("The bearer token is not this server's.", b', error="invalid_token"')
        if any(length.isdigit() and int(length) > self._body_bytes for length in lengths):
            return self._too_large()
        return None

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host.lower())
        return found is not None and (found["name"] in self._hosts or found[0] in self._hosts)

    def _may_ask(self, origin: str) -> bool:
        if origin.lower() in self._origins:
            return True
        scheme, _, host = origin.partition("://")
        return scheme.lower() in ("http", "https") and self._is_ours(host)

    def _is_token(self, header: str) -> bool:
        scheme, _, given = header.partition(" ")
        # bytes: compare_digest refuses text that is not ASCII
        return hmac.compare_digest(given.strip(" ").encode(), self._token) and scheme.lower() == "bearer"

    async def _body(self, receive: Receive) -> bytes | _Refusal | None:
        """The whole body, or why it is refused; None when the client is gone."""
        body = bytearray()
        with anyio.move_on_after(self._body_seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                # A body without a declared length may be of any length, so what has come is counted.
                body += message.get("body", b"")
                if len(body) > self._body_bytes:
                    return self._too_large()
                if not message.get("more_body", False):
                    return bytes(body)
        return _Refusal(408, f"The request took longer than {self._body_seconds:g} s to arrive.")

    def _too_large(self) -> _Refusal:
        return _Refusal(413, f"The request is larger than {self._body_bytes:,} bytes. Send less at once.")


def _unauthorized(words: str, more: bytes = b"") -> _Refusal:
    return _Refusal(401, words, ((b"www-authenticate", b'Bearer realm="linedex"' + more),))


def _arrived(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body which has arrived, then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(refusal: _Refusal, receive: Receive, send: Send) -> None:
    text = f"linedex: {refusal.words}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(text)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
        *refusal.headers,
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": text, "more_body": True})
    # Closing while a body still comes in resets the connection, and the client may never read the answer.
    left = _LINGER_BYTES
    with anyio.move_on_after(LINGER_SECONDS):
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if not message.get("more_body", False):
                break
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def host_of(address: str) -> str:
    """Return how an IP address or a host name stands in a Host header, without a port."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address.lower()
    return f"[{parsed.compressed}]" if parsed.version == 6 else parsed.compressed


def is_host(text: str) -> bool:
    """Whether a text is a host as it stands in a Host header, perhaps with a port."""
    return _HOST.fullmatch(text.lower()) is not None


def is_origin(text: str) -> bool:
    """Whether a text is an origin as browsers send it: scheme and host, perhaps a port, and nothing after."""
    parts = urlsplit(text)
    return bool(parts.scheme and parts.netloc) and text == f"{parts.scheme}://{parts.netloc}"
