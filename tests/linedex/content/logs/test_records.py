"""Records, their instants and levels, and what blocks of them add up to, against a plain reader line by line."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.content.logs.cells import merge_cells
from linedex.content.logs.detection import LogRule
from linedex.content.logs.instants import MINUTE, NO_INSTANT
from linedex.content.logs.level_reader import LevelRule
from linedex.content.logs.levels import Level, LevelSource
from linedex.content.logs.parts import Part, ShapedPart, read_parts
from linedex.content.logs.records import FILE_START, Bounds, Carry, RecordReader
from linedex.content.logs.stamps import StampRule
from linedex.content.logs.templates.miner import TemplateMiner, merge_counts
from linedex.content.logs.texts import LogReading
from linedex.content.logs.window import Window
from linedex.model import TextFormat

RULE = LogRule((StampRule("iso8601", "head"),), (LevelRule(LevelSource.WORD, after_stamp=1),))
VECTORS = Bounds(pass_lines=1)
START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LEVELS = ["DEBUG", "INFO", "WARN", "ERROR"]


class PlainLine(NamedTuple):
    head: bool
    instant: int | None
    level: str


def read_plainly(text: bytes) -> list[PlainLine]:
    """Read a log of `YYYY-MM-DD hh:mm:ss.mmm LEVEL` one line at a time; other lines belong to the record above."""
    lines = text.decode().split("\n")
    result: list[PlainLine] = []
    instant, level = None, "none"
    for line in lines if lines[-1] else lines[:-1]:
        try:
            moment = datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
        except ValueError:
            result.append(PlainLine(instant=instant, level=level, head=False))
            continue
        instant = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        word = line[24:].split(" ")[0]
        level = word.lower() if word in LEVELS else "none"
        result.append(PlainLine(instant=instant, level=level, head=True))
    return result


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    lines = []
    for _ in range(draw(st.integers(0, 40))):
        moment = START + timedelta(milliseconds=draw(st.integers(-10_000_000, 10_000_000)))
        stamp = moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:23]
        lines.append(
            draw(
                st.sampled_from(
                    [
                        f"{stamp} {draw(st.sampled_from(LEVELS))} took {draw(st.integers(0, 99))} ms",
                        f"{stamp} {draw(st.sampled_from(LEVELS))} started",
                        f"{stamp} nothing said",
                        "  at some.place(File:12)",
                        "",
                        "Caused by: x",
                    ]
                )
            )
        )
    text = "\n".join(lines)
    return (text + "\n" if lines and draw(st.booleans()) else text).encode()


def read_cut(text: bytes, cuts: list[int], bounds: Bounds = VECTORS) -> tuple[list[Part], Carry]:
    """Return the parts of a log that is cut at some places, with their templates, and what the last one leaves."""
    miner = TemplateMiner()
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(text)})]
    made = read_parts(
        *(LogReading(RULE, "UTC", bounds), text, 0, edges, FILE_START),
        continues=False,
        beyond=b"",
        spelling=TextFormat(),
    )

    def counted(one: ShapedPart) -> Part:
        return replace(one.part, templates=miner.learn(one.shapes, lambda shape, _: messages.get(shape)))

    messages: dict[int, str] = {}
    parts = []
    for one in made.parts:
        messages |= one.messages
        parts.append(counted(one))
    return parts, made.left


@given(logs())
@settings(max_examples=100)
def test_each_line_has_the_instant_and_level_of_its_record(text: bytes) -> None:
    records = RecordReader(RULE, bounds=VECTORS).read(Window(text))
    plain = read_plainly(text)
    assert records.heads.tolist() == [line.head for line in plain]
    assert records.instants.tolist() == [NO_INSTANT if line.instant is None else line.instant for line in plain]
    assert [Level(level).label for level in records.levels.tolist()] == [line.level for line in plain]


@given(logs(), st.lists(st.integers(0, 2000), max_size=8))
@settings(max_examples=100)
def test_cells_are_a_count_line_by_line_wherever_the_file_is_cut(text: bytes, cuts: list[int]) -> None:
    cells = merge_cells(part.cells for part in read_cut(text, cuts)[0])
    expected = Counter(
        (line.instant // MINUTE, line.level) for line in read_plainly(text) if line.head and line.instant is not None
    )
    names = [Level(level).label for level in cells.levels.tolist()]
    assert dict(zip(zip(cells.minutes.tolist(), names, strict=True), cells.counts.tolist(), strict=True)) == expected


@given(logs(), st.lists(st.integers(0, 2000), max_size=8), st.integers(1, 6), st.integers(20, 300), st.booleans())
@settings(max_examples=150)
def test_cuts_change_no_sum(text: bytes, cuts: list[int], lines: int, size: int, at_line_ends: bool) -> None:
    if at_line_ends:
        cuts = [text.find(b"\n", cut) + 1 for cut in cuts]
    bounds = Bounds(lines, size, pass_lines=1)
    whole, left = read_cut(text, [], bounds)
    parts, left_by_parts = read_cut(text, cuts, bounds)

    def sums(facts: list[Part]) -> tuple[int, int, int, int, int]:
        known = [fact for fact in facts if fact.least != NO_INSTANT]
        return (
            sum(fact.records for fact in facts),
            sum(fact.lines for fact in facts),
            sum(fact.unstamped for fact in facts),
            min((fact.least for fact in known), default=NO_INSTANT),
            max((fact.greatest for fact in known), default=NO_INSTANT),
        )

    assert sums(parts) == sums(whole)
    counted = merge_counts(fact.templates for fact in parts)
    if all(text[cut - 1 : cut] == b"\n" for cut in cuts if 0 < cut < len(text)):
        assert counted == merge_counts(fact.templates for fact in whole)
    assert counted.total() == sums(whole)[0]
    assert (left_by_parts.clock, left_by_parts.open) == (left.clock, left.open)


@given(logs(), st.integers(0, 2000))
@settings(max_examples=100)
def test_a_window_read_with_its_carry_tells_what_the_whole_file_tells(text: bytes, cut: int) -> None:
    cut = text.find(b"\n", cut) + 1 or len(text)
    whole = RecordReader(RULE).read(Window(text))
    reader = RecordReader(RULE, bounds=VECTORS)
    first = reader.read(Window(text[:cut]))
    second = reader.read(Window(text[cut:]), first.carry)
    assert first.instants.tolist() + second.instants.tolist() == whole.instants.tolist()
    assert first.levels.tolist() + second.levels.tolist() == whole.levels.tolist()


def test_a_stack_trace_has_the_time_and_level_of_its_first_line_in_the_next_block_too() -> None:
    reader = RecordReader(RULE)
    first = reader.read(Window(b"2026-03-04 05:06:07.000 ERROR failed\n  at a\n"))
    second = reader.read(Window(b"  at b\n2026-03-04 05:06:08.000 INFO done\n"), first.carry)
    assert second.instants[0] == first.instants[0]
    assert second.levels.tolist() == [Level.ERROR, Level.INFO]
    assert second.heads.tolist() == [False, True]


def test_a_record_ends_at_its_bound_of_lines_and_the_rest_is_unstamped() -> None:
    text = b"2026-03-04 05:06:07.000 ERROR failed\n" + b"  at a\n" * 10
    records = RecordReader(RULE, bounds=Bounds(lines=4)).read(Window(text))
    assert (records.instants != NO_INSTANT).tolist() == [True] * 4 + [False] * 7
    assert records.unstamped == 7


def test_a_record_ends_at_its_bound_of_bytes() -> None:
    text = b"2026-03-04 05:06:07.000 ERROR failed\n" + b"x" * 100 + b"\n" + b"y\n"
    records = RecordReader(RULE, bounds=Bounds(bytes=100)).read(Window(text))
    assert (records.instants != NO_INSTANT).tolist() == [True, True, False]


def test_the_rest_of_a_line_has_the_instant_of_its_beginning_however_long_it_is() -> None:
    reader = RecordReader(RULE, bounds=Bounds(bytes=50))
    first = reader.read(Window(b"2026-03-04 05:06:07.000 ERROR failed" + b"x" * 40))
    second = reader.read(Window(b"2026-03-04 05:06:08.000 INFO\nnext\n"), first.carry, continues=True)
    assert second.heads.tolist() == [False, False]
    assert second.instants.tolist() == [int(first.instants[0]), NO_INSTANT]
    assert second.levels.tolist() == [Level.ERROR, Level.NONE]


def test_lines_before_the_first_stamp_belong_to_no_record() -> None:
    records = RecordReader(RULE).read(Window(b"banner\n2026-03-04 05:06:07.000 INFO up\n"))
    assert records.instants.tolist()[0] == NO_INSTANT
    assert records.record_starts().tolist() == [-1, 1]


def test_the_second_format_of_a_mixture_is_read_where_the_first_is_not() -> None:
    rule = LogRule((StampRule("iso8601", "head"), StampRule("iso-slash", "head")))
    text = b"2026-03-04 05:06:07 a\n2026/03/04 05:06:08 b\nneither\n2026-03-04 05:06:09 c\n"
    records = RecordReader(rule).read(Window(text))
    seconds = [(instant - int(records.instants[0])) // 1_000_000 for instant in records.instants.tolist()]
    assert seconds == [0, 1, 1, 2]


def test_a_stamp_without_year_beside_dated_ones_takes_the_year_that_brings_it_nearest() -> None:
    rule = LogRule((StampRule("iso8601", "head"), StampRule("rfc3164", "head")))
    text = b"2026-12-31 23:59:59 a\nJan  1 00:00:01 b\nDec 31 23:59:58 c\n"
    records = RecordReader(rule).read(Window(text))
    seconds = [(instant - int(records.instants[0])) // 1_000_000 for instant in records.instants.tolist()]
    assert seconds == [0, 2, -1]


def test_an_empty_window_leaves_its_carry_as_it_was() -> None:
    carry = Carry(level=Level.WARN, lines=3, size=10, open=True)
    records = RecordReader(RULE).read(Window(b""), carry)
    assert records.carry == carry
    assert len(records.starts) == 0
