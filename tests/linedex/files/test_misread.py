from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.files.misread import reads_better_as_gb18030
from linedex.files.text_format import detect_bytes

ALPHABETS = (
    "".join(map(chr, (*range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x250)))),
    "".join(map(chr, range(0x391, 0x3CA))).replace("\u03a2", ""),
    "".join(map(chr, range(0x400, 0x482))),
    "".join(map(chr, range(0x561, 0x587))),
    "".join(map(chr, range(0x5D0, 0x5EB))),
)


@pytest.mark.parametrize("text", ["学习", "学习 2026\n学习\n", "name=学习\r\n"])
def test_a_few_words_of_chinese_are_not_read_as_a_jumble_of_alphabets(text: str) -> None:
    content = text.encode("gb18030")
    assert content.decode() != text  # valid UTF-8, too
    assert detect_bytes(content).encoding == "gb18030"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "é",
            "rés 1\n",
            "▷ go\n",
            "дома",
            "мир и дом",
            "ρινο",
            "öäü",
            "größe ÄÖ",
            "5 µм, 3 µг",
            "№ 5 «я»",
            "½ ²",
            "ñ ç",
        ),
        *("学习", "内容", "日本語", "ქართული", "שלום", "naïve дом", "α + б = ё"),
    ],
)
def test_utf_8_stays_utf_8_however_short(text: str) -> None:
    assert detect_bytes(text.encode()).encoding == "utf-8"


@given(st.sampled_from(ALPHABETS).flatmap(lambda letters: st.text(f"{letters} ab1.,\n«»°µ", min_size=1)))
def test_text_in_one_alphabet_and_ascii_is_never_taken_for_chinese(text: str) -> None:
    assert not reads_better_as_gb18030(text.encode())


def test_a_mark_settles_it() -> None:
    assert detect_bytes(b"\xef\xbb\xbf" + "学习".encode("gb18030")).encoding == "utf-8"
