from __future__ import annotations

import codecs
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linedex_server.edit.texts import ALPHABETS, DOUBLES, File, files, unhurried

from linedex.errors import BadArgument
from linedex.model import Newline, TextFormat
from linedex_server.edit.content.text import Text, argument, decoded, encoded, one_byte_each, shown
from linedex_server.edit.errors import Unencodable

LEGACY = (
    *("big5hkscs", "cp437", "cp850", "cp866", "cp874", "cp932", "cp949", "cp1250", "cp1251", "cp1252", "cp1253"),
    *("cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "euc-jp", "euc-kr", "gb18030", "iso8859-2", "iso8859-5"),
    *("iso8859-7", "koi8-r", "koi8-u", "mac-roman", "shift_jis", "tis-620", "latin-1"),
)


def whole(file: File) -> Text:
    return file.document().whole


@unhurried
@given(files())
def test_the_text_is_what_the_file_says_with_one_code_point_for_each_stray_byte(file: File) -> None:
    said = re.sub("[\udc00-\udcff]", "?", whole(file).text)
    assert said == "".join(point for _, point in file.model)


@unhurried
@given(files())
def test_every_code_point_is_at_its_byte(file: File) -> None:
    text, at = whole(file), file.format.bom
    for offset, (raw, point) in enumerate(file.model):
        assert text.byte_at(offset) == at
        assert text.divides(offset) == (not raw and point != "?")
        at += len(raw)
    assert text.byte_at(len(file.model)) == at == len(file.content)
    assert not text.divides(len(file.model))


@unhurried
@given(files(), st.data())
def test_places_may_be_asked_for_in_any_order(file: File, data: st.DataObject) -> None:
    text = whole(file)
    for offset in data.draw(st.lists(st.integers(0, len(file.model)), max_size=8)):
        assert text.byte_at(offset) == file.format.bom + sum(len(raw) for raw, _ in file.model[:offset])


@unhurried
@given(files())
def test_lines_are_counted_found_and_know_their_ends(file: File) -> None:
    text = whole(file)
    said = "".join(point for _, point in file.model)
    lines = said.split("\n")
    assert text.lines == len(lines) - (lines[-1] == "")
    ends = [raw for raw, point in file.model if point == "\n"]
    start = 0
    for number, line in enumerate(lines, start=1):
        assert text.line_start(number) == start
        assert text.line_at(start) == text.line_at(start + len(line)) == number
        assert text.line_end_bytes(number) == (ends[number - 1] if number <= len(ends) else b"")
        start += len(line) + 1


@unhurried
@given(files(), st.data())
def test_a_part_is_the_same_lines_at_the_same_bytes(file: File, data: st.DataObject) -> None:
    text = whole(file)
    if not text.lines:
        return
    first = data.draw(st.integers(1, text.lines))
    last = data.draw(st.integers(first, text.lines))
    part = text.part(first, last)
    low, high = text.line_start(first), text.line_start(last + 1)
    assert part.text == text.text[low:high]
    assert (part.start, part.end) == (text.byte_at(low), text.byte_at(high))
    assert [part.byte_at(at) for at in range(high - low)] == [text.byte_at(at) for at in range(low, high)]
    assert part.line_at(0) == first


@unhurried
@given(st.sampled_from(sorted({*ALPHABETS, *LEGACY})), st.binary(max_size=30))
def test_any_bytes_in_any_encoding_come_back_from_their_code_points(encoding: str, raw: bytes) -> None:
    text = Text(raw, TextFormat(encoding, 0, Newline.LF), start=7, first_line=1)
    places = [text.byte_at(offset) for offset in range(len(text.text) + 1)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (7, 7 + len(raw))
    whole_points = [offset for offset in range(len(text.text) + 1) if not text.divides(offset)]
    for start, end in itertools.pairwise(whole_points):
        piece = raw[places[start] - 7 : places[end] - 7]
        assert decoded(piece, encoding).replace("\r\n", "\n") == text.text[start:end]


@pytest.mark.parametrize("encoding", LEGACY)
def test_a_line_feed_is_a_line_end_whatever_stands_before_it(encoding: str) -> None:
    for first in range(256):
        for second in (b"", b"0", b"\x80", b"\xa1", b"\xfe", b"\x810"):
            raw = bytes([first]) + second + b"\n"
            assert decoded(raw, encoding).count("\n") == raw.count(b"\n"), raw


def test_ascii_bytes_of_multi_byte_encodings_are_themselves() -> None:
    ascii_bytes = bytes(range(128))
    for encoding in LEGACY:
        assert len(decoded(ascii_bytes, encoding)) == 128


@pytest.mark.parametrize(("encoding", "spelt"), [(name, raw) for name, found in DOUBLES.items() for raw in found])
def test_a_character_spelt_otherwise_than_the_codec_would_keeps_its_place(encoding: str, spelt: bytes) -> None:
    text = Text(b"ab" + spelt + b"cd\n", TextFormat(encoding, 0, Newline.LF), start=0, first_line=1)
    assert text.byte_at(text.text.index("c")) == 2 + len(spelt)


def test_codecs_of_one_byte_are_known() -> None:
    assert all(one_byte_each(name) for name in ("latin-1", "cp1252", "koi8-r", "cp1258", "tis-620"))
    assert not any(one_byte_each(name) for name in ("utf-8", "utf-16-le", "gb18030", "shift_jis", "euc-kr"))


def test_a_character_that_an_encoding_lacks_is_refused_by_name_and_line() -> None:
    with pytest.raises(Unencodable, match=r"'漢' \(U\+6F22\) in line 6 cannot be written in cp1252"):
        encoded("a\r\nb漢\r\n", "cp1252", line=5)


def test_stray_bytes_are_written_as_they_are_in_every_encoding() -> None:
    assert encoded("a\udcffb\udc00", "utf-8") == b"a\xffb\x00"
    assert encoded("a\udcff", "utf-16-le") == b"a\0\xff"
    assert encoded("\udc81漢", "gb18030") == b"\x81" + "漢".encode("gb18030")


def test_arguments_lose_their_carriage_returns_before_line_feeds_and_nothing_else() -> None:
    assert argument("search", "a\r\nb\rc &amp; \\n $1 ") == "a\nb\rc &amp; \\n $1 "


@pytest.mark.parametrize("text", ["a\udc80", "\ud83d"])
def test_no_caller_can_type_a_stray_byte(text: str) -> None:
    with pytest.raises(BadArgument, match="`search` holds half of a surrogate pair"):
        argument("search", text)


def test_stray_bytes_are_shown_as_replacement_characters() -> None:
    assert shown(decoded(b"a\xff\xfe\xc3", "utf-8")) == "a\ufffd\ufffd\ufffd"


def test_every_encoding_of_the_tests_is_known_to_python() -> None:
    assert all(codecs.lookup(name) for name in (*ALPHABETS, *LEGACY))
