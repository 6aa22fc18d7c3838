"""What the guard lets through, one ASGI message at a time, and against a list of what is allowed."""

from __future__ import annotations

from itertools import product

import anyio
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from linedex_server.http_guard import Access, Guard, host_of, is_host, is_origin

TOKEN = "t0ken-" * 8
ACCESS = Access(
    token=TOKEN, hosts=("ours.example", "[2001:db8::1]", "port.example:81"), origins=("app://x",), body_bytes=8
)

HOSTS = {
    "ours.example": True,
    "OURS.example:65535": True,
    "[2001:db8::1]:5": True,
    "port.example:81": True,
    "port.example": False,
    "port.example:8": False,
    "port.example:811": False,
    "ours.example:": False,
    "ours.example:1:2": False,
    "ours.example.evil": False,
    "evil.ours.example": False,
    "2001:db8::1": False,
    " ours.example": False,
    "ours.example/": False,
    "": False,
}
ORIGINS = {
    None: True,
    "app://x": True,
    "http://ours.example": True,
    "https://ours.example:8443": True,
    "http://port.example": False,
    "ftp://ours.example": False,
    "app://x/": False,
    "null": False,
    "": False,
    "http://": False,
}
SECRETS = {
    f"Bearer {TOKEN}": True,
    f"BEARER  {TOKEN} ": True,
    TOKEN: False,
    f"Bearer {TOKEN[:-1]}": False,
    f"Bearer {TOKEN}\xe9": False,
    "Bearer ": False,
    None: False,
}


class Reached:
    """The guarded application: keeps the body that it was given."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        assert not message["more_body"]
        self.bodies.append(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def status_of(
    pairs: list[tuple[str, str]], pieces: list[bytes] | None = None, access: Access = ACCESS, *, stalls: bool = False
) -> tuple[int | None, list[bytes]]:
    """The status of the answer, and the bodies that reached the application."""
    reached, sent = Reached(), list[Message]()
    waiting = list(pieces or [b""])

    async def receive() -> Message:
        if not waiting:
            if stalls:
                await anyio.sleep_forever()
            return {"type": "http.disconnect"}
        body = waiting.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(waiting) or stalls}

    async def send(message: Message) -> None:
        sent.append(message)

    async def once() -> None:
        headers = [(name.encode(), value.encode("latin-1")) for name, value in pairs]
        with anyio.fail_after(20):
            await Guard(reached, access)({"type": "http", "headers": headers}, receive, send)

    anyio.run(once)
    assert [message["type"] for message in sent[:1]] in ([], ["http.response.start"])
    assert not sent or not sent[-1].get("more_body", False)
    return (sent[0]["status"] if sent else None), reached.bodies


def headers(host: str | None, origin: str | None, secret: str | None) -> list[tuple[str, str]]:
    named = (("host", host), ("origin", origin), ("authorization", secret))
    return [(name, value) for name, value in named if value is not None]


def test_only_what_is_allowed_in_all_three_ways_gets_through() -> None:
    for (host, named), (origin, may), (secret, known) in product(HOSTS.items(), ORIGINS.items(), SECRETS.items()):
        expected = 421 if not named else 403 if not may else 401 if not known else 200
        assert status_of(headers(host, origin, secret)) == (expected, [b""] if expected == 200 else []), (host, origin)


@given(st.text(st.characters(codec="latin-1")))
def test_no_other_host_origin_or_secret_gets_through(text: str) -> None:
    ours = headers("ours.example", None, f"Bearer {TOKEN}")
    name = text.lower()
    if not name.startswith(("ours.example", "port.example", "[2001:db8::1]")):
        assert status_of([("host", text), *ours[1:]])[0] == 421
    if "ours.example" not in name and "port.example" not in name and "[2001:db8::1]" not in name and name != "app://x":
        assert status_of([*ours, ("origin", text)])[0] == 403
    if TOKEN not in text:
        assert status_of([ours[0], ("authorization", text)])[0] == 401


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=8))
def test_a_body_comes_through_whole_or_not_at_all(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    expected = (200, [whole]) if len(whole) <= 8 else (413, [])
    assert status_of(headers("ours.example", None, f"Bearer {TOKEN}"), pieces) == expected


def test_a_declared_length_over_the_limit_is_enough() -> None:
    ours = headers("ours.example", None, f"Bearer {TOKEN}")
    assert status_of([*ours, ("content-length", "8")])[0] == 200
    assert status_of([*ours, ("content-length", "9")])[0] == 413


def test_a_body_that_does_not_arrive_in_time_is_refused() -> None:
    access = Access(token=TOKEN, hosts=("ours.example",), body_seconds=0.01)
    assert status_of(headers("ours.example", None, f"Bearer {TOKEN}"), [b"a"], access, stalls=True) == (408, [])


def test_a_client_that_leaves_while_it_sends_reaches_nothing() -> None:
    ours = headers("ours.example", None, f"Bearer {TOKEN}")
    reached, sent = Reached(), list[Message]()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in ours]
    anyio.run(Guard(reached, ACCESS), {"type": "http", "headers": pairs}, receive, send)
    assert (reached.bodies, sent) == ([], [])


def test_a_web_socket_is_closed() -> None:
    sent = list[Message]()

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers("ours.example", None, f"Bearer {TOKEN}")]
    anyio.run(Guard(Reached(), ACCESS), {"type": "websocket", "headers": pairs}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_addresses_are_spelled_as_in_a_host_header() -> None:
    assert host_of("2001:0DB8::0001") == "[2001:db8::1]"
    assert host_of("10.0.0.1") == "10.0.0.1"
    assert host_of("Box.Example") == "box.example"
    assert is_host("[::1]:80")
    assert not is_host("http://box")
    assert is_origin("https://box.example:8443")
    assert not is_origin("https://box.example/path")
    assert not is_origin("box.example")
