from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import document_of, padded, unhurried

from linedex.errors import BadArgument, BadPattern, PatternTimedOut
from linedex.limits import DEFAULT_LIMITS
from linedex.model import Newline, TextFormat
from linedex_server.edit.content.style import AS_EDITED, splices
from linedex_server.edit.errors import NotPlaced, TooLarge
from linedex_server.edit.plan.regex import RegexRequest, regex
from linedex_server.edit.splice import applied


def replaced(
    content: bytes,
    pattern: str,
    replacement: str,
    expected: int | None = None,
    *,
    case_sensitive: bool = True,
    dotall: bool = False,
) -> bytes:
    document = document_of(content)
    request = RegexRequest(pattern, replacement, expected, case_sensitive=case_sensitive, dotall=dotall)
    return applied(content, splices(document, regex(document, request).edits, AS_EDITED))


@pytest.mark.parametrize(
    ("content", "pattern", "replacement", "count", "expected"),
    [
        (b"a\r\n\r\nb\r\n", "^", "> ", 3, b"> a\r\n> \r\n> b\r\n"),
        (b"a\r\n\r\nb\r\n", "$", ";", 3, b"a;\r\n;\r\nb;\r\n"),
        (b"a\n\nb", "$", ";", 3, b"a;\n;\nb;"),
        (b"a\nb\n", "x*", "-", 4, b"-a-\n-b-\n"),
        (b"baac\n", "a*", "-", 3, b"-b-c-\n"),
        (b"ab12\nc3\n", r"(\w)(\d)", r"\2\1", 2, b"a1b2\n3c\n"),
        (b"k = v\n", r"(?P<key>\w+) = (?P<value>\w+)", r"\g<value>=\g<key>", 1, b"v=k\n"),
        (b"a-b\n", r"(a)|(b)", r"[\1\2]", 2, b"[a]-[b]\n"),
        (b"foo foobar\n", r"\bfoo\b", "x", 1, b"x foobar\n"),
        ("été ete\n".encode(), r"\b\w+\b", "<\\g<0>>", 2, "<été> <ete>\n".encode()),
        (b"aXbX\n", "(?<=b)X", "-", 1, b"aXb-\n"),
        (b"abab abba\n", r"(\w)(\w)\1\2", r"\2\1", 1, b"ba abba\n"),
        ("漢1字2\n".encode(), r"(\d)", r"[\1]", 2, "漢[1]字[2]\n".encode()),
        (b"cost 5\n", "5", "$1 & $&", 1, b"cost $1 & $&\n"),
        (b"a,b\n", ",", r"\n", 1, b"a\nb\n"),
        (b"a,b\r\n", ",", r"\t\\n", 1, b"a\t\\nb\r\n"),
    ],
)
def test_matches_are_replaced(content: bytes, pattern: str, replacement: str, count: int, expected: bytes) -> None:
    assert replaced(content, pattern, replacement, count) == expected


@unhurried
@given(st.text("ab1 \né", max_size=40), st.sampled_from(["^", "$", "a*", r"(\w)(\d)?", r"\bab?\b", "(?<=b)a|1"]))
def test_a_file_that_is_not_held_whole_is_matched_as_one_that_is(text: str, pattern: str) -> None:
    results = []
    for large in (False, True):
        content, document = padded(text.encode() + b"\n" + b"11 ab ba\n" * 9, large=True)
        if not large:
            document = document_of(content)
        found = regex(document, RegexRequest(pattern, r"<\g<0>>", None))
        results.append((applied(content, splices(document, found.edits, AS_EDITED)), found.lines))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("content", "pattern", "replacement", "count", "expected"),
    [
        (b"a\nb\n", r"\A", "> ", 1, b"> a\nb\n"),
        (b"a\nb\nc", r"c\z", "x", 1, b"a\nb\nx"),
        (b"a\nb\nc", r"c\Z", "x", 1, b"a\nb\nx"),
        (b"c\nb\n", r"c(?=\n)\n", "x", 1, b"xb\n"),
        (b"a\r\nb\r\nc\r\n", r"a\r\nb", r"x", 1, b"x\r\nc\r\n"),
        (b"a\n\n\n\nb\n", r"\n{2,}", r"\n", 1, b"a\nb\n"),
    ],
)
def test_patterns_may_look_at_the_whole_file(
    content: bytes, pattern: str, replacement: str, count: int, expected: bytes
) -> None:
    assert replaced(content, pattern, replacement, count) == expected
    with pytest.raises(TooLarge, match="a pattern over several lines"):
        regex(document_of(content, whole_bytes=1), RegexRequest(pattern, replacement, None))


@unhurried
@given(
    st.text(alphabet="abé\n", max_size=20),
    st.sampled_from(["a", "^", "$", "a*", "b?", "(a)(b)?", "^a", "b$", "[^a\n]+", "é|a", "(?=a)", "(b)?a", "(?<!a)b"]),
)
def test_matches_are_those_of_python_but_behind_the_last_line_end_and_behind_a_match(text: str, pattern: str) -> None:
    pieces, at, last = [], 0, -1
    for match in re.finditer(f"(?m){pattern}", text):
        start, end = match.span()
        if start == end and (start == last or (start == len(text) and text[-1:] in ("", "\n"))):
            continue
        pieces += [text[at:start], "<", match[0], "|", (match[1] or "") if match.re.groups else "", ">"]
        at = last = end
    expected = "".join((*pieces, text[at:]))
    template = r"<\g<0>|\1>" if re.compile(pattern).groups else r"<\g<0>|>"
    count = expected.count("<")
    assert replaced(text.encode(), pattern, template, count).decode() == expected


def test_the_dot_and_letter_case_are_as_asked_for() -> None:
    assert replaced(b"a\nb\n", "a.b", "x", 0) == b"a\nb\n"
    assert replaced(b"a\nb\n", "a.b", "x", 1, dotall=True) == b"x\n"
    assert replaced(b"a\nb\n", "(?s)a.b", "x", 1) == b"x\n"
    assert replaced(b"A\n", "a", "x", 0) == b"A\n"
    assert replaced(b"A\n", "a", "x", 1, case_sensitive=False) == b"x\n"


def test_stray_bytes_are_matched_by_nothing_and_stay() -> None:
    content = "ä\n".encode() * 9 + b"a\xffb\xff\n"
    assert replaced(content, "[^ä\n]", "x", 2) == "ä\n".encode() * 9 + b"x\xffx\xff\n"
    assert replaced(content, "(?<!c)[^ä\n]", "x", 2) == "ä\n".encode() * 9 + b"x\xffx\xff\n"
    assert replaced(content, r"(a)|(b)", r"\2\1\1", 2) == "ä\n".encode() * 9 + b"aa\xffb\xff\n"


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (1, r"the pattern matches 2 times \(lines 1, 3\), not 1"),
        (3, "matches 2 times .*, not 3"),
        (0, "matches 2 times .*, and was not to"),
    ],
)
def test_a_count_that_was_not_expected_is_refused_with_lines(expected: int, words: str) -> None:
    with pytest.raises(NotPlaced, match=words):
        replaced(b"a\nb\na\n", "a", "x", expected)


def test_a_pattern_that_does_not_match_is_refused_unless_that_is_expected() -> None:
    with pytest.raises(NotPlaced, match="the pattern does not match"):
        replaced(b"a\n", "b", "x")
    assert replaced(b"a\n", "b", "x", 0) == b"a\n"


@pytest.mark.parametrize(
    ("pattern", "replacement", "refusal", "words"),
    [
        ("(", "x", BadPattern, "unclosed"),
        ("", "x", BadPattern, "empty"),
        (r"\pK", "x", BadPattern, "unknown Unicode class"),
        (r"a\Cb", "x", BadPattern, "any byte"),
        ("((((a{100}){100}){10}))", "x", BadPattern, "too large"),
        ("(a)", r"\2", BadArgument, "names the group 2"),
        ("(?P<n>a)", r"\g<m>", BadArgument, "names the group 'm'"),
        ("a", r"\d", BadArgument, "stands for nothing"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_is_matched(
    pattern: str, replacement: str, refusal: type[Exception], words: str
) -> None:
    with pytest.raises(refusal, match=words):
        replaced(b"zzz\n", pattern, replacement, 0)


def test_a_pattern_that_backtracks_for_too_long_is_refused() -> None:
    document = document_of(b"a" * 40 + b"\n")
    limits = replace(DEFAULT_LIMITS, pattern_seconds=0.05)
    with pytest.raises(PatternTimedOut):
        regex(document, RegexRequest(r"(?=(a+)+$)(a|aa)+(?<!a)c", "x", None), limits)


def test_matches_are_told_by_line() -> None:
    found = regex(document_of(b"a\nb\na a\n"), RegexRequest("a", "x", 3))
    assert (found.count, found.lines) == (3, (1, 3, 3))


@pytest.mark.parametrize("encoding", ["utf-16-le", "shift_jis", "gb18030", "utf-8", "euc-jp"])
def test_matches_in_other_encodings_are_replaced_in_their_bytes(encoding: str) -> None:
    text = "漢x=1 字\r\n漢y=2 字\r\n"
    content = text.encode(encoding)
    document = document_of(content, TextFormat(encoding, 0, Newline.CRLF, final_newline=True))
    found = regex(document, RegexRequest(r"=(\d)", r"=[\1]漢", None))
    result = applied(content, splices(document, found.edits, AS_EDITED))
    assert result == re.sub(r"=(\d)", r"=[\1]漢", text).encode(encoding)


def test_a_pattern_that_cannot_be_read_is_answered_with_the_tool_that_takes_text_as_it_stands() -> None:
    with pytest.raises(BadPattern) as refusal:
        replaced(b"a(b\n", "a(", "x", 1)
    assert "replace_literal" in refusal.value.hint
    assert refusal.value.position == 1


def test_a_reference_that_stands_for_nothing_is_quoted_as_it_was_given() -> None:
    with pytest.raises(BadArgument, match=r"has `\\d`, which"):
        replaced(b"a\n", "a", r"\d", 1)


def test_a_line_with_several_matches_is_named_once() -> None:
    with pytest.raises(NotPlaced, match=r"matches 3 times \(lines 1, 3\)"):
        replaced(b"a\nb\na a\n", "a", "x", 1)
