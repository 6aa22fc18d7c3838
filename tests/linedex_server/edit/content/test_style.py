from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import ALPHABETS, ENDS, MARKS, File, document_of, files, unhurried

from linedex.errors import BadArgument
from linedex.model import Newline
from linedex_server.edit.content.style import AS_EDITED, Style, conversions, encoded_new, splices
from linedex_server.edit.errors import TooLarge, Unencodable
from linedex_server.edit.splice import TextChange, applied


def edited(content: bytes, changes: Sequence[TextChange], style: Style = AS_EDITED) -> bytes:
    document = document_of(content)
    return applied(content, splices(document, [(document.whole, changes)], style))


def styled(content: bytes, **style: str) -> bytes:
    return edited(content, [], Style.parse(**style))


@st.composite
def edits(draw: st.DrawFn) -> tuple[File, list[TextChange]]:
    """A file, and changes of it that do not overlap and do not begin or end inside a character."""
    file = draw(files(most=40))
    model = file.model
    whole = [at for at in range(len(model) + 1) if at == len(model) or model[at][0]]
    if file.format.encoding.startswith("utf-16") or file.format.encoding.startswith("utf-32"):
        unit = 2 if "16" in file.format.encoding else 4
        whole = [at for at in whole if not sum(len(raw) for raw, _ in model[:at]) % unit]
    places = sorted(draw(st.lists(st.sampled_from(whole), max_size=6)))
    alphabet = ALPHABETS[file.format.encoding].replace("\r", "") + "\n"
    new = st.text(alphabet=alphabet, max_size=6)
    return file, [TextChange(start, end, draw(new)) for start, end in zip(places[::2], places[1::2], strict=False)]


def left_after(rest: bytes, new: str, ends: tuple[str, ...], encoding: str) -> bytes:
    """Check that `rest` begins with `new`, each line end one of `ends`, and return what follows."""
    for point in new:
        spellings = [end.encode(encoding) for end in ends] if point == "\n" else [point.encode(encoding)]
        spelling = next((one for one in sorted(spellings, key=len, reverse=True) if rest.startswith(one)), None)
        assert spelling is not None, (rest, point)
        rest = rest[len(spelling) :]
    return rest


@unhurried
@given(edits())
def test_only_what_was_asked_for_is_changed(case: tuple[File, list[TextChange]]) -> None:
    file, changes = case
    document, content, encoding = file.document(), file.content, file.format.encoding
    made = splices(document, [(document.whole, changes)], AS_EDITED)
    rest = result = applied(content, made)
    ends = ENDS.get(file.format.newline, ("\n",))
    pieces, at = [raw for raw, _ in file.model], 0
    mark = MARKS[encoding] if file.format.bom else b""
    assert rest.startswith(mark)
    rest = rest[len(mark) :]
    for change in changes:
        before = b"".join(pieces[at : change.start])
        assert rest.startswith(before)
        rest, at = left_after(rest[len(before) :], change.new, ends, encoding), change.end
    assert rest == b"".join(pieces[at:])
    assert len(result) == len(content) + sum(splice.delta for splice in made)


@unhurried
@given(edits(), st.sampled_from([AS_EDITED, Style()]))
def test_the_changes_of_a_large_file_are_those_of_a_small_one(
    case: tuple[File, list[TextChange]], style: Style
) -> None:
    file, changes = case
    if file.format.newline is Newline.NONE:
        return
    lines = 60
    end = ENDS[file.format.newline][0].encode(file.format.encoding)
    file = replace(file, pieces=(("a".encode(file.format.encoding), "a"), (end, "\n")) * lines + file.pieces)
    small, large = file.document(), file.document(whole_bytes=len(file.content) - 1)
    parts = []
    last = 0
    for change in changes:
        first, final = (
            min(small.whole.line_at(at + 2 * lines), small.total_lines) for at in (change.start, change.end)
        )
        if first <= last:
            return
        text, shift = large.lines(first, final), 2 * lines - small.whole.line_start(first)
        parts.append((text, [TextChange(change.start + shift, change.end + shift, change.new)]))
        last = final
    moved = [TextChange(one.start + 2 * lines, one.end + 2 * lines, one.new) for one in changes]
    assert applied(file.content, splices(large, parts, style)) == applied(
        file.content, splices(small, [(small.whole, moved)], style)
    )


@unhurried
@given(edits(), st.sampled_from(["preserve", "add", "remove"]))
def test_the_final_newline_is_kept_added_or_taken_away(case: tuple[File, list[TextChange]], wanted: str) -> None:
    file, changes = case
    document = file.document()
    result = applied(file.content, splices(document, [(document.whole, changes)], Style(final_newline=wanted)))
    end = ("\r" if file.format.newline is Newline.CR else "\n").encode(file.format.encoding)
    if len(result) <= file.format.bom:
        return
    has = {"preserve": file.format.final_newline, "add": True, "remove": False}[wanted]
    if wanted != "preserve" or len(file.content) > file.format.bom:
        assert result.endswith(end) == has


@pytest.mark.parametrize(
    ("content", "change", "expected"),
    [
        # k old lines and n new ones: the first min(k, n) keep their ends, further ones take the dominant end
        (b"a\nb\r\nc\nd\n", TextChange(2, 6, "x\ny\nz\n"), b"a\nx\r\ny\nz\nd\n"),
        (b"a\r\nb\r\nc\nd\r\n", TextChange(2, 6, "x\ny\nz\n"), b"a\r\nx\r\ny\nz\r\nd\r\n"),
        (b"a\nb\r\nc\nd\n", TextChange(2, 6, "x\n"), b"a\nx\r\nd\n"),
        (b"a\nb\r\nc\n", TextChange(2, 2, "x\ny\n"), b"a\nx\ny\nb\r\nc\n"),
        # as many LF as CRLF: the nearest line above, at the top the first line
        (b"a\nb\r\n", TextChange(4, 4, "x\n"), b"a\nb\r\nx\r\n"),
        (b"a\nb\r\n", TextChange(2, 2, "x\n"), b"a\nx\nb\r\n"),
        (b"a\r\nb\n", TextChange(0, 0, "x\n"), b"x\r\na\r\nb\n"),
        # lines that stay as they were are not replaced
        (b"a\nb\r\nc\nd\n", TextChange(2, 6, "new\nb\nc\n"), b"a\nnew\nb\r\nc\nd\n"),
        (b"a\nb\r\nc\nd\n", TextChange(2, 6, "c\n"), b"a\nc\nd\n"),
    ],
)
def test_new_lines_of_a_mixed_file_are_ended_by_position(content: bytes, change: TextChange, expected: bytes) -> None:
    assert edited(content, [change]) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be", "cp1252"])
def test_new_lines_are_ended_as_the_file_has_them(encoding: str, end: str) -> None:
    content = f"one{end}tw\xf6{end}three{end}".encode(encoding)
    result = edited(content, [TextChange(4, 7, "2a\n2\xe4")])
    assert result == f"one{end}2a{end}2\xe4{end}three{end}".encode(encoding)


@pytest.mark.parametrize(
    ("content", "changes", "expected"),
    [
        (b"a\nb\n", [TextChange(2, 4, "c")], b"a\nc\n"),
        (b"a\nb\n", [TextChange(3, 4, "")], b"a\nb\n"),
        (b"a\nb\n", [TextChange(2, 4, "")], b"a\n"),
        (b"a\nb\n", [TextChange(0, 4, "")], b""),
        (b"a\nb", [TextChange(2, 3, "c\n\n")], b"a\nc"),
        (b"a\nb", [TextChange(2, 3, "")], b"a"),
        (b"a\n\n\nb", [TextChange(4, 5, "")], b"a"),
        (b"a\n\n\nb", [TextChange(0, 1, "x"), TextChange(2, 2, "\n"), TextChange(4, 5, "")], b"x"),
        (b"a\r\nb", [TextChange(3, 3, "\nc\n")], b"a\r\nb\r\nc"),
        (b"", [TextChange(0, 0, "a")], b"a"),
        (b"", [TextChange(0, 0, "a\n")], b"a\n"),
        (b"\xef\xbb\xbf", [TextChange(0, 0, "a")], b"\xef\xbb\xbfa"),
        (b"a\n\n\n", [TextChange(0, 1, "b")], b"b\n\n\n"),
    ],
)
def test_a_file_goes_on_ending_as_it_did(content: bytes, changes: list[TextChange], expected: bytes) -> None:
    assert edited(content, changes, Style()) == expected


def test_a_long_tail_of_empty_lines_goes_from_a_large_file_too() -> None:
    content = b"a\n" * 90 + b"x" + b"\n" * 60 + b"b"
    large = document_of(content, whole_bytes=len(content) - 1)
    edit = [
        (large.lines(line, line), [change])
        for line, change in ((89, TextChange(0, 1, "c")), (151, TextChange(0, 1, "")))
    ]
    assert applied(content, splices(large, edit, Style())) == b"a\n" * 88 + b"c\na\nx"


@pytest.mark.parametrize(
    ("content", "style", "expected"),
    [
        (b"a\nb\r\nc", {"newline": "crlf"}, b"a\r\nb\r\nc"),
        (b"a\r\nb\r\n", {"newline": "\n"}, b"a\nb\n"),
        (b"a\rb\r", {"newline": "LF"}, b"a\nb\n"),
        (b"a\nb\n", {"newline": "cr"}, b"a\rb\r"),
        (b"a\xff\nb\n", {"newline": "crlf"}, b"a\xff\r\nb\r\n"),
        (b"a\nb", {"final_newline": "always"}, b"a\nb\n"),
        (b"a\r\nb", {"final_newline": "add"}, b"a\r\nb\r\n"),
        (b"", {"final_newline": "add"}, b""),
        (b"a\n\n\n", {"final_newline": "without"}, b"a"),
        (b"a\nb", {"final_newline": "add", "newline": "crlf"}, b"a\r\nb\r\n"),
        (b"a\n", {"bom": "yes"}, b"\xef\xbb\xbfa\n"),
        (b"\xef\xbb\xbfa\n", {"bom": "add"}, b"\xef\xbb\xbfa\n"),
        (b"\xef\xbb\xbfa\n", {"bom": "false"}, b"a\n"),
        ("é\n".encode(), {"encoding": "cp1252"}, b"\xe9\n"),
        ("é\n".encode(), {"encoding": "utf-16"}, b"\xff\xfe\xe9\0\n\0"),
        ("é\n".encode(), {"encoding": "utf-16-be"}, b"\0\xe9\0\n"),
        ("é\n".encode(), {"encoding": "utf-8-sig"}, b"\xef\xbb\xbf\xc3\xa9\n"),
        (b"\xef\xbb\xbf\xc3\xa9\n", {"encoding": "gb18030"}, b"\x84\x31\x95\x33" + "é\n".encode("gb18030")),
        (b"\xef\xbb\xbf\xc3\xa9\n", {"encoding": "cp1252"}, b"\xe9\n"),
        (b"\xff\xfe\xe9\0\n\0", {"encoding": "utf-8", "bom": "remove"}, b"\xc3\xa9\n"),
        ("漢字\r\n".encode(), {"encoding": "iso2022_jp", "newline": "lf"}, "漢字\n".encode("iso2022_jp")),
        ("é\n".encode(), {"encoding": "UTF8"}, "é\n".encode()),
    ],
)
def test_style_that_is_named_is_made(content: bytes, style: dict[str, str], expected: bytes) -> None:
    assert styled(content, **style) == expected


def test_edits_and_conversions_are_made_together() -> None:
    result = edited("é\nb".encode(), [TextChange(2, 3, "ü\n")], Style.parse("cp1252", "preserve", "crlf", "add"))
    assert result == b"\xe9\r\n\xfc\r\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-8", "cp1252"])
def test_what_is_already_so_changes_nothing(encoding: str) -> None:
    document = document_of("é1\né2\n".encode(encoding))
    style = Style.parse(encoding, "remove", "lf", "add")
    assert splices(document, [(document.whole, [TextChange(0, 2, "é1")])], style) == ()
    assert conversions(document, style) == ()


def test_conversions_are_told() -> None:
    document = document_of(b"a\r\nb\n")
    assert conversions(document, Style.parse("utf-16", newline="lf")) == (
        "converted to utf-16-le",
        "converted line ends to LF",
        "added a BOM",
    )


@pytest.mark.parametrize("style", [{"encoding": "cp1252"}, {"encoding": "utf-8"}])
def test_bytes_that_do_not_decode_are_not_encoded_anew(style: dict[str, str]) -> None:
    with pytest.raises(Unencodable, match="Line 2 holds bytes that are not utf-8"):
        styled("ä\n".encode() + b"\xff \xc3\xa9 \xc3\xa9\n", **style)


def test_a_character_that_the_new_encoding_lacks_is_named_with_its_line() -> None:
    with pytest.raises(Unencodable, match=r"'€' \(U\+20AC\) in line 2 cannot be written in iso8859-1"):
        styled("a\n€\n".encode(), encoding="latin-1")
    with pytest.raises(Unencodable, match=r"'漢' \(U\+6F22\) in line 3 cannot be written in cp1252"):
        edited(b"caf\xe9 \x80\nb\nc\n", [TextChange(7, 8, "b\n漢")])


@pytest.mark.parametrize("newline", ["lf", "cr"])
def test_a_carriage_return_that_would_become_a_line_end_is_named(newline: str) -> None:
    with pytest.raises(Unencodable, match="Line 2 holds a carriage return"):
        styled(b"a\r\nb\r\r\n", newline=newline)


def test_half_a_code_unit_is_not_cut_off() -> None:
    content = "ab".encode("utf-16-le") + b"\x00\xd8" + "cd, and enough of text\n".encode("utf-16-le")
    document = document_of(b"\xff\xfe" + content)
    with pytest.raises(Unencodable, match="line 1 would divide a code unit of utf-16-le"):
        splices(document, [(document.whole, [TextChange(2, 3, "")])], AS_EDITED)
    assert edited(b"\xff\xfe" + content, [TextChange(2, 4, "")]) == b"\xff\xfe" + "abcd, and enough of text\n".encode(
        "utf-16-le"
    )


def test_a_large_file_is_not_converted_but_gets_its_mark_and_its_final_newline() -> None:
    content = b"a\nb\nc"
    large = document_of(content, whole_bytes=4)
    with pytest.raises(TooLarge, match="5 bytes; up to 4 are converted"):
        splices(large, [], Style.parse(newline="crlf"))
    assert applied(content, splices(large, [], Style.parse(bom="add", final_newline="add"))) == b"\xef\xbb\xbfa\nb\nc\n"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"encoding": "klingon"}, "`encoding` 'klingon' is not an encoding"),
        ({"encoding": "base64"}, "`encoding` 'base64' is not an encoding"),
        ({"encoding": "rot13"}, "`encoding` 'rot13' is not an encoding"),
        ({"encoding": "unicode_escape"}, "`encoding` 'unicode_escape' is not an encoding"),
        ({"encoding": "a\0b"}, "is not an encoding"),
        ({"encoding": "cp1252", "bom": "add"}, "no byte order mark in cp1252"),
        ({"encoding": "utf-16", "bom": "remove"}, "has a byte order mark"),
        ({"bom": "maybe"}, "`bom` cannot be 'maybe'"),
        ({"newline": "windows"}, "`newline` cannot be 'windows'"),
        ({"final_newline": "1"}, "`final_newline` cannot be '1'"),
    ],
)
def test_a_style_that_there_is_not_is_refused_by_name(parameters: dict[str, str], words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        Style.parse(**parameters)


def test_a_mark_is_refused_in_a_file_whose_encoding_has_none() -> None:
    with pytest.raises(BadArgument, match="no byte order mark in cp1252"):
        styled(b"caf\xe9 \x80 5\n", bom="add")


@pytest.mark.parametrize(
    ("content", "style", "expected"),
    [
        ("é\nb", {}, "é\nb".encode()),
        ("a\n", {"newline": "crlf", "bom": "add"}, b"\xef\xbb\xbfa\r\n"),
        ("a", {"final_newline": "add", "newline": "cr"}, b"a\r"),
        ("", {"final_newline": "add"}, b""),
        ("a\n\n", {"final_newline": "remove"}, b"a"),
        ("é", {"encoding": "utf-16"}, b"\xff\xfe\xe9\0"),
        ("é", {"encoding": "latin-1"}, b"\xe9"),
    ],
)
def test_a_new_file_is_utf_8_with_lf_where_nothing_else_is_asked(
    content: str, style: dict[str, str], expected: bytes
) -> None:
    assert encoded_new(content, Style.parse(**style)) == expected
