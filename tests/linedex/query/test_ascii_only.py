"""In a text of ASCII the ASCII form of a pattern matches where the pattern does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from linedex.answers import SearchRequest
from linedex.errors import BadPattern
from linedex.limits import Limits
from linedex.query.ascii_only import AsciiEngine, ascii_not_word, ascii_tree, gains_by_ascii, has_ascii_form
from linedex.query.dialect import RE2_NOT_WORD, to_re2
from linedex.query.engines import Engine, Re2Engine
from linedex.query.extent import extent_of
from linedex.query.matcher import compile_pattern
from linedex.query.parser import parse, parse_request
from linedex.query.syntax import Node, backtracks

if TYPE_CHECKING:
    from random import Random

    from conftest import Hostile

ASCII = [*map(chr, range(128)), *"aabbkKsSiIeEx1_- \t\n\n", "\r\n", "ss", "fi"]
PATTERNS = 500
TEXTS = 6


def spans(engine: Engine, text: bytes) -> list[tuple[int, int]]:
    search, found, at = engine.on(text), [], 0
    while at <= len(text) and (span := search(at)) is not None:
        found.append(span)
        at = span[1] + (span[0] == span[1])
    return found


def ascii_text(draw: Random) -> bytes:
    return "".join(draw.choice(ASCII) for _ in range(draw.randrange(60))).encode()


def engine_of(tree: Node, *, multiline: bool) -> Engine:
    return Re2Engine(to_re2(tree), extent_of(tree), 5.0, multiline=multiline)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("multiline", [False, True])
def test_it_matches_at_the_same_places(seed: int, multiline: bool, hostile: type[Hostile]) -> None:
    from_seed, tried, found = hostile(seed), 0, 0
    while tried < PATTERNS:
        pattern = from_seed.pattern(hostile.classes, hostile.edges)
        tree = parse(pattern, fold=from_seed.random.random() < 0.5)
        if backtracks(tree) or not has_ascii_form(tree):
            continue
        tried += 1
        wide, narrow = (engine_of(one, multiline=multiline) for one in (tree, ascii_tree(tree)))
        for _ in range(TEXTS):
            text = ascii_text(from_seed.random)
            assert spans(narrow, text) == spans(wide, text), (pattern, text)
            found += bool(spans(wide, text))
    assert found > PATTERNS


def test_the_characters_of_no_word_are_those_that_ascii_has() -> None:
    for point in range(128):
        text = bytes([point])
        wide, narrow = (
            Re2Engine(one, extent_of(parse("a")), 5.0, multiline=True) for one in (RE2_NOT_WORD, ascii_not_word())
        )
        assert spans(narrow, text) == spans(wide, text)


@pytest.mark.parametrize("pattern", ["a\\Cb", "é", "[a-z]é+"])
def test_patterns_with_other_bytes_have_no_such_form(pattern: str) -> None:
    assert not has_ascii_form(parse(pattern))


@pytest.mark.parametrize(
    ("pattern", "gains"),
    [("abc", False), ("[a-z]+x", False), (r"\w", True), ("a.b", True), ("[^a]", True), ("[a-é]", True), (r"\d+", True)],
)
def test_only_patterns_that_name_other_characters_gain(pattern: str, gains: bool) -> None:
    assert gains_by_ascii(parse(pattern)) is gains


def test_the_engine_for_all_texts_is_made_when_there_is_one_that_needs_it() -> None:
    made = []

    def wide() -> Engine:
        made.append(1)
        return engine_of(parse(r"\w+"), multiline=False)

    engine = AsciiEngine(engine_of(ascii_tree(parse(r"\w+")), multiline=False), wide)
    assert spans(engine, b"-ab-") == [(1, 3)]
    assert not made
    assert spans(engine, "-aé-".encode()) == [(1, 4)]
    assert spans(engine, "-éa-".encode()) == [(1, 4)]
    assert made == [1]


@pytest.mark.parametrize("word", [False, True])
def test_a_line_that_is_not_ascii_is_matched_in_unicode(word: bool) -> None:
    request = SearchRequest(r"x\w+z", regex=True, word=word)
    assert has_ascii_form(parse_request(request))
    matcher = compile_pattern(request, Limits())
    lines = "xéz", "xaz", "x-z"
    assert [matcher.matches(f"{line}\n".encode()) for line in lines] == [True, True, False]
    assert matcher.count("".join(f"{line}\n" for line in lines).encode()) == 2


def test_a_program_that_is_too_large_for_unicode_is_refused_before_any_text_is_read() -> None:
    with pytest.raises(BadPattern, match="too large"):
        compile_pattern(SearchRequest(r"\w{1000}" * 4, regex=True), Limits())
