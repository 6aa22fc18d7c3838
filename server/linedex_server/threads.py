"""A few threads for what would hold up the loop: calls of tools, reads of resources.

anyio's way into a thread and back takes 110 us a call, that of `concurrent.futures` 95, since both signal through locks
made in Python. A `queue.SimpleQueue` and one call back into the loop take 13.

Promise: no more run at once than allowed, and the rest wait in the order they came. Nobody waits for what is abandoned;
what was begun of it goes on to its end in a thread that no longer counts, so that a read that hangs takes nobody's
place.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Returned(Generic[_Answer]):
    """What work returned."""

    answer: _Answer


@dataclass(frozen=True, slots=True)
class Raised:
    """What work raised."""

    error: BaseException


@dataclass(slots=True)
class Job(Generic[_Answer]):
    """What is to be done, who hears of its end in which loop, and how far it is.

    The last two change under the lock of the threads.
    """

    work: Callable[[], _Answer]
    ended: Callable[[Returned[_Answer] | Raised], None]
    loop: asyncio.AbstractEventLoop
    begun: bool = False
    abandoned: bool = False


class Threads:
    """At most `most` threads, started as they are needed; all but the work itself belongs to one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._running = 0
        self._wanted = 0

    def start(self, work: Callable[[], _Answer], ended: Callable[[Returned[_Answer] | Raised], None]) -> Job[_Answer]:
        """Let `work` run in one of the threads; `ended` is called in the loop, unless the job is abandoned before."""
        job = Job(work, ended, asyncio.get_running_loop())
        self._wanted += 1
        self._staff()
        self._waiting.put(job)
        return job

    def abandon(self, job: Job[Any]) -> None:
        """Wait no longer for a job whose end was not told; if it has not begun, it never will."""
        with self._lock:
            job.abandoned = True
            self._running -= job.begun
        self._wanted -= 1
        self._staff()

    async def run(self, work: Callable[[], _Answer]) -> _Answer:
        """Return what `work` returns in one of the threads, or raise what it raises."""
        future: asyncio.Future[Returned[_Answer] | Raised] = asyncio.get_running_loop().create_future()
        job = self.start(work, future.set_result)
        try:
            outcome = await future
        except asyncio.CancelledError:
            if future.cancelled():
                self.abandon(job)
            raise
        if isinstance(outcome, Raised):
            raise outcome.error
        return outcome.answer

    def close(self) -> None:
        """Let the threads end once they have nothing to do; nothing more may be started."""
        self._most = 0
        for _ in range(self._running):
            self._waiting.put(None)

    def _staff(self) -> None:
        while self._running < min(self._wanted, self._most):
            self._running += 1
            threading.Thread(target=self._serve, name="call", daemon=True).start()

    def _serve(self) -> None:
        while (job := self._waiting.get()) is not None:
            with self._lock:
                job.begun = not job.abandoned
            if not job.begun:
                continue
            outcome = _outcome(job.work)
            with self._lock:
                if job.abandoned:
                    return
                job.begun = False
            # a loop that has ended has nobody who waits
            with suppress(RuntimeError):
                job.loop.call_soon_threadsafe(self._end, job, outcome)
            # what was answered is not kept until the next call
            del job, outcome

    def _end(self, job: Job[_Answer], outcome: Returned[_Answer] | Raised) -> None:
        if not job.abandoned:
            self._wanted -= 1
            job.ended(outcome)


def _outcome(work: Callable[[], _Answer]) -> Returned[_Answer] | Raised:
    try:
        return Returned(work())
    except BaseException as error:  # noqa: BLE001  # whatever it is, it belongs to whoever waits
        return Raised(error)
