"""inotify, drained by whoever asks: what has happened is there, whatever happened to the folders meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linedex.files.roots import Root
from linedex.model import RelPath

if sys.platform != "linux":
    pytest.skip("inotify is Linux", allow_module_level=True)

from linedex.files.watch_inotify import InotifyWatcher

TOP = RelPath(b"")
QUEUE = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "a").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def watcher(root: Path) -> Iterator[InotifyWatcher]:
    made = InotifyWatcher(Root(root))
    made.watch(TOP)
    made.watch(RelPath(b"a"))
    yield made
    made.close()


def overflow(folder: Path) -> None:
    for at in range(QUEUE // 2 + 10):
        (folder / f"f{at % 2}").touch()
        (folder / f"f{at % 2}").unlink()


def test_lost_events_mean_that_everything_may_have_changed(watcher: InotifyWatcher, root: Path) -> None:
    overflow(root)
    assert watcher.drain().everything
    (root / "after").touch()
    changes = watcher.drain()
    assert not changes.everything
    assert b"after" in changes.names


def test_a_moved_folder_is_heard_under_its_new_name_once_it_is_watched_so(watcher: InotifyWatcher, root: Path) -> None:
    (root / "a").rename(root / "b")
    assert watcher.drain().trees >= {b"a", b"b"}
    watcher.watch(RelPath(b"b"))
    watcher.forget([RelPath(b"a")])
    (root / "b" / "file").touch()
    assert b"b/file" in watcher.drain().names
    assert watcher.folders == 2


def test_exchanged_folders_are_told_apart_once_they_are_watched_again(watcher: InotifyWatcher, root: Path) -> None:
    (root / "b").mkdir()
    watcher.watch(RelPath(b"b"))
    (root / "a").rename(root / "c")
    (root / "b").rename(root / "a")
    (root / "c").rename(root / "b")
    watcher.drain()
    watcher.watch(RelPath(b"b"))
    watcher.watch(RelPath(b"a"))
    (root / "a" / "in-a").touch()
    (root / "b" / "in-b").touch()
    assert watcher.drain().names >= {b"a/in-a", b"b/in-b"}
    assert watcher.folders == 3


def test_a_folder_made_again_under_its_name_is_watched_anew(watcher: InotifyWatcher, root: Path) -> None:
    (root / "a").rmdir()
    (root / "a").mkdir()
    watcher.drain()
    watcher.watch(RelPath(b"a"))
    watcher.drain()
    (root / "a" / "file").touch()
    assert b"a/file" in watcher.drain().names


def test_watching_again_raises_no_event(watcher: InotifyWatcher) -> None:
    for _ in range(3):
        watcher.watch(RelPath(b"a"))
    assert not watcher.drain()
    assert watcher.folders == 2


def test_a_folder_that_is_not_there_is_passed_over(watcher: InotifyWatcher) -> None:
    watcher.watch(RelPath(b"nowhere"))
    assert watcher.folders == 2


def test_a_link_to_a_folder_is_not_followed(watcher: InotifyWatcher, root: Path) -> None:
    (root.parent / "outside").mkdir()
    os.symlink(root.parent / "outside", root / "link")
    watcher.watch(RelPath(b"link"))
    assert watcher.folders == 2


def test_removing_more_watches_than_the_queue_holds_does_not_overflow_it(tmp_path: Path) -> None:
    folders = [RelPath(b"d%d" % at) for at in range(QUEUE + 100)]
    for folder in folders:
        os.mkdir(os.path.join(os.fsencode(tmp_path), folder))
    watcher = InotifyWatcher(Root(tmp_path))
    for folder in folders:
        watcher.watch(folder)
    watcher.forget(folders)
    assert not watcher.drain().everything
    watcher.close()
