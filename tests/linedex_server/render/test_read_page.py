"""Reads as text: verbatim lines, a bounded page, and a way on from every cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import ReadAnswer
from linedex.files.names import display
from linedex.model import LineCount, LineNumber, RelPath
from linedex_server.render.read import read_page


def read(lines: list[str], first: int, total: int, *, next_line: int | None = None, note: str = "") -> ReadAnswer:
    return ReadAnswer(
        RelPath(b"src/a.py"),
        tuple(lines),
        LineNumber(first),
        LineCount(total),
        "9f2c41d07be3a518",
        next_line=None if next_line is None else LineNumber(next_line),
        note=note,
    )


def test_a_line_is_its_number_a_tab_and_its_text_verbatim() -> None:
    answer = read(["\tdef total(self):", "    x = '\x1b[31m'"], 41, 2310, next_line=43)
    assert read_page(answer, display) == (
        "41\t\tdef total(self):\n"
        "42\t    x = '\x1b[31m'\n"
        "[src/a.py lines 41-42 of 2,310; hash 9f2c41d07be3a518; next offset=43]"
    )


def test_an_empty_file_is_said_to_be_empty() -> None:
    assert read_page(read([], 0, 0), display) == "[src/a.py is empty; hash 9f2c41d07be3a518]"


def shown(page: str) -> list[tuple[int, str]]:
    pairs = [line.split("\t", 1) for line in page.split("\n")[:-1]]
    return [(int(number), text) for number, text in pairs]


texts = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=300), min_size=1)


@given(texts, st.integers(1, 10**7), st.integers(1_000, 2_500), st.booleans())
def test_a_page_is_bounded_and_goes_on_where_it_stopped(
    lines: list[str], first: int, characters: int, from_end: bool
) -> None:
    last = first + len(lines) - 1
    page = read_page(read(lines, first, last), display, characters=characters, tail_from=first if from_end else 0)
    assert len(page) <= characters
    numbered = shown(page)
    assert numbered == [(number, lines[number - first]) for number, _ in numbered]
    if from_end:
        assert numbered[-1][0] == last
        assert ("page full" in page) == (numbered[0][0] != first)
    else:
        assert numbered[0][0] == first
        assert (f"next offset={numbered[-1][0] + 1}]" in page) == (numbered[-1][0] < last)


def test_a_line_longer_than_a_page_is_cut_and_the_read_goes_on_after_it() -> None:
    page = read_page(read(["x" * 5000, "y"], 7, 8), display, characters=2000)
    first, last = page.split("\n")
    assert first.endswith("…")
    assert len(page) <= 2000
    assert f"cut after column {len(first) - 3}" in last
    assert last.endswith("next offset=8]")
