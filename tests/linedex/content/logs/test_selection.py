"""Lines chosen by time and level, against a choice made line by line."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.content.logs.calendars import Completion
from linedex.content.logs.cells import count_cells
from linedex.content.logs.detection import LogRule
from linedex.content.logs.formats import Basis
from linedex.content.logs.instants import NO_INSTANT, to_instant
from linedex.content.logs.level_reader import LevelRule
from linedex.content.logs.levels import Level, LevelSource
from linedex.content.logs.moments import TimeRange
from linedex.content.logs.records import FILE_START, RecordReader
from linedex.content.logs.selection import Selection, UnknownLevel, levels_named
from linedex.content.logs.stamps import StampRule
from linedex.content.logs.window import Window
from linedex.model import LineNumber

RULE = LogRule((StampRule("iso8601", "head"),), (LevelRule(LevelSource.WORD, after_stamp=1),))
START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
AS_IT_IS = Completion(Basis.DATED, UTC, NO_INSTANT, 0)
SECONDS = st.none() | st.integers(-70, 70)


@given(
    st.lists(st.tuples(st.integers(-60, 60), st.sampled_from(["INFO", "ERROR", "", None])), max_size=30),
    SECONDS,
    SECONDS,
    st.none() | st.sets(st.sampled_from([Level.INFO, Level.ERROR, Level.NONE])),
)
@settings(max_examples=150)
def test_whole_records_are_chosen_and_nothing_else(
    entries: list[tuple[int, str | None]], since: int | None, until: int | None, levels: set[Level] | None
) -> None:
    lines: list[str] = []
    expected: list[bool] = []
    moment, word = None, ""
    for seconds, told in entries:
        if told is None:
            lines.append("  at a.place")
        else:
            moment, word = START + timedelta(seconds=seconds), told
            lines.append(f"{moment:%Y-%m-%d %H:%M:%S} {told} x")
        level = {"INFO": Level.INFO, "ERROR": Level.ERROR}.get(word, Level.NONE)
        if moment is None:
            expected.append(since is None and until is None and levels is None)
        else:
            expected.append(
                (since is None or moment >= START + timedelta(seconds=since))
                and (until is None or moment < START + timedelta(seconds=until))
                and (levels is None or level in levels)
            )
    span = TimeRange(
        None if since is None else to_instant(START + timedelta(seconds=since)),
        None if until is None else to_instant(START + timedelta(seconds=until)),
    )
    selection = Selection(span, levels)
    records = RecordReader(RULE).read(Window("".join(line + "\n" for line in lines).encode()))
    assert selection.of(records, AS_IT_IS, 1).tolist() == expected
    known = records.instants[records.instants != NO_INSTANT]
    if any(expected) and len(known) == len(expected):
        cells = count_cells(records.instants[records.heads], records.levels[records.heads])
        assert selection.may_hold(int(known.min()), int(known.max()), cells, FILE_START.level)


def test_lines_are_chosen_by_number() -> None:
    records = RecordReader(RULE).read(Window(b"a\nb\nc\nd\n"))
    selection = Selection(TimeRange(since_line=LineNumber(11), until_line=LineNumber(13)))
    assert selection.of(records, AS_IT_IS, 10).tolist() == [False, True, True, False]


def test_a_block_is_passed_over_that_has_no_record_of_the_level() -> None:
    records = RecordReader(RULE).read(Window(b"2026-03-04 05:06:07 INFO x\n"))
    cells = count_cells(records.instants, records.levels)
    at = int(records.instants[0])
    errors = Selection(levels={Level.ERROR})
    assert not errors.may_hold(at, at, cells, Level.INFO)
    assert errors.may_hold(at, at, cells, Level.ERROR)
    assert not Selection(TimeRange(since=at + 1)).may_hold(at, at, cells, Level.NONE)


def test_levels_are_named_singly_and_upwards() -> None:
    assert levels_named("error") == {Level.ERROR}
    assert levels_named("warn, ERROR") == {Level.WARN, Level.ERROR}
    assert levels_named("warn+") == {Level.WARN, Level.ERROR, Level.FATAL}
    assert levels_named("none") == {Level.NONE}


def test_an_unknown_level_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownLevel) as caught:
        levels_named("error,loud")
    assert "loud" in str(caught.value)
    assert "fatal" in caught.value.hint
