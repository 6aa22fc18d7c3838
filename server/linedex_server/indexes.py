"""The indexes of one process, each opened once and shared by all sessions that serve its root.

Promise: an index is open as long as a session leases it, and some time longer: the few that were let go of last stay,
so that a client which comes back finds its root indexed and watched. Opening, which reads what is stored, waits for
the first question or `start`, never holds up a handshake, and happens once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from linedex.files.ignore import WalkSettings
from linedex.index import Index
from linedex.limits import Limits

SPARE = 4
"""Indexes kept open that nobody leases."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What decides an index; two sessions with the same share it.

    Attributes:
        root: the folder's real path.
        sidecar: where its index is stored.
        walk: what of the folder belongs to it.
        loose: whether only files that are named belong to it.
        added_languages: the folder of languages a person added.
        state: the state folder, left out of the root if it lies below it.
    """

    root: Path
    sidecar: Path
    walk: WalkSettings
    loose: bool
    added_languages: Path
    state: Path


class _Shared:
    """One index and how many lease it; its maker guards `leases`."""

    def __init__(self, opening: Opening, limits: Limits) -> None:
        self.opening = opening
        self.leases = 0
        self._limits = limits
        self._lock = threading.Lock()
        # a session's start, in a thread of its own, may come while the daemon already closes
        self._life = threading.Lock()
        self._closed = False
        self._index: Index | None = None
        self.started = False

    def index(self) -> Index:
        with self._lock:
            if self._index is None:
                opening = self.opening
                self._index = Index(
                    opening.root,
                    opening.sidecar,
                    self._limits,
                    settings=opening.walk,
                    loose=opening.loose,
                    added_languages=opening.added_languages,
                    state=opening.state,
                )
            return self._index

    def opened(self) -> Index | None:
        return self._index

    def start(self) -> None:
        with self._life:
            if not self._closed:
                self.index().start()
                self.started = True

    def close(self) -> None:
        with self._life:
            self._closed = True
            if self._index is not None:
                self._index.close()


class Lease:
    """One session's right to an index, under limits of its own; end it with `release`."""

    def __init__(self, shared: _Shared, limits: Limits, owner: SharedIndexes) -> None:
        self._shared = shared
        self._limits = limits
        self._owner = owner
        self._lock = threading.Lock()
        self._index: Index | None = None

    @property
    def index(self) -> Index:
        """The index; the first to ask opens it."""
        with self._lock:
            if self._index is None:
                self._index = self._shared.index().under(self._limits)
            return self._index

    def start(self) -> None:
        """Begin indexing in the background, unless that was begun before."""
        self._shared.start()

    def release(self) -> None:
        """Give the lease back, once; the index may be closed now, which waits for its next commit."""
        self._owner.released(self._shared)


class SharedIndexes:
    """All indexes that are open in this process."""

    def __init__(self, spare: int = SPARE) -> None:
        """`spare` is how many indexes stay open that nobody leases any more."""
        self._spare = spare
        self._lock = threading.Lock()
        self._open: dict[Opening, _Shared] = {}
        self._unused: OrderedDict[Opening, _Shared] = OrderedDict()

    def lease(self, opening: Opening, limits: Limits) -> Lease:
        """Return a lease of an index; `limits` are those of its answers, and of the building for the first lease."""
        with self._lock:
            return self._leased(self._open.setdefault(opening, _Shared(opening, limits)), limits)

    def _leased(self, shared: _Shared, limits: Limits) -> Lease:
        self._unused.pop(shared.opening, None)
        shared.leases += 1
        return Lease(shared, limits, self)

    def lease_started(self, opening: Opening, limits: Limits) -> Lease | None:
        """Return a lease of an index that is open and kept up to date; None if it is not, and then nothing is opened.

        Args:
            opening: what decides the index.
            limits: those of its answers.
        """
        with self._lock:
            shared = self._open.get(opening)
            return self._leased(shared, limits) if shared is not None and shared.started else None

    def released(self, shared: _Shared) -> None:
        """Hear that a lease has ended; close what has been unused for longest if there are too many of them."""
        surplus = []
        with self._lock:
            shared.leases -= 1
            if not shared.leases and self._open.get(shared.opening) is shared:
                self._unused[shared.opening] = shared
                while len(self._unused) > self._spare:
                    opening, oldest = self._unused.popitem(last=False)
                    del self._open[opening]
                    surplus.append(oldest)
        for oldest in surplus:
            oldest.close()

    def opened(self) -> tuple[Index, ...]:
        """Return the indexes that are open now, in the order of their paths."""
        with self._lock:
            everyone = sorted(self._open.values(), key=lambda shared: shared.opening.root)
        return tuple(index for shared in everyone if (index := shared.opened()) is not None)

    def close(self) -> None:
        """Close every index; what is half done goes on at the next start."""
        with self._lock:
            everyone = list(self._open.values())
            self._open.clear()
            self._unused.clear()
        closing = [threading.Thread(target=shared.close) for shared in everyone]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()
