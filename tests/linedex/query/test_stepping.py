"""RE2 in steps finds what one call of it finds, and gives up in its time."""

from __future__ import annotations

import pytest
import re2
from hypothesis import example, given
from hypothesis import strategies as st

from linedex.answers import SearchRequest
from linedex.errors import BadPattern, PatternTimedOut
from linedex.limits import Limits
from linedex.query.dialect import to_re2
from linedex.query.extent import Extent, extent_of
from linedex.query.matcher import compile_pattern
from linedex.query.parser import parse
from linedex.query.stepping import Match, Stepping

PATTERNS = [
    *("a[ab]{3}c", "a{2,5}", "a*b", "(a|ab)(c|bcd)", "^a", "a$", "(?i)KB", "", "x*", "é{1,3}a", "[^a]{2}", "a.*b.*c"),
    *("(?:^|b)a(?:$|c)", "b|", "(a?b){2,3}$"),
]


def program(pattern: str, *, multiline: bool) -> Match:
    options = re2.Options()
    options.never_nl = not multiline
    compiled = re2._re2.RE2(to_re2(parse(pattern)).encode(), options)
    assert compiled.ok()
    return lambda text, start, end: compiled.Match(re2._Anchor.UNANCHORED, text, start, end)


@example(pattern="a{2,5}", pieces=["aaaaaaaa"], step=1, multiline=False)
@example(pattern="a$", pieces=["ab", "a\n"], step=1, multiline=False)
@given(
    st.sampled_from(PATTERNS),
    st.lists(st.sampled_from(["a", "b", "c", "d", "é", "k", "\u212a", "\n", "aaaa", "abab"]), max_size=60),
    st.integers(1, 9),
    st.booleans(),
)
def test_steps_find_what_one_call_finds(pattern: str, pieces: list[str], step: int, multiline: bool) -> None:
    text = "".join(pieces).encode()
    match = program(pattern, multiline=multiline)
    # a program this large is cut into steps as small as may be
    stepping = Stepping(match, 1 << 40, extent_of(parse(pattern)), 60, within_lines=not multiline, least_step=step)
    search, at = stepping.on(text), 0
    while at <= len(text):
        found = search(at, len(text))
        assert list(found) == list(match(text, at, len(text)))
        if found[0][0] < 0:
            return
        at = max(found[0][1], at + 1)


@pytest.mark.parametrize("longest", [4, None])
@pytest.mark.parametrize("within_lines", [True, False])
def test_no_call_goes_over_more_than_a_step_while_lines_or_the_longest_match_allow_it(
    longest: int | None,
    within_lines: bool,
) -> None:
    text = b"ab\n" * 1000
    sizes = []

    def match(_: bytes, start: int, end: int) -> list[tuple[int, int]]:
        sizes.append(end - start)
        return [(-1, -1)]

    Stepping(match, 1 << 40, Extent(9, longest), 60, within_lines=within_lines, least_step=10).on(text)(0, len(text))
    assert (max(sizes) <= 20) == (within_lines or longest is not None)


@pytest.mark.parametrize("pattern", ["a[ab]{500}c", "(.*a.*b){500}c"])
def test_a_pattern_is_given_up_when_its_time_is_spent(pattern: str) -> None:
    spent = program(pattern, multiline=False)
    stepping = Stepping(spent, 1 << 40, extent_of(parse(pattern)), 1e-9, within_lines=True)
    with pytest.raises(PatternTimedOut, match="would take over"):
        stepping.on(b"ab" * 100_000)(0, 200_000)


def test_a_line_that_would_take_too_long_under_a_pattern_without_longest_match_is_not_begun() -> None:
    calls = []

    def slow(_: bytes, start: int, end: int) -> list[tuple[int, int]]:
        calls.append(end - start)
        return [(-1, -1)]

    stepping = Stepping(slow, 1 << 40, Extent(9, None), 1e-9, within_lines=True, least_step=1000)
    with pytest.raises(PatternTimedOut):
        stepping.on(b"a" * 100_000)(0, 100_000)
    assert max(calls) == 1000


@pytest.mark.parametrize(
    ("pattern", "extent"),
    [
        ("abc", Extent(3, 12)),
        ("a{2,5}b", Extent(6, 24)),
        ("a{3,}", Extent(3, None)),
        ("(ab|c)?", Extent(3, 8)),
        ("(?:^$)*", Extent(0, 0)),
        ("a*", Extent(1, None)),
        (r"\C.[a-z]", Extent(3, 9)),
        ("(a{10}b){10}", Extent(110, 440)),
    ],
)
def test_an_extent_counts_what_repetitions_stand_for(pattern: str, extent: Extent) -> None:
    assert extent_of(parse(pattern)) == extent


@pytest.mark.parametrize(
    "pattern",
    [
        r"(\w+\s+){1,50}x",
        r"[\pL]{1,100}x",
        "|".join(f"word{number}" for number in range(1000)),
        r"(?i)\w{100}",
        "(?:.{1,30}){1,30}",
        r"(\d{1,3}\.){3}\d{1,3}",
    ],
)
def test_ordinary_patterns_are_taken(pattern: str) -> None:
    compile_pattern(SearchRequest(pattern, regex=True), Limits(pattern_length=20_000))


@pytest.mark.parametrize("pattern", ["[ab]{1000}" * 11, "(?:(?:ab){10}){100}" * 6, "(?:a{1,100}|b{1,100}){10}" * 9])
def test_a_pattern_too_large_for_any_text_is_refused_with_its_size(pattern: str) -> None:
    with pytest.raises(BadPattern, match=r"too large.* characters and classes, and at most 10,000") as refusal:
        compile_pattern(SearchRequest(pattern, regex=True), Limits())
    assert "Repeat fewer times" in refusal.value.hint


def test_a_long_literal_is_found_without_an_automaton_in_a_text_like_it() -> None:
    literal = "a" * 9_999 + "b"
    matcher = compile_pattern(SearchRequest(literal, case_sensitive=True), Limits(pattern_seconds=1e-9))
    assert matcher.count(b"a" * (1 << 20)) == 0
    assert matcher.count(b"a" * (1 << 20) + b"b\n") == 1


def test_what_was_found_before_the_time_was_spent_stands() -> None:
    matcher = compile_pattern(SearchRequest("a[ab]{900}c|first", regex=True), Limits(pattern_seconds=1e-9))
    hits = matcher.find(b"first\n" + b"ab" * 200_000)
    assert next(hits).line_end == 5
    with pytest.raises(PatternTimedOut):
        next(hits)
