"""Measure what a very large log costs: indexing, starting again, jumps, ids, times and messages, beside ripgrep.

    python scripts/bench/large_log.py LOG [--folder DIR] [--write]

LOG is one that `logs.py` made; it is linked into a folder of its own, so the folder (of --folder) is on its file
system. Hits are compared with those of `rg -a -F`, counts over time with a scan by `rg`. Bytes are those of the log
that this process reads. With root rights the ids are asked once more with an empty page cache.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import median

from common import machine, write_result
from growth import PeakMemory, Reads
from logs import MESSAGES

from linedex.answers import OutputMode, SearchRequest
from linedex.index import Index
from linedex.log_answers import PatternsRequest, TimelineRequest
from linedex.model import RelPath

NAME = RelPath(b"app.log")
_JUMPS = 100
_TIMES = 7


class Report:
    """Lines of a result, shown as they come."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def say(self, what: str, *values: str) -> None:
        """Add a row."""
        line = f"| {what} | {' | '.join(values)} |"
        self._lines.append(line)
        print(line, flush=True)

    def __str__(self) -> str:
        return "| what | figure | beside |\n| --- | --- | --- |\n" + "\n".join(self._lines)


def milliseconds(call: Callable[[], object], times: int = _TIMES) -> list[float]:
    """Return how long a call took, a figure a try, in ms."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1e3)
    return taken


def rg(log: Path, *options: str) -> tuple[list[int], float]:
    """Return the numbers of the lines that ripgrep finds, and the seconds it took."""
    began = time.perf_counter()
    done = subprocess.run(
        ["rg", "-a", "-n", "--no-config", "--no-heading", *options, str(log)], capture_output=True, check=False
    )
    took = time.perf_counter() - began
    return [int(line.partition(b":")[0]) for line in done.stdout.splitlines()], took


def drop_page_cache() -> bool:
    """Forget what the system has cached of files; return whether that was allowed."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("1\n")
    except OSError:
        return False
    return True


def indexing(report: Report, root: Path, sidecar: Path, size: int) -> None:
    """Index the log in a process that does nothing else."""
    memory = PeakMemory()
    with Index(root, sidecar) as index:
        status = index.build()
    memory.close()
    phases = {str(phase): told.seconds for phase, told in status.progress.items()}
    for phase, what in (("text", "lines, format and checksums"), ("signatures", "signatures, times and messages")):
        report.say(f"indexing: {what}", f"{phases[phase]:.1f} s, {size / phases[phase] / 1e6:.0f} MB/s", "")
    report.say("peak memory of all processes", f"{memory.peak / 1e6:.0f} MB", "")
    report.say("sidecar", f"{status.sidecar_bytes / size:.1%} of the log", "")


def started_again(report: Report, index: Index) -> None:
    """Start an index of what is unchanged."""
    reads, began = Reads(), time.perf_counter()
    index.start()
    if not index.wait(600):
        sys.exit("not ready within ten minutes")
    report.say("started again", f"ready in {time.perf_counter() - began:.2f} s", str(reads))


def jumps(report: Report, index: Index, draw: random.Random) -> None:
    """Read 20 lines at random numbers."""
    lines = index.tail(NAME, 1).total_lines
    reads = Reads()
    taken, most = [], 0
    for _ in range(_JUMPS):
        line = draw.randrange(1, lines - 20)
        reads.begin()
        taken += milliseconds(lambda line=line: index.read(NAME, line, 20), 1)  # type: ignore[misc]
        most = max(most, reads.log)
    taken.sort()
    report.say(
        f"20 lines at {_JUMPS} random numbers of {lines:,}",
        f"p50 {median(taken):.1f} ms, p99 {taken[98]:.1f} ms",
        f"at most {most / 1e3:.0f} kB of the log read",
    )


def ids(report: Report, index: Index, log: Path, draw: random.Random) -> None:
    """Ask for texts that stand once, or nowhere, and compare hits and time with ripgrep's."""
    place = draw.randrange(log.stat().st_size)
    with log.open("rb") as file:
        file.seek(place)
        text = file.read(1 << 20).decode()
    uuid = re.findall(r"req=([0-9a-f-]{36})", text)[3]
    address = re.findall(r"connection from (10\.\d{3}\.\d{2,3}\.\d{2,3}):", text)[3]
    job = re.findall(r"job=([0-9a-f]{32})", text)[2]
    absent = uuid[:-6] + "".join(draw.choice("0123456789abcdef") for _ in range(6))
    asked = {
        "a UUID": uuid,
        "12 hex digits": job[:12],
        "an address": address,
        "a text that is nowhere": absent,
        "8 hex digits": job[:8],
    }
    for cold in (False, True):
        for what, wanted in asked.items():
            if cold and not drop_page_cache():
                return
            request = SearchRequest(wanted, regex=False, scope=NAME, max_hits=10_000, case_sensitive=True)
            reads = Reads()
            taken = milliseconds(lambda request=request: index.search(request), 1 if cold else _TIMES)  # type: ignore[misc]
            answer = index.search(request)
            hits = [hit.line for file in answer.files for hit in file.hits]
            if cold:
                drop_page_cache()
            expected, took = rg(log, "-F", wanted)
            if hits != expected:
                sys.exit(f"{wanted}: {len(hits)} hits, ripgrep has {len(expected)}")
            report.say(
                f"{what} (`{wanted}`){', cold' if cold else ''}: {len(hits):,} hits, as ripgrep",
                f"{median(taken):.1f} ms, {reads.log / len(taken) / 1e6:.2f} MB of the log",
                f"rg {took * 1e3:,.0f} ms, {took * 1e3 / median(taken):,.0f} times as long",
            )


def frequent(report: Report, index: Index, log: Path) -> None:
    """Ask for a text that stands in every tenth line."""
    wanted = "payment declined"
    request = SearchRequest(wanted, regex=False, scope=NAME, case_sensitive=True)
    page = milliseconds(lambda: index.search(request))
    began = time.perf_counter()
    answer = index.search(replace(request, mode=OutputMode.COUNT))
    took = time.perf_counter() - began
    expected, others = rg(log, "-F", wanted)
    counted = answer.total_hits
    if not answer.cursor and counted != len(expected):
        sys.exit(f"{counted} hits, ripgrep has {len(expected)}")
    whole = "as far as its time went" if answer.cursor else "as ripgrep"
    report.say(
        f"`{wanted}`: first page; count of {counted:,} hits, {whole}",
        f"{median(page):.1f} ms; {took:.1f} s, {took / counted * 1e6:.1f} us a hit",
        f"rg -n {others:.1f} s",
    )


def times(report: Report, index: Index, log: Path) -> None:
    """Ask for counts by minute, and search in five minutes."""
    request = TimelineRequest(NAME, bucket_minutes=1)
    timeline = index.timeline(request)
    taken = milliseconds(lambda: index.timeline(request))
    counts = _by_minute(log)
    starts = [bucket.start // 10**6 for bucket in timeline.buckets]
    expected = [0] * len(starts)
    for minute, count in counts.items():
        expected[bisect_right(starts, datetime.fromisoformat(f"{minute}+00:00").timestamp()) - 1] += count
    if [bucket.total for bucket in timeline.buckets] != expected:
        sys.exit("the counts of a timeline differ from a scan's")
    told = f"{timeline.total:,} records in {len(counts):,} minutes, told in {len(starts)} buckets"
    report.say(f"timeline of {told}, as counted", f"{median(taken):.1f} ms", "")
    since = list(counts)[len(counts) // 2 // 60 * 60 + 30]
    until = since[:-2] + "35"
    narrow = TimelineRequest(NAME, since=since, until=until, bucket_minutes=1)
    expected = [counts[f"{since[:-2]}{minute}"] for minute in range(30, 35)]
    found = index.timeline(narrow)
    if [bucket.total for bucket in found.buckets] != expected:
        sys.exit(f"minutes differ: {[bucket.total for bucket in found.buckets]} and {expected}")
    asked = SearchRequest("timeout", regex=False, scope=NAME, since=since, until=until, max_hits=10_000)
    reads = Reads()
    window = milliseconds(lambda: index.search(asked), 1)
    read = reads.log
    hits = [hit.line for file in index.search(asked).files for hit in file.hits]
    lines, _ = rg(log, f"^{since[:13]}:3[0-4].*timeout")
    if hits != lines:
        sys.exit(f"{len(hits)} hits in five minutes, ripgrep has {len(lines)}")
    report.say(
        f"a search in five minutes: {len(hits):,} hits, as ripgrep",
        f"{window[0]:.0f} ms",
        f"{read / 1e6:.1f} MB of the log read; five minutes hold {sum(expected) * 132 / 1e6:.1f}",
    )


def _by_minute(log: Path) -> Counter[str]:
    """Return the number of lines of each minute, in order."""
    counts: Counter[str] = Counter()
    with (
        subprocess.Popen(["cut", "-c1-16", str(log)], stdout=subprocess.PIPE) as minutes,
        subprocess.Popen(["uniq", "-c"], stdin=minutes.stdout, stdout=subprocess.PIPE, text=True) as counted,
    ):
        for line in counted.stdout or ():
            number, minute = line.split()
            counts[minute] += int(number)
    return counts


def messages(report: Report, index: Index, log: Path) -> None:
    """Ask for the recurring messages."""
    answer = index.patterns(PatternsRequest(NAME))
    taken = milliseconds(lambda: index.patterns(PatternsRequest(NAME)))
    found = sorted(one.count for one in answer.patterns)
    words = [max(re.findall(r"[a-zA-Z/_= ]+", message.split("{", 1)[0]), key=len) for message in MESSAGES]
    expected = sorted(len(rg(log, "-F", f" {text}")[0]) for text in words)
    verdict = "exact" if found == expected else f"counted {found}, expected {expected}"
    report.say(f"{len(found)} patterns of messages, {verdict}", f"{median(taken):.0f} ms", "")


def main() -> None:
    """Measure the log that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--folder", help="where to link the log and make its index")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    report = Report()
    with tempfile.TemporaryDirectory(dir=options.folder or options.log.parent) as name:
        root = Path(name) / "root"
        root.mkdir()
        log = root / "app.log"
        os.link(options.log, log)
        size, sidecar = log.stat().st_size, Path(name) / "state" / "index.db"
        sidecar.parent.mkdir()
        indexing(report, root, sidecar, size)
        with Index(root, sidecar) as index:
            started_again(report, index)
            jumps(report, index, draw)
            ids(report, index, log, draw)
            frequent(report, index, log)
            times(report, index, log)
            messages(report, index, log)
    print(machine())
    if options.write:
        command = f"python scripts/bench/large_log.py LOG (of {size / 1e9:.2f} GB)"
        print(write_result("large-log", f"`{command}`\n\n{report}"))


if __name__ == "__main__":
    main()
