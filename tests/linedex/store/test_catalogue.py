"""Columns of a catalogue are those of its rows, of each state anew."""

from __future__ import annotations

import numpy as np
import pytest

from linedex.store.catalogue import FACTS, Catalogue


def catalogue_of(count: int) -> Catalogue:
    facts = np.zeros(count, FACTS)
    facts["id"] = np.arange(1, count + 1)
    facts["ignored"] = facts["id"] % 3 == 0
    facts["language"] = facts["id"] * 7
    return Catalogue.empty().with_added([b"%03d" % number for number in range(count)], facts)


def test_a_column_holds_what_the_rows_hold() -> None:
    catalogue = catalogue_of(20)
    for name in ("ignored", "language", "id"):
        assert np.array_equal(catalogue.column(name), catalogue.facts[name])
        assert catalogue.column(name).flags.c_contiguous
        assert catalogue.column(name) is catalogue.column(name)


def test_a_column_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        catalogue_of(3).column("ignored")[0] = True


def test_the_next_state_has_columns_of_its_own() -> None:
    catalogue = catalogue_of(20)
    before = catalogue.column("language").copy()
    changed = catalogue.facts[4:6].copy()
    changed["language"] = 999
    after = catalogue.with_facts(changed).without([1])
    assert np.array_equal(catalogue.column("language"), before)
    assert after.column("language").tolist()[3:5] == [999, 999]
    assert len(after.column("language")) == 19
