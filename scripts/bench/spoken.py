"""A server over pipes, spoken to in bare lines of JSON: what its start takes, without a client's own time in it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Spoken:
    """A server started by `command`, asked one thing at a time.

    Attributes:
        milliseconds: from its spawn to its reply to `initialize`.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._number = 0
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [*command], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.ask("initialize", **HELLO)
        self.milliseconds = (time.perf_counter() - began) * 1e3
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, **params: object) -> str:
        """Return the line that answers a request."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode()

    def call(self, tool: str, **arguments: object) -> float:
        """Return the milliseconds that a call of a tool takes."""
        began = time.perf_counter()
        if '"isError":false' not in self.ask("tools/call", name=tool, arguments=arguments):
            raise RuntimeError(f"{tool} failed")
        return (time.perf_counter() - began) * 1e3

    def wait_until_indexed(self) -> None:
        """Return when the root is indexed."""
        while ": up to date" not in self.ask("tools/call", name="index_status", arguments={}):
            time.sleep(0.5)
