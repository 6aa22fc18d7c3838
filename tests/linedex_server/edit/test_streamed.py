"""Texts that are not held: the same bytes as those of a held one, however they come in pieces."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex_server.edit.content.style import Style
from linedex_server.edit.errors import Unencodable
from linedex_server.edit.splice import applied
from linedex_server.edit.streamed import LargeText, stored

ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r", "preserve": "\n"}


@given(
    text=st.text(st.sampled_from("ab\r\né漢 \t")),
    cuts=st.lists(st.integers(0, 30), max_size=6),
    newline=st.sampled_from(tuple(ENDS)),
    final=st.sampled_from(["preserve", "add", "remove"]),
    encoding=st.sampled_from(["utf-8", "utf-16-le", "gb18030"]),
)
def test_pieces_give_the_bytes_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, text: str, cuts: list[int], newline: str, final: str, encoding: str
) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    path = tmp_path_factory.mktemp("streamed") / "bytes"
    splices = LargeText(lambda: pieces, path).splices(Style.parse(encoding, "preserve", newline, final), 3)

    plain = text.replace("\r\n", "\n")
    if final == "remove":
        plain = plain.rstrip("\n")
    elif final == "add" and plain and not plain.endswith("\n"):
        plain += "\n"
    assert applied(b"old", splices) == plain.replace("\n", ENDS[newline]).encode(encoding)


@given(st.binary(max_size=50), st.integers(1, 9), st.integers(0, 5))
def test_a_stored_file_takes_the_place_of_another_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, piece: int, end: int
) -> None:
    path = tmp_path_factory.mktemp("stored") / "bytes"
    path.write_bytes(content)
    splices = stored(path, end, piece)
    assert applied(b"x" * end, splices) == content
    assert sum(splice.delta for splice in splices) == len(content) - end


def test_a_character_that_does_not_fit_is_named_with_its_line_in_the_whole_text(tmp_path: Path) -> None:
    large = LargeText(lambda: ["one\ntwo\n", "three\nv\u20ac\n"], tmp_path / "bytes")
    with pytest.raises(Unencodable, match=r"U\+20AC\) in line 4"):
        large.splices(Style.parse("latin-1"), 0)
