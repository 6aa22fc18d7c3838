"""Search results as text: the forms, and that nothing in a file can pass for them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import Coverage, CoverageReport, FileHits, Hit, Occurrence, OutputMode, SearchAnswer
from linedex.files.names import display
from linedex.model import Column, LineNumber, RelPath
from linedex_server.render.search import search_page, without_context

COMPLETE = CoverageReport(
    Coverage.COMPLETE,
    by_index=812,
    by_scan=3,
    skipped={"over the time or memory budget": 1, "binary": 3},
    seconds=0.003,
)


def hit(line: int, text: str, before: tuple[str, ...] = (), after: tuple[str, ...] = (), crumb: str = "") -> Hit:
    return Hit(LineNumber(line), Column(1), Column(2), text, before=before, after=after, breadcrumb=crumb)


def answer(*files: FileHits, near: bool = False, cursor: str = "", coverage: CoverageReport = COMPLETE) -> SearchAnswer:
    return SearchAnswer(files, sum(len(found.hits) for found in files), len(files), near, cursor, coverage)


def test_hits_stand_below_their_path_as_ripgrep_shows_them() -> None:
    first = FileHits(RelPath(b"src/a.py"), (hit(41, "\treturn sum(xs)", after=("# end",)),))
    second = FileHits(RelPath(b"src/b.py"), (hit(7, "sum"),))
    assert search_page(answer(first, second), display) == (
        "src/a.py\n"
        "41:\treturn sum(xs)\n"
        "42-# end\n"
        "\n"
        "src/b.py\n"
        "7:sum\n"
        "[2 hits in 2 files; complete: 812 by index, 3 by scan, 4 skipped "
        "(3 binary, 1 over the time or memory budget); 3 ms]"
    )


def test_no_hit_says_how_far_that_is_proof() -> None:
    assert search_page(answer(), display).startswith("[0 hits; complete: 812 by index")


def test_lines_apart_are_parted_and_overlapping_context_is_shown_once() -> None:
    found = FileHits(
        RelPath(b"a"),
        (hit(2, "two", ("one",), ("three",)), hit(3, "three", ("two",), ("four",)), hit(9, "nine", ("eight",), ())),
    )
    body = search_page(answer(found), display).rpartition("\n")[0]
    assert body == "a\n1-one\n2:two\n3:three\n4-four\n--\n8-eight\n9:nine"


def test_the_symbol_around_a_hit_is_named_once() -> None:
    found = FileHits(
        RelPath(b"a"), (hit(2, "x", crumb="Cart.add"), hit(3, "x", crumb="Cart.add"), hit(9, "x", crumb="f"))
    )
    body = search_page(answer(found), display).rpartition("\n")[0]
    assert body == "a\n@ Cart.add\n2:x\n3:x\n@ f\n9:x"


def test_near_lines_are_marked_and_not_called_hits() -> None:
    near = Hit(LineNumber(4), Column(1), Column(2), "retrun", similarity=0.875)
    page = search_page(answer(FileHits(RelPath(b"a"), (near,)), near=True), display)
    assert "\n4~retrun\n" in page
    assert "[no exact hit; 1 near line (marked N~) in 1 file, similarity 0.88; complete: " in page


def test_a_cut_line_names_its_columns_and_the_match() -> None:
    cut = Hit(LineNumber(1), Column(5210), Column(5216), "x" * 500, text_column=Column(5000), cut=True)
    page = search_page(answer(FileHits(RelPath(b"a"), (cut,))), display)
    assert f"\n1:…{'x' * 500}… [columns 5000-5499; match at column 5210]\n" in page


def test_a_long_context_line_is_cut() -> None:
    found = FileHits(RelPath(b"a"), (hit(2, "x", before=("y" * 50,)),))
    assert f"1-{'y' * 40}…\n" in search_page(answer(found), display, excerpt=40)


def test_files_mode_gives_paths_and_count_mode_counts() -> None:
    files = (FileHits(RelPath(b"a"), (), 3), FileHits(RelPath(b"b\n"), (), 1))
    whole = SearchAnswer(files, 4, 2, near=False, cursor="c1", coverage=COMPLETE)
    assert search_page(whole, display, mode=OutputMode.FILES).startswith("a\nb\\x0a\n[2 files; complete")
    assert search_page(whole, display, mode=OutputMode.COUNT).startswith("a:3\nb\\x0a:1\n[4 hits in 2 files; complete")


def test_a_count_over_more_files_than_are_shown_says_so() -> None:
    counts = SearchAnswer((FileHits(RelPath(b"a"), (), 3),), 90, 8, near=False, cursor="", coverage=COMPLETE)
    page = search_page(counts, display, mode=OutputMode.COUNT)
    assert page.startswith("a:3\n[90 hits in 8 files, the first 1 file shown; complete")


def test_a_cursor_and_what_is_missing_stand_in_the_last_line() -> None:
    report = CoverageReport(Coverage.PARTIAL, by_scan=2, notes=("line 3 of a\nwas not searched",), check_seconds=0.27)
    last = search_page(answer(cursor="c1", coverage=report), display)
    assert last == (
        "[0 hits; partial: 2 by scan; line 3 of a was not searched; 0 ms + 270 ms to check the files; next cursor=c1]"
    )


def test_context_can_be_left_out() -> None:
    found = FileHits(RelPath(b"a"), (hit(2, "two", ("one",), ("three",)),))
    assert without_context(answer(found)).files[0].hits == (hit(2, "two"),)


lines = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]) | st.sampled_from("[]:-\r\t1"))


@given(st.lists(lines, min_size=1, max_size=4), st.binary(min_size=1, max_size=6).filter(lambda name: b"/" not in name))
def test_every_line_of_a_page_is_a_path_a_numbered_line_or_the_last(texts: list[str], name: bytes) -> None:
    found = FileHits(RelPath(name), tuple(hit(number, text) for number, text in enumerate(texts, 1)))
    path, *body, last = search_page(answer(found), display).split("\n")
    assert path == display(name)
    assert body == [f"{number}:{text}" for number, text in enumerate(texts, 1)]
    assert re.fullmatch(r"\[\d+ hits? in 1 file; complete: .* 3 ms\]", last)


def test_each_match_of_a_cut_line_is_shown_or_its_column_told() -> None:
    def at(column: int, text: str = "", first: int = 1) -> Occurrence:
        return Occurrence(Column(column), Column(column + 1), text, Column(first))

    more = (at(12), at(70, "c" * 5, 68), at(71), at(900), at(950))
    cut = Hit(LineNumber(1), Column(10), Column(11), "a" * 9, text_column=Column(8), cut=True, more=more)
    page = search_page(answer(FileHits(RelPath(b"a"), (cut,))), display)
    assert page.split("\n")[1] == (
        "1:…aaaaaaaaa… [columns 8-16; 2 matches at columns 10, 12]"
        " …ccccc… [columns 68-72; 2 matches at columns 70, 71] [2 more matches, up to column 950]"
    )


def test_each_line_of_a_match_of_several_lines_has_its_number() -> None:
    spanning = Hit(LineNumber(2), Column(1), Column(8), "two\nthree", before=("one",), after=("four",), lines=2)
    body = search_page(answer(FileHits(RelPath(b"a"), (spanning,))), display).rpartition("\n")[0]
    assert body == "a\n1-one\n2:two\n3:three\n4-four"
