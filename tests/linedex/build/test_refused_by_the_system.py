"""What the system may refuse to an index at any time: its answers stay those of reading every file, and it recovers."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex.build.plain_search import expected, fill, found, indexed, mounted, until, use_up

from linedex.errors import NotWritten
from linedex.index import Index
from linedex.limits import Limits
from linedex.store.signatures import seal, unsealed

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


# the disk: flushes that fail, reads that end early, bytes that are others

FAILING = """
import sys
from pathlib import Path
import apsw

class File(apsw.VFSFile):
    def xSync(self, flags):
        if "sync" in failing:
            error = apsw.IOError("a flush that fails")
            error.extendedresult = apsw.SQLITE_IOERR_FSYNC
            raise error
        return super().xSync(flags)
    def xRead(self, amount, offset):
        read = super().xRead(amount, offset)
        return read[: len(read) // 2] if "read" in failing and amount == 8192 else read

class Disk(apsw.VFS):
    def __init__(self):
        super().__init__("failing", base=plain, makedefault=True)
    def xOpen(self, name, flags):
        return File(plain, name, flags)

failing = set()
plain = apsw.vfs_names()[0]
disk = Disk()
from linedex.errors import NotWritten
from linedex.index import Index
from linedex.limits import Limits
sys.path.insert(0, sys.argv[3])
from tests.linedex.build.plain_search import expected, fill, found
root = Path(sys.argv[1])
with Index(root, Path(sys.argv[2]), Limits(workers=0, index_symbols=False)) as index:
    index.build()
    for fault in ("sync", "read"):
        fill(root, 40, beginning=100 if fault == "sync" else 200)
        failing.add(fault)
        try:
            index.build()
            print("built")
        except NotWritten as refusal:
            print(refusal)
        assert found(index) == expected(root)
        failing.clear()
        assert found(index) == expected(root)
        index.build()
        assert index.check() == (), index.check()
        assert found(index) == expected(root)
"""


def test_flushes_that_fail_and_reads_that_end_early_cost_no_answer(tmp_path: Path) -> None:
    fill(tmp_path / "root", 60)
    top = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", FAILING, str(tmp_path / "root"), str(tmp_path / "index.db"), top]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("The index cannot be written: ")


def test_random_damage_of_a_sidecar_ends_nothing_and_answers_are_right_where_check_finds_none(tmp_path: Path) -> None:
    root, sidecar = tmp_path / "root", tmp_path / "state" / "index.db"
    fill(root, 40)
    with Index(root, sidecar, INLINE) as index:
        index.build()
    whole = sidecar.read_bytes()
    for seed in range(25):
        drawn = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(drawn.choice([20, 400, 4_000])):
            damaged[drawn.randrange(len(damaged))] = drawn.randrange(256)
        shutil.rmtree(sidecar.parent)
        sidecar.parent.mkdir()
        sidecar.write_bytes(damaged)
        for read_only in (True, False):
            with Index(root, sidecar, INLINE, read_only=read_only) as index:
                index.status()
                wrong = index.check()
                if not wrong:
                    assert found(index) == expected(root)
                if not read_only:
                    index.build()


@pytest.mark.parametrize(
    ("table", "column"), [("group_rows", "bits"), ("delta", "signature"), ("file_groups", "files")]
)
def test_bits_that_a_stored_signature_lost_hide_no_hit(tmp_path: Path, table: str, column: str) -> None:
    root, sidecar = tmp_path / "root", tmp_path / "index.db"
    limits = replace(INLINE, group_columns=16)
    fill(root, 100)
    with Index(root, sidecar, limits) as index:
        index.build()
        for number in range(3):  # what comes later than the groups stands in `delta`
            (root / f"later{number}.txt").write_text("needle\n" * (number + 1), encoding="utf-8")
        index.build()
    db = apsw.Connection(str(sidecar))
    rows = list(db.execute(f"SELECT rowid, {column} FROM {table}"))
    assert rows
    lost = [(bytes(byte & 0xEE for byte in blob[:-4]) + blob[-4:], row) for row, blob in rows]
    assert any(bytes(blob) != stored for (blob, _), (_, stored) in zip(lost, rows, strict=True))
    db.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", lost)
    db.close()
    with Index(root, sidecar, limits, read_only=True) as index:
        assert found(index) == expected(root)
    with Index(root, sidecar, limits) as index:
        assert found(index) == expected(root)
        index.build()
        assert index.check() == ()
        assert found(index) == expected(root)


@given(st.binary(max_size=40), st.integers(0, 1 << 62), st.integers(0, 350))
def test_a_sealed_blob_is_told_from_any_with_another_bit_or_key(blob: bytes, key: int, bit: int) -> None:
    stored = seal(blob, key)
    assert unsealed(stored, key) == blob
    damaged = bytearray(stored)
    damaged[bit // 8 % len(stored)] ^= 1 << bit % 8
    for changed, asked in ((bytes(damaged), key), (stored, key ^ 1), (stored[:-1], key), (b"", key), (None, key)):
        with pytest.raises(apsw.CorruptError):
            unsealed(changed, asked)


@pytest.mark.parametrize("large_file", [100, 1 << 20], ids=["of blocks", "of files"])
@pytest.mark.parametrize("loss", ["DELETE FROM group_rows", "UPDATE group_rows SET bits = substr(bits, 1, 1)"])
def test_signatures_that_are_missing_are_known_as_damage(tmp_path: Path, loss: str, large_file: int) -> None:
    root, sidecar = tmp_path / "root", tmp_path / "index.db"
    fill(root)
    limits = replace(INLINE, large_file=large_file, group_columns=16)
    with Index(root, sidecar, limits) as index:
        index.build()
    with apsw.Connection(str(sidecar)) as db:
        db.execute(loss)
        assert db.changes()
    db.close()
    with Index(root, sidecar, limits) as index:
        assert found(index) == expected(root)
        assert "the index is damaged" in problems(index)
        index.build()
    with Index(root, sidecar, limits) as index:
        assert (index.check(), problems(index)) == ((), "")
        assert found(index) == expected(root)


# other processes, and what a process may have of the system

WRITER = """
import sys
from pathlib import Path
from linedex.index import Index
from linedex.limits import Limits
index = Index(Path(sys.argv[1]), Path(sys.argv[2]), Limits(workers=0, index_symbols=False))
with index._keeper._sidecar.transaction() as db:
    db.execute("UPDATE files SET state = state")
    print("within", flush=True)
    sys.stdin.read()
"""


def test_beside_a_process_that_was_stopped_while_it_wrote_others_answer_and_take_over_when_it_ends(
    tmp_path: Path,
) -> None:
    root, sidecar = tmp_path / "root", tmp_path / "index.db"
    fill(root)
    with Index(root, sidecar, INLINE) as index:
        index.build()
    command = [sys.executable, "-c", WRITER, str(root), str(sidecar)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"within\n"
        writer.send_signal(signal.SIGSTOP)
        with Index(root, sidecar, INLINE) as index:
            index.start()
            assert found(index) == expected(root)
            (root / "0001.txt").write_text("needle\n")
            assert found(index) == expected(root)
            writer.kill()
            writer.wait()
            until(lambda: found(index) == expected(root) and indexed(index), "it takes over")


STARVED = """
import os, resource, sys
from pathlib import Path
from linedex.errors import LinedexError
from linedex.index import Index
from linedex.later import load_all
from linedex.limits import Limits
sys.path.insert(0, sys.argv[3])
from tests.linedex.build.plain_search import expected, fill, found, indexed, until
load_all()  # as a daemon does, which is what may run out of descriptors
root = Path(sys.argv[1])
with Index(root, Path(sys.argv[2]), Limits(workers=0, index_symbols=False)) as index:
    index.build()
    (root / "0001.txt").write_text("needle\\n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 4096))
    try:
        index.read(b"0001.txt")
    except LinedexError as refusal:
        print(refusal, refusal.hint)
    try:
        found(index)
    except AssertionError as incomplete:
        print("partial" in str(incomplete))
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    assert found(index) == expected(root)
    index.start()
    until(lambda: indexed(index), "it is indexed")
    assert found(index) == expected(root)
"""


def test_without_descriptors_no_answer_claims_to_be_whole(tmp_path: Path) -> None:
    fill(tmp_path / "root", 20)
    top = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", STARVED, str(tmp_path / "root"), str(tmp_path / "index.db"), top]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    refusal, partial = ran.stdout.splitlines()
    assert "Too many open files" in refusal
    assert "raise the limit of open files" in refusal
    assert partial == "True"
