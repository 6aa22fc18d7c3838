"""Watching a root: the interface of watchers, and the choice of one.

Promise of every watcher: what changed is named, or everything is said to have changed. What it says is a hint, never
a fact: who hears that a name changed looks at the disk again. A watcher whose `exact` is true also promises that
`drain` names every change that had returned to its writer, in any process, before the call.

Where an exact watcher is blind: stores through a mapping until it is unmapped, writes through a hard link that stands
outside the root, and mounts whose files other machines or a user's process change (`files.mounts` names those).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from linedex.files.roots import Root
from linedex.model import RelPath

_INOTIFY = sys.platform.startswith("linux")


class Unwatchable(Exception):
    """A root, or one more folder of it, cannot be watched; the message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What may have changed since the last drain.

    Attributes:
        names: files and folders to be looked at by themselves.
        trees: folders to be looked at with all that is in them, if they are still there.
        everything: whether events were lost, so that the whole root must be looked at and watched again.
    """

    names: frozenset[RelPath] = frozenset()
    trees: frozenset[RelPath] = frozenset()
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.names or self.trees or self.everything)


class Watcher(Protocol):
    """Watches the folders of one root that it was told of. Only `wait` and `wake` may be called without a lock.

    Attributes:
        exact: whether `drain` names every change made before it was called.
        name: what watches, for a person.
    """

    exact: bool
    name: str

    @property
    def folders(self) -> int:
        """How many folders are watched."""

    def watch(self, folder: RelPath) -> None:
        """Watch a folder from now on; called before it is listed, so that no change falls between the two.

        A folder that is gone or may not be read is passed over: the events of the folder around it tell of that.

        Raises:
            Unwatchable: the system refuses to watch more.
        """

    def forget(self, folders: Iterable[RelPath]) -> None:
        """Stop watching folders, unless they are watched under another name by now."""

    def drain(self) -> Changes:
        """Return what may have changed since the last call."""

    def wait(self, timeout: float) -> None:
        """Wait until there may be something to drain, `wake` is called, or `timeout` seconds have passed."""

    def wake(self) -> None:
        """End a `wait`, now or at its next call."""

    def close(self) -> None:
        """Stop watching."""


def watcher_for(root: Root) -> Watcher:
    """Return the best watcher this system has for `root`; no folder is watched yet.

    Raises:
        Unwatchable: it has none.
    """
    # either import takes 5 ms or more, and only a started index needs it
    if _INOTIFY:
        from linedex.files.watch_inotify import InotifyWatcher  # noqa: PLC0415

        return InotifyWatcher(root)
    from linedex.files.watch_watchdog import WatchdogWatcher  # noqa: PLC0415

    return WatchdogWatcher(root)
