"""The walk meets each file once, follows no link, and reports what it cannot read."""

import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.files.walk import SpecialKind, WalkedFolder, list_folder, walk
from linedex.model import RelPath, SkipReason

ALL = WalkSettings(git_rules=False)


def by_path(root: Path, settings: WalkSettings = ALL) -> dict[bytes, WalkedFolder]:
    return {folder.path: folder for folder in walk(Root(root), settings)}


def test_a_walk_meets_what_find_meets_with_its_stat(tmp_path: Path) -> None:
    for folder in ("a/b/c", "d", "e/f"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.txt").write_text(folder)
    (tmp_path / "a/empty").touch()
    met = {
        os.path.join(folder.path, file.name): file.status
        for folder in walk(Root(tmp_path), ALL)
        for file in folder.files
    }
    expected = {}
    for above, _, files in os.walk(os.fsencode(tmp_path)):
        for name in files:
            path = os.path.join(above, name)
            expected[os.path.relpath(path, os.fsencode(tmp_path))] = os.lstat(path)
    assert met == expected


def test_folders_come_before_what_is_in_them_and_in_path_order(tmp_path: Path) -> None:
    for folder in ("a/b", "a-b", "a/a", "c"):
        (tmp_path / folder).mkdir(parents=True)
    paths = [folder.path for folder in walk(Root(tmp_path), ALL)]
    assert paths == [b"", b"a", b"a/a", b"a/b", b"a-b", b"c"]
    assert paths == sorted(paths, key=lambda path: path.split(b"/") if path else [])


def test_links_to_folders_above_and_loops_of_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "tree/x").mkdir(parents=True)
    (tmp_path / "tree/a.txt").write_text("hit\n")
    (tmp_path / "tree/self").symlink_to(".")
    (tmp_path / "tree/x/up").symlink_to("..")
    (tmp_path / "tree/loop_a").symlink_to("loop_b")
    (tmp_path / "tree/loop_b").symlink_to("loop_a")
    folders = by_path(tmp_path / "tree")
    assert [file.name for folder in folders.values() for file in folder.files] == [b"a.txt"]
    assert [(s.name, s.kind) for s in folders[b""].specials] == [
        (b"loop_a", SpecialKind.LINK),
        (b"loop_b", SpecialKind.LINK),
        (b"self", SpecialKind.LINK),
    ]


def test_fifos_sockets_and_devices_are_reported_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    folder = os.getcwd()
    os.chdir(tmp_path)
    try:
        listener.bind("socket")
    finally:
        os.chdir(folder)
        listener.close()
    assert {(s.name, s.kind) for s in by_path(tmp_path)[b""].specials} == {
        (b"fifo", SpecialKind.FIFO),
        (b"socket", SpecialKind.SOCKET),
    }
    assert SpecialKind.DEVICE in {s.kind for s in list_folder(Root("/dev"), RelPath(b""), ALL).specials}


def test_names_that_are_not_utf8_are_walked_as_they_are(tmp_path: Path) -> None:
    wanted = [b"bad\xff.txt", b"new\nline.txt", b"sub\xfe/x"]
    os.mkdir(os.path.join(os.fsencode(tmp_path), b"sub\xfe"))
    for name in wanted:
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).touch()
    met = [os.path.join(folder.path, file.name) for folder in walk(Root(tmp_path), ALL) for file in folder.files]
    assert met == wanted


def test_hidden_files_are_marked_or_left_out(tmp_path: Path) -> None:
    (tmp_path / ".github/sub").mkdir(parents=True)
    for path in (".github/sub/x", ".env", "a"):
        (tmp_path / path).touch()
    marked = {f.path + b"/" + e.name: e.hidden for f in walk(Root(tmp_path), ALL) for e in f.files}
    assert marked == {b"/.env": True, b"/a": False, b".github/sub/x": True}
    shown = by_path(tmp_path, WalkSettings(git_rules=False, include_hidden=False))
    assert [file.name for folder in shown.values() for file in folder.files] == [b"a"]


@pytest.mark.parametrize("settings", [ALL, WalkSettings(include_ignored=True)])
def test_the_inside_of_git_is_never_walked(tmp_path: Path, settings: WalkSettings) -> None:
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / ".git/config").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.git").write_text("gitdir: ../.git/worktrees/sub\n")
    assert list(by_path(tmp_path, settings)) == [b"", b"sub"]
    assert not [file for folder in by_path(tmp_path, settings).values() for file in folder.files]


def test_ignored_entries_are_marked_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "build/deep").mkdir(parents=True)
    for path in ("build/deep/x", "a.o", "a.c"):
        (tmp_path / path).touch()
    (tmp_path / ".ignore").write_text("build/\n*.o\n")
    (tmp_path / "build/.ignore").write_text("!x\n")
    folders = by_path(tmp_path, WalkSettings(include_ignored=True))
    assert [(f.name, f.ignored) for f in folders[b""].files] == [(b".ignore", False), (b"a.c", False), (b"a.o", True)]
    assert folders[b""].folders[0].ignored
    assert folders[b"build"].ignored
    assert [(f.name, f.ignored) for f in folders[b"build/deep"].files] == [(b"x", True)]


def test_a_walk_can_start_below(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/x.o").touch()
    (tmp_path / "a/b/x.c").touch()
    (tmp_path / ".ignore").write_text("*.o\n")
    below = list(walk(Root(tmp_path), WalkSettings(), RelPath(b"a")))
    assert [(f.path, [e.name for e in f.files]) for f in below] == [(b"a", []), (b"a/b", [b"x.c"])]


def test_a_folder_that_is_gone_or_replaced_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/")
    for name in (b"gone", b"file", b"link"):
        assert list_folder(Root(tmp_path), RelPath(name), ALL).problem is SkipReason.VANISHED


def test_a_folder_swapped_for_a_link_during_the_walk_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "root/a/b").mkdir(parents=True)
    (tmp_path / "outside/b").mkdir(parents=True)
    (tmp_path / "outside/b/secret").touch()
    steps = walk(Root(tmp_path / "root"), ALL)
    met = [next(steps), next(steps)]
    shutil.move(tmp_path / "root/a", tmp_path / "moved")
    (tmp_path / "root/a").symlink_to(tmp_path / "outside")
    met.extend(steps)
    assert [folder.problem for folder in met] == [None, None, SkipReason.VANISHED]


@pytest.fixture
def readable_by_all() -> Iterator[Path]:
    """A folder that an ordinary user reaches, with this process taking that user's rights where it is root's."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "closed").mkdir()
    (folder / "closed/x").touch()
    (folder / "open").touch()
    (folder / "closed").chmod(0)
    privileged = os.geteuid() == 0
    if privileged:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if privileged:
            os.seteuid(0)
        (folder / "closed").chmod(stat.S_IRWXU)
        shutil.rmtree(folder)


def test_a_folder_without_permission_is_reported_and_the_rest_walked(readable_by_all: Path) -> None:
    folders = by_path(readable_by_all)
    assert folders[b"closed"].problem is SkipReason.UNREADABLE
    assert [file.name for file in folders[b""].files] == [b"open"]
