from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import document_of, padded, unhurried

from linedex.errors import BadArgument
from linedex_server.edit.content.style import AS_EDITED, Style, splices
from linedex_server.edit.errors import NotPlaced
from linedex_server.edit.plan.literal import LiteralRequest, literal
from linedex_server.edit.splice import applied


def replaced(content: bytes, old: str, new: str, expected: int | None = 1, *, large: bool = False) -> bytes:
    size = len(content)
    content, document = padded(content, large=large)
    found = literal(document, LiteralRequest(old, new, expected))
    result = applied(content, splices(document, found.edits, Style()))
    return result[: len(result) - len(content) + size]


@unhurried
@given(st.text("ab\n", max_size=40), st.text("ab\n", min_size=1, max_size=3), st.booleans())
def test_all_places_from_left_to_right_are_replaced_as_python_does(text: str, old: str, large: bool) -> None:
    content, document = padded(f"head\n{text}\ntail\n".encode(), large=large)
    count = content.decode().count(old)
    for expected in (None, count):
        if count and (count > 1 or expected is None):
            found = literal(document, LiteralRequest(old, "X\nY", expected))
            result = applied(content, splices(document, found.edits, AS_EDITED))
            assert result.decode() == content.decode().replace(old, "X\nY")
            assert found.count == count


@pytest.mark.parametrize("large", [False, True])
def test_overlapping_places_count_when_exactly_one_is_expected(*, large: bool) -> None:
    content = b"v\nv\nv\n"
    with pytest.raises(NotPlaced, match=r"old_text occurs 2 times \(lines 1, 2\), not 1\."):
        replaced(content, "v\nv", "X", large=large)
    assert replaced(content, "v\nv", "X", None, large=large) == b"X\nv\n"


def test_no_place_can_be_what_is_expected() -> None:
    document = document_of(b"a\n")
    found = literal(document, LiteralRequest("b", "c", 0))
    assert (found.count, found.edits) == (0, ())
    with pytest.raises(NotPlaced, match=r"old_text occurs 1 time \(line 1\), and was not to occur"):
        literal(document, LiteralRequest("a", "c", 0))


def test_a_wrong_count_names_the_first_twenty_lines() -> None:
    content = b"a\n" * 25
    with pytest.raises(NotPlaced) as refusal:
        replaced(content, "a", "b")
    assert "occurs 25 times (lines 1, 2," in str(refusal.value)
    assert "19, 20 and more), not 1" in str(refusal.value)
    assert replaced(content, "a", "b", 25) == b"b\n" * 25
    with pytest.raises(NotPlaced, match="not 24"):
        replaced(content, "a", "b", 24)


@pytest.mark.parametrize(("old", "expected", "words"), [("", 1, "`old_text` is empty"), ("a", -1, "cannot be -1")])
def test_what_cannot_be_meant_is_refused(old: str, expected: int, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        replaced(b"a\n", old, "b", expected)


@pytest.mark.parametrize("new", [r"$$5 $& $` $' $1 ${x} $<n>", r"C:\new\table\bin\1\g<0>\\x", "&amp;&lt;", " \t "])
def test_new_text_is_literal(new: str) -> None:
    assert replaced(b"cost=AMOUNT;\n", "AMOUNT", new) == f"cost={new};\n".encode()


@pytest.mark.parametrize("old", ["total: 100", "total:  100", "Total:\u00a0100", "d'eau", "\tfoo"])
def test_nothing_is_tolerated(old: str) -> None:
    with pytest.raises(NotPlaced, match="old_text does not occur"):
        replaced("total:\u00a0100\nfr: d\u2019eau\n    foo\n".encode(), old, "x")


def test_a_miss_tells_what_differs_nearby() -> None:
    with pytest.raises(NotPlaced) as refusal:
        replaced("total:\u00a0100 units\n".encode(), "total: 100 units", "x")
    assert "line 1" in str(refusal.value)
    assert "U+00A0" in str(refusal.value)


@pytest.mark.parametrize("large", [False, True])
def test_text_of_a_caller_that_decoded_it_wrongly_is_recovered(*, large: bool) -> None:
    old, new = ("内容".encode().decode("gb18030"), "内文".encode().decode("gb18030"))
    content, document = padded("# 内容\n".encode(), large=large)
    found = literal(document, LiteralRequest(old, new))
    result = applied(content, splices(document, found.edits, Style()))
    assert result == content.replace("内容".encode(), "内文".encode())
    assert found.note == "old_text had been decoded as GB18030; it is UTF-8"


def test_recovery_wants_the_expected_number_of_places() -> None:
    old = "é".encode().decode("cp1252")
    with pytest.raises(NotPlaced, match="old_text does not occur"):
        replaced("é é\n".encode(), old, "x")
    assert replaced("é é\n".encode(), old, "x", 2) == b"x x\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"one\ntwo\nthree\n", "two", "2a\r\n2b", b"one\n2a\n2b\nthree\n"),
        (b"one\r\ntwo\r\nthree\r\n", "two", "2a\n2b", b"one\r\n2a\r\n2b\r\nthree\r\n"),
        (b"one\r\n2a\r\n2b\r\nthree\r\n", "2b", "2b\r\n2c", b"one\r\n2a\r\n2b\r\n2c\r\nthree\r\n"),
        (b"\xef\xbb\xbfword\r\n", "word", "Xword", b"\xef\xbb\xbfXword\r\n"),
        ("[ä]=1\n".encode(), "=1", "=3", "[ä]=3\n".encode()),
        (b"begin\r\n\tfoo();\r\n\tbar();\r\n", "\tfoo();\n\tbar();", "\tbaz();", b"begin\r\n\tbaz();\r\n"),
    ],
)
def test_line_ends_of_arguments_are_neutral(content: bytes, old: str, new: str, expected: bytes) -> None:
    assert replaced(content, old, new) == expected


def test_a_file_grows_and_shrinks_back_to_the_same_bytes() -> None:
    content = b"".join(b"row %05d " % number + b"x" * 120 + b"\n" for number in range(1100)) + b"end-marker\n"
    grown = replaced(content, "row 00500 ", "row 00500 " + "y" * 5000, large=True)
    assert len(grown) == len(content) + 5000
    assert replaced(grown, "y" * 5000, "", large=True) == content


@unhurried
@example(raw=b"\xa1\xa1")
@given(st.binary(max_size=20).filter(lambda raw: b"needle" not in raw and b"\r" not in raw and b"\0" not in raw))
def test_stray_bytes_around_a_place_stay(raw: bytes) -> None:
    content = "ä\n".encode() * 30 + raw + b"needle" + raw + b"\n" + "ä\n".encode() * 30
    assert replaced(content, "needle", "n\u00e9", None) == re.sub(b"needle", "né".encode(), content)
