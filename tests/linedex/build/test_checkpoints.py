"""What changes in the middle of a large file without its stat, head and tail telling is noticed by its checkpoints."""

import gzip
import os
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linedex.answers import SearchRequest
from linedex.build.contents import contents
from linedex.files import fingerprint
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath

LIMITS = Limits(
    large_file=256,
    block_bytes=64,
    block_slack=16,
    batch_bytes=300,
    commit_bytes=1000,
    window_bytes=4096,
    window_overlap=64,
    checkpoint_bytes=1024,
    checkpoint_seconds=0.001,
    recheck_seconds=0.0,
    workers=0,
)
NAME = RelPath(b"app.log")
SOON = 20.0


def lines(first: int, count: int) -> bytes:
    return b"".join(b"%06d seq=%d request served\n" % (at, at * 7919 % 10_000) for at in range(first, first + count))


def overwrite(path: Path, offset: int, text: bytes) -> None:
    with path.open("r+b") as log:
        log.seek(offset)
        log.write(text)


def stored(sidecar: Path) -> list[tuple[int, int, int | None]]:
    db = apsw.Connection(str(sidecar), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(db.execute('SELECT start, "end", crc FROM checkpoints ORDER BY start'))
    finally:
        db.close()


def until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < end, what
        threading.Event().wait(0.005)


def hits(index: Index, pattern: str) -> list[int]:
    answer = index.search(SearchRequest(pattern, scope=NAME, max_hits=1000))
    return [hit.line for file in answer.files for hit in file.hits]


class Reads:
    """Counts the bytes that are read, through the system's own account of each read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.total = 0
        self._pread = os.pread
        monkeypatch.setattr(os, "pread", self._counted)

    def _counted(self, descriptor: int, size: int, offset: int) -> bytes:
        data = self._pread(descriptor, size, offset)
        self.total += len(data)
        return data


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return made


@contextmanager
def started(root: Path, limits: Limits = LIMITS) -> Iterator[Index]:
    with Index(root, root.parent / "index.db", limits) as index:
        index.start()
        assert index.wait(SOON)
        yield index


def all_verified(index: Index) -> bool:
    status = index.status()
    return 0 < status.checkpoints == status.checkpoints_verified


def change_unseen(index: Index, log: Path, offset: int, text: bytes) -> None:
    """Change the middle of a file and let it grow, before the index looks."""
    overwrite(log, offset, text)
    with log.open("ab") as grown:
        grown.write(b"the last line\n")


def test_a_checkpoint_sums_up_the_bytes_it_covers_whatever_ranges_they_were_read_in(root: Path) -> None:
    log = root / "app.log"
    log.write_bytes(b"\xef\xbb\xbf" + lines(0, 200))
    sidecar = root.parent / "index.db"
    with Index(root, sidecar, LIMITS) as index:
        index.build()
        for step in range(5):
            with log.open("ab") as grown:
                grown.write(lines(1000 * step, 13))
            index.build()
        data = log.read_bytes()
    found = stored(sidecar)
    assert [start for start, _, _ in found] == [3, *range(1024, len(data), 1024)]
    assert [end for _, end, _ in found] == [*range(1024, len(data), 1024), len(data)]
    assert [crc for _, _, crc in found] == [zlib.crc32(data[start:end]) for start, end, _ in found]


def test_what_changed_in_the_middle_together_with_growth_is_found_and_read_anew_from_there(root: Path) -> None:
    log = root / "app.log"
    log.write_bytes(lines(0, 400))
    with Index(root, root.parent / "index.db", LIMITS) as index:
        index.build()
    offset = log.read_bytes().index(b"seq=", 6_000)
    change_unseen(index, log, offset, b"OUCH")
    with started(root) as index:
        until(lambda: index.status().checkpoint_mismatches == 1, "the change was not noticed")
        until(lambda: all_verified(index), "not all was verified in the end")
        assert hits(index, "OUCH") == [log.read_bytes()[:offset].count(b"\n") + 1]
        assert index.check() == ()
    with Index(root, root.parent / "fresh.db", LIMITS) as fresh:
        fresh.build()
    assert contents(root.parent / "index.db") == contents(root.parent / "fresh.db")
    assert stored(root.parent / "index.db") == stored(root.parent / "fresh.db")


def test_a_change_in_the_first_checkpoint_has_the_whole_file_read_anew(root: Path) -> None:
    log = root / "app.log"
    log.write_bytes(lines(0, 400))
    with Index(root, root.parent / "index.db", LIMITS) as index:
        index.build()
    # line ends move too, so that every stored line number behind them is wrong until then
    change_unseen(index, log, 1_030, b"\n\n\n")
    with started(root) as index:
        until(lambda: index.status().checkpoint_mismatches == 1, "the change was not noticed")
        until(lambda: all_verified(index), "not all was verified in the end")
        assert index.tail(NAME, 1).total_lines == log.read_bytes().count(b"\n")
        assert hits(index, "000399") == [log.read_bytes().split(b"\n").index(lines(399, 1).rstrip()) + 1]
        assert index.check() == ()


def test_a_file_that_was_only_touched_is_read_once_and_indexed_no_more(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = root / "app.log"
    log.write_bytes(lines(0, 3_000))
    limits = Limits(workers=0, large_file=1 << 10, checkpoint_bytes=16 << 10)
    size = log.stat().st_size
    with Index(root, root.parent / "index.db", limits) as index:
        index.build()
        before = contents(root.parent / "index.db")
        os.utime(log)
        reads = Reads(monkeypatch)
        index.build()
        assert size < reads.total < size + 100_000
        assert contents(root.parent / "index.db") == before
        reads.total = 0
        assert hits(index, "seq=nowhere") == []
        assert reads.total < size / 2
        assert all_verified(index)


def test_a_rewriting_of_the_same_size_is_read_from_the_first_checkpoint_that_differs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = root / "app.log"
    log.write_bytes(lines(0, 400))
    with Index(root, root.parent / "index.db", LIMITS) as index:
        index.build()
        offset = log.read_bytes().index(b"seq=", 9_000)
        overwrite(log, offset, b"OUCH")
        index.build()
        assert hits(index, "OUCH") == [log.read_bytes()[:offset].count(b"\n") + 1]
        assert index.check() == ()
    with Index(root, root.parent / "fresh.db", LIMITS) as fresh:
        fresh.build()
    assert contents(root.parent / "index.db") == contents(root.parent / "fresh.db")


def test_nothing_is_read_or_written_once_all_is_verified(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = root / "app.log"
    log.write_bytes(lines(0, 400))
    with started(root) as index:
        with log.open("ab") as grown:
            grown.write(lines(400, 5))
        assert len(hits(index, "seq=")) == 405
        assert index.wait(SOON)
        until(lambda: all_verified(index), "not all was verified in the end")
        reads = Reads(monkeypatch)
        written = {path.name: path.stat().st_mtime_ns for path in root.parent.iterdir() if path.is_file()}
        keeper = index._keeper
        assert not keeper._verify_checkpoint()
        assert reads.total == 0
        assert written == {path.name: path.stat().st_mtime_ns for path in root.parent.iterdir() if path.is_file()}


def test_a_checkpoint_of_a_file_that_keeps_growing_is_not_read_again_at_once(root: Path) -> None:
    log = root / "app.log"
    log.write_bytes(lines(0, 400))
    patient = replace(LIMITS, recheck_seconds=3600.0)
    with started(root, patient) as index:
        with log.open("ab") as grown:
            grown.write(lines(400, 5))
        assert len(hits(index, "seq=")) == 405
        assert index.wait(SOON)
        assert not index._keeper._verify_checkpoint()
        status = index.status()
        assert status.checkpoints_verified < status.checkpoints


SPLICES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.integers(0, 700)), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SPLICES)
def test_an_edit_that_was_told_leaves_checkpoints_that_are_true(edits: list[tuple[float, float, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        root.mkdir()
        log = root / "app.log"
        log.write_bytes(lines(0, 300))
        with started(root) as index:
            data = log.read_bytes()
            splices: list[tuple[int, int, int]] = []
            made, at = b"", 0
            for place, length, new in sorted(edits):
                start = max(at, int(place * len(data)))
                end = min(len(data), start + int(length * 1000))
                made += data[at:start] + b"n" * new
                splices.append((start, end, new))
                at = end
            made += data[at:]
            descriptor = os.open(log, os.O_RDONLY)
            before = fingerprint.of(descriptor)
            os.close(descriptor)
            with log.open("r+b") as written:
                written.write(made)
                written.truncate()
            index.edited(NAME, before, splices, timeout=SOON)
            assert index.wait(SOON)
            if len(made) > LIMITS.large_file:
                until(lambda: all_verified(index), "not all was verified in the end")
                assert index.status().checkpoint_mismatches == 0
            found = stored(root.parent / "index.db")
        if len(made) > LIMITS.large_file:
            assert found[0][0] == 0
            assert found[-1][1] == len(made)
            assert all(one[1] == other[0] for one, other in pairwise(found))
            assert all(crc == zlib.crc32(made[start:end]) for start, end, crc in found)


def test_a_compressed_file_that_was_rewritten_at_the_same_size_is_read_anew(root: Path) -> None:
    log = root / "app.log.gz"
    log.write_bytes(gzip.compress(lines(0, 400), compresslevel=0, mtime=0))
    size = log.stat().st_size
    at = RelPath(b"app.log.gz")
    with Index(root, root.parent / "index.db", replace(LIMITS, still_seconds=0.0)) as index:
        index.build()
        log.write_bytes(gzip.compress(lines(0, 400).replace(b"seq=0 ", b"OUCH! "), compresslevel=0, mtime=0))
        assert log.stat().st_size == size
        index.build()
        answer = index.search(SearchRequest("OUCH", scope=at))
        assert [hit.line for file in answer.files for hit in file.hits] == [1]
        assert index.status().checkpoints == 0
