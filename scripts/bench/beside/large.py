"""Contests over one large log: opening it, a line, its end, an id, levels; and an edit in the middle of one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from indexing import index

from beside import searches
from beside.contest import CLI, MCP, Bench, Contender, Failed, Measure, Outcome, of_bytes, peak_of, weighed
from beside.server import LINEDEX, Asked, asked, linedex, others, stop

LINES = 20
"""Lines that are read at once."""
ABSENT = "req=00000000-dead-4bad-abad-000000000000"
HITS = r"\[([\d,]+) hits? in [^\n]*; complete"
_CHUNK = 1 << 20


def place(log: Path, part: float) -> tuple[int, str]:
    """Return the number of the line at a part of a log, counted by reading, and the id of its request."""
    left = int(log.stat().st_size * part)
    number = 1
    with log.open("rb") as lines:
        while left > 0:
            chunk = lines.read(min(left, _CHUNK))
            number += chunk.count(b"\n")
            left -= len(chunk)
        lines.readline()
        found = re.search(rb"req=\S+", lines.readline())
    return number + 1, found[0].decode() if found else ""


class Log:
    """The contests over one log.

    Args:
        bench: how they are held.
        log: the log; it is linked or copied into a folder of its own.
        most: bytes over which largefile is not asked, since it holds some four times what it reads.
    """

    def __init__(self, bench: Bench, log: Path, most: int) -> None:
        self._bench = bench
        size = log.stat().st_size
        self._on = f"log of {size / 1e9:.3g} GB" if size >= 1e9 else f"log of {size / 1e6:.3g} MB"
        self._large = size > most
        self._folder = bench.folder / f"log-{size}"
        self._folder.mkdir()
        self._log = self._folder / "app.log"
        try:
            os.link(log, self._log)
        except OSError:
            shutil.copyfile(log, self._log)
        self._state = bench.folder / f"log-{size}-state"
        self._environ = {"LINEDEX_STATE_DIR": str(self._state)}
        self._line, self._id = place(self._log, 0.9)

    def measured(self) -> Iterator[Measure]:
        """Hold every contest."""
        yield from self._index()
        with ExitStack() as stack:
            stack.callback(stop, self._state)
            ours = stack.enter_context(asked(linedex(self._folder, self._state), self._bench.patience))
            servers = others(self._bench, self._folder)
            beside = [stack.enter_context(asked(server, self._bench.patience)) for server in servers]
            ours.settle()
            yield self._lines(ours, beside)
            yield self._tail(ours, beside)
            yield self._search("id at 90 %", self._id, ours, beside)
            yield self._search("id that is nowhere", ABSENT, ours, beside)
            yield self._levels(ours)
            yield self._memory(ours)

    def _index(self) -> Iterator[Measure]:
        """Time ours once, beside one reading of all lines, since nobody else keeps an index of a log."""
        sizes: dict[str, float] = {}
        peaks: dict[str, float] = {}

        def ours() -> Outcome:
            status, peak, wall = index(self._folder, self._state, symbols=False)
            sizes[CLI], peaks[CLI] = float(str(status["sidecar_bytes"])), peak
            return Outcome(wall)

        contenders: dict[str, Contender] = {CLI: ours}
        for program in self._bench.peers.of("GNU grep"):
            contenders[f"{program.name}, one reading"] = partial(self._command, [program.path, "-c", "", self._log])
        self._command(["sh", "-c", 'cat "$0" > /dev/null', self._log])  # everybody is to find it in memory
        yield self._bench.contest("index of the log", self._on, contenders, 1, warm=False)
        yield of_bytes("size of that index; beside it the log", self._on, {**sizes, "log": self._log.stat().st_size})
        yield of_bytes("memory for that index, peak", self._on, peaks)

    def _command(self, command: Sequence[str | Path], *, lines: bool = False) -> Outcome:
        took, out = self._bench.ran(command, **self._environ)
        return Outcome(took, searches.lines_told(out, {}) if lines else None)

    def _others(self, sessions: Sequence[Asked], kind: str, *asking: str, **arguments: object) -> dict[str, Contender]:
        """Return calls of the other servers of a kind; of largefile only on what its way of reading can hold."""

        def refused() -> Outcome:
            raise Failed("not asked: it holds a file some four times over")

        return {
            session.server.name: refused
            if self._large and kind == "largefile"
            else partial(session.timed, *asking, **arguments)
            for session in sessions
            if session.server.kind == kind
        }

    def _lnav(self, *commands: str) -> dict[str, Contender]:
        """Return lnav, which reads the whole log anew at each start, without its screen."""
        options = [word for command in commands for word in ("-c", command)]
        return {
            program.name: partial(self._command, [program.path, "-n", *options, self._log])
            for program in self._bench.peers.of("lnav")
        }

    def _lines(self, ours: Asked, beside: Sequence[Asked]) -> Measure:
        first, last = self._line, self._line + LINES - 1
        reading = {"absolute_file_path": str(self._log), "offset": first, "limit": LINES}
        contenders: dict[str, Contender] = {
            MCP: lambda: ours.timed("read_content", **reading),
            CLI: partial(self._command, [*LINEDEX, "read", f"{self._log}:{first}-{last}"], lines=True),
            **self._lnav(f";SELECT log_raw_text FROM all_logs LIMIT {LINES} OFFSET {first - 1}"),
            **self._others(beside, "largefile", "read_content", **reading),
        }
        for program in self._bench.peers.of("GNU sed"):
            script = f"{first},{last}p;{last}q"
            contenders[program.name] = partial(self._command, [program.path, "-n", script, self._log], lines=True)
        return self._bench.contest(f"{LINES} lines from 90 % on", self._on, contenders)

    def _tail(self, ours: Asked, beside: Sequence[Asked]) -> Measure:
        reading = {"absolute_file_path": str(self._log), "limit": LINES, "mode": "tail"}
        contenders: dict[str, Contender] = {
            MCP: lambda: ours.timed("read_content", **reading),
            CLI: partial(self._command, [*LINEDEX, "read", self._log, "--tail", str(LINES)], lines=True),
            "tail": partial(self._command, ["tail", "-n", str(LINES), self._log], lines=True),
            **self._others(beside, "largefile", "read_content", **reading),
            **self._others(beside, "filesystem server", "read_text_file", path=str(self._log), tail=LINES),
        }
        return self._bench.contest(f"last {LINES} lines", self._on, contenders)

    def _search(self, name: str, pattern: str, ours: Asked, beside: Sequence[Asked]) -> Measure:
        asking: dict[str, object] = {
            "absolute_file_path": str(self._log),
            "pattern": pattern,
            "fuzzy": False,
            "case_sensitive": True,
            "context_lines": 0,
        }
        contenders: dict[str, Contender] = {
            MCP: lambda: ours.timed("search_content", HITS, **asking),
            CLI: partial(self._command, searches.ours(pattern, {}, self._log), lines=True),
            **{
                program.name: partial(self._command, searches.theirs(program, pattern, {}, self._log), lines=True)
                for program in self._bench.peers.of("ripgrep", "ugrep", "GNU grep")
            },
            **self._lnav(f":filter-in {pattern}"),
            **self._others(beside, "largefile", "search_content", r'"total_matches": (\d+)', **asking),
        }
        return self._bench.contest(name, self._on, contenders)

    def _levels(self, ours: Asked) -> Measure:
        contenders: dict[str, Contender] = {
            MCP: lambda: ours.timed("log_timeline", absolute_path=str(self._log)),
            CLI: partial(self._command, [*LINEDEX, "log", self._log]),
            **self._lnav(";SELECT log_level, count(*) FROM all_logs GROUP BY log_level"),
        }
        return self._bench.contest("records by level", self._on, contenders)

    def _memory(self, ours: Asked) -> Measure:
        """Weigh a search for the id."""
        asking = {"absolute_file_path": str(self._log), "pattern": self._id, "fuzzy": False}
        contenders: dict[str, Contender] = {
            MCP: partial(peak_of, ours.server.mark, partial(ours.ask, "search_content", **asking))
        }
        commands = {CLI: searches.ours(self._id, {}, self._log)} | {
            program.name: searches.theirs(program, self._id, {}, self._log)
            for program in self._bench.peers.of("ripgrep", "ugrep", "GNU grep")
        }
        for program in self._bench.peers.of("lnav"):
            commands[program.name] = [program.path, "-n", "-c", f":filter-in {self._id}", self._log]
        for who, command in commands.items():
            contenders[who] = partial(self._bench.peak, command, **self._environ)
        return weighed("memory, peak: that id", self._on, contenders)
