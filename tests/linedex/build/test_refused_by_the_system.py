"""What the system may refuse to an index at any time: its answers stay those of reading every file, and it recovers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.linedex.build.plain_search import expected, fill, found, indexed, mounted, until, use_up

from linedex.errors import NotWritten
from linedex.index import Index
from linedex.limits import Limits

INLINE = Limits(workers=0, index_symbols=False)


@contextmanager
def started(root: Path, sidecar: Path) -> Iterator[Index]:
    with Index(root, sidecar, INLINE) as index:
        index.start()
        yield index


def problems(index: Index) -> str:
    return " ".join(index.status().problems)


# full disk


def test_on_a_full_disk_files_are_read_and_when_there_is_space_they_are_indexed(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    fill(root)
    with mounted(state, "1m"):
        filler = use_up(state)
        with started(root, state / "index" / "index.db") as index:
            until(lambda: "the disk is full; free some space" in problems(index), "the state says so")
            assert index.wait(20), "who waits for the index is let go"
            assert found(index) == expected(root)
            filler.unlink()
            until(lambda: indexed(index), "it recovers")
            assert found(index) == expected(root)


def test_a_disk_that_fills_up_during_a_build_costs_neither_what_is_indexed_nor_an_answer(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    fill(root, 20)
    with mounted(state, "8m"), started(root, state / "index.db") as index:
        until(lambda: indexed(index), "it is indexed")
        filler = use_up(state)
        fill(root, 600, beginning=20)
        assert found(index) == expected(root)
        until(lambda: "the disk is full" in problems(index), "the state says so")
        assert index.status().indexed >= 20
        assert found(index) == expected(root)
        (root / "0003.txt").write_text("no more\n")
        assert found(index) == expected(root)
        filler.unlink()
        until(lambda: indexed(index), "it recovers")
        assert index.check() == ()
        assert found(index) == expected(root)


def test_a_command_that_builds_on_a_full_disk_says_why_and_what_to_do(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    fill(root)
    with mounted(state, "1m"):
        use_up(state)
        with Index(root, state / "index.db", INLINE) as index:
            with pytest.raises(NotWritten, match="cannot be written: the disk is full; free some space"):
                index.build()
            assert found(index) == expected(root)


LIMITED = """
import resource, signal, sys
from pathlib import Path
from linedex.errors import NotWritten
from linedex.index import Index
from linedex.limits import Limits
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
with Index(Path(sys.argv[1]), Path(sys.argv[2]), Limits(workers=0, index_symbols=False)) as index:
    try:
        index.build()
    except NotWritten as refusal:
        print(refusal)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    index.build()
    print(index.status().indexed, *index.check())
"""


@pytest.mark.parametrize("size", [5_000, 150_000])
def test_a_write_that_the_system_cuts_short_is_refused_and_made_whole_later(tmp_path: Path, size: int) -> None:
    fill(tmp_path / "root", 200)
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "root"), str(tmp_path / "index.db"), str(size)]
    refused, account = subprocess.check_output(command, text=True).splitlines()
    assert refused.startswith("The index cannot be written: ")
    assert account == "200"


# the state folder


def test_a_state_folder_that_is_removed_is_made_again_and_no_answer_is_wrong_meanwhile(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    fill(root)
    with started(root, state / "index.db") as index:
        until(lambda: indexed(index), "it is indexed")
        shutil.rmtree(state)
        assert found(index) == expected(root)
        (root / "0001.txt").write_text("needle\n")
        assert found(index) == expected(root)
        until(lambda: (state / "index.db").exists() and indexed(index), "it recovers")
        assert found(index) == expected(root)
        assert index.check() == ()


def test_of_two_that_share_a_removed_state_folder_one_writes_and_both_answer(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    fill(root)
    with started(root, state / "index.db") as first:
        until(lambda: indexed(first), "it is indexed")
        shutil.rmtree(state)
        with started(root, state / "index.db") as second:
            (root / "0001.txt").write_text("needle\n")
            for index in (first, second):
                assert found(index) == expected(root)
            until(lambda: indexed(second), "the second writes")
            fill(root, 10, beginning=100)
            until(lambda: "another process began to write it" in problems(first), "the first says why it does not")
            for index in (first, second):
                assert found(index) == expected(root)
        until(lambda: found(first) == expected(root) and indexed(first), "the first takes over")


def test_in_a_read_only_state_folder_files_are_read_and_the_state_says_why(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    fill(root)
    with mounted(state, "4m") as remount:
        with Index(root, state / "index.db", INLINE) as index:
            index.build()
        remount("ro")
        with started(root, state / "index.db") as index:
            assert found(index) == expected(root)
            assert "make the state folder writable, or name another with LINEDEX_STATE_DIR" in problems(index)
            with pytest.raises(NotWritten, match="make the state folder writable"):
                index.build()
            remount("rw")
            until(lambda: found(index) == expected(root) and indexed(index), "it recovers")
