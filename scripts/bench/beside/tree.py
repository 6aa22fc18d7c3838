"""Contests over a folder of sources: indexes, searches, names, symbols and outlines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from indexing import index
from latency import QUERIES

from beside import searches
from beside.contest import CLI, MCP, Bench, Contender, Measure, Outcome, of_bytes, peak_of, weighed
from beside.programs import Program
from beside.server import LINEDEX, Asked, Server, asked, linedex, stop

RARE = "devm_clk_bulk_get_optional"
"""Stands for all searches where one is enough; few lines of the Linux tree have it."""
NAME, SYMBOL = "clk-bulk.c", "kthread_bind_mask"
HITS = r"\[([\d,]+) hits? in [^\n]*; complete"
"""Where an answer of ours says how many hits there are in all."""
_SOURCE = 1 << 20
"""Sources over this size are not outlined."""


def described(root: Path) -> str:
    """Return the name of a tree with how much is in it."""
    sizes = [os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(root) for name in names]
    return f"{root.name}: {len(sizes):,} files, {sum(sizes) / 1e6:,.0f} MB"


def largest(root: Path, suffix: str) -> Path | None:
    """Return the largest source below a folder whose name ends so, of those that are outlined."""
    sizes = {
        path: path.stat().st_size
        for path in sorted(root.rglob(f"*{suffix}"))
        if path.is_file() and not path.is_symlink()
    }
    return max((path for path, size in sizes.items() if size <= _SOURCE), key=sizes.__getitem__, default=None)


class Tree:
    """The contests over one tree.

    Args:
        bench: how they are held.
        root: the tree.
        servers: the MCP servers beside ours, for this folder.
    """

    def __init__(self, bench: Bench, root: Path, servers: Sequence[Server]) -> None:
        self._bench, self._root, self._servers = bench, root, servers
        self._on = described(root)
        self._state = bench.folder / "tree-state"
        self._environ = {"LINEDEX_STATE_DIR": str(self._state), "CSEARCHINDEX": str(bench.folder / "tree.csearch")}
        self._tags = bench.folder / "tree.tags"

    def measured(self, index_runs: int, symbol_runs: int) -> Iterator[Measure]:
        """Hold every contest."""
        # everybody is to find the tree in memory
        self._bench.ran(["sh", "-c", 'find "$0" -type f -print0 | xargs -0 cat > /dev/null', self._root])
        yield from self._text_index(index_runs)
        yield from self._symbol_index(symbol_runs)
        yield self._first_query()
        with ExitStack() as stack:
            stack.callback(stop, self._state)
            stop(self._state)
            ours = stack.enter_context(asked(linedex(self._root, self._state), self._bench.patience))
            others = [stack.enter_context(asked(server, self._bench.patience)) for server in self._servers]
            ours.settle()
            for name, pattern, options, _ in QUERIES:
                contenders = {MCP: self._search(ours, pattern, options), **self._at_terminal(pattern, options)}
                if name == "rare literal":
                    # it looks at no more than 10,000 files, and takes its time for each
                    contenders |= {
                        f"{other.server.name} (10,000 files)": self._search(other, pattern, options)
                        for other in others
                        if other.server.kind == "largefile"
                    }
                yield self._bench.contest(f"{name}: `{pattern}`", self._on, contenders)
            yield self._names(ours, others)
            yield self._definitions(ours)
            yield from self._outlines(ours, others)
            yield self._memory(ours, others)

    def _text_index(self, runs: int) -> Iterator[Measure]:
        sizes: dict[str, float] = {}
        peaks: dict[str, float] = {}

        def ours() -> Outcome:
            status, peak, wall = index(self._root, self._bench.folder / "text-state", symbols=False)
            sizes[CLI], peaks[CLI] = float(str(status["sidecar_bytes"])), peak
            return Outcome(wall)

        def command(program: Program) -> list[str | Path]:
            return [Path(program.path).with_name("cindex"), "-reset", self._root]

        def theirs(program: Program) -> Outcome:
            took, _ = self._bench.ran(command(program), **self._environ)
            sizes[program.name] = Path(self._environ["CSEARCHINDEX"]).stat().st_size
            return Outcome(took)

        programs = self._bench.peers.of("codesearch")
        contenders: dict[str, Contender] = {CLI: ours}
        contenders |= {program.name: partial(theirs, program) for program in programs}
        yield self._bench.contest("index of the text", self._on, contenders, runs, warm=False)
        for program in programs:
            peaks[program.name] = self._bench.peak(command(program), **self._environ).amount
        yield of_bytes("size of that index", self._on, sizes)
        yield of_bytes("memory for that index, peak", self._on, peaks)

    def _symbol_index(self, runs: int) -> Iterator[Measure]:
        sizes: dict[str, float] = {}

        def ours() -> Outcome:
            status, _, _ = index(self._root, self._state, symbols=True)
            sizes[CLI] = float(str(status["sidecar_bytes"]))
            progress: Mapping[str, Mapping[str, float]] = status["progress"]  # type: ignore[assignment]
            return Outcome(float(progress["symbols"]["seconds"]), int(str(status["symbols"])))

        def theirs(program: Program) -> Outcome:
            took, _ = self._bench.ran([program.path, "-R", "-f", self._tags, self._root])
            sizes[f"{program.name} (symbols alone)"] = self._tags.stat().st_size
            with self._tags.open("rb") as tags:
                return Outcome(took, sum(not line.startswith(b"!") for line in tags))

        programs = self._bench.peers.of("Universal Ctags")
        contenders: dict[str, Contender] = {CLI: ours}
        contenders |= {program.name: partial(theirs, program) for program in programs}
        yield self._bench.contest("symbols of the tree", self._on, contenders, runs, warm=False)
        yield of_bytes("size of the index with symbols", self._on, sizes)

    def _search(self, session: Asked, pattern: str, options: Mapping[str, object]) -> Contender:
        arguments = {"absolute_dir_path": str(self._root), "pattern": pattern, "case_sensitive": True}
        return lambda: session.timed("search_directory", HITS, **{**arguments, "context_lines": 0, **options})

    def _command(self, command: Sequence[str | Path], options: Mapping[str, object]) -> Outcome:
        took, out = self._bench.ran(command, **self._environ)
        return Outcome(took, searches.lines_told(out, options))

    def _at_terminal(self, pattern: str, options: Mapping[str, object]) -> dict[str, Contender]:
        """Return our search at the terminal and those of the peers: all hits."""
        commands = {
            program.name: searches.theirs(program, pattern, options, self._root)
            for program in self._bench.peers.of(*searches.SEARCHERS)
        }
        commands = {CLI: searches.ours(pattern, options, self._root), **commands}
        return {who: partial(self._command, command, options) for who, command in commands.items()}

    def _first_query(self) -> Measure:
        """Time a search from nothing running to its answer: for ours the daemon's start and the index's opening."""

        def over_mcp() -> Outcome:
            stop(self._state)
            began = time.perf_counter()
            with asked(linedex(self._root, self._state), self._bench.patience) as session:
                told = self._search(session, RARE, {})().told
                return Outcome(time.perf_counter() - began, told)

        def at_terminal() -> Outcome:
            stop(self._state)
            return self._command(searches.ours(RARE, {}, self._root), {})

        contenders = {**self._at_terminal(RARE, {}), MCP: over_mcp, CLI: at_terminal}
        measure = self._bench.contest(f"first query, nothing running before: `{RARE}`", self._on, contenders)
        stop(self._state)
        return measure

    def _names(self, ours: Asked, others: Sequence[Asked]) -> Measure:
        contenders: dict[str, Contender] = {
            MCP: lambda: ours.timed("find_files", r"\[([\d,]+) files?\]", name=NAME),
            CLI: lambda: self._command([*LINEDEX, "files", NAME, self._root], {}),
        }
        for other in others:
            if other.server.kind == "filesystem server":
                contenders[other.server.name] = partial(
                    other.timed, "search_files", path=str(self._root), pattern=f"**/{NAME}"
                )
        return self._bench.contest(f"files called {NAME}", self._on, contenders)

    def _definitions(self, ours: Asked) -> Measure:
        contenders: dict[str, Contender] = {
            MCP: lambda: ours.timed("find_symbol", name=SYMBOL),
            CLI: lambda: self._command([*LINEDEX, "symbols", SYMBOL, self._root], {}),
        }
        for program in self._bench.peers.of("Universal Ctags"):
            readtags = Path(program.path).with_name("readtags")
            if readtags.exists():
                contenders[f"{program.name}, readtags"] = partial(
                    self._command, [readtags, "-t", self._tags, SYMBOL], {}
                )
        return self._bench.contest(f"definitions of {SYMBOL}", self._on, contenders)

    def _outlines(self, ours: Asked, others: Sequence[Asked]) -> Iterator[Measure]:
        for suffix in (".c", ".py"):
            path = largest(self._root, suffix)
            if path is None:
                continue
            contenders: dict[str, Contender] = {
                MCP: partial(ours.timed, "get_overview", r"; ([\d,]+) symbols\]", absolute_file_path=str(path)),
                CLI: partial(self._command, [*LINEDEX, "outline", path], {}),
            }
            for program in self._bench.peers.of("Universal Ctags"):
                contenders[program.name] = partial(self._command, [program.path, "-f", "-", path], {})
            for other in others:
                if other.server.kind == "largefile" and suffix == ".py":  # it has no outline of C
                    contenders[other.server.name] = partial(other.timed, "get_overview", absolute_file_path=str(path))
            size = f"{path.stat().st_size / 1e3:,.0f} kB"
            yield self._bench.contest(f"outline of {path.name}, {size}", self._on, contenders)

    def _memory(self, ours: Asked, others: Sequence[Asked]) -> Measure:
        """Weigh a rare search: of servers all their processes, which have answered everything above."""
        contenders: dict[str, Contender] = {MCP: partial(peak_of, ours.server.mark, self._search(ours, RARE, {}))}
        commands = {CLI: searches.ours(RARE, {}, self._root)} | {
            program.name: searches.theirs(program, RARE, {}, self._root)
            for program in self._bench.peers.of(*searches.SEARCHERS)
        }
        for who, command in commands.items():
            contenders[who] = partial(self._bench.peak, command, **self._environ)
        for other in others:
            # so little that one sample is sure to be taken
            contenders[other.server.name] = partial(peak_of, other.server.mark, partial(time.sleep, 0.1))
        return weighed(f"memory, peak: `{RARE}`; of other servers what they hold by then", self._on, contenders)
