from __future__ import annotations

import random

import pytest
from tests.linedex_server.edit.finding import document, refusal

from linedex_server.edit.find.diagnose import explained
from linedex_server.edit.find.differences import difference
from linedex_server.edit.find.locate import Wanted
from linedex_server.edit.find.nearest import nearest

FILE = (
    "import os\n\n\ndef total(self):\n\treturn sum(self.xs)\n\n\n"
    "def mean(self):\n\treturn self.total() / len(self.xs)\n"
)


@pytest.mark.parametrize(
    ("file", "search", "told"),
    [
        (
            FILE,
            "4\tdef total(self):\n5\t\treturn sum(self.xs)",
            "line numbers of an answer pasted in; without them it fits line 4",
        ),
        (FILE, "5:\treturn sum(self.xs)", "line numbers of an answer pasted in; without them it fits line 5"),
        (FILE, "     5→\treturn sum(self.xs)", "line numbers of an answer pasted in; without them it fits line 5"),
        (FILE, "Def Total(self):", "it fits line 4 but for letter case"),
        (FILE, "def total(self):\n\t...\ndef mean(self):", "it has a line that stands for code left out"),
        (FILE, "def total(self):\n\t# ... existing code ...\n", "it has a line that stands for code left out"),
        (FILE, "def total(self): return sum(self.xs)", "it has the words of line 4 wrapped otherwise"),
        (FILE, "def mean(self):\\n\treturn", "it fits line 8 but for escapes with a backslash in the search"),
        ("x\na &amp; b\n", "a & b", "it fits line 2 but for HTML entities, which the file has"),
        ("x\na & b <c>\n", "a &amp; b &lt;c&gt;", "it fits line 2 but for HTML entities in the search"),
        ("x\nname = 'café'\n", "name = 'cafÃ©'", "it had been decoded as Windows-1252; it is UTF-8"),
        ("x\na\nb\n", "a\rb", "it fits line 2 but for a lone carriage return in the search"),
    ],
)
def test_a_miss_says_why(file: str, search: str, told: str) -> None:
    assert told in refusal(file, Wanted(search, "something new"))


def test_numbers_that_belong_to_the_text_are_no_line_numbers() -> None:
    assert "pasted" not in refusal("10: ten\n20: twenty\n", Wanted("30: thirty", "x"))


def test_a_replacement_that_stands_already_is_named() -> None:
    told = refusal(FILE, Wanted("return old_sum(self.xs)", "return sum(self.xs)"))
    assert "its replacement already stands in line 5" in told


def test_tabs_shown_as_blanks_are_named_with_their_line() -> None:
    told = refusal(FILE, Wanted("    return sum(self.xs)", "x = 1", fuzzy=False))
    assert "Nearest: line 5, differs in its indentation: 1 tab (search has 4 blanks)." in told
    assert "or set fuzzy=true" in told


def test_a_search_of_part_of_a_block_that_was_changed_names_the_changed_line() -> None:
    told = refusal(FILE, Wanted("def total(self):\n\treturn add(self.xs)\n\n\ndef mean(self):", "x = 1"))
    assert "Nearest: line 5, differs in 'sum' at column 9 (search has 'add')" in told


def test_a_short_replacement_is_not_taken_for_applied() -> None:
    assert "already" not in refusal(FILE, Wanted("return missing(self.ys)", "os"))


@pytest.mark.parametrize(
    ("found", "searched", "told"),
    [
        ("\u00a0x = 1", " x = 1", "its indentation: 1 blanks, U+00A0 NO-BREAK SPACE among them (search has 1 blank)"),
        ("total:\u00a0100", "total: 100", "U+00A0 NO-BREAK SPACE at column 7 (search has U+0020)"),
        ("say(“hi”)", 'say("hi")', "U+201C LEFT DOUBLE QUOTATION MARK at column 5 (search has U+0022) and 1 more"),
        ("a\u200bb = 1", "ab = 1", "U+200B ZERO WIDTH SPACE at column 2 (search has nothing)"),
        ("cafe\u0301 = 1", "café = 1", "U+0065"),
        ("a\tb c d", "a b c d", "U+0009 at column 2 (search has U+0020)"),
        ("\treturn x", "    return x", "its indentation: 1 tab (search has 4 blanks)"),
        ("return x  ", "return x", "blanks at its end: 2 blanks (search has none)"),
        ("return fsum(x)", "return sum(x)", "'fsum' at column 8 (search has 'sum')"),
        ("limit = 120", "limit = 121", "'120' at column 11 (search has '121')"),
        ("if a >= b:", "if a > b:", "'=' at column 7 (search has nothing)"),
        ("Foo(bar)", "foo(bar)", "'Foo' at column 1 (search has 'foo' in letter case)"),
        ("caf\udce9 = 1", "café = 1", "a byte that does not decode at column 4"),
    ],
)
def test_a_difference_is_named_so_that_it_can_be_seen(found: str, searched: str, told: str) -> None:
    assert told in difference(found, searched)


def test_lines_that_have_nothing_in_common_are_quoted() -> None:
    assert difference("return 0", "while (x--) y[z]") == "reads 'return 0' (search has 'while (x--) y[z]')"


def test_the_nearest_place_is_named_by_the_line_that_differs() -> None:
    told = refusal(FILE, Wanted("def mean(self):\n\treturn self.sum() / len(self.xs)", "x = 1"))
    assert "Nearest: line 9, differs in 'total' at column 14 (search has 'sum')" in told
    assert "Copy line 9 from read_content." in told


def test_a_part_of_a_line_is_compared_with_the_part_it_resembles() -> None:
    told = refusal("a = 1\n\tvalue = compute(first, second)  # note\n", Wanted("compute(first, third)", "x"))
    assert "Nearest: line 2, differs in 'second' at column 25 (search has 'third')" in told


def test_a_place_in_a_file_that_is_not_held_is_explained_too() -> None:
    lines = [f"value_{number} = compute({number})" for number in range(500)]
    text = document("\n".join(lines), held=1_000, window=256)
    why = explained(text, "value_321 = compute_it(321)", "x")
    assert (why.nearest[0].line, why.nearest[0].content) == (322, "value_321 = compute(321)")
    around = explained(text, "value_321 = compute_it(321)", "x", line=322)
    assert around.nearest[0].line == 322


def test_the_place_that_a_search_came_from_is_nearest_in_a_long_text() -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghij", k=chance.randint(3, 8))) for _ in range(400)]
    lines = [" ".join(chance.choices(words, k=8)) for _ in range(20_000)]
    encoded = "\n".join(lines).encode()
    for _ in range(20):
        first = chance.randrange(len(lines) - 4)
        search = lines[first : first + 4]
        search[1] = search[1].replace(search[1].split()[2], "stale")
        near = nearest(encoded, search)
        assert near[0].line == first
        assert near[0].score > 90


def test_another_word_is_told_before_the_indentation_that_a_search_left_out() -> None:
    told = refusal("class A:\n    def f(self):\n        return sum(xs)\n", Wanted("return sum(ys)", "x"))
    assert "Nearest: line 3, differs in 'xs' at column 20 (search has 'ys')" in told
    assert "more" not in told


def test_short_lines_are_near_whatever_their_indentation() -> None:
    told = refusal("x = 1\n\t\t\tif a:\n\t\t\t\treturn 1\n", Wanted("    if a:\n        return 2", "x"))
    assert "Nearest: line 3, differs in '1' at column 12 (search has '2')" in told


def test_what_the_file_lacks_is_said_so() -> None:
    told = difference("request id=", "request id=zzz", 35)
    assert told == "has nothing at column 46 (search has 'zzz')"
