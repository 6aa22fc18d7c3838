"""What all sessions of one daemon share: the open indexes, who is here, and the end of it all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from linedex_server.config import Settings
from linedex_server.indexes import SharedIndexes
from linedex_server.metrics import Meter
from linedex_server.rendezvous.election import Seat

MOST_SESSIONS = 256
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Guest:
    """A client that is connected: its process, and the roots it sees."""

    pid: int
    roots: tuple[Path, ...]


class House:
    """The state of a running daemon; all but `indexes` belongs to the event loop's thread.

    Attributes:
        seat: where it listens, and its right to.
        settings: its own, from whoever started it.
        indexes: every index that is open.
        meter: counts what all sessions ask.
        ending: set when it has begun to end; no session begins after that.
        began: when it was elected, in seconds since the epoch.
    """

    def __init__(self, seat: Seat, settings: Settings) -> None:
        self.seat = seat
        self.settings = settings
        self.indexes = SharedIndexes()
        self.meter = Meter()
        self.ending = anyio.Event()
        self.began = time.time()
        self._guests: list[Guest] = []
        self._left = time.monotonic()

    @property
    def guests(self) -> tuple[Guest, ...]:
        """The clients that are connected."""
        return tuple(self._guests)

    @property
    def is_full(self) -> bool:
        """Whether no further session can be served."""
        return len(self._guests) >= MOST_SESSIONS

    @contextmanager
    def hosting(self, guest: Guest) -> Iterator[None]:
        """Count a client as connected meanwhile."""
        self._guests.append(guest)
        try:
            yield
        finally:
            self._guests.remove(guest)
            self._left = time.monotonic()

    def retire(self) -> None:
        """Let nobody in any more and begin to end; whoever comes now starts another daemon."""
        if not self.ending.is_set():
            self.seat.withdraw()
            self.ending.set()

    async def retire_when_idle(self, seconds: float) -> None:
        """Retire when for so long nobody was here and nothing was indexed."""
        while not self.ending.is_set():
            if self._guests or any(not index.wait(0) for index in self.indexes.opened()):
                self._left = time.monotonic()
            left = self._left + seconds - time.monotonic()
            if left <= 0:
                self.retire()
                return
            await anyio.sleep(left)

    async def emptied(self) -> None:
        """Return when nobody is connected any more."""
        while self._guests:
            await anyio.sleep(_LOOK_SECONDS)
