from __future__ import annotations

from pathlib import Path

from linedex.answers import SearchRequest
from linedex.files.own_state import FORMER_SUFFIX, TEMPORARY_PREFIX, TEMPORARY_SUFFIX
from linedex.index import Index


def test_the_copies_that_an_edit_makes_are_no_files_of_the_user(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in (root, root / "deeper"):
        folder.mkdir()
        (folder / "own.txt").write_text("needle\n", encoding="utf-8")
        for suffix in (TEMPORARY_SUFFIX, FORMER_SUFFIX):
            (folder / (TEMPORARY_PREFIX + b"0f" + suffix).decode()).write_text("needle\n", encoding="utf-8")
    with Index(root, tmp_path / "index.db") as index:
        assert index.build().files == 2
        found = index.search(SearchRequest("needle", include_hidden=True)).files
    assert [bytes(one.path) for one in found] == [b"deeper/own.txt", b"own.txt"]
