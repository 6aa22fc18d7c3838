"""The parent's handle on one worker process: start it, send a batch, read outcomes, learn how it died.

Promise: whatever the child does (hang, crash, eat memory, close its pipe), `outcomes` either gives the results or
raises `ChildLost`, which names the item that was in hand.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from typing import Any

from linedex.build.worker_process import IN_HAND, Orders, Ready, Results

_BOOT = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from linedex.build.worker_process import main
main(int(sys.argv[2]), int(sys.argv[3]))
"""
_START_SECONDS = 60.0
_KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(64 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
"""Settings of glibc: a worker keeps what it frees for the next item. As glibc comes it gave buffers of megabytes back
and got them anew, page by page: 14 % of the processor time of a log's signatures. Other allocators do not look."""
_MEMORY_SHARE = 0.5
"""A child that died with this share of its address space resident is taken to have died of it."""


class FailureKind(StrEnum):
    """Why an item has no result."""

    TIMEOUT = "timeout"
    CRASHED = "crashed"
    MEMORY = "memory"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Failure:
    """What became of an item that has no result; `detail` is a phrase for people."""

    kind: FailureKind
    detail: str


class ChildLost(Exception):
    """The child is gone.

    Attributes:
        failure: why.
        in_hand: ordinal in the batch of the item it worked on; -1 when it had not begun one.
    """

    def __init__(self, failure: Failure, in_hand: int = -1) -> None:
        super().__init__(failure.detail)
        self.failure = failure
        self.in_hand = in_hand


class Child:
    """One worker process.

    Args:
        orders: what it shall do; pickled once by the caller.
        item_seconds: time one item may take.
        memory_bytes: bound of its address space, or None.

    Raises:
        ChildLost: it could not be started, or its set-up failed.
    """

    def __init__(self, orders: bytes, item_seconds: float, memory_bytes: int | None) -> None:
        self._item_seconds = item_seconds
        self._memory_bytes = memory_bytes
        self.resident = 0
        self.peak = 0
        self._reaping = threading.Lock()
        """Held while the process is signalled or reaped, so that no signal goes to a later owner of its number."""
        ours, theirs = socket.socketpair()
        self._note = _shared_note()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    # -P: with -c alone the working folder, a stranger's repository perhaps, comes first on sys.path
                    [sys.executable, "-P", "-c", _BOOT, json.dumps(sys.path), str(theirs.fileno()), str(self._note)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), self._note),
                    env={**os.environ, **_KEPT_MEMORY},
                    process_group=0,  # a Ctrl-C in the terminal is for the parent alone
                )
        except OSError as error:
            ours.close()
            os.close(self._note)
            raise ChildLost(Failure(FailureKind.CRASHED, f"no process could be started: {error}")) from error
        self._pipe: Connection[Any, Any] = Connection(ours.detach())
        try:
            self._pipe.send_bytes(orders)
            if not self._pipe.poll(_START_SECONDS):
                self.kill()
                raise ChildLost(Failure(FailureKind.TIMEOUT, f"not ready after {_START_SECONDS:.0f} s"))
            ready = pickle.loads(self._pipe.recv_bytes())
        except (EOFError, OSError) as error:
            raise ChildLost(self._death()) from error
        if isinstance(ready, Ready) and ready.problem:
            self.kill()
            raise ChildLost(Failure(FailureKind.ERROR, ready.problem))

    def outcomes(self, batch: bytes, count: int) -> Iterator[Any]:
        """Send a pickled list of `count` items; yield a result or a `Failure` for each, in order.

        Raises:
            ChildLost: it died or was killed over its time; the items after those yielded have no outcome.
        """
        os.pwrite(self._note, IN_HAND.pack(-1, time.monotonic()), 0)
        received = 0
        try:
            self._pipe.send_bytes(batch)
            while received < count:
                self._wait_for_message()
                results: Results = pickle.loads(self._pipe.recv_bytes())
                self.resident = results.resident
                received += len(results.outcomes)
                for well, payload in results.outcomes:
                    yield _result_of(payload) if well else _failure_of(payload)
        except (EOFError, OSError) as error:
            in_hand = self._in_hand()[0]
            raise ChildLost(self._death(), in_hand) from error

    def _wait_for_message(self) -> None:
        patience = self._item_seconds
        while not self._pipe.poll(patience):
            in_hand, began = self._in_hand()
            patience = began + self._item_seconds - time.monotonic()
            if patience <= 0:
                self.kill()
                detail = f"took over {self._item_seconds:g} s"
                raise ChildLost(Failure(FailureKind.TIMEOUT, detail), in_hand)

    def _in_hand(self) -> tuple[int, float]:
        ordinal, began = IN_HAND.unpack(os.pread(self._note, IN_HAND.size, 0))
        return ordinal, began

    def _death(self) -> Failure:
        self.kill()
        code = self._process.returncode
        cause = f"killed by {signal.Signals(-code).name}" if code < 0 else f"left with exit status {code}"
        if code == -signal.SIGALRM:
            return Failure(FailureKind.TIMEOUT, f"took over {self._item_seconds:g} s")
        # Linux hands the parent's own peak down over vfork and exec, so a lower figure says nothing about the child
        if self._memory_bytes is not None and self.peak > max(self._memory_bytes * _MEMORY_SHARE, _own_peak()):
            return Failure(FailureKind.MEMORY, f"{cause} with {self.peak >> 20} MiB in use")
        return Failure(FailureKind.CRASHED, cause)

    def kill(self) -> None:
        """End the process now, reap it and note its peak memory; nothing happens when that is done already."""
        with self._reaping:
            if self._process.returncode is not None:
                return
            self.peak = max(self.resident, self._high_water())
            os.kill(self._process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
        if (peak := _in_bytes(usage.ru_maxrss)) > _own_peak():
            self.peak = max(self.peak, peak)

    def close(self) -> None:
        """Kill the process and give back its descriptors. Only the thread that uses the child calls this."""
        self.kill()
        self._pipe.close()
        os.close(self._note)

    def hang_up(self) -> None:
        """Make the child die from any thread; the thread that uses the child sees the end of its pipe."""
        with self._reaping:
            if self._process.returncode is None:
                os.kill(self._process.pid, signal.SIGKILL)

    def peak_now(self) -> int:
        """Return the largest resident memory of the process so far in bytes, as far as it is known."""
        with self._reaping:
            if self._process.returncode is None:
                return max(self.resident, self._high_water())
        return self.peak

    def _high_water(self) -> int:
        try:
            with open(f"/proc/{self._process.pid}/status", "rb") as status:
                for line in status:
                    if line.startswith(b"VmHWM:"):
                        return int(line.split()[1]) * 1024
        except OSError:
            return 0  # not Linux
        return 0  # already a zombie


def _result_of(payload: bytes) -> Any:
    try:
        return pickle.loads(payload)
    except Exception as error:  # noqa: BLE001 - a result's own code runs here; its failure is that item's outcome
        return Failure(FailureKind.ERROR, f"the result cannot be read here: {error}")


def _failure_of(payload: bytes) -> Failure:
    if payload:
        return Failure(FailureKind.ERROR, payload.decode("utf-8"))
    return Failure(FailureKind.MEMORY, "out of memory")


def _shared_note() -> int:
    """Return a descriptor of an unnamed file of one `IN_HAND`."""
    if sys.platform == "linux":
        note = os.memfd_create("linedex-worker")
    else:
        descriptor, name = tempfile.mkstemp(prefix="linedex-")
        os.unlink(name)
        note = descriptor
    os.pwrite(note, IN_HAND.pack(-1, 0.0), 0)
    return note


def _own_peak() -> int:
    return _in_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _in_bytes(maxrss: int) -> int:
    return maxrss if sys.platform == "darwin" else maxrss * 1024


def orders_bytes(orders: Orders) -> bytes:
    """Return the orders as they are sent.

    Raises:
        pickle.PicklingError, AttributeError, TypeError: the task or set-up can't be named in another process.
    """
    return pickle.dumps(orders, protocol=5)
