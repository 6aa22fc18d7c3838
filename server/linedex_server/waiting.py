"""The client that waits for a call: told how far it is, and heard when it waits no longer.

Promise: work runs in a thread and holds up nothing else. A client that sent a progress token hears of progress a few
times a second while files are read, never of less than before. When the call is cancelled, waiting ends at once and the
thread at its next file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from linedex.query.progress import Progress
from linedex_server.threads import Threads

TELL_SECONDS = 0.3
"""Between two looks at how far a call is."""

Report: TypeAlias = Callable[[float, float, str], Awaitable[None]]
"""Tells the client how much of how much is done, and that in words."""

_Answer = TypeVar("_Answer")


class Waiting(Generic[_Answer]):
    """Work that has begun, and for which a client is about to wait."""

    def __init__(self, threads: Threads, work: Callable[[Progress], _Answer]) -> None:
        """Let `work` begin in one of `threads`.

        It hands its progress on to whatever takes long, and raises nothing that the client should read.
        """
        self.progress = Progress()
        self._threads = threads
        self._job = threads.start(partial(work, self.progress))

    async def end(self) -> _Answer:
        """Return what the work returns."""
        return await self._threads.finished(self._job)


async def waited_for(report: Report | None, waiting: Waiting[_Answer]) -> _Answer:
    """Return what the work returns that a client waits for.

    Args:
        report: tells the client of progress, None if it does not ask.
        waiting: the work.
    """
    progress = waiting.progress
    tellers: list[asyncio.Task[None]] = []

    def tell(report: Report) -> None:
        tellers.append(asyncio.create_task(_tell(report, progress)))

    # most calls are over before there is anything to tell
    beginning = None if report is None else asyncio.get_running_loop().call_later(TELL_SECONDS, tell, report)
    try:
        return await waiting.end()
    finally:
        if beginning is not None:
            beginning.cancel()
        progress.cancel()
        for teller in tellers:
            teller.cancel()


async def _tell(report: Report, progress: Progress) -> None:
    told = 0
    while True:
        done, total = progress.done, progress.total
        # an answer longer than a page is searched for again: the count then begins anew
        if done > told:
            told = done
            await report(done, max(done, total), f"{done:,} of {total:,} files looked into")
        await asyncio.sleep(TELL_SECONDS)
