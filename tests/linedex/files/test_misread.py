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


CHINESE = (
    "使得关系的开始比本应的更数据后的实时设备任何地址空间提供一个唯一系统就是很好的绝对必要时使用地方和传递两种层级"
    "关系模型依然放在之前活动询问为什么报告没有得到任何主线内核版本的第一个预发平台上典型的中断传递路径有粗糙的边角"
)


@given(st.integers(0, len(CHINESE) - 12), st.integers(2, 12), st.sampled_from(["", "\n", "name=", "2026-03-04 "]))
def test_a_few_chinese_characters_that_are_no_utf_8_are_not_taken_for_it(begin: int, count: int, lead: str) -> None:
    content = (lead + CHINESE[begin : begin + count]).encode("gb18030")
    try:
        content.decode()
    except UnicodeDecodeError:
        assert detect_bytes(content).encoding != "utf-8"


@pytest.mark.parametrize("text", ["使得关系的开始比本应的更", "数据后的实时设备", "任何地址空间", "需要通过\n"])
def test_short_chinese_is_read_as_what_it_is(text: str) -> None:
    assert detect_bytes(text.encode("gb18030")).encoding == "gb18030"


@given(st.text("aé ü文дя\n", min_size=4), st.integers(0, 300), st.sampled_from([b"\xe9", b"\xff"]))
def test_utf_8_with_one_stray_byte_stays_utf_8(text: str, place: int, stray: bytes) -> None:
    sound = f"{text} ünïcödé é文字 и так далее\n"
    at = min(place, len(sound))
    assert detect_bytes(sound[:at].encode() + stray + sound[at:].encode()).encoding == "utf-8"
