"""A large file that grows is read where it is new, and the index says of it what a fresh one would say."""

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linedex.answers import OutputMode, SearchRequest
from linedex.build.analyze import ReadFiles, read_files
from linedex.build.contents import contents
from linedex.build.ranges import ReadRange, confirmed, read_range
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import FileId, RelPath

TINY = Limits(
    large_file=256,
    block_bytes=64,
    block_slack=16,
    batch_bytes=200,
    commit_bytes=500,
    window_bytes=4096,
    window_overlap=64,
    workers=0,
)
NAME = RelPath(b"app.log")
WORDS = ("alpha", "beta", "gamma", "delta-7f3a", "caf\u00e9", "\u6f22\u5b57", "10.48.187.29", "x" * 90)
LINES = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from(["\n", "\n", "\n", "\r\n", ""])).map(
        lambda parts: f"{parts[0]} {parts[1]}{parts[2]}".encode()
    ),
    min_size=1,
    max_size=12,
).map(b"".join)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(
            ["append", "append", "append", "append", "cut", "copytruncate", "regrow", "rewrite", "replace"]
        ),
        LINES,
        st.floats(0, 1),
    ),
    min_size=1,
    max_size=8,
)
SEED = b"".join(b"2026-01-01 00:00:%02d seq=%d id=%08x\n" % (at % 60, at, at * 2654435761 % 2**32) for at in range(20))


def change(path: Path, action: str, text: bytes, place: float) -> None:
    size = path.stat().st_size
    if action == "append":
        with path.open("ab") as log:
            log.write(text)
    elif action == "cut":
        os.truncate(path, int(size * place))
    elif action == "copytruncate":
        shutil.copy(path, path.with_name("app.log.1"))
        os.truncate(path, 0)
        with path.open("ab") as log:
            log.write(text)
    elif action == "regrow":
        with path.open("wb") as log:
            log.write(text * (size // len(text) + 2))
    elif action == "rewrite":
        with path.open("r+b") as log:
            log.seek(int(size * place))
            log.write(text)
    else:
        other = path.with_name("other")
        other.write_bytes(text * 4 + SEED)
        other.replace(path)


def searched(index: Index, pattern: str) -> list[int]:
    answer = index.search(SearchRequest(pattern, scope=NAME, max_hits=1000))
    return [hit.line for file in answer.files for hit in file.hits]


def plain(path: Path, pattern: str) -> list[int]:
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    return [at for at, line in enumerate(lines, start=1) if pattern in line]


@contextmanager
def grown_folder() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        root.mkdir()
        yield root, Path(name)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHANGES, st.sampled_from([SEED, b"x" * 300, SEED[:-5], SEED.replace(b"\n", b"\r\n"), b"y" * 700 + b"\n"]))
@example([("append", b"caf\xe9\n", 0.0)], SEED)
@example([("append", b"late\n", 0.0)], b"one\rtwo\r" * 60)
@example([("append", b"a\rb\r", 0.0)], b"z" * 400)
@example([("append", b"\n", 0.0)], b"one\rtwo\r" * 60)
@example([("append", b"\n", 0.0)], SEED[:-1] + b"\r")
def test_a_file_that_grows_is_known_as_a_fresh_index_knows_it(
    changes: list[tuple[str, bytes, float]], body: bytes
) -> None:
    with grown_folder() as (root, beside):
        log = root / "app.log"
        log.write_bytes(body)
        with Index(root, beside / "kept.db", TINY) as kept:
            kept.build()
            for action, text, place in changes:
                change(log, action, text, place)
                kept.build()
                assert kept.check() == ()
        with Index(root, beside / "fresh.db", TINY) as fresh:
            fresh.build()
        assert contents(beside / "kept.db") == contents(beside / "fresh.db")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHANGES, st.sampled_from(WORDS), st.booleans())
def test_a_search_straight_after_a_change_finds_what_a_plain_reading_finds(
    changes: list[tuple[str, bytes, float]], word: str, builds: bool
) -> None:
    with grown_folder() as (root, beside):
        log = root / "app.log"
        log.write_bytes(SEED)
        with Index(root, beside / "index.db", TINY) as index:
            index.build()
            for action, text, place in changes:
                change(log, action, text, place)
                if b"\xff" not in text and log.read_bytes().isascii():
                    lines = log.read_bytes().decode().split("\n")
                    assert index.tail(NAME, 1).total_lines == len(lines) - (not lines[-1])
                assert searched(index, word) == plain(log, word)
                if builds:
                    index.build()


MEDIUM = Limits(workers=0, hash_bytes=1 << 20)
BIG = 8 << 20


def numbered(first: int, size: int) -> bytes:
    draw = random.Random(first)
    lines, held = [], 0
    while held < size:
        lines.append(b"%09d %032x request served\n" % (first + len(lines), draw.getrandbits(128)))
        held += len(lines[-1])
    return b"".join(lines)


class CountingRoot:
    """Counts the bytes that are read of one folder, through the system's own account of each read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.total = 0
        self._pread = os.pread
        monkeypatch.setattr(os, "pread", self._counted)

    def _counted(self, descriptor: int, size: int, offset: int) -> bytes:
        data = self._pread(descriptor, size, offset)
        self.total += len(data)
        return data

    def since(self) -> int:
        """Return the bytes that were read since the last call."""
        total, self.total = self.total, 0
        return total


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> CountingRoot:
    return CountingRoot(monkeypatch)


def test_an_append_is_found_and_taken_in_by_reading_little_more_than_it(tmp_path: Path, reads: CountingRoot) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(numbered(0, BIG))
    with Index(root, tmp_path / "index.db", MEDIUM) as index:
        index.build()
        reads.since()
        for step in range(1, 4):
            new = numbered(step * 10_000_000, 200 << 10)
            with log.open("ab") as grown:
                grown.write(new)
            token = new[-40:-20].decode()
            reads.since()
            assert searched(index, token) == plain(log, token) != []
            assert reads.since() < 1 << 20
            last = index.tail(NAME, 1)
            assert last.total_lines == log.read_bytes().count(b"\n")
            assert reads.since() < 1 << 20
            index.build()
            assert reads.since() < 1 << 20
        assert index.check() == ()


def test_growth_past_several_commits_is_taken_in_in_steps_that_each_stand(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(SEED)
    with Index(root, tmp_path / "kept.db", TINY) as kept:
        kept.build()
        log.write_bytes(SEED + numbered(1, 20_000))
        kept.build()
        assert kept.check() == ()
    with Index(root, tmp_path / "fresh.db", TINY) as fresh:
        fresh.build()
    assert contents(tmp_path / "kept.db") == contents(tmp_path / "fresh.db")


def test_a_file_that_grows_while_it_is_first_read_is_indexed_as_it_was(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(SEED)
    found = read_files(ReadFiles(str(tmp_path), ((FileId(1), NAME, len(SEED)),), TINY))
    (plan,) = found.large
    jobs = [
        ReadRange(
            str(tmp_path),
            FileId(1),
            NAME,
            plan.facts.fingerprint,
            plan.facts.format,
            low,
            high,
            fresh=True,
            whole=False,
            limits=TINY,
        )
        for low, high in plan.ranges
    ]
    before = [read_range(job).blocks for job in jobs]
    with log.open("ab") as grown:
        grown.write(b"more\n")
    after = [read_range(job).blocks for job in jobs]
    assert confirmed(str(tmp_path), NAME, plan.facts.fingerprint)
    for one, other in zip(before, after, strict=True):
        assert one is not None
        assert other is not None
        assert one.columns.tobytes() == other.columns.tobytes()
    log.write_bytes(SEED.replace(b"seq=19", b"SEQ=19"))
    assert read_range(jobs[0]).blocks is None
    assert not confirmed(str(tmp_path), NAME, plan.facts.fingerprint)


def test_many_appends_leave_few_runs_of_blocks(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(SEED)
    with Index(root, tmp_path / "kept.db", TINY) as kept:
        kept.build()
        for step in range(60):
            with log.open("ab") as grown:
                grown.write(numbered(step * 1000, 150))
            kept.build()
        assert kept.check() == ()
        with kept._keeper.reading() as db:
            assert db is not None
            runs = db.execute("SELECT count(*) FROM block_runs").get
            groups = db.execute("SELECT count(DISTINCT key >> 20) FROM group_rows").get
        assert runs <= 12
        assert groups <= runs + 1


def test_counts_of_a_grown_file_are_whole(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(SEED)
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        with log.open("ab") as grown:
            grown.write(b"seq=100 and\nseq=101 again\n")
        answer = index.search(SearchRequest("seq=", scope=NAME, mode=OutputMode.COUNT))
    assert answer.total_hits == 22
