"""A search tells how far it is, and ends where it stands when nobody waits for it any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from linedex.answers import OutputMode, SearchRequest
from linedex.errors import Cancelled
from linedex.index import Index
from linedex.limits import Limits
from linedex.query.progress import Progress

FILES = 20


class LeavesAt(Progress):
    """Somebody who leaves when the search looks into its `file`th file, or at the `window`th window."""

    def __init__(self, file: int, window: int = 0) -> None:
        super().__init__()
        self._file, self._window = file, window
        self.checks = 0

    def step(self) -> None:
        super().step()
        if self.done == self._file:
            self.cancel()

    def check(self) -> None:
        self.checks += 1
        if self.checks == self._window:
            self.cancel()
        super().check()


@pytest.fixture
def index(tmp_path: Path) -> Index:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(FILES):
        (root / f"{number:02}.txt").write_text(f"needle {number}\n", encoding="utf-8")
    (root / "none.txt").write_text("nothing of the kind\n", encoding="utf-8")
    return Index(root, tmp_path / "state" / "index.db", Limits(workers=0))


@pytest.mark.parametrize("mode", OutputMode)
def test_a_whole_search_looks_into_as_many_files_as_it_said(index: Index, mode: OutputMode) -> None:
    progress = Progress()
    index.search(SearchRequest("needle", mode=mode), progress)
    assert (progress.done, progress.total) == (FILES + 1, FILES + 1)


def test_only_what_the_index_lets_pass_counts(index: Index) -> None:
    index.build()
    progress = Progress()
    answer = index.search(SearchRequest("needle"), progress)
    assert progress.total == progress.done == answer.coverage.verified


@pytest.mark.parametrize("mode", OutputMode)
def test_a_cancelled_search_ends_at_the_file_it_is_in(index: Index, mode: OutputMode) -> None:
    progress = LeavesAt(3)
    with pytest.raises(Cancelled):
        index.search(SearchRequest("needle", mode=mode), progress)
    assert progress.done == 3


def test_a_cancelled_search_for_near_lines_ends_too(index: Index) -> None:
    progress = LeavesAt(0, window=FILES + 1 + 4)
    with pytest.raises(Cancelled):
        index.search(SearchRequest("needel 7 and more", fuzzy=True), progress)
    assert progress.done == FILES + 1
    assert progress.checks == FILES + 1 + 4


def test_a_large_file_is_left_at_the_next_window(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "large.log").write_text("a line of twenty byte\n" * 1000, encoding="utf-8")
    limits = Limits(large_file=64, window_bytes=256, window_overlap=64, workers=0)
    progress = LeavesAt(0, window=5)
    with pytest.raises(Cancelled):
        Index(root, tmp_path / "index.db", limits).search(SearchRequest("byte", mode=OutputMode.COUNT), progress)
    assert progress.checks == 5


def test_a_search_cancelled_before_it_began_reads_nothing(index: Index) -> None:
    progress = Progress()
    progress.cancel()
    with pytest.raises(Cancelled):
        index.search(SearchRequest("needle"), progress)
    assert progress.done == 1
