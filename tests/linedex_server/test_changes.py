"""Which symbols a diff touches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linedex.model import ByteOffset, Column, LineNumber, Symbol, SymbolKind
from linedex_server.tools.changes import LineRange, classified


def symbol(first: int, last: int) -> Symbol:
    return Symbol(
        name="f",
        kind=SymbolKind.FUNCTION,
        container="",
        parent=-1,
        start_line=LineNumber(first),
        end_line=LineNumber(last),
        start_byte=ByteOffset(0),
        end_byte=ByteOffset(0),
        line=LineNumber(first),
        column=Column(1),
        name_byte=ByteOffset(0),
        signature="",
    )


def spans() -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(1, 12), st.integers(0, 6)).map(lambda pair: (pair[0], sum(pair)))


@given(
    spans(),
    st.lists(
        st.tuples(spans(), st.sampled_from(["added", "modified", "removed"])).map(lambda pair: (*pair[0], pair[1])),
        max_size=4,
    ),
)
def test_a_symbol_is_classified_by_the_lines_it_holds(span: tuple[int, int], ranges: list[LineRange]) -> None:
    lines = set(range(span[0], span[1] + 1))
    touched = [(lines & set(range(first, last + 1)), kind) for first, last, kind in ranges]
    kinds = {kind for shared, kind in touched if shared}
    if not kinds:
        expected = {}
    elif kinds == {"removed"}:
        expected = {0: "removed"}
    elif kinds == {"added"} and set().union(*(shared for shared, _ in touched)) == lines:
        expected = {0: "added"}
    else:
        expected = {0: "modified"}
    assert classified([symbol(*span)], ranges) == expected
