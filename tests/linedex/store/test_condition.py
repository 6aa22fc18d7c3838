"""Whatever lies at a sidecar's path, opening it neither fails nor hangs nor costs anybody else's file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from linedex.store.condition import State, condition, stored_root
from linedex.store.database import Sidecar
from linedex.store.schema import VERSIONS

ROOT = "/root"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a good sidecar that nobody has open."""
    made = Sidecar(tmp_path / "index.db", ROOT)
    made.close()
    return made.path


def in_place_of(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def kept(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir() if ".kept-" in entry.name)


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = wal")
        db.execute("CREATE TABLE theirs(x)")
        db.execute("INSERT INTO theirs VALUES(42)")
    db.close()


def test_a_folder_in_its_place_is_moved_aside_with_what_is_in_it(path: Path) -> None:
    in_place_of(path, lambda path: (path.mkdir(), (path / "theirs").write_text("kept\n")))
    sidecar = Sidecar(path, ROOT)
    sidecar.close()
    assert condition(path, ROOT).state is State.GOOD
    assert kept(path) == ["index.db.kept-1"]
    assert (path.parent / "index.db.kept-1" / "theirs").read_text() == "kept\n"
    assert "kept as index.db.kept-1" in sidecar.notes[0]


@pytest.mark.parametrize("read_only", [True, False])
def test_a_fifo_in_its_place_holds_nobody_up(path: Path, *, read_only: bool) -> None:
    in_place_of(path, os.mkfifo)
    sidecar = Sidecar(path, ROOT, read_only=read_only)
    assert (sidecar.problem != "") is read_only
    assert stored_root(path) == ("" if read_only else ROOT)
    sidecar.close()


def test_a_link_that_leads_nowhere_makes_no_file_where_it_leads(path: Path, tmp_path: Path) -> None:
    in_place_of(path, lambda path: path.symlink_to(tmp_path / "elsewhere"))
    Sidecar(path, ROOT).close()
    assert not (tmp_path / "elsewhere").exists()
    assert kept(path) == ["index.db.kept-1"]


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_folder_in_the_place_of_a_side_file_is_moved_aside_and_the_index_stays(path: Path, end: str) -> None:
    (path.parent / f"{path.name}{end}").mkdir()
    inode = path.stat().st_ino
    Sidecar(path, ROOT).close()
    assert path.stat().st_ino == inode
    assert kept(path) == [f"index.db{end}.kept-1"]


def test_another_application_s_database_is_kept_with_what_it_had_not_checkpointed(path: Path) -> None:
    in_place_of(path, foreign)
    user = sqlite3.connect(path)
    user.execute("INSERT INTO theirs VALUES(43)")
    user.commit()  # in the log only, as long as somebody has it open
    assert Sidecar(path, ROOT, read_only=True).problem == "the file is not an index of linedex"
    assert kept(path) == []
    Sidecar(path, ROOT).close()
    with sqlite3.connect(path.parent / "index.db.kept-1") as theirs:
        assert theirs.execute("SELECT x FROM theirs ORDER BY x").fetchall() == [(42,), (43,)]
    theirs.close()
    user.close()


def test_what_is_moved_aside_takes_the_place_of_nothing(path: Path) -> None:
    for _ in range(3):
        in_place_of(path, lambda path: path.write_bytes(b"a letter to somebody\n" * 500))
        Sidecar(path, ROOT).close()
    assert kept(path) == ["index.db.kept-1", "index.db.kept-2", "index.db.kept-3"]


@pytest.mark.parametrize("size", [0, 1, 60, 5_000, 20_000])
def test_a_sidecar_that_was_cut_is_begun_anew_and_nothing_of_it_kept(path: Path, size: int) -> None:
    os.truncate(path, size)
    assert Sidecar(path, ROOT, read_only=True).problem
    sidecar = Sidecar(path, ROOT)
    assert sidecar.usable
    sidecar.close()
    assert condition(path, ROOT).state is State.GOOD
    assert bool(kept(path)) is (size == 60)  # too short to say whose it was


@pytest.mark.parametrize("key", VERSIONS)
@pytest.mark.parametrize("version", ["0", "999"])
def test_an_older_or_newer_version_is_left_alone_by_readers_and_replaced_by_the_writer(
    path: Path, key: str, version: str
) -> None:
    db = apsw.Connection(str(path))
    db.execute("UPDATE meta SET value = ? WHERE key = ?", (version, key))
    db.close()
    before = path.read_bytes()
    reader = Sidecar(path, ROOT, read_only=True)
    assert f"another {key} version ({version}, this program writes {VERSIONS[key]})" in reader.problem
    assert not reader.usable
    reader.close()
    assert path.read_bytes() == before
    writer = Sidecar(path, ROOT)
    assert writer.usable
    writer.close()


def test_tables_that_are_not_those_of_the_version_count_as_damage(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("ALTER TABLE files RENAME COLUMN size TO sizes")
    db.close()
    assert "its tables are not those of its version" in condition(path, ROOT).words
    sidecar = Sidecar(path, ROOT)
    with sidecar.reading() as db:
        assert db.execute("SELECT count(size) FROM files").get == 0
    sidecar.close()


def test_a_log_full_of_garbage_costs_nothing_that_was_in_the_file(path: Path) -> None:
    (path.parent / f"{path.name}-wal").write_bytes(b"\x37\x7f\x06\x82garbage" * 5_000)
    sidecar = Sidecar(path, ROOT)
    assert sidecar.usable
    assert sidecar.notes == ()
    sidecar.close()


def test_a_reader_leaves_the_file_that_was_replaced_under_it(path: Path) -> None:
    writer, reader = Sidecar(path, ROOT), Sidecar(path, ROOT, read_only=True)
    with reader.reading() as db:
        first = db.execute("SELECT value FROM meta WHERE key = 'life'").get
    writer.lose(apsw.CorruptError("as a test has it"))
    writer.make_ready()
    with reader.reading() as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'life'").get != first
    reader.close()
    writer.close()


def test_a_folder_that_is_taken_away_from_the_writer_is_made_again(path: Path) -> None:
    sidecar = Sidecar(path, ROOT)
    path.unlink()
    sidecar.path.with_suffix(".lock").unlink()
    assert not sidecar.usable
    assert sidecar.make_ready()
    assert sidecar.usable
    assert not sidecar.make_ready()
    sidecar.close()


def test_who_writes_in_a_folder_that_was_made_again_stays_the_only_writer(path: Path) -> None:
    first = Sidecar(path, ROOT)
    for entry in list(path.parent.iterdir()):
        entry.unlink()
    second = Sidecar(path, ROOT)
    assert second.writer
    with pytest.raises(Exception, match="another process"):
        first.make_ready()
    first.close()
    assert second.usable
    second.close()
