#!/usr/bin/env python3
"""A one-line edit in the middle of a large indexed log, beside `cp` and `sync -d` of it, alternated; then what follows.

scripts/bench/edit_large.py --mib 2048 --rounds 5 --write

The edits are calls of `edit_content`: guard, search through the whole file, plan, history, copy, exchange, the index
told. Memory is the most that this process held (without its parsing workers) above what it held when the log was
indexed. Behind the last edit the new text is searched for and a line behind it is read; what of the log is read for
these is counted. In the end every edit is undone by `revert_edit`, and the file has its first SHA-256 again.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
from hashlib import file_digest
from pathlib import Path

from common import median_ratio, ran, timed, write_result

from linedex_server.config import Settings
from linedex_server.tools.registry import ALL
from linedex_server.tools.tool import Session
from linedex_server.workspace import Workspace

_LINE = 130


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


class Memory:
    """What this process holds, in bytes."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
        self.before = self._kilobytes("VmRSS") << 10

    @staticmethod
    def _kilobytes(name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
        assert found is not None
        return int(found[1])

    def above(self) -> int:
        """Return the most held since, above what was held then."""
        return (self._kilobytes("VmHWM") << 10) - self.before


class LogReads:
    """Counts the bytes that are read of one file by `os.pread`, the only call that reads users' files."""

    def __init__(self, log: Path) -> None:
        self._pread, self._log, self.read = os.pread, log, 0
        os.pread = self._counted

    def _counted(self, descriptor: int, size: int, offset: int, /) -> bytes:
        data = self._pread(descriptor, size, offset)
        if os.path.samestat(os.fstat(descriptor), os.stat(self._log)):
            self.read += len(data)
        return data

    def close(self) -> None:
        """Count no more."""
        os.pread = self._pread


class Desk:
    """The tools of one session over the folder that holds the log."""

    def __init__(self, folder: Path, log: Path) -> None:
        arguments = {"allowed_roots": (str(log.parent),), "state_dir": str(folder / "state")}
        self._workspace = Workspace(Settings.load(arguments, environ={}), base=log.parent)
        self._workspace.start()
        self.wait()
        self._session = Session(self._workspace)

    def wait(self) -> None:
        """Wait until the index has nothing to do."""
        if not all(index.wait(3600) for index in self._workspace.indexes):
            raise RuntimeError("the index did not settle")

    def call(self, tool: str, **arguments: object) -> str:
        """Return the text that a tool answers."""
        return ALL[tool].call(self._session, arguments).text

    def close(self) -> None:
        """End the session."""
        self._workspace.close()


def measured(folder: Path, mebibytes: int, rounds: int) -> str:
    """Run the rounds and return what they took."""
    log = folder / "root" / "a.log"
    log.parent.mkdir()
    make_log(log, mebibytes)
    first = digest(log)
    lines = log.stat().st_size // _LINE
    desk = Desk(folder, log)
    (log.parent / "small.txt").write_text("warm\n", encoding="utf-8")
    desk.call("replace_literal", path="small.txt", old_text="warm", new_text="WARM")
    desk.wait()
    token = told(r"hash (\S+?)[;\]]", desk.call("read_content", absolute_file_path="a.log", limit=1))
    memory = Memory()

    def edit() -> None:
        nonlocal token
        number = lines // 2 + len(ours)
        answer = desk.call(
            "edit_content",
            absolute_file_path="a.log",
            changes=[{"search": f"\n{number:012} ", "replace": f"\nabout {number} walruses "}],
            preview=False,
            base_hash=token,
        )
        token = told(r"hash (\S+?)[,\]]", answer)

    def copy() -> None:
        ran("cp", log, folder / "copy")
        ran("sync", "-d", folder / "copy")

    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        theirs.append(timed(copy))
        (folder / "copy").unlink()
        ran("sync", "-f", folder)
        ours.append(timed(edit))
        ran("sync", "-f", folder)
    above = memory.above()
    reads = LogReads(log)
    number = lines // 2 + rounds - 1
    found = desk.call("search_directory", absolute_dir_path=".", pattern=f"about {number} walruses", context_lines=0)
    searched, reads.read = reads.read, 0
    jumped = desk.call("read_content", absolute_file_path="a.log", offset=lines - 99, limit=1)
    jump = reads.read
    reads.close()
    right = f"{number + 1}:about {number} walruses" in found and f"{lines - 99}\t{lines - 100:012} " in jumped
    for _ in range(rounds):
        desk.call("revert_edit", absolute_file_path="a.log")
    desk.close()
    same = digest(log) == first
    load = os.getloadavg()[0]
    return (
        f"One line in the middle of {mebibytes} MiB, {rounds} rounds alternated, load {load:.1f}: edit "
        f"{statistics.median(ours):.2f} s ({min(ours):.2f}-{max(ours):.2f}), cp + sync -d "
        f"{statistics.median(theirs):.2f} s ({min(theirs):.2f}-{max(theirs):.2f}), ratio {median_ratio(ours, theirs)}. "
        f"Memory above idle: {above / (1 << 20):.1f} MiB. Then a search for the new text read "
        f"{searched / 1e6:.2f} MB of the log and a line-jump behind it {jump / 1e6:.2f} MB, both "
        f"{'right' if right else 'WRONG'}. All edits undone: {'the same' if same else 'OTHER'} SHA-256."
    )


def told(pattern: str, answer: str) -> str:
    """Return what an answer says at the group of a pattern."""
    found = re.search(pattern, answer)
    if found is None:
        raise ValueError(f"no {pattern} in {answer[-300:]!r}")
    return found[1]


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


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


if __name__ == "__main__":
    main()
