from __future__ import annotations

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.grams import Bits
from linedex.store.schema import TABLES, rows_per_chunk
from linedex.store.signatures import FileGroup, Rows, SingleRows, file_groups, group_files, seal, write_rows

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


def grouped(columns: int, files: bytes) -> tuple[apsw.Connection, FileGroup]:
    db = apsw.Connection(":memory:")
    db.execute(TABLES)
    db.execute("INSERT INTO file_groups(id, bits, columns, files) VALUES(7, 8, ?, ?)", (columns, files))
    (group,) = file_groups(db)
    return db, group


def test_the_files_of_a_group_are_read_by_themselves() -> None:
    stored = seal(np.array([5, 9], np.uint32).tobytes(), 7)
    db, group = grouped(2, stored)
    assert (group.id, group.bits, group.columns) == (7, 8, 2)
    assert group_files(db, group).tolist() == [5, 9]
    db.close()


@pytest.mark.parametrize(
    ("columns", "key", "message"), [(2, 8, "not what was written"), (3, 7, "2 files and 3 columns")]
)
def test_files_that_do_not_fit_their_group_are_a_damaged_index(columns: int, key: int, message: str) -> None:
    db, group = grouped(columns, seal(np.array([5, 9], np.uint32).tobytes(), key))
    with pytest.raises(apsw.CorruptError, match=message):
        group_files(db, group)
    db.close()


def test_a_group_without_rows_is_a_damaged_index() -> None:
    db = sidecar({})
    with SingleRows(db) as rows, pytest.raises(apsw.CorruptError, match="rows of group 3 are missing"):
        rows.of(3, COLUMNS)
    db.close()
