"""What is new in a log since an answer, when the log was rotated and compressed meanwhile."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.linedex.files.compressed.packing import gz, xz_of_blocks, zst
from tests.linedex.query.test_onwards import LIMITS, NAME, SEARCH, append, lines, read, texts, told

from linedex.index import Index
from linedex.model import RelPath

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "app.log.1.gz": gz,
    "app.log.1.zst": zst,
    "app.log-20261130.xz": lambda text: xz_of_blocks(text, 3),
    "app.1.log.gz": gz,
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root / "app.log"


@pytest.fixture(params=["indexed", "unknown"])
def index(request: pytest.FixtureRequest, log: Path, tmp_path: Path) -> Iterator[Index]:
    log.write_bytes(lines(0, 40))
    with Index(log.parent, tmp_path / "index.db", replace(LIMITS, still_seconds=0, frame_bytes=4096)) as made:
        if request.param == "indexed":
            made.build()
        yield made


def packed(log: Path, name: str) -> Path:
    """Rotate a log as is done daily, with the times of its last writing kept."""
    status = log.stat()
    rotated = log.with_name(name)
    rotated.write_bytes(PACKERS[name](log.read_bytes()))
    os.utime(rotated, ns=(status.st_atime_ns, status.st_mtime_ns))
    log.unlink()
    return rotated


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("built", [False, True])
def test_a_log_that_was_compressed_is_finished_before_the_new_one_is_begun(
    index: Index, log: Path, name: str, built: bool
) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 30))
    rotated = packed(log, name)
    log.write_bytes(lines(900, 2))
    if built:
        index.build()
    answer = index.read_on(NAME, cursor, 20)
    assert list(answer.lines) == told(40, 20)
    assert answer.path == os.fsencode(rotated.name)
    assert answer.note.endswith(f"continued in {rotated.name}")
    found, cursor, note = read(index, answer.later, 20)
    assert found == told(60, 10)
    assert "continued in" in note
    found, cursor, _ = read(index, cursor)
    assert found == told(900, 2)
    append(log, lines(902, 1))
    assert read(index, cursor)[0] == told(902, 1)


@pytest.mark.parametrize("name", PACKERS)
def test_a_search_goes_on_in_the_compressed_log_and_then_in_the_new_one(index: Index, log: Path, name: str) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 30))
    packed(log, name)
    log.write_bytes(lines(900, 5))
    found: list[str] = []
    for _ in range(20):
        answer = index.search_file(replace(SEARCH, cursor=cursor, max_hits=4))
        found += texts(answer)
        cursor = answer.cursor or answer.later
        if answer.later:
            break
    assert found == told(40, 30) + told(900, 5)
    append(log, lines(905, 1))
    assert texts(index.search_file(replace(SEARCH, cursor=cursor))) == told(905, 1)


def test_pages_of_a_search_go_on_in_the_compressed_log(index: Index, log: Path) -> None:
    answer = index.search_file(replace(SEARCH, max_hits=10))
    packed(log, "app.log.1.gz")
    log.write_bytes(lines(900, 1))
    found = texts(answer)
    while answer.cursor:
        answer = index.search_file(replace(SEARCH, max_hits=10, cursor=answer.cursor))
        found += texts(answer)
    assert found == told(0, 40) + told(900, 1)


def test_a_cursor_waits_in_the_compressed_log_until_the_new_one_is_begun(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 2))
    packed(log, "app.log.1.gz")
    found, cursor, _ = read(index, cursor)
    assert found == told(40, 2)
    found, cursor, _ = read(index, cursor)
    assert (found, bool(cursor)) == ([], True)
    log.write_bytes(lines(900, 2))
    found, cursor, _ = read(index, cursor)
    assert found == told(900, 2)
    append(log, lines(902, 1))
    assert read(index, cursor)[0] == told(902, 1)


def test_a_compressed_log_beside_its_plain_one_is_told_once(index: Index, log: Path) -> None:
    cursor = index.tail(NAME, 1).later
    append(log, lines(40, 2))
    log.rename(log.with_name("app.log.1"))
    whole = gz(lines(0, 42))
    log.with_name("app.log.1.gz").write_bytes(whole[: len(whole) // 2])  # its compressor is at work
    log.write_bytes(lines(900, 2))
    found, cursor, note = read(index, cursor)
    assert (found, note.split()[-1]) == (told(40, 2), "app.log.1")
    assert read(index, cursor)[0] == told(900, 2)


@pytest.mark.parametrize("fate", ["another text", "cut", "no gzip at all"])
def test_a_compressed_log_that_does_not_hold_what_was_read_voids_the_cursor_and_says_so(
    index: Index, log: Path, fate: str
) -> None:
    answer = index.search_file(replace(SEARCH, max_hits=10))
    size = log.stat().st_size
    log.unlink()
    raw = {"another text": gz(lines(100, 40)), "cut": gz(lines(0, 40))[:150], "no gzip at all": b"\x1f\x8b\x08"}[fate]
    log.with_name("app.log.1.gz").write_bytes(raw)
    log.write_bytes(lines(900, 2))
    answer = index.search_file(replace(SEARCH, cursor=answer.cursor))
    assert texts(answer) == told(900, 2)
    assert "may be lost; restarting at the new file's start" in answer.note
    given = len(lines(0, 10))
    assert f"{size - given:,} bytes of it that were not read" in answer.note or f"{size:,} bytes" in answer.note


def test_pages_of_a_compressed_log_itself_follow_each_other(index: Index, log: Path) -> None:
    packed(log, "app.log.1.gz")
    name = RelPath(b"app.log.1.gz")
    answer = index.search_file(replace(SEARCH, scope=name, max_hits=7))
    found = texts(answer)
    while answer.cursor:
        answer = index.search_file(replace(SEARCH, scope=name, max_hits=7, cursor=answer.cursor))
        found += texts(answer)
    assert found == told(0, 40)
    assert index.tail(name, 1).later == ""
