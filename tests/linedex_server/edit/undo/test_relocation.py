from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex_server.edit.history.steps import Change, Read
from linedex_server.edit.undo.relocation import Remembered, left_by, relocated, remembered

LINES = 24


def reader(content: bytes) -> Read:
    return lambda offset, size: content[offset : offset + size]


@dataclass
class Case:
    """A file of lines that are all different, our step over it, and what others made of the file that it left."""

    before: bytes
    splices: list[Remembered]
    present: bytes
    undone: bytes
    ours_are_left: bool


@st.composite
def cases(draw: st.DrawFn, context: int) -> Case:
    """Draw a step that changes or takes out whole lines, and later changes of others anywhere."""
    lines = [f"line {number}\n".encode() for number in range(LINES)]
    before = b"".join(lines)
    ours = sorted(draw(st.sets(st.integers(0, LINES - 1), min_size=1, max_size=3)))
    new = {at: draw(st.sampled_from([b"", b"mine %d\n" % at, b"mine %d\nmine too\n" % at])) for at in ours}
    splices = []
    for place, at in enumerate(ours):
        start = sum(map(len, lines[:at]))
        end = start + len(lines[at])
        floor = sum(map(len, lines[: ours[place - 1] + 1])) if place else 0
        roof = sum(map(len, lines[: ours[place + 1]])) if place + 1 < len(ours) else len(before)
        lead, trail = before[max(floor, start - context) : start], before[end : min(roof, end + context)]
        splices.append(Remembered(Change(start, end, len(new[at]), len(lead), len(trail)), lead, new[at], trail))
    present, undone = [], []
    left = True
    for at, line in enumerate(lines):
        theirs = draw(st.sampled_from(["", "", "", "", "change", "remove", "insert"]))
        if theirs == "insert":
            added = f"theirs before {at}\n".encode()
            present.append(added)
            undone.append(added)
            theirs = ""
        now = new.get(at, line)
        if theirs and at in new and now:
            left = False
        if not theirs:
            present.append(now)
            undone.append(line)
        elif theirs == "change" and now:
            present.append(f"theirs {at}\n".encode())
            undone.append(f"theirs {at}\n".encode())
        elif not now:
            undone.append(line)
    return Case(before, splices, b"".join(present), b"".join(undone), left)


@pytest.mark.parametrize("context", [8, 64])
@pytest.mark.parametrize("known", [True, False])
@given(st.data())
def test_what_is_taken_back_beside_changes_of_others_is_ours_and_only_ours(
    context: int, known: bool, data: st.DataObject
) -> None:
    case = data.draw(cases(context))
    left = left_by(case.before, case.splices) if known else None
    found = relocated(case.splices, reader(case.present), len(case.present), left)
    if found is None:
        return
    assert case.ours_are_left
    parts, at = [], 0
    for splice, (start, end) in zip(case.splices, found, strict=True):
        assert case.present[start:end] == splice.new
        parts += [case.present[at:start], case.before[splice.change.start : splice.change.end]]
        at = end
    assert b"".join([*parts, case.present[at:]]) == case.undone


def one(before: bytes, start: int, end: int, new: bytes, context: int = 64) -> Remembered:
    lead, trail = before[max(0, start - context) : start], before[end : end + context]
    return Remembered(Change(start, end, len(new), len(lead), len(trail)), lead, new, trail)


def test_a_change_of_others_in_the_line_next_to_ours_does_not_hinder() -> None:
    before = b"a\nb\nc\n"
    splice = one(before, 2, 3, b"mine")
    present = b"A\nmine\nC\n"
    assert relocated([splice], reader(present), len(present), left_by(before, [splice])) == ((2, 6),)


def test_a_change_of_others_in_our_own_line_beside_our_bytes_does_not_hinder() -> None:
    before = b"x = compute(first, second)\n" * 1 + b"unrelated\n"
    splice = one(before, 12, 17, b"earliest")
    present = b"x = compute(earliest, second, third)\nunrelated\n"
    assert relocated([splice], reader(present), len(present), None) == ((12, 20),)


def test_a_large_file_is_searched_over_the_borders_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linedex_server.edit.undo.relocation._WINDOW", 50)
    before = b"".join(b"%d some text\n" % number for number in range(100))
    splice = one(before, 700, 703, b"mine", context=20)
    after = left_by(before, [splice])
    for more in range(0, 120, 7):
        present = b"y" * more + b"\n" + after
        assert relocated([splice], reader(present), len(present), None) == ((701 + more, 705 + more),)
        twice = present + after
        assert relocated([splice], reader(twice), len(twice), None) is None


def test_a_file_is_searched_a_few_times_only() -> None:
    before = b"".join(b"%d some text\n" % number for number in range(1000))
    starts = range(0, 12_000, 600)
    splices = [one(before, start, start + 1, b"mine", context=10) for start in starts]
    # every part has moved by another distance, so each has to be looked for
    after = b"".join(b"<%d>" % number * number + splice.all for number, splice in enumerate(splices))
    reads = 0

    def read(offset: int, size: int) -> bytes:
        nonlocal reads
        reads += size
        return after[offset : offset + size]

    assert relocated(splices, read, 10_000_000, None) is None
    assert reads < 10 * 11_000_000


def test_bytes_that_were_not_remembered_are_not_made_up() -> None:
    assert remembered([Change(0, 1, 5, 0, 0)], b"") is None
    assert remembered([Change(0, 1, 0, 0, 0)], b"") == (Remembered(Change(0, 1, 0, 0, 0), b"", b"", b""),)
