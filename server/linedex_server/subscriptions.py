"""Subscriptions to files: whoever asked hears when a file changes, in both protocol eras.

Promise: a client is told of URIs it subscribed to and of no other, and none outside the session's roots is accepted.
A notification means "changed since you were last told": several changes close together may be told once. The file's
own stat decides. It is looked at when an index hears of a change and in any case every second, so that folders, file
systems without events and files that no index holds need nothing of their own. A session without subscriptions does
nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp.types import (
    INVALID_PARAMS,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from linedex.errors import LinedexError, NotFound
from linedex.files import names
from linedex_server.resources import path_of, refusal
from linedex_server.workspace import Workspace

LOOK_SECONDS = 1.0
"""Between two looks at the files that are subscribed to, when no index hears of a change."""
_PAUSE_SECONDS = 0.05
"""After each look, however much is going on: one write may raise many events."""
MOST_SUBSCRIPTIONS = 512
"""Files that the clients of one server may want to hear of: at 60 us a look, 3 % of a core."""
MOST_STREAMS = 64
"""Streams of the 2026 era that the clients of one server may have open."""
_TELL_SECONDS = 5.0
"""A client that has not taken a notification by then misses it."""

Context: TypeAlias = ServerRequestContext[Any]
Mark: TypeAlias = tuple[int, int, int, int] | None
"""Inode, size, mtime and ctime in ns; None for what is not there or may not be read."""
Teller: TypeAlias = Callable[[str], Awaitable[None]]
_Found = TypeVar("_Found")


@dataclass
class _Target:
    """A file that somebody wants to hear of, as it was when they were last told."""

    mark: Mark
    tellers: dict[object, Teller] = field(default_factory=dict)


class Subscriptions:
    """The subscriptions of one session; its methods are called in the session's event loop."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._targets: dict[str, _Target] = {}
        self._streams = 0
        self._limiter = anyio.CapacityLimiter(1)
        self._wanted = anyio.Event()
        self._hint = anyio.Event()

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        """Tell the client of this connection when a file changes, until it unsubscribes or leaves.

        Raises:
            MCPError: the URI is of nothing below the session's roots, or there are too many subscriptions.
        """
        try:
            mark = await self._in_thread(partial(accepted, self._workspace, params.uri))
        except LinedexError as error:
            raise refusal(params.uri, error) from None
        connection = _connection(context)
        if not any(connection in target.tellers for target in self._targets.values()):
            connection.exit_stack.callback(self._forget, connection)
        self._add({params.uri: mark}, connection, context.session.send_resource_updated)
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """Tell the client of this connection no more of a file; nothing happens if it was not told before."""
        self._remove(params.uri, _connection(context))
        return EmptyResult()

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Tell a client of the 2026 era of changes for as long as this call is open.

        URIs of nothing below the session's roots are left out; the acknowledgement says which ones were taken.

        Raises:
            MCPError: there are too many subscriptions.
        """
        asked = params.notifications
        marks = await self._in_thread(partial(_all_accepted, self._workspace, asked.resource_subscriptions or ()))
        taken = asked.model_copy(update={"resource_subscriptions": list(marks) or None})
        bus = InMemorySubscriptionBus()
        if self._streams >= MOST_STREAMS:
            raise MCPError(INVALID_PARAMS, f"{MOST_STREAMS} streams of changes are open; close one first")
        self._add(marks, bus, lambda uri: bus.publish(ResourceUpdated(uri)))
        self._streams += 1
        try:
            # the handler listens to the bus before it first waits, so no change falls between it and the marks
            return await ListenHandler(bus, max_buffered_events=MOST_SUBSCRIPTIONS)(
                context, params.model_copy(update={"notifications": taken})
            )
        finally:
            self._streams -= 1
            self._forget(bus)

    async def watch(self) -> None:
        """Look at the files and tell whoever subscribed, until cancelled."""
        while True:
            await self._wanted.wait()
            async with self._hearing():
                while self._targets:
                    self._hint = anyio.Event()
                    await self._look()
                    await anyio.sleep(_PAUSE_SECONDS)
                    with anyio.move_on_after(LOOK_SECONDS):
                        await self._hint.wait()

    @contextlib.asynccontextmanager
    async def _hearing(self) -> AsyncIterator[None]:
        """Hear of changes from the indexes; what they say is only a reason to look."""
        loop = asyncio.get_running_loop()

        def hear(_changed: object) -> None:
            # the last call may come from its thread when the loop is gone
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._wake)

        def begin() -> list[Callable[[], None]]:
            return [index.on_change(hear) for index in self._workspace.indexes]

        ends = await self._in_thread(begin)
        try:
            yield
        finally:
            for end in ends:
                end()

    def _wake(self) -> None:
        self._hint.set()

    async def _look(self) -> None:
        seen = {uri: target.mark for uri, target in self._targets.items()}
        changed = await self._in_thread(partial(_changed, self._workspace, seen))
        for uri, mark in changed.items():
            target = self._targets.get(uri)
            if target is not None and target.mark == seen[uri]:
                target.mark = mark
                await _tell(uri, tuple(target.tellers.values()))

    def _add(self, marks: dict[str, Mark], key: object, teller: Teller) -> None:
        if len(self._targets.keys() | marks.keys()) > MOST_SUBSCRIPTIONS:
            raise MCPError(INVALID_PARAMS, f"no more than {MOST_SUBSCRIPTIONS} files can be subscribed to")
        for uri, mark in marks.items():
            self._targets.setdefault(uri, _Target(mark)).tellers[key] = teller
        if self._targets:
            self._wanted.set()

    def _remove(self, uri: str, key: object) -> None:
        target = self._targets.get(uri)
        if target is None:
            return
        target.tellers.pop(key, None)
        if not target.tellers:
            del self._targets[uri]
        if not self._targets and self._wanted.is_set():
            self._wanted = anyio.Event()

    def _forget(self, key: object) -> None:
        for uri in tuple(self._targets):
            self._remove(uri, key)

    async def _in_thread(self, work: Callable[[], _Found]) -> _Found:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=True)


def _connection(context: Context) -> Connection:
    # what a request's session is bound to; it has no public name, and outlives the request
    return context.session._connection


async def _tell(uri: str, tellers: Iterable[Teller]) -> None:
    for teller in tellers:
        with anyio.move_on_after(_TELL_SECONDS):
            await teller(uri)


def accepted(workspace: Workspace, uri: str) -> Mark:
    """Return how the file of a URI is now; one that is not there yet may be waited for.

    Raises:
        BadArgument: it is no `file://` URI.
        OutsideRoots: it is not below the session's roots, whether or not anything is there.
    """
    path = path_of(uri)
    try:
        workspace.at(path)
    except NotFound:
        return None
    return _mark(workspace, path)


def _all_accepted(workspace: Workspace, uris: Iterable[str]) -> dict[str, Mark]:
    marks = {}
    for uri in uris:
        try:
            marks[uri] = accepted(workspace, uri)
        except LinedexError:
            continue
    return marks


def _mark(workspace: Workspace, path: str) -> Mark:
    try:
        if not os.path.lexists(names.parse(path)):
            return None  # `at` would look for names that are like it
        place = workspace.place(path)
        # through the root, which judges what it opens: the folder may have become a way out since
        status = place.opener.stat(place.path)
    except (LinedexError, OSError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _changed(workspace: Workspace, seen: dict[str, Mark]) -> dict[str, Mark]:
    """Return the files that are no longer as they were seen, and how they are now."""
    now = {uri: _mark(workspace, path_of(uri)) for uri in seen}
    return {uri: mark for uri, mark in now.items() if mark != seen[uri]}
