"""A search of the command line, answered from the indexes that are open here.

Promise: as of every question, see `questions`. The daemon is never more than a page ahead of who reads, holds no more
than that, and stops soon after they went away.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.abc import ByteStream

from linedex.errors import Cancelled, LinedexError
from linedex.query.progress import Progress
from linedex_server.daemon.house import Guest, House
from linedex_server.daemon.lines import Lines, send
from linedex_server.daemon.questions import Held, InThread, held_at, own_thread, question_line, release, settings_of
from linedex_server.json_lines import error_line
from linedex_server.pages import FOLLOWING_HITS, PAGE_CHARACTERS, STILL_AT_WORK, Question, page_lines, scopes_line
from linedex_server.rendezvous.hello import Hello

_ASSURE_SECONDS = 1.0
"""So often a client that waits is told that the daemon is at work."""

Tell: TypeAlias = Callable[[bytes], Awaitable[bool]]
"""Sends a line; false says that nobody is there to take it."""


async def answer_search(house: House, connection: ByteStream, lines: Lines, hello: Hello) -> None:
    """Welcome the client that said `hello`, hear its question and answer it."""
    try:
        question = Question.of(await question_line(connection, lines))
    except ValueError:
        return
    in_thread = own_thread()
    try:
        held = await in_thread(partial(_held, house, hello, question))
    except LinedexError as error:
        await send(connection, error_line(error))
        return
    roots = tuple(dict.fromkeys(one.lease.index.root for one in held if one is not None))
    progress = Progress()
    try:
        with house.hosting(Guest(hello.pid, roots)):
            async with _attended(connection, lines, progress) as tell:
                if await tell(scopes_line([None if one is None else one.scope for one in held])):
                    for one in filter(None, held):
                        if not await _tell_pages(one, question, progress, tell, in_thread):
                            break
    finally:
        await release(house, partial(_release, held), in_thread)


def _held(house: House, hello: Hello, question: Question) -> list[Held | None]:
    """Return for each path of a question what answers for it here.

    Raises:
        LinedexError: the client's settings cannot be used.
    """
    settings = settings_of(house, hello)
    limits = question.limits(settings.limits)
    return [held_at(Path(path), house, settings, limits) for path in question.paths]


def _release(held: Sequence[Held | None]) -> None:
    for one in filter(None, held):
        one.lease.release()


async def _tell_pages(held: Held, question: Question, progress: Progress, tell: Tell, in_thread: InThread) -> bool:
    """Tell all that a path has; return whether somebody is there to hear of the next."""
    request = replace(question.request, scope=held.scope, max_characters=PAGE_CHARACTERS)
    pages = held.lease.index.pages(request, FOLLOWING_HITS, progress)

    def next_page() -> tuple[list[bytes], bool]:
        answer = next(pages)
        more = bool(answer.cursor) and not question.first_page_only
        return list(page_lines(answer, more=more)), more

    more = True
    while more:
        try:
            told, more = await in_thread(next_page)
        except Cancelled:
            return False
        except LinedexError as error:
            return await tell(error_line(error))
        for line in told:
            if not await tell(line):
                return False
    return True


@asynccontextmanager
async def _attended(connection: ByteStream, lines: Lines, progress: Progress) -> AsyncIterator[Tell]:
    """Give what tells a client something; meanwhile assure it that it is heard, and notice when it goes away."""
    sending = anyio.Lock()

    async def tell(line: bytes) -> bool:
        async with sending:
            return await send(connection, line)

    async def until_gone() -> None:
        try:
            # a client has said all; what comes is its end
            await lines.next(1)
        finally:
            progress.cancel()

    async def assure() -> None:
        while True:
            await anyio.sleep(_ASSURE_SECONDS)
            await tell(STILL_AT_WORK)

    async with anyio.create_task_group() as group:
        group.start_soon(until_gone)
        group.start_soon(assure)
        yield tell
        group.cancel_scope.cancel()
