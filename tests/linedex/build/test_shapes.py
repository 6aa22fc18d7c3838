"""Files of unusual shapes, small: what counts as large is shrunk, so that a few lines have all the edges."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from linedex.answers import SearchRequest
from linedex.build.contents import contents
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath

LIMITS = Limits(
    large_file=256,
    block_bytes=64,
    block_slack=16,
    batch_bytes=300,
    commit_bytes=800,
    window_bytes=512,
    window_overlap=64,
    checkpoint_bytes=700,
    workers=0,
)
NAME = RelPath(b"app.log")
JAPANESE = "これは日本語の長い文章です。検索が正しく"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root / "app.log"


def hits(index: Index, text: str) -> list[int]:
    answer = index.search(SearchRequest(text, regex=False, scope=NAME, max_hits=1000))
    return [hit.line for file in answer.files for hit in file.hits]


def test_one_long_line_is_searched_and_counted_in_parts(log: Path, tmp_path: Path) -> None:
    log.write_bytes(b"0123456789" * 5_000 + b" needle " + b"0123456789" * 500 + b"\nshort\n")
    with Index(log.parent, tmp_path / "index.db", LIMITS) as index:
        index.build()
        assert hits(index, "needle") == [1]
        assert hits(index, "short") == [2]
        assert index.tail(NAME, 1).total_lines == 2
        assert index.check() == ()


def test_lines_of_one_byte_are_told_apart_by_number(log: Path, tmp_path: Path) -> None:
    log.write_bytes(b"a\n" * 20_000 + b"b\n" + b"a\n" * 5)
    with Index(log.parent, tmp_path / "index.db", LIMITS) as index:
        index.build()
        assert hits(index, "b") == [20_001]
        assert index.read(NAME, 20_001, 2).lines == ("b", "a")
        assert index.tail(NAME, 1).total_lines == 20_006


@pytest.mark.parametrize(
    ("encoding", "ending"),
    [("utf-16", "\n"), ("utf-16-le", "\r\n"), ("shift_jis", "\n"), ("shift_jis", "\r\n"), ("utf-8", "\r\n")],
)
def test_a_log_in_another_encoding_grows_as_any(log: Path, tmp_path: Path, encoding: str, ending: str) -> None:
    def text(first: int, count: int) -> str:
        return "".join(
            f"{at:05d} \u6f22\u5b57\u306e\u884c\u3092\u8aad\u3080 served{ending}" for at in range(first, first + count)
        )

    log.write_bytes(text(0, 2_000).encode(encoding))
    with Index(log.parent, tmp_path / "kept.db", LIMITS) as index:
        index.build()
        more = text(2_000, 50) + "last line without end"
        with log.open("ab") as grown:
            grown.write(more.encode(encoding.replace("utf-16", "utf-16-le") if encoding == "utf-16" else encoding))
        assert hits(index, "02049") == [2_050]
        assert hits(index, "without end") == [2_051]
        index.build()
        assert index.check() == ()
        assert index.tail(NAME, 1).lines == ("last line without end",)
    with Index(log.parent, tmp_path / "fresh.db", LIMITS) as fresh:
        fresh.build()
    assert contents(tmp_path / "kept.db") == contents(tmp_path / "fresh.db")


def test_the_hole_that_a_writer_leaves_behind_a_truncation_is_one_line(log: Path, tmp_path: Path) -> None:
    text = b"".join(b"%05d request served\n" % at for at in range(200))
    with log.open("wb", buffering=0) as writer, Index(log.parent, tmp_path / "index.db", LIMITS) as index:
        writer.write(text)
        index.build()
        os.truncate(log, 0)
        writer.write(b"first after\nsecond after\n")  # at its old offset
        assert log.read_bytes() == bytes(len(text)) + b"first after\nsecond after\n"
        assert hits(index, "served") == []
        assert hits(index, "first after") == [1]
        assert hits(index, "second after") == [2]
        index.build()
        assert hits(index, "second after") == [2]
        assert index.tail(NAME, 1).total_lines == 2
        assert index.check() == ()


HOLES = replace(
    LIMITS,
    block_bytes=4 << 10,
    block_slack=1 << 10,
    batch_bytes=128 << 10,
    commit_bytes=512 << 10,
    window_bytes=256 << 10,
    window_overlap=16 << 10,
    checkpoint_bytes=300 << 10,
    log_part_bytes=16 << 10,
    log_zone="UTC",
)


@pytest.mark.parametrize("staged", [1 << 10, 1 << 30])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "cp932"])
@pytest.mark.parametrize("stamped", [True, False])
def test_a_hole_is_indexed_as_the_nuls_that_a_reading_of_it_gives(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, staged: int, *, stamped: bool
) -> None:
    stamp = "2026-03-04 05:06:07 INFO " if stamped else ""
    text = "".join(f"{stamp}{at:05d} {JAPANESE} served\n" for at in range(3_000)).encode(encoding)
    with log.open("wb") as written:
        for hole in (700_000, 300_000, 150_002):
            written.write(text)
            written.seek(hole, os.SEEK_CUR)
        written.write(f"\n{stamp}needle behind\n{stamp}end\n".encode(encoding))
    limits = replace(HOLES, staged_bytes=staged)
    with Index(log.parent, tmp_path / "told.db", limits) as index:
        index.build()
        assert hits(index, "needle") == [9_002]
        assert hits(index, "\0" * 20) == [3_001, 6_001, 9_001]
        assert index.check() == ()

    def refused(descriptor: int, offset: int, whence: int) -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "lseek", refused)
    with Index(log.parent, tmp_path / "read.db", limits) as index:
        index.build()
    assert contents(tmp_path / "told.db") == contents(tmp_path / "read.db")


def test_a_file_that_shrinks_while_it_is_indexed_is_known_as_it_is_then(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(b"".join(b"%05d request served\n" % at for at in range(400)))
    pread, reads = os.pread, iter(range(1_000_000))

    def cutting(descriptor: int, size: int, offset: int) -> bytes:
        if next(reads) == 30:
            os.truncate(log, 2_000)
        return pread(descriptor, size, offset)

    with Index(log.parent, tmp_path / "index.db", LIMITS) as index:
        monkeypatch.setattr(os, "pread", cutting)
        index.build()
        monkeypatch.setattr(os, "pread", pread)
        lines = log.read_bytes().split(b"\n")
        assert hits(index, "served") == [at for at, line in enumerate(lines, start=1) if b"served" in line]
        index.build()
        assert index.tail(NAME, 1).total_lines == len(lines) - (not lines[-1])
        assert index.check() == ()
