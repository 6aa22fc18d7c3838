"""What a build has done so far, readable from any thread."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from linedex.answers import Phase, PhaseProgress


class Progress:
    """Counts of the running or last build, phase by phase."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phase = Phase.IDLE
        self._phases: dict[Phase, PhaseProgress] = {}
        self._began = 0.0

    def begin(self, phase: Phase, files: int = 0, size: int = 0) -> None:
        """Enter a phase that has `files` files of `size` bytes to do; unknown totals are 0 and may grow."""
        with self._lock:
            self._phase = phase
            self._began = time.monotonic()
            self._phases[phase] = PhaseProgress(total_files=files, total_bytes=size)

    def advance(self, files: int, size: int, *, found: bool = False) -> None:
        """Count files and bytes as done; with `found` they are added to the totals as well."""
        with self._lock:
            now = self._phases[self._phase]
            self._phases[self._phase] = PhaseProgress(
                now.done_files + files,
                now.total_files + (files if found else 0),
                now.done_bytes + size,
                now.total_bytes + (size if found else 0),
                time.monotonic() - self._began,
            )

    def more(self, size: int) -> None:
        """Count bytes that are to be done in addition."""
        with self._lock:
            now = self._phases[self._phase]
            self._phases[self._phase] = replace(now, total_bytes=now.total_bytes + size)

    def end(self) -> float:
        """Leave the phase; return how many seconds it took."""
        with self._lock:
            took = time.monotonic() - self._began
            if self._phase is not Phase.IDLE:
                now = self._phases[self._phase]
                self._phases[self._phase] = PhaseProgress(
                    now.done_files, now.total_files, now.done_bytes, now.total_bytes, took
                )
            self._phase = Phase.IDLE
        return took

    def snapshot(self) -> tuple[Phase, dict[Phase, PhaseProgress]]:
        """Return the phase and the counts of each phase so far."""
        with self._lock:
            return self._phase, dict(self._phases)
