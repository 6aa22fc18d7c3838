"""A folder of 100,000 files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.linedex.build.plain_search import found, indexed

from linedex.index import Index
from linedex.limits import Limits


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_100_000_files_in_one_folder_are_indexed_watched_and_answered(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(100_000):
        (root / f"{number}.txt").write_bytes(b"needle\n" if number % 1_000 == 0 else b"hay\n")
    with Index(root, tmp_path / "index.db", Limits(index_symbols=False)) as index:
        index.start()
        assert len(found(index)) == 100
        assert index.wait(900)
        assert indexed(index)
        assert len(found(index)) == 100
        (root / "7.txt").write_text("needle\n")
        assert len(found(index)) == 101
