"""The pool without processes: the same interface, in the caller's thread.

For tests that build thousands of tiny indexes, and for systems where no process can be started. It has no protection
from a parser that hangs or crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class InlinePool(Generic[Item, Result]):
    """Runs `task` over items where it stands."""

    problem = ""

    def __init__(self, task: Callable[[Item], Result]) -> None:
        self._task = task

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def close(self) -> None:
        """Do nothing: there is nothing to end."""

    def start(self) -> None:
        """Do nothing: there is nothing to start."""

    def run(
        self,
        batches: Iterable[Sequence[Item]],
        *,
        ahead: int = 2,  # noqa: ARG002 - a pool of processes has it
    ) -> Iterator[tuple[Item, Result]]:
        """Yield every item with its result, in order; nothing is taken ahead."""
        for batch in batches:
            for item in batch:
                yield item, self._task(item)
