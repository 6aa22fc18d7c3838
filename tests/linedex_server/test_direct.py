"""Plain calls are answered beside the SDK's loop, and a client sees nothing of it: the SDK is the oracle."""

from __future__ import annotations

import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import CallToolRequestParams, JSONRPCRequest, jsonrpc_message_adapter

from linedex_server.config import Settings
from linedex_server.daemon.direct import LONGEST_PLAIN, DirectCalls, PlainCall
from linedex_server.daemon.lines import Lines
from linedex_server.daemon.outlet import Outlet
from linedex_server.daemon.sessions import converse
from linedex_server.threads import Threads
from linedex_server.tools.parameters import Given
from linedex_server.tools.registry import ALL
from linedex_server.tools.tool import Output, Reply, Session, Tool
from linedex_server.waiting import TELL_SECONDS
from linedex_server.workspace import Workspace

if TYPE_CHECKING:
    from conftest import House

DEADLINE = 30.0
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATER = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": LATER,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.txt").write_text("first\nsecond \N{GREEK SMALL LETTER PSI} \x01\n", encoding="utf-8")
    (root / "caf\udce9.txt").write_bytes(b"caf\xe9\n")
    settings = Settings(state_dir=tmp_path / "state", allowed_roots=(str(root),), workers=1)
    with Workspace(settings, base=root) as opened:
        yield opened


class Peer:
    """A client of one session in this process, that is spoken to in lines."""

    def __init__(self, session: Session, tools: list[Tool], version: str = VERSIONS[-1]) -> None:
        self._session = session
        self._tools = tools
        self._own, theirs = socket.socketpair()
        self._theirs = theirs
        self._own.settimeout(DEADLINE)
        self._reader = self._own.makefile("rb")
        self._version = version
        self._thread = threading.Thread(target=lambda: anyio.run(self._serve))

    async def _serve(self) -> None:
        self._theirs.settimeout(0)
        async with await anyio.abc.UNIXSocketStream.from_socket(self._theirs) as stream:
            outlet = Outlet(stream)
            await converse(self._session, self._tools, Lines(stream), outlet, anyio.Event())
            outlet.close()

    def __enter__(self) -> Peer:
        self._thread.start()
        if self._version == LATER:
            self.say(id="hello", method="server/discover", params={"_meta": ENVELOPE})
            assert "result" in json.loads(self.hear())
            return self
        client = {"name": "test", "version": "1"}
        self.say(
            id="hello",
            method="initialize",
            params={"protocolVersion": self._version, "capabilities": {}, "clientInfo": client},
        )
        assert "result" in json.loads(self.hear())
        self.say(method="notifications/initialized")
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()
        self._own.close()
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def say(self, **message: Any) -> None:
        self.say_line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def say_line(self, line: bytes) -> None:
        self._own.sendall(line + b"\n")

    def hear(self) -> bytes:
        return self._reader.readline()

    def hear_some(self) -> bytes:
        return self._own.recv(1)

    def is_left(self, seconds: float) -> bool:
        """Return whether the session closes its end within some seconds."""
        looked = select.poll()
        looked.register(self._own, 0)
        return bool(looked.poll(seconds * 1000))

    def says_no_more(self) -> None:
        self._own.shutdown(socket.SHUT_WR)

    def rest(self) -> list[bytes]:
        return self._reader.readlines()


PLAIN = 6
CALLS: dict[str, dict[str, Any]] = {
    "an answer": {"name": "search_directory", "arguments": {"absolute_dir_path": ".", "pattern": "second"}},
    "characters of all kinds": {"name": "read_content", "arguments": {"absolute_file_path": "a.txt"}},
    "a name that is no text": {"name": "find_files", "arguments": {"name": "caf"}},
    "a refusal": {"name": "read_content", "arguments": {"absolute_file_path": "/etc/passwd"}},
    "half a surrogate pair": {"name": "find_files", "arguments": {"name": "\ud800"}},
    "no such parameter": {"name": "find_files", "arguments": {"name": "a", "colour": "red"}},
    "none of its arguments": {"name": "index_status", "arguments": {}},
    "arguments left out": {"name": "index_status"},
    "arguments that are none": {"name": "index_status", "arguments": None},
    "arguments in a list": {"name": "index_status", "arguments": []},
    "no such tool": {"name": "fly", "arguments": {}},
    "no name": {"arguments": {}},
    "a name that is a number": {"name": 3, "arguments": {}},
    "a further part": {"name": "index_status", "arguments": {}, "task": {"ttl": 3}},
    "metadata that is none": {"name": "index_status", "arguments": {}, "_meta": None},
    "metadata in a list": {"name": "index_status", "arguments": {}, "_meta": []},
    "a token that is true": {"name": "index_status", "arguments": {}, "_meta": {"progressToken": True}},
    "a token that is none": {"name": "index_status", "arguments": {}, "_meta": {"progressToken": None}},
    "a token in a list": {"name": "index_status", "arguments": {}, "_meta": {"progressToken": [1]}},
    "the envelope of a later era": {
        "name": "index_status",
        "arguments": {},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
    },
}


def _enveloped(call: dict[str, Any]) -> dict[str, Any]:
    meta = call.get("_meta", {})
    return {**call, "_meta": {**ENVELOPE, **meta} if isinstance(meta, dict) else meta}


def _answers(workspace: Workspace, version: str) -> list[bytes]:
    with Peer(Session(workspace), list(ALL.values()), version) as peer:
        told = []
        for number, call in enumerate(CALLS.values()):
            peer.say(id=number, method="tools/call", params=_enveloped(call) if version == LATER else call)
            told.append(re.sub(rb"[0-9.]+ m?s(?: \+ [0-9.]+ m?s to check the files)?", b"TIME", peer.hear()))
        return told


@pytest.mark.parametrize("version", [*VERSIONS, LATER])
def test_an_answer_is_the_one_that_the_sdk_gives(
    workspace: Workspace, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.start()
    for index in workspace.indexes:
        assert index.wait(DEADLINE)
    begun: list[str] = []
    begin = DirectCalls.begin

    def counted(calls: DirectCalls, call: PlainCall, answered: Callable[[], object]) -> None:
        begun.append(call.tool.name)
        begin(calls, call, answered)

    monkeypatch.setattr(DirectCalls, "begin", counted)
    direct = _answers(workspace, version)
    # a call in the envelope of a later version is plain in that version
    plain = PLAIN + (version == LATER)
    assert len(begun) == plain
    monkeypatch.setattr(DirectCalls, "plain", lambda *_: None)
    for name, one, by_sdk in zip(CALLS, direct, _answers(workspace, version), strict=True):
        assert one == by_sdk, name
    assert len(begun) == plain


_IDS = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=2) | st.floats()
_PARTS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["index_status", "fly"]) | st.none(),
        "arguments": st.dictionaries(st.text(max_size=2), st.integers() | st.floats(), max_size=2) | st.none(),
        "_meta": st.dictionaries(st.sampled_from(["progressToken", "a", "io.modelcontextprotocol/a"]), _IDS)
        | st.none(),
        "task": st.just({}),
    },
)
_MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2.0]),
        "id": _IDS,
        "method": st.sampled_from(["tools/call", "tools/list"]),
        "params": _PARTS | st.none() | st.just([]),
        "result": st.just({}),
        "error": st.just({}),
    },
)


@given(
    _MESSAGES
    | st.builds(
        lambda params, number: {"jsonrpc": "2.0", "method": "tools/call", "id": number, "params": params}, _PARTS, _IDS
    )
)
def test_what_is_taken_for_a_plain_call_is_one_to_the_sdk(message: dict[str, Any]) -> None:
    calls = DirectCalls(_NO_SESSION, [ALL["index_status"]], Threads(1), _NOTHING, _NOTHING, {})
    calls.accept({})
    line = json.dumps(message).encode()
    call = calls.plain(line)
    if call is None:
        return
    request = jsonrpc_message_adapter.validate_json(line, by_name=False)
    assert isinstance(request, JSONRPCRequest)
    assert (request.method, request.id, type(request.id)) == ("tools/call", call.number, type(call.number))
    params = CallToolRequestParams.model_validate(request.params, by_name=False)
    assert (params.name, params.arguments) == (call.tool.name, call.arguments)
    assert (params.meta or {}).get("progress_token") == call.token
    assert set(request.params or {}) <= {"name", "arguments", "_meta"}
    assert set(message) == {"jsonrpc", "id", "method", "params"}


class _Output:
    output = Output.TEXT


_NO_SESSION: Any = _Output()
_NOTHING: Any = None


def test_long_calls_and_calls_before_the_handshake_are_left_to_the_sdk() -> None:
    calls = DirectCalls(_NO_SESSION, [ALL["index_status"]], Threads(1), _NOTHING, _NOTHING, {})
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "index_status", "arguments": {}}}
    assert calls.plain(json.dumps(message).encode()) is None
    calls.accept({})
    assert calls.plain(json.dumps(message).encode()) is not None
    assert calls.plain(json.dumps(message).encode() + b" " * LONGEST_PLAIN) is None
    assert calls.plain(b"{") is None


def test_only_calls_in_an_envelope_that_the_sdk_has_accepted_are_answered_here(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain: list[bool] = []
    judged = DirectCalls.plain

    def noted(calls: DirectCalls, line: bytes) -> PlainCall | None:
        call = judged(calls, line)
        plain.append(call is not None)
        return call

    another = {**ENVELOPE, "io.modelcontextprotocol/clientInfo": {"name": "another", "version": "1"}}
    unknown = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    asked = [ENVELOPE, {}, unknown, ENVELOPE, another, another, {**another, "progressToken": 3}, ENVELOPE, unknown]
    with Peer(Session(workspace), [ALL["index_status"]], LATER) as peer:
        monkeypatch.setattr(DirectCalls, "plain", noted)
        for number, meta in enumerate(asked):
            _call(peer, number, "index_status", **meta)
            answered = json.loads(peer.hear())
            assert ("result" in answered) == (meta not in ({}, unknown))
    assert plain == [True, False, False, True, False, True, True, False, False]


_LOOK_SECONDS = 0.005


class Held:
    """A tool whose calls wait until they are let go, or are cancelled."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.ended = threading.Semaphore(0), threading.Semaphore(0), threading.Semaphore(0)
        self._looks = threading.Semaphore(0)

    def looks_for(self, seconds: float) -> None:
        """Wait until a call has looked so long whether it may go on."""
        while self._looks.acquire(blocking=False):
            pass
        for _ in range(round(seconds / _LOOK_SECONDS)):
            assert self._looks.acquire(timeout=DEADLINE)

    def tool(self, name: str = "hold") -> Tool:
        def run(session: Session, given: Given) -> Reply:
            self.begun.release()
            end = time.monotonic() + DEADLINE
            try:
                while not self.go_on.acquire(timeout=_LOOK_SECONDS):
                    self._looks.release()
                    session.progress.done = session.progress.total = 5
                    session.progress.check()
                    assert time.monotonic() < end
            finally:
                self.ended.release()
            return Reply("done")

        return Tool(name, "Holds.", (), run, {"type": "object"})


def _call(peer: Peer, number: int, name: str, **meta: Any) -> None:
    peer.say(
        id=number, method="tools/call", params={"name": name, "arguments": {}, **({"_meta": meta} if meta else {})}
    )


def test_a_call_that_is_cancelled_ends_and_is_not_answered(workspace: Workspace) -> None:
    held = Held()
    with Peer(Session(workspace), [held.tool(), ALL["index_status"]]) as peer:
        _call(peer, 1, "hold")
        assert held.begun.acquire(timeout=DEADLINE)
        peer.say(method="notifications/cancelled", params={"requestId": 1})
        assert held.ended.acquire(timeout=DEADLINE)
        # in one piece, so that the call is cancelled before its thread may have woken
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "hold", "arguments": {}}}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        peer.say_line(json.dumps(call).encode() + b"\n" + json.dumps(cancel).encode())
        _call(peer, 3, "index_status")
        assert json.loads(peer.hear())["id"] == 3
        peer.says_no_more()
        assert peer.rest() == []


def test_progress_is_told_to_who_asks_and_never_behind_the_answer(workspace: Workspace) -> None:
    held = Held()
    with Peer(Session(workspace), [held.tool()]) as peer:
        for number in range(30):
            _call(peer, number, "hold", progressToken=f"t{number}")
            if number % 10 == 0:
                report = json.loads(peer.hear())
                assert report["method"] == "notifications/progress"
                assert report["params"] == {
                    "progressToken": f"t{number}",
                    "progress": 5,
                    "total": 5,
                    "message": "5 of 5 files looked into",
                }
            held.go_on.release()
            assert json.loads(peer.hear())["id"] == number
        _call(peer, 99, "hold")
        # who sent no token hears nothing
        held.looks_for(2 * TELL_SECONDS)
        held.go_on.release()
        assert json.loads(peer.hear())["id"] == 99


def test_a_mistake_in_a_tool_is_told_as_the_sdk_tells_it_and_ends_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def run(session: Session, given: Given) -> Reply:
        raise ZeroDivisionError("by none")

    told = []
    for _ in range(2):
        with Peer(Session(workspace), [Tool("err", "Errs.", (), run, {"type": "object"}), ALL["index_status"]]) as peer:
            _call(peer, 1, "err")
            told.append(peer.hear())
            _call(peer, 2, "index_status")
            assert "result" in json.loads(peer.hear())
        monkeypatch.setattr(DirectCalls, "plain", lambda *_: None)
    assert told[0] == told[1]
    assert "by none" in caplog.text


def test_who_says_no_more_hears_the_answers_to_what_was_asked(workspace: Workspace) -> None:
    held = Held()
    with Peer(Session(workspace), [held.tool(), ALL["index_status"]]) as peer:
        _call(peer, 1, "hold")
        _call(peer, 2, "index_status")
        peer.say(id=3, method="tools/list", params={})
        peer.says_no_more()
        assert held.begun.acquire(timeout=DEADLINE)
        held.go_on.release()
        assert {json.loads(line)["id"] for line in peer.rest()} == {1, 2, 3}


def test_the_last_answer_is_whole_however_slowly_it_is_read(workspace: Workspace) -> None:
    def run(session: Session, given: Given) -> Reply:
        return Reply("x" * 3_000_000)

    with Peer(Session(workspace), [Tool("big", "Is big.", (), run, {"type": "object"})]) as peer:
        _call(peer, 1, "big")
        peer.says_no_more()
        # more than a socket holds: the thread has sent the beginning, and the loop has to send the rest
        beginning = peer.hear_some()
        assert not peer.is_left(0.2)
        (rest,) = peer.rest()
        assert len(json.loads(beginning + rest)["result"]["content"][0]["text"]) == 3_000_000


def test_who_is_gone_is_not_worked_for(workspace: Workspace) -> None:
    held = Held()
    with Peer(Session(workspace), [held.tool()]) as peer:
        _call(peer, 1, "hold")
        assert held.begun.acquire(timeout=DEADLINE)
    assert held.ended.acquire(timeout=DEADLINE)


def test_messages_from_a_file_are_answered_by_the_bridge(house: House) -> None:
    root = house.root("tree", a="needle\n")
    client = house.client(root)
    hello = {"protocolVersion": VERSIONS[-1], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    numbers = [client.send("initialize", **hello)]
    client.send("notifications/initialized", answered=False)
    search = {"absolute_dir_path": str(root), "pattern": "needle"}
    numbers += [client.send("tools/call", name="search_directory", arguments=search) for _ in range(3)]
    assert client.end() == 0
    for number in numbers[1:]:
        assert "1:needle" in client._answers[number].get(timeout=DEADLINE)["result"]["content"][0]["text"]
