"""The proxy between a client and the daemon: what a client sees of a daemon that dies, which is nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import linedex_server
from linedex_server.bridge import SENDINGS
from linedex_server.rendezvous.address import published
from linedex_server.rendezvous.election import Seat, elect
from linedex_server.rendezvous.hello import Hello, Welcome

if TYPE_CHECKING:
    from conftest import Client, House


def test_a_killed_daemon_costs_a_client_nothing_but_time(house: House, era: str) -> None:
    root = house.root("tree", a="needle\n")
    client = house.client(root, era=era)
    client.begin()
    for _ in range(2):
        before = house.daemon().pid
        os.kill(before, signal.SIGKILL)
        assert "a.txt" in client.call("search_directory", absolute_dir_path=".", pattern="needle")
        assert house.daemon().pid != before
    assert client.end() == 0
    assert client.torn == []


def test_calls_in_flight_of_a_killed_daemon_are_answered_once_each(house: House, era: str) -> None:
    root = house.root("tree", **{f"f{number}": "needle\n" * 200 for number in range(50)})
    clients = [house.client(root, era=era) for _ in range(3)]
    for client in clients:
        client.begin()
    daemon = house.daemon().pid
    waiting = [
        (client, client.send("tools/call", name="search_directory", arguments=_search("needle")))
        for client in clients
        for _ in range(10)
    ]
    # some calls may be answered by now, and those that follow are not
    os.kill(daemon, signal.SIGSTOP)
    waiting += [
        (client, client.send("tools/call", name="search_directory", arguments=_search("needle")))
        for client in clients
        for _ in range(10)
    ]
    os.kill(daemon, signal.SIGKILL)
    for client, number in waiting:
        assert "needle" in client.answer(number)["content"][0]["text"]
    assert len(house.daemon().clients) == 3
    assert [client.torn for client in clients] == [[], [], []]


def _search(pattern: str) -> dict[str, Any]:
    return {"absolute_dir_path": ".", "pattern": pattern}


def test_a_subscription_outlives_its_daemon_and_misses_no_change(house: House, era: str) -> None:
    root = house.root("tree", a="old\n")
    uri = (root / "a.txt").as_uri()
    client = house.client(root, era=era)
    client.begin()
    _subscribe(house, client, uri)
    os.kill(house.daemon().pid, signal.SIGKILL)
    (root / "a.txt").write_text("changed while there was no daemon\n", encoding="utf-8")
    house.until(lambda: _told(client, uri) >= 1, "the change is told")
    told = _told(client, uri)
    (root / "a.txt").write_text("changed under the new daemon\n", encoding="utf-8")
    house.until(lambda: _told(client, uri) > told, "the next change is told")
    acknowledged = [one for one in client.notifications if one["method"].endswith("acknowledged")]
    assert len(acknowledged) == (era != "2025-11-25")


def _told(client: Client, uri: str) -> int:
    return sum(one["params"].get("uri") == uri for one in client.notifications)


def _subscribe(house: House, client: Client, uri: str) -> None:
    if client.era == "2025-11-25":
        client.ask("resources/subscribe", uri=uri)
    else:
        client.send("subscriptions/listen", notifications={"resourceSubscriptions": [uri]})
        house.until(lambda: len(client.notifications) == 1, "the subscription is acknowledged")


@pytest.mark.parametrize("kills", [4, pytest.param(30, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_kills_under_load_lose_no_answer_no_subscription_and_no_line_and_leave_a_sound_index(
    house: House, kills: int
) -> None:
    root = house.root("tree", **{f"f{number}": f"needle {number}\n" * 500 for number in range(200)})
    watched = root / "watched.txt"
    watched.write_text("old\n", encoding="utf-8")
    clients = [house.client(root, era=era, LINEDEX_TOOLS="all") for era in ("2025-11-25", "2026-07-28") * 2]
    for number, client in enumerate(clients):
        (root / f"written{number}.txt").write_text("first\n", encoding="utf-8")
        client.begin()
        _subscribe(house, client, watched.as_uri())
    made: dict[str, set[str]] = {"once": set(), "perhaps": set()}
    for kill in range(kills):
        waiting = [
            (client, client.send("tools/call", name="search_directory", arguments=_search("needle")))
            for client in clients
            for _ in range(8)
        ]
        lines = [f"client {number} before kill {kill}" for number in range(len(clients))]
        writes = [
            client.send("tools/call", name="apply_text_edits", arguments=_inserted(f"written{number}.txt", line))
            for (number, client), line in zip(enumerate(clients), lines, strict=True)
        ]
        (root / f"new{kill}.txt").write_text(f"fresh needle {kill}\n" * 500, encoding="utf-8")
        os.kill(house.daemon().pid, signal.SIGKILL)
        for client, number in waiting:
            assert "needle" in client.answer(number)["content"][0]["text"]
        for client, number, line in zip(clients, writes, lines, strict=True):
            answer = client.answer(number)
            if "error" in answer:
                assert "may or may not have been made" in answer["error"]["message"]
            else:
                assert answer["content"][0]["text"].startswith("Updated written")
            made["perhaps" if "error" in answer else "once"].add(line)
        told = [_told(client, watched.as_uri()) for client in clients]
        watched.write_text(f"changed after kill {kill}\n", encoding="utf-8")
        for client, before in zip(clients, told, strict=True):
            house.until(lambda client=client, before=before: _told(client, watched.as_uri()) > before, "it is told")
    written = "".join(path.read_text(encoding="utf-8") for path in root.glob("written*.txt")).splitlines()
    counts = Counter(line for line in written if line != "first")
    assert set(counts.values()) <= {1}
    assert made["once"] <= set(counts) <= made["once"] | made["perhaps"]
    assert not list(root.glob(".linedex-*"))
    for client in clients:
        assert f"new{kill}.txt" in client.call("search_directory", **_search(f"fresh needle {kill}"))
        assert client.end() == 0
        assert client.torn == []
    house.run("stop")
    assert house.run("index", str(root)).returncode == 0
    checked = house.run("check", str(root))
    assert (checked.returncode, checked.stderr) == (0, "")


def _inserted(path: str, line: str) -> dict[str, Any]:
    return {"path": path, "edits": [{"start_line": 1, "end_line": 0, "new_text": line}]}


def test_old_bridges_and_a_newer_one_have_one_daemon_of_the_newer_version(house: House) -> None:
    root = house.root("tree", a="needle\n")
    old = [house.client(root) for _ in range(4)]
    for client in old:
        client.begin()
    before = house.daemon()
    newer = house.client(root, PYTHONPATH=str(_newer_version(house.folder / "newer", "0.99.0")))
    newer.begin()
    for client in (*old, newer):
        assert "a.txt" in client.call("search_directory", **_search("needle"))
    daemon = house.daemon()
    assert (daemon.version, len(daemon.clients)) == ("0.99.0", 5)
    assert daemon.pid != before.pid
    os.kill(daemon.pid, signal.SIGKILL)
    assert "a.txt" in old[0].call("search_directory", **_search("needle"))
    assert house.daemon().version == "0.99.0"


def _newer_version(folder: Path, version: str) -> Path:
    """Copy the server as another version of it, and return the folder to import it from."""
    package = Path(linedex_server.__file__).parent
    copied = folder / package.name
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("__pycache__"))
    init = copied / "__init__.py"
    init.write_text(init.read_text(encoding="utf-8").replace(linedex_server.VERSION, version), encoding="utf-8")
    return folder


class Peer:
    """The daemon's side of a session, played by the test: what a bridge sends, and what it is answered."""

    def __init__(self, seat: Seat, **welcome: Any) -> None:
        seat.listener.settimeout(30)
        self.connection, _ = seat.listener.accept()
        self.connection.settimeout(30)
        self._lines = self.connection.makefile("rb")
        self.hello = Hello.of(self._lines.readline())
        self.connection.sendall(Welcome(**welcome).line())

    def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._lines.readline())
        return message

    def send(self, message: dict[str, Any]) -> None:
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def serve(self, *methods: str) -> None:
        """Answer the next requests, which must be these, with an empty result; notifications are taken."""
        for method in methods:
            message = self.receive()
            assert message["method"] == method
            if "id" in message:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"of": method}})

    def die(self, last: bytes = b"") -> None:
        """End the connection as a killed process does, after the beginning of a line."""
        if last:
            self.connection.sendall(last)
        self._lines.close()
        self.connection.close()


class Stage:
    """The daemon's place, and the sessions that were played at it."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self.peers: list[Peer] = []

    def peer(self, **welcome: Any) -> Peer:
        """Take in the next session."""
        self.peers.append(Peer(self._seat, **welcome))
        return self.peers[-1]


@pytest.fixture
def stage(house: House) -> Iterator[Stage]:
    """The daemon's place, held by the test."""
    taken = elect(house.state)
    assert taken is not None
    played = Stage(taken)
    yield played
    for client in house.clients:
        client.kill()
    for peer in played.peers:
        peer.die()
    taken.withdraw()
    taken.listener.close()
    taken.lock.release()


def begun(house: House, stage: Stage, **welcome: Any) -> tuple[Client, Peer]:
    client = house.client(house.root("tree"))
    peer = stage.peer(**welcome)
    number = client.send("initialize")
    peer.serve("initialize")
    assert client.answer(number) == {"of": "initialize"}
    client.send("notifications/initialized", answered=False)
    peer.serve("notifications/initialized")
    return client, peer


def test_a_lost_write_is_answered_and_never_sent_again(house: House, stage: Stage) -> None:
    client, peer = begun(house, stage, retry=["look"])
    write = client.send("tools/call", name="edit", arguments={})
    look = client.send("tools/call", name="look", arguments={})
    assert [peer.receive()["params"]["name"] for _ in range(2)] == ["edit", "look"]
    peer.die()
    again = stage.peer(retry=["look"])
    again.serve("initialize", "notifications/initialized")
    assert again.receive()["params"]["name"] == "look"
    again.send({"jsonrpc": "2.0", "id": look, "result": {"seen": 1}})
    assert client.answer(look) == {"seen": 1}
    assert "may or may not have been made" in client.answer(write)["error"]["message"]
    ping = client.send("ping")
    again.serve("ping")
    assert client.answer(ping) == {"of": "ping"}


def test_a_torn_line_never_reaches_the_client(house: House, stage: Stage) -> None:
    client, peer = begun(house, stage)
    number = client.send("tools/list")
    assert peer.receive()["id"] == number
    peer.die(b'{"jsonrpc": "2.0", "id": %d, "resu' % number)
    again = stage.peer()
    again.serve("initialize", "notifications/initialized", "tools/list")
    assert client.answer(number) == {"of": "tools/list"}
    assert client.torn == []


def test_subscriptions_are_made_again_but_not_those_that_were_ended(house: House, stage: Stage) -> None:
    client, peer = begun(house, stage)
    for uri in ("file:///kept", "file:///ended"):
        number = client.send("resources/subscribe", uri=uri)
        peer.serve("resources/subscribe")
        client.answer(number)
    number = client.send("resources/unsubscribe", uri="file:///ended")
    peer.serve("resources/unsubscribe")
    client.answer(number)
    peer.die()
    again = stage.peer()
    again.serve("initialize", "notifications/initialized")
    subscribed = again.receive()
    assert (subscribed["method"], subscribed["params"]["uri"]) == ("resources/subscribe", "file:///kept")
    again.send({"jsonrpc": "2.0", "id": subscribed["id"], "result": {}})
    ping = client.send("ping")
    again.serve("ping")
    assert client.answer(ping) == {"of": "ping"}
    # it may have changed while no daemon watched
    assert [(one["method"], one["params"]) for one in client.notifications] == [
        ("notifications/resources/updated", {"uri": "file:///kept"})
    ]


def test_a_handshake_that_was_not_answered_is_sent_again_and_answered_once(house: House, stage: Stage) -> None:
    client = house.client(house.root("tree"))
    peer = stage.peer()
    number = client.send("initialize")
    assert peer.receive()["method"] == "initialize"
    peer.die()
    again = stage.peer()
    again.serve("initialize")
    assert client.answer(number) == {"of": "initialize"}


def test_a_cancelled_call_is_not_sent_again(house: House, stage: Stage) -> None:
    client, peer = begun(house, stage, retry=["look"])
    number = client.send("tools/call", name="look", arguments={})
    client.send("notifications/cancelled", answered=False, requestId=number)
    peer.receive()
    assert peer.receive()["method"] == "notifications/cancelled"
    peer.die()
    ping = client.send("ping")
    again = stage.peer(retry=["look"])
    again.serve("initialize", "notifications/initialized", "ping")
    assert client.answer(ping) == {"of": "ping"}


def test_a_call_that_ends_every_daemon_is_given_up(house: House, stage: Stage) -> None:
    client, peer = begun(house, stage, retry=["poison"])
    number = client.send("tools/call", name="poison", arguments={})
    for _ in range(SENDINGS):
        assert peer.receive()["params"]["name"] == "poison"
        peer.die()
        peer = stage.peer(retry=["poison"])
        peer.serve("initialize", "notifications/initialized")
    assert "given up" in client.answer(number)["error"]["message"]


def test_a_daemon_that_dies_during_the_replay_is_replaced_too(house: House, stage: Stage) -> None:
    client, peer = begun(house, stage)
    number = client.send("tools/list")
    peer.receive()
    peer.die()
    second = stage.peer()
    assert second.receive()["method"] == "initialize"
    second.die()
    third = stage.peer()
    third.serve("initialize", "notifications/initialized", "tools/list")
    assert client.answer(number) == {"of": "tools/list"}


def test_answers_that_come_after_the_client_closed_its_input_still_reach_it(house: House, stage: Stage) -> None:
    client, peer = begun(house, stage)
    number = client.send("tools/list")
    assert client.process.stdin is not None
    client.process.stdin.close()
    peer.serve("tools/list")
    assert client.answer(number) == {"of": "tools/list"}
    assert peer._lines.readline() == b""
    peer.die()
    assert client.process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_bridge(house: House, stage: Stage, number: signal.Signals) -> None:
    client, peer = begun(house, stage)
    client.process.send_signal(number)
    assert client.process.wait(30) == 0
    peer.die()


def test_a_refused_session_ends_the_bridge_with_the_reason(house: House, stage: Stage) -> None:
    client = house.client(house.root("tree"))
    stage.peer(error="no such root", hint="Name another.").die()
    assert client.process.wait(30) == 2
    client.kill()
    assert client.errors == b"linedex: no such root\n  Name another.\n"


def test_the_hello_tells_the_working_folder_roots_and_settings(house: House, stage: Stage) -> None:
    root = house.root("tree")
    house.client(Path("tree"), LINEDEX_OUTPUT="json")
    hello = stage.peer().hello
    assert (hello.folder, hello.arguments["allowed_roots"]) == (str(house.folder), [str(root)])
    assert hello.environ["LINEDEX_OUTPUT"] == "json"


def test_the_bridge_loads_nothing_heavy() -> None:
    program = "import sys, linedex_server.cli.serving, linedex_server.bridge; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"mcp", "anyio", "asyncio", "pydantic", "apsw", "numpy", "re2", "rich", "tree_sitter", "difflib"}
    assert heavy & set(loaded) == set()


def test_without_a_daemon_that_starts_the_bridge_says_why(house: House) -> None:
    house.state.mkdir()
    (house.state / "daemon.log").mkdir()
    client = house.client(house.root("tree"))
    assert client.process.wait(30) == 2
    client.kill()
    assert b"--no-daemon" in client.errors
    assert published(house.state) is None


def test_lines_of_a_closed_output_end_the_bridge(house: House, stage: Stage) -> None:
    ours, theirs = socket.socketpair()
    client = subprocess.Popen(
        [sys.executable, "-m", "linedex_server", "mcp"],
        env=house.environ,
        cwd=house.folder,
        stdin=subprocess.PIPE,
        stdout=theirs.fileno(),
        stderr=subprocess.DEVNULL,
    )
    theirs.close()
    peer = stage.peer()
    ours.close()
    peer.send({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
    assert client.wait(30) == 0
    client.communicate()
    peer.die()
