from __future__ import annotations

import pytest
import re2
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linedex.errors import BadPattern
from linedex.query.code_points import quiet_options
from linedex.query.dialect import RE2_NOT_WORD, to_re2, to_regex
from linedex.query.parser import parse, parse_text_pattern

POINTS = [
    chr(point)
    for low, high in (
        (0, 0x0A),
        (0x0B, 0x3100),
        (0xA000, 0xAC10),
        (0xD7A0, 0xD800),
        (0xE000, 0xE010),
        (0xF900, 0x12000),
    )
    for point in range(low, high)
]
ONE_POINT = [
    *(
        ".",
        "(?s:.)",
        "[^a]",
        "[a-z]",
        "(?i)[a-z]",
        "(?i)[^a-k]",
        "(?i)k",
        "(?i)s",
        "(?i)i",
        "(?i)\u0131",
        "(?i)\u0130",
        "(?i)ß",
    ),
    *(
        r"\w",
        r"\W",
        r"\d",
        r"\D",
        r"\s",
        r"\S",
        r"[^\W_]",
        r"[\W_]",
        r"[\D\d]",
        r"\pL",
        r"\PL",
        r"[^\PL]",
        r"(?i)\p{Lu}",
    ),
    *(
        "(?i)[[:^upper:]]",
        "[[:^upper:]x]",
        "[[:word:]]",
        r"(?i)[\p{Greek}k]",
        "(?i)σ",
        "(?i)[à-ö]",
        r"[\x{d000}-\x{f000}]",
    ),
    *(r"[\x{d800}-\x{dfff}]", "(?i)[İı]", r"[^\x00-\x{10ffff}]", "(?i)ǆ", r"\p{Cs}", r"\p{Nl}", "[\n\x01]"),
]
ASSIGNED = re2.compile(r"[\pL\pM\pN\pP\pS\pZ\pC]", quiet_options())
"""What RE2 knows; `regex` may know code points of a newer Unicode."""


@pytest.mark.parametrize("pattern", ONE_POINT)
def test_both_dialects_match_the_same_code_points(pattern: str) -> None:
    tree = parse(pattern)
    by_re2 = re2.compile(to_re2(tree).encode(), quiet_options(never_newline=True))
    by_regex = regex.compile(to_regex(tree, multiline=False))
    text = "".join(POINTS)
    in_re2 = {match.group().decode() for match in by_re2.finditer(text.encode())}
    in_regex = set(by_regex.findall(text))
    assert {char for char in in_re2 ^ in_regex if ASSIGNED.search(char)} == set()


@pytest.mark.parametrize(
    "pattern",
    [
        ".",
        "(?s:.)",
        "[^a]",
        r"\W",
        r"\S",
        r"\D",
        r"[\D\d]",
        r"\PL",
        "[[:^alpha:]]",
        r"[\W_]",
        r"\p{Cs}",
        r"\pC",
        r"\p{Any}",
        r"\P{Cs}",
    ],
)
@pytest.mark.parametrize(
    "broken", [b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xe2\x84"]
)
def test_no_class_matches_bytes_that_are_not_utf_8(pattern: str, broken: bytes) -> None:
    tree = parse(pattern)
    assert not re2.compile(to_re2(tree).encode(), quiet_options(never_newline=True)).search(broken)
    assert not regex.compile(to_regex(tree, multiline=False)).search(broken.decode("utf-8", "surrogateescape"))


def test_word_characters_are_unicodes_own() -> None:
    word = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]")
    ours = re2.compile(RE2_NOT_WORD, quiet_options())
    for char in POINTS:
        if ASSIGNED.search(char):
            assert bool(ours.search(char)) != bool(word.search(char)), hex(ord(char))


@pytest.mark.parametrize(
    "pattern",
    [
        "a|b",
        "(a|b)c",
        "(?:a|)b",
        "ab*c",
        "(ab)*c",
        "(?:ab){2}?x",
        "a(?i:b|c)d",
        "^(a|b)+$",
        "c++",
        "(?:a*)+b",
        "()a",
        "|a",
        "[ab]|c{2,}",
    ],
)
def test_grouping_survives_the_writing(pattern: str) -> None:
    tree = parse(pattern)
    given = re2.compile(f"(?m){pattern.replace('c++', '(?:c+)+')}".encode(), quiet_options())
    written = re2.compile(to_re2(tree).encode(), quiet_options())
    other = regex.compile(to_regex(tree, multiline=False))
    for text in (b"", b"a", b"ab", b"abab", b"ababx", b"abc", b"aabbcc", b"aBd", b"acd", b"ccc", b"b", b"xay"):
        expected = given.search(text)
        assert (written.search(text) and written.search(text).span()) == (expected and expected.span())
        found = other.search(text.decode())
        assert (found and found.span()) == (expected and expected.span())


def test_any_byte_has_no_meaning_over_decoded_text() -> None:
    with pytest.raises(BadPattern, match="any byte"):
        to_regex(parse(r"\C(?=a)"), multiline=False)


@pytest.mark.parametrize("pattern", ["(a)|b", "(a)*c", "((a)b)?", "(a|b){2}(c)", "()a"])
def test_groups_are_told_apart_on_request(pattern: str) -> None:
    tree = parse(pattern)
    given = re2.compile(pattern.encode(), quiet_options())
    written = re2.compile(to_re2(tree, captures=True).encode(), quiet_options())
    for text in (b"a", b"b", b"aac", b"ab", b"abc", b"bac", b"c"):
        expected, found = given.search(text), written.search(text)
        assert (found and found.groups()) == (expected and expected.groups())


def test_the_ends_of_a_text_are_not_those_of_its_lines() -> None:
    tree = parse_text_pattern(r"\Ab|c\z").tree
    for search in (
        re2.compile(to_re2(tree), quiet_options()).search,
        regex.compile(to_regex(tree, multiline=True)).search,
    ):
        assert search("b\n")
        assert search("a\nc")
        assert not search("a\nb")
        assert not search("c\n")


COUNTS = st.from_regex(r"0{0,3}[0-9]{0,4}|[0-9]{8,12}", fullmatch=True)


@settings(max_examples=300, deadline=None)
@example("0000005", "", "")
@example("2", ",", "04")
@example("0", ",", "00")
@example("9999999999", "", "")
@given(COUNTS, st.sampled_from(["", ","]), COUNTS)
def test_braces_count_where_they_do_for_re2_and_as_often(low: str, comma: str, high: str) -> None:
    pattern = f"a{{{low}{comma}{high if comma else ''}}}"
    try:
        theirs = re2.compile(pattern.encode(), quiet_options())
    except re2.error:
        with pytest.raises(BadPattern):
            parse(pattern)
        return
    ours = re2.compile(to_re2(parse(pattern)).encode(), quiet_options())
    for text in (pattern, *("a" * count for count in range(12))):
        assert (ours.fullmatch(text.encode()) is None) == (theirs.fullmatch(text.encode()) is None)
