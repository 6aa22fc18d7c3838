"""Threads that calls run in: no more at once than allowed, and none is lost to work that hangs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex_server.threads import Threads

DEADLINE = 30.0


def within_time(work: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, which must end."""
    asyncio.run(asyncio.wait_for(work, DEADLINE))


async def until_set(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, DEADLINE)


def test_what_work_returns_or_raises_comes_back() -> None:
    async def ask() -> None:
        with closing(Threads(2)) as threads:
            assert await threads.run(lambda: 3) == 3
            with pytest.raises(ZeroDivisionError):
                await threads.run(lambda: 1 // 0)
            assert await threads.run(threading.get_ident) != threading.get_ident()

    within_time(ask())


@given(st.integers(1, 3), st.lists(st.booleans(), max_size=12))
def test_all_work_is_done_and_never_too_much_at_once(most: int, leaving: list[bool]) -> None:
    lock, now, peak = threading.Lock(), 0, 0
    order: list[int] = []

    def work(number: int) -> int:
        nonlocal now, peak
        with lock:
            order.append(number)
            now += 1
            peak = max(peak, now)
        with lock:
            now -= 1
        return number

    async def ask() -> None:
        with closing(Threads(most)) as threads:
            asked = [asyncio.ensure_future(threads.run(partial(work, number))) for number in range(len(leaving))]
            await asyncio.sleep(0)
            for one, leaves in zip(asked, leaving, strict=True):
                if leaves:
                    one.cancel()
            found = await asyncio.gather(*asked, return_exceptions=True)
            for number, (one, leaves) in enumerate(zip(found, leaving, strict=True)):
                assert isinstance(one, asyncio.CancelledError) if leaves else one == number

    within_time(ask())
    # what was abandoned while it ran counts no more
    assert peak <= most + sum(leaving)
    assert {number for number, leaves in enumerate(leaving) if not leaves} <= set(order)
    if most == 1 and not any(leaving):
        assert order == list(range(len(leaving)))


def test_no_more_than_allowed_run_at_once() -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    def work() -> None:
        begun.release()
        assert go_on.wait(DEADLINE)

    async def ask() -> None:
        with closing(Threads(2)) as threads:
            asked = [asyncio.ensure_future(threads.run(work)) for _ in range(5)]
            for _ in range(2):
                assert await asyncio.to_thread(begun.acquire, timeout=DEADLINE)
            assert not begun.acquire(timeout=0.05)
            go_on.set()
            await asyncio.gather(*asked)

    within_time(ask())


def test_who_waits_behind_work_that_hangs_has_its_turn_when_that_is_abandoned() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        assert go_on.wait(DEADLINE)

    async def ask() -> None:
        with closing(Threads(1)) as threads:
            hanging = asyncio.ensure_future(threads.run(hang))
            behind = asyncio.ensure_future(threads.run(threading.current_thread))
            await until_set(begun)
            hanging.cancel()
            served = await behind
            # and the thread that hung ends, while the other one serves on
            go_on.set()
            assert await threads.run(threading.current_thread) is served
        await asyncio.to_thread(served.join, DEADLINE)

    within_time(ask())
    for thread in threading.enumerate():
        if thread.name == "call":
            thread.join(DEADLINE)
    assert "call" not in {thread.name for thread in threading.enumerate()}


def test_work_that_is_abandoned_before_it_begins_never_does() -> None:
    begun, go_on = threading.Event(), threading.Event()
    done: list[int] = []

    def first() -> None:
        begun.set()
        assert go_on.wait(DEADLINE)

    async def ask() -> None:
        with closing(Threads(1)) as threads:
            running = asyncio.ensure_future(threads.run(first))
            waiting = [asyncio.ensure_future(threads.run(lambda one=one: done.append(one))) for one in range(3)]
            await until_set(begun)
            waiting[1].cancel()
            await asyncio.sleep(0)
            go_on.set()
            await asyncio.gather(running, *waiting, return_exceptions=True)

    within_time(ask())
    assert done == [0, 2]
