"""Which languages may be parsed: one whose parser crashes again and again is left alone until the next start."""

from __future__ import annotations

import threading
from collections import defaultdict, deque

from linedex.build.workers import Failure, FailureKind

_CRASHES = 3
_AMONG = 50
"""So many crashes among the last so many files of a language switch it off."""


class CrashPolicy:
    """Which languages may still be parsed. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: dict[str, deque[bool]] = defaultdict(lambda: deque(maxlen=_AMONG))
        self._off: dict[str, str] = {}

    def allows(self, language: str) -> bool:
        """Return whether files of this language are parsed."""
        with self._lock:
            return language not in self._off

    def record(self, language: str, failure: Failure | None) -> None:
        """Note what became of one file; only crashes count against a language, slow files do not."""
        crashed = failure is not None and failure.kind is FailureKind.CRASHED
        with self._lock:
            recent = self._recent[language]
            recent.append(crashed)
            if crashed and recent.count(True) >= _CRASHES and failure is not None:
                self._off[language] = failure.detail

    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each language that is switched off."""
        with self._lock:
            return tuple(
                f"Symbols of {language} are off until the next start: its parser crashed {_CRASHES} times within "
                f"{_AMONG} files (last: {detail})."
                for language, detail in sorted(self._off.items())
            )
