"""Readings of a sidecar: each of one moment, over few connections that hold no memory while nobody reads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from linedex.store.database import Sidecar


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[Sidecar]:
    made = Sidecar(tmp_path / "index.db", "/root")
    yield made
    made.close()


def phases(db: apsw.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM phases").get)


def add_phase(sidecar: Sidecar, name: str) -> None:
    with sidecar.transaction() as db:
        db.execute("INSERT INTO phases VALUES(?, 1, 0)", (name,))


def descriptors(path: Path) -> int:
    """Return how often this process has a file open."""
    opened = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return opened.count(path)


def test_a_reading_sees_one_moment_and_the_next_one_a_later(sidecar: Sidecar) -> None:
    with sidecar.reading() as db:
        assert phases(db) == 0
        add_phase(sidecar, "text")
        assert phases(db) == 0
        with sidecar.reading() as inner:
            assert inner is db
            assert phases(inner) == 0
    with sidecar.reading() as db:
        assert phases(db) == 1


def test_readings_of_two_threads_do_not_share_a_moment(sidecar: Sidecar) -> None:
    seen: list[int] = []

    def read() -> None:
        with sidecar.reading() as db:
            seen.append(phases(db))

    with sidecar.reading() as db:
        assert phases(db) == 0
        add_phase(sidecar, "text")
        other = threading.Thread(target=read)
        other.start()
        other.join()
    assert seen == [1]


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_threads_that_have_read_leave_their_connections_to_others(sidecar: Sidecar) -> None:
    def read(together: threading.Barrier) -> None:
        with sidecar.reading() as db:
            phases(db)
            together.wait(20)

    opened = []
    for _ in range(3):
        together = threading.Barrier(20)
        readers = [threading.Thread(target=read, args=(together,)) for _ in range(20)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        opened.append(descriptors(sidecar.path))
    # SQLite keeps the descriptors of closed connections for the next ones
    assert len(set(opened)) == 1


def test_a_reading_that_fails_leaves_its_connection_usable(sidecar: Sidecar) -> None:
    for _ in range(10):
        with pytest.raises(apsw.SQLError), sidecar.reading() as db:
            db.execute("SELECT nothing FROM nowhere")
    with sidecar.reading() as db:
        assert phases(db) == 0


def test_a_reading_may_end_after_the_index_was_begun_anew(sidecar: Sidecar) -> None:
    add_phase(sidecar, "text")
    with sidecar.reading() as db:
        assert phases(db) == 1
        sidecar.lose(apsw.CorruptError("as a test has it"))
        assert sidecar.make_ready()
    with sidecar.reading() as db:
        assert phases(db) == 0


def test_shrinking_says_whether_anybody_has_read_since(sidecar: Sidecar) -> None:
    sidecar.shrink()
    assert not sidecar.shrink()
    with sidecar.reading() as db:
        phases(db)
        assert sidecar.shrink()
        assert phases(db) == 0
    assert not sidecar.shrink()


def test_a_reading_that_goes_on_while_the_sidecar_is_begun_anew_ends_in_peace(sidecar: Sidecar) -> None:
    # endure.py, seed 7014: the thread that builds ended by `Connection is busy in another thread`
    begun, go_on = threading.Event(), threading.Event()
    found: list[object] = []

    def hold() -> int:
        begun.set()
        assert go_on.wait(30)
        return 7

    def read() -> None:
        with sidecar.reading() as db:
            db.create_scalar_function("hold", hold)
            found.append(db.execute("SELECT hold()").get)
            found.append(db)

    reader = threading.Thread(target=read)
    reader.start()
    assert begun.wait(30)
    sidecar.path.unlink()
    assert sidecar.make_ready()
    go_on.set()
    reader.join(30)
    assert found[0] == 7
    closed = found[1]
    assert isinstance(closed, apsw.Connection)
    with pytest.raises(apsw.ConnectionClosedError):
        closed.execute("SELECT 1")
    with sidecar.reading() as db:
        assert phases(db) == 0
