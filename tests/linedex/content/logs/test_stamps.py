"""Stamps of every format, against instants given as ISO texts, and the vectors against single lines."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.content.logs.detection import detect
from linedex.content.logs.formats import FORMAT_NAMES, PLACES, placed
from linedex.content.logs.instants import read_wall
from linedex.content.logs.stamps import StampReader, StampRule
from linedex.content.logs.window import Window


def micros(text: str) -> int:
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


# line, format, place, the instant (year-less ones in the year 2000, times within 1970-01-01)
EXAMPLES = [
    ("2026-03-04T05:06:07.891+02:00 x", "iso8601", "head", "2026-03-04T03:06:07.891"),
    ("2026-03-04T05:06:07Z x", "iso8601", "head", "2026-03-04T05:06:07"),
    ("2026-03-04 05:06:07,891 INFO x", "iso8601", "head", "2026-03-04T05:06:07.891"),
    ("2026-03-04 05:06:07.891 UTC [12] LOG: x", "iso8601", "head", "2026-03-04T05:06:07.891"),
    ("2026-03-04T05:06:07.891234567-0530 x", "iso8601", "head", "2026-03-04T10:36:07.891234"),
    ("2026-03-04 05:06:07 -5 items", "iso8601", "head", "2026-03-04T05:06:07"),
    ("2026-03-04 05:06:07 +0200", "iso8601", "head", "2026-03-04T03:06:07"),
    ("<34>1 2026-03-04T05:06:07.003Z host app - - x", "iso8601", "pri", "2026-03-04T05:06:07.003"),
    ('{"level":"info","ts":"2026-03-04T05:06:07.891Z","m":1}', "iso8601", "json", "2026-03-04T05:06:07.891"),
    ("level=info ts=2026-03-04T05:06:07.891Z m=1", "iso8601", "logfmt", "2026-03-04T05:06:07.891"),
    ("app-1  | 2026-03-04 05:06:07 x", "iso8601", "words", "2026-03-04T05:06:07"),
    ("2026/03/04 05:06:07 [error] 1#1: x", "iso-slash", "head", "2026-03-04T05:06:07"),
    ("2026/03/04 05:06:07.000123 main.go:1: x", "iso-slash", "head", "2026-03-04T05:06:07.000123"),
    ("2026.03.04 05:06:07 x", "iso-dot", "head", "2026-03-04T05:06:07"),
    ("2026-03-04-05.06.07.891234 R02", "iso-dash-dot", "head", "2026-03-04T05:06:07.891234"),
    ("20260304T050607Z x", "iso-basic", "head", "2026-03-04T05:06:07"),
    ("20260304T050607.5+0100 x", "iso-basic", "head", "2026-03-04T04:06:07.5"),
    ("20260304-5:6:7:89|Step", "compact-dash", "head", "2026-03-04T05:06:07.890"),
    ("20260304-15:16:17:891|Step", "compact-dash", "head", "2026-03-04T15:16:17.891"),
    ("26/03/04 05:06:07 INFO x", "yy-slash", "head", "2026-03-04T05:06:07"),
    ("99/03/04 05:06:07 INFO x", "yy-slash", "head", "1999-03-04T05:06:07"),
    ("260304 050607 148 INFO x", "yymmdd", "head", "2026-03-04T05:06:07"),
    ("260304  5:06:07 [Note] x", "yymmdd", "head", "2026-03-04T05:06:07"),
    ('10.0.0.1 - bob [04/Mar/2026:05:06:07 +0100] "GET / HTTP/1.1" 200 5', "clf", "words", "2026-03-04T04:06:07"),
    ("[Wed Mar 04 05:06:07.123456 2026] [core:error] x", "ctime", "head", "2026-03-04T05:06:07.123456"),
    ("Wed Mar  4 05:06:07 UTC 2026 x", "ctime", "head", "2026-03-04T05:06:07"),
    ("Wed, 04 Mar 2026 05:06:07 +0000 x", "rfc822", "head", "2026-03-04T05:06:07"),
    ("Date: Wed, 4 Mar 2026 05:06:07 GMT", "rfc822", "export", "2026-03-04T05:06:07"),
    ("04-Mar-2026 05:06:07.891 INFO [main] x", "d-mon-y", "head", "2026-03-04T05:06:07.891"),
    ("[04-Mar-2026 05:06:07 UTC] PHP Warning: x", "d-mon-y", "head", "2026-03-04T05:06:07"),
    ("Mar  4 05:06:07 host x", "rfc3164", "head", "2000-03-04T05:06:07"),
    ("<34>Mar 14 05:06:07 host x", "rfc3164", "pri", "2000-03-14T05:06:07"),
    ("3/4/2026 5:06:07 PM x", "us-slash", "head", "2026-03-04T17:06:07"),
    ("12/31/2026 12:06:07 AM x", "us-slash", "head", "2026-12-31T00:06:07"),
    ("04.03.2026 05:06:07 x", "eu-dot", "head", "2026-03-04T05:06:07"),
    ("E0304 05:06:07.891234       1 x.go:9] x", "glog", "head", "2000-03-04T05:06:07.891234"),
    ("03-04 05:06:07.891  1702  2395 D Tag: x", "android", "head", "2000-03-04T05:06:07.891"),
    ("[03.04 05:06:07] x", "md-dot", "head", "2000-03-04T05:06:07"),
    ("03/04 05:06:07 x", "md-slash", "head", "2000-03-04T05:06:07"),
    ("1772600767.891 x", "epoch-s", "head", "2026-03-04T05:06:07.891"),
    ('{"time":1772600767891,"x":1}', "epoch-ms", "json", "2026-03-04T05:06:07.891"),
    ("__REALTIME_TIMESTAMP=1772600767891234", "epoch-us", "export", "2026-03-04T05:06:07.891234"),
    ("1772600767891234567 x", "epoch-ns", "head", "2026-03-04T05:06:07.891234"),
    ("type=SYSCALL msg=audit(1772600767.891:42): x", "epoch-s", "audit", "2026-03-04T05:06:07.891"),
    ("@4000000069a7bde42d4cae00 x", "hex-tai64n", "head", "2026-03-04T05:06:07.760"),
    ("05:06:07.891 x", "time-only", "head", "1970-01-01T05:06:07.891"),
    ("2026-12-31T23:59:60.5Z x", "iso8601", "head", "2026-12-31T23:59:59.999"),
]


@pytest.mark.parametrize(("line", "name", "place", "expected"), EXAMPLES, ids=[row[0][:40] for row in EXAMPLES])
def test_each_format_tells_its_instant_to_the_microsecond(line: str, name: str, place: str, expected: str) -> None:
    text = line.encode()
    match = StampRule(name, place).match(text, 0, len(text))
    assert match is not None
    wall = read_wall(match, FORMAT_NAMES[name].basis)
    assert wall is not None
    origin = micros("2000-01-01") if expected.startswith("2000") else 0
    assert wall.value == micros(expected) - origin


@pytest.mark.parametrize(("line", "name", "place", "expected"), EXAMPLES, ids=[row[0][:40] for row in EXAMPLES])
def test_each_example_is_recognised_from_three_lines(line: str, name: str, place: str, expected: str) -> None:
    rule = detect([line.encode()] * 3)
    assert rule is not None
    assert (rule.stamps[0].format_name, rule.stamps[0].place_name) == (name, place)


def test_there_are_25_formats_at_7_kinds_of_place() -> None:
    assert len(FORMAT_NAMES) == 25
    assert len(PLACES) == 7


STRFTIME = {
    "iso8601": "%Y-%m-%d %H:%M:%S.%f",
    "iso-slash": "%Y/%m/%d %H:%M:%S",
    "iso-dot": "%Y.%m.%d-%H:%M:%S.%f",
    "iso-dash-dot": "%Y-%m-%d-%H.%M.%S.%f",
    "iso-basic": "%Y%m%dT%H%M%S%z",
    "compact-dash": "%Y%m%d-%H:%M:%S:%f",
    "yy-slash": "%y/%m/%d %H:%M:%S",
    "yymmdd": "%y%m%d %H%M%S",
    "clf": "%d/%b/%Y:%H:%M:%S %z",
    "ctime": "%a %b %d %H:%M:%S.%f %Y",
    "rfc822": "%a, %d %b %Y %H:%M:%S %z",
    "d-mon-y": "%d-%b-%Y %H:%M:%S",
    "us-slash": "%m/%d/%Y %I:%M:%S %p",
    "eu-dot": "%d.%m.%Y %H:%M:%S",
    "rfc3164": "%b %d %H:%M:%S",
    "glog": "I%m%d %H:%M:%S.%f",
    "android": "%m-%d %H:%M:%S.%f",
    "md-dot": "%m.%d %H:%M:%S",
    "md-slash": "%m/%d %H:%M:%S",
    "time-only": "%H:%M:%S.%f",
}
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31, 23, 59, 59, 999_999), timezones=st.just(UTC))  # noqa: DTZ001
TAILS = st.sampled_from(
    ["", " x", " GET /", "Z", " +0200", " -5", ".5", ",123456", "0", "+02:00 y", " Also", "]", "\r"]
)


def strptime(text: str, form: str) -> datetime:
    """Read a stamp by the standard library; one without a year is of 2000, one without a date of 1970-01-01."""
    if "%y" not in form.lower():
        text, form = ("2000 " + text, "%Y " + form) if "%d" in form else ("1970 " + text, "%Y " + form)
    moment = datetime.strptime(text, form)  # noqa: DTZ007
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@given(st.sampled_from(sorted(STRFTIME)), st.lists(MOMENTS, min_size=1, max_size=30))
@settings(max_examples=150)
def test_readings_are_those_of_strptime(name: str, moments: list[datetime]) -> None:
    form = STRFTIME[name]
    stamps = [moment.strftime(form) for moment in moments]
    window = Window("".join(f"{stamp} a message\n" for stamp in stamps).encode())
    reader = StampReader(StampRule(name, "head"), worth_a_pass=1)
    for _ in range(2):  # the second time by what was learned the first time
        found = reader.read(window)
        assert found.found.all()
        expected = [(strptime(stamp, form) - datetime(1970, 1, 1, tzinfo=UTC)) for stamp in stamps]
        if FORMAT_NAMES[name].basis.value == "yearless":
            expected = [since - (date(2000, 1, 1) - date(1970, 1, 1)) for since in expected]
        assert found.walls.tolist() == [since // timedelta(microseconds=1) for since in expected]


@st.composite
def lines_of(draw: st.DrawFn) -> tuple[StampRule, bytes]:
    name = draw(st.sampled_from(sorted(STRFTIME)))
    rule = draw(
        st.sampled_from(
            [
                StampRule(name, "head"),
                StampRule(name, "pri"),
                StampRule(name, "words", words=2),
                StampRule(name, "words", column=4),
                StampRule(name, "json", prefix='{"ts":"'),
                StampRule(name, "logfmt", prefix="ts="),
                StampRule(name, "json", key='"ts":"'),
                StampRule(name, "logfmt", key="ts="),
            ]
        )
    )
    before = {
        "head": ["", "[", "<", "(", " ", "x"],
        "pri": ["<34>", "<3>1 ", "<134>", "<>", "<1234>", "<34"],
        "words": ["a b ", "a | ", "app ", "a b [", "1234", " a b", "a\tb c ", "a\fb ", "a b c d "],
        "json": ['{"ts":"', '{"a":1,"ts":"', '{"ts": "', '{"time":1,"ts":"'],
        "logfmt": ["ts=", 'ts="', "a=b ts=", "a=b", 'm="x y" time='],
    }[rule.place_name]
    lines = []
    for _ in range(draw(st.integers(1, 25))):
        stamp = draw(MOMENTS).strftime(STRFTIME[name])
        if draw(st.integers(0, 9)) == 0:
            at = draw(st.integers(0, len(stamp) - 1))
            stamp = stamp[:at] + draw(st.sampled_from("0 9:-Z6a.")) + stamp[at + 1 :]
        lines.append(draw(st.sampled_from(before)) + stamp + draw(TAILS))
    text = "\n".join(lines).encode()
    return rule, text + b"\n" if draw(st.booleans()) else text


@given(lines_of())
@settings(max_examples=150)
def test_vectors_read_each_line_as_the_expression_does(case: tuple[StampRule, bytes]) -> None:
    rule, text = case
    agree(rule, text)


USUAL = "2026-03-04 05:06:07.891"
STRANGE = [
    (StampRule("iso8601", "head"), "", "2026-12-31 23:59:60.500"),
    (StampRule("iso8601", "head"), "", "2026-12-31 23:59:61.500"),
    (StampRule("iso8601", "head"), "", "2026-02-30 23:59:59.500"),
    (StampRule("iso8601", "head"), "", "2026-03-04 05:06:07.8912"),
    (StampRule("iso8601", "head"), "", "2026-03-04 05:06:07.891+01:00"),
    (StampRule("iso8601", "head"), " " * 500, USUAL),
    (StampRule("iso8601", "words", column=4), "a b ", "12342026-03-04 05:06:07.891"[4:]),
    (StampRule("iso8601", "words", column=4), "1234", USUAL),
    (StampRule("iso8601", "words", words=2), " a b ", USUAL),
    (StampRule("iso8601", "words", words=2), " a ", USUAL),
    (StampRule("iso8601", "words", words=2), "a\fb c ", USUAL),
    (StampRule("iso8601", "words", words=2), "a b c ", USUAL),
    (StampRule("iso8601", "pri"), "<1234>", USUAL),
    (StampRule("iso8601", "json", key='"ts":"'), '{"ts":"x","ts":"', USUAL),
    (StampRule("iso8601", "json", key='"ts":"'), '{"a":"' + "x" * 505 + '","ts":"', USUAL),
]


@pytest.mark.parametrize(("rule", "before", "stamp"), STRANGE)
def test_a_strange_line_among_usual_ones_is_read_as_the_expression_reads_it(
    rule: StampRule, before: str, stamp: str
) -> None:
    usual = {"head": "", "pri": "<34>", "words": "a b ", "json": '{"ts":"'}[rule.place_name]
    text = f"{usual}{USUAL} x\n{before}{stamp} x\n{usual}{USUAL} y\n".encode()
    agree(rule, text)


def agree(rule: StampRule, text: bytes) -> None:
    """Compare the readings of a window with those of its lines one by one, before and after layouts are known."""
    reader = StampReader(rule, worth_a_pass=1)
    window = Window(text)
    for _ in range(2):
        found = reader.read(window)
        for line, (start, end) in enumerate(zip(window.starts.tolist(), window.ends.tolist(), strict=True)):
            match = rule.match(text, start, end)
            wall = None if match is None else read_wall(match, rule.basis)
            assert bool(found.found[line]) == (wall is not None)
            if match is not None and wall is not None:
                assert (found.walls[line], found.absolute[line]) == (wall.value, wall.absolute)
                assert (found.begins[line], found.ends[line]) == match.span("stamp")


@given(
    st.lists(st.integers(900_000_000, 1_999_999_999_999_999), min_size=1, max_size=40), st.sampled_from([1, 3, 6, 9])
)
def test_epochs_are_read_as_their_numbers(counts: list[int], spare: int) -> None:
    name, digits, unit = {
        1: ("epoch-s", 10, 10**6),
        3: ("epoch-ms", 13, 10**3),
        6: ("epoch-us", 16, 1),
        9: ("epoch-ns", 19, 1),
    }[spare]
    numbers = [int("1" + str(count).zfill(digits - 1)[: digits - 1]) for count in counts]
    window = Window("".join(f"{number} x\n" for number in numbers).encode())
    reader = StampReader(StampRule(name, "head"), worth_a_pass=1)
    expected = [number // 1000 if spare == 9 else number * unit for number in numbers]
    for _ in range(2):
        assert reader.read(window).walls.tolist() == expected


def test_a_hostile_line_costs_time_in_proportion_to_its_first_bytes() -> None:
    # with words of any bytes between separators of the same bytes, this line had millions of readings
    line = b"|a" * 4000
    for place in PLACES:
        for stamp in FORMAT_NAMES.values():
            assert placed(place, stamp).match(line, 0, 512) is None


def test_a_stamp_cut_by_the_end_of_a_block_is_read_with_what_follows() -> None:
    text = b"2026-03-04 05:06:07 a\n2026-03-04 05:0"
    window = Window(text, ahead=b"6:08 b\n2026-03-04 05:06:09 c\n")
    found = StampReader(StampRule("iso8601", "head")).read(window)
    assert found.walls.tolist() == [micros("2026-03-04T05:06:07"), micros("2026-03-04T05:06:08")]
    assert np.all(found.found)
