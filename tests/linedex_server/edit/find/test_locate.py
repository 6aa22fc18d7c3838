from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linedex_server.edit.finding import changed, document, edited, refusal

from linedex.errors import BadArgument, BinaryFile
from linedex_server.edit.find.locate import MOST_BYTES, Wanted, place
from linedex_server.edit.find.verdicts import ChangesNotPlaced


def test_the_answer_of_an_exact_place_names_its_line() -> None:
    (placed,) = place(document("a\nb\nc\n"), [Wanted("b", "B")], lambda _: (), shown="f")
    assert (placed.line, placed.how) == (2, "exact")


@pytest.mark.parametrize(
    ("search", "how"),
    [
        ("def f():\n    call( first )", "tolerant (blanks, indentation)"),
        ("def f():\n\tcall(first)\n\treturn 'x'", "tolerant (quotes)"),
        ("def f():\n\n\tcall(first)", "tolerant (empty lines)"),
        ("def f():\n    call(first)\n    return \u2019x\u2019", "tolerant (indentation)"),
    ],
)
def test_the_answer_of_a_tolerant_place_names_what_was_tolerated(search: str, how: str) -> None:
    text = document("x\ndef f():\n\tcall(first)\n\treturn \u2019x\u2019\n")
    (placed,) = place(text, [Wanted(search, "new")], lambda _: (), shown="f")
    assert (placed.line, placed.how) == (2, how)


@pytest.mark.parametrize("new", ["  {0}  \n", "\n\n{0}\n\n", "&amp; \\n $1 \\1 {0}", "{0}\t"])
def test_what_replaces_an_exact_place_is_put_there_as_it_is_given(new: str) -> None:
    assert edited("a\n\told()\nb\n", Wanted("old()", new)) == f"a\n\t{new}\nb\n"


def test_an_exact_place_comes_before_a_tolerant_one() -> None:
    assert edited("call (one)\ncall(one)\n", Wanted("call(one)", "new")) == "call (one)\nnew\n"


def test_a_text_that_stands_more_than_once_is_refused_with_all_its_lines() -> None:
    told = refusal("if a {\n}\nif b {\n}\n", Wanted("}", "};"))
    assert "change 0 fits 2 places in f.py: lines 2, 4." in told
    assert "set replace_all" in told


def test_places_that_overlap_are_counted_and_replaced_from_the_left() -> None:
    assert "fits 2 places in f.py: lines 1, 2" in refusal("v = 1\nv = 1\nv = 1\n", Wanted("v = 1\nv = 1", "X"))
    assert edited("v = 1\nv = 1\nv = 1\n", Wanted("v = 1\nv = 1", "X", replace_all=True)) == "X\nv = 1\n"


def test_many_places_are_told_by_the_first_twenty_and_their_number() -> None:
    told = refusal("x\n" * 30, Wanted("x", "y"))
    assert "lines 1, 2, 3" in told
    assert "fits 30 places" in told
    assert "19, 20 and more" in told


def test_two_tolerant_places_are_refused_even_for_replace_all() -> None:
    text = "call (one)\nx\ncall( one )\n"
    for every in (False, True):
        told = refusal(text, Wanted("call(one)", "new", replace_all=every))
        assert "fits 2 places in f.py by tolerance: lines 1, 3" in told


def test_without_fuzzy_what_tolerance_would_place_is_explained() -> None:
    told = refusal("a\ntotal:\u00a0100 units\n", Wanted("total: 100 units", "x", fuzzy=False))
    assert told == (
        "Not edited: change 0 not found in f.py. "
        "Nearest: line 2, differs in U+00A0 NO-BREAK SPACE at column 7 (search has U+0020). "
        "Copy line 2 from read_content, or set fuzzy=true."
    )


def test_a_line_settles_which_place_is_meant_and_makes_none() -> None:
    text = "x = 1\ny\nx = 1\n"
    assert edited(text, Wanted("x = 1", "new", line=3)) == "x = 1\ny\nnew\n"
    assert "fits lines 1, 3 of f.py, not line 2" in refusal(text, Wanted("x = 1", "new", line=2))
    assert "not line 99" in refusal(text, Wanted("x = 1", "new", line=99))
    assert edited("call (b)\nc\ncall (b)\n", Wanted("call(b)", "new", line=3)) == "call (b)\nc\nnew\n"


def test_a_line_may_lie_inside_a_place_but_one_that_begins_there_is_preferred() -> None:
    text = "a\nb\na\nb\n"
    assert edited(text, Wanted("a\nb", "new", line=4)) == "a\nb\nnew\n"
    assert edited("a\na\na\nb\n", Wanted("a\na", "new", line=2)) == "a\nnew\nb\n"


def test_a_symbol_settles_which_place_is_meant() -> None:
    text = "class A:\n  x = 1\nclass B:\n  x = 1\n"
    outline = {"A": [(1, 2)], "B": [(3, 4)]}
    assert edited(text, Wanted("x = 1", "y", within="B"), outline=lambda name: outline.get(name, ())) == (
        "class A:\n  x = 1\nclass B:\n  y\n"
    )
    told = refusal(text, Wanted("class A", "y", within="B"), outline=lambda name: outline.get(name, ()))
    assert "fits line 1 of f.py, not within B (lines 3-4)" in told
    assert "there is no C" in refusal(
        text, Wanted("x = 1", "y", within="C"), outline=lambda name: outline.get(name, ())
    )


def test_changes_refer_to_the_file_as_it_is_before_the_call() -> None:
    assert edited("one\ntwo\n", Wanted("two", "one"), Wanted("one", "two")) == "two\none\n"


def test_a_change_that_needs_another_one_first_is_told_so_and_none_is_made() -> None:
    told = refusal("a = 1\nb = 2\n", Wanted("a = 1", "alpha = 1"), Wanted("alpha = 1\nb", "x"))
    assert "change 1 of 2 would fit only after change 0; change 0 fits (line 1)." in told


def test_changes_that_overlap_are_refused_and_those_that_touch_are_not() -> None:
    text = "a\nb\nc\nd\n"
    told = refusal(text, Wanted("c\nd", "x"), Wanted("b\nc", "y"))
    assert (
        "change 1 of 2 overlaps change 0, line 3; change 0 fits (lines 3)" in told
        or "overlaps change 0, line 3" in told
    )
    assert edited(text, Wanted("a\nb\n", "x\n"), Wanted("c\n", "y\n")) == "x\ny\nd\n"


def test_every_change_of_a_refused_batch_has_its_verdict() -> None:
    with pytest.raises(ChangesNotPlaced) as refused:
        place(
            document("one = 1\ntwo = 2\ntwo = 2\nthree  = 3\n"),
            [Wanted("one", "1"), Wanted("two", "2"), Wanted("three = 3", "3"), Wanted("four = 4", "4")],
            lambda _: (),
            shown="f",
        )
    told = [(one.index, one.fits, one.lines, one.how) for one in refused.value.verdicts]
    assert told == [
        (0, True, (1,), "exact"),
        (1, False, (2, 3), ""),
        (2, True, (4,), "tolerant (blanks)"),
        (3, False, (), ""),
    ]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Wanted("", "x"), "has an empty `search`"),
        (Wanted(" \n\t", "x"), "has a `search` of blanks only"),
        (Wanted("a", "a"), "has a `search` equal to its `replace`"),
        (Wanted("a\r\nb", "a\nb"), "has a `search` equal to its `replace`"),
        (Wanted("a" * (MOST_BYTES + 1), "x"), "characters in `search`; up to 1,048,576 bytes are taken"),
        (Wanted("a", "é" * MOST_BYTES), "characters in `replace`; up to 1,048,576 bytes are taken"),
    ],
)
def test_a_change_that_asks_for_nothing_that_can_be_done_is_refused(wanted: Wanted, told: str) -> None:
    assert told in refusal("a\n", wanted)


def test_too_many_changes_a_line_of_zero_and_half_a_character_are_bad_arguments() -> None:
    for wanted in ([], [Wanted("a", "b")] * 51, [Wanted("a", "b", line=0)], [Wanted("\ud800", "b")]):
        with pytest.raises(BadArgument):
            place(document("a\n"), wanted, lambda _: (), shown="f")


def test_a_binary_file_has_no_places() -> None:
    with pytest.raises(BinaryFile):
        place(document(b"\x7fELF\0\0\0\1\2\3" * 9), [Wanted("ELF", "x")], lambda _: (), shown="f")


def test_bytes_that_do_not_decode_are_matched_by_nothing_and_stay() -> None:
    content = b"caf\xe9 one\ntwo  (x)\nok \xc3\xa9\xc3\xa9\n"
    text = document(content)
    (placed,) = place(text, [Wanted("two(x)", "new")], lambda _: (), shown="f")
    ((found, changes),) = placed.parts
    assert changed(found.text, changes) == found.text.replace("two  (x)", "new")
    assert "not found" in refusal(content, Wanted("caf\ufffd one", "x"))


def test_a_file_that_is_not_held_is_searched_near_rare_words_and_to_its_end_for_common_ones() -> None:
    lines = [f"entry {number} is  common_text" for number in range(900)]
    content = "\n".join([*lines, "the_end (x)", "common_text (y)", ""]).encode()
    for search, line in (("the_end(x)", 901), ("common_text(y)", 902), ("common_text\nthe_end(x)", None)):
        for asked in (None, line):
            source = document(content, held=4_000, window=512)
            wanted = [Wanted(search, "new", line=asked)]
            if line is None:
                with pytest.raises(ChangesNotPlaced, match="not found"):
                    place(source, wanted, lambda _: (), shown="f")
            else:
                (placed,) = place(source, wanted, lambda _: (), shown="f")
                assert placed.lines == (line,)


@pytest.mark.parametrize("first", ["one", "a_rare_word"])
@pytest.mark.parametrize(("gap", "places"), [(0, 2), (7, 2), (18, 2), (19, 1)])
@pytest.mark.parametrize("held", [1 << 20, 1_500])
def test_a_place_made_longer_by_empty_lines_counts_beside_a_short_one(
    first: str, gap: int, places: int, held: int
) -> None:
    filler = "".join(f"{number}\n" for number in range(400))
    for shift in range(0, 24, 3):
        short = f"{first} (a)\ntwo (b)\n"
        text = filler + "." * shift + "\n" + f"{first} (a)\n" + "\n" * gap + "two (b)\n" + short + filler
        wanted = [Wanted(f"{first}(a)\ntwo(b)", "x")]
        source = document(text, held=held, window=64)
        if places == 1:
            (placed,) = place(source, wanted, lambda _: (), shown="f")
            assert placed.lines == (404 + gap,)
        else:
            with pytest.raises(ChangesNotPlaced, match="fits 2 places"):
                place(source, wanted, lambda _: (), shown="f")


FILLERS = [f"{number:03}" for number in range(240)]
LINES = st.lists(
    st.tuples(
        st.integers(0, 240),
        st.sampled_from(
            ["a", "b", "ab", "aa", "a (b) x", "  a_a_a(b)", "é = 1", "", "call(a)", "b\na", "call( a )\n\ncall(a)"]
        ),
    ),
    max_size=9,
)
SEARCHES = st.sampled_from(
    [
        "a",
        "ab",
        "b\na",
        "aa\nb",
        "a(b)x + y",
        "a_a_a( b )",
        "é = 1\n",
        "call(a)\ncall( a )",
        "a\n\nb",
        "010\n 011\n012",
        "\n239",
    ]
)


@settings(deadline=None)
@given(
    LINES,
    SEARCHES,
    st.sampled_from(["\n", "\r\n", "\r", "mixed"]),
    st.sampled_from(["utf-8", "utf-16-le", "latin-1", "gb18030"]),
    st.booleans(),
    st.none() | st.integers(1, 250),
    st.integers(4, 200),
)
def test_a_file_that_is_not_held_has_the_places_that_it_has_when_it_is(
    drawn: list[tuple[int, str]], search: str, end: str, encoding: str, every: bool, line: int | None, window: int
) -> None:
    lines = list(FILLERS)
    for at, one in drawn:
        lines[at:at] = one.split("\n")
    ends = ["\n", "\r\n"] if end == "mixed" else [end]
    text = "".join(one + ends[number % len(ends)] for number, one in enumerate(lines))
    content = ("\ufeff" if encoding == "utf-16-le" else "").encode(encoding) + text.encode(encoding)
    wanted = [Wanted(search, "new", replace_all=every, line=line)]

    def told(held: int) -> object:
        try:
            placed = place(document(content, held=held, window=window), wanted, lambda _: (), shown="f")
        except ChangesNotPlaced as refused:
            return [(one.sentence, one.lines) for one in refused.verdicts]
        return [
            (one.how, one.lines, part.byte_at(change.start), part.byte_at(change.end), change.new)
            for one in placed
            for part, changes in one.parts
            for change in changes
        ]

    assert told(900) == told(1 << 20)
