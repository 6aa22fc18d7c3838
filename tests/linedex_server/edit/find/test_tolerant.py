from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linedex_server.edit.finding import tolerated

from linedex_server.edit.find.slips import BLANKS
from linedex_server.edit.find.tolerant import TolerantSearch


@pytest.mark.parametrize(
    ("file", "search"),
    [
        ("if ready:\n    send(a)\n    stop()\n", "send( a )"),
        ("if ready:\n    send(a)\n    stop()\n", "send( a )\n"),
        ("x  =  first(a,b)\n", "x = first(a, b)"),
        ("total:\u00a0100 units\n", "total: 100 units"),
        ("first line  \nsecond line\t\n", "first line\nsecond line"),
        ("first line\nsecond line\n", "first line \t\nsecond line  "),
        ("def f():\n\tone()\n\tif x:\n\t\ttwo()\n", "def f():\n    one()\n    if x:\n        two()"),
        ("class A:\n    def f(self):\n        return 1\n", "def f(self):\n    return 1"),
        ("class A:\n    def f(self):\n        return 1\n", "def f(self):\n        return  1"),
        ("one()\n\n\ntwo()\n", "one()\ntwo()"),
        ("one()\ntwo()\n", "one()\n\n  \ntwo()"),
        ("say(\u2018it\u2019)\n", "say('it')"),
        ("say('it is')\n", "say(\u2018it is\u2019)"),
        ('say("a b")\n', "say(\u201ca b\u201d)"),
        ("pages 3\u20135 of it\n", "pages 3-5 of it"),
        ("\tdo_it_now()\n", "    do_it_now()"),
        ("\t do_it_now()\n", "         do_it_now()"),
        ("{\n\tfoo(bar);\n}\n", "    foo( bar );"),
    ],
)
def test_a_slip_of_format_is_placed_where_it_belongs(file: str, search: str) -> None:
    assert search not in file
    assert "whole_new()" in (tolerated(file, search, "whole_new()") or "")


@pytest.mark.parametrize(
    ("file", "search"),
    [
        ("Total = first_one\n", "total = first_one"),
        ("total = 101 + x\n", "total = 100 + x"),
        ("total = a + b + c\n", "total = a - b + c"),
        ("total = first\n", "total = second"),
        ("if a >= b: stop()\n", "if a > = b: stop()"),
        ("value = x++y\n", "value = x+ +y"),
        ("a = b == c + 1\n", "a = b = = c + 1"),
        ("value = 1.5 + xx\n", "value = 1 .5 + xx"),
        ("print(foo bar)\n", "print(foobar)"),
        ("print(foobar)\n", "print(foo bar)"),
        ('say("two  blanks")\n', 'say("two blanks")'),
        ('say("tab\there")\n', 'say("tab here")'),
        ('x = "it  is two blanks" + y\n', "it is two blanks"),
        ("a &amp;&amp; bcdef\n", "a && bcdef"),
        ("a = '\\n' + bcd\n", "a = '\n' + bcd"),
        ("x = \uff41\uff42\uff43defg\n", "x = abcdefg"),
        ("one()\nthree()\n", "one()\n...\nthree()"),
        ("one() two()\n", "one()\ntwo()"),
        ("one_thing()\ntwo_things()\n", "1\tone_thing()\n2\ttwo_things()"),
        ("open_till()\ncharge_card(order)\nclose_till()\n", "open_till()\nprint_label(address)\nclose_till()"),
        ("x = [1,2]  ;  y\n", "*/"),
        ("  }\n", "\t\t}"),
        ("else  :\n", "else:"),
        ("if x:\n    aaa()\nbbb()\n", "if x:\n    aaa()\n    bbb()"),
        ("    call_it()\n", "        call_it()"),
        ("    aa_aa()\n    bb_bb()\n", "aa_aa()\n    bb_bb( )\n        cc_cc()"),
        ("recall_it (x)\n", "call_it(x)"),
        ("x == call_it (a)\n", "= call_it(a)"),
        ("a\u3000=\u3000first(b)\n", "a = first(b)"),
    ],
)
def test_what_means_something_is_never_tolerated(file: str, search: str) -> None:
    assert not TolerantSearch(search).find(file, file.encode(), 9)


def test_nothing_is_placed_where_too_much_resembles_the_search_to_look_at_all_of_it() -> None:
    alike = "  a_a\n  b_b\n"
    search = "  a_a\n    b_b"
    for count, placed in ((9_000, 1), (11_000, 0)):
        text = alike * count + "  a_a\n      b_b\n"
        assert len(TolerantSearch(search).find(text, text.encode(), 9)) == placed


def test_a_search_too_long_for_patterns_is_not_placed_by_tolerance() -> None:
    for search in ("x" * 9_000, "a_line_of_it()\n" * 10_000):
        text = search.replace("\n", " \n")
        assert not TolerantSearch(search).find(text, text.encode(), 9)


def test_two_places_are_told_as_two() -> None:
    text = "send (a)\nother\n  send (a)\n"
    assert len(TolerantSearch("send(a)").find(text, text.encode(), 9)) == 2


@pytest.mark.parametrize(
    ("file", "search", "replace", "expected"),
    [
        # lines that are equal in both stay byte for byte, the changed one takes the new text
        ("a  =  1 \nb\t=\t2 \nc = 3\n", "a = 1\nb = 2\nc = 3", "a = 1\nb = 20\nc = 3", "a  =  1 \nb = 20\nc = 3\n"),
        # a new line is indented as its neighbours in the search are in the file
        (
            "\tdef f():\n\t\tone()\n\n\t\treturn x\n",
            "def f():\n    one()\n    return x",
            "def f():\n    one()\n    if x:\n        two()\n    return x",
            "\tdef f():\n\t\tone()\n\t\tif x:\n\t\t\ttwo()\n\n\t\treturn x\n",
        ),
        ("\t\tone()\n\t\ttwo()\n", "        one()\n        two()", "    one()\n        two()", "\tone()\n\t\ttwo()\n"),
        (
            "  if a:\n    b_b()\n",
            "if a:\n        b_b()",
            "if a:\n        b_b()\n        c()",
            "  if a:\n    b_b()\n    c()\n",
        ),
        # the first of several lines may lack its indentation
        (
            "    def f():\n        one() \n        two()\n",
            "def f():\n        one()\n        two()",
            "def g():\n        one()\n        three()",
            "    def g():\n        one() \n        three()\n",
        ),
        # empty lines that the search left out stay
        ("one()\n\n\ntwo()\nthree()\n", "one()\ntwo()", "one(1)\ntwo(2)", "one(1)\n\n\ntwo(2)\nthree()\n"),
        # those that it has go when the replacement lacks them
        ("one() \n\ntwo()\n", "one()\n\ntwo()", "one()\ntwo()", "one() \ntwo()\n"),
        ("x\n\none_one() \n", "\none_one( )", "two_two()", "x\ntwo_two()\n"),
        # deleting whole lines
        ("one_line() \ntwo()\n", "one_line()\n", "", "two()\n"),
        ("zero()\none_line() ", "one_line()\n", "", "zero()"),
        ("  one_one() \n  two()\n  three()\n", "one_one()\ntwo()\n", "two()\n", "  two()\n  three()\n"),
        # a part of a line: only the span
        ("\tif ready: send (a) # now \n", "send(a)", "send(b)", "\tif ready: send(b) # now \n"),
        (
            "\tx = call( a ) ;\n",
            "call(a)",
            "call(a,\n\tb)",
            "\tx = call(a,\n\tb) ;\n",
        ),
        ("\tsend_it( a )\n", "send_it(a)", "send_it(a)\nmore()", "\tsend_it( a )\n\tmore()\n"),
        # the new text is data
        ("x = old_name (1)\n", "x = old_name(1)", "x = \\1 $1 &amp; \\n", "x = \\1 $1 &amp; \\n\n"),
        ("x = old_name (1)\n", "x = old_name(1)", "  x = 2 \n", "  x = 2 \n\n"),
    ],
)
def test_the_difference_is_put_on_the_lines_of_the_file(file: str, search: str, replace: str, expected: str) -> None:
    assert search not in file
    assert tolerated(file, search, replace) == expected


WORDS = st.sampled_from(["alpha", "beta", "gamma", "(", ")", "= 1", '"q r"', "+", "'s'", "été"])
LINES = st.lists(st.lists(WORDS, min_size=2, max_size=4).map(" ".join), min_size=2, max_size=5, unique=True)
DEPTHS = st.lists(st.integers(0, 3), min_size=5, max_size=5)


@settings(deadline=None)
@given(LINES, DEPTHS, st.sampled_from(["\t", "  ", "    "]), st.sampled_from(["\t", "  ", "    "]), st.data())
def test_a_search_indented_otherwise_is_found_and_its_new_line_indented_as_the_file(
    lines: list[str], depths: list[int], ours: str, theirs: str, data: st.DataObject
) -> None:
    depths = [depth + 1 for depth in depths[: len(lines)]]
    file = "top\n" + "".join(f"{theirs * depth}{line}\n" for depth, line in zip(depths, lines, strict=True)) + "end\n"
    search = [f"{ours * depth}{line}" for depth, line in zip(depths, lines, strict=True)]
    at = data.draw(st.integers(1, len(lines)))
    replace = [*search[:at], ours * depths[at - 1] + "new", *search[at:]]
    kept = file.split("\n")
    expected = "\n".join([*kept[: at + 1], theirs * depths[at - 1] + "new", *kept[at + 1 :]])
    assert tolerated(file, "\n".join(search), "\n".join(replace)) == expected


@settings(deadline=None)
@given(
    st.text(alphabet="ab1+=\"'.- \t\n\u00a0\u2019", max_size=40),
    st.text(alphabet="ab1+=\"'.- \t\n\u00a0\u2019", max_size=12),
)
def test_a_place_has_the_characters_of_the_search_but_for_blanks_and_quotes(file: str, search: str) -> None:
    def bare(text: str) -> str:
        return text.translate(dict.fromkeys(map(ord, BLANKS + "\n"))).replace("\u2019", "'")

    for place in TolerantSearch(search).find(file, file.encode(), 9):
        assert bare(file[place.start : place.end]) == bare(search)
        assert not place.part or "\n" not in file[place.start : place.end]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["ab_ab()", "  cd_cd()", "", " "]), min_size=1, max_size=6))
def test_every_text_is_placed_by_tolerance_in_itself(lines: list[str]) -> None:
    search = "\n".join(lines)
    found = TolerantSearch(search).find(search, search.encode(), 99)
    if TolerantSearch(search).possible:
        assert any(place.start == 0 or not lines[0].strip() for place in found)


def test_a_search_longer_than_one_pattern_is_confirmed_to_its_end() -> None:
    lines = [f"    call_{number}(first, second) ;" for number in range(2_000)]
    text = "\n".join(["top", *lines, "end", ""])
    search = "\n".join(line.strip().replace(" ;", ";") for line in lines)
    assert tolerated(text, search, search.replace("call_1999(", "called(")) == text.replace(
        "    call_1999(first, second) ;", "    called(first, second);"
    )
    assert tolerated(text, search.replace("call_1999(", "call_999999("), "x") is None
