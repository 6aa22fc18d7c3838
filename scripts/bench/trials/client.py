"""An MCP client of a daemon: `linedex mcp` as a process, spoken to in bare lines of JSON."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from spoken import HELLO

from linedex.errors import LinedexError

_ANSWER_SECONDS = 120.0


class Refused(LinedexError):
    """A call was refused; the text is the server's."""


class Gone(Exception):
    """The client's server has ended, or says something that is no answer."""


class Client:
    """One client; any number of threads may call at once, and each gets its own answer."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        """Start it, and say hello."""
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        command = [sys.executable, "-m", "linedex_server", "mcp", "--root", str(root)]
        self._process = subprocess.Popen(
            [*command, "--tools", "all", "--output", "json"],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self._asked("initialize", HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Return the fields of an answer.

        Raises:
            Refused: the call was refused.
            Gone: there is no answer.
        """
        result = self._asked("tools/call", {"name": tool, "arguments": arguments})
        (block,) = result["content"]
        if result.get("isError"):
            raise Refused(block["text"], "")
        fields: dict[str, Any] = result["structuredContent"]
        if json.loads(block["text"]) != fields:
            raise Gone(f"{tool} tells {block['text']!r} as text and {fields!r} as fields")
        return fields

    def close(self) -> None:
        """End it."""
        with suppress(BrokenPipeError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._process.wait(_ANSWER_SECONDS)
        self._reading.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _asked(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        number, waiting = next(self._numbers), Future[dict[str, Any]]()
        self._waiting[number] = waiting
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answer = waiting.result(_ANSWER_SECONDS)
        if "result" not in answer:
            raise Gone(f"{method} {params!r}: {answer!r}")
        result: dict[str, Any] = answer["result"]
        return result

    def _send(self, message: Mapping[str, object]) -> None:
        line = json.dumps(message, ensure_ascii=False).encode() + b"\n"
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            waiting = self._waiting.pop(told["id"], None) if "id" in told else None
            if waiting is not None:
                waiting.set_result(told)
        while self._waiting:
            _, waiting = self._waiting.popitem()
            waiting.set_exception(Gone("the server has ended"))
