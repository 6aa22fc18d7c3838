"""A recheck names exactly what differs from the catalogue."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from linedex.files.ignore import WalkSettings
from linedex.files.recheck import FolderDifference, KnownFolder, StatKey, recheck, stat_many
from linedex.files.roots import Root
from linedex.files.walk import walk
from linedex.model import RelPath


def catalogue(root: Path) -> list[KnownFolder]:
    known = []
    for folder in walk(Root(root), WalkSettings()):
        assert folder.status is not None
        names = [file.name for file in folder.files]
        keys = [StatKey.of(file.status) for file in folder.files]
        known.append(KnownFolder(folder.path, StatKey.of(folder.status), names, keys))
    return known


def differences(root: Path, known: list[KnownFolder]) -> dict[bytes, FolderDifference]:
    return {difference.path: difference for difference in recheck(Root(root), known)}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a/b").mkdir(parents=True)
    for path in ("a/x", "a/y", "a/b/z"):
        (tmp_path / path).write_text(path)
    return tmp_path


def test_an_untouched_tree_has_no_difference(tree: Path) -> None:
    assert differences(tree, catalogue(tree)) == {}


def grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("more")


def rewrite_with_old_times(path: Path) -> None:
    status = path.stat()
    path.write_text("A/X")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("touch", [grow, rewrite_with_old_times, lambda path: path.chmod(0o600)])
def test_a_file_written_in_place_is_named_and_its_folder_need_not_be_listed(
    tree: Path, touch: Callable[[Path], None]
) -> None:
    known = catalogue(tree)
    touch(tree / "a/x")
    found = differences(tree, known)
    assert list(found) == [b"a"]
    assert found[b"a"].changed == ((b"x", os.lstat(tree / "a/x")),)
    assert not found[b"a"].relist
    assert not found[b"a"].gone


def test_added_and_removed_files_make_their_folder_listed_again(tree: Path) -> None:
    known = catalogue(tree)
    (tree / "a/y").unlink()
    (tree / "a/b/new").touch()
    found = differences(tree, known)
    assert set(found) == {b"a", b"a/b"}
    assert found[b"a"].gone == (b"y",)
    assert found[b"a"].relist
    assert found[b"a/b"].relist
    assert not found[b"a/b"].changed


def test_a_folder_that_is_gone_or_replaced_by_a_link_has_no_stat(tree: Path) -> None:
    known = catalogue(tree)
    shutil.move(tree / "a/b", tree / "moved")
    (tree / "a/b").symlink_to(tree / "moved")
    assert differences(tree, known)[b"a/b"].status is None
    shutil.rmtree(tree / "a")
    found = differences(tree, known)
    assert found[b"a"].status is None
    assert found[b"a/b"].status is None


def test_many_stats_are_those_of_the_system_and_none_for_what_is_gone(tree: Path) -> None:
    (tree / "a/link").symlink_to("x")
    asked = [(RelPath(b"a"), [b"x", b"no", b"link"]), (RelPath(b"no"), [b"x"]), (RelPath(b"a/b"), [b"z"])]
    first, missing, last = stat_many(Root(tree), asked)
    assert first.entries == [os.lstat(tree / "a/x"), None, os.lstat(tree / "a/link")]
    assert first.status == os.lstat(tree / "a")
    assert (missing.status, missing.entries) == (None, [None])
    assert last.entries == [os.lstat(tree / "a/b/z")]
