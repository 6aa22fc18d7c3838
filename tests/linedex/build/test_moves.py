"""A rename moves rows: nothing is read again that did not change, and the index is what a fresh one would be."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linedex.answers import Phase, SearchRequest
from linedex.build.contents import contents
from linedex.index import Index
from linedex.limits import Limits

LIMITS = Limits(workers=0, large_file=4_000, block_bytes=512, block_slack=64)
SOON = 20.0
OLD = time.time_ns() - 3_600_000_000_000


class Project:
    """A folder, its index, and what the sidecar says of it."""

    def __init__(self, base: Path) -> None:
        self.root = base / "root"
        self.root.mkdir()
        self._base = base
        self._sidecar = base / "state" / "index.db"

    def write(self, path: str, text: str) -> Path:
        """Write a file whose times are long past."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, ns=(OLD, OLD))
        return file

    def settle(self) -> None:
        """Index everything, so that no file is younger than its row."""
        with Index(self.root, self._sidecar, LIMITS) as index:
            index.build()

    def read_by_a_build(self) -> int:
        """Bring the index up to date, as a process that has just come up; return how many files it read whole."""
        with Index(self.root, self._sidecar, LIMITS) as index:
            return index.build().progress[Phase.TEXT].done_files

    def query(self, sql: str) -> list[tuple[object, ...]]:
        db = apsw.Connection(str(self._sidecar), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return list(db.execute(sql))
        finally:
            db.close()

    def ids(self) -> dict[str, int]:
        """Return the id of each file by its name; names are told apart in these tests."""
        return {os.fsdecode(name): file for name, file in self.query("SELECT name, id FROM files")}  # type: ignore[misc, arg-type]

    def folder_ids(self) -> dict[str, int]:
        return {os.fsdecode(name): file for name, file in self.query("SELECT name, id FROM folders")}  # type: ignore[misc, arg-type]

    def check_against_fresh(self) -> None:
        fresh = self._base / "fresh" / "index.db"
        with Index(self.root, self._sidecar, LIMITS) as index:
            assert index.check() == ()
        with Index(self.root, fresh, LIMITS) as index:
            index.build()
        assert contents(self._sidecar) == contents(fresh)

    def started(self) -> Index:
        index = Index(self.root, self._sidecar, LIMITS)
        index.start()
        assert index.wait(SOON)
        return index


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_renamed_file_keeps_its_row_and_is_not_read(project: Project) -> None:
    project.write("one.txt", "word\n" * 900)
    project.write("two.txt", "other\n")
    project.settle()
    before = project.ids()
    (project.root / "one.txt").rename(project.root / "three.txt")
    assert project.read_by_a_build() == 0
    assert project.ids() == {"three.txt": before["one.txt"], "two.txt": before["two.txt"]}
    project.check_against_fresh()


def test_a_file_moved_to_a_new_folder_keeps_its_row(project: Project) -> None:
    project.write("one.txt", "word\n")
    project.settle()
    before = project.ids()
    (project.root / "deep" / "er").mkdir(parents=True)
    (project.root / "one.txt").rename(project.root / "deep" / "er" / "one.txt")
    assert project.read_by_a_build() == 0
    assert project.ids() == before
    project.check_against_fresh()


def test_a_renamed_folder_is_one_row(project: Project) -> None:
    for at in range(30):
        project.write(f"outer/inner/deep{at % 3}/{at}.py", f"def one{at}(): pass\n")
    project.settle()
    files = project.query("SELECT * FROM files ORDER BY id")
    folders = project.query("SELECT id, parent, name FROM folders ORDER BY id")
    (project.root / "outer").rename(project.root / "after")
    assert project.read_by_a_build() == 0
    assert project.query("SELECT * FROM files ORDER BY id") == files
    now = project.query("SELECT id, parent, name FROM folders ORDER BY id")
    assert [row for row in now if row not in folders] == [(project.folder_ids()["after"], 1, b"after")]
    assert len(now) == len(folders)
    project.check_against_fresh()


def test_a_folder_moved_into_one_that_is_new_is_found_by_the_next_process(project: Project) -> None:
    project.write("inner/one.txt", "word\n")
    project.settle()
    (project.root / "late").mkdir()
    (project.root / "inner").rename(project.root / "late" / "inner")
    assert project.read_by_a_build() == 0
    with project.started() as index:
        assert [file.path for file in index.search(SearchRequest("word")).files] == [b"late/inner/one.txt"]
    project.check_against_fresh()


def test_a_log_that_is_rotated_keeps_its_row_and_the_new_one_is_read(project: Project) -> None:
    for at, name in enumerate(("app.log", "app.log.1", "app.log.2")):
        project.write(name, f"generation {at}\n" * 500)
    project.settle()
    before = project.ids()
    (project.root / "app.log.1").rename(project.root / "app.log.2")
    (project.root / "app.log").rename(project.root / "app.log.1")
    project.write("app.log", "begun anew\n")
    assert project.read_by_a_build() == 1
    after = project.ids()
    assert (after["app.log.1"], after["app.log.2"]) == (before["app.log"], before["app.log.1"])
    project.check_against_fresh()


def test_a_rotated_log_that_grew_keeps_its_row(project: Project) -> None:
    project.write("app.log", "first\n" * 1_000)
    project.settle()
    before = project.ids()
    (project.root / "app.log").rename(project.root / "app.log.1")
    with (project.root / "app.log.1").open("a") as late:
        late.write("last\n")
    project.write("app.log", "begun anew\n")
    project.read_by_a_build()
    assert project.ids()["app.log.1"] == before["app.log"]
    project.check_against_fresh()


def exchange(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def test_files_and_folders_that_change_places_keep_their_rows(project: Project) -> None:
    project.write("a/one.txt", "word one\n")
    project.write("b/one.txt", "word other\n")
    project.write("c.txt", "word c\n")
    project.write("d.txt", "word d\n")
    project.settle()
    exchange(project.root / "a", project.root / "b")
    exchange(project.root / "c.txt", project.root / "d.txt")
    assert project.read_by_a_build() == 0
    project.check_against_fresh()


def test_folders_that_change_places_with_what_is_in_them_are_stored(project: Project) -> None:
    project.write("a/b/one.txt", "word\n")
    project.settle()
    (project.root / "a" / "b").rename(project.root / "aside")
    (project.root / "a").rename(project.root / "aside" / "a")
    (project.root / "aside").rename(project.root / "b")
    assert project.read_by_a_build() == 0
    project.check_against_fresh()


def test_a_name_that_makes_another_language_gives_other_symbols_and_reads_no_text(project: Project) -> None:
    file = project.write("one.txt", "def find_me():\n    return 1\n")
    project.settle()
    before = project.ids()["one.txt"]
    file.rename(project.root / "one.py")
    assert project.read_by_a_build() == 0
    assert project.query("SELECT id, language, symbol_state FROM files") == [(before, "python", 1)]
    project.check_against_fresh()
    (project.root / "one.py").rename(file)
    assert project.read_by_a_build() == 0
    assert project.query("SELECT count(*) FROM symbol_sets") == [(0,)]
    project.check_against_fresh()


def test_a_hidden_name_hides_the_file_that_is_moved(project: Project) -> None:
    project.write("seen/one.txt", "word\n")
    project.settle()
    (project.root / "seen").rename(project.root / ".hidden")
    assert project.read_by_a_build() == 0
    with Index(project.root, project._sidecar, LIMITS) as index:
        assert index.search(SearchRequest("word")).files == ()
        assert len(index.search(SearchRequest("word", include_hidden=True)).files) == 1


@pytest.mark.parametrize("place", ["head", "tail", "size"])
def test_other_bytes_under_another_name_are_read(project: Project, place: str) -> None:
    text = "head " + "word " * 700 + "tail\n"
    file = project.write("one.txt", text)
    project.settle()
    file.write_text(text + "more\n" if place == "size" else text.replace(place, "ELSE"))
    os.utime(file, ns=(OLD, OLD))
    file.rename(project.root / "two.txt")
    assert project.read_by_a_build() == 1
    project.check_against_fresh()


def test_a_file_that_was_read_as_it_was_written_is_in_doubt_under_any_name(project: Project) -> None:
    project.write("one.txt", "word " * 1_000)
    project.settle()
    db = apsw.Connection(str(project._sidecar))
    db.execute("UPDATE files SET seen_ns = ctime_ns")  # as if it had been read in the tick of its change
    db.close()
    (project.root / "one.txt").rename(project.root / "two.txt")
    assert project.read_by_a_build() == 1
    project.check_against_fresh()


def test_a_file_deleted_while_another_takes_its_inode_is_read(project: Project) -> None:
    project.write("one.txt", "word\n")
    project.settle()
    (project.root / "one.txt").unlink()
    (project.root / "two.txt").write_text("else\n")
    assert project.read_by_a_build() == 1
    project.check_against_fresh()


def _await(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < end, what
        threading.Event().wait(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="needs events")
def test_a_watched_folder_that_is_renamed_is_one_row_too(project: Project) -> None:
    for at in range(10):
        project.write(f"outer/inner/{at}.py", f"def one{at}(): word\n")
    project.settle()
    files = project.query("SELECT * FROM files ORDER BY id")
    with project.started() as index:
        read = index.status().progress[Phase.TEXT].done_files
        (project.root / "outer").rename(project.root / "after")
        found = index.search(SearchRequest("word"))
        assert {file.path for file in found.files} == {f"after/inner/{at}.py".encode() for at in range(10)}
        _await(lambda: index.wait(SOON) and b"after" in dict(project.query("SELECT name, id FROM folders")), "not kept")
        assert index.status().progress[Phase.TEXT].done_files == read
        coverage = index.search(SearchRequest("word")).coverage
        assert (coverage.by_index, coverage.by_scan) == (10, 0)
    assert project.query("SELECT * FROM files ORDER BY id") == files
    project.check_against_fresh()


NAMES = ("a.txt", "b.py", "c.log", "d/a.txt", "d/e/b.py", "f/a.txt", "d", "d/e", "f", "g")
TEXTS = ("one = 1\n", "def two(): pass\n", "three\n" * 1_000, "\0binary\0\0\0\1\2")


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
                st.tuples(st.just("exchange"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
                st.tuples(st.just("write"), st.sampled_from(NAMES[:6]), st.sampled_from(TEXTS)),
            ),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_is_renamed_the_index_equals_a_fresh_one(rounds: list[list[tuple[str, str, str]]]) -> None:
    with tempfile.TemporaryDirectory() as base:
        project = Project(Path(base))
        for at, name in enumerate(NAMES[:6]):
            project.write(name, TEXTS[at % len(TEXTS)] + name)
        for steps in rounds:
            project.settle()
            for action, name, argument in steps:
                try:
                    if action == "write":
                        (project.root / name).write_text(argument)
                    elif action == "rename":
                        (project.root / name).rename(project.root / argument)
                    else:
                        exchange(project.root / name, project.root / argument)
                except OSError:  # nothing is there, or what is there is in the way
                    continue
        project.settle()
        project.check_against_fresh()
