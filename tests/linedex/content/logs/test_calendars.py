"""Years and zones that stamps leave out, against full datetimes that were there before they were left out."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.content.logs.calendars import FRESH_CLOCK, Clock, Completion, Lacking
from linedex.content.logs.detection import LogRule
from linedex.content.logs.formats import Basis
from linedex.content.logs.instants import HOUR, MINUTE, NO_INSTANT, SECOND, LocalTime, to_instant
from linedex.content.logs.records import FILE_START, RecordReader
from linedex.content.logs.stamps import StampRule
from linedex.content.logs.window import Window

BERLIN = ZoneInfo("Europe/Berlin")
SYSLOG = LogRule((StampRule("rfc3164", "head"),))
CLOCK = LogRule((StampRule("time-only", "head"),))


def stored(rule: LogRule, lines: list[str], zone: ZoneInfo | None = None, cut: int = 0) -> list[int]:
    reader = RecordReader(rule, zone or UTC)
    first = reader.read(Window("".join(lines[:cut]).encode()), FILE_START)
    second = reader.read(Window("".join(lines[cut:]).encode()), first.carry)
    values: list[int] = [*first.instants.tolist(), *second.instants.tolist()]
    return values


@st.composite
def steady_logs(draw: st.DrawFn) -> list[datetime]:
    moment = datetime(draw(st.integers(2001, 2030)), draw(st.integers(1, 12)), draw(st.integers(1, 28)), tzinfo=UTC)
    moments = []
    for _ in range(draw(st.integers(1, 40))):
        moment += timedelta(seconds=draw(st.integers(0, 150 * 86_400)))
        late = draw(st.sampled_from([0, 0, 0, 1, 3600, 86_400]))
        moments.append(moment - timedelta(seconds=late))
    return moments


@given(steady_logs(), st.integers(0, 40), st.integers(-86_000, 300 * 86_400))
@settings(max_examples=100)
def test_years_left_out_are_found_again(moments: list[datetime], cut: int, idle: int) -> None:
    lines = [f"{moment:%b %d %H:%M:%S} host x\n" for moment in moments]
    values = stored(SYSLOG, lines, cut=min(cut, len(lines)))
    completion = Completion(Basis.YEARLESS, UTC, values[-1], to_instant(moments[-1]) + idle * SECOND)
    found = completion.instants(np.array(values, np.int64)).tolist()
    assert found == [to_instant(moment) for moment in moments]


def test_an_append_changes_no_stored_instant_of_a_file_without_years() -> None:
    lines = ["Dec 31 23:59:59 host x\n", "Jan  1 00:00:00 host x\n"]
    assert stored(SYSLOG, lines)[:1] == stored(SYSLOG, lines[:1])


@given(st.integers(0, 10**6), st.lists(st.integers(0, 40_000), min_size=1, max_size=30), st.integers(0, 40_000))
def test_days_left_out_are_found_from_the_time_of_change(start: int, steps: list[int], idle: int) -> None:
    moments = [datetime(2026, 3, 4, tzinfo=UTC) + timedelta(seconds=start)]
    for step in steps:
        moments.append(moments[-1] + timedelta(seconds=step))
    values = stored(CLOCK, [f"{moment:%H:%M:%S} x\n" for moment in moments])
    completion = Completion(Basis.TIME_ONLY, UTC, values[-1], to_instant(moments[-1]) + idle * SECOND)
    assert completion.instants(np.array(values, np.int64)).tolist() == [to_instant(moment) for moment in moments]


@given(st.integers(0, 400 * 24 * 60), st.sampled_from(["Europe/Berlin", "Asia/Kolkata", "America/St_Johns"]))
def test_local_times_are_those_of_zoneinfo(minutes: int, name: str) -> None:
    zone = ZoneInfo(name)
    shown = datetime(2025, 1, 1) + timedelta(minutes=minutes)  # noqa: DTZ001
    wall = to_instant(shown.replace(tzinfo=UTC))
    found, _ = LocalTime(zone).instants(np.array([wall], np.int64), NO_INSTANT, folded=False)
    assert found.tolist() == [to_instant(shown.replace(tzinfo=zone))]


def test_the_second_of_two_like_hours_begins_with_the_step_back() -> None:
    moment = datetime(2025, 10, 26, 0, 30, tzinfo=UTC)
    moments = [moment + timedelta(minutes=7 * step) for step in range(20)]
    walls = [to_instant(when.astimezone(BERLIN).replace(tzinfo=UTC)) for when in moments]
    for cut in range(len(walls)):
        clock = Clock(Basis.DATED, BERLIN)
        none = np.zeros(len(walls), np.bool_)
        first, state = clock.instants(
            np.array(walls[:cut], np.int64), none[:cut], Lacking(none[:cut], none[:cut]), FRESH_CLOCK
        )
        second, _ = clock.instants(np.array(walls[cut:], np.int64), none[cut:], Lacking(none[cut:], none[cut:]), state)
        assert first.tolist() + second.tolist() == [to_instant(when) for when in moments]


def test_a_small_step_back_inside_the_like_hours_is_a_late_line() -> None:
    first_hour = to_instant(datetime(2025, 10, 26, 2, 40, tzinfo=UTC))
    walls = np.array([first_hour, first_hour - 5 * MINUTE], np.int64)
    found, folded = LocalTime(BERLIN).instants(walls, NO_INSTANT, folded=False)
    assert found.tolist() == (walls - 2 * HOUR).tolist()
    assert not folded


def test_a_zone_in_the_stamp_wins_over_the_zone_of_the_file() -> None:
    rule = LogRule((StampRule("iso8601", "head"),))
    values = stored(rule, ["2026-03-04 05:06:07+00:00 x\n", "2026-03-04 06:06:07 x\n"], BERLIN)
    assert values[0] == values[1]
