"""How far a search is, and whether anybody still waits for it.

Promise: a search that was cancelled reads at most the rest of the file, or of the window of a large file, that it is
in. One thread works, any other may look or cancel: each field is written by one side only, so no lock is needed.
"""

from __future__ import annotations

from linedex.errors import Cancelled


class Progress:
    """One search as seen by whoever waits for it.

    Attributes:
        done: files looked into so far.
        total: files that have to be looked into for the whole answer; a full page ends before that.
        read: bytes of a large log that were read to know its times.
        size: bytes of it that have to be, 0 while there is no such log.
    """

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self.read = 0
        self.size = 0
        self._cancelled = False

    def cancel(self) -> None:
        """End the search at its next file or window; may be called from any thread, at any time."""
        self._cancelled = True

    def begin(self, total: int) -> None:
        """Hear that a search of `total` files begins."""
        self.done, self.total = 0, total

    def step(self) -> None:
        """Hear that the next file is being looked into."""
        self.done += 1

    def reads(self, done: int, size: int) -> None:
        """Hear that so many of the bytes of a log are read."""
        self.read, self.size = done, size

    def check(self) -> None:
        """Go on, or end here.

        Raises:
            Cancelled: `cancel` was called.
        """
        if self._cancelled:
            raise Cancelled("Nobody waits for this answer any more.")
