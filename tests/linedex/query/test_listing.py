import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linedex.answers import FolderEntry
from linedex.errors import BadArgument, LinedexError, NotAFolder, NotFound
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.query.listing import listing


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    for name in ("b/deep/leaf.txt", "b/b.txt", "a.txt", "c.log", ".hidden/x", ".dot", "b-side.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    (tmp_path / ".ignore").write_text("*.log\n")
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "sock"))
        yield tmp_path


def entries(root: Path, path: bytes = b"", **how: Any) -> list[tuple[str, str, int | None]]:
    found = listing(Root(root), WalkSettings(), RelPath(path), Limits(), **how)
    return [(one.path.decode(), kind(one), one.children if one.is_folder else one.size) for one in found.entries]


def kind(entry: FolderEntry) -> str:
    return entry.special or ("folder" if entry.is_folder else "file") + (", ignored" if entry.ignored else "")


def test_a_folder_is_listed_in_path_order_with_what_each_entry_is(tree: Path) -> None:
    assert entries(tree) == [
        ("a.txt", "file", 5),
        ("b", "folder", 2),
        ("b-side.txt", "file", 5),
        ("link", "link", 0),
        ("pipe", "fifo", 0),
        ("sock", "socket", 0),
    ]


def test_what_is_in_a_folder_follows_it(tree: Path) -> None:
    paths = [path for path, _, _ in entries(tree, max_depth=3)]
    assert paths[:6] == ["a.txt", "b", "b/b.txt", "b/deep", "b/deep/leaf.txt", "b-side.txt"]
    assert "b/deep/leaf.txt" not in [path for path, _, _ in entries(tree, max_depth=2)]
    assert entries(tree, b"b") == [("b/b.txt", "file", 5), ("b/deep", "folder", 1)]


def test_depth_counts_from_the_folder_that_was_asked_for(tree: Path) -> None:
    found = listing(Root(tree), WalkSettings(), RelPath(b"b"), Limits(), max_depth=2)
    assert [(one.path, one.depth) for one in found.entries] == [
        (b"b/b.txt", 1),
        (b"b/deep", 1),
        (b"b/deep/leaf.txt", 2),
    ]


def test_hidden_and_ignored_names_are_shown_only_when_asked_for(tree: Path) -> None:
    assert ("c.log", "file, ignored", 5) in entries(tree, include_ignored=True)
    hidden = {path for path, _, _ in entries(tree, include_hidden=True)} - {path for path, _, _ in entries(tree)}
    assert hidden == {".dot", ".hidden", ".ignore"}
    assert entries(tree, b".hidden") == [(".hidden/x", "file", 5)]


@pytest.mark.parametrize("most", range(1, 12))
def test_a_cut_list_is_the_start_of_the_whole_one_and_says_so(tree: Path, most: int) -> None:
    whole = listing(Root(tree), WalkSettings(), RelPath(b""), Limits(), max_depth=9)
    part = listing(Root(tree), WalkSettings(), RelPath(b""), Limits(), max_depth=9, max_entries=most)
    assert part.entries == whole.entries[:most]
    assert part.cut == (len(whole.entries) > most)
    assert (part.total_files, part.total_folders) == (whole.total_files, whole.total_folders) == (7, 2)


def test_counting_ends_when_time_is_over(tree: Path) -> None:
    found = listing(Root(tree), WalkSettings(), RelPath(b""), Limits(query_seconds=0.0), max_depth=9)
    assert found.cut


def test_a_link_to_a_folder_is_not_entered(tree: Path) -> None:
    assert not any(path.startswith("link/") for path, _, _ in entries(tree, max_depth=5))
    with pytest.raises(LinedexError):
        entries(tree, b"link")


def test_what_is_no_folder_is_refused_with_what_to_do(tree: Path) -> None:
    with pytest.raises(NotAFolder) as refusal:
        entries(tree, b"a.txt")
    assert refusal.value.hint
    with pytest.raises(NotFound):
        entries(tree, b"absent")
    for name in ("max_depth", "max_entries"):
        with pytest.raises(BadArgument, match=f"^`{name}` "):
            entries(tree, b"", **{name: 0})
