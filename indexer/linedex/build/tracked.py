"""A watched root: what its watcher hears is turned into what is present on disk.

Promise: after `refresh`, `present` is what a walk would find, as far as the watcher names all changes; what it is
deaf to (`files.mounts`, files with several links, rule files outside of the walk, a renamed folder above the root) is
looked at by itself each time. Each folder is watched before it is listed. One thread at a time may be in here.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from linedex.build.present import Present, access_of
from linedex.build.sync import not_a_folder_any_more
from linedex.errors import NotFound
from linedex.files.ignore import REPOSITORY, IgnoreRules, WalkSettings
from linedex.files.mounts import Mounts
from linedex.files.names import display
from linedex.files.recheck import stat_many
from linedex.files.roots import Root
from linedex.files.walk import walk
from linedex.files.watch import Unwatchable, Watcher
from linedex.model import RelPath, SkipReason
from linedex.store.catalogue import Catalogue, key_path, path_key
from linedex.store.look import Look

_WHOLE = RelPath(b"")
_TOLD = 10_000
"""Paths of changes that are kept to be told; more of them are told as `anything may have changed`."""
_TICK_NS = 10_000_000
"""The kernel's clock for stamping files moves once a tick of at most this."""
_NEVER = (-1,)


class TrackedTree:
    """The watched folders and files of one root.

    Attributes:
        present: what stands there.
    """

    def __init__(
        self, root: Root, settings: WalkSettings, watcher: Watcher, catalogue: Catalogue, stopped: Callable[[], bool]
    ) -> None:
        """Take a root that nothing is known of yet; `scan` comes first.

        Args:
            root: the folder.
            settings: what of it is taken in.
            watcher: hears of its changes.
            catalogue: what it is compared with.
            stopped: asked during a scan whether to give up.
        """
        self.present = Present(catalogue)
        self._root = root
        self._settings = settings
        self._watcher = watcher
        self._stopped = stopped
        self._mounts = Mounts(root)
        self._identity = (0, 0)
        self._rules_outside: dict[bytes, tuple[int, ...]] = {}
        self._changed: set[bytes] = set()
        self._anything = False
        # a folder that could not be opened may be gone, or the root was away for a moment, which no event tells
        self._doubted: set[RelPath] = set()

    @property
    def blind(self) -> Mapping[RelPath, str]:
        """Folders whose changes raise no events, and why."""
        return self._mounts.blind

    @property
    def has_changed(self) -> bool:
        """Whether there is something for `take_changed`."""
        return self._anything or bool(self._changed)

    def take_changed(self) -> frozenset[RelPath] | None:
        """Return the paths that changed since the last call, an empty set for anything, None for nothing."""
        changed, self._changed = self._changed, set()
        anything, self._anything = self._anything, False
        if anything:
            return frozenset()
        return frozenset(map(key_path, changed)) or None

    def close(self) -> None:
        """Let go of the system's tables."""
        self._mounts.close()

    # looking

    def scan(self) -> None:
        """Watch and look at everything.

        Raises:
            NotFound: the root is not there.
            Unwatchable: there are more folders than may be watched, or the root is where no events are raised.
        """
        status = self._status()
        if _WHOLE in self.blind:
            raise Unwatchable(self.blind[_WHOLE])
        self._identity = (status.st_dev, status.st_ino)
        self._watcher.drain()
        began = time.time_ns()
        rules = IgnoreRules(self._root, self._settings)
        self._walk(_WHOLE, rules, twins=False)
        outside = (*rules.unlisted, *self._repositories_above())
        self._rules_outside = {path: _seen_key(path, began) for path in outside}

    def refresh(self, scope: RelPath) -> None:
        """Take in every change that was made before the call, of what raises no events only below `scope`.

        Raises:
            NotFound: the root is not there any more.
            Unwatchable: there are more folders by now than may be watched.
        """
        status = self._status()
        moved = (status.st_dev, status.st_ino) != self._identity
        if self._mounts.changed() or moved or self._rules_changed():
            self.scan()
            return
        changes = self._watcher.drain()
        if changes.everything:
            self.scan()
            return
        names, trees = set(changes.names), changes.trees | self._doubted
        self._doubted = set()
        trees |= {place for place in self.blind if path_key(place) in self.present.folders and _touch(place, scope)}
        names.update(path for key in self.present.linked if _touch(path := key_path(key), scope))
        if names or trees:
            self.look_at(names, trees)

    def look_at(self, names: Iterable[RelPath], trees: Iterable[RelPath]) -> None:
        """Look at files and folders by themselves, and at folders with all in them; wrong guesses do no harm."""
        tops = _outermost(trees)
        gone: list[bytes] = []
        files: list[tuple[bytes, os.stat_result]] = []
        began = time.time_ns()
        # made only when something is to be judged: reading the rules takes 0.2 ms
        rules = cache(lambda: IgnoreRules(self._root, self._settings))
        for path, status in self._stats({*names, *tops}):
            if _inside(path, tops):
                continue
            key = path_key(path)
            if status is None or not self._wanted(path, status, rules):
                gone.append(key)
            elif stat.S_ISREG(status.st_mode):
                gone += self.present.folders_below(key)
                files.append((key, status))
            else:
                known = self.present.folders.get(key)
                if path in tops or known is None or known.access != access_of(status):
                    self._walk(path, rules(), twins=True)
        for key in gone:
            self._drop(key)
        self._tell(self.present.meet(files))
        # what was written through a link just met is in its other names too
        twins = self._stats(map(key_path, self.present.take_twins()))
        linked = [(path_key(path), status) for path, status in twins if status and stat.S_ISREG(status.st_mode)]
        self._tell(self.present.meet(linked, twins=False))
        if rules.cache_info().currsize:
            for rule_file in rules().unlisted - self._rules_outside.keys():
                self._rules_outside[rule_file] = _seen_key(rule_file, began)

    def reconcile(self, found: Look, folders: set[bytes]) -> int:
        """Look again at what a walk saw otherwise; return how many files were not as they were known.

        Args:
            found: what the walk said of the whole root.
            folders: keys of the folders it met.
        """
        present, catalogue = self.present, found.catalogue
        present.rebase(catalogue)
        known = present.look(_WHOLE)
        if known is None:
            return 0
        differs = (found.current != known.current) | (found.gone != known.gone)
        keys = {catalogue.keys[place] for place in differs.nonzero()[0].tolist()}
        keys |= {new.key for new in found.new} ^ {new.key for new in known.new}
        keys |= present.folders.keys() - folders
        before = len(self._changed)
        self.look_at(map(key_path, keys), map(key_path, folders - present.folders.keys()))
        return len(self._changed) - before

    def _wanted(self, path: RelPath, status: os.stat_result, rules: Callable[[], IgnoreRules]) -> bool:
        """Say whether a walk would meet this; a known file need not be judged again, since no rules changed."""
        folder = stat.S_ISDIR(status.st_mode)
        if not folder and not stat.S_ISREG(status.st_mode):
            return False
        if not path:
            return True
        parent, _, name = path.rpartition(b"/")
        if name == REPOSITORY or path_key(parent) not in self.present.folders:
            return False
        if not self._settings.include_hidden and name.startswith(b"."):
            return False
        key = path_key(path)
        known = key in self.present.folders if folder else self.present.has(key)
        return (
            known
            or self._settings.include_ignored
            or not rules().governing(RelPath(parent)).ignores(name, is_folder=folder)
        )

    def _stats(self, paths: Iterable[RelPath]) -> Iterable[tuple[RelPath, os.stat_result | None]]:
        by_folder: dict[RelPath, list[bytes]] = {}
        for path in paths:
            if not path:
                yield path, self._status()
                continue
            folder, _, name = path.rpartition(b"/")
            by_folder.setdefault(RelPath(folder), []).append(name)
        for found in stat_many(self._root, by_folder.items()):
            if found.status is None and path_key(found.path) in self.present.folders:
                self._doubted.add(found.path)
            prefix = found.path + b"/" if found.path else b""
            for name, status in zip(by_folder[found.path], found.entries, strict=True):
                yield RelPath(prefix + name), status

    def _walk(self, top: RelPath, rules: IgnoreRules, *, twins: bool) -> None:
        """Watch and list a folder and all in it; what is not met there is there no more."""
        present, watcher = self.present, self._watcher
        former_files = set(present.files_below(path_key(top)))
        former_folders = set(present.folders_below(path_key(top)))
        present.forget_problems(path_key(top))
        watcher.watch(top)
        for folder in walk(self._root, self._settings, top, rules):
            if self._stopped():
                return
            key = path_key(folder.path)
            prefix = key + b"\0" if key else b""
            if folder.problem is SkipReason.VANISHED:
                self._doubted.add(folder.path)
                continue
            if folder.problem is not None or folder.status is None:
                present.meet_problem(key, f"{display(folder.path) or '.'}: {folder.problem}")
                continue
            former_folders.discard(key)
            if present.meet_folder(key, folder.status):
                self._tell((key,))
            for sub in folder.folders:
                watcher.watch(RelPath(folder.path + b"/" + sub.name if folder.path else sub.name))
            files = [(prefix + name, status) for name, status, _, _ in folder.files]
            self._tell(present.meet(files, twins=twins))
            former_files.difference_update(key for key, _ in files)
        self._tell(former_files)
        present.drop_files(former_files)
        self._tell(former_folders)
        watcher.forget(map(key_path, present.drop_folders(former_folders)))

    def _drop(self, key: bytes) -> None:
        files, folders = self.present.drop(key)
        self._tell(files)
        self._tell(folders)
        self._watcher.forget(map(key_path, folders))

    def _tell(self, keys: Iterable[bytes]) -> None:
        if not self._anything:
            self._changed.update(keys)
            if len(self._changed) > _TOLD:
                self._changed.clear()
                self._anything = True

    # what raises no events

    def _status(self) -> os.stat_result:
        try:
            status = os.stat(self._root.path)
        except OSError as error:
            raise NotFound(
                f"The folder `{display(self._root.path)}` is not there any more ({error.strerror}).",
                "Name it as it is called now.",
            ) from error
        if not stat.S_ISDIR(status.st_mode):
            raise not_a_folder_any_more(self._root)
        return status

    def _rules_changed(self) -> bool:
        return any(_stat_key(path) != known for path, known in self._rules_outside.items())

    def _repositories_above(self) -> list[bytes]:
        """Return where a repository around the root would be seen."""
        found, folder = [], self._root.path
        while folder != (folder := os.path.dirname(folder)):
            found.append(os.path.join(folder, REPOSITORY))
        return found


def _stat_key(path: bytes) -> tuple[int, ...]:
    """Return what tells whether a file outside of the walk is another one than before; a folder only whether it is."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    if stat.S_ISDIR(status.st_mode):
        return (status.st_ino,)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _seen_key(path: bytes, began_ns: int) -> tuple[int, ...]:
    """Return `_stat_key` of a file that was read after `began_ns`; one that may have changed since has no such key."""
    key = _stat_key(path)
    return _NEVER if len(key) > 1 and key[-1] + _TICK_NS >= began_ns else key


def _touch(path: bytes, scope: bytes) -> bool:
    """Say whether a path is at or below a scope, or the other way round."""
    return not scope or not path or (path + b"/").startswith(scope + b"/") or (scope + b"/").startswith(path + b"/")


def _inside(path: bytes, trees: set[RelPath]) -> bool:
    """Say whether a path lies in one of these folders."""
    if not trees:
        return False
    while path:
        path = path.rpartition(b"/")[0]
        if path in trees:
            return True
    return False


def _outermost(trees: Iterable[RelPath]) -> set[RelPath]:
    found = set(trees)
    return {path for path in found if not _inside(path, found)}
