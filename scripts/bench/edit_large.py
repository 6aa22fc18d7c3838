#!/usr/bin/env python3
"""Time and memory of a one-line edit in the middle of a large log, beside `cp` and `sync -d` of it, alternated.

scripts/bench/edit_large.py --mib 2048 --rounds 5 --write

The edit is a whole commit: guard by token, plan, history, temporary file, exchange, and the answer's new token. Memory
is that of the process above what it had before the first edit. In the end every edit is undone by its reverse splice,
and the file has its first SHA-256 again.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import statistics
from hashlib import file_digest
from pathlib import Path

from common import median_ratio, ran, timed, write_result

from linedex.files.roots import Roots
from linedex_server.edit.history.history import History
from linedex_server.edit.put.commit import Committer
from linedex_server.edit.put.plans import Plan, Target
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.splice import Splice

_LINE = 130
_EDGE = 4096


def make_log(path: Path, mebibytes: int) -> None:
    """Write lines of 130 bytes that begin with their number."""
    filling = random.Random(7).randbytes(1 << 20).hex().encode()
    with path.open("wb") as log:
        for begin in range(0, (mebibytes << 20) // _LINE, 8192):
            rows = []
            for number in range(begin, begin + 8192):
                at = number * 61 % (len(filling) - _LINE)
                rows.append(b"%012d " % number + filling[at : at + _LINE - 14] + b"\n")
            log.write(b"".join(rows))
        log.flush()
        os.fsync(log.fileno())


def peak() -> int:
    """Return the most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    """Read the options, edit and copy in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the log is made (default: a temporary folder)")
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    options = parser.parse_args()
    folder = (options.folder or Path(os.environ.get("TMPDIR", "/tmp"))) / f"linedex-edit-large-{os.getpid()}"
    folder.mkdir()
    try:
        text = measured(folder, options.mib, options.rounds)
    finally:
        shutil.rmtree(folder)
    print(text)
    if options.write:
        print(write_result("edit-large", text))


def measured(folder: Path, mebibytes: int, rounds: int) -> str:
    """Run the rounds and return what they took."""
    log = folder / "a.log"
    make_log(log, mebibytes)
    first = digest(log)
    committer = Committer(History(folder / "history.db"))
    place = Roots([folder]).resolve(str(log))
    made: list[tuple[Splice, bytes]] = []

    def plan(snapshot: Snapshot | None) -> Plan:
        assert snapshot is not None
        snapshot.demand(token, "a.log")
        around = snapshot.read(snapshot.size // 2, _EDGE)
        start = snapshot.size // 2 + around.index(b"\n") + 1
        end = start + around[around.index(b"\n") + 1 :].index(b"\n")
        splice = Splice(start, end, b"edited line, round %d" % len(made))
        made.append((splice, snapshot.read(start, end - start)))
        return Plan((splice,))

    def edit() -> None:
        nonlocal token
        (done,) = committer.commit([Target(place, "a.log", plan)], tool="bench")
        token = done.hash

    def copy() -> None:
        ran("cp", log, folder / "copy")
        ran("sync", "-d", folder / "copy")

    with Snapshot(place) as snapshot:
        token = snapshot.token()
    small = folder / "small.txt"
    small.write_bytes(b"warm\n")
    warm = Target(Roots([folder]).resolve(str(small)), "small.txt", lambda _: Plan((Splice(0, 4, b"WARM!"),)))
    committer.commit([warm], tool="bench")
    idle = peak()
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(timed(copy))
        (folder / "copy").unlink()
        ran("sync", "-f", folder)
        ours.append(timed(edit))
        ran("sync", "-f", folder)
    above = peak() - idle
    for splice, former in reversed(made):
        undoing = Splice(splice.start, splice.start + len(splice.new), former)
        committer.commit([Target(place, "a.log", lambda _, undoing=undoing: Plan((undoing,)))], tool="bench")
    same = digest(log) == first
    load = os.getloadavg()[0]
    return (
        f"One line in the middle of {mebibytes} MiB, {rounds} rounds alternated, load {load:.1f}: edit "
        f"{statistics.median(ours):.2f} s ({min(ours):.2f}-{max(ours):.2f}), cp + sync -d "
        f"{statistics.median(theirs):.2f} s ({min(theirs):.2f}-{max(theirs):.2f}), ratio {median_ratio(ours, theirs)}. "
        f"Memory above idle: {above / (1 << 20):.1f} MiB. All edits undone: {'the same' if same else 'OTHER'} SHA-256."
    )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
