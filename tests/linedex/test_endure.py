"""A short run of the long-running trial: hostile trees under change, edits, and clients that ask at once."""

from __future__ import annotations

import collections
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts" / "bench"))  # the trial is one of the scripts

from endure import trial

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names and links are those of Linux")


def _runs(seed: int, steps: int, base: Path, *, served: bool) -> None:
    counts = collections.Counter[str]()
    trial(seed, steps, base=base, counts=counts, served=served)
    kinds = {kind.partition(":")[0] for kind in counts}
    assert kinds == {"change", "edit", "ask", "index"}
    assert sum(counts.values()) >= steps
    assert list(base.iterdir()) == []  # a folder is kept only where something was wrong


def test_every_answer_about_a_changing_tree_is_that_of_reading_it(tmp_path: Path) -> None:
    _runs(1, 1_200, tmp_path, served=False)


@pytest.mark.timeout(300)
def test_clients_of_a_daemon_are_told_what_reading_tells(tmp_path: Path) -> None:
    _runs(2, 450, tmp_path, served=True)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("served", [False, True])
@pytest.mark.parametrize("seed", range(100, 104))
def test_answers_stay_right_over_many_changes(tmp_path: Path, seed: int, *, served: bool) -> None:
    _runs(seed, 10_000, tmp_path, served=served)
