"""Ranges of a log that were read by themselves, against the same ranges read behind what stands before them."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.logs.parts import LogRange, Part, follow, read_parts
from linedex.content.logs.records import FILE_START, Bounds, Carry
from linedex.content.logs.texts import LogReading, find_rule
from linedex.model import Newline, TextFormat

UTF8 = TextFormat("utf-8", newline=Newline.LF)
STAMPED = b"".join(b"2026-03-04 05:%02d:07 INFO request served\n" % at for at in range(30))
RULE = find_rule(lambda offset, size: STAMPED[offset : offset + size], len(STAMPED), UTF8)
assert RULE is not None
READING = LogReading(RULE, "UTC", Bounds(lines=5, bytes=200))


def read(data: bytes, carry: Carry, edges: list[int], *, continues: bool) -> LogRange:
    return read_parts(READING, data, 0, edges, carry, continues=continues, beyond=b"", spelling=UTF8)


def told(made: LogRange | None) -> object:
    """Return all of a range as values that can be compared."""
    assert made is not None
    parts = [
        [
            getattr(one.part, field.name).counts.tolist() if field.name == "cells" else getattr(one.part, field.name)
            for field in fields(Part)
        ]
        for one in made.parts
    ]
    return made.carry, made.left, parts, [one.shapes.hashes.tolist() for one in made.parts]


def carry_behind(text: bytes) -> Carry:
    return read(text, FILE_START, [0], continues=False).left


@given(st.integers(1, 400), st.integers(1, 600), st.integers(0, 400))
def test_a_range_inside_one_line_follows_whatever_stands_before_it(begun: int, size: int, cut: int) -> None:
    before = carry_behind(STAMPED + b"x" * begun)
    edges = [0, cut] if 0 < cut < size else [0]
    alone = read(bytes(size), FILE_START, edges, continues=True)
    assert told(follow(alone, before, READING)) == told(read(bytes(size), before, edges, continues=True))


@pytest.mark.parametrize("ended", [True, False])
def test_lines_that_are_in_no_record_follow_whatever_stands_before_them(ended: bool) -> None:
    rest = b"a line without a stamp\n" * 50
    before = carry_behind(STAMPED + rest + (b"" if ended else b"part of "))
    assert not before.open
    alone = read(rest, FILE_START, [0, 230, 460], continues=not ended)
    assert told(follow(alone, before, READING)) == told(read(rest, before, [0, 230, 460], continues=not ended))


def test_a_range_with_lines_that_may_go_on_with_a_record_is_to_be_read_again() -> None:
    alone = read(b"rest\nof a record\n" + STAMPED, FILE_START, [0], continues=True)
    assert follow(alone, carry_behind(STAMPED + b"begun"), READING) is None
