"""Timelines, message patterns, facts and reading by time, against a plain reading of every line."""

import re
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linedex.query.plain_logs import NAME, START, TINY, in_order, written

from linedex.errors import NotFound
from linedex.index import Index
from linedex.log_answers import PatternsRequest, Timeline, TimelineRequest
from linedex.query.log_patterns import NoTimes

STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (\w+) (.*)")
ENTRY = st.tuples(
    st.integers(-50, 300),
    st.sampled_from(["INFO", "ERROR", "WARN"]),
    st.sampled_from(["disk 7 full", "user bob logged in", "took 31 ms", "x" * 60]),
    st.integers(0, 2),
)
# seconds after the start: ranges begin and end inside minutes too
MOMENT = st.none() | st.integers(-100, 2500)


def spelled(seconds: int | None) -> str:
    return "" if seconds is None else f"{START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}"


def records(text: str, since: int | None, until: int | None, level: str) -> list[tuple[datetime, str, str]]:
    found = []
    for line in text.splitlines():
        if match := STAMP.match(line):
            moment = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
            late_enough = since is None or moment >= START + timedelta(seconds=since)
            early_enough = until is None or moment < START + timedelta(seconds=until)
            if late_enough and early_enough and level in {"", match[2].lower()}:
                found.append((moment, match[2].lower(), match[3]))
    return found


def told(made: Timeline) -> Counter[tuple[int, str]]:
    return Counter({(one.start, level): count for one in made.buckets for level, count in one.levels.items()})


def counted(found: list[tuple[datetime, str, str]], minutes: int) -> Counter[tuple[int, str]]:
    width = minutes * 60
    return Counter((int(moment.timestamp()) // width * width * 10**6, level) for moment, level, _ in found)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(ENTRY, min_size=4, max_size=40),
    st.tuples(MOMENT, MOMENT).filter(in_order),
    st.sampled_from(["", "error"]),
    st.sampled_from([1, 5]),
)
def test_timelines_and_patterns_count_what_a_reading_of_every_line_counts(
    entries: list[tuple[int, str, str, int]], span: tuple[int | None, int | None], level: str, minutes: int
) -> None:
    text = written([(0, "INFO", "start", 0), (0, "ERROR", "start", 0)] * 2 + entries)
    since, until = map(spelled, span)
    expected = records(text, *span, level)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        log = root / "app.log"
        log.write_text(text)
        asked = TimelineRequest(NAME, since=since, until=until, level=level, bucket_minutes=minutes, max_buckets=400)
        patterns = PatternsRequest(NAME, since=since, until=until, level=level, max_patterns=99)
        with Index(root, Path(folder, "index.db"), TINY) as index:
            for step in range(3):
                made = index.timeline(asked)
                assert told(made) == counted(expected, minutes)
                assert made.total == len(expected)
                bob = index.timeline(TimelineRequest(NAME, "BOB", since=since, until=until, bucket_minutes=1))
                assert bob.total == sum(1 for line in lines_with(text, "bob", span))
                shapes = index.patterns(patterns)
                assert shapes.records == len(expected)
                assert sum(one.count for one in shapes.patterns) == len(expected)
                if step == 0:
                    index.build()
                elif step == 1:
                    more = f"{START + timedelta(seconds=900):%Y-%m-%d %H:%M:%S} ERROR disk 7 full\n"
                    with log.open("a") as grown:
                        grown.write(more)
                    text += more
                    expected = records(text, *span, level)


def lines_with(text: str, word: str, span: tuple[int | None, int | None]) -> list[str]:
    found, moment = [], None
    for line in text.splitlines():
        if match := STAMP.match(line):
            moment = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
        assert moment is not None
        late_enough = span[0] is None or moment >= START + timedelta(seconds=span[0])
        if word in line and late_enough and (span[1] is None or moment < START + timedelta(seconds=span[1])):
            found.append(line)
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def test_empty_buckets_are_shown_and_files_are_merged_by_time(root: Path, tmp_path: Path) -> None:
    (root / "a.log").write_text(written([(0, "INFO", "user bob logged in", 0)] * 3))
    (root / "b.log").write_text(written([(600, "ERROR", "disk 7 full", 0)] * 4))
    (root / "notes.txt").write_text("no time is told here\n")
    with Index(root, tmp_path / "index.db", TINY) as index:
        made = index.timeline(TimelineRequest(bucket_minutes=1))
        assert [one.total for one in made.buckets] == [1, 1, 1, *[0] * 7, 1, 1, 1, 1]
        assert [(bytes(one.path), one.records) for one in made.files] == [(b"a.log", 3), (b"b.log", 4)]
        assert made.levels == {"info": 3, "error": 4}
        assert {str(reason): count for reason, count in made.skipped.items()} == {"without recognised times": 1}
        assert len(index.timeline(TimelineRequest(max_buckets=5)).buckets) <= 5
        only = index.timeline(TimelineRequest(include=("b*",)))
        assert [bytes(one.path) for one in only.files] == [b"b.log"]


@pytest.mark.parametrize("built", [False, True])
def test_what_is_new_after_a_time_stands_first(built: bool, root: Path, tmp_path: Path) -> None:
    usual = [(0, "INFO", "user bob logged in", 0), (1, "INFO", "took 31 ms", 0)]
    (root / "app.log").write_text(written(usual * 30 + [*usual, (0, "ERROR", "disk 7 full", 1)] * 10))
    with Index(root, tmp_path / "index.db", TINY) as index:
        if built:
            index.build()
        since = spelled(60 * 60)
        made = index.patterns(PatternsRequest(NAME, since=since, compare=True))
        first = made.patterns[0]
        assert (first.text, first.count, first.before) == ("<*> disk <*> full", 10, 0)
        assert first.levels == {"error": 10}
        assert first.first == int((START + timedelta(minutes=62)).timestamp()) * 10**6
        assert first.last == int((START + timedelta(minutes=89)).timestamp()) * 10**6
        assert first.line == 63
        assert first.example.endswith("ERROR disk 7 full")
        assert {one.text: (one.before, one.count) for one in made.patterns[1:]} == {
            "<*> user bob logged in": (30, 10),
            "<*> took <*>": (30, 10),
        }
        assert made.before_records == 60


def test_reading_by_time_begins_at_the_first_record_that_is_not_earlier(root: Path, tmp_path: Path) -> None:
    entries = [(0, "INFO", "user bob logged in", 1)] * 20 + [(-700, "INFO", "late", 0)] + [(0, "INFO", "end", 0)] * 5
    (root / "app.log").write_text(written(entries))
    with Index(root, tmp_path / "index.db", TINY) as index:
        for _ in range(2):
            answer = index.read_at(NAME, "05:05", 3)
            assert answer.first_line == 11
            assert answer.lines[0].startswith("2026-03-04 05:05:00")
            assert "out of order" not in answer.note
            assert "out of order" in index.read_at(NAME, "05:09", 3).note
            assert index.read_at(NAME, "05:24:01", 1).lines == ("2026-03-04 05:25:00 INFO end",)
            with pytest.raises(NotFound, match="at or after"):
                index.read_at(NAME, "2026-03-05", 1)
            index.build()


@pytest.mark.parametrize("built", [False, True])
def test_an_overview_tells_what_a_log_holds(built: bool, root: Path, tmp_path: Path) -> None:
    text = written([(0, "INFO", "user bob logged in", 1)] * 10 + [(36000, "ERROR", "disk 7 full", 0)] * 3)
    (root / "app.log").write_text(text)
    with Index(root, tmp_path / "index.db", TINY) as index:
        if built:
            index.build()
        overview = index.overview(NAME)
        log = overview.log
        assert log is not None
        assert (log.records, log.levels, log.unstamped) == (13, {"info": 10, "error": 3}, 0)
        assert log.first == int(START.timestamp()) * 10**6
        assert log.last == int((START + timedelta(minutes=12, hours=10)).timestamp()) * 10**6
        assert [(gap.until - gap.since) // 60_000_000 for gap in log.gaps] == [601]
        assert overview.longest_line == max(map(len, text.splitlines()))


def test_a_file_without_times_is_no_log(root: Path, tmp_path: Path) -> None:
    (root / "app.log").write_text("nothing here tells the time\n" * 30)
    with Index(root, tmp_path / "index.db", TINY) as index:
        assert index.overview(NAME).log is None
        with pytest.raises(NoTimes):
            index.patterns(PatternsRequest(NAME))
        with pytest.raises(NoTimes):
            index.read_at(NAME, "05:00")
