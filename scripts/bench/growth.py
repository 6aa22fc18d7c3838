"""Measure what the growth of a large log and an edit in its middle cost: bytes read, misses, times, memory.

    python scripts/bench/growth.py [SIZE_MB | --log FILE] [--appends N] [--folder DIR]

Everything is done by one started index of one folder that holds one log. Bytes are told twice: those of the log, which
are counted where it is read, and all that the system counts for this process (`rchar` of /proc/self/io), the sidecar
included. What the index reads behind a query, to catch up, is in both.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from logs import LogMaker, write_log

from linedex.answers import SearchRequest
from linedex.files import fingerprint
from linedex.index import Index
from linedex.model import Fingerprint, RelPath

NAME = RelPath(b"app.log")


class Reads:
    """Counts what this process reads."""

    def __init__(self) -> None:
        self._pread = os.pread
        self._log = 0
        os.pread = self._counted
        self._from = (0, 0)
        self.begin()

    def _counted(self, descriptor: int, size: int, offset: int, /) -> bytes:
        data = self._pread(descriptor, size, offset)
        self._log += len(data)
        return data

    def _now(self) -> tuple[int, int]:
        fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        return self._log, int(fields["rchar"])

    def begin(self) -> None:
        """Count from here."""
        self._from = self._now()

    @property
    def log(self) -> int:
        """Bytes of the log since `begin`."""
        return self._now()[0] - self._from[0]

    def __str__(self) -> str:
        log, everything = (now - then for now, then in zip(self._now(), self._from, strict=True))
        return f"{_mb(log)} of the log read, {_mb(everything)} in all"


class PeakMemory:
    """The largest sum of what this process and its workers held at one time, in bytes, sampled 20 times a second."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self.peak = max(self.peak, sum(map(_private, _family(os.getpid()))))

    def close(self) -> None:
        """Stop watching."""
        self._done.set()
        self._thread.join()


def _family(parent: int) -> list[int]:
    found = [parent]
    for task in Path(f"/proc/{parent}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            found += _family(int(child)) if Path(f"/proc/{child}/task").exists() else []
    return found


def _private(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


class Bench:
    """One log, one started index of it."""

    def __init__(self, root: Path, index: Index, maker: LogMaker) -> None:
        self._log = root / "app.log"
        self._index = index
        self._maker = maker
        self._misses = 0
        self._reads = Reads()

    def _append(self, size: int) -> str:
        """Append about `size` bytes; return the request id of the last line."""
        new = b"".join(self._maker.chunks(size)) or self._maker.line().encode()
        with self._log.open("ab") as log:
            log.write(new)
        return new[new.rindex(b"req=") + 4 :][:36].decode()

    def _find(self, text: str) -> tuple[float, int]:
        """Search for a text; return the seconds it took and the hits."""
        began = time.perf_counter()
        answer = self._index.search(SearchRequest(text, regex=False, scope=NAME))
        took = time.perf_counter() - began
        if not answer.total_hits:
            self._misses += 1
        return took, answer.total_hits

    def one_append(self) -> None:
        """Append 1 MB and search for its last line at once, then again when the index has caught up."""
        token = self._append(1_000_000)
        self._reads.begin()
        took, hits = self._find(token)
        print(f"append of 1 MB, next query: {hits} hit, {took * 1e3:.1f} ms; {self._reads}")
        self._index.wait(60)
        print(f"  with the index caught up: {self._reads}")
        self._reads.begin()
        took, hits = self._find(token)
        print(f"  the query again: {hits} hit, {took * 1e3:.1f} ms; {self._reads}")

    def many_appends(self, count: int) -> None:
        """Append 10 KB at a time, each followed by a query for it and one for a text of long ago."""
        self._misses = 0
        self._reads.begin()
        tokens = [self._append(10_000)]
        times, largest = [], 0
        for step in range(count):
            tokens.append(self._append(10_000))
            at = self._reads.log
            times.append(self._find(tokens[-1])[0])
            largest = max(largest, self._reads.log - at)
            if step % 10 == 0:
                self._find(tokens[step // 2])
        self._index.wait(60)
        times.sort()
        print(
            f"{count} appends of 10 KB under queries: {self._misses} misses, query median {median(times) * 1e3:.1f} ms,"
            f" p99 {times[int(len(times) * 0.99)] * 1e3:.1f} ms; {self._reads}; of the log"
            f" {_mb(self._reads.log / count)} an append, at most {_mb(largest)} in a query's time"
        )

    def edit(self) -> None:
        """Put a line into the middle of the log, tell it, search for it and jump past it."""
        size = self._log.stat().st_size
        with self._log.open("rb") as log:
            log.seek(size // 2)
            log.readline()
            place = log.tell()
            before = _mark(log.fileno())
            line = b"an entirely new sentence about walruses\n"
            new = self._log.parent.with_name("new")
            with new.open("wb") as out:
                _copy(log.fileno(), out.fileno(), 0, place)
                os.write(out.fileno(), line)
                _copy(log.fileno(), out.fileno(), place, size)
        self._reads.begin()
        began = time.perf_counter()
        with self._index.expecting(NAME):
            new.replace(self._log)
            known = self._index.edited(NAME, before, [(place, place, len(line))], timeout=30)
        told = time.perf_counter() - began
        took, hits = self._find("about walruses")
        number = self._index.search(SearchRequest("about walruses", regex=False, scope=NAME)).files[0].hits[0].line
        jumped = self._index.read(NAME, number + 10_000, 1).lines[0]
        print(
            f"a line into the middle: known {known} in {told * 1e3:.0f} ms; search {hits} hit {took * 1e3:.1f} ms,"
            f" {self._reads}, with a line-jump past it ({jumped[:23]})"
        )
        self._index.wait(60)
        print(f"  until the index is at rest: {self._reads}")


def _mark(descriptor: int) -> Fingerprint:
    return fingerprint.of(descriptor)


def _copy(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        start += os.copy_file_range(source, target, min(end - start, 1 << 30), start)


def _mb(size: float) -> str:
    return f"{size / 1e6:.2f} MB"


def main() -> None:
    """Make the log, index it, let it grow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", type=float, nargs="?", default=1000.0, help="MB of the log at first")
    parser.add_argument("--appends", type=int, default=1000)
    parser.add_argument("--log", help="a log to begin with, instead of a new one")
    parser.add_argument("--folder", help="where to make the log and its index")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        root = Path(name) / "root"
        root.mkdir()
        if options.log:
            shutil.copyfile(options.log, root / "app.log")
            maker = LogMaker(seed=8)
        else:
            maker = write_log(root / "app.log", int(options.size * 1e6))
        size = (root / "app.log").stat().st_size
        memory = PeakMemory()
        began = time.perf_counter()
        with Index(root, Path(name) / "index.db") as index:
            index.build()
        took = time.perf_counter() - began
        with Index(root, Path(name) / "index.db") as index:
            reads, began = Reads(), time.perf_counter()
            index.start()
            if not index.wait(3600):
                sys.exit("not ready within an hour")
            ready = time.perf_counter() - began
            print(
                f"{_mb(size)} indexed in {took:.1f} s, {size / took / 1e6:.0f} MB/s; peak of all processes"
                f" {memory.peak / 1e6:.0f} MB; sidecar {index.status().sidecar_bytes / size:.1%}"
            )
            print(f"started again: ready in {ready:.2f} s; {reads}")
            bench = Bench(root, index, maker)
            bench.one_append()
            bench.many_appends(options.appends)
            bench.edit()
            memory.close()
            print(f"peak of all processes in all: {memory.peak / 1e6:.0f} MB")
            if size <= 500_000_000:
                print(f"check: {index.check() or 'nothing wrong'}")


if __name__ == "__main__":
    main()
