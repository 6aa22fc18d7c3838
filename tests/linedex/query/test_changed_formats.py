"""Logs whose stamps change their form inside the file, against a reader that knows which line has which form."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.linedex.query.plain_logs import NAME, START, TINY

from linedex.answers import SearchRequest
from linedex.content.logs.cells import merge_cells
from linedex.content.logs.detection import MOST_FORMATS
from linedex.index import Index
from linedex.limits import Limits
from linedex.log_answers import PatternsRequest, TimelineRequest
from linedex.model import FileId
from linedex.store import logs

LEVELS = ("info", "warn", "error")
FORMS: dict[str, Callable[[datetime, str, str], str]] = {
    "iso8601": lambda when, level, text: f"{when:%Y-%m-%d %H:%M:%S} {level.upper()} {text}",
    "iso-slash": lambda when, level, text: f"{when:%Y/%m/%d %H:%M:%S} [{level}] {text}",
    "glog": lambda when, level, text: f"{level[0].upper()}{when:%m%d %H:%M:%S.%f} 71 x.go:9] {text}",
    "epoch-ms": lambda when, level, text: f'{{"time":{int(when.timestamp() * 1000)},"level":"{level}","msg":"{text}"}}',
    "rfc3164": lambda when, _, text: f"{when:%b %d %H:%M:%S} host app[7]: {text}".replace(" 0", "  ", 1),
}
WITHOUT_LEVEL = {"rfc3164"}
USUAL = Limits(log_part_bytes=32 << 10, log_zone="UTC", index_symbols=False, workers=0)
STAGED = replace(TINY, staged_bytes=100)


class Line(NamedTuple):
    when: datetime
    level: str | None
    text: str


class Log:
    """A log and what a reader of it knows of each line."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def more(self, form: str, count: int, trace: int = 0) -> str:
        """Write records in a form, some with a line of a trace; return them."""
        dice = random.Random(count)
        before = len(self.lines)
        for _ in range(count):
            when = START + timedelta(seconds=17 * len(self.lines))
            level = dice.choice(LEVELS)
            told = None if form in WITHOUT_LEVEL else level
            self.lines.append(Line(when, told, FORMS[form](when, level, dice.choice(["disk full", "user bob"]))))
            if trace and dice.randrange(trace) == 0:
                self.lines.append(Line(when, told, "  at disk.place(bob)"))
        return "".join(line.text + "\n" for line in self.lines[before:])

    def heads(self) -> list[Line]:
        return [line for line in self.lines if not line.text.startswith(" ")]

    def cells(self) -> Counter[tuple[int, str]]:
        return Counter((int(line.when.timestamp()) // 60, line.level or "none") for line in self.heads())


def agrees(index: Index, log: Log) -> None:
    """Compare what an index tells of a log with what its reader knows."""
    made = index.timeline(TimelineRequest(NAME, bucket_minutes=1, max_buckets=2000))
    told = Counter(
        {(one.start // 60_000_000, level): count for one in made.buckets for level, count in one.levels.items()}
    )
    assert told == log.cells()
    middle, late = log.lines[len(log.lines) // 3].when, log.lines[-len(log.lines) // 4].when
    for level in ("", "error"):
        request = SearchRequest(
            *("bob",),
            scope=NAME,
            max_hits=1000,
            since=f"{middle:%Y-%m-%dT%H:%M:%S}",
            until=f"{late:%Y-%m-%dT%H:%M:%S}",
            level=level,
        )
        found = [hit.line for file in index.search(request).files for hit in file.hits]
        assert found == [
            number
            for number, line in enumerate(log.lines, start=1)
            if "bob" in line.text and middle <= line.when < late and level in {"", line.level}
        ]
    first = next(at for at, line in enumerate(log.lines, start=1) if line.when >= late)
    assert index.read_at(NAME, f"{late:%Y-%m-%dT%H:%M:%S}", 1).first_line == first
    facts = index.overview(NAME).log
    assert facts is not None
    assert (facts.records, facts.sampled) == (len(log.heads()), 0)
    assert (facts.first, facts.last) == tuple(int(at.timestamp()) * 10**6 for at in (START, log.lines[-1].when))
    assert index.patterns(PatternsRequest(NAME)).records == len(log.heads())


def stored_cells(index: Index) -> list[list[int]]:
    with index._keeper.reading() as db:
        assert db is not None
        cells = merge_cells([logs.columns(db, FileId(int(db.execute("SELECT id FROM files").get))).cells()])
        return [cells.minutes.tolist(), cells.levels.tolist(), cells.counts.tolist()]


PHASES = st.lists(st.tuples(st.sampled_from(sorted(FORMS)), st.integers(20, 60)), min_size=1, max_size=3)


@settings(max_examples=15, deadline=None)
@given(PHASES, PHASES, st.booleans(), st.sampled_from([0, 3]), st.sampled_from(["utf-8", "utf-16-le"]))
def test_each_line_is_read_in_the_form_that_it_has(
    first: list[tuple[str, int]],
    appended: list[tuple[str, int]],
    staged: bool,
    trace: int,
    encoding: str,
) -> None:
    assume(len({"iso8601", *(form for form, _ in first + appended)}) <= MOST_FORMATS)
    limits = STAGED if staged else TINY
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        path = root / "app.log"
        log = Log()
        # stamps with a year somewhere, so that no other year is possible
        text = log.more("iso8601", 20) + "".join(log.more(form, count, trace) for form, count in first)
        path.write_bytes(("\ufeff" * (encoding != "utf-8") + text).encode(encoding))
        with Index(root, Path(folder, "index.db"), limits) as index:
            agrees(index, log)
            index.build()
            agrees(index, log)
            for form, count in appended:
                with path.open("ab") as grown:
                    grown.write(log.more(form, count, trace).encode(encoding))
                agrees(index, log)
                index.build()
                agrees(index, log)
            assert index.check() == ()
            kept = stored_cells(index)
        with Index(root, Path(folder, "fresh.db"), limits) as fresh:
            fresh.build()
            assert stored_cells(fresh) == kept


@pytest.mark.parametrize("form", ["iso-slash", "glog", "epoch-ms"])
def test_a_form_that_came_and_went_between_the_samples_is_found(form: str, tmp_path: Path) -> None:
    log = Log()
    text = log.more("iso8601", 25_000) + log.more(form, 1500) + log.more("iso8601", 25_000)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "app.log").write_text(text)
    with Index(tmp_path / "root", tmp_path / "index.db", USUAL) as index:
        index.build()
        made = index.timeline(TimelineRequest(NAME, bucket_minutes=60, max_buckets=2000))
        assert made.total == len(log.heads())
        assert made.levels == Counter(line.level for line in log.heads())
