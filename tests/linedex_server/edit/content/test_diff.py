from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex_server.edit.content.diff import Bounds, Edited, lines_changed, of_changes, rewritten, unified
from linedex_server.edit.splice import TextChange

ALL = Bounds(lines=10_000, characters=1_000_000)
LINES = st.lists(st.sampled_from(["a", "b", "c", "", "\x0c", "long line"]), max_size=30)


@st.composite
def texts(draw: st.DrawFn) -> str:
    return "\n".join(draw(LINES)) + draw(st.sampled_from(["", "\n"]))


def patched(before: str, patch: str, folder: Path) -> str:
    """Return what the `patch` program makes of a text."""
    old, told = folder / "old", folder / "patch"
    old.write_text(before, encoding="utf-8", newline="")
    told.write_text(f"--- old\n+++ old\n{patch}\n", encoding="utf-8", newline="")
    subprocess.run(["patch", "--binary", "-s", "-E", "-F0", old, told], check=True, stdout=subprocess.DEVNULL)
    return old.read_text(encoding="utf-8") if old.exists() else ""


def test_a_change_is_told_with_three_lines_around() -> None:
    before = "".join(f"{number}\n" for number in range(1, 101))
    assert unified(before, before.replace("50\n", "fifty\n")) == (
        "@@ -47,7 +47,7 @@\n 47\n 48\n 49\n-50\n+fifty\n 51\n 52\n 53"
    )


def test_equal_texts_have_no_diff() -> None:
    assert unified("a\n", "a\n") == ""
    assert of_changes([Edited("a\nb\n", [TextChange(0, 1, "a")])]) == ""


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "a\n", "@@ -0,0 +1 @@\n+a"),
        ("a\n", "", "@@ -1 +0,0 @@\n-a"),
        ("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a"),
        ("a\nb\n", "a\nx\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b"),
        ("a\x0cb\n", "a\x0cc\n", "@@ -1 +1 @@\n-a\x0cb\n+a\x0cc"),
    ],
)
def test_the_form_is_that_of_the_diff_program(before: str, after: str, expected: str) -> None:
    assert unified(before, after) == expected


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no `patch` program")
def test_the_patch_program_makes_the_new_text_of_the_old_one(tmp_path: Path) -> None:
    # one process a pair: a fixed number of pairs, not hypothesis
    chance = random.Random(3)
    for _ in range(40):
        before = [chance.choice("abcdefgh") * chance.randrange(3) + "\n" for _ in range(chance.randrange(60))]
        after = [line for line in before if chance.random() > 0.1]
        for _ in range(chance.randrange(4)):
            after.insert(chance.randrange(len(after) + 1), "new\n")
        old, new = "".join(before), "".join(after).removesuffix("\n" if chance.random() < 0.3 else "!")
        if old != new:
            assert patched(old, unified(old, new, ALL), tmp_path) == new


@given(texts(), st.data())
def test_changes_are_told_as_the_texts_they_make_are(before: str, data: st.DataObject) -> None:
    edges = sorted(data.draw(st.lists(st.integers(0, len(before)), max_size=6)))
    new = st.sampled_from(["", "x", "x\n", "a\n", "\n"])
    changes = [TextChange(a, b, data.draw(new)) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    after, at = "", 0
    for change in changes:
        after += before[at : change.start] + change.new
        at = change.end
    after += before[at:]
    told = of_changes([Edited(before, changes)], ALL)
    assert applied(before, told) == after
    assert applied(before, unified(before, after, ALL)) == after
    added, removed = lines_changed([Edited(before, changes)])
    assert added - removed == len(lines(after)) - len(lines(before))


def lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def applied(before: str, patch: str) -> str:
    """Return what a patch makes of a text; it fails where the patch does not fit."""
    *whole, rest = before.split("\n")
    old = [f"{line}\n" for line in whole] + ([rest] if rest else [])
    new: list[str] = []
    at = 0
    told = patch.split("\n") if patch else []
    for line, following in zip(told, [*told[1:], ""], strict=False):
        text = line[1:] + ("" if following.startswith("\\") else "\n")
        match line[:1]:
            case "@":
                start, _, count = line.split()[1][1:].partition(",")
                first = int(start) - (count != "0")
                assert first >= at
                new += old[at:first]
                at = first
                number, _, count = line.split()[2][1:].partition(",")
                assert len(new) == int(number) - (count != "0")
            case " ":
                assert old[at] == text
                new.append(text)
                at += 1
            case "-":
                assert old[at] == text
                at += 1
            case "+":
                new.append(text)
    return "".join([*new, *old[at:]])


@given(LINES, LINES)
def test_as_many_lines_change_as_are_marked(before: list[str], after: list[str]) -> None:
    old, new = "".join(line + "\n" for line in before), "".join(line + "\n" for line in after)
    marks = [line[0] for line in unified(old, new, ALL).split("\n") if line]
    assert lines_changed([rewritten(old, new)]) == (marks.count("+"), marks.count("-"))


def test_later_parts_are_numbered_after_what_earlier_ones_brought() -> None:
    first = Edited("a\nb\n", [TextChange(0, 0, "x\ny\n")], first_line=10)
    second = Edited("c\n", [TextChange(0, 1, "d")], first_line=1000)
    assert of_changes([first, second]) == "@@ -10,2 +10,4 @@\n+x\n+y\n a\n b\n@@ -1000 +1002 @@\n-c\n+d"


def test_a_diff_is_cut_to_its_bounds_and_says_so() -> None:
    before = "".join(f"{number}\n" for number in range(1000))
    told = unified(before, before.replace("\n", "!\n"), Bounds(lines=10)).split("\n")
    assert len(told) == 11
    assert told[-1] == "[diff cut after 10 lines]"
    assert len(unified(before, before.replace("\n", "!\n"), Bounds(lines=10_000, characters=500))) < 600
    assert unified("a" * 1000, "b", Bounds(line_characters=5)).split("\n")[1] == "-aaaa[... 996 more characters]"


def test_bytes_that_do_not_decode_are_shown_as_such() -> None:
    assert unified("a\udc80b\n", "c\n") == "@@ -1 +1 @@\n-a\ufffdb\n+c"
