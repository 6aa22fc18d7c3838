"""Outlines on demand survive what a text does to the parser, and a language whose parser keeps crashing goes off."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linedex.build.crash_policy import CrashPolicy
from linedex.build.outliner import Outliner, prepare_worker, refusal, switched_off
from linedex.build.workers import Failure, FailureKind, Pool
from linedex.content.symbols import Extraction, extract
from linedex.limits import Limits
from linedex.model import SkipReason

CRASH = Failure(FailureKind.CRASHED, "killed by SIGSEGV")
SLOW = Failure(FailureKind.TIMEOUT, "took over 3 s")


@pytest.fixture
def outliner() -> Iterator[Outliner]:
    with Outliner(Limits(), 2) as made:
        yield made


def test_an_outline_from_a_worker_is_that_of_the_library(outliner: Outliner) -> None:
    text = b"class A:\n    def f(self): pass\n"
    assert outliner.outline(text, "python", full=True) == extract(text, "python", Limits(), full=True)
    assert outliner.problems() == ()


def test_a_language_without_outline_costs_no_process(outliner: Outliner) -> None:
    assert outliner.outline(b"x", "klingon", full=True).reason is SkipReason.NO_LANGUAGE


def test_a_query_that_hangs_costs_one_outline_and_says_so() -> None:
    # 50,000 open parentheses keep the query, which cannot be cancelled, busy for seconds
    with Outliner(Limits(outline_seconds=0.3), 1) as outliner:
        outliner.outline(b"int a;\n", "c", full=True)
        found = outliner.outline(b"(" * 50_000, "c", full=True)
        assert (found.symbols, found.reason) == ((), SkipReason.OVER_BUDGET)
        assert found.note == "not outlined: took over 0.3 s"
        assert [s.name for s in outliner.outline(b"int f(void) { return 1; }\n", "c", full=True).symbols] == ["f"]
        assert outliner.problems() == ()


@pytest.mark.skipif(sys.platform != "linux", reason="address space is bounded on Linux only")
def test_a_text_that_takes_too_much_memory_costs_one_outline() -> None:
    with Outliner(Limits(outline_memory=300 << 20, parse_seconds=60, outline_seconds=60), 1) as outliner:
        found = outliner.outline(b"[" * 2_000_000, "json", full=True)
        assert found.symbols == ()
        assert found.reason in (SkipReason.OVER_BUDGET, SkipReason.PARSER_CRASHED)
        assert outliner.outline(b'{"a": 1}', "json", full=True).symbols


def test_many_threads_may_ask_at_once(outliner: Outliner) -> None:
    answers: dict[int, Extraction] = {}

    def ask(number: int) -> None:
        answers[number] = outliner.outline(f"def f{number}(): pass\n".encode(), "python", full=False)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: answer.symbols[0].name for number, answer in answers.items()} == {n: f"f{n}" for n in range(8)}


def test_three_crashes_within_fifty_files_switch_a_language_off() -> None:
    policy = CrashPolicy()
    for outcome in (CRASH, None, CRASH, SLOW, None):
        policy.record("php", outcome)
    assert policy.allows("php")
    policy.record("php", CRASH)
    assert not policy.allows("php")
    assert policy.allows("python")
    (problem,) = policy.problems()
    assert "php" in problem
    assert "SIGSEGV" in problem


def test_crashes_far_apart_and_slow_files_leave_a_language_on() -> None:
    policy = CrashPolicy()
    for _ in range(10):
        policy.record("c", CRASH)
        for _ in range(25):
            policy.record("c", None)
        policy.record("c", SLOW)
        for _ in range(25):
            policy.record("c", None)
    assert policy.allows("c")
    assert policy.problems() == ()


def test_a_language_that_is_off_is_not_parsed_any_more(outliner: Outliner) -> None:
    for _ in range(3):
        outliner.policy.record("python", CRASH)
    found = outliner.outline(b"def f(): pass\n", "python", full=True)
    assert found == switched_off("python")
    assert found.reason is SkipReason.LANGUAGE_OFF
    assert outliner.outline(b"int f(void) { return 1; }\n", "c", full=True).symbols


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (CRASH, SkipReason.PARSER_CRASHED),
        (SLOW, SkipReason.OVER_BUDGET),
        (Failure(FailureKind.MEMORY, "out of memory"), SkipReason.OVER_BUDGET),
        (Failure(FailureKind.ERROR, "ValueError: x"), SkipReason.PARSER_CRASHED),
    ],
)
def test_a_failure_is_told_with_its_reason(failure: Failure, reason: SkipReason) -> None:
    stand_in = refusal(failure)
    assert (stand_in.symbols, stand_in.reason) == ((), reason)
    assert failure.detail in stand_in.note


def test_a_parser_that_fails_its_self_test_turns_symbols_off_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # children import this stand-in for the parser's package, which dies as a broken build of it does
    (tmp_path / "tree_sitter.py").write_text("import os\nos.abort()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with Outliner(Limits(), 1) as outliner:
        found = outliner.outline(b"def f(): pass\n", "python", full=True)
        assert (found.symbols, found.reason) == ((), SkipReason.PARSER_CRASHED)
        (problem,) = outliner.problems()
        assert problem.startswith("Symbols are off: worker processes do not start")


def test_the_bulk_phase_can_prepare_its_workers_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with Pool[Any, Any]("worker_tasks:act", workers=1, item_seconds=20, setup=prepare_worker) as pool:
        assert pool.call(1) == 1
