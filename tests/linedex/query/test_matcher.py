from __future__ import annotations

import pytest

from linedex.answers import SearchRequest
from linedex.errors import BadPattern, PatternTimedOut
from linedex.limits import Limits
from linedex.query.matcher import LineMatch, Matcher, compile_pattern

LIMITS = Limits()


def regex(
    pattern: str, *, case_sensitive: bool = True, word: bool = False, whole_line: bool = False, invert: bool = False
) -> Matcher:
    request = SearchRequest(
        pattern, regex=True, case_sensitive=case_sensitive, word=word, whole_line=whole_line, invert=invert
    )
    return compile_pattern(request, LIMITS)


def found(matcher: Matcher, text: str | bytes) -> list[bytes]:
    encoded = text.encode() if isinstance(text, str) else text
    hits = list(matcher.find(encoded))
    assert matcher.count(encoded) == len(hits)
    assert matcher.matches(encoded) == bool(hits)
    return [encoded[hit.line_start : hit.line_end] for hit in hits]


def test_a_hit_says_where_its_line_and_its_match_are() -> None:
    assert list(regex("b+").find(b"aa\nabba\nb")) == [LineMatch(3, 7, 4, 6), LineMatch(8, 9, 8, 9)]


def test_a_line_with_several_matches_is_one_hit_at_the_first() -> None:
    assert list(regex("a").find(b"xaxa\n")) == [LineMatch(0, 4, 1, 2)]


def test_a_search_goes_on_from_a_line_start() -> None:
    assert list(regex("^a").find(b"a\na\n", 2)) == [LineMatch(2, 3, 2, 3)]


@pytest.mark.parametrize(
    ("pattern", "text", "lines"),
    [
        ("^$", b"", []),
        ("^$", b"\n", [b""]),
        ("^$", b"a\n", []),
        ("^$", b"a\n\nb\n\n", [b"", b""]),
        ("$", b"a\nb", [b"a", b"b"]),
        ("x*", b"a\n\nb\n", [b"a", b"", b"b"]),
        (r"\Ab", b"a\nb\n", [b"b"]),
        (r"a\z", b"a\nb\n", [b"a"]),
        ("(?-m)^b", b"a\nb\n", [b"b"]),
        ("a.b", b"a\nb\na\rb\n", [b"a\rb"]),
        ("a[^x]b", b"a\nb\n", []),
        (r"a\sb", b"a\nb\na b\n", [b"a b"]),
        ("(?s)a.b", b"a\nb\na b\n", [b"a b"]),
        ("a.b", b"a\xffb\na\xc3\xa9b\n", [b"a\xc3\xa9b"]),
        ("^.$", "é\n€\nab\n".encode(), ["é".encode(), "€".encode()]),
        ("c++", b"c++\nd\n", [b"c++"]),
        (r"a\x00b", b"a\x00b\n", [b"a\x00b"]),
    ],
)
def test_patterns_match_line_by_line(pattern: str, text: bytes, lines: list[bytes]) -> None:
    assert found(regex(pattern), text) == lines


def test_classes_are_unicodes() -> None:
    assert found(regex(r"^\w+$"), "häuser\n名前\n٣\na-b\n") == ["häuser".encode(), "名前".encode(), "٣".encode()]
    assert found(regex(r"^\d$"), "٣\n²\n") == ["٣".encode()]
    assert found(regex(r"^a\sb$"), "a\u3000b\na\x0bb\nax\n") == ["a\u3000b".encode(), b"a\x0bb"]
    assert found(regex(r"^[^\W_]$"), "é\n_\n-\n") == ["é".encode()]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [(r"\bé", "é\nxé\n-é\n"), (r"\ba\b", "a\néa\naé\nа a\n"), (r"\Ba", "a\néa\nxa\n"), (r"^\b", "é\n-\n")],
)
def test_word_edges_know_letters_beyond_ascii(pattern: str, lines: str) -> None:
    expected = {
        r"\bé": ["é", "-é"],
        r"\ba\b": ["a", "а a"],
        r"\Ba": ["éa", "xa"],
        r"^\b": ["é"],
    }[pattern]
    assert found(regex(pattern), lines) == [line.encode() for line in expected]


def test_word_edges_give_byte_offsets_after_letters_of_several_bytes() -> None:
    text = "é\nßß kat\n\xffx\n".encode()
    assert list(regex(r"\bkat\b").find(text)) == [LineMatch(3, 11, 8, 11)]


def test_case_is_ignored_as_re2_ignores_it() -> None:
    assert found(regex("k", case_sensitive=False), "k\nK\n\u212a\nx\n") == [b"k", b"K", "\u212a".encode()]
    assert found(regex(r"\bi\b", case_sensitive=False), "i\nI\n\u0130\n\u0131\n") == [b"i", b"I"]
    assert found(regex("σ", case_sensitive=False), "σ\nς\nΣ\n") == ["σ".encode(), "ς".encode(), "Σ".encode()]
    assert found(regex("ss", case_sensitive=False), "ß\nsſ\n") == ["sſ".encode()]


@pytest.mark.parametrize(
    ("line", "matches"),
    [
        ("foo", True),
        ("xfoo", False),
        ("foo²", True),
        ("fooé", False),
        ("-foo-", True),
        ("foo_", False),
        ("xfoo foo", True),
        ("\u0301foo", False),
    ],
)
def test_a_word_stands_between_characters_that_are_of_no_word(line: str, *, matches: bool) -> None:
    assert found(compile_pattern(SearchRequest("foo", word=True), LIMITS), line) == ([line.encode()] if matches else [])
    assert found(regex("foo(?=)", word=True), line) == ([line.encode()] if matches else [])


def test_a_word_needs_no_word_characters_itself() -> None:
    assert found(regex(r"-\d", word=True), b"a -1\na-1\n-12\n-1-\n") == [b"a -1", b"-1-"]


def test_the_match_of_a_word_is_the_word_alone() -> None:
    assert list(compile_pattern(SearchRequest("foo", word=True), LIMITS).find(b"xfoo foo,\n")) == [
        LineMatch(0, 9, 5, 8)
    ]


def test_every_branch_is_held_to_words_and_lines() -> None:
    assert found(regex("a|bc", word=True), b"a\nxa\nbc\nbcd\n") == [b"a", b"bc"]
    assert found(regex("a|bc", whole_line=True), b"a\nab\nbc\nabc\n") == [b"a", b"bc"]


def test_a_whole_line_is_the_whole_line() -> None:
    assert found(compile_pattern(SearchRequest("a.c", whole_line=True), LIMITS), b"a.c\nabc\nxa.c\n") == [b"a.c"]


def test_an_inverted_hit_is_the_line_with_an_empty_match_at_its_start() -> None:
    assert list(regex("a", invert=True).find(b"a\nb\n\na")) == [LineMatch(2, 3, 2, 2), LineMatch(4, 4, 4, 4)]


def test_a_literal_has_no_special_characters() -> None:
    for literal in ("a.b", "(", "[a-", "\\d", "x{2}", "^$", "a|b", "\\Q", "é?", "\x00", "#~"):
        matcher = compile_pattern(SearchRequest(literal), LIMITS)
        assert found(matcher, f"{literal}\nother\n") == [literal.encode()]


@pytest.mark.parametrize(
    ("pattern", "text", "lines"),
    [
        ("foo(?=bar)", "foobar\nfoo\nbar\n", ["foobar"]),
        ("foo(?!bar)", "foobar\nfoo\nbar\n", ["foo"]),
        ("(?<=é)b", "éb\nab\n", ["éb"]),
        ("(?<!é)b", "éb\nab\nb\n", ["ab", "b"]),
        (r"(\w)\1", "abba\nabc\néé\n", ["abba", "éé"]),
        ("(?P<q>['\"]).*(?P=q)", "'a'\n'a\"\n", ["'a'"]),
        (r"(?i)(a)\1", "aA\nab\n", ["aA"]),
        ("a(?=\\s)", "a\nb\na \n", ["a "]),
        ("(?<![^x])b", "a\nb\nab\nxb\n", ["b", "xb"]),
    ],
)
def test_look_around_and_back_references_are_taken(pattern: str, text: str, lines: list[str]) -> None:
    assert found(regex(pattern), text) == [line.encode() for line in lines]


def test_look_around_gives_byte_offsets() -> None:
    text = "é\n\u20acfoo!\n".encode() + b"\xfffoo!\n"
    assert list(regex("foo(?=!)").find(text)) == [LineMatch(3, 10, 6, 9), LineMatch(11, 16, 12, 15)]


def test_nested_repetition_takes_linear_time() -> None:
    assert found(regex("^(a+)+$"), b"a" * 200_000 + b"!\naaa\n") == [b"aaa"]


def test_a_pattern_that_backtracks_without_end_is_stopped() -> None:
    matcher = compile_pattern(SearchRequest(r"^((a|aa)+)+(?!b)c$", regex=True), Limits(pattern_seconds=0.05))
    with pytest.raises(PatternTimedOut):
        matcher.count(b"a" * 40 + b"d\n")


def test_the_hits_before_a_pattern_runs_out_of_time_stand() -> None:
    matcher = compile_pattern(SearchRequest(r"^((a|aa)+)*(?!b)c", regex=True), Limits(pattern_seconds=0.05))
    hits = matcher.find(b"c\n" + b"a" * 40 + b"d\n")
    assert next(hits) == LineMatch(0, 1, 0, 1)
    with pytest.raises(PatternTimedOut):
        next(hits)


def test_any_byte_stays_within_its_line() -> None:
    assert found(regex(r"a\Cb"), b"a\nb\na\xffb\naxb\n") == [b"a\xffb", b"axb"]


def test_matches_over_lines_have_a_first_and_a_last_line() -> None:
    text = b":begin\nname=a\n:end\n:begin\nname=b\n:end\n:begin\nname=c\n:end\n"
    matcher = regex(r":begin\r?\nname=(\w)\r?\n:end")
    assert matcher.multiline
    assert found(matcher, text) == [b":begin\nname=a\n:end", b":begin\nname=b\n:end", b":begin\nname=c\n:end"]


def test_a_match_that_ends_with_a_line_end_ends_on_that_line() -> None:
    assert list(regex(r"a\n").find(b"a\na\nb")) == [LineMatch(0, 1, 0, 2), LineMatch(2, 3, 2, 4)]


def test_lines_of_no_match_over_lines_are_found_by_inverting() -> None:
    assert found(regex(r"a\nb", invert=True), b"x\na\nb\ny\n") == [b"x", b"y"]


def test_a_literal_of_several_lines_is_found() -> None:
    assert found(compile_pattern(SearchRequest("a\r\nb"), LIMITS), b"xa\nby\n") == [b"xa\nby"]


def test_a_pattern_over_lines_with_word_edges_and_look_around_is_found() -> None:
    assert found(regex("\\bé\nb\\b"), "é\nb\nxé\nb\n") == ["é\nb".encode()]
    assert found(regex("a(?=\nb)"), b"a\nc\na\nb\n") == [b"a"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (SearchRequest(""), "empty"),
        (SearchRequest("", regex=True), "empty"),
        (SearchRequest("a" * 10_001), "10,001 characters"),
        (SearchRequest("a\ud800"), "surrogate pair at character 2"),
        (SearchRequest("x(", regex=True), "at character 2: unclosed ("),
        (SearchRequest(r"\p{Foo}", regex=True), "at character 4: unknown Unicode class 'Foo'"),
        (SearchRequest(r"(\w{100}){100}", regex=True), "too large"),
        (SearchRequest(r"\C(?=a)", regex=True), "any byte"),
        (SearchRequest("(" * 3000 + "a(?=b)" + ")" * 3000, regex=True), "nests too deeply"),
    ],
)
def test_a_pattern_that_cannot_be_run_is_refused_in_words(request_: SearchRequest, words: str) -> None:
    with pytest.raises(BadPattern) as refusal:
        compile_pattern(request_, LIMITS)
    assert words in str(refusal.value)
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("pattern", "text", "spans"),
    [
        ("a", "xaxa a\na\n", [(1, 2), (3, 4), (5, 6)]),
        ("^a", "aaa\n", [(0, 1)]),
        ("a$", "aba\n", [(2, 3)]),
        (r"\ba", "a a ba\n", [(0, 1), (2, 3)]),
        (r"\bé", "é é bé\n", [(0, 2), (3, 5)]),
        ("a*", "baac a\n", [(0, 0), (1, 3), (5, 6)]),
        ("é|", "bébé\n", [(0, 0), (1, 3), (4, 6)]),
        (r"(?<=x)a", "a xa xa\n", [(3, 4), (6, 7)]),
        (r"(\w)\1", "aa b cc\n", [(0, 2), (5, 7)]),
        (r"\C", "é\n", [(0, 1), (1, 2)]),
    ],
)
def test_further_matches_of_a_line_are_told_when_asked_for(
    pattern: str, text: str, spans: list[tuple[int, int]]
) -> None:
    hit = next(regex(pattern).find(text.encode(), more=10))
    assert [(hit.match_start, hit.match_end), *hit.more] == spans


def test_words_that_share_a_blank_are_both_told() -> None:
    hit = next(regex("a", word=True).find(b"a a ab a\n", more=10))
    assert (hit.match_start, hit.more) == (0, ((2, 3), (7, 8)))


def test_no_more_matches_are_told_than_were_asked_for() -> None:
    assert next(regex("a").find(b"a" * 50, more=3)).more == ((1, 2), (2, 3), (3, 4))
