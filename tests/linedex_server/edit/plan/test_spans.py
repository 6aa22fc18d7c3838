from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import document_of, unhurried

from linedex.errors import BadArgument
from linedex_server.edit.content.style import AS_EDITED, Style, splices
from linedex_server.edit.errors import Conflict
from linedex_server.edit.plan.spans import SpanEdit, spans
from linedex_server.edit.splice import applied


def edited(content: bytes, *edits: SpanEdit, style: Style = AS_EDITED, large: bool = False) -> bytes:
    document = document_of(content, whole_bytes=len(content) - 1, window_bytes=8) if large else document_of(content)
    return applied(content, splices(document, spans(document, edits).edits, style))


@unhurried
@given(st.text(alphabet="ab\n漢\U0001f600", min_size=1, max_size=30), st.data())
def test_offsets_are_those_of_python_strings(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    expected = text[:start] + "x\ny" + text[end:]
    for large in (False, True):
        for ends in ("\n", "\r\n"):
            content = (text + "\ntail" * 4).replace("\n", ends).encode()
            result = edited(content, SpanEdit(start, end, "x\ny"), large=large)
            assert result == (expected + "\ntail" * 4).replace("\n", ends).encode()


def test_the_mark_is_not_counted_and_a_crlf_is_one_character() -> None:
    content = b"\xef\xbb\xbfa\r\nb\r\n"
    assert edited(content, SpanEdit(1, 2, "")) == b"\xef\xbb\xbfab\r\n"
    assert edited(content, SpanEdit(2, 2, "x")) == b"\xef\xbb\xbfa\r\nxb\r\n"
    assert edited(content, SpanEdit(0, 0, "x")) == b"\xef\xbb\xbfxa\r\nb\r\n"


def test_new_text_is_taken_as_it_is_and_the_final_newline_is_kept() -> None:
    assert edited(b"ab\n", SpanEdit(1, 1, "\\n&amp;$1 "), style=Style()) == b"a\\n&amp;$1 b\n"
    assert edited(b"ab\n", SpanEdit(1, 3, "x"), style=Style()) == b"ax\n"


@pytest.mark.parametrize("edit", [SpanEdit(-1, 0, "x"), SpanEdit(2, 1, "x"), SpanEdit(0, 5, "x"), SpanEdit(5, 5, "x")])
def test_offsets_outside_of_the_text_are_refused_with_its_length(edit: SpanEdit) -> None:
    with pytest.raises(BadArgument, match="the text has 4 characters"):
        edited(b"a\r\nb\r\n", edit)


def test_the_end_of_the_text_can_be_inserted_at() -> None:
    for large in (False, True):
        assert edited(b"a\nb\n", SpanEdit(4, 4, "c\n"), large=large) == b"a\nb\nc\n"
        assert edited(b"a\nb", SpanEdit(3, 3, "c"), large=large) == b"a\nbc"


def test_a_span_of_stray_bytes_must_say_what_it_expects() -> None:
    content = "ä".encode() * 9 + b"\xff\xfe\n"
    with pytest.raises(BadArgument, match="change 0: line 1 holds bytes that do not decode"):
        edited(content, SpanEdit(9, 10, "x"))
    assert edited(content, SpanEdit(9, 10, "x", "\ufffd")) == "ä".encode() * 9 + b"x\xfe\n"


def test_overlaps_are_refused_and_insertions_stay_in_order() -> None:
    with pytest.raises(BadArgument, match="change 1 overlaps change 0"):
        edited(b"abcdef\n", SpanEdit(1, 4, "x"), SpanEdit(3, 5, "y"))
    assert edited(b"abc\n", SpanEdit(1, 1, "2"), SpanEdit(1, 1, "1"), SpanEdit(1, 2, "B")) == b"a21Bc\n"


def test_an_expected_text_that_is_another_is_refused() -> None:
    with pytest.raises(Conflict, match="change 0: line 1 has 'b' there, not 'c' as expected"):
        edited(b"abc\n", SpanEdit(1, 2, "x", "c"))
