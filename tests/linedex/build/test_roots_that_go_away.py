"""A watched folder that is renamed, removed, made again or unmounted, and odd times: answers are of what is there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.linedex.build.plain_search import expected, fill, found, indexed, mounted, until

from linedex.answers import Coverage, SearchRequest
from linedex.errors import LinedexError, NotFound
from linedex.index import Index
from linedex.limits import Limits

INLINE = Limits(workers=0, index_symbols=False)


@contextmanager
def started(root: Path, state: Path) -> Iterator[Index]:
    with Index(root, state / "index.db", INLINE) as index:
        index.start()
        until(lambda: indexed(index), "it is indexed")
        yield index


def refuses(index: Index, why: str) -> None:
    """Every question is refused with a reason, and the state says what is the matter."""
    with pytest.raises(NotFound, match=why):
        found(index)
    with pytest.raises(LinedexError):
        index.read(b"0001.txt")
    with pytest.raises(NotFound, match=why):
        index.find_files("0001")
    assert "The folder is not there now" in " ".join(index.status().problems)


def recovers(index: Index, root: Path) -> None:
    assert found(index) == expected(root)
    until(lambda: indexed(index), "it is indexed again")
    assert found(index) == expected(root)
    (root / "later.txt").write_text("needle\n")
    assert found(index) == expected(root)
    assert index.check() == ()


@pytest.mark.parametrize("files", [3, 60])
def test_a_root_that_was_renamed_is_missed_and_one_made_in_its_place_is_answered(tmp_path: Path, files: int) -> None:
    root = tmp_path / "root"
    fill(root, 20)
    with started(root, tmp_path / "state") as index:
        root.rename(tmp_path / "other")
        refuses(index, "is not there any more")
        fill(root, files)
        recovers(index, root)
        shutil.rmtree(root)
        (tmp_path / "other").rename(root)
        recovers(index, root)


def test_a_root_that_became_a_file_is_refused_and_a_folder_again_is_answered(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fill(root, 20)
    with started(root, tmp_path / "state") as index:
        shutil.rmtree(root)
        root.write_text("needle\n")
        refuses(index, "is no folder any more")
        assert index.wait(60)
        root.unlink()
        fill(root, 30)
        recovers(index, root)


def test_what_is_mounted_and_unmounted_at_a_root_is_answered_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fill(root, 5)
    with started(root, tmp_path / "state") as index:
        with mounted(root, "8m"):
            fill(root, 30, beginning=100)
            recovers(index, root)
        assert len(list(root.iterdir())) == 5
        recovers(index, root)


def set_time(path: Path, time_ns: int) -> None:
    seconds = time_ns // 10**9
    # the form in nanoseconds takes no later year than 2262
    os.utime(path, (seconds, seconds)) if time_ns >= 2**63 else os.utime(path, ns=(time_ns, time_ns))


def test_times_before_the_epoch_and_in_the_future_hide_no_change(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fill(root, 12)
    # the last but one: file systems keep years that nanoseconds in 64 bits do not, `touch -d 2400-01-01` is one
    times = [-(2**31) * 10**9, -1_000_000_007, -1, 0, 2**32 * 10**9, 2**62, 13_569_465_600 * 10**9, 2**63 - 1]
    for number, time in enumerate(times):
        set_time(root / f"{number:04d}.txt", time)
    os.utime(root, ns=(-5 * 10**9, -5 * 10**9))
    with Index(root, tmp_path / "scanned.db", INLINE) as index:
        index.build()
        assert found(index) == expected(root)
    with started(root, tmp_path / "state") as index:
        assert found(index) == expected(root)
        for number, time in enumerate(times):
            path = root / f"{number:04d}.txt"
            text = path.read_text().replace("needle", "eedlen", 1)
            path.write_text(text)
            set_time(path, time)
            assert found(index) == expected(root)
        recovers(index, root)


def test_a_clock_that_was_set_back_after_indexing_hides_no_change(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fill(root, 12)
    with Index(root, tmp_path / "index.db", INLINE) as index:
        index.build()
        for number in range(12):
            path = root / f"{number:04d}.txt"
            was = path.stat().st_mtime_ns
            path.write_text(path.read_text().replace("needle", "eedlen", 1))
            os.utime(path, ns=(was, was - number * 3_600 * 10**9))
            assert found(index) == expected(root)
        index.build()
        assert found(index) == expected(root)


def test_folders_200_deep_and_names_of_255_bytes_are_indexed_watched_and_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    deep = root.joinpath(*["s"] * 200)
    deep.mkdir(parents=True)
    (deep / "deep.txt").write_text("needle\n")
    (root / ("é" * 127 + "x")).write_text("needle\n")
    with started(root, tmp_path / "state") as index:
        (deep / "later.txt").write_text("hay\nneedle\n")
        recovers(index, root)
        assert index.read(os.fsencode(deep.relative_to(root) / "deep.txt")).lines == ("needle",)


def test_a_file_whose_path_is_longer_than_a_call_may_name_is_said_to_be_left_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    folder = os.open(root, os.O_RDONLY)
    parts = [f"{'n' * 240}{number}" for number in range(30)]
    for part in parts:
        os.mkdir(part, dir_fd=folder)
        inner = os.open(part, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    with os.fdopen(os.open("far.txt", os.O_WRONLY | os.O_CREAT, dir_fd=folder), "w") as file:
        file.write("needle\n")
    os.close(folder)
    path = "/".join([*parts, "far.txt"])
    assert len(path) > 4_096
    try:
        with Index(root, tmp_path / "index.db", INLINE) as index:
            index.build()
            coverage = index.search(SearchRequest("needle")).coverage
            assert coverage.verdict is Coverage.PARTIAL
            assert len(coverage.notes) == 1
            assert coverage.notes[0].endswith(": unreadable")
            with pytest.raises(LinedexError):
                index.read(os.fsencode(path))
    finally:
        subprocess.run(["rm", "-rf", str(root)], check=True)
