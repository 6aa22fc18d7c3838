from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import File, document_of, files, unhurried

from linedex.errors import BinaryFile, LineOutOfRange
from linedex_server.edit.errors import TooLarge


def lines_of(file: File) -> list[str]:
    """Return the lines that a file holds, each with its end, "?" for a stray byte."""
    text = "".join(point for _, point in file.model)
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def plain(text: str) -> str:
    return "".join("?" if "\udc00" <= point <= "\udcff" else point for point in text)


@unhurried
@given(files(most=60), st.data())
def test_lines_of_a_file_too_large_to_hold_are_those_that_it_has(file: File, data: st.DataObject) -> None:
    lines, size = lines_of(file), len(file.content)
    document = file.document(whole_bytes=size - 1)
    assert document.total_lines == len(lines)
    if not lines:
        return
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    if last - first + 1 == len(lines) and not file.format.bom:
        with pytest.raises(TooLarge, match="which is more than an edit holds"):
            document.lines(first, last)
        return
    found = document.lines(first, last)
    assert plain(found.text) == "".join(lines[first - 1 : last])
    assert found.first_line == first
    assert file.content[found.start : found.end] == found.raw
    assert document.lines_at(found.start, found.end).raw == found.raw
    assert document.lines_at(found.end - 1, found.end).first_line == last


@unhurried
@given(files(most=60), st.integers(0, 4), st.integers(1, 40))
def test_windows_hold_every_run_of_lines_that_was_asked_for(file: File, overlap: int, window_bytes: int) -> None:
    lines = lines_of(file)
    windows = list(file.document(window_bytes=window_bytes).windows(overlap))
    held = set()
    for window in windows:
        last = window.first_line + window.lines - 1
        assert plain(window.text) == "".join(lines[window.first_line - 1 : last])
        assert file.content[window.start : window.end] == window.raw
        held |= {(first, first + overlap) for first in range(window.first_line, last - overlap + 1)}
    assert held >= {(first, first + overlap) for first in range(1, len(lines) - overlap + 1)}
    assert [window.first_line for window in windows] == sorted({window.first_line for window in windows})
    assert not lines or windows[-1].end == len(file.content)


@unhurried
@given(st.binary(max_size=60), st.integers(0, 5), st.integers(1, 20))
def test_raw_windows_hold_every_run_of_bytes_that_was_asked_for(raw: bytes, overlap: int, window_bytes: int) -> None:
    document = document_of(b"\xef\xbb\xbf" + raw, document_of(b"\xef\xbb\xbfa").format, window_bytes=window_bytes)
    found = list(document.raw_windows(overlap))
    at = 3
    for start, piece in found:
        assert start <= at
        assert piece == (b"\xef\xbb\xbf" + raw)[start : start + len(piece)]
        assert start == 3 or at - start == overlap
        at = start + len(piece)
    assert at == len(raw) + 3


def test_a_window_grows_to_hold_a_long_line_and_says_when_it_may_not() -> None:
    content = b"a\n" + b"b" * 50 + b"\nc\n"
    assert [window.lines for window in document_of(content, window_bytes=4).windows()] == [1, 2]
    with pytest.raises(TooLarge, match="Line 2 has over 20 bytes"):
        list(document_of(content, whole_bytes=20, window_bytes=4).windows())


def test_a_large_file_has_no_whole_text_and_names_the_tools_that_do_without() -> None:
    with pytest.raises(TooLarge, match="The file has 6 bytes; this edit takes up to 5") as refusal:
        _ = document_of(b"a\nb\nc\n", whole_bytes=5).whole
    assert "apply_text_edits" in refusal.value.hint


def test_binary_files_have_no_text() -> None:
    document = document_of(b"\x7fELF" + bytes(range(256)) * 8)
    for ask in (lambda: document.whole, lambda: document.lines(1, 1), lambda: list(document.windows())):
        with pytest.raises(BinaryFile):
            ask()


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 1), (1, 3), (3, 3)])
def test_lines_that_are_not_there_are_refused_with_their_number(first: int, last: int) -> None:
    with pytest.raises(LineOutOfRange, match=r"\(2 lines\)"):
        document_of(b"a\nb\n").lines(first, last)


@pytest.mark.parametrize(
    ("content", "dominant"),
    [
        (b"", "\n"),
        (b"a", "\n"),
        (b"a\nb\r\nc\n", "\n"),
        (b"a\nb\r\nc\r\n", "\r\n"),
        (b"a\nb\r\n", ""),
        (b"a\rb\r", "\r"),
        (b"\xff\xfe" + "a\nb\r\nc\u0d0a\u0a0a\r\nd\r\n".encode("utf-16-le"), "\r\n"),
    ],
)
def test_the_dominant_line_end_is_the_most_frequent(content: bytes, dominant: str) -> None:
    assert document_of(content).dominant == dominant
    assert document_of(content, whole_bytes=len(content) - 1, window_bytes=4).dominant == dominant


@unhurried
@given(files(strays=False, doubles=False), st.data())
def test_bytes_that_are_found_are_text_that_is_found_where_the_document_says_so(
    file: File, data: st.DataObject
) -> None:
    document, text = file.document(), "".join(point for _, point in file.model)
    line = data.draw(st.sampled_from(text.split("\n")))
    start = data.draw(st.integers(0, len(line)))
    wanted = line[start : data.draw(st.integers(start, len(line)))]
    if document.byte_searchable and wanted:
        found = file.content.find(wanted.encode(file.format.encoding), file.format.bom)
        assert found == document.whole.byte_at(text.find(wanted))


def test_a_hit_in_the_middle_of_a_character_is_why_some_documents_are_not_searched_by_bytes() -> None:
    document = document_of("表".encode("shift_jis"), document_of("漢字です。\n".encode("shift_jis")).format)
    assert b"\\" in document.read(0, 2)
    assert "\\" not in document.whole.text
    assert not document.byte_searchable


def test_a_carriage_return_in_an_argument_is_a_line_end_where_the_file_has_it_so() -> None:
    assert document_of(b"a\rb\r").argument("search", "a\rb\r\nc\n") == "a\nb\nc\n"
    assert document_of(b"a\nb\n").argument("search", "a\rb\r\nc\n") == "a\rb\nc\n"
