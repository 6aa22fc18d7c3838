"""Questions about large logs that the index does not know: answered in bounded steps that say how far they went."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linedex.query.plain_logs import NAME, START, TINY, written

from linedex.content.lines import LineEnds
from linedex.index import Index
from linedex.limits import Limits
from linedex.log_answers import PatternsRequest, TimelineRequest
from linedex.model import TextFormat
from linedex.query.log_patterns import NoTimes
from linedex.query.samples import samples

SHORT = replace(TINY, query_seconds=0.0)
"""Each question takes one step."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@contextmanager
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    sizes: list[int] = []
    pread = os.pread

    def counted(descriptor: int, size: int, offset: int) -> bytes:
        data = pread(descriptor, size, offset)
        sizes.append(len(data))
        return data

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", counted)
        yield sizes


def test_an_overview_of_a_huge_log_that_is_not_indexed_reads_a_sample_and_says_so(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [(0, "ERROR" if at % 4 == 0 else "INFO", f"request {at} was served", at % 2) for at in range(200_000)]
    (root / "app.log").write_text(written(entries))
    size = (root / "app.log").stat().st_size
    limits = Limits(
        overview_bytes=1 << 20, log_zone="UTC", workers=0, index_symbols=False, hash_bytes=1 << 20, text_bytes=1 << 20
    )
    with Index(root, tmp_path / "index.db", limits) as index:
        with reads(monkeypatch) as sizes:
            found = index.overview(NAME)
        log = found.log
        assert log is not None
        # the pass that tells how its bytes spell text, the sample for the format, and the two samples
        assert sum(sizes) < size + (6 << 20)
        assert log.first == int(START.timestamp()) * 10**6
        assert log.last == int((START + timedelta(minutes=199_999)).timestamp()) * 10**6
        assert log.records == pytest.approx(200_000, rel=0.1)
        assert log.levels["error"] == pytest.approx(50_000, rel=0.1)
        assert found.lines == pytest.approx(300_000, rel=0.1)
        assert (log.busiest, log.gaps, log.unstamped) == (None, (), -1)
        assert 0 < log.sampled <= 3 << 20
        assert found.approximate == ("lines", "long_lines", "longest_line")
        # another question reads it to its end, and then all is known
        index.timeline(TimelineRequest(NAME))
        found = index.overview(NAME)
        assert found.log is not None
        assert (found.log.records, found.log.levels["error"], found.lines) == (200_000, 50_000, 300_000)
        assert (found.log.sampled, found.approximate) == (0, ())


def test_an_overview_counts_what_the_index_knows_and_reckons_what_was_added_since(root: Path, tmp_path: Path) -> None:
    limits = replace(TINY, overview_bytes=2000)
    (root / "app.log").write_text(written([(0, "INFO", "user bob logged in", 0)] * 200))
    with Index(root, tmp_path / "index.db", limits) as index:
        index.build()
        more = written([(60 * 200, "ERROR", "disk 7 full", 0)] * 3000)
        with (root / "app.log").open("a") as log:
            log.write(more)
        found = index.overview(NAME)
        assert found.log is not None
        assert found.log.sampled
        assert found.log.levels["info"] == 200
        assert found.log.levels["error"] == pytest.approx(3000, rel=0.2)
        assert found.log.last == int((START + timedelta(minutes=3199)).timestamp()) * 10**6
        assert found.lines == pytest.approx(3200, rel=0.2)


def test_an_overview_of_a_log_without_years_samples_across_new_year(root: Path, tmp_path: Path) -> None:
    moments = [START.replace(month=11) + timedelta(hours=6 * step) for step in range(400)]
    (root / "syslog").write_text("".join(f"{at:%b %d %H:%M:%S} host app[7]: message\n" for at in moments))
    end = moments[-1].timestamp()
    os.utime(root / "syslog", (end, end))
    with Index(root, tmp_path / "index.db", replace(TINY, overview_bytes=2000)) as index:
        found = index.overview(type(NAME)(b"syslog")).log
        assert found is not None
        assert found.sampled
        assert found.first == int(moments[0].timestamp()) * 10**6
        assert found.last == int(end) * 10**6


def test_an_overview_of_a_huge_text_without_times_tells_about_how_many_lines_it_has(root: Path, tmp_path: Path) -> None:
    (root / "app.log").write_text("nothing here tells the time\n" * 100_000 + "x" * 5000 + "\n")
    with Index(root, tmp_path / "index.db", replace(TINY, overview_bytes=2000)) as index:
        found = index.overview(NAME)
        assert found.log is None
        assert found.lines == pytest.approx(100_000, rel=0.1)
        assert (found.long_lines, found.longest_line) == (1, 5000)
        assert found.approximate == ("lines", "long_lines", "longest_line")


def test_a_timeline_that_time_cuts_short_says_how_far_it_read_and_the_next_goes_on_there(
    root: Path, tmp_path: Path
) -> None:
    entries = [(0, "INFO", "user bob logged in", 1)] * 40 + [(0, "ERROR", "disk 7 full", 0)] * 40
    (root / "app.log").write_text(written(entries))
    asked = TimelineRequest(NAME, max_buckets=400, bucket_minutes=1)
    with Index(root, tmp_path / "index.db", SHORT) as index:
        totals = []
        for _ in range(200):
            made = index.timeline(asked)
            totals.append(made.total)
            if not made.late:
                break
            assert "app.log was read up to byte" in made.notes[0]
            assert made.notes[0].endswith("ask again, and reading goes on from there")
        assert len(totals) > 5
        assert totals == sorted(totals)
        assert (made.total, made.levels, made.notes) == (80, {"info": 40, "error": 40}, ())


def test_a_log_that_is_written_all_the_time_is_read_to_its_end_all_the_same(root: Path, tmp_path: Path) -> None:
    (root / "app.log").write_text(written([(0, "INFO", "user bob logged in", 1)] * 40))
    with Index(root, tmp_path / "index.db", SHORT) as index, (root / "app.log").open("a", buffering=1) as log:
        for step in range(200):
            log.write(written([(60 * (40 + step), "INFO", "x", 0)]))
            if not index.timeline(TimelineRequest(NAME)).late:
                break
        assert step < 100
        assert index.timeline(TimelineRequest(NAME)).total >= 40 + step


def test_a_log_without_years_is_not_counted_before_its_last_record_is_known(root: Path, tmp_path: Path) -> None:
    (root / "app.log").write_text(
        "".join(f"Mar {at // 24 + 1:2d} {at % 24:02d}:00:00 host app: hi\n" for at in range(99))
    )
    with Index(root, tmp_path / "index.db", SHORT) as index:
        made = index.timeline(TimelineRequest(NAME))
        assert (made.late, made.total) == (True, 0)
        assert "its years are told by its end" in made.notes[0]
        with pytest.raises(NoTimes, match="not read to its end"):
            index.patterns(PatternsRequest(NAME))


def test_files_that_time_did_not_suffice_for_are_counted_in_the_notes(root: Path, tmp_path: Path) -> None:
    for name in ("a.log", "b.log", "c.log"):
        (root / name).write_text(written([(0, "INFO", "user bob logged in", 0)] * 4))
    with Index(root, tmp_path / "index.db", SHORT) as index:
        made = index.timeline(TimelineRequest())
        assert (made.late, [bytes(one.path) for one in made.files]) == (True, [b"a.log"])
        assert made.notes == ("2 files were not looked at: ask of fewer files, or of a shorter range",)


def test_patterns_that_time_cuts_short_are_counted_on_by_the_next_question(root: Path, tmp_path: Path) -> None:
    entries = [(0, "INFO", "user bob logged in", 1), (0, "ERROR", "disk 7 full", 0)] * 40
    (root / "app.log").write_text(written(entries))
    with Index(root, tmp_path / "index.db", SHORT) as index:
        counts = []
        for _ in range(300):
            made = index.patterns(PatternsRequest(NAME))
            counts.append(made.records)
            if not made.late:
                break
            assert made.notes[-1].endswith(("ask again, and reading goes on from there", "counting goes on from there"))
        assert len(counts) > 5
        assert counts == sorted(counts)
        assert {one.text: one.count for one in made.patterns} == {"<*> user bob logged in": 40, "<*> disk <*> full": 40}
        # what was counted is not read again, but for the last part, which may grow
        with (root / "app.log").open("a") as log:
            log.write(written([(60 * 80, "WARN", "disk 8 full", 0)]))
        steps = 0
        while (made := index.patterns(PatternsRequest(NAME))).late:
            steps += 1
        assert steps <= len(counts) / 2
        assert Counter(made.patterns[0].levels)["warn"] + Counter(made.patterns[1].levels)["warn"] == 1
        assert made.records == 81


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 30), max_size=120),
    st.integers(2, 9),
    st.integers(8, 40),
    st.booleans(),
)
def test_a_sample_is_whole_lines_in_order_with_both_ends_of_what_is_sampled(
    lengths: list[int], count: int, size: int, ended: bool
) -> None:
    text = b"".join(b"%d" % (length % 10) * length + b"\n" for length in lengths)
    text = text if ended else text[:-1]
    places = {0, *(at + 1 for at, byte in enumerate(text) if byte == 10)}

    def read(offset: int, wanted: int) -> bytes:
        return text[offset : offset + wanted]

    taken = list(samples(read, 0, len(text), LineEnds.of(TextFormat()), count=count, size=size))
    behind = 0
    for one in taken:
        assert one.start >= behind
        assert text[one.start : one.start + len(one.data)] == one.data
        behind = one.start + len(one.data)
        if one.whole:
            assert one.start in places
            assert behind in places or behind == len(text)
        assert one.follows == (one.start == 0)
    if len(text) < 2 * size:
        assert b"".join(one.data for one in taken) == text
    if text and 2 * (max(map(len, text.splitlines())) + 1) < size:
        assert taken[0].start == 0
        assert behind == len(text)
