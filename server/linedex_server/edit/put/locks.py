"""One writer at a time for each name and each file of this process.

Promise: `Locks.held` returns once nobody else in this process works on any of the keys; keys are taken in one order,
so two callers never wait for each other, and a wait has an end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class Locks:
    """Locks by key, kept only as long as somebody uses them."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}
        self._guard = threading.Lock()

    @contextmanager
    def held(self, keys: Iterable[tuple[int | bytes, ...]], seconds: float) -> Iterator[None]:
        """Hold the locks of all `keys` for the time of the block.

        Args:
            keys: comparable with each other; a key named twice is taken once.
            seconds: how long to wait for all of them.

        Raises:
            TimeoutError: another held one of them for that long.
        """
        end = time.monotonic() + seconds
        with ExitStack() as stack:
            for key in sorted(set(keys)):
                stack.enter_context(self._one(key, end))
            yield

    @contextmanager
    def _one(self, key: Hashable, end: float) -> Iterator[None]:
        with self._guard:
            entry = self._entries.setdefault(key, _Entry())
            entry.users += 1
        try:
            if not entry.lock.acquire(timeout=max(0.0, end - time.monotonic())):
                raise TimeoutError
            try:
                yield
            finally:
                entry.lock.release()
        finally:
            with self._guard:
                entry.users -= 1
                if not entry.users:
                    del self._entries[key]
