from __future__ import annotations

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.grams import Bits
from linedex.store.schema import TABLES, rows_per_chunk
from linedex.store.signatures import Rows, SingleRows, seal, write_rows

COLUMNS = 16


def sidecar(groups: dict[int, Bits]) -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute(TABLES)
    for group, rows in groups.items():
        write_rows(db, group, rows, COLUMNS)
    return db


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(0, (1 << 13) - 1)), min_size=1, max_size=20))
def test_single_rows_of_groups_in_any_order_are_those_of_the_whole(asked: list[tuple[int, int]]) -> None:
    made = {group: np.random.default_rng(group).integers(0, 256, (1 << 13, COLUMNS // 8), np.uint8) for group in (1, 2)}
    assert rows_per_chunk(COLUMNS) < 1 << 13
    db = sidecar(made)
    with SingleRows(db) as rows:
        of = {group: rows.of(group, COLUMNS) for group in made}
        for group, position in asked:
            assert of[group](position).tolist() == made[group][position].tolist()
    assert np.array_equal(Rows(db).all(2, 13, COLUMNS), made[2])
    db.close()


@pytest.mark.parametrize("before", [(), (0,)])
@pytest.mark.parametrize("position", [3, 4, 1_000_000])
def test_a_row_that_is_not_there_is_a_damaged_index(before: tuple[int, ...], position: int) -> None:
    db = apsw.Connection(":memory:")
    db.execute(TABLES)
    db.execute("INSERT INTO group_rows VALUES(?, ?)", (1 << 20, seal(b"abcdefg", 1 << 20)))
    with SingleRows(db) as rows:
        row = rows.of(1, COLUMNS)
        assert [bytes(row(at)) for at in before] == [b"ab" for _ in before]
        with pytest.raises(apsw.CorruptError, match="row of group 1"):
            row(position)
