"""Cells and timelines, against counts made one record at a time."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.logs.cells import NO_CELLS, Cells, bucket_width, count_cells, merge_cells, timeline
from linedex.content.logs.instants import MINUTE
from linedex.content.logs.levels import Level

RECORDS = st.lists(
    st.tuples(st.one_of(st.integers(-(10**9), 10**10), st.integers(0, 10**17)), st.sampled_from(list(Level))),
    max_size=60,
)


def cells_of(records: list[tuple[int, Level]]) -> Cells:
    return count_cells(
        np.array([instant for instant, _ in records], np.int64), np.array([level for _, level in records], np.uint8)
    )


def as_counter(cells: Cells) -> Counter[tuple[int, int]]:
    keys = zip(cells.minutes.tolist(), cells.levels.tolist(), strict=True)
    return Counter(dict(zip(keys, cells.counts.tolist(), strict=True)))


@given(RECORDS)
def test_cells_count_each_record_in_its_minute(records: list[tuple[int, Level]]) -> None:
    cells = cells_of(records)
    assert as_counter(cells) == Counter((instant // MINUTE, int(level)) for instant, level in records)
    assert cells.records == len(records)
    assert cells.per_level() == Counter(level for _, level in records)


@given(RECORDS, st.lists(st.integers(0, 60), max_size=4))
def test_cells_of_parts_add_up(records: list[tuple[int, Level]], cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(records)]
    parts = [cells_of(records[start:end]) for start, end in pairwise(places)]
    merged = merge_cells(parts)
    assert as_counter(merged) == as_counter(cells_of(records))
    assert merged.minutes.tolist() == sorted(merged.minutes.tolist())


@given(RECORDS, st.integers(0, 90), st.integers(3, 200))
def test_a_timeline_shows_every_record_and_the_empty_buckets(
    records: list[tuple[int, Level]], width: int, most: int
) -> None:
    shown = timeline(cells_of(records), width, most)
    assert len(shown) <= most
    assert sum(shown.totals) == len(records)
    starts = shown.starts().tolist()
    for begin, total in zip(starts, shown.totals, strict=True):
        assert total == sum(begin <= instant < begin + shown.width * MINUTE for instant, _ in records)
    if records and width and shown.width != width:
        assert shown.width > width


def test_the_least_usual_width_is_taken() -> None:
    assert bucket_width(58, 60) == 1
    assert bucket_width(59, 60) == 2
    assert bucket_width(24 * 60, 60) == 30


def test_coarser_cells_hold_the_same_records() -> None:
    cells = cells_of([(0, Level.INFO), (MINUTE, Level.INFO), (61 * MINUTE, Level.WARN)])
    assert as_counter(cells.coarsened(60)) == {(0, int(Level.INFO)): 2, (60, int(Level.WARN)): 1}


def test_nothing_adds_up_to_nothing() -> None:
    assert len(merge_cells([NO_CELLS])) == 0
    assert len(timeline(NO_CELLS, 1, 10)) == 0
