"""Words, terminals, outlines and folders as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import (
    FolderEntry,
    FolderListing,
    IndexStatus,
    Outline,
    Overview,
    Phase,
    PhaseProgress,
    SymbolAnswer,
    SymbolHit,
)
from linedex.files.names import display
from linedex.model import (
    ByteOffset,
    Column,
    LineCount,
    LineNumber,
    Newline,
    RelPath,
    Symbol,
    SymbolKind,
    TextFormat,
)
from linedex_server.render.listing import files_page, folder_page, symbols_page
from linedex_server.render.outline import headline, overview_page
from linedex_server.render.status import status_page
from linedex_server.render.terminal import safe_for_terminal
from linedex_server.render.words import elapsed, encodable, size


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1 byte"), (9999, "9,999 bytes"), (84_211, "84.2 kB"), (999_999, "1 MB"), (5 * 10**9, "5 GB")],
)
def test_sizes_are_short(number: int, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.003, "3 ms"), (0.9996, "1.0 s"), (1.44, "1.4 s")])
def test_times_are_short(seconds: float, text: str) -> None:
    assert elapsed(seconds) == text


@given(st.text(st.characters(codec=None)))
def test_nothing_reaches_a_terminal_that_could_command_it(text: str) -> None:
    safe = safe_for_terminal(text)
    safe.encode()
    assert all(one in "\t\n" or ord(one) >= 0x20 for one in safe)
    assert not set(safe) & set("\x7f\x9b\x85\u202e\u2066\u2028")


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_ordinary_text_reaches_a_terminal_as_it_is(text: str) -> None:
    assert safe_for_terminal(text) == text


@given(st.text(st.characters(codec=None)))
def test_what_goes_out_can_be_written_as_utf_8(text: str) -> None:
    assert encodable(text).encode().decode() == "".join(
        "\ufffd" if 0xD800 <= ord(one) < 0xE000 else one for one in text
    )


def symbol(
    name: str, kind: SymbolKind, first: int, last: int, signature: str, parent: int = -1, container: str = ""
) -> Symbol:
    return Symbol(
        name=name,
        kind=kind,
        container=container,
        parent=parent,
        start_line=LineNumber(first),
        end_line=LineNumber(last),
        start_byte=ByteOffset(0),
        end_byte=ByteOffset(0),
        line=LineNumber(first),
        column=Column(1),
        name_byte=ByteOffset(0),
        signature=signature,
    )


CART = symbol("Cart", SymbolKind.CLASS, 41, 88, "class Cart:")
ADD = symbol("add", SymbolKind.METHOD, 43, 51, "def add(self, item, count=1):", 0, "Cart")


def test_a_headline_is_the_kind_and_the_head_from_the_name_on() -> None:
    assert headline(CART) == "class Cart"
    assert headline(symbol("f", SymbolKind.FUNCTION, 1, 1, "def f(ff, f):")) == "function f(ff, f)"
    assert headline(ADD, "Cart.add") == "method Cart.add(self, item, count=1)"
    assert headline(symbol("main", SymbolKind.FUNCTION, 1, 1, "static int main(void) {")) == "function main(void)"
    assert headline(symbol("x", SymbolKind.KEY, 1, 1, "")) == "key x"
    assert headline(symbol("x", SymbolKind.KEY, 1, 1, '"x": "1.0"')) == 'key x: "1.0"'


def overview(**changes: object) -> Overview:
    facts: dict[str, object] = {
        "path": RelPath(b"src/a.py"),
        "size": 84_211,
        "lines": LineCount(2310),
        "format": TextFormat(newline=Newline.LF, final_newline=True),
        "hash": "9f2c41d07be3a518",
        "outline": Outline((CART, ADD), "python"),
        "long_lines": 0,
        "longest_line": 100,
    }
    return Overview(**{**facts, **changes})  # type: ignore[arg-type]


def test_an_overview_is_an_indented_outline_and_a_line_of_facts() -> None:
    assert overview_page(overview(), display, changes={1: "modified"}) == (
        "41-88 class Cart\n"
        "  43-51 method add(self, item, count=1)  [modified]\n"
        "[src/a.py: python, 2,310 lines, 84.2 kB, utf-8, LF; hash 9f2c41d07be3a518; 2 symbols; 1 symbol changed]"
    )


def test_a_later_page_of_an_outline_keeps_its_indentation() -> None:
    page = overview_page(overview(), display, start=1, stop=2, cursor="2-ab")
    assert page.startswith("  43-51 method add")
    assert page.endswith("1 of 2 symbols; next cursor=2-ab]")


def test_an_overview_of_a_binary_file_says_so() -> None:
    binary = overview(format=TextFormat(binary=True), outline=Outline((), ""))
    assert overview_page(binary, display) == "[src/a.py: binary, 84.2 kB; hash 9f2c41d07be3a518]"


def test_an_overview_names_long_lines_and_a_missing_outline() -> None:
    bare = overview(outline=Outline((), "", "no known language"), long_lines=1, longest_line=52_011)
    assert overview_page(bare, display).endswith(
        "; 1 long line, the longest of 52,011 bytes; hash 9f2c41d07be3a518; no outline; no known language]"
    )


def test_a_folder_is_listed_one_entry_to_a_line() -> None:
    entries = (
        FolderEntry(RelPath(b"src/build"), is_folder=True, size=0, children=7),
        FolderEntry(RelPath(b"src/a\tb"), is_folder=False, size=8112, ignored=True),
        FolderEntry(RelPath(b"src/pipe"), is_folder=False, size=0, special="fifo"),
    )
    listing = FolderListing(RelPath(b"src"), entries, 12, 3, cut=True)
    page = folder_page(listing, entries, display, lambda path: display(path[4:]), cursor="3-ab")
    assert page == (
        "build/\t7 entries\na\\x09b\t8,112 bytes\tignored\npipe\tfifo\n"
        "[src: 12 files, 3 folders; 3 entries shown; next cursor=3-ab]"
    )


def test_symbols_found_by_name_stand_with_their_place() -> None:
    answer = SymbolAnswer((), 12, pending=3)
    page = symbols_page(answer, [("src/a.py", SymbolHit(RelPath(b"src/a.py"), ADD))], cursor="1-ab")
    assert page == (
        "src/a.py:43-51 method Cart.add(self, item, count=1)\n"
        "[1 of 12 symbols; partial: 3 files whose symbols are not indexed yet were not asked; next cursor=1-ab]"
    )


def test_files_found_by_name_stand_one_to_a_line() -> None:
    assert files_page(["a", "b"], 2) == "a\nb\n[2 files]"


def test_a_status_tells_what_is_done_and_how_far_it_is() -> None:
    status = IndexStatus(
        root="/src",
        phase=Phase.TEXT,
        progress={Phase.TEXT: PhaseProgress(812, 78_579, 10**7, 10**9, 2.0)},
        files=78_579,
        indexed=812,
        pending=77_767,
        skipped={"binary": 3, "unreadable": 1},
        text_bytes=10**7,
        symbols=0,
        symbol_files=0,
        symbol_pending=78_000,
        symbol_skipped={},
        sidecar_bytes=2_000_000,
        signature_bytes=1_000_000,
        writer=True,
        freshness="stat at each query",
        problems=("the folder\nx cannot be listed",),
    )
    assert status_page([status], state_dir="/state", version="1.2") == (
        "/src: indexing text, 812 of 78,579 files, 10 MB of 1 GB, 5 MB/s, 2.0 s\n"
        "  78,579 files: 812 indexed, 77,767 pending, 4 skipped (3 binary, 1 unreadable); 10 MB of text\n"
        "  0 symbols in 0 files; 78,000 pending\n"
        "  sidecar 2 MB, signatures 1 MB; this process writes it\n"
        "  freshness: stat at each query\n"
        "  problem: the folder x cannot be listed\n"
        "[1 root; state in /state; linedex 1.2]"
    )
