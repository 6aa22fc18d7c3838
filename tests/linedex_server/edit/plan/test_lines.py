from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import document_of, padded, unhurried

from linedex.errors import BadArgument
from linedex_server.edit.content.style import Style, splices
from linedex_server.edit.errors import Conflict
from linedex_server.edit.plan.lines import LineEdit, lines
from linedex_server.edit.splice import applied


def edited(content: bytes, *edits: LineEdit, large: bool = False, style: Style | None = None) -> bytes:
    document = document_of(content, whole_bytes=len(content) - 1) if large else document_of(content)
    return applied(content, splices(document, lines(document, edits).edits, style or Style()))


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("content", "edits", "expected"),
    [
        (b"a\nb\nc\n", [LineEdit(2, "B")], b"a\nB\nc\n"),
        (b"a\nb\nc\n", [LineEdit(2, "B\n")], b"a\nB\nc\n"),
        (b"a\nb\nc", [LineEdit(2, "B")], b"a\nB\nc"),
        (b"a\nb\nc\n", [LineEdit(2, "x\ny", 3)], b"a\nx\ny\n"),
        (b"a\nb\nc\n", [LineEdit(2, "", 2)], b"a\nc\n"),
        (b"a\nb\nc\n", [LineEdit(2, "\n", 2)], b"a\n\nc\n"),
        (b"a\nb\nc\n", [LineEdit(2, "x", 1)], b"a\nx\nb\nc\n"),
        (b"a\nb\nc\n", [LineEdit(2, "", 1)], b"a\nb\nc\n"),
        (b"a\nb\n", [LineEdit(3, "c", 2)], b"a\nb\nc\n"),
        (b"a\nb\n", [LineEdit(3, "c\n", 2)], b"a\nb\nc\n"),
        (b"a\nb", [LineEdit(3, "c", 2)], b"a\nb\nc"),
        (b"a\nb", [LineEdit(3, "c\n", 2)], b"a\nb\nc"),
        (b"a\nb", [LineEdit(3, "", 2)], b"a\nb"),
        (b"a\nb", [LineEdit(3, "c", 2), LineEdit(3, "d", 2)], b"a\nb\nc\nd"),
        (b"a\nb", [LineEdit(2, "B"), LineEdit(3, "c", 2)], b"a\nB\nc"),
        (b"a\nb", [LineEdit(2, ""), LineEdit(3, "c", 2)], b"a\nc"),
        (b"a\nb\nc\nd" + b"e" * 40, [LineEdit(4, "")], b"a\nb\nc"),
        (b"a\nb\nc\n", [LineEdit(3, "C"), LineEdit(1, "A")], b"A\nb\nC\n"),
        (b"a\nb\n", [LineEdit(2, "y", 1), LineEdit(2, "B"), LineEdit(2, "x", 1)], b"a\ny\nx\nB\n"),
        (b"a\r\nb\r\n", [LineEdit(1, "x\r\ny\n")], b"x\r\ny\r\nb\r\n"),
        (b"uno\rdos\rtres\r", [LineEdit(2, "DUE")], b"uno\rDUE\rtres\r"),
        (b"\xef\xbb\xbfa\nb\n", [LineEdit(1, "x")], b"\xef\xbb\xbfx\nb\n"),
    ],
)
def test_lines_are_replaced_inserted_and_deleted(
    content: bytes, edits: list[LineEdit], expected: bytes, *, large: bool
) -> None:
    assert edited(content, *edits, large=large) == expected


@pytest.mark.parametrize("new", ["a", "a\n"])
def test_line_1_of_an_empty_file_is_inserted_before_line_1(new: str) -> None:
    assert edited(b"", LineEdit(1, new, 0)) == new.encode()


@unhurried
@given(st.lists(st.sampled_from(["", "a", "bb"]), min_size=1, max_size=6), st.booleans(), st.data())
def test_both_forms_of_new_text_do_the_same(old: list[str], final: bool, data: st.DataObject) -> None:
    content = ("\n".join([*old, ""]) if final else "\n".join([*old, "z"])).encode()
    total = content.decode().count("\n") + (not final)
    start = data.draw(st.integers(1, total + 1))
    end = data.draw(st.integers(start - 1, total))
    new = data.draw(st.sampled_from(["x", "x\ny"]))
    with_end, without = (edited(content, LineEdit(start, text, end)) for text in (new + "\n", new))
    assert with_end == without
    lines_before = content.decode().split("\n")[:total]
    expected = [*lines_before[: start - 1], *new.split("\n"), *lines_before[end:]]
    assert without.decode() == "\n".join(expected) + ("\n" if final else "")


@pytest.mark.parametrize(
    "edit", [LineEdit(0, "x"), LineEdit(2, "x", 0), LineEdit(4, "x", 3), LineEdit(3, "x"), LineEdit(1, "x", 3)]
)
def test_a_range_that_is_not_in_the_file_is_refused_with_its_number_of_lines(edit: LineEdit) -> None:
    with pytest.raises(BadArgument, match="the file has 2 lines"):
        edited(b"a\nb\n", edit)


def test_overlapping_edits_are_refused_by_number_and_touching_ones_are_not() -> None:
    content = b"a\nb\nc\nd\ne\nf\ng\n"
    with pytest.raises(BadArgument, match="change 2 overlaps change 0, lines 4-6") as refusal:
        edited(content, LineEdit(3, "x", 6), LineEdit(1, "y"), LineEdit(4, "z", 6))
    assert "change 1" not in str(refusal.value)
    with pytest.raises(BadArgument, match="change 1 overlaps change 0, line 4"):
        edited(content, LineEdit(3, "x", 6), LineEdit(4, "z", 3))
    assert edited(content, LineEdit(1, "x", 2), LineEdit(3, "y"), LineEdit(3, "z", 2)) == b"x\nz\ny\nd\ne\nf\ng\n"


@pytest.mark.parametrize("expected", ["b\nc", "b\nc\n", "b\r\nc\r\n"])
def test_the_expected_text_may_lack_its_final_line_end(expected: str) -> None:
    assert edited(b"a\nb\nc\n", LineEdit(2, "x", 3, expected)) == b"a\nx\n"
    assert edited(b"a\nb\nc", LineEdit(2, "x", 3, expected)) == b"a\nx"


def test_every_item_whose_expected_text_is_another_is_named() -> None:
    edits = (LineEdit(1, "x", 1, "A"), LineEdit(2, "x", 2, "b"), LineEdit(3, "x", 3, "c\nd"), LineEdit(3, "x", 2, "b"))
    with pytest.raises(Conflict) as refusal:
        edited(b"a\nb\nc\n", *edits)
    told = str(refusal.value)
    assert "change 0: line 1 has 'a' there, not 'A' as expected" in told
    assert "change 2: 2 lines were expected, and not line 3" in told
    assert "change 3: it inserts at line 3 and replaces nothing" in told
    assert "change 1" not in told


def test_a_range_that_is_not_in_the_file_is_refused_by_what_is_wrong_with_it() -> None:
    with pytest.raises(BadArgument) as refusal:
        edited(b"a\nb\n", LineEdit(4, "x"), LineEdit(2, "x", 0), LineEdit(1, "x", 3))
    told = str(refusal.value)
    assert (
        "change 0: there is no line 4; change 1: end_line 0 lies before start_line 2; change 2: there is no line 3"
        in told
    )
    assert "the file has 2 lines" in told


def test_what_is_appended_is_told_by_the_line_that_was_asked_for() -> None:
    _, document = padded(b"a\nb", large=False)
    assert lines(document, [LineEdit(3, "c", 2)]).lines == (3,)


def test_an_insertion_expects_nothing() -> None:
    assert edited(b"a\n", LineEdit(1, "x", 0, "")) == b"x\na\n"
    with pytest.raises(Conflict):
        edited(b"\na\n", LineEdit(1, "x", 0, "\n"))


def test_a_stray_byte_is_expected_as_a_replacement_character() -> None:
    content = "ä\n".encode() * 9 + b"a\xffb\nc\n"
    assert edited(content, LineEdit(10, "x", 10, "a\ufffdb")) == "ä\n".encode() * 9 + b"x\nc\n"


def test_a_call_without_edits_is_refused() -> None:
    with pytest.raises(BadArgument, match="`edits` is empty"):
        edited(b"a\n")


def test_what_changed_is_told_by_line_of_the_file_before_the_call() -> None:
    found = lines(document_of(b"a\nb\nc\n"), [LineEdit(3, "C"), LineEdit(1, "x\ny", 0)])
    assert (found.count, found.lines) == (2, (1, 3))
