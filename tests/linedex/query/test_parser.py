from __future__ import annotations

import random

import pytest
import re2

from linedex.answers import SearchRequest
from linedex.errors import BadPattern
from linedex.query.parser import parse, parse_request, parse_text_pattern
from linedex.query.syntax import (
    Alternate,
    AnyChar,
    Assertion,
    BackReference,
    Capture,
    CharClass,
    Concat,
    Edge,
    Empty,
    Literal,
    Look,
    Property,
    Range,
    Repeat,
    backtracks,
    spans_lines,
)

TOKENS = [
    *"ab(()))[[]]{}|*+?^$.-,:\\\\\\0123579xpPQEdDwWsSzABCnrtUimsk<>é\n",
    *(
        "(?i",
        "(?:",
        "[:alpha:]",
        "\\x{",
        "{2,3}",
        "\\pL",
        "\\p{Greek}",
        "(?P<",
        "[[:^",
        "(?",
        "[^",
        "\\Q",
        "\\E",
        "(?P<n>",
    ),
]


def quiet() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return options


def accepted_by_re2(pattern: str) -> bool:
    try:
        re2.compile(pattern.encode(), quiet())
    except re2.error:
        return False
    return True


def test_nothing_that_re2_accepts_is_refused() -> None:
    draw, options, accepted = random.Random(11), quiet(), 0
    for _ in range(40_000):
        pattern = "".join(draw.choice(TOKENS) for _ in range(draw.randrange(1, 9)))
        try:
            re2.compile(pattern.encode(), options)
        except re2.error:
            continue
        accepted += 1
        parse(pattern)
    assert accepted > 10_000


@pytest.mark.parametrize("pattern", ["(" * 1000 + "a" + ")" * 1000, "(?:" * 900 + "a" + "|b)*" * 900, "a|" * 4000])
def test_depth_and_length_are_no_trouble(pattern: str) -> None:
    assert accepted_by_re2(pattern)
    parse(pattern)


@pytest.mark.parametrize(
    ("pattern", "tree"),
    [
        ("abc", Literal("abc")),
        ("", Empty()),
        ("()", Capture(Empty(), 1)),
        ("(?:)", Empty()),
        ("a|", Alternate((Literal("a"), Empty()))),
        ("ab*", Concat((Literal("a"), Repeat(Literal("b"), 0, None)))),
        ("a+?", Repeat(Literal("a"), 1, None, lazy=True)),
        ("(?U)a+", Repeat(Literal("a"), 1, None, lazy=True)),
        ("(?U:a+?)b?", Concat((Repeat(Literal("a"), 1, None), Repeat(Literal("b"), 0, 1)))),
        ("a{2,}", Repeat(Literal("a"), 2, None)),
        ("a{,3}", Literal("a{,3}")),
        ("a{" + "9" * 5000 + "}", Literal("a{" + "9" * 5000 + "}")),
        ("x{", Literal("x{")),
        ("(?i)a(?-i)b", Concat((Literal("a", fold=True), Literal("b")))),
        ("(?i:a)b", Concat((Literal("a", fold=True), Literal("b")))),
        ("((?i)a)b", Concat((Capture(Literal("a", fold=True), 1), Literal("b")))),
        (r"\Qa.b\E*", Concat((Literal("a."), Repeat(Literal("b"), 0, None)))),
        (r"\Qa\b", Literal("a\\b")),
        (r"\x41\x{1F600}\101\n\a\.", Literal("A\U0001f600A\n\x07.")),
        (r"\u0041\U00000042\u{43}", Literal("ABC")),
        (r"^\A$\z", Concat(tuple(map(Assertion, (Edge.LINE_START, Edge.LINE_START, Edge.LINE_END, Edge.LINE_END))))),
        ("[]a]", CharClass((Range(93, 93), Range(97, 97)))),
        ("[^]a-c-]", CharClass((Range(93, 93), Range(97, 99), Range(45, 45)), negated=True)),
        (r"[\d-z]", CharClass((Property("Nd"), Range(45, 45), Range(122, 122)))),
        (r"\PL", CharClass((Property("L"),), negated=True)),
        (r"\P{^Greek}", CharClass((Property("Greek"),))),
        ("[[:digit:]x]", CharClass((Range(48, 57), Range(120, 120)))),
        ("(?P<n>a)(?<m>b)", Concat((Capture(Literal("a"), 1), Capture(Literal("b"), 2)))),
        (r"(a)\1", Concat((Capture(Literal("a"), 1), BackReference(1)))),
        ("(?P<n>a)(?P=n)", Concat((Capture(Literal("a"), 1), BackReference(1)))),
        (
            "a(?=b)(?<!c)",
            Concat(
                (
                    Literal("a"),
                    Look(Literal("b"), ahead=True, negated=False),
                    Look(Literal("c"), ahead=False, negated=True),
                )
            ),
        ),
        ("c++", Repeat(Repeat(Literal("c"), 1, None), 1, None)),
        ("^*", Repeat(Assertion(Edge.LINE_START), 0, None)),
    ],
)
def test_a_pattern_reads_as_its_tree(pattern: str, tree: object) -> None:
    assert parse(pattern) == tree


@pytest.mark.parametrize(
    ("pattern", "position", "words"),
    [
        ("ab(cd", 2, "at character 3: unclosed (."),
        ("(a)(b", 3, "unclosed ("),
        ("ab)c", 2, "at character 3: unmatched )."),
        ("x[a-z", 1, "at character 2: unclosed [."),
        ("[^]", 0, "unclosed ["),
        ("a|*", 2, "at character 3: nothing to repeat before *."),
        ("é{3,2}", 1, "wrong way round"),
        ("a{1001}", 1, "over 1000"),
        ("a{999999999}", 1, "over 1000"),
        ("[z-a]", 1, "at character 2: range z-a the wrong way round."),
        ("ab\\", 2, "nothing after the \\"),
        (r"a\e", 1, r"unknown escape \e"),
        (r"a\x4", 1, "hexadecimal"),
        (r"\x{110000}", 0, "hexadecimal"),
        ("[[:foo:]]", 1, "unknown class [:foo:]"),
        ("(?x)a", 0, "unknown flag 'x'"),
        ("a(?#c)", 1, "unknown group"),
        ("(?P<>a)", 0, "bad group name"),
        (r"(a)\2", 3, "no group 2"),
        ("(?P=n)", 0, "no group named 'n'"),
        (r"\p{L", 0, "unfinished"),
    ],
)
def test_a_bad_pattern_is_refused_with_its_place(pattern: str, position: int, words: str) -> None:
    with pytest.raises(BadPattern) as refusal:
        parse(pattern)
    assert refusal.value.position == position
    assert words in str(refusal.value)
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("pattern", "spans"),
    [
        (r"a\nb", True),
        ("a\nb", True),
        (r"a[\r\n]+b", True),
        (r"a[\n]b", True),
        (r"a\r?\nb", True),
        (r"a\s+b", False),
        (r"[^a]", False),
        (r"[,\n]", False),
        (r"[^\n]", False),
        ("a$", False),
    ],
)
def test_only_a_pattern_that_asks_for_a_line_end_spans_lines(pattern: str, *, spans: bool) -> None:
    assert spans_lines(parse(pattern)) is spans


def test_a_crlf_in_a_pattern_is_a_line_end_like_any_other() -> None:
    assert parse_request(SearchRequest("a\r\nb", case_sensitive=True)) == Literal("a\nb")
    assert parse_request(SearchRequest(r"(a\r\n)+", regex=True, case_sensitive=True)) == Repeat(
        Capture(Literal("a\n"), 1), 1, None
    )


def test_a_literal_is_not_read_as_a_pattern() -> None:
    assert parse_request(SearchRequest("a(b", case_sensitive=True)) == Literal("a(b")


def test_only_look_around_and_back_references_backtrack() -> None:
    assert backtracks(parse("a(?=b)"))
    assert backtracks(parse(r"((a)\2)"))
    assert not backtracks(parse(r"^(a+)+\b[^b]$"))


def test_over_a_whole_text_its_ends_are_the_pattern_s_and_groups_are_known() -> None:
    found = parse_text_pattern(r"\A(?P<first>a)(b)\r\n\z|\Z", dot_newline=True)
    assert isinstance(found.tree, Alternate)
    assert found.tree.branches[0] == Concat(
        (
            Assertion(Edge.TEXT_START),
            Capture(Literal("a"), 1),
            Capture(Literal("b"), 2),
            Literal("\n"),
            Assertion(Edge.TEXT_END),
        )
    )
    assert found.tree.branches[1] == Assertion(Edge.TEXT_END)
    assert (found.groups, found.names) == (2, {"first": 1})
    assert parse_text_pattern(".", dot_newline=True).tree == AnyChar(newline=True)
