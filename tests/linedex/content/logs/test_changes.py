"""Formats that a log takes up where its sample did not look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from linedex.content.logs.changes import Stretches, read_whole, widened
from linedex.content.logs.detection import MOST_FORMATS, LogRule, detect, detect_more
from linedex.content.logs.instants import to_instant
from linedex.content.logs.records import RecordReader
from linedex.content.logs.stamps import StampRule
from linedex.content.logs.texts import LogReading
from linedex.content.logs.window import Window
from linedex.model import TextFormat

START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
KNOWN = LogReading(LogRule((StampRule("iso8601", "head"),)), "UTC")


def stamped(form: str, count: int, first: int = 0) -> list[bytes]:
    return [f"{START + timedelta(seconds=first + at):{form}} INFO request {at}".encode() for at in range(count)]


def names(rule: LogRule | None) -> list[str]:
    return [] if rule is None else [stamp.format_name for stamp in rule.stamps]


def test_a_stretch_with_few_stamps_is_looked_at_and_its_format_added() -> None:
    lines = [*stamped("%Y-%m-%d %H:%M:%S", 1000), *stamped("%Y/%m/%d %H:%M:%S", 300, 1000)]
    reading, records = read_whole(KNOWN, b"\n".join(lines))
    assert names(reading.rule) == ["iso8601", "iso-slash"]
    assert records.heads.all()


def test_numbers_in_traces_and_dates_in_few_lines_of_them_make_no_format() -> None:
    trace = [b"  at Place.java:%d id 20260304 10:20" % at for at in range(40)]
    trace[7] = b"2026/03/04 05:06:07 was the date asked for"
    lines = [line for head in stamped("%Y-%m-%d %H:%M:%S", 60) for line in (head, *trace)]
    lines = [*stamped("%Y-%m-%d %H:%M:%S", 3000), *lines]
    assert read_whole(KNOWN, b"\n".join(lines))[0] == KNOWN


def test_what_was_looked_at_before_is_not_looked_at_again() -> None:
    text = b"\n".join([*stamped("%Y-%m-%d %H:%M:%S", 9), *stamped("%Y/%m/%d %H:%M:%S", 9)])
    half = text.index(b"2026/")
    stretches = Stretches(*(np.array(one) for one in ([0, half], [half, len(text)], [9, 0], [9, 9])))
    reads: list[int] = []

    def read(at: int, size: int) -> bytes:
        reads.append(at)
        return text[at : at + size]

    assert widened(KNOWN, read, TextFormat(), stretches, len(text)) is None
    assert reads == []
    found = widened(KNOWN, read, TextFormat(), stretches, half)
    assert found is not None
    assert names(found.rule) == ["iso8601", "iso-slash"]
    assert reads == [half]


def test_a_file_has_at_most_four_formats() -> None:
    forms = ["%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%Y.%m.%d %H:%M:%S", "%d-%b-%Y %H:%M:%S", "%Y%m%dT%H%M%S"]
    rule = detect([line for form in forms for line in stamped(form, 20)])
    assert rule is not None
    assert len(rule.stamps) == MOST_FORMATS
    assert detect_more(rule, [line for form in forms for line in stamped(form, 20)], 0.5) is None


@pytest.mark.parametrize("added", [False, True])
def test_stamps_without_a_year_before_the_first_one_with_a_year_are_of_that_year(added: bool) -> None:
    old = [line.replace(b" INFO", b" host app[7]:") for line in stamped("%b %d %H:%M:%S", 50)]
    new = stamped("%Y-%m-%dT%H:%M:%S", 50, 50)
    rule = detect([*old, *new])
    if added:
        first = detect(old)
        assert names(first) == ["rfc3164"]
        assert first is not None
        rule = detect_more(first, [*old, *new], 0.5)
    assert names(rule) == ["iso8601", "rfc3164"]
    assert rule is not None
    records = RecordReader(rule).read(Window(b"\n".join([*old, *new])))
    assert records.instants.tolist() == [to_instant(START + timedelta(seconds=at)) for at in range(100)]
