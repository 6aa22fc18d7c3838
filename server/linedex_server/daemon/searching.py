"""A search of the command line, answered from the indexes that are open here.

Promise: only an index that is kept up to date answers, so a search sees what was changed before it; none is opened or
made for a search. The daemon is never more than a page ahead of who reads, holds no more than that, and stops soon
after they went away. Like the command itself, which could read the files as well, it is not confined to allowed roots:
those are for MCP clients, who have no way to ask this.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import ByteStream

from linedex.errors import Cancelled, LinedexError
from linedex.limits import Limits
from linedex.model import RelPath
from linedex.query.progress import Progress
from linedex_server.config import Settings
from linedex_server.daemon.house import Guest, House
from linedex_server.daemon.lines import Lines
from linedex_server.daemon.sessions import send
from linedex_server.indexes import Lease
from linedex_server.pages import (
    FOLLOWING_HITS,
    PAGE_CHARACTERS,
    QUESTION_BYTES,
    STILL_AT_WORK,
    Question,
    error_line,
    page_lines,
    scopes_line,
)
from linedex_server.rendezvous.hello import Hello, Welcome
from linedex_server.workspace import below, indexed_around, opening_of

_QUESTION_SECONDS = 10.0
"""What a client may take to say its question."""
_ASSURE_SECONDS = 1.0
"""So often a client that waits is told that the daemon is at work."""

T = TypeVar("T")
Tell: TypeAlias = Callable[[bytes], Awaitable[bool]]
"""Sends a line; false says that nobody is there to take it."""


class InThread(Protocol):
    """Does something in a thread of its own, and returns what it returns."""

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Do `work`, one at a time."""


class _Held(NamedTuple):
    """An index that answers for a path, and where in it the path lies."""

    lease: Lease
    scope: RelPath


async def answer_search(house: House, connection: ByteStream, lines: Lines, hello: Hello) -> None:
    """Welcome the client that said `hello`, hear its question and answer it."""
    line = None
    if await send(connection, Welcome().line()):
        with anyio.move_on_after(_QUESTION_SECONDS):
            line = await lines.next(QUESTION_BYTES)
    try:
        question = Question.of(line or b"")
    except ValueError:
        return
    limiter = anyio.CapacityLimiter(1)

    async def in_thread(work: Callable[[], T], /) -> T:
        # not abandoned when the session is: nobody shall close an index that is still read
        return await anyio.to_thread.run_sync(work, limiter=limiter)

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
        # a daemon that ends closes all indexes itself
        if not house.ending.is_set():
            with anyio.CancelScope(shield=True):
                await in_thread(partial(_release, held))


def _held(house: House, hello: Hello, question: Question) -> list[_Held | None]:
    """Return for each path of a question what answers for it here.

    Raises:
        LinedexError: the client's settings cannot be used.
    """
    # the folder of state is the daemon's, whose sidecars they all are
    settings = Settings.load({"state_dir": str(house.seat.state_dir)}, environ=hello.environ)
    limits = question.limits(settings.limits)
    return [_held_at(Path(path), house, settings, limits) for path in question.paths]


def _held_at(path: Path, house: House, settings: Settings, limits: Limits) -> _Held | None:
    try:
        root = indexed_around(settings, path, is_folder=os.path.isdir(path))
    except LinedexError:
        # a folder that went away at this moment; the command says so itself
        return None
    lease = None if root is None else house.indexes.lease_started(opening_of(settings, root), limits)
    return None if root is None or lease is None else _Held(lease, below(root, path))


def _release(held: Sequence[_Held | None]) -> None:
    for one in filter(None, held):
        one.lease.release()


async def _tell_pages(held: _Held, question: Question, progress: Progress, tell: Tell, in_thread: InThread) -> bool:
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
