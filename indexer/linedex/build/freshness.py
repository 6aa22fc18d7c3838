"""Freshness of one started index: what is present on disk is kept up to date, so that a question need not walk.

Promise: a look that `look` gives shows every change that had returned to its writer before the call, as far as the
watcher is exact. The asking thread takes the changes in by itself, under the lock; the thread behind only sees to it
that changes are indexed and told when nobody asks. It sleeps while nothing happens, and walks the root once in a
while, within a share of the time that is given, to notice what no event told; a walk that finds nothing writes nothing.

Where the root cannot be watched there is no look to give, and every question walks; `words` and `problems` say so. As
often as a watched root is walked, a root that is not is tried again: the limit of watches may have been raised.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from linedex.build.sync import Difference, look, walked
from linedex.build.tracked import TrackedTree
from linedex.errors import NotFound
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.files.watch import Unwatchable, Watcher, watcher_for
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex.model import RelPath
from linedex.store.catalogue import Catalogue
from linedex.store.look import Look

Told = Callable[[frozenset[RelPath]], None]

STAT_EACH = "stat at each query"
_WHOLE = RelPath(b"")
_DRAIN_SECONDS = 0.02
"""Least time between two drains of the thread behind: a writer of small pieces raises thousands of events a second."""
_QUIET_SECONDS = 0.1
"""So long nothing must happen for a burst to count as over ..."""
_BURST_SECONDS = 1.0
"""... and so long after its first change what there is of it is indexed."""


def pause(wanted: float, took: float, limits: Limits) -> float:
    """Return how long to wait after a walk that took so many seconds, when so many are wanted between two."""
    return max(wanted, took / limits.walk_share)


class Freshness:
    """Keeps what is present below one root."""

    def __init__(
        self,
        root: Root,
        settings: WalkSettings,
        catalogue: Callable[[], Catalogue],
        changed: Callable[[], None],
        closing: threading.Event,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """Do nothing yet; `begin` comes first.

        Args:
            root: the folder.
            settings: what of it is taken in.
            catalogue: gives what the index knows now.
            changed: called from the thread behind when there is something to index.
            closing: set when a scan that is going on must end; `close` follows.
            limits: how often the root may be walked.
        """
        self._root = root
        self._settings = settings
        self._catalogue = catalogue
        self._index_changes = changed
        self._lock = threading.Lock()
        self._tree: TrackedTree | None = None
        self._watcher: Watcher | None = None
        self._refusal = ""
        self._closing = closing
        self._limits = limits
        self._thread: threading.Thread | None = None
        self._subscribers: dict[object, Told] = {}
        self._walked_seconds = 0.0
        self._settled = threading.Event()
        self._settled.set()
        self._begun = threading.Event()
        self._begun.set()
        self.reconciled = 0
        """Changes that only a walk noticed, though events were to tell of them."""
        self.reconciliations = 0
        """Walks of a watched root."""

    # beginning and end

    def begin(self) -> None:
        """Watch the root, look at all of it, and keep it so; returns when that is done or turned out impossible."""
        self._begun.clear()
        try:
            self._watch()
        finally:
            self._begun.set()
        self._thread = threading.Thread(target=self._run, name="freshness", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        """Watch the root and look at all of it; questions about small parts that come meanwhile walk by themselves."""
        began = time.monotonic()
        watcher: Watcher | None = None
        tree: TrackedTree | None = None
        try:
            watcher = watcher_for(self._root)
            tree = TrackedTree(self._root, self._settings, watcher, self._catalogue(), self._closing.is_set)
            tree.scan()
            tree.take_changed()
        except (Unwatchable, NotFound) as refusal:
            if tree is not None:
                tree.close()
            if watcher is not None:
                watcher.close()
            self._refusal = str(refusal) if isinstance(refusal, Unwatchable) else "the folder was not there"
        else:
            with self._lock:
                self._watcher, self._tree, self._refusal = watcher, tree, ""
        self._walked_seconds = time.monotonic() - began

    def close(self) -> None:
        """Stop watching; `closing` is set by now, and `begin` has returned."""
        if self._watcher is not None:
            self._watcher.wake()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._poll("")
            self._release()
            self._settled.set()

    def _poll(self, reason: str) -> None:
        """From now on nothing is known; the thread behind gives back the watches, since it may be waiting on them."""
        self._refusal = reason
        if self._tree is not None:
            self._tree.close()
            self._tree = None
        if self._watcher is not None:
            self._watcher.wake()

    def _release(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    # asking

    def look(self, scope: RelPath) -> Look | None:
        """Return what stands at or below `scope` now; None when only a walk can tell.

        Raises:
            NotFound: the root is not there any more.
        """
        began = time.perf_counter()
        if self._tree is None and self._is_most(scope):
            # two walks at once take longer than one after the other
            self._begun.wait()
        if self._tree is None:
            return None
        with self._lock:
            tree = self._refreshed(scope)
            if tree is None or self._closing.is_set():
                return None
            tree.present.rebase(self._catalogue())
            found = tree.present.look(scope)
        if found is None:
            return None
        return replace(found, seconds=time.perf_counter() - began)

    def _is_most(self, scope: RelPath) -> bool:
        """Say whether a scope holds more than half of the known files."""
        catalogue = self._catalogue()
        low, high = catalogue.below(scope)
        return not scope or 2 * (high - low) > len(catalogue)

    def difference(self, catalogue: Catalogue) -> Difference | None:
        """Return what `catalogue` has to learn; None when only a walk can tell.

        Raises:
            NotFound: the root is not there any more.
        """
        with self._lock:
            tree = self._refreshed(_WHOLE)
            if self._closing.is_set():
                return Difference()  # a scan may have been given up halfway
            if tree is None:
                return None
            tree.present.rebase(catalogue)
            return tree.present.difference(self._root)

    def follow(self) -> None:
        """Compare with the catalogue as it is now, so that nothing is kept twice until somebody asks."""
        with self._lock:
            if self._tree is not None:
                self._tree.present.rebase(self._catalogue())

    def _refreshed(self, scope: RelPath) -> TrackedTree | None:
        tree, watcher = self._tree, self._watcher
        if tree is None or watcher is None:
            return None
        try:
            tree.refresh(scope)
        except Unwatchable as refusal:
            self._poll(str(refusal))
            return None
        if tree.has_changed and threading.current_thread() is not self._thread:
            self._settled.clear()
            watcher.wake()  # the thread behind has not seen the events that were read here
        return tree

    @property
    def words(self) -> str:
        """How changes are noticed, for `IndexStatus.freshness`."""
        watcher = self._watcher
        if watcher is not None and self._tree is not None:
            how = "at once" if watcher.exact else "eventual"
            return f"{how}: {watcher.name} watches {watcher.folders:,} folder{'s' if watcher.folders != 1 else ''}"
        return f"polling: {STAT_EACH}" if self._refusal else STAT_EACH

    @property
    def problems(self) -> tuple[str, ...]:
        """What keeps changes from being noticed at once, in sentences."""
        found = []
        if self._refusal:
            found.append(f"Changes are found by polling, at each query: {self._refusal}.")
        tree = self._tree
        if tree is not None:
            found += [f"This part is looked at anew at each query: {reason}." for reason in tree.blind.values()]
        return tuple(found)

    # telling

    def subscribe(self, told: Told) -> Callable[[], None]:
        """Call `told` with the paths that changed, an empty set for anything, until the returned function is called.

        The calls come from the thread behind, soon after the changes.
        """
        token = object()
        self._subscribers[token] = told
        return lambda: self._subscribers.pop(token, None) and None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the changes that are known of were given to the index; return whether that came true in time."""
        return self._settled.wait(timeout)

    def _settle(self) -> None:
        with self._lock:
            if self._tree is None or not self._tree.has_changed:
                self._settled.set()

    def _tell(self, changed: frozenset[RelPath]) -> None:
        for told in list(self._subscribers.values()):
            told(changed)
        self._index_changes()

    # the thread behind

    def _run(self) -> None:
        while not self._closing.is_set():
            if self._tree is not None:
                self._run_watching()
            else:
                self._run_polling()

    def _run_watching(self) -> None:
        """Take in what happens, for as long as the root can be watched."""
        due = self._next_walk()
        while (watcher := self._watcher) is not None and self._tree is not None:
            watcher.wait(max(0.0, due - time.monotonic()))
            if self._closing.is_set():
                return
            if time.monotonic() >= due:
                self._reconcile()
                due = self._next_walk()
            self._take_burst()
        with self._lock:
            self._release()
            self._settled.set()

    def _next_walk(self) -> float:
        return time.monotonic() + pause(self._limits.reconcile_seconds, self._walked_seconds, self._limits)

    def _take_burst(self) -> None:
        """Take in changes until it is quiet or the burst has lasted long; then have them indexed and told."""
        began = last = time.monotonic()
        changed: frozenset[RelPath] | None = None
        while not self._closing.is_set():
            more = self._taken()
            now = time.monotonic()
            if more is not None:
                changed = more if changed is None else _both(changed, more)
                last = now
            if changed is None:
                return
            if now - last >= _QUIET_SECONDS or now - began >= _BURST_SECONDS:
                self._tell(changed)
                self._settle()
                return
            self._closing.wait(_DRAIN_SECONDS)

    def _taken(self) -> frozenset[RelPath] | None:
        """Return what changed since the last call; see `TrackedTree.take_changed`."""
        with self._lock:
            try:
                tree = self._refreshed(_WHOLE)
            except NotFound:
                self._settled.set()
                return None
            changed = None if tree is None else tree.take_changed()
            if changed is not None:
                self._settled.clear()
            return changed

    def _run_polling(self) -> None:
        """Look at times whether there is something to index, until the root can be watched."""
        due = self._next_walk()
        while not self._closing.wait(pause(self._limits.poll_seconds, self._walked_seconds, self._limits)):
            if time.monotonic() >= due:
                self._watch()
                if self._tree is not None:
                    self._tell(frozenset())
                    return
                due = self._next_walk()
            began = time.monotonic()
            with suppress(NotFound):
                if look(self._root, self._settings, self._catalogue()).changed:
                    self._tell(frozenset())
            self._walked_seconds = time.monotonic() - began

    def _reconcile(self) -> None:
        """Walk the root beside everything else, and look again, under the lock, at what seems to differ."""
        began = time.monotonic()
        try:
            found, folders = walked(self._root, self._settings, self._catalogue())
        except NotFound:
            return
        self._walked_seconds = time.monotonic() - began
        with self._lock:
            try:
                tree = self._refreshed(_WHOLE)
                if tree is not None and not self._closing.is_set():
                    self.reconciliations += 1
                    self.reconciled += tree.reconcile(found, {folder.key for folder in folders})
            except NotFound:
                return
            except Unwatchable as refusal:
                self._poll(str(refusal))


def _both(one: frozenset[RelPath], other: frozenset[RelPath]) -> frozenset[RelPath]:
    """Return the paths of two changes; an empty set is anything."""
    return one | other if one and other else frozenset()
