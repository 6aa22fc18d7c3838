"""A folder of files, and what a search of it must answer: by reading every file, without anything of linedex."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from linedex.answers import Coverage, SearchRequest
from linedex.index import Index

SOON = 60.0
WORD = "needle"


def fill(root: Path, files: int = 60, *, beginning: int = 0) -> None:
    """Write numbered files with a word in every third of their lines."""
    root.mkdir(parents=True, exist_ok=True)
    for number in range(beginning, beginning + files):
        lines = (f"{WORD if at % 3 == 0 else 'hay'} {number} {at}\n" for at in range(30))
        (root / f"{number:04d}.txt").write_text("".join(lines))


def expected(root: Path) -> set[tuple[str, int]]:
    """Return file and line number of every line that holds the word."""
    return {
        (str(path.relative_to(root)), number)
        for path in root.rglob("*")
        if path.is_file()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if WORD in line
    }


def found(index: Index) -> set[tuple[str, int]]:
    """Return the same as the index answers it; the answer must be said to be complete."""
    answer = index.search(SearchRequest(WORD, max_hits=100_000))
    assert answer.coverage.verdict is Coverage.COMPLETE, answer.coverage
    return {(os.fsdecode(file.path), hit.line) for file in answer.files for hit in file.hits}


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.01)


def indexed(index: Index) -> bool:
    """Return whether all that is known is indexed, and nothing is left to say."""
    status = index.status()
    return status.files > 0 and not status.pending and status.indexed == status.files and not status.problems


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Callable[[str], None]]:
    """Put a small disk at a folder; give what mounts it anew with other options, `size=8m` say."""
    folder.mkdir(parents=True, exist_ok=True)

    def mount(options: str) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True, capture_output=True)

    try:
        mount(f"size={size}")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this user may not mount a disk: {error}")
    try:
        yield lambda options: mount(f"remount,{options}")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)


def use_up(folder: Path) -> Path:
    """Fill the disk of a folder to its last block, and return the file that does."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return filler
