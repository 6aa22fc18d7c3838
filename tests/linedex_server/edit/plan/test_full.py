from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import document_of, unhurried

from linedex.errors import BinaryFile
from linedex_server.edit.content.style import Style
from linedex_server.edit.plan.full import splices
from linedex_server.edit.splice import applied


def written(content: bytes, text: str, *, large: bool = False, **style: str) -> bytes:
    document = document_of(content, whole_bytes=len(content) - 1, window_bytes=8) if large else document_of(content)
    return applied(content, splices(document, text, Style.parse(**style)))


@unhurried
@given(
    st.text(alphabet="ab\n", min_size=1, max_size=30),
    st.text(alphabet="ab\né", max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_a_file_says_what_was_written_in_its_own_style(old: str, new: str, end: str, large: bool) -> None:
    old = f"head\n{old}"
    result = written(b"\xef\xbb\xbf" + old.replace("\n", end).encode(), new, large=large)
    final = new + "\n" if new and old.endswith("\n") and not new.endswith("\n") else new
    expected = final if old.endswith("\n") else new.rstrip("\n")
    assert result == b"\xef\xbb\xbf" + expected.replace("\n", end).encode()


def test_lines_of_a_mixed_file_are_paired_by_a_difference_and_then_by_place() -> None:
    content = b"a\nb\r\nc\nd\r\ne\n"
    assert written(content, "a\nb\nc\nd\ne\n") == content
    assert written(content, "new\na\nb\nc\nd\ne\n") == b"new\n" + content
    assert written(content, "a\nc\nd\ne\n") == b"a\nc\nd\r\ne\n"
    assert written(content, "a\nB\nC\nD\nD2\ne\n") == b"a\nB\r\nC\nD\r\nD2\ne\n"


def test_only_lines_that_differ_are_written() -> None:
    content = b"".join(b"row %d\n" % number for number in range(300))
    document = document_of(content)
    text = content.decode().replace("row 7\n", "row seven\n").replace("row 250\n", "")
    found = splices(document, text, Style())
    assert applied(content, found).decode() == text
    assert sum(len(one.new) + one.end - one.start for one in found) < 40


@pytest.mark.parametrize("large", [False, True])
def test_the_same_text_changes_nothing(*, large: bool) -> None:
    content = "é\r\nb\r\n".encode("utf-16-le")
    document = document_of(b"\xff\xfe" + content, whole_bytes=len(content) + 1 if large else 1 << 20)
    assert splices(document, "é\nb", Style()) == ()
    assert splices(document, "é\r\nb\r\n", Style()) == ()


def test_characters_that_are_spelt_otherwise_stay_in_lines_that_stay() -> None:
    content = "漢字です。これは試験です。\r\n".encode("cp932") * 3 + b"\x81\xca\r\nend\r\n"
    text = content.decode("cp932").replace("\r\n", "\n").replace("end", "END")
    assert written(content, text) == content.replace(b"end", b"END")


@pytest.mark.parametrize("large", [False, True])
def test_a_style_may_be_asked_for(*, large: bool) -> None:
    content = b"\xef\xbb\xbfa\nb\n"
    assert written(content, "é\nc", large=large, encoding="cp1252", newline="crlf") == b"\xe9\r\nc\r\n"
    assert written(content, "é", large=large, bom="remove", final_newline="remove") == "é".encode()
    assert written(content, "a\nb", large=large, newline="cr") == b"\xef\xbb\xbfa\rb\r"


@pytest.mark.parametrize(("text", "expected"), [("a", b"a"), ("a\n", b"a\n"), ("", b"")])
def test_an_empty_file_takes_the_text_as_it_is(text: str, expected: bytes) -> None:
    assert written(b"", text) == expected


def test_a_file_may_be_emptied() -> None:
    assert written(b"\xef\xbb\xbfa\r\nb\r\n", "") == b"\xef\xbb\xbf"


def test_a_large_file_is_cut_where_the_texts_part() -> None:
    content = b"a\n" * 50
    document = document_of(content, whole_bytes=99)
    (found,) = splices(document, "a\n" * 40 + "b\n", Style())
    assert (found.start, found.end, found.new) == (80, 100, b"b\n")
    (cut,) = splices(document, "a\n" * 40, Style())
    assert (cut.start, cut.end, cut.new) == (80, 100, b"")


def test_binary_files_are_left_to_the_caller() -> None:
    with pytest.raises(BinaryFile):
        written(b"\x7fELF" + bytes(range(256)) * 8, "a")
