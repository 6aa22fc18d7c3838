"""The child's side of `workers.Pool`: one process that runs one task over the items it is sent.

Promise: it writes only to its own pipe (its standard streams lead nowhere), ignores Ctrl-C, leaves when the pipe
closes, and cannot outlive its parent in a hung task: an alarm with the system's default action ends it even when the
interpreter is stuck in native code.

The child is started by `python -c` with `main`, not by multiprocessing: a spawned multiprocessing child imports the
parent's `__main__` again, which costs seconds under a server's entry point and fails in a plain script.
"""

from __future__ import annotations

import gc
import os
import pickle
import pkgutil
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from linedex.build.memory import collect_seldom

IN_HAND = struct.Struct("=qd")
"""What stands in the shared note: ordinal of the item in hand (-1: none), and the monotonic clock when it began."""

FLUSH_BYTES = 256 << 10
FLUSH_SECONDS = 0.05
"""Results wait in the child until they reach one of these; a message an item would wake the parent 80,000 times."""

ALARM_GRACE = 2.0
"""The child's own alarm rings this many seconds after the parent should have killed it."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What the parent tells a new child.

    Attributes:
        task: the function of one item, or its name as `package.module:function`.
        setup: called once before the first item, or None.
        item_seconds: time one item may take.
        memory_bytes: bound of the address space, or None.
        nice: added to the priority number.
    """

    task: Callable[[Any], Any] | str
    setup: Callable[[], object] | str | None
    item_seconds: float
    memory_bytes: int | None
    nice: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The child is set up, or says in `problem` why it is not."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """Outcomes of the next items of the batch, in order: (whether it went well, pickled result or error text).

    `resident` is the child's memory in bytes when it sent them.
    """

    outcomes: tuple[tuple[bool, bytes], ...]
    resident: int


def main(pipe: int, note: int) -> None:
    """Serve the parent on the file descriptors `pipe` (a socket) and `note` (the shared note) until it hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # what the parent's thread had blocked is blocked here too
    connection: Connection[Any, Any] = Connection(pipe)
    try:
        orders: Orders = pickle.loads(connection.recv_bytes())
        try:
            task = _prepare(orders)
        except Exception as error:  # noqa: BLE001 - any failure of foreign set-up code is reported, not raised
            connection.send(Ready(problem=_words(error)))
            return
        gc.freeze()
        collect_seldom()
        connection.send(Ready())
        while True:
            _work(connection, note, task, pickle.loads(connection.recv_bytes()), orders.item_seconds)
    except (EOFError, OSError):
        return  # the parent is gone, or has no more use for us


def _prepare(orders: Orders) -> Callable[[Any], Any]:
    if orders.nice:
        os.nice(orders.nice)
    task = pkgutil.resolve_name(orders.task) if isinstance(orders.task, str) else orders.task
    setup = pkgutil.resolve_name(orders.setup) if isinstance(orders.setup, str) else orders.setup
    if setup is not None:
        setup()
    if orders.memory_bytes is not None and sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (orders.memory_bytes, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return task


def _work(
    connection: Connection[Any, Any], note: int, task: Callable[[Any], Any], items: list[Any], item_seconds: float
) -> None:
    outcomes: list[tuple[bool, bytes]] = []
    waiting, flushed = 0, time.monotonic()
    for ordinal, item in enumerate(items):
        began = time.monotonic()
        os.pwrite(note, IN_HAND.pack(ordinal, began), 0)
        signal.setitimer(signal.ITIMER_REAL, item_seconds + ALARM_GRACE)
        try:
            outcome = (True, pickle.dumps(task(item), protocol=5))
        except MemoryError:
            outcome = (False, b"")
        except Exception as error:  # noqa: BLE001 - an error of the task is the item's outcome, not ours
            outcome = (False, _words(error).encode("utf-8", "replace"))
        signal.setitimer(signal.ITIMER_REAL, 0)
        outcomes.append(outcome)
        waiting += len(outcome[1])
        if waiting > FLUSH_BYTES or time.monotonic() - flushed > FLUSH_SECONDS:
            connection.send_bytes(pickle.dumps(Results(tuple(outcomes), resident()), protocol=5))
            outcomes, waiting, flushed = [], 0, time.monotonic()
    os.pwrite(note, IN_HAND.pack(len(items), time.monotonic()), 0)
    if outcomes or not items:
        connection.send_bytes(pickle.dumps(Results(tuple(outcomes), resident()), protocol=5))


def resident() -> int:
    """Return this process's resident memory in bytes; its peak where the present value cannot be read."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__
