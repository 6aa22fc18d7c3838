from __future__ import annotations

import pytest

from linedex.answers import SearchRequest
from linedex.query.gram_query import ALL
from linedex.query.plan import MOST_GRAMS, plan, plan_files, plan_request
from linedex.query.syntax import Literal

GOLDEN = [
    # literals and folding
    ("ab", "+"),
    ("abc", '"abc"'),
    ("Abcd", '"abc" "bcd"'),
    ("aaaa", '"aaa"'),
    ('a"b\\\\', '"a\\"b" "\\"b\\\\"'),
    ("STRASSE", '"str" "tra" "ras" "ass" "sse"'),
    ("straße", '"str" "tra" "ras" "ass" "sse"'),
    ("İab", '"iab"'),
    ("ıab", '"iab"'),
    ("\u212aab", '"kab"'),
    ("ſab", '"sab"'),
    ("ﬁn", '"fin"'),
    ("σας", '"σ\\xce" "\\x83α" "α\\xcf" "\\xb1σ"'),
    # what is never required
    (r"abc\ndef", '"abc" "def"'),
    (r"abc\r?\ndef", '"abc" "def"'),
    (r"abc\x{fffd}def", '"abc" "def"'),
    (r"abc\x{d800}def", '"abc" "def"'),
    (r"abc\Cdef", '"abc" "def"'),
    (r"abc[\n,]def", '"abc" "def"'),
    (r"abc\sdef", '"abc" "def"'),
    (r"abc\pLdef", '"abc" "def"'),
    # escapes and flags
    (r"a\.b", '"a.b"'),
    (r"\Qa.b*\E", '"a.b" ".b*"'),
    (r"\x61\x{62}\143", '"abc"'),
    ("(?i)abc", '"abc"'),
    ("a(?i:b)c", '"abc"'),
    ("(?i)[aA]bc", '"abc"'),
    # edges and looking around are no characters
    ("^abc$", '"abc"'),
    (r"\Aabc\z", '"abc"'),
    (r"a\bbc\B", '"abc"'),
    ("ab(?=x)c", '"abc"'),
    ("ab(?!x)c", '"abc"'),
    (r"(abc)\1", '"abc"'),
    # concatenation and gaps
    ("abc.*def", '"abc" "def"'),
    ("abc.def", '"abc" "def"'),
    ("ab.cd", "+"),
    ("(abc)", '"abc"'),
    ("(?P<name>ab)c", '"abc"'),
    ("a(b(c(d)))", '"abc" "bcd"'),
    # alternation
    ("abc|def", '"abc"|"def"'),
    ("abc|ab", "+"),
    ("abc|", "+"),
    ("abcd|xyz", '"xyz"|("abc" "bcd")'),
    ("(abc|abd)", '"abc"|"abd"'),
    ("a(b|c)d", '"abd"|"acd"'),
    ("(abc|def)ghi", '"ghi" (("abc" "bcg" "cgh")|("def" "efg" "fgh"))'),
    ("(a|b)(c|d)e", '"ace"|"ade"|"bce"|"bde"'),
    ("(abc|def).*(ghi|jkl)", '("abc"|"def") ("ghi"|"jkl")'),
    ("abcd|abce", '"abc" ("bcd"|"bce")'),
    # repetition
    ("abc*", "+"),
    ("(abc)*", "+"),
    ("(abc)+", '"abc"'),
    ("(abc)?", "+"),
    ("(abc)?def", '"def"'),
    ("abc?d", '"abd"|("abc" "bcd")'),
    ("abc+", '"abc"'),
    ("abc+d", '"abc"'),
    ("a+bc", '"abc"'),
    ("a{3}", '"aaa"'),
    ("(ab){2}", '"aba" "bab"'),
    ("(ab){2,}c", '"aba" "bab" "abc"'),
    ("(ab){0}cde", '"cde"'),
    ("(ab){1,3}", "+"),
    ("(abc){1000}", '"abc" "bca" "cab"'),
    ("(?:abc.)+", '"abc"'),
    ("x*?abc", '"abc"'),
    # classes
    ("[aA]bc", '"abc"'),
    ("ab[cd]", '"abc"|"abd"'),
    ("[a-c][x-z]1", '"ax1"|"ay1"|"az1"|"bx1"|"by1"|"bz1"|"cx1"|"cy1"|"cz1"'),
    ("[^a]bcd", '"bcd"'),
    ("[a-zA-Z]bcd", '"bcd"'),
    (r"[\x{0}-\x{10ffff}]bcd", '"bcd"'),
    (r"\dabc", '"abc"'),
    ("[[:digit:]]ab", '"0ab"|"1ab"|"2ab"|"3ab"|"4ab"|"5ab"|"6ab"|"7ab"|"8ab"|"9ab"'),
    ("[[:^digit:]]abc", '"abc"'),
    ("[kK\u212a]ab", '"kab"'),
    ("[ßẞ]a", '"ssa"'),
    # the whole of it
    ("", "+"),
    (".*", "+"),
    (r"def \w+_bytes", '"def" "ef " "_by" "byt" "yte" "tes"'),
    (r"(foo|bar)+baz", '"baz" ("bar"|"foo") (("arb" "rba")|("oob" "oba"))'),
    (r"TODO|FIXME|XXX", '"xxx"|("fix" "ixm" "xme")|("tod" "odo")'),
]


@pytest.mark.parametrize(("pattern", "printed"), GOLDEN)
def test_a_pattern_prints_as_its_trigrams(pattern: str, printed: str) -> None:
    assert str(plan(pattern, gram=3)) == printed


@pytest.mark.parametrize(
    ("pattern", "printed"),
    [
        ("abcd", "+"),
        ("abcde", '"abcde"'),
        ("abcdef", '"abcde" "bcdef"'),
        ("abcde|vwxyz", '"abcde"|"vwxyz"'),
        ("ab[cd]ef", '"abcef"|"abdef"'),
        ("(abc|def)gh", '"abcgh"|"defgh"'),
        ("abc.*def", "+"),
        ("a{5}", '"aaaaa"'),
        ("жжж", '"жж\\xd0" "\\xb6жж"'),
    ],
)
def test_a_pattern_prints_as_its_grams_of_five_bytes(pattern: str, printed: str) -> None:
    assert str(plan(pattern, gram=5)) == printed


@pytest.mark.parametrize(
    "pattern",
    [
        "x" * 5000 + "abcdefgh" * 200,
        "|".join(f"word{number}x" for number in range(1000)),
        "(?:abc|def|ghi)" * 200,
        "[a-p]{8}abc",
        ".".join(f"run{number}" for number in range(500)),
    ],
)
def test_a_query_stays_small(pattern: str) -> None:
    assert plan(pattern, gram=3).size() <= MOST_GRAMS


def test_a_long_literal_still_asks_for_grams_of_its_whole_length() -> None:
    query = plan(Literal("".join(f"{number:03}" for number in range(300))), gram=3)
    assert query.grams[0] == b"000"
    assert query.grams[-1] == b"299"


def test_a_literal_request_is_planned_as_it_stands() -> None:
    assert str(plan_request(SearchRequest("a.*b"), 3)) == '"a.*" ".*b"'
    assert str(plan_request(SearchRequest("a.*b", regex=True), 3)) == "+"


def test_of_a_long_literal_the_longer_grams_are_asked_alone() -> None:
    assert plan_files(SearchRequest("abcdefghijklmno")) == plan_request(SearchRequest("abcdefghijklmno"), 4)
    assert str(plan_files(SearchRequest("abcde"))) == '"abcd" "bcde" "abc" "bcd" "cde"'


def test_beside_a_long_literal_short_ones_keep_their_grams() -> None:
    request = SearchRequest(r"abcdefghijklmno.*(xyz|uvw)\w+rst", regex=True)
    assert str(plan_files(request)).removeprefix(str(plan_request(request, 4))) == ' "rst" (uvw|xyz)'.replace(
        "uvw|xyz", '"uvw"|"xyz"'
    )


def test_words_and_whole_lines_require_what_their_pattern_requires() -> None:
    plain = plan_request(SearchRequest("abcd"), 3)
    assert plan_request(SearchRequest("abcd", word=True), 3) == plain
    assert plan_request(SearchRequest("abcd", whole_line=True, case_sensitive=True), 3) == plain


def test_an_inverted_search_requires_nothing() -> None:
    assert plan_request(SearchRequest("abcd", invert=True), 3) == ALL


def test_a_match_over_lines_requires_nothing_of_a_block_but_its_grams_of_a_whole_file() -> None:
    request = SearchRequest("abc\ndef")
    assert plan_request(request, 3) == ALL
    assert str(plan_request(request, 3, whole_files=True)) == '"abc" "def"'
