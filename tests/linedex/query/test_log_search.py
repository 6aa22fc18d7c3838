"""Searches by time and level, against a filter that reads every line by itself."""

import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linedex.query.plain_logs import NAME, START, TINY, in_order, written

from linedex.answers import Coverage, OutputMode, SearchAnswer, SearchRequest
from linedex.content.logs.moments import EmptyRange, UnreadableTime
from linedex.content.logs.selection import UnknownLevel
from linedex.errors import BadArgument, BadCursor
from linedex.index import Index

STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (\w+)")

ENTRY = st.tuples(
    st.integers(-50, 300),
    st.sampled_from(["INFO", "ERROR", "WARN"]),
    st.sampled_from(["disk full", "user bob", "x" * 60]),
    st.integers(0, 2),
)
MOMENT = st.none() | st.integers(-2, 45)
LEVEL = st.sampled_from(["", "error", "warn+", "info,error", "none"])
MEANT = {
    "": {"info", "warn", "error", None},
    "error": {"error"},
    "warn+": {"warn", "error"},
    "info,error": {"info", "error"},
    "none": {None},
}


def spelled(minutes: int | None) -> str:
    return "" if minutes is None else f"{START + timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%S}"


def chosen(text: str, pattern: str, since: int | None, until: int | None, level: str) -> list[int]:
    """Return the lines that a reader of the whole file finds."""
    found = []
    moment, word = None, None
    for number, line in enumerate(text.splitlines(), start=1):
        if match := STAMP.match(line):
            moment, word = datetime.fromisoformat(match[1]).replace(tzinfo=UTC), match[2].lower()
        if pattern not in line.lower() or moment is None:
            continue
        late_enough = since is None or moment >= START + timedelta(minutes=since)
        early_enough = until is None or moment < START + timedelta(minutes=until)
        if late_enough and early_enough and word in MEANT[level]:
            found.append(number)
    return found


def numbers(answer: SearchAnswer) -> list[int]:
    return [hit.line for found in answer.files for hit in found.hits]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(ENTRY, min_size=4, max_size=40),
    st.sampled_from(["bob", "disk", "x", "05:"]),
    st.tuples(MOMENT, MOMENT).filter(in_order),
    LEVEL,
    st.sampled_from(["utf-8", "utf-16"]),
    st.integers(1, 5),
)
def test_what_is_found_by_time_and_level_is_what_a_reading_of_every_line_finds(
    entries: list[tuple[int, str, str, int]],
    pattern: str,
    span: tuple[int | None, int | None],
    level: str,
    encoding: str,
    page: int,
) -> None:
    text = written([(0, "INFO", "start", 0)] * 3 + entries)
    request = SearchRequest(pattern, scope=NAME, since=spelled(span[0]), until=spelled(span[1]), level=level)
    expected = chosen(text, pattern, *span, level)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        (root / "app.log").write_bytes(text.encode(encoding))
        with Index(root, Path(folder, "index.db"), TINY) as index:
            assert numbers(index.search(request)) == expected
            index.build()
            answer = index.search(request)
            assert numbers(answer) == expected
            if request.since or request.until or level:
                assert answer.coverage.verdict is Coverage.COMPLETE
            assert index.search(with_mode(request, OutputMode.COUNT)).total_hits == len(expected)
            assert bool(index.search(with_mode(request, OutputMode.FILES)).files) is bool(expected)
            paged = [hit.line for one in index.pages(smaller(request, page), page) for f in one.files for hit in f.hits]
            assert paged == expected
            with (root / "app.log").open("ab") as log:
                more = f"{START + timedelta(minutes=30):%Y-%m-%d %H:%M:%S} ERROR disk x bob\n"
                log.write(more.encode(encoding.replace("utf-16", "utf-16-le")))
            assert numbers(index.search(request)) == chosen(text + more, pattern, *span, level)


def with_mode(request: SearchRequest, mode: OutputMode) -> SearchRequest:
    return SearchRequest(
        request.pattern, scope=NAME, since=request.since, until=request.until, level=request.level, mode=mode
    )


def smaller(request: SearchRequest, page: int) -> SearchRequest:
    return SearchRequest(
        request.pattern, scope=NAME, since=request.since, until=request.until, level=request.level, max_hits=page
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def test_a_time_of_day_counts_from_the_last_record_of_the_file(root: Path, tmp_path: Path) -> None:
    (root / "app.log").write_text(written([(0, "INFO", "user bob", 0)] * 70))
    with Index(root, tmp_path / "index.db", TINY) as index:
        answer = index.search(SearchRequest("bob", scope=NAME, since="06:00"))
        assert numbers(answer) == list(range(61, 71))
        assert answer.span is not None
        assert answer.span.since == int((START + timedelta(hours=1)).timestamp()) * 10**6
        assert numbers(index.search(SearchRequest("bob", scope=NAME, since="-2m"))) == [68, 69, 70]
        assert numbers(index.search(SearchRequest("bob", scope=NAME, since="05:10", until="05:12"))) == [11, 12]
        assert numbers(index.search(SearchRequest("bob", scope=NAME, since=":69"))) == [69, 70]


def test_in_a_folder_times_count_from_the_latest_record_of_its_files(root: Path, tmp_path: Path) -> None:
    (root / "app.log.1").write_text(written([(0, "INFO", "user bob", 0)] * 10))
    (root / "app.log").write_text(written([(3600, "INFO", "user bob", 0)] * 10))
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        answer = index.search(SearchRequest("bob", since="-5m"))
        assert [(bytes(one.path), len(one.hits)) for one in answer.files] == [(b"app.log", 6)]
        with pytest.raises(BadArgument, match="of one file"):
            index.search(SearchRequest("bob", since=":3"))


@pytest.mark.parametrize("size", [3, 40])
def test_files_without_times_or_levels_are_said_to_be_left_out(size: int, root: Path, tmp_path: Path) -> None:
    (root / "app.log").write_text(written([(0, "ERROR", "user bob", 0)] * size))
    (root / "notes.txt").write_text("bob was here, without a time\n" * size)
    (root / "bare.log").write_text("".join(f"2026-03-04 05:06:{at:02d} bob said so\n" for at in range(size)))
    (root / "other.txt").write_text("nobody was here\n".replace("bob", "b") * size)
    with Index(root, tmp_path / "index.db", TINY) as index:
        for _ in range(2):
            answer = index.search(SearchRequest("bob", level="error"))
            assert [bytes(one.path) for one in answer.files] == [b"app.log"]
            skipped = {str(reason): count for reason, count in answer.coverage.skipped.items()}
            assert skipped == {"without recognised times": 1, "without recognised levels": 1}
            index.build()


def test_a_page_goes_on_in_the_range_it_began_with(root: Path, tmp_path: Path) -> None:
    log = root / "app.log"
    log.write_text(written([(0, "INFO", "user bob", 0)] * 20))
    with Index(root, tmp_path / "index.db", TINY) as index:
        request = SearchRequest("bob", scope=NAME, since="-9m", max_hits=4)
        first = index.search(request)
        assert numbers(first) == [11, 12, 13, 14]
        with log.open("a") as grown:
            grown.write(f"{START + timedelta(minutes=25):%Y-%m-%d %H:%M:%S} INFO user bob\n")
        again = SearchRequest("bob", scope=NAME, since="-9m", max_hits=9, cursor=first.cursor)
        assert numbers(index.search(again)) == [15, 16, 17, 18, 19, 20, 21]
        with pytest.raises(BadCursor):
            index.search(SearchRequest("bob", scope=NAME, since="-8m", cursor=first.cursor))


def test_what_cannot_be_read_as_a_time_or_level_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "app.log").write_text(written([(0, "INFO", "user bob", 0)] * 5))
    with Index(root, tmp_path / "index.db", TINY) as index:
        with pytest.raises(UnreadableTime):
            index.search(SearchRequest("bob", scope=NAME, since="yesterday"))
        with pytest.raises(EmptyRange):
            index.search(SearchRequest("bob", scope=NAME, since="2026-03-05", until="2026-03-04"))
        with pytest.raises(UnknownLevel):
            index.search(SearchRequest("bob", scope=NAME, level="loud"))


def test_a_line_too_long_to_be_held_is_chosen_by_its_head(root: Path, tmp_path: Path) -> None:
    lines = [f"{START + timedelta(minutes=at):%Y-%m-%d %H:%M:%S} INFO {'y' * 400} needle" for at in range(6)]
    (root / "app.log").write_text("".join(line + "\n" for line in lines))
    with Index(root, tmp_path / "index.db", TINY) as index:
        for _ in range(2):
            answer = index.search(SearchRequest("needle", scope=NAME, since=spelled(2), until=spelled(4)))
            assert numbers(answer) == [3, 4]
            index.build()
