"""Facts that were made once and are true as long as what they are made of is the same: a bounded memory of them.

Promise: never more than so many facts; the one that was asked for longest ago makes room.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """The facts last made of files that the index did not know, by fingerprint; the oldest makes room."""

    def __init__(self, capacity: int) -> None:
        """Keep at most `capacity` facts."""
        self._capacity = capacity
        self._facts: OrderedDict[object, T] = OrderedDict()
        self._guard = threading.Lock()

    def find(self, key: object) -> T | None:
        """Return the fact under `key`, None when there is none."""
        with self._guard:
            return self._facts.get(key)

    def get(self, key: object, make: Callable[[], T], *, keep: bool) -> T:
        """Return the fact under `key`, made and, if `keep`, remembered when there is none."""
        with self._guard:
            if key in self._facts:
                self._facts.move_to_end(key)
                return self._facts[key]
        made = make()
        if keep:
            with self._guard:
                self._facts[key] = made
                if len(self._facts) > self._capacity:
                    self._facts.popitem(last=False)
        return made
