"""A state folder with whoever is its daemon, and clients that are spoken to line by line."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Queue
from typing import Any, TypeAlias

import pytest

from linedex_server.asking.control import DaemonStatus, daemon_status
from linedex_server.rendezvous.listening import listen, publish, withdraw

DEADLINE = 30.0
LEGACY, MODERN = "2025-11-25", "2026-07-28"
"""The eras of the protocol: with a handshake, and with an envelope on each request."""


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.005)


class Client:
    """An MCP client over pipes, in one era; answers are kept by id, notifications in order."""

    def __init__(self, command: list[str], environ: Mapping[str, str], era: str, cwd: Path) -> None:
        self.era = era
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, cwd=cwd
        )
        self.torn: list[bytes] = []
        self.notifications: list[dict[str, Any]] = []
        self.errors = b""
        self._answers: dict[object, Queue[dict[str, Any]]] = {}
        self._number = 0
        self._threads = [threading.Thread(target=one) for one in (self._listen, self._overhear)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.torn.append(line)
                continue
            if "method" in message:
                self.notifications.append(message)
            else:
                self._answers.setdefault(message["id"], Queue()).put(message)
        for waiting in list(self._answers.values()):
            waiting.put({"error": {"message": "the client's stream ended"}})

    def _overhear(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def send(self, method: str, *, answered: bool = True, **params: Any) -> int:
        """Send a request, or a notification, and return its number."""
        self._number += 1
        if self.era == MODERN:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.era,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if answered:
            message["id"] = self._number
            self._answers.setdefault(self._number, Queue())
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a request: its result, or its error under `error`."""
        message = self._answers[number].get(timeout=DEADLINE)
        assert self._answers[number].empty(), "answered twice"
        found: dict[str, Any] = message.get("result") or {"error": message.get("error")}
        return found

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        return self.answer(self.send(method, **params))

    def begin(self) -> dict[str, Any]:
        """Shake hands as the era does."""
        if self.era == MODERN:
            return self.ask("server/discover")
        hello = {"protocolVersion": self.era, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        result = self.ask("initialize", **hello)
        self.send("notifications/initialized", answered=False)
        return result

    def call(self, tool: str, **arguments: Any) -> str:
        """Return the text of a tool's answer."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert "content" in result, result
        text: str = result["content"][0]["text"]
        return text

    def end(self) -> int:
        """Close the input and return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(DEADLINE)
        self._clean()
        return status

    def kill(self) -> None:
        """End the client whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)
        self._clean()

    def _clean(self) -> None:
        for thread in self._threads:
            thread.join(DEADLINE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


ENGINE = ("numpy", "re2", "apsw", "linedex.index", "regex", "rich", "mcp", "anyio")
RUNNER = """
import json, os, sys
from linedex_server.cli import main
commands, folder, unwanted = json.load(sys.stdin)
stdout = os.dup(1)
statuses = []
for number, words in enumerate(commands):
    for stream in (1, 2):
        file = os.open(f"{folder}/{number}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, stream)
        os.close(file)
    sys.argv = ["linedex", *words]
    statuses.append(main())
loaded = [name for name in unwanted if name in sys.modules]
os.write(stdout, json.dumps([statuses, loaded]).encode())
"""
"""Runs commands one after the other, which a process for each would take a minute for."""

Told: TypeAlias = tuple[int, bytes, bytes]
"""The status of a command, what it printed, and what it said beside that."""


class House:
    """A state folder, whoever is its daemon, and the clients of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("LINEDEX_", "XDG_"))}
        self.environ = {
            **kept,
            "LINEDEX_STATE_DIR": str(self.state),
            "LINEDEX_WORKERS": "1",
            "LINEDEX_IDLE_SECONDS": "60",
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_RUNTIME_DIR": str(folder),
        }
        self.clients: list[Client] = []
        self.daemons: list[subprocess.Popen[bytes]] = []

    def root(self, name: str, **files: str) -> Path:
        """Make a folder with files, named by their stem, and return it."""
        root = self.folder / name
        root.mkdir()
        for stem, text in files.items():
            (root / f"{stem}.txt").write_text(text, encoding="utf-8")
        return root

    def plant(self, name: str, files: Mapping[str, bytes]) -> Path:
        """Make a repository of these files, by their paths, and return it."""
        root = self.folder / name
        for below, data in files.items():
            path = root / below
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (root / ".git").mkdir()
        return root

    def client(self, *roots: Path, era: str = LEGACY, options: Sequence[str] = (), **environ: str) -> Client:
        """Start a client of the bridge, with further options; it has not shaken hands."""
        arguments = [*(word for root in roots for word in ("--root", str(root))), *options]
        command = [sys.executable, "-m", "linedex_server", "mcp", *arguments]
        client = Client(command, {**self.environ, **environ}, era, self.folder)
        self.clients.append(client)
        return client

    def serve(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a daemon in the foreground and return it when it serves."""
        process = subprocess.Popen(
            [sys.executable, "-m", "linedex_server", "serve", *arguments],
            env=self.environ,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.daemons.append(process)
        until(lambda: self.status() is not None, "the daemon serves")
        return process

    @staticmethod
    def until(condition: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        until(condition, what)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of linedex to its end."""
        return subprocess.run(
            [sys.executable, "-m", "linedex_server", *arguments],
            env=self.environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def commands(self, folder: Path, *commands: Sequence[str], engine: bool = True) -> list[Told]:
        """Return what commands from `folder` give; without the engine none of them may load it."""
        printed = self.folder / "printed"
        printed.mkdir(exist_ok=True)
        ran = subprocess.run(
            [sys.executable, "-c", RUNNER],
            env=self.environ,
            cwd=folder,
            input=json.dumps([commands, str(printed), () if engine else ENGINE]).encode(),
            stdout=subprocess.PIPE,
            timeout=100,
            check=True,
        )
        statuses, loaded = json.loads(ran.stdout)
        assert loaded == []
        return [
            (status, (printed / f"{number}.1").read_bytes(), (printed / f"{number}.2").read_bytes())
            for number, status in enumerate(statuses)
        ]

    @contextmanager
    def keeping(self, *roots: Path) -> Iterator[None]:
        """Have a daemon keep the indexes of some roots, which are up to date."""
        self.serve(*(word for root in roots for word in ("--root", str(root))))
        for root in roots:
            assert self.run("index", str(root)).returncode == 0
        yield
        self.run("stop")

    @contextmanager
    def standing_in(self, welcome: bytes, *said: bytes) -> Iterator[None]:
        """Have somebody answer in the daemon's place, and go away after each answer."""
        self.state.mkdir(mode=0o700)
        listener, address = listen(self.state, {"XDG_RUNTIME_DIR": str(self.folder)})
        publish(self.state, address)

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as received:
                    received.readline()
                    connection.sendall(welcome)
                    if said and received.readline():
                        connection.sendall(b"".join(said))

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            thread.join()
            withdraw(self.state, address)

    def status(self) -> DaemonStatus | None:
        """Ask the daemon how it is; None when none runs."""
        return daemon_status(self.state)

    def daemon(self) -> DaemonStatus:
        """Return the state of the daemon, which must run."""
        found = self.status()
        assert found is not None
        return found


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A state folder; at the end no process of it is left."""
    opened = House(tmp_path)
    yield opened
    for client in opened.clients:
        client.kill()
    opened.run("stop")
    for process in opened.daemons:
        process.kill()
        process.wait(DEADLINE)


@pytest.fixture(params=[LEGACY, MODERN])
def era(request: pytest.FixtureRequest) -> str:
    """Each era of the protocol."""
    found: str = request.param
    return found
