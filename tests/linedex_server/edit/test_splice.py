from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex_server.edit.splice import Splice, applied, ordered, reversal


@st.composite
def spliced(draw: st.DrawFn) -> tuple[bytes, tuple[Splice, ...]]:
    content = draw(st.binary(max_size=40))
    edges = sorted(draw(st.lists(st.integers(0, len(content)), max_size=8)))
    pairs = list(zip(edges[::2], edges[1::2], strict=False))
    return content, ordered(Splice(start, end, draw(st.binary(max_size=5))) for start, end in pairs)


@given(spliced())
def test_a_reversal_brings_the_former_bytes_back(case: tuple[bytes, tuple[Splice, ...]]) -> None:
    content, splices = case
    changed = applied(content, splices)
    undoing = reversal(splices, lambda start, end: content[start:end])
    assert applied(changed, undoing) == content


@given(spliced())
def test_a_file_grows_by_the_sum_of_its_splices(case: tuple[bytes, tuple[Splice, ...]]) -> None:
    content, splices = case
    assert len(applied(content, splices)) == len(content) + sum(splice.delta for splice in splices)


def test_splices_that_overlap_are_refused_and_those_that_touch_are_not() -> None:
    assert ordered([Splice(3, 5, b"b"), Splice(1, 3, b"a")]) == (Splice(1, 3, b"a"), Splice(3, 5, b"b"))
    with pytest.raises(ValueError, match="at 1 and 2 overlap"):
        ordered([Splice(2, 5, b"b"), Splice(1, 3, b"a")])


def test_insertions_at_one_place_keep_their_order() -> None:
    splices = ordered([Splice(2, 2, b"x"), Splice(2, 2, b"a")])
    assert applied(b"12345", splices) == b"12xa345"
