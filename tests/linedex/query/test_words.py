"""A literal as a whole word is found where RE2 finds it between characters of no word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.query.dialect import RE2_NOT_WORD
from linedex.query.engines import Engine, LiteralEngine, Re2Engine
from linedex.query.extent import Extent
from linedex.query.words import WordEngine, begins_and_ends_as_word

PIECES = ["a", "ab", "aa", "_", "1", "-", " ", ".", "\n", "\r\n", "é", "日", "\u0301", "\u200d", "😀", "\u2028", "\x00"]
BYTES = [b"\xff", b"\xe9", b"\xc3", b"\x80", b"\xf0\x9f"]


def literal(word: str) -> Engine:
    return Re2Engine(word, Extent(len(word), len(word)), 1.0, multiline=False)


def whole(word: str) -> Engine:
    pattern = f"(?:(?m:^)|{RE2_NOT_WORD})({word})(?:{RE2_NOT_WORD}|(?m:$))"
    return Re2Engine(pattern, Extent(len(word), len(word) + 2), 1.0, multiline=False, group=1)


def spans(engine: Engine, text: bytes) -> list[tuple[int, int]]:
    search, found, at = engine.on(text), [], 0
    while at <= len(text) and (span := search(at)) is not None:
        found.append(span)
        at = span[1]
    return found


@given(
    word=st.sampled_from(["a", "ab", "aa", "a-a", "é", "日a", "a_1"]),
    pieces=st.lists(st.sampled_from([*map(str.encode, PIECES), *BYTES]), max_size=30),
    patience=st.sampled_from([-1, 0, 1, 3, 100]),
)
def test_a_word_is_found_where_re2_finds_it(word: str, pieces: list[bytes], patience: int) -> None:
    text = b"".join(pieces)
    engine = WordEngine(LiteralEngine(word.encode(), literal(word)), lambda: whole(word), patience)
    assert spans(engine, text) == spans(whole(word), text)
    assert spans(engine, text) == spans(whole(word), text)


def test_after_many_places_inside_longer_words_re2_looks_for_the_rest() -> None:
    made = []

    def make() -> Engine:
        made.append(1)
        return whole("foo")

    engine = WordEngine(literal("foo"), make, patience=2)
    assert spans(engine, b"food foo") == [(5, 8)]
    assert not made
    assert spans(engine, b"food food food foo") == [(15, 18)]
    assert spans(engine, b"xfoo foo") == [(5, 8)]
    assert made == [1]


@pytest.mark.parametrize(("text", "told"), [("a", True), ("a b", True), ("日本", True), ("-a", False), ("a.", False)])
def test_a_text_may_begin_and_end_as_a_word(text: str, *, told: bool) -> None:
    assert begins_and_ends_as_word(text) is told
