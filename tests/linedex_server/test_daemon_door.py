"""Whoever connects to the daemon, and whatever comes from there: those who are served go on being served."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from linedex_server.daemon.door import MOST_SILENT
from linedex_server.daemon.lines import MOST_VALUES, is_crowded
from linedex_server.daemon.sessions import MOST_UNANSWERED
from linedex_server.rendezvous.address import Address, connect, published
from linedex_server.rendezvous.hello import HELLO_BYTES, INDEX, Hello, Launcher, Welcome, version_of
from linedex_server.rendezvous.reach import reach

if TYPE_CHECKING:
    from conftest import Client, House

HELLO = json.loads(Hello("mcp", "/", {"allowed_roots": ["/nowhere"]}, {}).line())
NUL, HALF = "/a\0b", "/a\ud800b"


def _hello(**parts: Any) -> bytes:
    return json.dumps({**HELLO, **parts}).encode()


HOSTILE = {
    "a number without end": _hello(pid="PID").replace(b'"PID"', b"Infinity"),
    "no number": _hello(pid="PID").replace(b'"PID"', b"NaN"),
    "a number of many digits": _hello(pid="9" * 6000),
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "deep settings": _hello(arguments={"exclude": "X"}).replace(b'"X"', b"[" * 900 + b"]" * 900),
    "settings in a list": _hello(arguments=[["read_only", True]]),
    "a folder with NUL": _hello(folder=NUL),
    "a folder with half a character": _hello(folder=HALF),
    "a relative folder": _hello(folder="x"),
    "a root with NUL": _hello(arguments={"allowed_roots": [NUL]}),
    "a root with half a character": _hello(arguments={"allowed_roots": [HALF]}),
    "a setting with half a character": _hello(arguments={HALF: 1}),
    "a variable with NUL": _hello(environ={"LINEDEX_CONFIG": NUL}),
    "a variable with half a character": _hello(environ={"XDG_CONFIG_HOME": HALF}),
    "a secret that is not ASCII": _hello(secret="\u00e9"),
    "a launcher with more": _hello(launcher={**HELLO["launcher"], "more": "1"}),
    "a launcher of a list": _hello(launcher=["python"]),
    "null": b"null",
    "no UTF-8": b"\xff\xfe",
}
REFUSED = {
    "a home that is not there": _hello(arguments={"allowed_roots": ["~nosuchuser/x"]}),
    "a file of settings in no home": _hello(environ={"LINEDEX_CONFIG": "~nosuchuser/x"}),
    "endless settings": _hello(environ={"LINEDEX_CONFIG": "/dev/zero"}),
    "all roots to index": _hello(purpose=INDEX, arguments={"allowed_roots": ["*"]}),
    "an unknown purpose": _hello(purpose="\u202emischief"),
    "a root that is not there": _hello(),
}


class Beside:
    """A daemon of few descriptors, a client that it serves, and the way in for others."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.root = house.root("proj", a="hit\n")
        self.daemon = subprocess.Popen(
            ["sh", "-c", 'ulimit -n 150; exec "$0" -m linedex_server serve', sys.executable],
            env=house.environ,
            cwd=house.folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        house.daemons.append(self.daemon)
        house.until(lambda: house.status() is not None, "the daemon serves")
        self.client: Client = house.client(self.root)
        self.client.begin()

    @property
    def address(self) -> Address:
        found = published(self.house.state)
        assert found is not None
        return found

    def answer(self, line: bytes) -> bytes:
        """Return what the daemon says to a first line, all of it."""
        with connect(self.address, 30) as connection:
            connection.sendall(line + b"\n")
            connection.shutdown(socket.SHUT_WR)
            return connection.makefile("rb").read()

    def check(self) -> None:
        """The same daemon answers its client and lets a new one in."""
        assert "1:hit" in self.client.call("search_directory", absolute_dir_path=".", pattern="hit")
        assert self.house.daemon().pid == self.daemon.pid

    def faults(self) -> bytes:
        """End the daemon and return what it said on standard error."""
        self.client.kill()
        self.daemon.terminate()
        _, said = self.daemon.communicate(timeout=30)
        return bytes(said)


@pytest.fixture
def beside(house: House) -> Iterator[Beside]:
    made = Beside(house)
    yield made
    made.faults()


def test_no_first_line_ends_the_daemon_or_meets_a_fault_of_its_own(beside: Beside) -> None:
    for name, line in HOSTILE.items():
        assert beside.answer(line) == b"", name
    for name, line in REFUSED.items():
        welcome = Welcome.of(beside.answer(line))
        assert welcome.error, name
        assert welcome.error.isprintable()
    fifo = beside.house.folder / "fifo"
    os.mkfifo(fifo)
    assert b"no ordinary file" in beside.answer(_hello(environ={"LINEDEX_CONFIG": str(fifo)}))
    beside.check()
    assert b"fault" not in beside.faults()


def test_a_version_of_many_digits_is_no_newer_one(beside: Beside) -> None:
    assert version_of("9" * 6000) == (0,)
    launcher = {**HELLO["launcher"], "version": "9" * 6000}
    assert b'"retiring": false' in beside.answer(_hello(launcher=launcher))
    beside.check()


def test_more_silent_connections_than_descriptors_keep_nobody_out(beside: Beside) -> None:
    with ExitStack() as held:
        for number in range(3 * MOST_SILENT):
            with suppress(BlockingIOError, TimeoutError):  # the queue of the socket is full for a moment
                connection = held.enter_context(connect(beside.address, 1))
                if number % 2:
                    with suppress(BrokenPipeError):
                        connection.sendall(b'{"purpose": "mc')  # half a hello
        beside.check()
    beside.check()


def test_a_hello_without_end_is_cut_off(beside: Beside) -> None:
    with connect(beside.address, 30) as connection, pytest.raises((BrokenPipeError, ConnectionResetError)):
        connection.sendall(b"x" * 64 * HELLO_BYTES)
    beside.check()


def test_more_sessions_than_descriptors_leave_the_first_one_served(beside: Beside) -> None:
    hello = Hello("mcp", str(beside.root), {"allowed_roots": [str(beside.root)]}, {})
    tried = [reach(beside.house.state, hello, starting=False, seconds=2) for _ in range(60)]
    links = [link for link in tried if link is not None]
    assert len(links) > 10
    assert "1:hit" in beside.client.call("search_directory", absolute_dir_path=".", pattern="hit")
    for link in links:
        link.close()
    beside.house.until(lambda: len(beside.house.daemon().clients) == 1, "the others are gone")
    beside.check()


MISCHIEF = (
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}',
    b'{"jsonrpc":"2.0","id":[1],"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    b'{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///\\ud800\\u0000"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":[],"capabilities":1}}',
    b'{"jsonrpc":"2.0","id":77,"result":{}}',
    b"[" * 1000,
    b"\xff\0",
)
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"t","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)


def test_no_message_ends_its_own_session_or_another(beside: Beside) -> None:
    hello = Hello("mcp", str(beside.root), {"allowed_roots": [str(beside.root)]}, {})
    link = reach(beside.house.state, hello, starting=False)
    assert link is not None
    link.connection.settimeout(30)
    link.connection.sendall(INITIALIZE)
    for number, line in enumerate(MISCHIEF, 100):
        link.connection.sendall(line + b'\n{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number)
        while b'"id":%d,"result":{}' % number not in (got := link.received.readline()):
            assert got
    link.close()
    beside.check()
    assert b"fault" not in beside.faults()


def test_a_client_that_never_reads_its_answers_holds_up_nobody(beside: Beside) -> None:
    hello = Hello("mcp", str(beside.root), {"allowed_roots": [str(beside.root)]}, {})
    link = reach(beside.house.state, hello, starting=False)
    assert link is not None
    link.connection.settimeout(1)
    asked = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % one for one in range(20 * MOST_UNANSWERED))
    with pytest.raises(TimeoutError):
        link.connection.sendall(INITIALIZE + asked)
    beside.check()
    link.close()
    assert b"fault" not in beside.faults()


def test_a_line_of_too_many_values_ends_its_session_before_any_is_made(beside: Beside) -> None:
    hello = Hello("mcp", str(beside.root), {"allowed_roots": [str(beside.root)]}, {})
    link = reach(beside.house.state, hello, starting=False)
    assert link is not None
    link.connection.settimeout(30)
    link.connection.sendall(INITIALIZE)
    assert b'"id":0' in link.received.readline()
    with suppress(BrokenPipeError, ConnectionResetError):
        link.connection.sendall(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":[' + b"[]," * (10 << 20) + b"[]]}}\n"
        )
        assert link.received.read() == b""
    link.close()
    beside.check()
    peak = Path(f"/proc/{beside.daemon.pid}/status").read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]
    assert int(peak) < 400_000  # kB; the lists alone would take 700 MB


@pytest.mark.parametrize(
    ("line", "crowded"),
    [
        (b"[" + b"[]," * MOST_VALUES + b"[]]", True),
        (b"[" + b'"",' * MOST_VALUES + b'""]', True),
        (b"[" + b'"\\\\",' * MOST_VALUES + b'""]', True),
        (b'["' + b"[{,}]," * MOST_VALUES + b'"]', False),
        (b'["' + b'\\",' * MOST_VALUES + b'"]', False),
        (b'["' + b'\\\\\\",' * MOST_VALUES + b'"]', False),
        (b'["' + b"x" * (1 << 20) + b'"]', False),
        (b"[" + b"[]," * 1000 + b"[]]", False),
    ],
)
def test_text_may_hold_what_would_be_values_outside_of_it(line: bytes, crowded: bool) -> None:
    json.loads(line)
    assert is_crowded(line) is crowded


def test_a_hello_of_odd_but_possible_names_is_taken() -> None:
    hello = Hello("mcp", "/b\udcff", {"allowed_roots": ["/c\udcfe", "*"], "read_only": True}, {"LINEDEX_X": "y"})
    assert Hello.of(hello.line()) == hello
    assert hello.launcher == Launcher.own()
