"""Contests of servers' starts: from the spawn to the reply to `initialize`, spoken to in bare lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from spoken import Spoken

from beside.contest import MCP, Bench, Contender, Measure, Outcome, peak_of, weighed
from beside.server import Server, linedex, stop


class Starts:
    """The contests of starts over one folder.

    Args:
        bench: how they are held.
        root: the folder that is served.
        servers: the servers beside ours.
        runs: starts that are counted.
    """

    def __init__(self, bench: Bench, root: Path, servers: Sequence[Server], runs: int) -> None:
        self._bench, self._servers, self._runs = bench, servers, runs
        self._state = bench.folder / "start-state"
        self._ours = linedex(root, self._state)

    def measured(self) -> Iterator[Measure]:
        """Start in turn, with our daemon up and down, then weigh what just began."""
        on = "an empty folder"
        others: dict[str, Contender] = {server.name: self._start(server) for server in self._servers}
        try:
            with Spoken(self._ours.command, self._ours.full_environ):
                ours = self._start(self._ours)
                yield self._bench.contest("start, daemon up", on, {MCP: ours, **others}, self._runs)
            yield self._bench.contest("start, daemon down", on, {MCP: self._start_all, **others}, self._runs)
            servers = [self._ours, *self._servers]
            yield weighed("memory after the start", on, {server.name: self._held(server) for server in servers})
        finally:
            stop(self._state)

    def _start(self, server: Server) -> Contender:
        def once() -> Outcome:
            with Spoken(server.command, server.full_environ) as spoken:
                return Outcome(spoken.milliseconds / 1e3)

        return once

    def _start_all(self) -> Outcome:
        stop(self._state)
        return self._start(self._ours)()

    def _held(self, server: Server) -> Contender:
        def once() -> Outcome:
            with Spoken(server.command, server.full_environ) as spoken:
                spoken.ask("tools/list")
                return peak_of(server.mark, lambda: time.sleep(0.2))

        return once
