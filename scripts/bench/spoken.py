"""A server over pipes, spoken to in bare lines of JSON: what it takes, without a client's own time in it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_READ_BYTES = 1 << 20


class Unanswered(RuntimeError):
    """The server has ended, takes too long, or refuses."""


class Spoken:
    """A server started by `command`, asked one thing at a time.

    Attributes:
        milliseconds: from its spawn to its reply to `initialize`.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], patience: float = 600.0) -> None:
        """Start it, and say hello; whoever takes more than `patience` seconds for an answer is taken for dead."""
        self._number = 0
        self._heard = bytearray()
        self._patience = patience
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [*command], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            self.ask("initialize", **HELLO)
            self.milliseconds = (time.perf_counter() - began) * 1e3
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except Unanswered:
            self._close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(self._patience)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Unanswered("the server has ended") from None

    def ask(self, method: str, **params: object) -> str:
        """Return the line that answers a request.

        Raises:
            Unanswered: there is none.
        """
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            line = self._line()
            # what else a server says is of no answer
            if line.startswith(b'{"') and json.loads(line).get("id") == self._number:
                return line.decode()

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        pipe, searched = self._process.stdout.fileno(), 0
        while (end := self._heard.find(b"\n", searched)) < 0:
            searched = len(self._heard)
            if not select.select([pipe], [], [], self._patience)[0]:
                raise Unanswered(f"no answer in {self._patience:.0f} s")
            more = os.read(pipe, _READ_BYTES)
            if not more:
                raise Unanswered("the server has ended")
            self._heard += more
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        return line

    def told(self, tool: str, **arguments: object) -> str:
        """Return the text that a tool answers.

        Raises:
            Unanswered: it is an error, or there is none.
        """
        answer = json.loads(self.ask("tools/call", name=tool, arguments=arguments))
        if "result" not in answer:
            raise Unanswered(str(answer["error"]["message"]))
        text = str(answer["result"]["content"][0]["text"])
        if answer["result"].get("isError"):
            raise Unanswered(text)
        return text

    def call(self, tool: str, **arguments: object) -> float:
        """Return the milliseconds that a call of a tool takes; raises as `told`."""
        began = time.perf_counter()
        self.told(tool, **arguments)
        return (time.perf_counter() - began) * 1e3

    def wait_until_indexed(self) -> None:
        """Return when the root is indexed."""
        while ": up to date" not in self.told("index_status"):
            time.sleep(0.5)
