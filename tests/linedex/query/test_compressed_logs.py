"""A compressed log is asked by time, level and message like the plain one, which answers beside it."""

import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linedex.files.compressed.packing import gz, xz, xz_of_blocks, zst
from tests.linedex.query.plain_logs import TINY, in_order, written
from tests.linedex.query.test_log_questions import ENTRY, MOMENT, spelled

from linedex.answers import SearchAnswer, SearchRequest
from linedex.files.compressed.points import WINDOW
from linedex.index import Index
from linedex.limits import Limits
from linedex.log_answers import PatternsRequest, TimelineRequest
from linedex.model import RelPath

LIMITS = replace(TINY, still_seconds=0, seek_spacing=300, frame_bytes=2_000)
KINDS = {
    "app.log.gz": lambda text: gz(text, 2),
    "app.log.zst": lambda text: zst(text, 3),
    "app.log.zstd": zst,
    "app.log.xz": lambda text: xz_of_blocks(text, 5),
    "old.log.xz": xz,
}
PLAIN = RelPath(b"app.log")


@contextmanager
def both(folder: Path, name: str, text: str, limits: Limits = LIMITS, *, built: bool) -> Iterator[tuple[Index, Index]]:
    """Give an index of the plain log, and one of the same log compressed; the one knows it if the other does."""
    made = []
    for kind, (inside, raw) in {
        "plain": ("app.log", text.encode()),
        "packed": (name, KINDS[name](text.encode())),
    }.items():
        root = folder / kind
        root.mkdir(parents=True)
        (root / inside).write_bytes(raw)
        os.utime(root / inside, (1_800_000_000, 1_800_000_000))
        made.append(Index(root, folder / f"{kind}-state" / "index.db", limits))
    with made[0] as plain, made[1] as packed:
        if built:
            plain.build()
            packed.build()
            assert packed.status().indexed == 1
        yield plain, packed


def hits(answer: SearchAnswer) -> list[tuple[int, str]]:
    return [(hit.line, hit.text) for file in answer.files for hit in file.hits]


def same_answers(plain: Index, packed: Index, name: str, since: str, until: str, level: str) -> None:
    here = RelPath(name.encode())
    span = {"since": since, "until": until, "level": level}
    for asked in (
        TimelineRequest(PLAIN, bucket_minutes=5, **span),
        TimelineRequest(PLAIN, "bob", bucket_minutes=1, **span),
    ):
        one, other = plain.timeline(asked), packed.timeline(replace(asked, scope=here))
        assert (other.buckets, other.total, other.levels, other.span) == (one.buckets, one.total, one.levels, one.span)
        assert (other.unstamped, dict(other.skipped), other.late) == (one.unstamped, dict(one.skipped), False)
    shapes = PatternsRequest(PLAIN, max_patterns=99, **span)
    one_shapes, other_shapes = plain.patterns(shapes), packed.patterns(replace(shapes, scope=here))
    assert sorted(map(str, map(asdict, other_shapes.patterns))) == sorted(map(str, map(asdict, one_shapes.patterns)))
    assert other_shapes.records == one_shapes.records
    search = SearchRequest("o", scope=PLAIN, max_hits=10_000, **span)
    assert hits(packed.search(replace(search, scope=here))) == hits(plain.search(search))


@settings(max_examples=12, deadline=None)
@given(
    st.lists(ENTRY, min_size=6, max_size=40),
    st.sampled_from(sorted(KINDS)),
    st.tuples(MOMENT, MOMENT).filter(in_order),
    st.sampled_from(["", "error"]),
    st.booleans(),
)
def test_counts_patterns_and_hits_are_those_of_the_plain_file(
    entries: list[tuple[int, str, str, int]], name: str, span: tuple[int | None, int | None], level: str, built: bool
) -> None:
    text = written([(0, "INFO", "start", 0), (0, "ERROR", "bob stopped", 0)] * 4 + entries)
    with tempfile.TemporaryDirectory() as folder, both(Path(folder), name, text, built=built) as (plain, packed):
        same_answers(plain, packed, name, *map(spelled, span), level)


TEXT = written([(0, "INFO", "user bob logged in", 1), (0, "ERROR", "disk 7 full", 0)] * 60)


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_a_range_counted_from_the_last_record_is_that_of_the_plain_file(name: str, built: bool, tmp_path: Path) -> None:
    with both(tmp_path, name, TEXT, built=built) as (plain, packed):
        same_answers(plain, packed, name, "-30m", "", "")
        same_answers(plain, packed, name, "06:10", "06:20", "error")
        one, other = plain.read_at(PLAIN, "06:10", 2), packed.read_at(RelPath(name.encode()), "06:10", 2)
        assert (other.first_line, other.lines) == (one.first_line, one.lines)
        assert packed.overview(RelPath(name.encode())).log == plain.overview(PLAIN).log


LARGER = replace(
    LIMITS, block_bytes=16_000, batch_bytes=90_000, window_bytes=40_000, log_part_bytes=40_000, seek_spacing=32_000
)
LONG = written([(0, "INFO", f"request {number} {number * 7919:x}", 0) for number in range(20_000)])


@pytest.mark.parametrize("asked", ["timeline", "patterns", "overview"])
def test_what_the_index_knows_of_a_log_is_told_without_decoding_it(asked: str, tmp_path: Path) -> None:
    with both(tmp_path, "app.log.gz", LONG, LARGER, built=True) as (plain, packed):
        spoil_windows(tmp_path, 0)
        name = RelPath(b"app.log.gz")
        if asked == "timeline":
            request = TimelineRequest(name, since="2026-03-05 06:00", bucket_minutes=10)
            assert packed.timeline(request).buckets == plain.timeline(replace(request, scope=PLAIN)).buckets
        elif asked == "overview":
            assert packed.overview(name).log == plain.overview(PLAIN).log
        else:
            found = [(one.text, one.count) for one in packed.patterns(PatternsRequest(name)).patterns]
            assert found == [(one.text, one.count) for one in plain.patterns(PatternsRequest(PLAIN)).patterns]


def test_a_range_before_the_last_record_is_searched_by_decoding_the_end_of_the_text_alone(tmp_path: Path) -> None:
    with both(tmp_path, "app.log.gz", LONG, LARGER, built=True) as (plain, packed):
        spoil_windows(tmp_path, 2)
        asked = SearchRequest("request", since="-10m", max_hits=99)
        assert hits(packed.search(asked)) == hits(plain.search(asked))
        timeline = TimelineRequest(since="-10m", bucket_minutes=1)
        assert packed.timeline(timeline).buckets == plain.timeline(timeline).buckets


def spoil_windows(folder: Path, kept: int) -> None:
    """Spoil the windows of all seek points but the last ones, so that what is before cannot be decoded."""
    with apsw.Connection(str(folder / "packed-state" / "index.db")) as db:
        ((group, data),) = db.execute("SELECT grp, data FROM seek_windows").fetchall()
        windows = zlib.decompress(data)
        assert len(windows) > 8 * WINDOW
        spoilt = bytes(len(windows) - kept * WINDOW) + windows[len(windows) - kept * WINDOW :]
        db.execute("UPDATE seek_windows SET data = ? WHERE grp = ?", (zlib.compress(spoilt), group))


def test_logs_plain_and_compressed_are_counted_together(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    lines = TEXT.splitlines(keepends=True)
    (root / "app.log").write_text("".join(lines[240:]))
    (root / "app.log.1").write_text("".join(lines[120:240]))
    (root / "app.log.2.gz").write_bytes(gz("".join(lines[:120]).encode()))
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "app.log").write_text(TEXT)
    with Index(whole, tmp_path / "a" / "i.db", LIMITS) as one, Index(root, tmp_path / "b" / "i.db", LIMITS) as three:
        for _ in range(2):
            for asked in (TimelineRequest(bucket_minutes=5), TimelineRequest(since="-1h", bucket_minutes=5)):
                assert three.timeline(asked).buckets == one.timeline(asked).buckets
                assert three.timeline(asked).total == one.timeline(asked).total
            one.build()
            three.build()
