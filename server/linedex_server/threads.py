"""A few threads for what would hold up the loop: calls of tools, reads of resources.

anyio's way into a thread and back takes 110 us a call, that of `concurrent.futures` 95, since both signal through locks
made in Python. A `queue.SimpleQueue` and one call back into the loop take 13.

Promise: no more run at once than allowed, and the rest wait in the order they came. Who is cancelled waits no longer;
what was begun for them goes on to its end in a thread that no longer counts, so that a read that hangs takes nobody's
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


@dataclass(slots=True)
class Job(Generic[_Answer]):
    """What is to be done, whom it is for, and how far it is; the last two change under the lock of the threads."""

    work: Callable[[], _Answer]
    future: asyncio.Future[_Answer]
    begun: bool = False
    abandoned: bool = False


class Threads:
    """At most `most` threads, started as they are needed; all of it belongs to one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._running = 0
        self._wanted = 0

    async def run(self, work: Callable[[], _Answer]) -> _Answer:
        """Return what `work` returns in one of the threads, or raise what it raises."""
        return await self.finished(self.start(work))

    def start(self, work: Callable[[], _Answer]) -> Job[_Answer]:
        """Let `work` begin in one of the threads; whoever starts it awaits `finished`."""
        job = Job(work, asyncio.get_running_loop().create_future())
        self._wanted += 1
        self._staff()
        self._waiting.put(job)
        return job

    async def finished(self, job: Job[_Answer]) -> _Answer:
        """Return what the work of a job returned, or raise what it raised."""
        try:
            return await job.future
        finally:
            self._wanted -= 1
            if not job.future.done() or job.future.cancelled():
                with self._lock:
                    job.abandoned = True
                    self._running -= job.begun
                self._staff()

    def close(self) -> None:
        """Let the threads end once they have nothing to do; nothing more may be run."""
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
            settle = _outcome(job.work)
            with self._lock:
                if job.abandoned:
                    return
                job.begun = False
            # a loop that has ended has nobody who waits
            with suppress(RuntimeError):
                job.future.get_loop().call_soon_threadsafe(settle, job.future)
            del job, settle


def _outcome(work: Callable[[], Any]) -> Callable[[asyncio.Future[Any]], None]:
    """Return what tells a future how `work` ended."""
    try:
        answer = work()
    except BaseException as error:  # noqa: BLE001  # whatever it is, it belongs to whoever waits
        failure = error
        return lambda future: None if future.done() else future.set_exception(failure)
    return lambda future: None if future.done() else future.set_result(answer)
