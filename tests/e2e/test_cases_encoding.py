"""Encodings that other tools guessed wrong, each as a public bug report tells it: what is read and found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Served


def encoding(served: Served, file: str) -> tuple[str, bool]:
    """Return the encoding of a file and whether it has a byte order mark, as the overview tells them."""
    overview = served.fields("get_overview", absolute_file_path=file)
    footer = served.text("get_overview", absolute_file_path=file).splitlines()[-1]
    return overview["encoding"], " with BOM" in footer


@pytest.mark.parametrize(("name", "text"), [("a.txt", "rés 1"), ("b.txt", "▷ go"), ("c.txt", "é")])
def test_e01_a_single_character_is_enough_for_utf8(served: Served, name: str, text: str) -> None:
    """jawah/charset_normalizer#12, jawah/charset_normalizer#633, microsoft/vscode#27419."""
    (served.folder / name).write_bytes(text.encode() + (b"" if text == "é" else b"\n"))
    assert encoding(served, name) == ("utf-8", False)
    assert served.lines(name) == [text]


def test_e03_one_late_character_is_enough_for_utf8(served: Served) -> None:
    """chardet/chardet#308, chardet/chardet#292, BYVoid/uchardet#40."""
    filler = b"plain ascii line of filler text for the sample, ok\n" * 5000
    (served.folder / "late.txt").write_bytes(filler + "end quote ”\n".encode())
    assert encoding(served, "late.txt") == ("utf-8", False)
    assert served.hits("”") == [("late.txt", 5001, (11, 12), "end quote ”")]


def test_e04_a_byte_order_mark_is_a_fact_of_the_file(served: Served) -> None:
    """microsoft/vscode#84973, dnGrep/dnGrep#277."""
    text = "[ä]=1\n[ö]=2\n"
    (served.folder / "plain.txt").write_bytes(text.encode())
    (served.folder / "bom.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert encoding(served, "plain.txt") == ("utf-8", False)
    assert encoding(served, "bom.txt") == ("utf-8", True)
    assert served.lines("bom.txt") == served.lines("plain.txt") == ["[ä]=1", "[ö]=2"]
    assert served.hits("=1") == [("bom.txt", 1, (4, 6), "[ä]=1"), ("plain.txt", 1, (4, 6), "[ä]=1")]


def test_e06_chinese_in_gbk_is_found(served: Served) -> None:
    """anthropics/claude-code#36104, anthropics/claude-code#56946, Rianico/dsh-better-edit#60."""
    text = (
        "// 模块说明：读取配置文件并返回结果\r\n"
        "// 作者：示例团队，请勿修改下面的常量\r\n"
        "int limit = 10;\r\n"
        "// 结束标记，保持不变\r\n"
    )
    (served.folder / "mod.c").write_bytes(text.encode("gbk"))
    assert served.hits("配置文件") == [("mod.c", 1, (11, 15), "// 模块说明：读取配置文件并返回结果")]
    assert served.lines("mod.c") == text.split("\r\n")[:-1]
    assert encoding(served, "mod.c")[0] in ("gbk", "gb18030", "gb2312")


def test_e07_utf16_is_text_with_and_without_a_mark(served: Served) -> None:
    """BurntSushi/ripgrep#322, ggreer/the_silver_searcher#914, nickbnf/glogg#166."""
    text = "import x\nclass WidgetPanel:\n    pass\n"
    (served.folder / "le_bom.txt").write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    (served.folder / "be_bom.txt").write_bytes(b"\xfe\xff" + text.encode("utf-16-be"))
    (served.folder / "le.txt").write_bytes(text.encode("utf-16-le"))
    (served.folder / "be.txt").write_bytes(text.encode("utf-16-be"))
    assert served.hits("WidgetPanel") == [
        (name, 2, (7, 18), "class WidgetPanel:") for name in ("be.txt", "be_bom.txt", "le.txt", "le_bom.txt")
    ]


def test_e09_columns_count_from_behind_the_mark(served: Served) -> None:
    """microsoft/vscode#65694, laurentkempe/GitDiffMargin#158, anomalyco/opencode#23797."""
    (served.folder / "bom.txt").write_bytes(b"\xef\xbb\xbfword\r\nword\r\n")
    assert served.hits("^word$", regex=True) == [("bom.txt", 1, (1, 5), "word"), ("bom.txt", 2, (1, 5), "word")]


def test_e11_legacy_encodings_lose_their_carriage_returns_as_utf8_does(served: Served) -> None:
    """oraios/serena#1706, anthropics/claude-code#7134."""
    (served.folder / "legacy.txt").write_bytes(b"title: caf\xe9 \x80 5\r\nname: M\xfcller\r\ncount: 1\r\n")
    assert served.lines("legacy.txt") == ["title: café € 5", "name: Müller", "count: 1"]
    assert served.hits("Müller$", regex=True) == [("legacy.txt", 2, (7, 13), "name: Müller")]
    (hit,) = served.fields(
        "search_content", absolute_file_path="legacy.txt", pattern="name: Müller\ncount: 1", context_lines=0
    )["results"]
    assert (hit["line_number"], hit["end_line"], hit["match"]) == (2, 3, "name: Müller\ncount: 1")
