"""The client that waits for a call: told how far it is, and heard when it waits no longer.

Promise: work runs in a thread and holds up nothing else. A client that sent a progress token hears of progress a few
times a second while files are read, never of less than before. When the call is cancelled, waiting ends at once and the
thread at its next file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext

from linedex.query.progress import Progress

TELL_SECONDS = 0.3
"""Between two looks at how far a call is."""

_Answer = TypeVar("_Answer")


async def waited_for(
    context: ServerRequestContext[Any], limiter: anyio.CapacityLimiter, work: Callable[[Progress], _Answer]
) -> _Answer:
    """Return what `work` returns, run in a thread of `limiter` while the client of `context` waits.

    `work` must hand its progress on to whatever takes long, and raise nothing that the client should read.
    """
    progress = Progress()
    async with anyio.create_task_group() as group:
        # most calls are over before there is anything to tell, and a task costs a fifth of the way into a thread
        telling = asyncio.get_running_loop().call_later(TELL_SECONDS, group.start_soon, _tell, context, progress)
        try:
            answer = await anyio.to_thread.run_sync(work, progress, limiter=limiter, abandon_on_cancel=True)
        finally:
            telling.cancel()
            progress.cancel()
            group.cancel_scope.cancel()
    return answer


async def _tell(context: ServerRequestContext[Any], progress: Progress) -> None:
    # reports go nowhere unless the client sent a token; in-process clients send none and hear them all the same
    told = 0
    while True:
        done, total = progress.done, progress.total
        # an answer longer than a page is searched for again: the count then begins anew
        if done > told:
            told = done
            await context.session.report_progress(done, max(done, total), f"{done:,} of {total:,} files looked into")
        await anyio.sleep(TELL_SECONDS)
