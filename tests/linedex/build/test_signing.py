"""Very large files have their lines first and their signatures afterwards, and no query misses anything meanwhile."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.answers import SearchRequest
from linedex.build.contents import contents
from linedex.build.crash_policy import CrashPolicy
from linedex.build.pipeline import Builder
from linedex.build.progress import Progress
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.index import Index
from linedex.limits import Limits
from linedex.log_answers import PatternsRequest, TimelineRequest
from linedex.model import RelPath
from linedex.store import files
from linedex.store.database import Sidecar

PLAIN = Limits(
    large_file=256,
    block_bytes=64,
    block_slack=200,
    batch_bytes=300,
    commit_bytes=500,
    log_part_bytes=256,
    log_zone="UTC",
    index_symbols=False,
    workers=0,
)
STAGED = replace(PLAIN, staged_bytes=400)
NAME = RelPath(b"app.log")
RUN = 8
"""Blocks of a run in these tests, so that a short log has many."""


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linedex.store.blocks.BLOCK_RUN", RUN)


def lines(count: int, seed: int, first: int = 0) -> bytes:
    draw = random.Random(seed)
    made = []
    for at in range(first, first + count):
        level = draw.choice(["INFO", "WARN", "ERROR"])
        message = draw.choice(["disk %d full", "user %d logged in", "took %d ms"]) % draw.randrange(1000)
        made.append(
            f"2026-03-04 {at // 60 % 24:02d}:{at % 60:02d}:07 {level} {message} id={draw.getrandbits(64):016x}\n"
        )
        if not draw.randrange(9):
            made.append("\tat some.place(Here.java:12)\n")
    return "".join(made).encode()


class StopAfter(Progress):
    """Stops a build when so many runs of blocks have been signed."""

    def __init__(self, runs: int) -> None:
        super().__init__()
        self.left = runs
        self.builder: Builder | None = None

    def advance(self, files: int, size: int, *, found: bool = False) -> None:
        super().advance(files, size, found=found)
        if self.snapshot()[0] == "signatures" and size:
            self.left -= 1
            if not self.left and self.builder is not None:
                self.builder.stop()


def build_in_part(root: Path, sidecar: Path, runs: int) -> None:
    """Build an index of `root`, stopped after `runs` runs of its second stage."""
    progress = StopAfter(runs)
    store = Sidecar(sidecar, str(root))
    try:
        with store.reading() as db:
            known = files.load(db)
        progress.builder = Builder(
            *(Root(root), store, WalkSettings(), STAGED, progress, lambda _: None, CrashPolicy()),
        )
        progress.builder.build(known, nice=0)
    finally:
        store.close()


def told(root: Path, sidecar: Path, limits: Limits) -> tuple[object, ...]:
    """Return what an index says of the log's times, levels and messages, and of where words stand."""
    with Index(root, sidecar, limits) as index:
        timeline = index.timeline(TimelineRequest(NAME, bucket_minutes=1, max_buckets=2000))
        patterns = index.patterns(PatternsRequest(NAME))
        return (
            [(bucket.start, dict(bucket.levels)) for bucket in timeline.buckets],
            sorted((one.text, one.count) for one in patterns.patterns),
            found(index, "disk 7"),
            found(index, "place(Here"),
        )


def found(index: Index, text: str) -> list[int]:
    answer = index.search(SearchRequest(text, regex=False, scope=NAME, max_hits=10_000))
    return [hit.line for file in answer.files for hit in file.hits]


def plainly(log: Path, text: str) -> list[int]:
    return [at for at, line in enumerate(log.read_text().split("\n"), start=1) if text in line]


@settings(max_examples=15, deadline=None)
@given(
    st.integers(20, 200),
    st.integers(0, 1 << 16),
    st.lists(
        st.tuples(st.integers(1, 6), st.sampled_from(["nothing", "append", "overwrite", "cut"]), st.floats(0, 1)),
        max_size=4,
    ),
)
def test_a_build_that_stops_and_goes_on_ends_as_one_that_did_not(
    count: int, seed: int, stops: list[tuple[int, str, float]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        root.mkdir()
        log, kept, fresh = root / "app.log", Path(name) / "kept.db", Path(name) / "fresh.db"
        log.write_bytes(lines(count, seed))
        for runs, change, place in stops:
            build_in_part(root, kept, runs)
            size = log.stat().st_size
            with log.open("r+b") as out:
                if change == "append":
                    out.seek(size)
                    out.write(lines(20, seed + 1, count))
                elif change == "overwrite":
                    out.seek(int((size - 8) * place))
                    out.write(b"disk 7 x")
                elif change == "cut":
                    out.truncate(max(300, int(size * place)))
            with Index(root, kept, STAGED) as index:
                assert found(index, "disk 7") == plainly(log, "disk 7")
        for sidecar in (kept, fresh):
            with Index(root, sidecar, STAGED) as index:
                index.build()
                assert index.check() == ()
                assert found(index, "disk 7") == plainly(log, "disk 7")
        assert contents(kept) == contents(fresh)
        assert told(root, kept, STAGED) == told(root, fresh, STAGED)


def test_two_stages_say_what_one_says(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "app.log").write_bytes(lines(300, 5))
    for name, limits in (("one", PLAIN), ("two", STAGED)):
        with Index(root, tmp_path / f"{name}.db", limits) as index:
            index.build()
            assert index.check() == ()
    assert contents(tmp_path / "one.db") == contents(tmp_path / "two.db")
    assert told(root, tmp_path / "one.db", PLAIN) == told(root, tmp_path / "two.db", STAGED)


def test_between_the_stages_lines_and_times_and_messages_are_told(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    log.write_bytes(lines(300, 5))
    with Index(root, tmp_path / "fresh.db", PLAIN) as index:
        index.build()
    expected = told(root, tmp_path / "fresh.db", PLAIN)
    for runs in (1, 2, 5):
        sidecar = tmp_path / f"{runs}.db"
        build_in_part(root, sidecar, runs)
        assert told(root, sidecar, STAGED) == expected
        with Index(root, sidecar, STAGED) as index:
            answer = index.search(SearchRequest("disk 7", regex=False, scope=NAME))
            assert answer.coverage.by_index == 1
            assert index.read(NAME, 120, 1).lines == (log.read_text().split("\n")[119],)
