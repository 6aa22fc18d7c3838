from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linedex_server.edit.content.same_ends import common_ends


@given(st.text(alphabet="ab", max_size=40), st.text(alphabet="ab", max_size=40))
def test_the_common_ends_are_as_long_as_can_be_and_do_not_overlap(one: str, other: str) -> None:
    head, tail = common_ends(one, other)
    assert one[:head] == other[:head]
    assert one[len(one) - tail :] == other[len(other) - tail :]
    assert head + tail <= min(len(one), len(other))
    if head + tail < min(len(one), len(other)):
        assert one[head] != other[head]
        assert one[len(one) - tail - 1] != other[len(other) - tail - 1]
    assert common_ends(one.encode(), other.encode()) == (head, tail)
