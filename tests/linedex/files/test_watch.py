"""What every watcher promises: each change is named, or everything is said to have changed."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from linedex.files.roots import Root
from linedex.files.watch import Changes, Watcher, watcher_for
from linedex.files.watch_watchdog import WatchdogWatcher
from linedex.model import RelPath

SOON = 10.0
WATCHERS: list[Callable[[Root], Watcher]] = [WatchdogWatcher]
if sys.platform == "linux":
    WATCHERS.append(watcher_for)


@pytest.fixture(params=WATCHERS, ids=["watchdog", "own"][: len(WATCHERS)])
def watcher(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watcher]:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "file").write_text("one\n")
    (root / "folder" / "inner").write_text("one\n")
    made: Watcher = request.param(Root(root))
    made.watch(RelPath(b""))
    made.watch(RelPath(b"folder"))
    made.drain()
    yield made
    made.close()


def named(watcher: Watcher, path: bytes) -> bool:
    """Drain until a path is named by itself or as a tree; an exact watcher must name it at once."""
    end = time.monotonic() + (0 if watcher.exact else SOON)
    while True:
        changes = watcher.drain()
        if changes.everything or path in changes.names | changes.trees:
            return True
        if time.monotonic() >= end:
            return False
        watcher.wait(0.1)


CHANGES: dict[str, tuple[Callable[[Path], object], bytes]] = {
    "created": (lambda root: (root / "new").write_text("x"), b"new"),
    "written": (lambda root: (root / "file").write_text("two\n"), b"file"),
    "written below": (lambda root: (root / "folder" / "inner").write_text("two\n"), b"folder/inner"),
    "deleted": (lambda root: (root / "file").unlink(), b"file"),
    "renamed from": (lambda root: (root / "file").rename(root / "other"), b"file"),
    "renamed to": (lambda root: (root / "file").rename(root / "other"), b"other"),
    "moved down": (lambda root: (root / "file").rename(root / "folder" / "file"), b"folder/file"),
    "folder made": (lambda root: (root / "made").mkdir(), b"made"),
    "folder renamed from": (lambda root: (root / "folder").rename(root / "away"), b"folder"),
    "folder renamed to": (lambda root: (root / "folder").rename(root / "away"), b"away"),
    "folder moved out": (lambda root: (root / "folder").rename(root.parent / "away"), b"folder"),
    "folder deleted": (lambda root: shutil.rmtree(root / "folder"), b"folder"),
    "rules written": (lambda root: (root / "folder" / ".ignore").write_text("x\n"), b"folder"),
    "repository made": (lambda root: (root / "folder" / ".git").mkdir(), b"folder"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_named(watcher: Watcher, tmp_path: Path, name: str) -> None:
    change, path = CHANGES[name]
    change(tmp_path / "root")
    assert named(watcher, path)


def test_a_quiet_folder_has_nothing_to_drain(watcher: Watcher) -> None:
    assert not watcher.drain()


def test_a_wait_is_ended_by_a_change(watcher: Watcher, tmp_path: Path) -> None:
    began = time.monotonic()
    (tmp_path / "root" / "file").write_text("two\n")
    watcher.wait(SOON)
    assert time.monotonic() - began < SOON


def test_a_wake_ends_the_next_wait(watcher: Watcher) -> None:
    began = time.monotonic()
    watcher.wake()
    watcher.wait(SOON)
    assert time.monotonic() - began < SOON


def test_a_forgotten_folder_is_not_counted(watcher: Watcher) -> None:
    before = watcher.folders
    watcher.forget([RelPath(b"folder"), RelPath(b"never-watched")])
    assert watcher.folders == before - 1


def test_names_are_bytes(watcher: Watcher, tmp_path: Path) -> None:
    Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), b"root", b"caf\xe9"))).write_text("x")
    assert named(watcher, b"caf\xe9")


def test_changes_are_false_when_there_are_none() -> None:
    assert not Changes()
    assert Changes(everything=True)
