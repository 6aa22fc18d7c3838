import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.content.symbols import Extraction, extract
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.query.line_lengths import measure_lines
from linedex.query.outline import outline
from linedex.query.overview import overview
from linedex.query.source import Source, opened
from linedex.store.catalogue import Catalogue

LIMITS = Limits()


def parse(text: bytes, language: str, full: bool) -> Extraction:
    return extract(text, language, LIMITS, full=full)


def never(text: bytes, language: str, full: bool) -> Extraction:
    raise AssertionError("nothing is to be parsed")


@contextmanager
def file_of(data: bytes, name: str = "shop.py", limits: Limits = LIMITS) -> Iterator[Source]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        with opened(Root(folder), RelPath(name.encode()), Catalogue.empty(), None, limits) as source:
            yield source


SHOP = b'''class Cart:
    """What is bought."""

    def add(self, item, count=1):
        return item * count


def checkout(cart):
    return cart
'''


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_an_outline_is_the_same_in_every_spelling_of_the_text(encoding: str, newline: str) -> None:
    text = SHOP.decode().replace("bought", "acheté à l'été").replace("\n", newline)
    with file_of(text.encode(encoding)) as source:
        found = outline(source, parse)
    assert found.note == ""
    assert [(str(one.kind), one.path, one.start_line, one.end_line) for one in found.symbols] == [
        ("class", "Cart", 1, 5),
        ("method", "Cart.add", 4, 5),
        ("function", "checkout", 8, 9),
    ]


def test_an_outline_that_cannot_be_made_says_why() -> None:
    binary = b"\x7fELF\x02\x01\x01" + bytes(range(256))
    for data, name, words in (
        (binary, "prog", "binary"),
        (b"some words\n", "notes", "language is not known"),
        (b"x = 1\n" * 100, "large.py", "over the limit"),
    ):
        with file_of(data, name, Limits(large_file=64, text_bytes=100)) as source:
            found = outline(source, never)
        assert found.symbols == ()
        assert words in found.note


def test_what_the_parser_says_of_its_outline_is_passed_on() -> None:
    with file_of(b"x" * 3_000_000 + b"\n", "x.js") as source:
        found = outline(source, parse)
    assert found.language == "javascript"
    assert "over the limit of 2.0 MiB" in found.note


def test_an_overview_tells_size_lines_format_and_outline() -> None:
    data = b"\xef\xbb\xbf" + SHOP.replace(b"\n", b"\r\n") + b"# " + b"y" * 1500
    with file_of(data) as source:
        found = overview(source, parse)
    assert (found.size, found.lines) == (len(data), 10)
    assert (found.format.encoding, found.format.bom, found.format.final_newline) == ("utf-8", 3, False)
    assert (found.long_lines, found.longest_line) == (1, 1502)
    assert [one.name for one in found.outline.symbols] == ["Cart", "add", "checkout"]
    assert len(found.hash) == 16


def test_an_overview_of_a_binary_file_has_its_size_and_hash_and_no_lines() -> None:
    data = b"\x7fELF\x02\x01\x01" + bytes(range(256))
    with file_of(data, "prog") as source:
        found = overview(source, never)
    assert (found.size, found.lines, found.longest_line) == (len(data), 0, 0)
    assert found.format.binary
    assert len(found.hash) == 16


def split_lines(text: str) -> list[str]:
    unit = "\n" if "\n" in text else "\r"
    lines = text.split(unit)
    ended = [line.removesuffix("\r") if unit == "\n" else line for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


@given(
    st.text(alphabet="ab\n\ré文", max_size=150),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le"]),
    st.integers(0, 12),
    st.integers(1, 40),
)
def test_lines_are_measured_as_a_split_measures_them(text: str, encoding: str, bound: int, batch: int) -> None:
    mark = "" if encoding == "utf-8-sig" else "\ufeff"
    codec = encoding.removesuffix("-sig")
    limits = Limits(large_file=16, batch_bytes=batch, block_bytes=8, block_slack=6)
    with file_of((mark + text).encode(encoding), "text", limits) as source:
        found = measure_lines(source.lines.text, bound)
    sizes = [len(line.encode(codec)) for line in split_lines(text)]
    assert found.longest == max(sizes, default=0)
    assert found.long_lines == sum(size > bound for size in sizes)
