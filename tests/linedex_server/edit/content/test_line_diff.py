from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from linedex_server.edit.content.line_diff import runs

LINES = st.lists(st.sampled_from("abcdef{}"), max_size=30)


@settings(deadline=None)
@given(LINES, LINES)
def test_the_runs_make_one_text_of_the_other(old: list[str], new: list[str]) -> None:
    made: list[str] = []
    at = new_at = 0
    for run in runs(old, new):
        assert (run.start, run.new_start) == (at, new_at)
        if run.equal:
            assert old[run.start : run.end] == new[run.new_start : run.new_end] != []
        made += old[run.start : run.end] if run.equal else new[run.new_start : run.new_end]
        at, new_at = run.end, run.new_end
    assert (at, new_at) == (len(old), len(new))
    assert made == new


@settings(deadline=None)
@given(LINES, LINES)
def test_runs_of_both_kinds_alternate(old: list[str], new: list[str]) -> None:
    kinds = [run.equal for run in runs(old, new)]
    assert all(before != after for before, after in itertools.pairwise(kinds))


def test_lines_that_only_moved_past_a_change_are_equal() -> None:
    old = [f"line {number}" for number in range(3_000)]
    new = [*old[:10], "new", *old[11:2_000], *old[2_500:], "end"]
    changed = [(run.start, run.end, run.new_end - run.new_start) for run in runs(old, new) if not run.equal]
    assert changed == [(10, 11, 1), (2_000, 2_500, 0), (3_000, 3_000, 1)]
