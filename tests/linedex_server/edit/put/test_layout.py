from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from linedex_server.edit.put import layout
from linedex_server.edit.splice import Splice, applied, ordered


@st.composite
def spliced(draw: st.DrawFn) -> tuple[bytes, tuple[Splice, ...]]:
    content = draw(st.text("ab", max_size=30)).encode()
    edges = sorted(draw(st.lists(st.integers(0, len(content)), max_size=8)))
    pairs = list(zip(edges[::2], edges[1::2], strict=False))
    return content, ordered(Splice(start, end, draw(st.text("ab", max_size=5)).encode()) for start, end in pairs)


def reader(content: bytes) -> layout.Read:
    return lambda offset, size: content[offset : offset + size]


@given(spliced())
def test_the_pieces_of_a_file_are_the_file_after_its_splices(case: tuple[bytes, tuple[Splice, ...]]) -> None:
    content, splices = case
    new = applied(content, splices)
    pieces = layout.pieces(splices, 0, len(content))
    assert b"".join(part for piece in pieces for part in layout.parts(piece, reader(content))) == new
    assert layout.new_size(splices, len(content)) == len(new)
    assert layout.digest(splices, len(content), reader(content)) == sha256(new).hexdigest()


@given(spliced())
def test_splices_change_a_file_exactly_if_its_bytes_differ(case: tuple[bytes, tuple[Splice, ...]]) -> None:
    content, splices = case
    assert layout.changes(splices, len(content), reader(content)) == (applied(content, splices) != content)


@given(spliced())
def test_what_is_written_in_place_makes_the_file_and_stays_within_its_region(
    case: tuple[bytes, tuple[Splice, ...]],
) -> None:
    content, splices = case
    new = applied(content, splices)
    region = layout.region(splices, len(content))
    written = bytearray(content)
    for at, piece in layout.writes(splices, len(content)):
        part = b"".join(layout.parts(piece, reader(content)))
        assert not part or (region.start <= at and at + len(part) <= region.end + len(new) - len(content))
        written[at : at + len(part)] = part
    assert bytes(written[: len(new)]) == new
    assert content[: region.start] == new[: region.start]
