"""What is stored of a large log, against a plain reading of its lines one by one."""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linedex.content.logs.cells import merge_cells
from linedex.content.logs.instants import NO_INSTANT
from linedex.content.logs.levels import Level
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import FileId
from linedex.store import logs
from linedex.store.log_columns import LogColumns, packed, unpacked

TINY = Limits(
    large_file=256,
    block_bytes=64,
    block_slack=700,
    batch_bytes=300,
    commit_bytes=500,
    log_part_bytes=200,
    log_zone="UTC",
    index_symbols=False,
    workers=0,
)
START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
STAMP = re.compile(rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (\w+)")
ENTRY = st.tuples(
    st.integers(-90, 400),
    st.sampled_from(["INFO", "ERROR", "WARN"]),
    st.sampled_from(["disk 7 full", "user bob logged in", "took 31 ms"]),
    st.integers(0, 3),
)
ENTRIES = st.lists(ENTRY, min_size=1, max_size=12)


def written(entries: list[tuple[int, str, str, int]], begin: int, encoding: str = "utf-8") -> bytes:
    lines = []
    for number, (seconds, level, message, more) in enumerate(entries):
        moment = START + timedelta(seconds=60 * (begin + number) + seconds)
        lines.append(f"{moment:%Y-%m-%d %H:%M:%S} {level} {message}")
        lines += ["\tat some.place(Here.java:12)"] * more
    return "".join(line + "\n" for line in lines).encode(encoding)


def expected(text: bytes) -> tuple[Counter[tuple[int, str]], int, list[datetime]]:
    """Count records by minute and level line by line; and the lines, and the instants."""
    counts: Counter[tuple[int, str]] = Counter()
    moments = []
    for line in text.splitlines():
        if match := STAMP.match(line):
            moment = datetime.fromisoformat(match[1].decode()).replace(tzinfo=UTC)
            moments.append(moment)
            counts[int(moment.timestamp()) // 60, match[2].decode().lower()] += 1
    return counts, len(text.splitlines()), moments


@contextmanager
def stored(index: Index) -> Iterator[tuple[LogColumns, Counter[str]]]:
    """Give the columns of the one file of an index, and its templates with their counts."""
    with index._keeper.reading() as db:
        assert db is not None
        file = FileId(int(db.execute("SELECT id FROM files").get))
        columns = logs.columns(db, file)
        miner = logs.stored_miner(db, file)
        names = [miner.drain.text(number) for number in columns.template["template"].tolist()]
        counts: Counter[str] = Counter()
        for name, count in zip(names, columns.template["template_count"].tolist(), strict=True):
            counts[name] += count
        yield columns, counts


def agrees(index: Index, text: bytes) -> None:
    counts, lines, moments = expected(text)
    with stored(index) as (columns, templates):
        cells = merge_cells([columns.cells()])
        entries = zip(cells.minutes.tolist(), cells.levels.tolist(), cells.counts.tolist(), strict=True)
        assert {(minute, Level(level).label): count for minute, level, count in entries} == counts
        assert int(columns.part["lines"].sum()) == lines
        assert int(columns.part["records"].sum()) == len(moments) == templates.total()
        assert columns.part["start"].tolist() == [0, *columns.part["end"].tolist()[:-1]]
        known = columns.part["least"] != NO_INSTANT
        least, greatest = columns.part["least"][known].min(), columns.part["greatest"][known].max()
        assert least == min(moments).timestamp() * 1e6
        assert greatest == max(moments).timestamp() * 1e6
        assert columns.last == moments[-1].timestamp() * 1e6


@settings(max_examples=25, deadline=None)
@example([(0, "INFO", "disk 7 full", 0)], [([(0, "INFO", "disk 7 full", 0)], 33)], "utf-8")
@given(ENTRIES, st.lists(st.tuples(ENTRIES, st.integers(0, 40)), max_size=5), st.sampled_from(["utf-8", "utf-16-le"]))
def test_counts_of_a_log_stay_those_of_its_lines_while_it_grows(
    first: list[tuple[int, str, str, int]],
    appended: list[tuple[list[tuple[int, str, str, int]], int]],
    encoding: str,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        log = root / "app.log"
        steady = [(0, "INFO", "user bob logged in", 0), (1, "WARN", "disk 7 full", 1)] * 8
        bom = "\ufeff".encode(encoding) if encoding != "utf-8" else b""
        text = written(steady, 0) + written(first, 20)
        log.write_bytes(bom + text.decode().encode(encoding))
        with Index(root, Path(folder, "index.db"), TINY) as index:
            index.build()
            if not bom:
                agrees(index, text)
            for number, (entries, cut) in enumerate(appended, start=2):
                more = written(entries, 20 * number)
                # a program may be in the middle of a line
                for piece in (more[:cut], more[cut:]):
                    text += piece
                    with log.open("ab") as grown:
                        grown.write(piece.decode().encode(encoding))
                    index.build()
            if appended and not bom:
                agrees(index, text)
            with stored(index) as (grown_columns, grown_templates):
                kept = grown_columns.cells(), grown_templates, int(grown_columns.part["lines"].sum())
        with Index(root, Path(folder, "fresh.db"), TINY) as fresh:
            fresh.build()
            with stored(fresh) as (fresh_columns, fresh_templates):
                for one, other in zip(
                    vars_of(merge_cells([kept[0]])), vars_of(merge_cells([fresh_columns.cells()])), strict=True
                ):
                    assert one == other
                assert kept[1:] == (fresh_templates, int(fresh_columns.part["lines"].sum()))


def vars_of(cells: object) -> list[list[int]]:
    return [getattr(cells, name).tolist() for name in ("minutes", "levels", "counts")]


def test_a_log_without_years_turns_over_where_it_was_cut(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    moments = [datetime(2023, 11, 20, tzinfo=UTC) + timedelta(days=9 * step) for step in range(120)]
    lines = [f"{moment:%b %d %H:%M:%S} host app[7]: message number {at}" for at, moment in enumerate(moments)]
    (root / "syslog").write_text("".join(line + "\n" for line in lines))
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        with stored(index) as (columns, _):
            starts, lasts = columns.part["clock_last"].tolist(), columns.part["last"].tolist()
            assert starts[1:] == lasts[:-1]
            years = 366 * 86400 * 10**6
            assert [last // years for last in lasts][-1] == 3
            assert int(columns.part["records"].sum()) == 120
            days = columns.cell["cell_minute"] // (24 * 60)
            assert sorted(set((days % 366).tolist())) == sorted(
                {(moment.replace(year=2000) - datetime(2000, 1, 1, tzinfo=UTC)).days for moment in moments}
            )


def test_what_an_edit_changed_is_forgotten_and_a_rewritten_log_is_read_anew(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    text = written([(0, "INFO", "user bob logged in", 0)] * 40, 0)
    log.write_bytes(text)
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        agrees(index, text)
        text = written([(0, "ERROR", "disk 7 full", 2)] * 30, 100)
        log.write_bytes(text)
        index.build()
        agrees(index, text)
        log.write_bytes(b"no stamps here at all\n" * 40)
        index.build()
        with index._keeper.reading() as db:
            assert db is not None
            assert db.execute("SELECT count(*) FROM log_segments").get == 0
            assert db.execute("SELECT rule FROM logs").get == ""


@pytest.mark.parametrize("count", [0, 1, 7])
def test_columns_say_what_their_parts_say(count: int, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "app.log").write_bytes(written([(5, "WARN", "took 31 ms", 1)] * 60, 0))
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        with stored(index) as (columns, _):
            parts = columns.parts()[:count]
    again = unpacked([packed(parts[:3]), packed(parts[3:])]).parts()
    assert [one.start for one in again] == [one.start for one in parts]
    assert [one.carry for one in again] == [one.carry for one in parts]
    assert [dict(one.templates) for one in again] == [dict(one.templates) for one in parts]
