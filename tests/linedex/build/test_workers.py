"""The pool gives every item exactly one outcome, whatever an item does to its process."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from pickle import PicklingError
from typing import Any

import pytest

from linedex.build.workers import Failure, FailureKind, Pool, PoolClosed

HERE = Path(__file__).parent
LIBRARY = Path(sys.modules["linedex"].__file__ or "").parents[1]


@pytest.fixture(autouse=True)
def _tasks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


@pytest.fixture
def pool() -> Iterator[Pool[Any, Any]]:
    with Pool("worker_tasks:act", workers=2, item_seconds=20) as made:
        yield made


def test_every_item_comes_back_once_with_its_result() -> None:
    with Pool[int, int]("worker_tasks:double", workers=2, item_seconds=20) as pool:
        batches = [range(start, start + 7) for start in range(0, 210, 7)]
        assert sorted(pool.run(batches)) == [(item, item * 2) for item in range(210)]


def test_a_function_may_be_given_instead_of_its_name() -> None:
    import worker_tasks

    with Pool[int, int](worker_tasks.double, workers=1, item_seconds=20) as pool:
        assert pool.call(21) == 42


def test_all_processes_can_be_started_before_there_is_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setenv("ANNOUNCED", str(tmp_path / "fifo"))
    with (
        open(tmp_path / "fifo", "r+b", buffering=0) as fifo,
        Pool[int, int]("worker_tasks:double", workers=3, item_seconds=20, setup="worker_tasks:announce") as pool,
    ):
        pool.start()
        heard = b""
        while len(heard) < 3:
            heard += fifo.read(3 - len(heard))
        assert sorted(pool.run([[1], [2], [3], [4]])) == [(1, 2), (2, 4), (3, 6), (4, 8)]
        assert not select.select([fifo], [], [], 0)[0]


def test_processes_that_were_started_too_soon_end_with_the_pool(pool: Pool[Any, Any]) -> None:
    pool.start()
    pool.close()
    with pytest.raises(PoolClosed):
        pool.call(1)
    pool.start()


def test_a_function_of_main_is_refused_before_any_process_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    import worker_tasks

    monkeypatch.setattr(worker_tasks.double, "__module__", "__main__")
    with pytest.raises(ValueError, match="lives in __main__"):
        Pool(worker_tasks.double, workers=1, item_seconds=1)


@pytest.mark.parametrize(
    ("bad", "kind", "detail"),
    [
        ("abort", FailureKind.CRASHED, "SIGABRT"),
        ("segfault", FailureKind.CRASHED, "SIGSEGV"),
        ("leave", FailureKind.CRASHED, "exit status 3"),
        ("error", FailureKind.ERROR, "ValueError: no such thing"),
        ("unpicklable", FailureKind.ERROR, "pickle"),
    ],
)
def test_a_bad_item_costs_only_itself(pool: Pool[Any, Any], bad: str, kind: FailureKind, detail: str) -> None:
    outcomes = dict(pool.run([[1, 2, bad, 3, 4], [5, 6]]))
    failure = outcomes.pop(bad)
    assert isinstance(failure, Failure)
    assert failure.kind is kind
    assert detail in failure.detail
    assert outcomes == {number: number for number in range(1, 7)}


@pytest.mark.parametrize("bad", ["hang", "stuck", "stopped"])
def test_a_hang_is_killed_and_costs_only_itself(bad: str) -> None:
    with Pool[Any, Any]("worker_tasks:act", workers=1, item_seconds=0.3) as pool:
        outcomes = dict(pool.run([[1, bad, 2], [3, bad + "er", 4]]))
        assert outcomes.pop(bad) == Failure(FailureKind.TIMEOUT, "took over 0.3 s")
        assert outcomes == {1: 1, 2: 2, 3: 3, 4: 4, bad + "er": bad + "er"}


@pytest.mark.skipif(sys.platform != "linux", reason="address space is bounded on Linux only")
@pytest.mark.parametrize("bad", ["bomb", "native bomb"])
def test_a_memory_bomb_costs_only_itself(bad: str) -> None:
    # in a process of its own: Linux hands a parent's peak of memory over to a child, and this one's may be large by now
    program = textwrap.dedent(f"""
        import sys
        sys.path[:0] = [{str(LIBRARY)!r}, {str(HERE)!r}]
        from linedex.build.workers import Pool
        with Pool("worker_tasks:act", workers=1, item_seconds=20, memory_bytes=1 << 30) as pool:
            outcomes = dict(pool.run([[1, {bad!r}, 2]]))
        print(outcomes.pop({bad!r}).kind.name, outcomes)
    """)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "MEMORY {1: 1, 2: 2}\n"


def test_many_bad_items_in_one_batch_each_cost_themselves(pool: Pool[Any, Any]) -> None:
    items = ["abort" if number % 5 == 2 else number for number in range(20)]
    outcomes = list(pool.run([items]))
    assert sorted(str(item) for item, _ in outcomes) == sorted(map(str, items))
    assert all(isinstance(outcome, Failure) == (item == "abort") for item, outcome in outcomes)


def test_batches_are_taken_only_as_far_as_there_is_room() -> None:
    taken = 0

    def batches() -> Iterator[list[int]]:
        nonlocal taken
        for number in range(50):
            taken += 1
            yield [number]

    with Pool[int, int]("worker_tasks:double", workers=2, item_seconds=20) as pool:
        run = pool.run(batches())
        next(run)
        assert taken == 4
        assert len(list(run)) == 49


def test_large_results_and_items_pass_in_both_directions() -> None:
    with Pool[int, bytes]("worker_tasks:large", workers=2, item_seconds=20) as pool:
        for item, result in pool.run([list(range(8)), list(range(8, 16))]):
            assert result == bytes([item % 251]) * 300_000
    with Pool[Any, Any]("worker_tasks:act", workers=1, item_seconds=20) as pool:
        text = b"y" * 3_000_000
        assert pool.call(text) == text


def test_calls_from_many_threads_each_get_their_own_answer(pool: Pool[Any, Any]) -> None:
    answers: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda number=number: answers.update({number: pool.call(number)}))  # type: ignore[misc]
        for number in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: number for number in range(16)}


def test_a_call_goes_before_what_a_run_has_queued() -> None:
    with Pool[Any, Any]("worker_tasks:act", workers=1, item_seconds=20) as pool:
        run = pool.run([[number] for number in range(1, 4)])
        next(run)
        assert pool.call("now") == "now"
        assert sorted(item for item, _ in run) == [2, 3]


def test_a_run_left_early_leaves_the_pool_usable(pool: Pool[Any, Any]) -> None:
    run = pool.run([range(10), range(10, 20), range(20, 30)])
    next(run)
    run.close()  # type: ignore[attr-defined]
    assert pool.call("after") == "after"


def test_a_worker_writes_nothing_to_the_parents_streams(
    pool: Pool[Any, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    assert pool.call("noise") == ""
    pool.close()
    assert capfd.readouterr().out == ""


def test_a_worker_ignores_interrupts(pool: Pool[Any, Any]) -> None:
    assert pool.call("interrupt") == "interrupt"


def test_a_worker_runs_at_the_asked_priority() -> None:
    with Pool[Any, Any]("worker_tasks:act", workers=1, item_seconds=20, nice=7) as pool:
        assert pool.call("nice") == min(19, os.nice(0) + 7)


def test_a_worker_that_grew_large_is_replaced() -> None:
    with Pool[Any, Any]("worker_tasks:act", workers=1, item_seconds=20, memory_bytes=512 << 20) as pool:
        small, large = pool.call(("keep", 1 << 20)), pool.call(("keep", 300 << 20))
        assert small == large
        assert pool.call("pid") != large
        assert pool.peak_memory() > 300 << 20


def test_an_item_that_cannot_be_pickled_is_refused_to_its_caller(pool: Pool[Any, Any]) -> None:
    with pytest.raises((AttributeError, PicklingError), match=r"(?i)pickle"):
        pool.call(lambda: None)
    assert pool.call(1) == 1


@pytest.mark.parametrize(("setup", "words"), [("refuse", "the parser is broken"), ("die", "SIGABRT"), ("none", "none")])
def test_workers_that_do_not_start_fail_every_item_and_say_why(setup: str, words: str) -> None:
    with Pool[int, int]("worker_tasks:double", workers=2, item_seconds=20, setup=f"worker_tasks:{setup}") as pool:
        outcomes = list(pool.run([[1, 2], [3]]))
        assert sorted(item for item, _ in outcomes) == [1, 2, 3]
        for _, outcome in outcomes:
            assert isinstance(outcome, Failure)
            assert words in outcome.detail
        assert words in pool.problem


def test_a_closed_pool_refuses_and_wakes_those_who_wait() -> None:
    pool = Pool[Any, Any]("worker_tasks:act", workers=1, item_seconds=60)
    run = pool.run([["started", "hang"], ["never"]])
    waiting: list[BaseException] = []

    def wait() -> None:
        with pytest.raises(PoolClosed) as raised:
            list(run)
        waiting.append(raised.value)

    thread = threading.Thread(target=wait)
    thread.start()
    pool.close()
    thread.join()
    assert waiting
    with pytest.raises(PoolClosed):
        pool.call(1)


SCRIPT = """
import os, sys
sys.path[:0] = [{tests!r}, {library!r}]
from linedex.build.workers import Pool
pool = Pool("worker_tasks:act", workers=1, item_seconds={seconds})
print(pool.call("pid"), flush=True)
{rest}
"""


def _script(tmp_path: Path, rest: str, seconds: float = 20) -> Path:
    script = tmp_path / "plain.py"
    text = SCRIPT.format(tests=str(HERE), library=str(LIBRARY), rest=textwrap.dedent(rest), seconds=seconds)
    script.write_text(text)
    return script


@pytest.mark.parametrize("way", ["script", "module", "command"])
def test_it_works_however_the_parent_was_started(tmp_path: Path, way: str) -> None:
    script = _script(tmp_path, "pool.close()")  # no `if __name__` guard: children must not run it again
    command = {"script": [str(script)], "module": ["-m", "plain"], "command": ["-c", script.read_text()]}[way]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip().isdigit()
    assert done.stderr == ""


def test_nothing_is_imported_from_the_folder_one_stands_in(tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for module in ("json", "re", "pickle", "struct", "numpy", "linedex"):
        (hostile / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{module}')\n")
    script = _script(tmp_path, "pool.close()")
    done = subprocess.run([sys.executable, str(script)], cwd=hostile, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.strip().isdigit()) == ("", True)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("stuck", [False, True])
def test_workers_do_not_outlive_a_killed_parent(tmp_path: Path, stuck: bool) -> None:
    fifo = tmp_path / "in hand"
    os.mkfifo(fifo)
    rest = f"pool.call(('stuck', {str(fifo)!r}))" if stuck else "sys.stdin.read()"
    script = _script(tmp_path, rest, seconds=0.5 if stuck else 20)
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        if stuck:
            fifo.read_bytes()
        pidfd = os.pidfd_open(worker)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    try:
        readable, _, _ = select.select([pidfd], [], [], 30)
        assert readable, "the worker still lives"
    finally:
        os.close(pidfd)
