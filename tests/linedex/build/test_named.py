"""A large file that ignore rules leave out and that somebody named is indexed, and stays so."""

from __future__ import annotations

from pathlib import Path

import pytest

from linedex.answers import SearchRequest
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath

LIMITS = Limits(workers=0, large_file=1_000)
NAMED = RelPath(b"left/deep/big.log")
SOON = 20.0


def hits(index: Index, pattern: str, scope: RelPath = RelPath(b"")) -> int:
    return index.search(SearchRequest(pattern, scope=scope, max_hits=1_000)).total_hits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "left" / "deep").mkdir(parents=True)
    (folder / ".ignore").write_text("left\n")
    (folder / "left" / "deep" / "big.log").write_text("stands\n" * 500)
    return folder


@pytest.mark.parametrize("watched", [True, False])
def test_its_folders_stay_known_when_other_files_change(root: Path, tmp_path: Path, *, watched: bool) -> None:
    sidecar = tmp_path / "index.db"
    with Index(root, sidecar, LIMITS) as index:
        index.start()
        assert index.wait(SOON)
        assert hits(index, "stands", NAMED) == 500
        assert index.wait(SOON)
        assert index.status().files == 2
        (root / "two.txt").write_text("other\n")
        if watched:
            assert hits(index, "other") == 1
            assert index.wait(SOON)
    with Index(root, sidecar, LIMITS) as index:
        assert index.build().files == 3
    with Index(root, sidecar, LIMITS) as index:
        assert (index.status().files, index.check()) == (3, ())
        assert (hits(index, "stands", NAMED), hits(index, "stands")) == (500, 0)


def test_it_is_forgotten_with_its_folders_when_it_is_gone(root: Path, tmp_path: Path) -> None:
    sidecar = tmp_path / "index.db"
    with Index(root, sidecar, LIMITS) as index:
        index.start()
        assert index.wait(SOON)
        assert hits(index, "stands", NAMED) == 500
        assert index.wait(SOON)
    (root / "left" / "deep" / "big.log").rename(root / "big.log")
    with Index(root, sidecar, LIMITS) as index:
        assert index.build().files == 2
        assert index._keeper.catalogue().folder_keys == [b""]
    with Index(root, sidecar, LIMITS) as index:
        assert (hits(index, "stands"), index.check()) == (500, ())


@pytest.mark.parametrize("watched", [True, False])
def test_it_is_an_ordinary_file_once_no_rule_leaves_it_out(root: Path, tmp_path: Path, *, watched: bool) -> None:
    sidecar = tmp_path / "index.db"
    with Index(root, sidecar, LIMITS) as index:
        index.start()
        assert index.wait(SOON)
        assert (hits(index, "stands", NAMED), hits(index, "stands")) == (500, 0)
        assert index.wait(SOON)
        if watched:
            (root / ".ignore").unlink()
            assert hits(index, "stands") == 500
            assert index.wait(SOON)
            assert hits(index, "stands") == 500
    if not watched:
        (root / ".ignore").unlink()
        with Index(root, sidecar, LIMITS) as index:
            assert hits(index, "stands") == 500
            assert index.build().files == 1
    with Index(root, sidecar, LIMITS) as index:
        answer = index.search(SearchRequest("stands", max_hits=1_000))
        assert (answer.total_hits, answer.coverage.by_index, index.check()) == (500, 1, ())
