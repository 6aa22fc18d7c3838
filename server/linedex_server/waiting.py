"""The client that waits for a call: told how far it is, and heard when it waits no longer.

Promise: work runs in a thread and holds up nothing else. A client that sent a progress token hears of progress a few
times a second while files are read, never of less than before. When the call is cancelled, waiting ends at once and the
thread at its next file.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias, TypeVar

from linedex.query.progress import Progress
from linedex_server.threads import Threads

TELL_SECONDS = 0.3
"""Between two looks at how far a call is."""

Report: TypeAlias = Callable[[float, float, str], Awaitable[None]]
"""Tells the client how much of how much is done, and that in words."""

_Answer = TypeVar("_Answer")


class Teller:
    """Tells a client of progress from some time on, most calls being over before; made in the loop."""

    def __init__(self, report: Report, progress: Progress) -> None:
        """Begin when `TELL_SECONDS` have passed."""
        self._report = report
        self._progress = progress
        self._lock = threading.Lock()
        self._begun = self._ended = self._telling = False
        self._task: asyncio.Task[None] | None = None
        self._beginning = asyncio.get_running_loop().call_later(TELL_SECONDS, self._begin)

    def silence(self) -> bool:
        """Return whether nothing was told, in any thread; then nothing will be."""
        with self._lock:
            self._ended = self._ended or not self._begun
        return not self._begun

    def end(self) -> None:
        """Tell nothing more than what is being told."""
        with self._lock:
            self._ended = True
        self._beginning.cancel()
        # a report that is under way is not to be torn
        if self._task is not None and not self._telling:
            self._task.cancel()

    def _begin(self) -> None:
        with self._lock:
            self._begun = not self._ended
        if self._begun:
            self._task = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        told = 0
        while not self._ended:
            done, total = self._progress.done, self._progress.total
            # an answer longer than a page is searched for again: the count then begins anew
            if done > told:
                told = done
                self._telling = True
                await self._report(done, max(done, total), f"{done:,} of {total:,} files looked into")
                self._telling = False
            if not self._ended:
                await asyncio.sleep(TELL_SECONDS)


async def waited_for(report: Report, threads: Threads, work: Callable[[Progress], _Answer]) -> _Answer:
    """Return what `work` returns, run in one of `threads` while a client waits that is told through `report`.

    `work` must hand its progress on to whatever takes long, and raise nothing that the client should read.
    """
    progress = Progress()
    teller = Teller(report, progress)
    try:
        return await threads.run(partial(work, progress))
    finally:
        teller.end()
        progress.cancel()
