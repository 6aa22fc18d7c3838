#!/usr/bin/env python3
"""Change a watched tree at random, ask straight after each change, and compare with reading all files.

Prints how long the barrier took (the look before a search), how many answers were stale, and whether the index equals
a fresh one at the end. With a folder as `--idle`, watches it for a minute with nothing happening, and prints what that
costs; nothing is written below that folder.

    scripts/bench/freshness.py --operations 5000 --write
    scripts/bench/freshness.py --operations 0 --idle /usr/src/linux-source-6.1
"""

from __future__ import annotations

import argparse
import collections
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from common import REPOSITORY, write_result

from linedex.answers import Phase, SearchRequest
from linedex.build.contents import contents
from linedex.index import Index
from linedex.limits import Limits

sys.path.insert(0, str(REPOSITORY / "tests" / "linedex" / "build"))
from tree_operations import Tree, holding

_BURST_FILES = 3_000
_OVERFLOW_FILES = 17_000
_FOLDERS = 16_500
_LIMITS = Limits(workers=0)


def found(index: Index, word: str) -> dict[bytes, list[int]]:
    """Return the files in which a search finds `word`, and in which lines."""
    request = SearchRequest(word, max_hits=1_000_000, include_hidden=True, case_sensitive=True)
    return {bytes(file.path): [hit.line for hit in file.hits] for file in index.search(request).files}


class Trial:
    """A tree under change, its index, and what was seen."""

    def __init__(self, base: Path, seed: int, files: int) -> None:
        self.tree = Tree(base, seed, files)
        self.sidecar = base / "kept" / "index.db"
        self.index = Index(self.tree.root, self.sidecar, _LIMITS)
        self.index.start()
        self.index.wait()
        self.barriers: dict[bool, list[float]] = {False: [], True: []}
        self.used: dict[bool, list[float]] = {False: [], True: []}
        self.stale: collections.Counter[str] = collections.Counter()
        self.longest: tuple[float, str] = (0.0, "")

    def ask(self, name: str, *, burst: bool) -> None:
        """Ask for what was written last, for something older, and compare with reading."""
        began, used = time.perf_counter(), time.thread_time()
        self.index.refresh()
        took = time.perf_counter() - began
        self.barriers[burst].append(took)
        self.used[burst].append(time.thread_time() - used)
        if not burst:
            self.longest = max(self.longest, (took, name))
        older = f"t{self.tree.random.randrange(1, self.tree.written + 1)}x"
        for word in (self.tree.token, older):
            answer, truth = found(self.index, word), holding(self.tree.root, word)
            if answer != truth:
                self.stale[name] += 1
                print(f"STALE after {name}: {word} is in {truth}, not in {answer}", flush=True)

    def operate(self, count: int) -> None:
        """Make `count` random changes, with a question after each."""
        operations = self.tree.operations
        names = sorted(operations)
        for at in range(count):
            name = self.tree.random.choice(names)
            operations[name]()
            self.ask(name, burst=name == "burst")
            if at % 500 == 499:
                print(f"{at + 1} operations, {sum(self.stale.values())} stale", flush=True)
            if len(self.tree.files()) < 20:
                for _ in range(100):
                    self.tree.create()

    def overflow(self) -> None:
        """Let the kernel's queue overflow, with files and with folders; and a burst that does not."""
        lock = self.index._keeper.freshness._lock
        self.tree.burst(_BURST_FILES)
        self.ask("burst of files", burst=True)
        with lock:
            self.tree.burst(_OVERFLOW_FILES)
            self.tree.create()
        self.ask("overflow by files", burst=True)
        with lock:
            top = self.tree.root / "many-folders"
            for at in range(_FOLDERS):
                (top / f"f{at}").mkdir(parents=True)
            (top / f"f{at}" / "one.txt").write_text(self.tree.text())
        self.ask("overflow by folders", burst=True)
        (top / "f7" / "two.py").write_text(self.tree.text())
        self.ask("a file in one of many folders", burst=True)
        top.rename(self.tree.elsewhere / "many-folders")
        self.ask("many folders moved out", burst=True)
        self.tree.create()
        self.ask("create", burst=True)

    def equals_fresh(self) -> bool:
        """Close the index and say whether it equals one made anew."""
        self.index.refresh()
        self.index.wait()
        self.index.close()
        fresh = self.sidecar.parent.parent / "fresh" / "index.db"
        with Index(self.tree.root, fresh, _LIMITS) as index:
            index.build()
        return contents(self.sidecar) == contents(fresh)


def share(times: list[float], part: float) -> float:
    """Return the quantile of times, in milliseconds."""
    ordered = sorted(times)
    return 1000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def written_bytes(folder: Path) -> int:
    """Return a sum that changes when anything in a folder is written."""
    return sum(hash((path.name, path.stat().st_size, path.stat().st_mtime_ns)) for path in folder.iterdir())


def idle(root: Path, seconds: float, *, symbols: bool) -> dict[str, object]:
    """Index `root`, let it be for so long, and return what that cost."""
    limits = Limits(index_symbols=symbols)
    with tempfile.TemporaryDirectory() as state, Index(root, Path(state) / "index.db", limits) as index:
        began = time.perf_counter()
        index.start()
        while not index.status().freshness.startswith("at once"):
            time.sleep(0.01)
        ready = time.perf_counter() - began
        index.wait()
        indexed = time.perf_counter() - began
        barrier = []
        for _ in range(100):
            before = time.perf_counter()
            index.refresh()
            barrier.append(time.perf_counter() - before)
        print(f"indexed in {indexed:.1f} s; idle for {seconds:.0f} s", flush=True)
        wrote, used = written_bytes(Path(state)), time.process_time()
        time.sleep(seconds)
        return {
            "watched_after_seconds": round(ready, 2),
            "indexed_after_seconds": round(indexed, 1),
            "idle_seconds": seconds,
            "share_of_a_core_percent": round(100 * (time.process_time() - used) / seconds, 3),
            "sidecar_written": written_bytes(Path(state)) != wrote,
            "resident_megabytes": resident() >> 20,
            "barrier_p50_ms": round(share(barrier, 0.5), 3),
            "barrier_p99_ms": round(share(barrier, 0.99), 3),
            "freshness": index.status().freshness,
        }


def renamed(files: int) -> dict[str, object]:
    """Rename a folder of so many files, then each of some of them, and return what that cost."""
    with tempfile.TemporaryDirectory() as base:
        root = Path(base) / "root"
        for at in range(files):
            folder = root / "before" / f"d{at // 500}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"f{at}.py").write_text(f"def number_{at}():\n    return {at}\n" * 20)
        with Index(root, Path(base) / "state" / "index.db", _LIMITS) as index:
            index.start()
            index.wait()
            text = index.status().progress[Phase.TEXT]
            took: dict[str, object] = {"files": files}
            for name, rename in (
                ("folder", lambda: (root / "before").rename(root / "after")),
                ("a_thousand_files", lambda: [path.rename(path.with_suffix(".txt")) for path in some_files(root)]),
            ):
                rename()
                began = time.perf_counter()
                index.refresh()
                seen = time.perf_counter()
                index.wait()
                took[f"{name}_barrier_ms"] = round(1000 * (seen - began), 1)
                took[f"{name}_indexed_after_ms"] = round(1000 * (time.perf_counter() - began), 1)
            took["files_read_again"] = index.status().progress[Phase.TEXT].done_files - text.done_files
            return took


def some_files(root: Path) -> list[Path]:
    """Return a thousand files below a folder."""
    return sorted(root.rglob("*.py"))[:1_000]


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=5_000)
    parser.add_argument("--files", type=int, default=800, help="files of the tree to begin with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--idle", type=Path, help="a folder to watch doing nothing")
    parser.add_argument("--renamed", type=int, default=0, help="files of a folder that is renamed")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--no-symbols", action="store_true", help="leave symbols out of the idle index")
    parser.add_argument("--write", action="store_true", help="keep the result below docs/benchmarks")
    asked = parser.parse_args()
    result: dict[str, object] = {}
    if asked.operations:
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(Path(folder), asked.seed, asked.files)
            began = time.monotonic()
            trial.operate(asked.operations)
            trial.overflow()
            result |= {
                "operations": asked.operations,
                "stale": dict(trial.stale),
                "barrier_p50_ms": round(share(trial.barriers[False], 0.5), 3),
                "barrier_p99_ms": round(share(trial.barriers[False], 0.99), 3),
                "barrier_cpu_p50_ms": round(share(trial.used[False], 0.5), 3),
                "barrier_cpu_p99_ms": round(share(trial.used[False], 0.99), 3),
                "barrier_longest": [round(1000 * trial.longest[0], 1), trial.longest[1]],
                "burst_barrier_longest_ms": round(share(trial.barriers[True], 1), 1),
                "seconds": round(time.monotonic() - began),
                "equals_fresh": trial.equals_fresh(),
            }
    if asked.renamed:
        result["renamed"] = renamed(asked.renamed)
    if asked.idle:
        result["idle"] = idle(asked.idle, asked.seconds, symbols=not asked.no_symbols)
    lines = "\n".join(f"- {name}: {value}" for name, value in result.items())
    print(lines)
    if asked.write:
        write_result("freshness", lines)
    if result.get("stale") or result.get("equals_fresh") is False:
        sys.exit(os.EX_DATAERR)


if __name__ == "__main__":
    main()
