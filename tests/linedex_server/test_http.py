"""The HTTP door with real sockets: who is refused, the nine tools in both eras, health, metrics, and the end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp.types import CallToolResult, ResourceUpdatedNotification, TextContent

from linedex.errors import BadArgument, Unreadable
from linedex_server import http
from linedex_server.config import Settings
from linedex_server.http import Address, access_for, announcement, bound, http_app, serve_http
from linedex_server.http_guard import LOOPBACK_NAMES
from linedex_server.mcp_server import build_server
from linedex_server.metrics import Meter
from linedex_server.tools.parameters import Given
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Reply, Session, Tool
from linedex_server.workspace import Workspace

ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
ROUTES = ("/mcp", "/healthz", "/metrics", "/", "/mcp/", "/no/such/route")
METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH")
BODY_BYTES = 100_000

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("get_overview", {"absolute_file_path": "src/cart.py"}, "class Cart"),
    ("search_content", {"absolute_file_path": "src/cart.py", "pattern": "def add"}, "2:    def add"),
    ("search_directory", {"absolute_dir_path": ".", "pattern": "GRÜSSE"}, "grüsse zusammen"),
    ("read_content", {"absolute_file_path": "src/cart.py", "offset": 1, "limit": 1}, "1\tclass Cart:"),
    ("read_enclosing", {"absolute_file_path": "src/cart.py", "line": 3}, "method Cart.add"),
    ("list_directory", {"absolute_dir_path": "src"}, "cart.py\t"),
    ("find_symbol", {"name": "Cart.add"}, "src/cart.py:2-3 method Cart.add"),
    ("find_files", {"name": "cart"}, "src/cart.py"),
    ("index_status", {}, "2 files"),
]


class Door:
    """A server on a port of its own, and how to ask it."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def request(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one request that carries the token unless `headers` say otherwise; an empty header is left out."""
        with HTTPSession(self.port) as connection:
            sent = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.token}", **(headers or {})}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return answered(connection.getresponse())

    def status(self, method: str, path: str, **headers: str) -> int:
        return self.request(method, path, headers)[0]


class HTTPSession(HTTPConnection):
    """A connection that a `with` closes."""

    def __init__(self, port: int) -> None:
        super().__init__("127.0.0.1", port, timeout=20)

    def __enter__(self) -> HTTPSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def answered(response: HTTPResponse) -> tuple[int, dict[str, str], bytes]:
    return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()


@contextmanager
def serving(folder: Path, *more: Tool, **changed: Any) -> Iterator[Door]:
    """Serve a small tree from a thread; `changed` are settings."""
    root = folder / "tree"
    (root / "src").mkdir(parents=True)
    (root / "src" / "cart.py").write_text("class Cart:\n    def add(self, item):\n        pass\n", encoding="utf-8")
    (root / "note.txt").write_text("grüsse zusammen\n", encoding="utf-8")
    settings = Settings(state_dir=folder / "state", allowed_roots=(str(root),), workers=1, **changed)
    address = Address.parse("127.0.0.1:0")
    access = replace(access_for(address, settings), body_bytes=BODY_BYTES)
    with ExitStack() as exits:
        workspace = exits.enter_context(Workspace(settings))
        workspace.indexes[0].build()
        meter = Meter()
        server = build_server(Session(workspace), meter.counted((*offered("default"), *more)))
        app = http_app(server, access, statuses=lambda: [index.status() for index in workspace.indexes], meter=meter)
        listener = bound(address)
        port = listener.getsockname()[1]
        portal = exits.enter_context(anyio.from_thread.start_blocking_portal())
        stop = portal.call(anyio.Event)
        ended = portal.start_task_soon(serve_http, app, listener, stop)
        exits.callback(ended.result, 20)
        exits.callback(portal.call, stop.set)
        yield Door(port, access.token)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=20)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with serving(tmp_path_factory.mktemp("http")) as opened:
        yield opened


@asynccontextmanager
async def client_of(
    door: Door, era: str, heard: Callable[[object], Awaitable[None]] | None = None
) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {door.token}"}) as sender,
        Client(streamable_http_client(door.url, http_client=sender), mode=era, message_handler=heard) as connected,
    ):
        yield connected


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("method", METHODS)
def test_no_route_or_method_answers_without_the_token(door: Door, method: str, path: str) -> None:
    status, headers, _ = door.request(method, path, {"Authorization": ""})
    assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="linedex"')


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("method", METHODS)
def test_no_route_or_method_answers_a_foreign_host_or_origin(door: Door, method: str, path: str) -> None:
    assert door.status(method, path, Host=f"evil.example:{door.port}") == 421
    assert door.status(method, path, Origin="http://evil.example") == 403


@pytest.mark.parametrize(
    "header",
    [
        "Bearer {short}",
        "Bearer {token}x",
        "Bearer",
        "Bearer ",
        "Basic {token}",
        "{token}",
        "Bearer {token} {token}",
        "Bearer gr\xfc\xdfe",
    ],
)
def test_a_wrong_token_is_refused_as_invalid(door: Door, header: str) -> None:
    given = header.format(token=door.token, short=door.token[:-1])
    status, headers, body = door.request("GET", "/healthz", {"Authorization": given})
    assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="linedex", error="invalid_token"')
    assert door.token.encode() not in body


def test_the_scheme_may_be_in_any_case(door: Door) -> None:
    assert door.status("GET", "/healthz", Authorization=f"bearer {door.token}") == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example#localhost",
        "localhost:x",
        "user@localhost",
        "[::2]",
        "127.0.0.2",
        "localhost.",
        "local host",
    ],
)
def test_a_host_that_only_looks_like_ours_is_refused(door: Door, host: str) -> None:
    assert door.status("GET", "/healthz", Host=host) in (421, 400)  # 400: no HTTP at all
    assert door.request("GET", "/healthz", {"Host": host})[2] != b"ok\n"


@pytest.mark.parametrize("host", ["localhost", "LocalHost:9000", "127.0.0.1", "[::1]:1"])
def test_our_loopback_names_are_answered_at_any_port(door: Door, host: str) -> None:
    assert door.status("GET", "/healthz", Host=host) == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "file://",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "app://localhost",
        "localhost",
    ],
)
def test_an_origin_that_only_looks_like_ours_is_refused(door: Door, origin: str) -> None:
    assert door.status("GET", "/healthz", Origin=origin) == 403


def test_pages_of_this_machine_may_ask(door: Door) -> None:
    assert door.status("GET", "/healthz", Origin="http://localhost:6274") == 200


def raw(door: Door, *lines: str) -> bytes:
    """The first line of the answer to a request that is sent as it stands."""
    with socket.create_connection(("127.0.0.1", door.port), timeout=20) as connection:
        connection.sendall("\r\n".join((*lines, "", "")).encode("latin-1"))
        return connection.makefile("rb").readline()


@pytest.mark.parametrize(
    ("twice", "status"),
    [("Host: evil.example", 421), ("Origin: http://evil.example", 403), ("Authorization: Bearer x", 401)],
)
def test_a_second_header_does_not_slip_past_the_first(door: Door, twice: str, status: int) -> None:
    given = ("Host: localhost", "Origin: http://localhost", f"Authorization: Bearer {door.token}")
    for order in ((*given, twice), (twice, *given)):
        answer = raw(door, "GET /healthz HTTP/1.1", *order)
        assert answer.startswith(b"HTTP/1.1 4"), answer
        assert not answer.startswith(b"HTTP/1.1 404")
    # h11 refuses two Host headers by itself
    assert raw(door, "GET /healthz HTTP/1.1", *given, twice).split()[1] in (str(status).encode(), b"400")


def test_a_web_socket_is_refused_without_the_token(door: Door) -> None:
    lines = (
        "Host: localhost",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: x",
        "Sec-WebSocket-Version: 13",
    )
    assert raw(door, "GET /mcp HTTP/1.1", *lines).split()[1] == b"401"


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_over_the_limit_is_refused_by_its_declared_length(door: Door, path: str) -> None:
    status, _, _ = door.request("POST", path, body=b"x" * (BODY_BYTES + 1))
    assert status == 413


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_over_the_limit_is_refused_when_its_length_was_not_declared(door: Door, path: str) -> None:
    with HTTPSession(door.port) as connection:
        connection.request(
            "POST",
            path,
            body=iter([b"x" * 10_000] * 200),
            headers={"Host": "localhost", "Authorization": f"Bearer {door.token}"},
            encode_chunked=True,
        )
        status, _, body = answered(connection.getresponse())
    assert status == 413
    assert b"100,000 bytes" in body


def test_a_declared_length_over_the_limit_is_refused_before_anything_is_sent(door: Door) -> None:
    lines = ("Host: localhost", f"Authorization: Bearer {door.token}", "Content-Length: 99999999999")
    assert raw(door, "POST /mcp HTTP/1.1", *lines, "Expect: 100-continue").split()[1] == b"413"


def test_a_body_without_the_token_is_not_taken_in(door: Door) -> None:
    lines = ("Host: localhost", "Content-Length: 99999999999", "Expect: 100-continue")
    assert raw(door, "POST /mcp HTTP/1.1", *lines).split()[1] == b"401"


def test_a_body_within_the_limit_reaches_the_protocol(door: Door) -> None:
    status, _, _ = door.request("POST", "/mcp", {"Content-Type": "application/json"}, b" " * (BODY_BYTES - 1) + b"x")
    assert status in (400, 406)


def test_who_connects_and_asks_nothing_is_hung_up_on_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 1.0)
    with serving(tmp_path) as door, HTTPSession(door.port) as asking:
        sent = {"Host": "localhost", "Authorization": f"Bearer {door.token}"}
        asking.request("GET", "/healthz", headers=sent)
        assert answered(asking.getresponse())[0] == 200
        kept = asking.sock
        with (
            socket.create_connection(("127.0.0.1", door.port), timeout=20) as silent,
            socket.create_connection(("127.0.0.1", door.port), timeout=20) as slow,
        ):
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
            assert (silent.recv(100), slow.recv(100)) == (b"", b"")
        asking.request("GET", "/healthz", headers=sent)
        assert answered(asking.getresponse())[0] == 200
        assert asking.sock is kept


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_that_read_answer_in_both_eras(door: Door, era: str) -> None:
    async def all_of_them() -> None:
        async with client_of(door, era) as connected:
            assert connected.protocol_version == ERAS[era]
            listed = {tool.name for tool in (await connected.list_tools()).tools}
            assert listed == {tool.name for tool in offered("default")}
            assert {tool for tool, _, _ in CALLS} <= listed
            for tool, arguments, expected in CALLS:
                result = await connected.call_tool(tool, arguments)
                assert not result.is_error, text_of(result)
                assert expected in text_of(result)

    anyio.run(all_of_them)


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_subscriptions_of_both_eras_hear_of_a_change(tmp_path: Path) -> None:
    note = tmp_path / "tree" / "note.txt"
    told = anyio.Event()

    async def heard(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification) and str(message.params.uri) == note.as_uri():
            told.set()

    async def both(door: Door) -> None:
        async with (
            client_of(door, "legacy", heard) as early,
            client_of(door, "auto") as late,
            late.listen(resource_subscriptions=[note.as_uri()]) as stream,
        ):
            await early.subscribe_resource(note.as_uri())
            note.write_text("changed\n", encoding="utf-8")
            with anyio.fail_after(20):
                assert await anext(aiter(stream)) == ResourceUpdated(uri=note.as_uri())
                await told.wait()

    with serving(tmp_path) as door:
        anyio.run(both, door)


@pytest.mark.parametrize("era", ERAS)
def test_nothing_outside_the_roots_is_reached(door: Door, tmp_path: Path, era: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden words\n", encoding="utf-8")

    async def ask() -> None:
        async with client_of(door, era) as connected:
            result = await connected.call_tool("read_content", {"absolute_file_path": str(secret)})
            assert result.is_error
            assert "hidden words" not in text_of(result)
            with pytest.raises(MCPError):
                await connected.read_resource(secret.as_uri())

    anyio.run(ask)


@pytest.mark.parametrize("era", ERAS)
def test_a_client_with_a_wrong_token_cannot_connect(door: Door, era: str) -> None:
    async def connect() -> None:
        async with client_of(Door(door.port, "x" * 43), era):
            pass

    with pytest.raises(Exception, match=r"401|Unauthorized|unhandled"):
        anyio.run(connect)


def test_health_and_metrics_are_told_to_who_has_the_token(door: Door) -> None:
    assert door.request("GET", "/healthz")[::2] == (200, b"ok\n")
    status, headers, body = door.request("GET", "/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert re.search(rb'^linedex_files\{root=".*/tree",state="indexed"\} 2$', body, re.MULTILINE)


def test_an_unknown_route_is_not_found_and_nothing_redirects(door: Door) -> None:
    assert door.status("GET", "/no/such/route") == 404
    assert door.status("GET", "/mcp/") == 404


def test_metrics_count_calls_and_sessions(tmp_path: Path) -> None:
    def value(body: bytes, name: str) -> float:
        (found,) = re.findall(rf"^{re.escape(name)} (\S+)$", body.decode(), re.MULTILINE)
        return float(found)

    with serving(tmp_path) as door:

        async def call_and_look() -> bytes:
            async with client_of(door, "legacy") as connected:
                await connected.call_tool("find_files", {"name": "cart"})
                await connected.call_tool("find_files", {"name": "note"})
                await connected.call_tool("read_content", {"absolute_file_path": "nowhere"})
                return (await anyio.to_thread.run_sync(door.request, "GET", "/metrics"))[2]

        during = anyio.run(call_and_look)
        after = door.request("GET", "/metrics")[2]
    assert value(during, 'linedex_queries_total{tool="find_files",result="answered"}') == 2
    assert value(during, 'linedex_queries_total{tool="read_content",result="refused"}') == 1
    assert value(during, 'linedex_query_seconds_total{tool="find_files",result="answered"}') > 0
    assert (value(during, "linedex_sessions"), value(after, "linedex_sessions")) == (1, 0)
    assert value(after, "linedex_uptime_seconds") > value(during, "linedex_uptime_seconds") > 0


def test_hosts_and_origins_that_were_named_are_answered(tmp_path: Path) -> None:
    with serving(
        tmp_path, http_allowed_hosts=("index.example", "other.example:81"), http_allowed_origins=("app://editor",)
    ) as door:
        assert door.status("GET", "/healthz", Host="INDEX.example:8000") == 200
        assert door.status("GET", "/healthz", Host="other.example:81") == 200
        assert door.status("GET", "/healthz", Host="other.example:82") == 421
        assert door.status("GET", "/healthz", Host="index.example", Origin="https://index.example") == 200
        assert door.status("GET", "/healthz", Origin="app://editor") == 200
        assert door.status("GET", "/healthz", Origin="app://editor.evil") == 403


def calling(tool: str) -> tuple[dict[str, str], bytes]:
    """Headers and body of a call in the era without a handshake."""
    version = ERAS["auto"]
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    frame = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {}, "_meta": meta},
    }
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    return headers, json.dumps(frame).encode()


def test_a_stuck_call_does_not_hold_up_the_end_and_is_told_of_it(tmp_path: Path) -> None:
    stuck, started = threading.Event(), threading.Event()

    def wait(_session: Session, _given: Given) -> Reply:
        started.set()
        stuck.wait()
        return Reply("late")

    waiting = Tool("wait", "Waits.", (), wait, {"type": "object"})
    with ExitStack() as exits:
        caller = exits.enter_context(ThreadPoolExecutor(2))
        exits.callback(stuck.set)
        served = exits.enter_context(ExitStack())
        door = served.enter_context(serving(tmp_path, waiting))
        headers, body = calling("wait")
        called = caller.submit(door.request, "POST", "/mcp", headers, body)
        assert started.wait(20)
        served.close()  # fails unless serving ends within its time
        status, _, text = called.result(20)
        assert not stuck.is_set()
    assert (status, text) == (503, b"linedex: The server is stopping. Try again when it is there.\n")


# where it listens


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8765", "127.0.0.1", 8765),
        ("8765", "127.0.0.1", 8765),
        (":8765", "127.0.0.1", 8765),
        ("[::1]:0", "::1", 0),
        ("localhost:80", "localhost", 80),
    ],
)
def test_an_address_without_a_host_is_loopback(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize(
    "text", ["", "localhost", "::1:80", "[]:80", "host:65536", "host:-1", "host:²", "http://x:80/"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="no address"):
        Address.parse(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_other_machines_are_let_in_only_when_that_was_said(host: str) -> None:
    with pytest.raises(BadArgument, match="other machines"):
        bound(Address(host, 0))


def test_a_server_for_other_machines_keeps_every_check(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path, http_allowed_hosts=("index.example",))
    address = Address("0.0.0.0", 0)
    with bound(address, allow_remote=True) as listener:
        assert "WARNING" in announcement(listener, tmp_path)
    access = access_for(address, settings)
    assert access.hosts == (*LOOPBACK_NAMES, "index.example")
    assert len(access.token) == 43


def test_an_address_of_this_machine_is_one_of_its_names(tmp_path: Path) -> None:
    assert access_for(Address("192.0.2.1", 80), Settings(state_dir=tmp_path)).hosts[-1] == "192.0.2.1"
    assert access_for(Address("2001:DB8::1", 80), Settings(state_dir=tmp_path)).hosts[-1] == "[2001:db8::1]"


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with bound(Address("127.0.0.1", 0)) as first:
        assert announcement(first, tmp_path).startswith("linedex: MCP over HTTP at http://127.0.0.1:")
        with pytest.raises(Unreadable, match="in use"):
            bound(Address("127.0.0.1", first.getsockname()[1]))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"http_allowed_hosts": ("http://x",)}, "http_allowed_hosts"),
        ({"http_allowed_origins": ("x",)}, "http_allowed_origins"),
        ({"http_allowed_origins": ("http://x/",)}, "http_allowed_origins"),
    ],
)
def test_a_misspelled_name_is_refused_at_the_start(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        access_for(Address("127.0.0.1", 0), Settings(state_dir=tmp_path, **changed))


# a process of its own

PROGRAM = """
import logging, signal, sys
import anyio
from linedex_server.config import Settings
from linedex_server.http import Address, access_for, announcement, bound, http_app, serve_http
from linedex_server.mcp_server import build_server
from linedex_server.metrics import Meter
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Session
from linedex_server.workspace import Workspace

logging.basicConfig(stream=sys.stderr, level="DEBUG")
settings = Settings.load()
address = Address.parse("0")
access = access_for(address, settings)
listener = bound(address)

async def main(workspace):
    stop = anyio.Event()
    app = http_app(build_server(Session(workspace), offered("default")), access,
                   statuses=lambda: [index.status() for index in workspace.indexes], meter=Meter())
    async with anyio.create_task_group() as group:
        async def signals():
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
                async for _ in received:
                    stop.set()
        group.start_soon(signals)
        print(listener.getsockname()[1], flush=True)
        await serve_http(app, listener, stop)
        group.cancel_scope.cancel()

sys.stderr.write(announcement(listener, settings.state_dir))
with Workspace(settings) as workspace:
    anyio.run(main, workspace)
print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_ends_in_order_on_a_signal_while_a_client_listens_and_never_logs_the_token(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "tree").mkdir()
    environ = {name: text for name, text in os.environ.items() if not name.startswith("LINEDEX_")}
    environ |= {
        "LINEDEX_STATE_DIR": str(tmp_path / "state"),
        "LINEDEX_ALLOWED_ROOTS": str(tmp_path / "tree"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        token = (tmp_path / "state" / "http" / "token").read_text().strip()

        async def listen() -> tuple[bytes, bytes]:
            async with client_of(Door(port, token), "legacy") as connected:
                await connected.list_tools()
                # the client's stream for what the server tells by itself stays open
                process.send_signal(number)
                return await anyio.to_thread.run_sync(process.communicate, None, 10)

        printed, errors = anyio.run(listen)
    assert (process.returncode, printed) == (0, b"ended\n")
    assert b"Traceback" not in errors, errors.decode()
    assert token.encode() not in errors
    assert f"http://127.0.0.1:{port}/mcp".encode() in errors
