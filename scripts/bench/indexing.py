#!/usr/bin/env python3
"""Time `linedex index` beside `cindex -reset` (Debian's codesearch), in turn, both warm; and weigh memory and sidecar.

The text phase is what the two have in common; linedex's symbols come on top and are shown by themselves. Memory is the
sum over all its processes, sampled every 200 ms: proportional set size, so that shared pages count once.

    scripts/bench/indexing.py /usr/src/linux-source-6.1 --runs 3 --write
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from common import LINEDEX, fresh_folder, median_ratio, ran, write_result


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def resident(pid: int) -> int:
    """Return the proportional set size of a process in bytes, 0 when it is gone."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Pss:"))


def index(root: Path, state: Path, *, symbols: bool) -> tuple[dict[str, object], int, float]:
    """Index `root` anew; return the status as JSON, the peak of memory in bytes, and the wall time in seconds."""
    shutil.rmtree(state, ignore_errors=True)
    environ = {**os.environ, "LINEDEX_STATE_DIR": str(state), "LINEDEX_SYMBOLS": "yes" if symbols else "no"}
    began = time.perf_counter()
    process = subprocess.Popen([LINEDEX, "index", str(root)], env=environ, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        try:
            peak = max(peak, sum(map(resident, family(process.pid))))
        except OSError:
            continue
        time.sleep(0.2)
    wall = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"linedex index failed with {process.returncode}")
    status = json.loads(ran(LINEDEX, "status", "--json", root, env=environ).stdout)
    return status, peak, wall


def cindex(root: Path, path: Path) -> float:
    """Index `root` with codesearch; return the wall time in seconds."""
    began = time.perf_counter()
    ran("cindex", "-reset", root, env={**os.environ, "CSEARCHINDEX": str(path)})
    return time.perf_counter() - began


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--no-symbols", action="store_true", help="only what cindex does too")
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    options = parser.parse_args()
    root, state = options.root.resolve(), options.state or fresh_folder()
    ran("sh", "-c", f"find {root} -type f -print0 | xargs -0 cat > /dev/null")
    has_cindex = shutil.which("cindex") is not None
    rows = ["| run | text phase, s | cindex, s | symbols, s | all, s | peak memory, MiB |", "|---|---|---|---|---|---|"]
    texts, theirs = [], []
    for run in range(options.runs):
        other = cindex(root, state.with_suffix(".csearch")) if has_cindex else float("nan")
        status, peak, wall = index(root, state, symbols=not options.no_symbols)
        phases = {name: float(phase["seconds"]) for name, phase in status["progress"].items()}
        text = phases["catalogue"] + phases["text"]
        taken_by_symbols = phases.get("symbols", 0.0)
        texts.append(text)
        theirs.append(other)
        rows.append(
            f"| {run + 1} | {text:.1f} | {other:.1f} | {taken_by_symbols:.1f} | {wall:.1f} | {peak / 2**20:.0f} |"
        )
        print(rows[-1], flush=True)
    skipped = ", ".join(f"{count} {reason}" for reason, count in status["skipped"].items()) or "none"
    text = "\n".join(
        [
            f"Tree: {root.name}. The text phase includes listing the tree.",
            "",
            *rows,
            "",
            (
                f"Text phase / cindex: median {statistics.median(texts):.1f} s / {statistics.median(theirs):.1f} s, "
                f"ratio {median_ratio(texts, theirs)}."
            ),
            f"Seen {status['files']:,} files: {status['indexed']:,} indexed, skipped: {skipped}.",
            (
                f"Signatures {status['signature_bytes'] / status['text_bytes']:.1%} of {status['text_bytes']:,} bytes "
                f"of text; sidecar {status['sidecar_bytes']:,} bytes with {status['symbols']:,} symbols."
            ),
        ]
    )
    print(text)
    if options.write:
        print(write_result("indexing", text))


if __name__ == "__main__":
    main()
