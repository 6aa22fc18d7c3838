"""A supervised pool of killable worker processes: one task function, run over items that may hang or crash it.

Promise: an item that hangs, crashes its process or eats its memory costs only itself. It comes back as a `Failure`;
the rest of its batch is sent again to a fresh process. `run` is lazy and bounded: at most `ahead` batches a worker are
taken from the caller before their outcomes have been given back.

Parsing and gram building hold the interpreter's lock and native parsers can neither be stopped nor trusted, hence
processes; they are started safely with threads in the parent, at first use, and never touch its standard streams.
"""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from linedex.build.worker_child import Child, ChildLost, Failure, FailureKind, orders_bytes
from linedex.build.worker_process import Orders

__all__ = ["Failure", "FailureKind", "Pool", "PoolClosed"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_STARTS = 3
"""So many starts may fail in a row before the pool gives up on starting processes."""
_RESIDENT_SHARE = 0.16
"""A worker whose memory is over this share of `memory_bytes` after a batch is replaced: allocators give little back and
tree-sitter 0.26.1 never frees the pieces of text that a read callback returned, 11 KB a file of the Linux tree."""


class PoolClosed(RuntimeError):
    """The pool was closed, before or while it was asked."""


class _BatchDone:
    """Follows the last outcome of a batch; `closed` when the pool was closed before that."""

    def __init__(self, *, closed: bool) -> None:
        self.closed = closed


class _Batch:
    """Items on their way, and where their outcomes go."""

    def __init__(self, items: list[Any], replies: SimpleQueue[tuple[Any, Any] | _BatchDone]) -> None:
        self.items = items
        self.payload = pickle.dumps(items, protocol=5)
        self.replies = replies
        self.abandoned = threading.Event()


class Pool(Generic[Item, Result]):
    """Up to `workers` processes that run `task` over items.

    Args:
        task: a function of one item, importable in another process, or its name as `package.module:function`.
        workers: processes at most; they start when there is work for them.
        item_seconds: time one item may take before its process is killed.
        memory_bytes: bound of a worker's address space on Linux, set after `setup`; elsewhere a worker is replaced
            after a batch that left it large. None for no bound.
        nice: how much the workers yield to other processes, 0 to 19.
        setup: called in each worker before its first item; if it raises or dies, the worker has not started.

    Raises:
        pickle.PicklingError, AttributeError, TypeError: `task` or `setup` can't be pickled.
        ValueError: `task` or `setup` lives in `__main__`, which workers do not import.
    """

    def __init__(
        self,
        task: str | Callable[[Any], Any],
        *,
        workers: int,
        item_seconds: float,
        memory_bytes: int | None = None,
        nice: int = 19,
        setup: str | Callable[[], object] | None = None,
    ) -> None:
        for function in (task, setup):
            if getattr(function, "__module__", "") == "__main__":
                raise ValueError(f"{function!r} lives in __main__, which workers do not import; move it to a module")
        self._orders = orders_bytes(Orders(task, setup, item_seconds, memory_bytes, nice))
        self._workers = max(1, workers)
        self._item_seconds = item_seconds
        self._memory_bytes = memory_bytes
        self._changed = threading.Condition()
        self._urgent: deque[_Batch] = deque()
        self._queued: deque[_Batch] = deque()
        self._threads: list[threading.Thread] = []
        self._children: set[Child] = set()
        self._idle = 0
        self._failed_starts = 0
        self._peak = 0
        self._closed = threading.Event()
        self._problem = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def problem(self) -> str:
        """Why no worker can be started, or "". Every item then fails at once."""
        return self._problem

    def start(self) -> None:
        """Have all processes begin to start, for work that comes soon; it takes them a quarter of a second."""
        with self._changed:
            if not self._closed.is_set():
                while len(self._threads) < self._workers:
                    self._add_thread(eager=True)

    def run(self, batches: Iterable[Sequence[Item]], *, ahead: int = 2) -> Iterator[tuple[Item, Result | Failure]]:
        """Yield every item with its outcome, as they complete; a batch is worked on by one process, in order.

        `batches` is read in the caller's thread, only as far as there is room. Leaving the iteration early drops what
        has not been done.

        Args:
            batches: the items.
            ahead: batches a worker that are taken before their outcomes have been given back.

        Raises:
            PoolClosed: the pool was closed meanwhile.
        """
        replies: SimpleQueue[tuple[Any, Any] | _BatchDone] = SimpleQueue()
        source = iter(batches)
        underway: deque[_Batch] = deque()
        open_batches = 0
        try:
            while True:
                while open_batches < ahead * self._workers:
                    items = next(source, None)
                    if items is None:
                        break
                    batch = _Batch(list(items), replies)
                    underway.append(batch)
                    open_batches += 1
                    self._submit(batch, self._queued)
                if not open_batches:
                    return
                reply = replies.get()
                if not isinstance(reply, _BatchDone):
                    yield reply
                    continue
                if reply.closed:
                    raise PoolClosed("the worker pool was closed while it ran")
                open_batches -= 1
                while underway and not underway[0].items:
                    underway.popleft()
        finally:
            for batch in underway:
                batch.abandoned.set()

    def call(self, item: Item) -> Result | Failure:
        """Return the outcome of one item, before whatever `run` has queued. Any thread may call.

        Raises:
            PoolClosed: the pool is closed.
        """
        replies: SimpleQueue[tuple[Any, Any] | _BatchDone] = SimpleQueue()
        self._submit(_Batch([item], replies), self._urgent)
        reply = replies.get()
        if isinstance(reply, _BatchDone):
            raise PoolClosed("the worker pool is closed")
        outcome: Result | Failure = reply[1]
        return outcome

    def peak_memory(self) -> int:
        """Return the largest resident memory that any one worker has had, in bytes, as far as the system tells."""
        with self._changed:
            return max([self._peak, *(child.peak_now() for child in self._children)])

    def close(self) -> None:
        """End all workers and wait for them; whoever waits for an outcome gets `PoolClosed`."""
        with self._changed:
            self._closed.set()
            for child in self._children:
                child.hang_up()
            for batch in (*self._urgent, *self._queued):
                batch.replies.put(_BatchDone(closed=True))
            self._urgent.clear()
            self._queued.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _submit(self, batch: _Batch, queue: deque[_Batch]) -> None:
        with self._changed:
            if self._closed.is_set():
                raise PoolClosed("the worker pool is closed")
            queue.append(batch)
            if self._idle < len(self._urgent) + len(self._queued) and len(self._threads) < self._workers:
                self._add_thread()
            self._changed.notify()

    def _add_thread(self, *, eager: bool = False) -> None:
        thread = threading.Thread(target=self._serve, args=(eager,), name="linedex-worker", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self, eager: bool) -> None:
        """Own one child and give it batches until the pool closes; an eager one is started before there is any."""
        child = self._start() if eager else None
        while True:
            with self._changed:
                self._idle += 1
                while not (self._urgent or self._queued or self._closed.is_set()):
                    self._changed.wait()
                self._idle -= 1
                if self._closed.is_set():
                    break
                batch = self._urgent.popleft() if self._urgent else self._queued.popleft()
            if not batch.abandoned.is_set():
                child = self._work(batch, child)
            batch.items, batch.payload = [], b""
            batch.replies.put(_BatchDone(closed=self._closed.is_set()))
        if child is not None:
            self._discard(child)

    def _work(self, batch: _Batch, child: Child | None) -> Child | None:
        """Put an outcome for each item of the batch; return the child that is left."""
        todo, payload = batch.items, batch.payload
        while todo and not (batch.abandoned.is_set() or self._closed.is_set()):
            child = child or self._start()
            if child is None:
                for item in todo if self._problem else ():
                    batch.replies.put((item, Failure(FailureKind.CRASHED, self._problem)))
                return None
            done = 0
            try:
                for outcome in child.outcomes(payload, len(todo)):
                    batch.replies.put((todo[done], outcome))
                    done += 1
                    if batch.abandoned.is_set():
                        break
            except ChildLost as lost:
                self._discard(child)
                child = None
                if not self._closed.is_set():
                    blamed = min(max(lost.in_hand, done), len(todo) - 1)
                    batch.replies.put((todo[blamed], lost.failure))
                    todo = todo[done:blamed] + todo[blamed + 1 :]
                    payload = pickle.dumps(todo, protocol=5)
            else:
                if batch.abandoned.is_set() or self._is_large(child):
                    self._discard(child)
                    child = None
                todo = []
        return child

    def _is_large(self, child: Child) -> bool:
        return self._memory_bytes is not None and child.resident > self._memory_bytes * _RESIDENT_SHARE

    def _start(self) -> Child | None:
        """Return a new child, or None when the pool is closed or starting has failed too often."""
        while not (self._closed.is_set() or self._problem):
            try:
                child = Child(self._orders, self._item_seconds, self._memory_bytes)
            except ChildLost as lost:
                with self._changed:
                    self._failed_starts += 1
                    if self._failed_starts >= _STARTS:
                        self._problem = f"worker processes do not start: {lost.failure.detail}"
                continue
            with self._changed:
                self._failed_starts = 0
                self._children.add(child)
                if self._closed.is_set():
                    child.hang_up()
            return child
        return None

    def _discard(self, child: Child) -> None:
        child.close()
        with self._changed:
            self._children.discard(child)
            self._peak = max(self._peak, child.peak)
