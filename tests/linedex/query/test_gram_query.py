from __future__ import annotations

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from linedex.query.gram_query import ALL, NONE, GramQuery, both, bounded, either, require

GRAMS = (b"abc", b"bcd", b"cde", b"def")
TEXTS = [frozenset(chosen) for chosen in chain.from_iterable(combinations(GRAMS, size) for size in range(5))]


def queries() -> st.SearchStrategy[GramQuery]:
    leaves = st.one_of(
        st.sampled_from([ALL, NONE]), st.lists(st.sampled_from(GRAMS), min_size=1, max_size=3).map(require)
    )
    return st.recursive(
        leaves, lambda inner: st.one_of(st.lists(inner, max_size=3).map(both), st.lists(inner, max_size=3).map(either))
    )


def truth(query: GramQuery) -> list[bool]:
    return [query.admits(text.__contains__) for text in TEXTS]


@given(st.lists(queries(), max_size=4))
def test_both_is_true_where_each_is(parts: list[GramQuery]) -> None:
    assert truth(both(parts)) == [all(part.admits(text.__contains__) for part in parts) for text in TEXTS]


@given(st.lists(queries(), max_size=4))
def test_either_is_true_where_one_is(parts: list[GramQuery]) -> None:
    assert truth(either(parts)) == [any(part.admits(text.__contains__) for part in parts) for text in TEXTS]


@given(queries(), st.integers(0, 6))
def test_a_bounded_query_is_small_and_true_where_the_whole_one_is(query: GramQuery, budget: int) -> None:
    smaller = bounded(query, budget)
    assert smaller.size() <= budget
    assert all(after or not before for before, after in zip(truth(query), truth(smaller), strict=True))


@given(queries(), queries())
def test_what_is_asked_beyond_another_query_is_asked_by_the_whole_one(query: GramQuery, other: GramQuery) -> None:
    rest = query.beyond(other)
    assert all(after or not before for before, after in zip(truth(query), truth(rest), strict=True))
    assert query.beyond(ALL) == query


def test_parts_of_grams_of_the_other_query_are_left_out() -> None:
    longer = require([b"abcd", b"bcde"])
    assert str(require([b"abc", b"cde", b"xyz"]).beyond(longer)) == '"xyz"'
    assert require([b"abc", b"cde"]).beyond(longer) == ALL
    branches = either([require([b"abc", b"bcd"]), require([b"cde"])])
    assert branches.beyond(longer) == ALL
    assert both([require([b"abc"]), branches]).beyond(longer) == ALL
    mixed = either([require([b"abc"]), require([b"xyz"])])
    assert mixed.beyond(longer) == mixed
    kept = either([require([b"bcd"]), require([b"xyz"])])
    assert both([require([b"abc"]), kept]).beyond(require([b"abcd"])) == kept


def test_the_least_number_of_grams_is_that_of_the_smallest_branch() -> None:
    assert [query.least() for query in (ALL, NONE, require(GRAMS))] == [0, 0, 4]
    branches = either([require([b"abc", b"bcd"]), require([b"cde", b"def", b"efg"])])
    assert branches.least() == 2
    assert both([require([b"xyz"]), branches]).least() == 3
    assert either([require([b"abc"]), require([b"cde", b"def"])]).least() == 1


def test_nothing_known_and_nothing_possible_print_as_signs() -> None:
    assert str(ALL) == "+"
    assert str(NONE) == "-"


def test_what_all_branches_share_stands_before_them() -> None:
    assert str(either([require([b"abc", b"bcd"]), require([b"abc", b"def"])])) == '"abc" ("bcd"|"def")'
    assert str(either([require([b"abc", b"bcd"]), require([b"abc"])])) == '"abc"'


def test_a_required_gram_makes_an_or_that_holds_it_superfluous() -> None:
    assert str(both([require([b"abc"]), either([require([b"abc"]), require([b"def"])])])) == '"abc"'


def test_bytes_inside_a_code_point_print_as_escapes() -> None:
    assert str(require(["éa".encode()[1:] + b'"'])) == '"\\xa9a\\""'
