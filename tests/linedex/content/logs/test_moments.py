"""What is written for `since` and `until`."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.logs.instants import NO_INSTANT, to_instant
from linedex.content.logs.moments import EmptyRange, TimeRange, UnreadableTime, moment, time_range

LAST = datetime(2026, 3, 4, 12, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> int:
    return to_instant(datetime.fromisoformat(text).replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("2026-03-01T10:20:30.5Z", "2026-03-01T10:20:30.5"),
        ("2026-03-01 10:20:30", "2026-03-01T10:20:30"),
        ("2026-03-01 10:20", "2026-03-01T10:20:00"),
        ("2026-03-01T10:20+02:00", "2026-03-01T08:20:00"),
        ("2026-03-01", "2026-03-01T00:00:00"),
        ("10:00", "2026-03-04T10:00:00"),
        ("9:05", "2026-03-04T09:05:00"),
        ("12:30:00", "2026-03-04T12:30:00"),
        ("12:30:01", "2026-03-03T12:30:01"),
        ("-15m", "2026-03-04T12:15:00"),
        ("2h30m", "2026-03-04T10:00:00"),
        ("1.5d", "2026-03-03T00:30:00"),
        ("1772600767", "2026-03-04T05:06:07"),
        ("1772600767891", "2026-03-04T05:06:07.891"),
    ],
)
def test_since_counts_from_the_last_record(since: str, expected: str) -> None:
    assert time_range(since, "", last=to_instant(LAST), zone=UTC).since == at(expected)


@given(st.times(), st.datetimes(datetime(1971, 1, 2), datetime(2099, 1, 1)))  # noqa: DTZ001
def test_a_time_of_day_is_the_last_one_at_or_before_the_last_record(clock: object, last: datetime) -> None:
    end = to_instant(last.replace(tzinfo=UTC))
    found = moment(f"{clock:%H:%M:%S}", last=end, zone=UTC)
    assert f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found):%H:%M:%S}" == f"{clock:%H:%M:%S}"
    assert timedelta(0) <= timedelta(microseconds=end - found) < timedelta(days=1)


def test_times_without_zone_are_of_the_files_zone() -> None:
    assert time_range("2026-03-01 10:20", "", last=NO_INSTANT, zone=BERLIN).since == at("2026-03-01T09:20")
    assert moment("10:00", last=to_instant(LAST), zone=BERLIN) == at("2026-03-04T09:00")


def test_until_a_day_includes_the_day() -> None:
    found = time_range("2026-03-01", "2026-03-01", last=NO_INSTANT, zone=UTC)
    assert (found.since, found.until) == (at("2026-03-01"), at("2026-03-02"))


def test_until_a_time_of_day_is_the_first_one_after_since() -> None:
    found = time_range("23:50", "00:10", last=at("2026-03-04T00:05"), zone=UTC)
    assert (found.since, found.until) == (at("2026-03-03T23:50"), at("2026-03-04T00:10"))


def test_lines_are_named_by_number() -> None:
    assert time_range(":12", ":40", last=NO_INSTANT, zone=UTC) == TimeRange(since_line=12, until_line=40)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["yesterday", "25:00", "2026-02-30", "10", "-", "15", "1m2", "::"])
def test_what_is_no_time_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(UnreadableTime) as caught:
        time_range(text, "", last=to_instant(LAST), zone=UTC)
    assert text in str(caught.value)
    assert "-15m" in caught.value.hint


def test_what_counts_from_the_last_record_is_refused_where_none_has_a_time() -> None:
    with pytest.raises(UnreadableTime):
        time_range("-15m", "", last=NO_INSTANT, zone=UTC)


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(EmptyRange):
        time_range("2026-03-04", "2026-03-01", last=NO_INSTANT, zone=UTC)
    with pytest.raises(EmptyRange):
        time_range(":9", ":9", last=NO_INSTANT, zone=UTC)


def test_a_block_is_read_if_its_times_reach_into_the_range() -> None:
    span = TimeRange(since=10, until=20)
    assert span.overlaps(0, 10)
    assert span.overlaps(19, 30)
    assert not span.overlaps(20, 30)
    assert not span.overlaps(0, 9)
    assert not span.overlaps(NO_INSTANT, NO_INSTANT)
