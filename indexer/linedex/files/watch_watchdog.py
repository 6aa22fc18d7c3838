"""The watcher of macOS and Windows: watchdog's observer, behind the same interface.

Promise: changes are named when the system has told them, which may be after a question about them; so it is not
exact. Events wait in sets of bounded size; past the bound everything counts as changed.

The observer watches the whole root by itself, ignored folders too; what it says of those is dropped by who looks at
the names. A moved folder names both of its places as trees, because watchdog mistakes paths inside it afterwards.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from linedex.files.ignore import IGNORE_FILES, REPOSITORY
from linedex.files.roots import Root
from linedex.files.watch import Changes, Unwatchable
from linedex.model import RelPath

_HELD = 50_000
"""Names that wait to be drained, at most."""
_STOP_SECONDS = 5.0
# without a filter, watchdog's own listing of folders raises events that overflow its queue
_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]


class WatchdogWatcher(FileSystemEventHandler):
    """Watches a whole root through watchdog."""

    exact = False
    name = "watchdog"

    def __init__(self, root: Root) -> None:
        """Begin to watch `root` with everything in it.

        Raises:
            Unwatchable: the system refuses.
        """
        self._root = root
        self._guard = threading.Lock()
        self._something = threading.Event()
        self._names: set[RelPath] = set()
        self._trees: set[RelPath] = set()
        self._everything = False
        self._watched: set[RelPath] = set()
        self._observer = Observer()
        try:
            self._observer.schedule(self, os.fsdecode(root.path), recursive=True, event_filter=_EVENTS)
            self._observer.start()
        except OSError as error:
            raise Unwatchable(f"the folder cannot be watched ({error.strerror or error})") from error

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._watched)

    def watch(self, folder: RelPath) -> None:
        """Count a folder in; the observer watches it already."""
        self._watched.add(folder)

    def forget(self, folders: Iterable[RelPath]) -> None:
        """Count folders out."""
        self._watched.difference_update(folders)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Keep what an event says; called on the observer's thread."""
        is_tree = event.is_directory
        with self._guard:
            for spelled in (event.src_path, event.dest_path):
                path = self._root.below(os.fsencode(spelled)) if spelled else None
                if path is None:
                    continue
                folder, _, name = path.rpartition(b"/")
                if name == REPOSITORY or name in IGNORE_FILES:
                    self._trees.add(RelPath(folder))
                elif is_tree:
                    self._trees.add(path)
                else:
                    self._names.add(path)
            if len(self._names) + len(self._trees) > _HELD:
                self._names, self._trees, self._everything = set(), set(), True
        self._something.set()

    def drain(self) -> Changes:
        """Return what the system has told of since the last call."""
        with self._guard:
            found = Changes(frozenset(self._names), frozenset(self._trees), self._everything)
            self._names, self._trees, self._everything = set(), set(), False
        return found

    def wait(self, timeout: float) -> None:
        """Wait until the system has told something; see `Watcher.wait`."""
        self._something.wait(timeout)
        self._something.clear()

    def wake(self) -> None:
        """End a `wait`."""
        self._something.set()

    def close(self) -> None:
        """Stop the observer."""
        self._observer.stop()
        self._observer.join(_STOP_SECONDS)
