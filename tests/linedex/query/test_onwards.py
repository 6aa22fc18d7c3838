"""What is new in a file since an answer: lines appended, and what a rotation or a truncation did to it."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from linedex.answers import OutputMode, SearchAnswer, SearchRequest
from linedex.errors import BadArgument, BadCursor, NotFound
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath

LIMITS = Limits(
    large_file=256, block_bytes=64, block_slack=16, batch_bytes=300, window_bytes=512, window_overlap=64, workers=0
)
NAME = RelPath(b"app.log")
SEARCH = SearchRequest("seq=", regex=False, scope=NAME, include_ignored=True)


def lines(first: int, count: int) -> bytes:
    return b"".join(b"%06d seq=%d request served\n" % (at, at) for at in range(first, first + count))


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as log:
        log.write(text)


def texts(answer: SearchAnswer) -> list[str]:
    return [hit.text for found in answer.files for hit in found.hits]


def told(first: int, count: int) -> list[str]:
    return lines(first, count).decode().splitlines()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root / "app.log"


@pytest.fixture(params=["indexed", "unknown"])
def index(request: pytest.FixtureRequest, log: Path, tmp_path: Path) -> Iterator[Index]:
    log.write_bytes(lines(0, 40))
    with Index(log.parent, tmp_path / "index.db", LIMITS) as made:
        if request.param == "indexed":
            made.build()
        yield made


def read(index: Index, cursor: str, count: int = 100) -> tuple[list[str], str, str]:
    answer = index.read_on(NAME, cursor, count)
    return list(answer.lines), answer.later, answer.note


def test_behind_the_tail_are_the_lines_appended_since_and_each_is_told_once(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 2).later
    assert read(index, cursor)[0] == []
    append(log, lines(40, 3))
    found, cursor, note = read(index, cursor)
    assert (found, note) == (told(40, 3), "")
    assert read(index, cursor)[0] == []
    append(log, lines(43, 1))
    assert read(index, cursor)[0] == told(43, 1)


def test_more_new_lines_than_were_asked_for_are_told_page_by_page(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 7))
    found = []
    while (page := read(index, cursor, 3))[0]:
        found += page[0]
        cursor = page[1]
    assert found == told(40, 7)


def test_a_last_line_without_end_is_told_again_when_it_is_whole(index: Index, log: Path) -> None:
    append(log, b"half a")
    answer = index.tail(NAME, 1)
    assert answer.lines == ("half a",)
    assert read(index, answer.later)[0] == []
    append(log, b" line\nnext\n")
    assert read(index, answer.later)[0] == ["half a line", "next"]


def test_a_search_that_is_done_goes_on_with_what_is_appended_later(index: Index, log: Path) -> None:
    index.build()
    answer = index.search_file(replace(SEARCH, pattern="seq=39"))
    assert texts(answer) == told(39, 1)
    cursor = answer.later
    assert texts(index.search_file(replace(SEARCH, cursor=cursor))) == []
    append(log, lines(40, 5))
    answer = index.search_file(replace(SEARCH, cursor=cursor))
    assert texts(answer) == told(40, 5)
    assert [hit.line for hit in answer.files[0].hits] == [41, 42, 43, 44, 45]
    answer = index.search_file(replace(SEARCH, cursor=answer.later))
    assert (texts(answer), answer.cursor) == ([], "")
    assert answer.later


def test_pages_of_what_is_new_follow_each_other_and_end_with_what_comes_later(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 30))
    found: list[str] = []
    for _ in range(20):
        answer = index.search_file(replace(SEARCH, cursor=cursor, max_hits=4))
        found += texts(answer)
        cursor = answer.cursor or answer.later
        if answer.later:
            break
    assert found == told(40, 30)


def test_a_renamed_log_is_finished_before_the_new_one_is_begun(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 2))
    log.rename(log.with_name("app.log.1"))
    log.write_bytes(lines(900, 2))
    answer = index.read_on(NAME, cursor)
    assert list(answer.lines) == told(40, 2)
    assert answer.path == b"app.log.1"
    assert "app.log was rotated at 20" in answer.note
    assert answer.note.endswith("continued in app.log.1")
    found, cursor, _ = read(index, answer.later)
    assert found == told(900, 2)
    append(log, lines(902, 1))
    assert read(index, cursor) == (told(902, 1), read(index, cursor)[1], "")


def test_a_search_goes_over_all_logs_of_two_rotations(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 2))
    log.rename(log.with_name("app.log.2"))
    middle = log.with_name("app.log.1")
    middle.write_bytes(lines(500, 2))
    log.write_bytes(lines(900, 2))
    os.utime(log.with_name("app.log.2"), ns=(10**18, 10**18))
    os.utime(middle, ns=(10**18 + 1, 10**18 + 1))
    found: list[str] = []
    notes = []
    for _ in range(5):
        answer = index.search_file(replace(SEARCH, cursor=cursor))
        found += texts(answer)
        notes.append(answer.note)
        cursor = answer.cursor or answer.later
        if answer.later:
            break
    assert found == told(40, 2) + told(500, 2) + told(900, 2)
    assert "continued in app.log.2" in notes[0]


def test_a_page_cursor_goes_on_in_the_renamed_log(index: Index, log: Path) -> None:
    answer = index.search_file(replace(SEARCH, max_hits=10))
    assert texts(answer) == told(0, 10)
    log.rename(log.with_name("app.log.1"))
    log.write_bytes(lines(900, 1))
    found: list[str] = []
    while answer.cursor:
        answer = index.search_file(replace(SEARCH, max_hits=10, cursor=answer.cursor))
        found += texts(answer)
    assert found == told(10, 30) + told(900, 1)


def test_a_copied_and_truncated_log_is_finished_in_its_copy(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 2))
    shutil.copy(log, log.with_name("app.log.1"))
    os.truncate(log, 0)
    append(log, lines(900, 100))  # past its former size
    found, cursor, note = read(index, cursor)
    assert found == told(40, 2)
    assert "continued in app.log.1" in note
    assert read(index, cursor, 200)[0] == told(900, 100)


def pages(index: Index, cursor: str, count: int) -> list[list[str]]:
    """Read on to the end, in pages of `count` lines."""
    found = []
    while (page := read(index, cursor, count))[0]:
        found.append(page[0])
        cursor = page[1]
    return found


def copy_and_truncate(log: Path, moment: int) -> None:
    """Rotate once as `copytruncate` does, the copy made at `moment`."""
    first, second = log.with_name("app.log.1"), log.with_name("app.log.2")
    if first.exists():
        first.rename(second)
    shutil.copy(log, first)
    os.utime(first, ns=(moment, moment))
    os.truncate(log, 0)


@pytest.mark.parametrize("count", [1, 100])
def test_a_copied_and_truncated_log_is_finished_in_its_copy_under_a_later_name(
    index: Index, log: Path, count: int
) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 3))
    copy_and_truncate(log, 10**18)
    log.with_name("app.log.1").rename(log.with_name("app.log.2"))
    append(log, lines(900, 100))  # past its former size
    assert [line for page in pages(index, cursor, count) for line in page] == told(40, 3) + told(900, 100)


@pytest.mark.parametrize("count", [1, 100])
def test_a_log_that_was_copied_and_truncated_and_then_renamed_is_told_between_its_copy_and_the_new_one(
    index: Index, log: Path, count: int
) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 3))
    copy_and_truncate(log, 10**18)
    append(log, lines(500, 3))  # of the inode that the cursor was made in
    log.with_name("app.log.1").rename(log.with_name("app.log.2"))
    log.rename(log.with_name("app.log.1"))
    os.utime(log.with_name("app.log.1"), ns=(10**18 + 1, 10**18 + 1))
    log.write_bytes(lines(900, 3))
    assert [line for page in pages(index, cursor, count) for line in page] == told(40, 3) + told(500, 3) + told(900, 3)


@pytest.mark.parametrize("count", [1, 100])
def test_a_log_that_was_copied_and_truncated_twice_is_finished_in_both_copies(
    index: Index, log: Path, count: int
) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 3))
    copy_and_truncate(log, 10**18)
    append(log, lines(500, 3))
    copy_and_truncate(log, 10**18 + 1)
    append(log, lines(900, 3))
    assert [line for page in pages(index, cursor, count) for line in page] == told(40, 3) + told(500, 3) + told(900, 3)


def test_another_name_of_the_renamed_log_is_not_told_again(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 3))
    log.rename(log.with_name("app.log.1"))
    os.link(log.with_name("app.log.1"), log.with_name("app.log.saved"))
    log.write_bytes(lines(900, 3))
    assert pages(index, cursor, 100) == [told(40, 3), told(900, 3)]


@pytest.mark.parametrize("whole", [True, False])
def test_a_copy_beside_the_renamed_log_is_not_told_again(index: Index, log: Path, *, whole: bool) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 3))
    shutil.copy(log, log.with_name("app.log.bak"))
    if not whole:
        append(log, lines(43, 3))
    log.rename(log.with_name("app.log.1"))
    os.utime(log.with_name("app.log.1"), ns=(10**18, 10**18))
    os.utime(log.with_name("app.log.bak"), ns=(10**18 + 1, 10**18 + 1))
    log.write_bytes(lines(900, 3))
    assert pages(index, cursor, 100) == [told(40, 3 if whole else 6), told(900, 3)]


def test_copies_of_the_new_log_and_of_one_between_are_not_told(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    log.rename(log.with_name("app.log.2"))
    log.with_name("app.log.1").write_bytes(lines(500, 50))
    log.with_name("app.log.1.saved").write_bytes(lines(500, 50))
    log.with_name("app.log.saved").write_bytes(lines(900, 40))
    log.write_bytes(lines(900, 60))
    for moment, name in enumerate(["app.log.2", "app.log.1", "app.log.1.saved", "app.log.saved"], 10**18):
        os.utime(log.with_name(name), ns=(moment, moment))
    assert pages(index, cursor, 200) == [told(500, 50), told(900, 60)]


def test_logs_that_begin_alike_are_all_told(index: Index, log: Path) -> None:
    head = b"".join(b"# this log has a head of many lines, %02d\n" % at for at in range(40))
    log.write_bytes(head)
    cursor = index.tail(NAME, 1).later
    log.rename(log.with_name("app.log.2"))
    log.with_name("app.log.1").write_bytes(head + lines(500, 2))
    log.write_bytes(head + lines(900, 2))
    for moment, name in enumerate(["app.log.2", "app.log.1"], 10**18):
        os.utime(log.with_name(name), ns=(moment, moment))
    header = head.decode().splitlines()
    assert pages(index, cursor, 200) == [header + told(500, 2), header + told(900, 2)]


@pytest.mark.parametrize(
    ("older", "former", "later", "last"),
    [
        ("app.log.12", "app.log.11", "app.log.10", "app.log.9"),
        ("app.log-20260302", "app.log-20260303", "app.log-20260303-01", "app.log-20260304"),
        ("app.2026-03-02.log", "app.2026-03-03.log", "app.2026-03-04.log", "app.2026-04-01.log"),
    ],
)
def test_logs_written_in_one_clock_tick_are_told_in_the_order_of_their_names(
    index: Index, log: Path, older: str, former: str, later: str, last: str
) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 3))
    log.rename(log.with_name(former))
    log.with_name(older).write_bytes(lines(300, 3))
    log.with_name(later).write_bytes(lines(500, 3))
    log.with_name(last).write_bytes(lines(600, 3))
    for name in (older, former, later, last):
        os.utime(log.with_name(name), ns=(10**18, 10**18))
    log.write_bytes(lines(900, 3))
    assert pages(index, cursor, 100) == [told(40, 3), told(500, 3), told(600, 3), told(900, 3)]


def test_a_truncated_log_is_begun_anew_and_what_may_be_lost_is_said(index: Index, log: Path) -> None:
    answer = index.search_file(replace(SEARCH, max_hits=1))
    size = log.stat().st_size
    os.truncate(log, 0)
    append(log, lines(900, 2))
    answer = index.search_file(replace(SEARCH, max_hits=10, cursor=answer.cursor))
    assert texts(answer) == told(900, 2)
    assert "app.log was truncated or rewritten by 20" in answer.note
    assert f"{size:,} bytes of it that were not read" in answer.note
    assert answer.note.endswith("restarting at the new file's start")


def test_another_file_in_its_place_is_begun_anew_and_said_to_be(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    other = log.with_name("other")
    other.write_bytes(lines(900, 60))
    other.replace(log)
    answer = index.read_on(NAME, cursor)
    assert list(answer.lines) == told(900, 60)
    assert "app.log is another file now by 20" in answer.note
    assert "0 bytes of it that were not read, and what was written to it since, may be lost" in answer.note


def test_a_log_that_was_rotated_and_not_begun_anew_is_finished(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 2))
    log.rename(log.with_name("app.log.1"))
    found, cursor, _ = read(index, cursor)
    assert found == told(40, 2)
    append(log.with_name("app.log.1"), lines(42, 1))  # its writer has it open still
    assert read(index, cursor)[0] == told(42, 1)
    log.with_name("app.log.1").unlink()
    with pytest.raises(NotFound):
        index.read_on(NAME, cursor)


def test_cursors_of_other_files_queries_and_makers_are_refused(index: Index, log: Path) -> None:
    log.with_name("b.log").write_bytes(lines(0, 30))
    tail = index.tail(NAME, 1).later
    page = index.search_file(replace(SEARCH, max_hits=1)).cursor
    with pytest.raises(BadCursor, match="another file"):
        index.read_on(RelPath(b"b.log"), tail)
    with pytest.raises(BadCursor, match="another query"):
        index.search_file(replace(SEARCH, pattern="other", cursor=page))
    with pytest.raises(BadCursor, match="not a cursor"):
        index.read_on(NAME, "A" + tail[1:-4])
    with pytest.raises(BadCursor, match="not a cursor"):
        index.read_on(NAME, "no such thing")
    with pytest.raises(BadArgument, match="counted"):
        index.search_file(replace(SEARCH, cursor=tail, mode=OutputMode.COUNT))
    assert len(tail) < 100
