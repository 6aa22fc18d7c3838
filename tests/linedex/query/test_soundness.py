"""Random files and patterns over a hostile alphabet: no candidate is lost, no line is lost or made up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import SearchRequest
from linedex.content.folding import fold
from linedex.limits import Limits
from linedex.query.matcher import Matcher, compile_pattern
from linedex.query.plan import plan_files, plan_request

if TYPE_CHECKING:
    from conftest import Hostile

LIMITS = Limits()
PATTERNS = 600
TEXTS = 8


def in_lf(raw: bytes) -> bytes:
    return raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


def split(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def numbers(matcher: Matcher, text: bytes) -> list[int]:
    return [text.count(b"\n", 0, hit.line_start) for hit in matcher.find(text)]


@pytest.mark.parametrize("seed", range(4))
def test_a_text_with_a_hit_holds_the_grams_and_so_does_the_line(seed: int, hostile: type[Hostile]) -> None:
    from_seed, hits = hostile(seed), 0
    classes = (
        ".",
        "[^a]",
        "[ks]",
        r"\w",
        r"\W",
        r"[^\W_]",
        r"\pL",
        "[a-z]",
        "[[:^upper:]]",
        r"\x{212a}",
        "[\u0130a]",
        r"\s",
        "(?=a)",
        "(?!k)",
        "(?<=s)",
        "(?<!é)",
        "(?P<twice>[abkσ])(?P=twice)",
    )
    for _ in range(PATTERNS):
        pattern = from_seed.pattern(classes, ("^", "$", r"\A", r"\z", r"\b", r"\B"))
        request = SearchRequest(
            pattern,
            regex=True,
            case_sensitive=from_seed.random.random() < 0.5,
            word=from_seed.random.random() < 0.15,
            whole_line=from_seed.random.random() < 0.1,
        )
        matcher = compile_pattern(request, LIMITS)
        plans = [plan_request(request, gram) for gram in (3, 5)]
        for _ in range(TEXTS):
            raw = from_seed.text()
            text = in_lf(raw)
            for hit in matcher.find(text):
                hits += 1
                assert plan_files(request).admits(fold(raw.removeprefix(b"\xef\xbb\xbf")).__contains__)
                for folded in (fold(raw.removeprefix(b"\xef\xbb\xbf")), fold(text[hit.line_start : hit.line_end])):
                    for query in plans:
                        assert query.admits(folded.__contains__), (pattern, request.case_sensitive, raw, str(query))
    assert hits > PATTERNS


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_transcoded_text_holds_the_grams_of_its_hits(codec: str, hostile: type[Hostile]) -> None:
    from_seed = hostile(len(codec))
    for _ in range(400):
        literal = from_seed.literal()
        request = SearchRequest(literal)
        stored = f"{from_seed.literal()}{literal.upper()}{from_seed.literal()}\n".encode(codec)
        text = stored.decode(codec).encode()
        if compile_pattern(request, LIMITS).matches(text):
            assert plan_request(request, 3).admits(fold(text).__contains__)


@pytest.mark.parametrize("seed", range(2))
def test_the_lines_are_those_that_re2_finds_one_by_one(seed: int, hostile: type[Hostile]) -> None:
    """The oracle runs the pattern as it was given, on single lines, where RE2's meaning of it is ours."""
    from_seed = hostile(100 + seed)
    options = re2.Options()
    options.log_errors = False
    classes = (
        ".",
        "[^a]",
        "[ks]",
        r"\pL",
        r"[^\PL]",
        "[a-z]",
        "[[:^upper:]]",
        r"[\x{80}-\x{ffff}]",
        r"\p{Lu}",
        "(?s:.)",
    )
    for _ in range(PATTERNS):
        pattern = from_seed.pattern(classes, ("^", "$", r"\A", r"\z"))
        case_sensitive = from_seed.random.random() < 0.5
        oracle = re2.compile(f"(?m{'' if case_sensitive else 'i'}){pattern}".encode(), options)
        matcher = compile_pattern(SearchRequest(pattern, regex=True, case_sensitive=case_sensitive), LIMITS)
        for _ in range(TEXTS):
            # RE2 by itself takes surrogates and overlong forms for characters
            text = in_lf(from_seed.text()).replace(b"\xed\xa0\x80", b"").replace(b"\xe0\x80\x80", b"")
            text = text.replace(b"\xf4\x90\x80\x80", b"")
            expected = [number for number, line in enumerate(split(text)) if oracle.search(line)]
            assert numbers(matcher, text) == expected, (pattern, text)
            assert matcher.count(text) == len(expected)
            assert matcher.matches(text) == bool(expected)


@pytest.mark.parametrize("seed", range(2))
def test_on_ascii_the_lines_are_those_of_the_standard_library(seed: int, hostile: type[Hostile]) -> None:
    from_seed = hostile(200 + seed)
    letters = ("a", "b", "k", "S", "_", "-", " ", "1", "ab", "\t")
    for _ in range(PATTERNS):
        pattern = from_seed.pattern(
            (".", "[^a]", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"[^\W_]", r"[\w-]", r"[\Wa]", r"[^\s]"),
            ("^", "$", r"\b", r"\B"),
        )
        if re.search(r"\(\?-?[Um]:|\\x", pattern) or not pattern.isascii():
            continue
        oracle = re.compile(pattern, re.IGNORECASE)
        matcher = compile_pattern(SearchRequest(pattern, regex=True), LIMITS)
        for _ in range(TEXTS):
            text = in_lf(from_seed.text(invalid=False, lone_cr=False, letters=letters)).replace(b"\x0b", b"")
            text = text.decode().encode("ascii", "ignore")
            expected = [number for number, line in enumerate(split(text)) if oracle.search(line.decode())]
            # the standard library's \B finds no place in an empty text, RE2's and ours do
            if r"\B" not in pattern:
                assert numbers(matcher, text) == expected, (pattern, text)


@given(
    st.text(alphabet="abkKſ\u212aßẞıİσςΣﬁé\n\r \x00", max_size=40),
    st.text(alphabet="abkKſ\u212aßẞıİσςΣﬁé", min_size=1, max_size=6),
)
def test_a_literal_is_found_where_the_standard_library_finds_it(text: str, literal: str) -> None:
    encoded = in_lf(text.encode())
    matcher = compile_pattern(SearchRequest(literal, case_sensitive=True), LIMITS)
    assert numbers(matcher, encoded) == [
        number for number, line in enumerate(split(encoded)) if literal.encode() in line
    ]


@given(st.binary(max_size=40), st.sampled_from(["^", "$", "^$", "x*", "", "a|", "[^a]"]))
def test_lines_that_match_and_lines_that_do_not_are_all_lines(text: bytes, pattern: str) -> None:
    request = SearchRequest(pattern or "()", regex=True)
    inverted = SearchRequest(request.pattern, regex=True, invert=True)
    hits = list(compile_pattern(request, LIMITS).find(text))
    others = list(compile_pattern(inverted, LIMITS).find(text))
    spans = sorted((hit.line_start, hit.line_end) for hit in (*hits, *others))
    assert [text[start:end] for start, end in spans] == (split(text) if text else [])
    assert compile_pattern(inverted, LIMITS).count(text) == len(others)
    assert compile_pattern(inverted, LIMITS).matches(text) == bool(others)
