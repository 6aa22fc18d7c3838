"""Contests: the same question to several programs, in turn, so that what disturbs the machine disturbs all of them."""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from indexing import resident

from beside.programs import Peers

MCP, CLI = "linedex MCP", "linedex CLI"
OURS = (MCP, CLI)
MARK = "BENCH_MARK"
"""The variable that tells the processes of one program from all others."""


class Failed(Exception):
    """A program could not do what was asked of it; the message says why, for the table."""


@dataclass(frozen=True)
class Outcome:
    """What one try gave.

    Attributes:
        amount: seconds, or bytes.
        told: how many lines, files or symbols the answer tells, where that is all of them.
    """

    amount: float
    told: int | None = None


Contender = Callable[[], Outcome]


@dataclass(frozen=True)
class Measure:
    """One row: what several programs took for the same.

    Attributes:
        name: what was asked.
        on: of which files; measures on other files are never compared.
        unit: "s" or "bytes".
        amounts: of each program, one a run; programs that were slow have only one.
        told: of each program, how many hits it tells.
        failed: of each program that could not, why.
    """

    name: str
    on: str
    unit: str
    amounts: Mapping[str, Sequence[float]]
    told: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    def median(self, who: str) -> float:
        """Return the median of what a program took."""
        return statistics.median(self.amounts[who])

    def ratios(self, ours: str, peer: str) -> list[float]:
        """Return ours through the peer's, run by run; where one of them was run once, of the medians."""
        mine, its = self.amounts[ours], self.amounts[peer]
        if len(mine) != len(its):
            mine, its = [self.median(ours)], [self.median(peer)]
        return [a / b for a, b in zip(mine, its, strict=True)]


@dataclass(frozen=True)
class Bench:
    """How contests are held.

    Attributes:
        peers: the programs beside us.
        folder: for indexes, states and outputs.
        runs: counted tries of each program, after one that is not.
        memory_gib: what largefile may take, which holds whole files more than once.
        slow: seconds; a program whose first try takes longer has no other.
        patience: seconds after which a program is ended, as one that failed.
    """

    peers: Peers
    folder: Path
    memory_gib: float
    runs: int
    slow: float
    patience: float

    def contest(
        self, name: str, on: str, contenders: Mapping[str, Contender], runs: int | None = None, *, warm: bool = True
    ) -> Measure:
        """Let all contenders try in turn and return their times in seconds.

        Args:
            name: of the measure.
            on: which files it is of.
            contenders: of each program, what tries once.
            runs: counted tries, if not those of the bench.
            warm: whether a first try is not counted; then a program that was slow in it has no other.
        """
        amounts: dict[str, list[float]] = {who: [] for who in contenders}
        failed: dict[str, str] = {}
        told: dict[str, int] = {}
        again = dict(contenders)
        for run in range(-warm, self.runs if runs is None else runs):
            for who, contender in [*again.items()]:
                try:
                    outcome = contender()
                except Failed as error:
                    failed[who] = str(error)
                    del again[who]
                    continue
                if run == -1 and outcome.amount > self.slow:
                    del again[who]
                if run >= 0 or who not in again:
                    amounts[who].append(outcome.amount)
                if outcome.told is not None:
                    told[who] = outcome.told
        kept = {who: taken for who, taken in amounts.items() if taken and who not in failed}
        return reported(Measure(name, on, "s", kept, told, failed))

    def ran(self, command: Sequence[str | Path], **environ: str) -> tuple[float, Path]:
        """Run a command to its end and return its seconds and its output.

        The output goes into a file: GNU grep stops at the first hit when it is nothing but the null device.

        Raises:
            Failed: it ended with 2 or more, or not in time.
        """
        out = self.folder / "out"
        with out.open("wb") as written:
            began = time.perf_counter()
            try:
                done = subprocess.run(
                    [*map(str, command)],
                    stdin=subprocess.DEVNULL,
                    stdout=written,
                    stderr=subprocess.PIPE,
                    env={**os.environ, **environ},
                    cwd=self.folder,
                    timeout=self.patience,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise Failed(f"ended after {self.patience:.0f} s") from None
            took = time.perf_counter() - began
        if done.returncode > 1:
            raise Failed(done.stderr.decode(errors="replace").strip()[-120:] or f"status {done.returncode}")
        return took, out

    def peak(self, command: Sequence[str | Path], **environ: str) -> Outcome:
        """Return the most memory in bytes that the processes of a command held; a short command runs several times."""
        mark = uuid.uuid4().hex

        def call() -> None:
            until = time.perf_counter() + 1  # one that ends within milliseconds may end between two samples
            while self.ran(command, **environ, **{MARK: mark}) and time.perf_counter() < until:
                pass

        return peak_of(mark, call)


def weighed(name: str, on: str, contenders: Mapping[str, Contender]) -> Measure:
    """Let each contender tell bytes once."""
    amounts, failed = {}, {}
    for who, contender in contenders.items():
        try:
            amounts[who] = [contender().amount]
        except Failed as error:
            failed[who] = str(error)
    return reported(Measure(name, on, "bytes", amounts, {}, failed))


def of_bytes(name: str, on: str, amounts: Mapping[str, float]) -> Measure:
    """Return a measure of bytes that were noted while something was timed."""
    return reported(Measure(name, on, "bytes", {who: [amount] for who, amount in amounts.items()}))


def reported(measure: Measure) -> Measure:
    """Say on the terminal what was measured, and return it."""
    figures = ", ".join(f"{who} {measure.median(who):.4g}" for who in measure.amounts)
    print(f"{measure.name} ({measure.on}), {measure.unit}: {figures} {dict(measure.failed) or ''}", flush=True)
    return measure


def bearing(mark: str) -> Iterator[int]:
    """Yield the processes that have a mark in their environment."""
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environ = (folder / "environ").read_bytes()
            except OSError:
                continue
            if wanted in environ.split(b"\0"):
                yield int(folder.name)


def peak_of(mark: str, call: Callable[[], object]) -> Outcome:
    """Return the most memory in bytes that marked processes held while `call` ran: proportional set sizes, summed."""
    done = threading.Event()
    samples = []

    def sample() -> None:
        samples.append(sum(map(resident, bearing(mark))))
        while not done.wait(0.001):
            samples.append(sum(map(resident, bearing(mark))))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        call()
    finally:
        done.set()
        sampler.join()
    sample()  # of a server that answered between two samples
    if not max(samples):
        raise Failed("ended too soon to be weighed")
    return Outcome(max(samples))
