"""Dotted grams: whatever text holds a string holds the string's dotted grams, and hashes them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from linedex.content.dotted import DOTTED_GRAM, dotted_grams, dotted_hash, dotted_hashes

TEXTS = st.lists(st.sampled_from([b"10.1.2.3", b"1.2", b"...", b"1234567.", b".", b"99", b"x", b" ", b"10.250.117.46"]))


def plainly(text: bytes) -> list[bytes]:
    windows = [text[at : at + DOTTED_GRAM] for at in range(len(text) - DOTTED_GRAM + 1)]
    return [window for window in windows if re.fullmatch(rb"[0-9.]{8}", window) and window.count(b".") > 1]


@given(TEXTS.map(b"".join))
def test_all_dotted_grams_of_a_text_are_hashed_and_no_others(text: bytes) -> None:
    expected = [gram for gram in plainly(text) if gram.strip(b".")]
    assert list(dotted_grams(text)) == expected
    assert {dotted_hash(gram) for gram in plainly(text)} == set(dotted_hashes(text).tolist())


def test_an_address_has_dotted_grams_and_a_stamp_has_none() -> None:
    assert dotted_grams(b"at 10.114.193.206:80")[:2] == (b"10.114.1", b"0.114.19")
    assert len(dotted_grams(b"10.114.193.206")) == 7
    assert not len(dotted_hashes(b"2026-01-01T00:00:00.024 INFO took 1.5 s, 2.5 MB"))
