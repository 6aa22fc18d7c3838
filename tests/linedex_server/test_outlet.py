"""Lines to one client from the loop and from threads: each whole, none twice."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter

import anyio
import anyio.abc
import anyio.to_thread
import pytest

from linedex_server.daemon.outlet import Outlet

DEADLINE = 30.0
LINES = 60


class Pair:
    """An outlet, and the socket at its other end."""

    def __init__(self, *, buffer: int) -> None:
        self.own, self.other = socket.socketpair()
        for one in (self.own, self.other):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)

    async def outlet(self) -> tuple[anyio.abc.SocketStream, Outlet]:
        self.own.settimeout(0)
        stream = await anyio.abc.UNIXSocketStream.from_socket(self.own)
        return stream, Outlet(stream)

    def received(self) -> bytes:
        """Return what comes until the other end is closed."""
        with self.other, self.other.makefile("rb") as reader:
            return reader.read()


@pytest.mark.parametrize("size", [10, 5_000, 40_000])
def test_lines_of_many_senders_go_whole(size: int) -> None:
    pair = Pair(buffer=2_048)
    wanted: Counter[bytes] = Counter()

    def line(sender: int, number: int) -> bytes:
        made = b"%d.%d." % (sender, number) + b"x" * size
        wanted[made] += 1
        return made + b"\n"

    told = [[line(sender, number) for number in range(LINES)] for sender in range(4)]

    async def send() -> None:
        stream, outlet = await pair.outlet()

        def from_thread(lines: list[bytes]) -> None:
            for one in lines:
                if not outlet.send_at_once(one):
                    anyio.from_thread.run(outlet.send, one)

        async def from_loop(lines: list[bytes]) -> None:
            for one in lines:
                await outlet.send(one)

        async with anyio.create_task_group() as group:
            for lines in told[:2]:
                group.start_soon(from_loop, lines)
            for lines in told[2:]:
                group.start_soon(anyio.to_thread.run_sync, from_thread, lines)
        await outlet.flush()
        outlet.close()
        await stream.aclose()

    received: list[bytes] = []
    listener = threading.Thread(target=lambda: received.append(pair.received()))
    listener.start()

    async def send_in_time() -> None:
        with anyio.fail_after(DEADLINE):
            await send()

    anyio.run(send_in_time)
    listener.join(DEADLINE)
    lines = received[0].splitlines()
    assert Counter(lines) == wanted
    for sender in range(4):
        own = [one for one in lines if one.startswith(b"%d." % sender)]
        assert own == [one.rstrip(b"\n") for one in told[sender]]


def test_a_line_that_is_cancelled_half_way_is_the_last() -> None:
    pair = Pair(buffer=2_048)

    async def send() -> None:
        stream, outlet = await pair.outlet()
        async with stream:
            # nobody reads
            with anyio.move_on_after(0.05):
                await outlet.send(b"x" * 1_000_000)
            assert not outlet.send_at_once(b"behind\n")
            with anyio.move_on_after(0.05) as waiting:
                await outlet.send(b"behind\n")
            assert waiting.cancelled_caught

    anyio.run(send)
    received = pair.received()
    assert received
    assert not received.strip(b"x")


def test_who_waits_for_a_turn_and_leaves_holds_up_nobody() -> None:
    pair = Pair(buffer=2_048)

    async def send() -> None:
        stream, outlet = await pair.outlet()
        async with stream, anyio.create_task_group() as group:
            group.start_soon(outlet.send, b"a" * 100_000 + b"\n")
            await anyio.sleep(0)
            leaving = asyncio.ensure_future(outlet.send(b"never\n"))
            group.start_soon(outlet.send, b"c\n")
            await anyio.sleep(0)
            leaving.cancel()
            group.start_soon(anyio.to_thread.run_sync, read_two)

    received: list[bytes] = []

    def read_two() -> None:
        with pair.other.makefile("rb") as reader:
            received.extend(reader.readline() for _ in range(2))

    anyio.run(send)
    assert received == [b"a" * 100_000 + b"\n", b"c\n"]
    pair.other.close()


def test_no_thread_sends_once_it_is_closed() -> None:
    pair = Pair(buffer=100_000)

    async def send() -> None:
        stream, outlet = await pair.outlet()
        async with stream:
            assert outlet.send_at_once(b"before\n")
            outlet.close()
            assert not outlet.send_at_once(b"after\n")
            await outlet.send(b"from the loop\n")
            assert not outlet.send_at_once(b"after\n")

    anyio.run(send)
    assert pair.received() == b"before\nfrom the loop\n"


def test_it_tells_whether_somebody_listens() -> None:
    pair = Pair(buffer=100_000)

    async def look() -> None:
        stream, outlet = await pair.outlet()
        async with stream:
            assert not outlet.is_closed()
            pair.other.shutdown(socket.SHUT_WR)
            assert not outlet.is_closed()
            pair.other.close()
            assert outlet.is_closed()
            assert outlet.send_at_once(b"nobody reads this\n")  # and it harms nobody

    anyio.run(look)
