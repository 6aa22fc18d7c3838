"""An incremental index equals a fresh one, whatever happened in between; an interrupted one goes on."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linedex.answers import Phase, SearchRequest
from linedex.build import text_phase
from linedex.build.contents import contents
from linedex.build.ranges import RangeRead, ReadRange
from linedex.errors import IndexBusy
from linedex.index import Index
from linedex.limits import Limits
from linedex.store.schema import VERSIONS

TINY = Limits(
    large_file=128,
    block_bytes=32,
    block_slack=8,
    batch_bytes=100,
    group_bytes=1 << 9,
    commit_bytes=200,
    workers=0,
)


NAMES = ["a.py", "b.txt", "d/c.py", "d/e/f.c", "d/.hidden", ".ignore", "bin", b"caf\xe9.txt"]
BODIES = [
    b"",
    b"def one():\n    return 1\n",
    b"x = 1\r\ny = 2\r\n",
    b"word " * 60 + b"\n" + b"line\n" * 20,
    random.Random(3).randbytes(160),
    b"d/e\n",
    "é".encode("utf-16"),
]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "write", "append", "delete", "rename"]),
        st.sampled_from(NAMES),
        st.sampled_from(BODIES),
    ),
    max_size=8,
)


def apply(root: Path, step: tuple[str, str | bytes, bytes]) -> None:
    action, name, body = step
    path = os.path.join(os.fsencode(root), os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if action == "write":
        Path(os.fsdecode(path)).write_bytes(body)
    elif action == "append":
        with open(path, "ab") as grown:
            grown.write(body)
    elif os.path.exists(path):
        os.remove(path) if action == "delete" else os.rename(path, path + b".moved")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_an_index_kept_up_to_date_equals_a_fresh_one(rounds: list[list[tuple[str, str, bytes]]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        root.mkdir()
        with Index(root, Path(name) / "kept" / "index.db", TINY) as kept:
            for steps in rounds:
                for step in steps:
                    apply(root, step)
                kept.build()
            assert kept.check() == ()
        with Index(root, Path(name) / "fresh" / "index.db", TINY) as fresh:
            fresh.build()
            assert fresh.check() == ()
        assert contents(Path(name) / "kept" / "index.db") == contents(Path(name) / "fresh" / "index.db")


def test_worker_processes_store_what_the_calling_thread_would(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for at in range(30):
        apply(root, ("write", f"d{at % 3}/{at}.py", BODIES[at % len(BODIES)] * (1 + at % 4)))
    for workers in (0, 2):
        limits = Limits(large_file=256, block_bytes=64, batch_bytes=300, workers=workers)
        with Index(root, tmp_path / str(workers) / "index.db", limits) as index:
            index.build()
    assert contents(tmp_path / "0" / "index.db") == contents(tmp_path / "2" / "index.db")


def test_a_large_file_that_cannot_be_read_leaves_those_around_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in "abc":
        (root / name).write_bytes(b"".join(b"line %d of %s\n" % (at, name.encode()) for at in range(60)))
    read = text_phase.read_range

    def shortened(job: ReadRange) -> RangeRead:
        if job.path == b"b" and job.start > 300:
            os.truncate(root / "b", 200)
        return read(job)

    monkeypatch.setattr(text_phase, "read_range", shortened)
    with Index(root, tmp_path / "index.db", limits=TINY) as index:
        index.build()
        assert not index.check()
    monkeypatch.undo()
    with (
        Index(root, tmp_path / "index.db", limits=TINY) as index,
        Index(root, tmp_path / "fresh.db", limits=TINY) as fresh,
    ):
        index.build()
        fresh.build()
    assert contents(tmp_path / "index.db") == contents(tmp_path / "fresh.db")


def test_indexed_and_skipped_are_all_that_was_seen(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for at, body in enumerate(BODIES):
        apply(root, ("write", f"{at}.py", body))
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to(root / "0.py")
    with Index(root, tmp_path / "index.db", TINY) as index:
        state = index.build()
    assert state.files == len(BODIES)
    assert state.indexed + sum(state.skipped.values()) == state.files
    assert state.pending == 0
    assert dict(state.skipped) == {"binary": 1}
    assert set(state.progress) == {Phase.CATALOGUE, Phase.TEXT, Phase.SYMBOLS}


def test_an_index_is_not_said_to_be_up_to_date_before_it_was_built(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, ("write", "a.txt", b"needle\n"))
    with Index(root, tmp_path / "index.db", TINY) as index:
        assert index.status().phase is Phase.WAITING
        index.build()
        assert index.status().phase is Phase.IDLE
    with Index(root, tmp_path / "index.db", TINY) as again:
        assert again.status().phase is Phase.IDLE
        again.start()
        assert again.wait(20)
        assert again.status().phase is Phase.IDLE


def test_an_index_of_another_version_is_rebuilt(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, ("write", "a.txt", b"needle\n"))
    sidecar = tmp_path / "index.db"
    with Index(root, sidecar, TINY) as index:
        index.build()
    for key in VERSIONS:
        with sqlite3.connect(sidecar) as db:
            db.execute("UPDATE meta SET value = 'older' WHERE key = ?", (key,))
        db.close()
        with Index(root, sidecar, TINY) as index:
            assert index.status().files == 0
            assert index.search(SearchRequest("needle")).total_hits == 1
            assert index.build().indexed == 1


@pytest.mark.parametrize("damage", ["garbage", "empty", "middle", "truncated", "folder of another root"])
def test_a_damaged_index_is_rebuilt_and_queries_go_on(tmp_path: Path, damage: str) -> None:
    root = tmp_path / "root"
    for at in range(40):
        apply(root, ("write", f"{at}.py", b"def needle():\n    pass\n" * (at + 1)))
    sidecar = tmp_path / "index.db"
    with Index(root, sidecar, TINY) as index:
        index.build()
    data = sidecar.read_bytes()
    if damage == "garbage":
        sidecar.write_bytes(random.Random(1).randbytes(len(data)))
    elif damage == "empty":
        sidecar.write_bytes(b"")
    elif damage == "middle":
        sidecar.write_bytes(data[:8192] + random.Random(2).randbytes(len(data) - 8192))
    elif damage == "truncated":
        sidecar.write_bytes(data[: len(data) // 2])
    else:
        other = tmp_path / "other"
        shutil.copytree(root, other)
        root = other
    with Index(root, sidecar, TINY) as index:
        assert index.search(SearchRequest("needle", max_hits=10_000)).total_hits == sum(range(1, 41))
        assert index.build().indexed == 40
        assert index.search(SearchRequest("needle", max_hits=10_000)).total_hits == sum(range(1, 41))
        assert index.check() == ()


def test_a_second_process_reads_the_index_and_does_not_write_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, ("write", "a.txt", b"needle\n"))
    sidecar = tmp_path / "index.db"
    with Index(root, sidecar, TINY) as writer, Index(root, sidecar, TINY) as reader:
        with pytest.raises(IndexBusy):
            reader.build()
        assert reader.search(SearchRequest("needle")).total_hits == 1
        writer.build()
        apply(root, ("write", "b.txt", b"needle\n"))
        writer.build()
        assert reader.search(SearchRequest("needle")).total_hits == 2
        assert reader.status().indexed == 2


def test_the_background_indexes_what_queries_find_changed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, ("write", "a.txt", b"needle\n"))
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.start()
        assert index.wait(30)
        apply(root, ("write", "b.txt", b"needle\n"))
        assert index.search(SearchRequest("needle")).total_hits == 2
        assert index.wait(30)
        assert index.status().files == 2


_BUILD = """
import sys
from pathlib import Path
from linedex.index import Index
from linedex.limits import Limits
if __name__ == "__main__":
    limits = Limits(large_file=2048, block_bytes=256, batch_bytes=4096, commit_bytes=8192, commit_seconds=0.01)
    with Index(Path(sys.argv[1]), Path(sys.argv[2]), limits) as index:
        index.build()
"""


@pytest.mark.skipif(not hasattr(os, "kill"), reason="needs POSIX signals")
def test_a_build_killed_at_any_moment_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    random_bodies = random.Random(5)
    root = tmp_path / "root"
    for at in range(150):
        lines = [f"def name_{random_bodies.randrange(10**6)}(): pass\n" for _ in range(random_bodies.randrange(120))]
        apply(root, ("write", f"d{at % 7}/{at}.py", "".join(lines).encode()))
    script = tmp_path / "build.py"
    script.write_text(_BUILD)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def start(sidecar: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, str(script), str(root), str(sidecar)], env=environment)

    began = time.monotonic()
    assert start(tmp_path / "fresh" / "index.db").wait(60) == 0
    whole = time.monotonic() - began
    for moment in range(4):
        process = start(tmp_path / "killed" / "index.db")
        try:
            process.wait(whole * (moment + 1) / 5)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait(30)
    assert start(tmp_path / "killed" / "index.db").wait(60) == 0
    assert contents(tmp_path / "killed" / "index.db") == contents(tmp_path / "fresh" / "index.db")


def test_a_check_finds_nothing_wrong_with_a_file_that_has_changed_since_and_kept_its_time(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("one needle\n")
    was = (root / "a.txt").stat()
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        (root / "a.txt").write_text("one pebble\n")
        os.utime(root / "a.txt", ns=(was.st_mtime_ns, was.st_mtime_ns))
        assert index.check() == ()
