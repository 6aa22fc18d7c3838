"""`linedex mcp`: a proxy of lines between an MCP client on stdin and stdout and the daemon.

Promise: standard library only, so that it answers while an SDK would still be imported. The client never sees that a
daemon died: the bridge starts another, replays the handshake and the live subscriptions, says of each file subscribed
to that it may have changed meanwhile, sends the unanswered calls again that only read, and answers the others with the
truth, that the change may or may not have been made. A client that waits for nothing gets its new daemon with its next
message, so that `linedex stop` leaves none behind. A line that a dying daemon did not finish never reaches the client.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, NoReturn

from linedex.errors import LinedexError
from linedex_server.config import variables
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import LAST_ANSWERS_SECONDS, LINE_BYTES, MCP, STATUS, Hello
from linedex_server.rendezvous.reach import Link, reach, silent

PATIENCE_SECONDS = 20.0
"""A daemon that answers nobody for so long, and a question of the bridge's own neither, is given up for the call."""
PROBE_SECONDS = 5.0
_CLOSING_SECONDS = 0.5
_SHORT_BYTES = 16 << 10
SENDINGS = 3
"""How often a call is sent at most: one that kills every daemon it reaches is given up."""
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_INTERNAL_ERROR = -32603
_INVALID_REQUEST = -32600

Id = str | int
Message = dict[str, Any]


@dataclass(slots=True)
class _Call:
    """A request without an answer, how often it was sent, and whether as a subscription it was acknowledged."""

    line: bytes
    method: str
    tool: str
    sendings: int = 1
    acknowledged: bool = False
    since: float = field(default_factory=time.monotonic)


class Bridge:
    """One client's session, over as many daemons as it takes."""

    def __init__(self, state_dir: Path, hello: Hello, output: BinaryIO, *, patience: float = PATIENCE_SECONDS) -> None:
        """Reach the daemon, starting it if need be.

        Args:
            state_dir: the state folder, whose daemon is meant.
            hello: the session's first line.
            output: where the client reads.
            patience: seconds without a word of the daemon after which it is asked whether it lives.

        Raises:
            NoDaemon: there is none and none can be started.
            BadArgument: the daemon refuses the session.
        """
        self._state_dir = state_dir
        self._patience = patience
        self._heard = time.monotonic()
        self._waiting = threading.Event()
        self._hello = hello
        self._output = output
        self._calls: dict[Id, _Call] = {}
        self._subscriptions: dict[str, bytes] = {}
        self._handshake: bytes | None = None
        self._greeted = False
        self._initialized: bytes | None = None
        self._ended = False
        # `_sending` is held while something is sent and all through a change of daemons; `_state` for a moment only,
        # so that answers are taken in while a send waits for the daemon to read
        self._sending = threading.Lock()
        self._needed = threading.Condition(self._sending)
        self._parted = False
        self._state = threading.Lock()
        self._writing = threading.Lock()
        self._link = self._reached()
        for notice in self._link.welcome.notices:
            sys.stderr.write(f"linedex: {notice}\n")
        sys.stderr.flush()

    def _reached(self) -> Link:
        link = reach(self._state_dir, self._hello)
        assert link is not None  # it starts a daemon or raises
        return link

    # from the client to the daemon

    def upward(self, lines: Iterator[bytes]) -> None:
        """Send each line to the daemon until there are no more, then wait for the last answers."""
        for line in lines:
            if len(line) > LINE_BYTES:
                self._refuse(None, _INVALID_REQUEST, f"a message may have {LINE_BYTES >> 20} MiB")
                continue
            whole = line if line.endswith(b"\n") else line + b"\n"
            read = _message(line) if len(line) > _SHORT_BYTES else None
            with self._sending:
                with self._state:
                    # the daemon wakes while a short line is read here; no answer is taken in before that is done
                    sent = 0 if self._parted else self._sent_at_once(whole)
                    self._remember(line, _message(line) if read is None else read)
                if self._parted:
                    self._needed.notify()
                    continue  # the other thread reaches a daemon and sends what is remembered
                try:
                    self._link.connection.sendall(whole[sent:])
                except OSError:
                    continue  # the other thread sees the end of this daemon, and does the same
        with self._sending:
            self._ended = True
            self._needed.notify()
            self._link.end_sending()

    def _sent_at_once(self, line: bytes) -> int:
        """Return how many bytes of a line the daemon takes without being waited for."""
        try:
            return self._link.connection.send(line, socket.MSG_DONTWAIT)
        except OSError:
            return 0  # it reads too slowly, or has ended, which sending the rest will tell

    def _remember(self, line: bytes, message: Message) -> None:
        method, number = message.get("method"), message.get("id")
        params = _part(message, "params")
        if method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            cancelled = params.get("requestId")
            if isinstance(cancelled, (str, int)):
                self._calls.pop(cancelled, None)
        elif isinstance(method, str) and isinstance(number, (str, int)):
            self._calls[number] = _Call(line, method, str(params.get("name", "")))
            self._waiting.set()
            if method == "initialize":
                self._handshake = line
            elif method == "resources/subscribe":
                self._subscriptions[str(params.get("uri"))] = line
            elif method == "resources/unsubscribe":
                self._subscriptions.pop(str(params.get("uri")), None)

    # from the daemon to the client

    def downward(self) -> None:
        """Hand every whole line of the daemon to the client, and change daemons when one ends."""
        while True:
            for line in self._lines():
                self._hand_on(line)
            # `sendall` of the other thread ends now at the latest, and lets go of `_sending`
            self._link.close()
            with self._sending:
                self._parted = True
                while not (self._ended or self._calls or self._subscriptions):
                    self._needed.wait()
                if self._ended:
                    return
                self._change_daemons()
                self._parted = False

    def _hand_on(self, line: bytes) -> None:
        message = _message(line)
        method, number = message.get("method"), message.get("id")
        if method is None and isinstance(number, (str, int)):
            with self._state:
                answered = self._calls.pop(number, None)
            if answered is None:
                return  # the client was told something else meanwhile, or has cancelled the call
            self._greeted |= answered.method == "initialize"
        elif method == "notifications/subscriptions/acknowledged" and self._acknowledged_again(message):
            # the client has heard that, and not what changed while nobody was watching
            params = _part(message, "params")
            for uri in _part(params, "notifications").get("resourceSubscriptions") or ():
                self._tell_of_change(uri, _meta=_part(params, "_meta"))
            return
        self._write(line)

    def _acknowledged_again(self, message: Message) -> bool:
        number = _part(_part(message, "params"), "_meta").get(_SUBSCRIPTION)
        with self._state:
            call = self._calls.get(number) if isinstance(number, (str, int)) else None
            if call is None:
                return False
            before, call.acknowledged = call.acknowledged, True
            call.sendings = 1  # a daemon took it, and lived: the next end of one has another reason
        return before

    def _tell_of_change(self, uri: str, **more: Any) -> None:
        told = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri, **more}}
        self._write(json.dumps(told).encode() + b"\n")

    def _lines(self) -> Iterator[bytes]:
        while True:
            try:
                line = self._link.received.readline()
            except (OSError, ValueError):
                return  # a killed daemon resets the connection
            self._heard = time.monotonic()
            if not line.endswith(b"\n"):
                return
            yield line

    def _change_daemons(self) -> None:
        """Reach a daemon, bring it to where the last one was, and send again what may be."""
        while True:
            self._link = self._reached()
            try:
                self._replay()
                self._send_again()
            except OSError:
                self._link.close()  # it died as well, or retires
            else:
                return

    def _replay(self) -> None:
        if self._handshake is not None and self._greeted:
            self._asked(self._handshake)
        if self._initialized is not None:
            self._link.connection.sendall(self._initialized)
        for number, (uri, line) in enumerate(self._subscriptions.items()):
            again = {**_message(line), "id": f"linedex-subscription-{number}"}
            if "result" in self._asked(json.dumps(again).encode() + b"\n"):
                self._tell_of_change(uri)

    def _asked(self, line: bytes) -> Message:
        """Send a request of the bridge's own and return its answer, which is none of the client's."""
        number = _message(line)["id"]
        self._link.connection.sendall(line)
        for answer in self._lines():
            message = _message(answer)
            if "method" not in message and message.get("id") == number:
                return message
            self._write(answer)
        raise ConnectionResetError("the daemon ended during the replay")

    def _send_again(self) -> None:
        retry = frozenset(self._link.welcome.retry)
        with self._state:
            waiting = list(self._calls.items())
        for number, call in waiting:
            if call.method == "tools/call" and call.tool not in retry:
                self._lost(
                    number,
                    "linedex's daemon stopped during this call and was started again. The change may or may not have "
                    "been made: read the file again before retrying.",
                )
            elif call.sendings >= SENDINGS:
                self._lost(number, f"linedex's daemon stopped {SENDINGS} times during this call; it was given up.")
            else:
                call.sendings += 1
                self._link.connection.sendall(call.line)

    def _lost(self, number: Id, text: str) -> None:
        with self._state:
            lost = self._calls.pop(number, None)
        if lost is not None:
            self._refuse(number, _INTERNAL_ERROR, text)

    def _refuse(self, number: Id | None, code: int, text: str) -> None:
        answer = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
        self._write(json.dumps(answer).encode() + b"\n")

    # a daemon that neither answers nor ends

    def watch(self) -> None:
        """See to it that no call waits for ever for a daemon that was stopped or hangs; never returns."""
        while True:
            self._waiting.wait()
            began = time.monotonic()
            time.sleep(max(0.0, max(self._heard, self._oldest(began)) + self._patience - began))
            with self._state:
                waits = any(not call.acknowledged for call in self._calls.values())
                if not waits:
                    self._waiting.clear()
            if waits and time.monotonic() - max(self._heard, self._oldest(began)) >= self._patience:
                self._give_up_if_silent()

    def _oldest(self, otherwise: float) -> float:
        """Return since when the call waits that waits longest; a subscription waits for nothing."""
        with self._state:
            return min((call.since for call in self._calls.values() if not call.acknowledged), default=otherwise)

    def _give_up_if_silent(self) -> None:
        welcome, seconds = self._link.welcome, min(PROBE_SECONDS, self._patience)
        try:
            # another connection: a long answer on ours is no reason
            probe = reach(self._state_dir, Hello.here(STATUS, {}, variables()), starting=False, seconds=seconds)
        except NoDaemon:
            refusal = silent(welcome.pid, self._patience)
        except LinedexError:
            return
        else:
            if probe is not None:
                probe.close()
                self._heard = time.monotonic()
            return
        with self._state:
            waiting = [(number, call) for number, call in self._calls.items() if not call.acknowledged]
        for number, call in waiting:
            reads = call.method != "tools/call" or call.tool in welcome.retry
            unsure = "" if reads else " The change may or may not have been made: read the file again before retrying."
            self._lost(number, f"linedex: {refusal}. {refusal.hint}{unsure}")

    def _write(self, line: bytes) -> None:
        with self._writing:
            self._output.write(line)
            self._output.flush()

    def refuse_all(self, text: str) -> None:
        """Answer every open call with an error."""
        for number in list(self._calls):
            self._lost(number, text)


def serve(state_dir: Path, hello_arguments: Message) -> NoReturn:
    """Be the proxy of one client until it closes stdin or a signal comes; ends the process.

    Args:
        state_dir: the state folder.
        hello_arguments: settings of the command line, by name.

    Raises:
        NoDaemon: there is none and none can be started.
        BadArgument: the daemon refuses the session.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    bridge = Bridge(state_dir, Hello.here(MCP, hello_arguments, variables()), sys.stdout.buffer)
    down = threading.Thread(target=_down, args=(bridge,), daemon=True)
    down.start()
    threading.Thread(target=bridge.watch, daemon=True).start()
    bridge.upward(_stdin_lines())
    down.join(LAST_ANSWERS_SECONDS + _CLOSING_SECONDS)
    os._exit(0)


def _down(bridge: Bridge) -> None:
    """Hand on answers to the end, and end the process: without this half of it a client would wait for ever."""
    status = 1
    try:
        bridge.downward()
        status = 0
    except LinedexError as error:
        status = 2
        bridge.refuse_all(f"{error}. {error.hint}")
        sys.stderr.write(f"linedex: {error}\n  {error.hint}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        status = 0  # the client reads no more
    finally:
        os._exit(status)


def _stdin_lines() -> Iterator[bytes]:
    """Yield the lines of stdin; of one that is too long, one piece that says so by its length."""
    source = sys.stdin.buffer
    while line := source.readline(LINE_BYTES + 1):
        yield line
        while len(line) > LINE_BYTES and not line.endswith(b"\n"):
            line = source.readline(LINE_BYTES)
            if not line:
                return


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(0)


def _message(line: bytes) -> Message:
    """Return the JSON object of a line; what is none has no keys."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _part(message: Message, name: str) -> Message:
    """Return a part of a message that should be an object; what is none has no keys."""
    part = message.get(name)
    return part if isinstance(part, dict) else {}
