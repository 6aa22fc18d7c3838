"""Outlines on demand in killable processes.

Promise: `Outliner.outline` answers within its time budget from any thread, whatever the text does to the parser; what
it cannot give it says in the extraction's note and reason.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from linedex.build.crash_policy import CrashPolicy
from linedex.build.workers import Failure, FailureKind, Pool
from linedex.content.symbols import Extraction, extract, has_outline, register_folder, self_test
from linedex.limits import Limits
from linedex.model import SkipReason


def prepare_worker(added_languages: Path | None = None) -> None:
    """Set a parsing worker up: try the parser once, and make added languages known. Crashes when the parser does."""
    self_test()
    register_folder(added_languages)


def refusal(failure: Failure) -> Extraction:
    """Return what stands in for the symbols of a file whose extraction failed."""
    if failure.kind is FailureKind.TIMEOUT:
        return Extraction(note=f"not outlined: {failure.detail}", reason=SkipReason.OVER_BUDGET)
    if failure.kind is FailureKind.MEMORY:
        return Extraction(
            note=f"not outlined: over the memory budget ({failure.detail})", reason=SkipReason.OVER_BUDGET
        )
    return Extraction(note=f"not outlined: parser crashed ({failure.detail})", reason=SkipReason.PARSER_CRASHED)


def switched_off(language: str) -> Extraction:
    """Return what stands in for the symbols of a file whose language is switched off."""
    return Extraction(note=f"not outlined: {language} is off after repeated crashes", reason=SkipReason.LANGUAGE_OFF)


class Outliner:
    """Symbols of single texts, on demand.

    Args:
        limits: budgets of one file.
        workers: parsing processes at most; they start at the first request.
        policy: shared with other users of the parsers, or None for one of its own.
        added_languages: folder of added languages, or None.
    """

    def __init__(
        self, limits: Limits, workers: int, *, policy: CrashPolicy | None = None, added_languages: Path | None = None
    ) -> None:
        self.policy = policy or CrashPolicy()
        self._pool: Pool[tuple[bytes, str, bool], Extraction] = Pool(
            partial(_outline, limits),
            workers=workers,
            item_seconds=limits.outline_seconds,
            memory_bytes=limits.outline_memory,
            nice=0,  # somebody waits for the answer
            setup=partial(prepare_worker, added_languages),
        )
        register_folder(added_languages)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def outline(self, text: bytes, language: str, *, full: bool) -> Extraction:
        """Return the symbols of a text; see `extract` for the arguments. Any thread may call.

        Raises:
            PoolClosed: the outliner is closed.
        """
        if not has_outline(language):
            return Extraction(note="no outline for this language", reason=SkipReason.NO_LANGUAGE)
        if not self.policy.allows(language):
            return switched_off(language)
        outcome = self._pool.call((text, language, full))
        failure = outcome if isinstance(outcome, Failure) else None
        if not self._pool.problem:
            self.policy.record(language, failure)
        return outcome if isinstance(outcome, Extraction) else refusal(outcome)

    def problems(self) -> tuple[str, ...]:
        """Return sentences on what is wrong, for a person to act on."""
        broken = self._pool.problem
        return (*((f"Symbols are off: {broken}.",) if broken else ()), *self.policy.problems())

    def close(self) -> None:
        """End the workers."""
        self._pool.close()


def _outline(limits: Limits, item: tuple[bytes, str, bool]) -> Extraction:
    text, language, full = item
    return extract(text, language, limits, full=full)
