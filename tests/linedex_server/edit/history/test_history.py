from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.errors import Unreadable
from linedex_server.edit.errors import Conflict, NoSuchStep, WriteFailed
from linedex_server.edit.history import steps as history_steps
from linedex_server.edit.history import writers
from linedex_server.edit.history.budget import Budget
from linedex_server.edit.history.history import History
from linedex_server.edit.history.steps import Event, Intent, NewFileStep, Undoes, Writer, standing
from linedex_server.edit.splice import Splice, applied

PATH = b"/home/me/a.txt"


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    found = History(tmp_path / "history" / "history.db")
    yield found
    found.close()


def step_of(content: bytes, *splices: Splice, path: bytes = PATH) -> NewFileStep:
    """Return a step that makes `splices` in a file of these bytes."""
    return NewFileStep(
        path,
        splices,
        lambda offset, size: content[offset : offset + size],
        size_before=len(content),
        size_after=len(applied(content, splices)),
        hash_before="b",
        hash_after="a",
        mode_before=0o644,
        mode_after=0o644,
    )


def made(history: History, content: bytes, *splices: Splice, path: bytes = PATH, undoes: Undoes | None = None) -> str:
    """Make a step and settle it."""
    step = history.prepare("edit_content", [step_of(content, *splices, path=path)], undoes=undoes)
    history.settle(step)
    return step


def noise(size: int, seed: int = 1) -> bytes:
    """Return bytes that do not pack."""
    return random.Random(seed).randbytes(size)


def test_a_small_file_is_kept_whole_and_a_large_one_in_the_bytes_that_went(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db", Budget(whole_bytes=9))
    small = made(history, b"0123456", Splice(2, 4, b"x"))
    large = made(history, b"0123456789", Splice(2, 4, b"x"), Splice(7, 9, b""))
    assert history.former(small, PATH).read(0, 100) == b"0123456"
    assert history.former(large, PATH).read(0, 100) == b"2378"
    assert [(one.start, one.end, one.length) for one in history.changes(large, PATH)] == [(2, 4, 1), (7, 9, 0)]
    assert [file.whole for step in history.steps() for file in step.files] == [False, True]
    history.close()


def test_what_finds_a_splice_again_is_its_new_bytes_between_unchanged_ones(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db", Budget(context_bytes=3))
    step = made(history, b"0123456789", Splice(2, 4, b"xy"), Splice(6, 6, b"-"))
    assert history.places(step, PATH).read(0, 100) == b"01xy4545-678"
    assert [(one.lead, one.trail) for one in history.changes(step, PATH)] == [(2, 2), (2, 3)]
    history.close()


def test_bytes_longer_than_a_chunk_come_back_from_any_offset(history: History) -> None:
    content = noise(3_000_000)
    step = history.prepare("t", [step_of(content, Splice(0, len(content), b""))])
    kept = history.former(step, PATH)
    assert kept.size == len(content)
    for offset, size in [(0, 3_000_000), (1_048_575, 2), (1_048_576, 1_048_576), (2_999_999, 10), (5, 0)]:
        assert kept.read(offset, size) == content[offset : offset + size]


def test_equal_bytes_are_kept_once(history: History) -> None:
    content = noise(500_000)
    for number in range(10):
        made(history, content, Splice(0, 0, b"%d" % number))
    assert history.path.stat().st_size + Path(f"{history.path}-wal").stat().st_size < 2_000_000


def test_ten_steps_in_one_moment_are_ten_steps_ordered_by_name(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    made_steps = [made(history, b"%d" % number, Splice(0, 1, b"z")) for number in range(10)]
    assert [step.id for step in history.steps(PATH)] == made_steps[::-1]
    assert sorted(made_steps) == made_steps
    assert len(set(made_steps)) == 10
    assert [history.former(step, PATH).read(0, 9) for step in made_steps] == [b"%d" % number for number in range(10)]


def test_steps_are_paged_and_told_for_one_file_or_all(history: History) -> None:
    mine = [made(history, b"a", Splice(0, 1, b"b")) for _ in range(5)]
    other = made(history, b"a", Splice(0, 1, b"b"), path=b"/other")
    assert [step.id for step in history.steps(limit=2)] == [other, mine[4]]
    assert [step.id for step in history.steps(limit=2, before=mine[4])] == [mine[3], mine[2]]
    assert [step.id for step in history.steps(PATH, limit=9)] == mine[::-1]
    assert history.newest_standing(PATH) == mine[4]
    assert history.newest_standing(b"/nothing") is None


def test_a_step_that_is_not_settled_is_pending_and_not_told(history: History) -> None:
    intent = Intent(PATH, "replace", b"/home/me/.linedex-1.tmp")
    step = history.prepare("t", [step_of(b"abc", Splice(0, 1, b"x"))], intents=[intent])
    later = Intent(PATH, "in_place", b"/home/me/.linedex-1.tmp", 7, 8, kept=(1, 3), note="n")
    history.keep(step, PATH, 1, 3, lambda offset, size: b"abc"[offset : offset + size])
    history.intend(step, [later])
    (pending,) = history.pending()
    assert (pending.step.id, pending.intents, pending.writer) == (step, (later,), writers.this_process())
    assert history.roll_back(step, PATH).read(0, 9) == b"bc"
    assert history.steps() == []
    history.settle(step, {PATH: "new"})
    assert history.pending() == []
    assert [file.hash_after for file in history.steps()[0].files] == ["new"]
    assert history.roll_back(step, PATH).size == 0


def test_a_discarded_step_leaves_nothing_and_its_name_is_not_used_again(history: History) -> None:
    step = history.prepare("t", [step_of(noise(1000), Splice(0, 1, b"x"))])
    history.discard(step)
    history.discard(step)
    assert history.pending() == []
    with pytest.raises(NoSuchStep, match="There is no step"):
        history.step(step)
    assert made(history, b"a", Splice(0, 1, b"b")) > step
    with sqlite3.connect(history.path) as db:
        assert db.execute("SELECT count(*) FROM chunks WHERE size = 1000").fetchone() == (0,)
    db.close()


def test_the_oldest_steps_go_first_and_are_refused_by_name(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db", Budget(steps=3))
    unsettled = history.prepare("t", [step_of(b"a", Splice(0, 1, b"b"))])
    steps = [history.prepare("t", [step_of(b"a", Splice(0, 1, b"b"))]) for _ in range(4)]
    notes = [history.settle(step) for step in steps]
    assert [step.id for step in history.steps()] == steps[:1:-1][:2]
    assert any("removed 1 step, the oldest" in note for told in notes for note in told)
    with pytest.raises(NoSuchStep, match=f"Step {steps[0]} was removed to keep the history within .* and 3 steps"):
        history.step(steps[0])
    assert [pending.step.id for pending in history.pending()] == [unsettled]
    history.close()


def test_kept_bytes_stay_within_the_budget_but_for_a_single_larger_step(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db", Budget(stored_bytes=50_000))
    steps = [made(history, noise(20_000, seed), Splice(0, 1, b"")) for seed in range(5)]
    assert [step.id for step in history.steps()] == [steps[4], steps[3]]
    larger = made(history, noise(80_000), Splice(0, 1, b""))
    assert [step.id for step in history.steps()] == [larger]
    assert history.former(larger, PATH).read(0, 80_000) == noise(80_000)
    history.close()


def test_room_of_a_large_step_that_is_gone_goes_back_to_the_system(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db", Budget(stored_bytes=1_000_000, free_bytes=500_000))
    made(history, noise(4_000_000), Splice(0, 4_000_000, b""))
    for number in range(3):
        made(history, noise(1_000, number), Splice(0, 1, b""))
    history.close()
    assert history.path.stat().st_size < 1_000_000


def test_other_writers_come_between_the_batches_of_a_large_step(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db", Budget(batch_bytes=1 << 20))
    other = History(tmp_path / "history.db")
    content = noise(3_000_000)
    between: list[str] = []

    def read(offset: int, size: int) -> bytes:
        if offset == 1 << 20:  # the first batch is being kept
            with ThreadPoolExecutor(1) as pool:
                between.append(pool.submit(made, other, b"abc", Splice(0, 1, b"x")).result(30))
        return content[offset : offset + size]

    whole = (Splice(0, len(content), b""),)
    large = NewFileStep(PATH, whole, read, size_before=len(content), size_after=0)
    intent = Intent(PATH, "replace", b"/t")
    step = history.prepare("t", [large], intents=[intent])
    assert [pending.intents for pending in history.pending()] == [(intent,)]
    history.settle(step)
    assert [one.id for one in history.steps()] == [*between, step]
    assert b"".join(history.former(step, PATH).read(at, 700_000) for at in range(0, 3_000_000, 700_000)) == content
    history.close()
    other.close()


def test_a_large_step_that_cannot_be_kept_whole_is_not_kept_at_all(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db", Budget(batch_bytes=1 << 20))

    def shorter(offset: int, size: int) -> bytes:
        if offset > 2 << 20:
            raise Conflict("shorter")
        return bytes(size)

    large = NewFileStep(PATH, (Splice(0, 5 << 20, b""),), shorter, size_before=5 << 20, size_after=0)
    with pytest.raises(Conflict):
        history.prepare("t", [large])
    assert history.pending() == []
    history.close()


def test_a_write_that_fails_costs_no_step(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db", Budget(steps=1))
    first = made(history, b"a", Splice(0, 1, b"b"))
    history.discard(history.prepare("t", [step_of(b"b", Splice(0, 1, b"c"))]))
    assert [step.id for step in history.steps()] == [first]
    history.close()


def test_names_that_are_none_are_refused(history: History) -> None:
    for name in ["", "5c2!", "zzz", "-1", "é", "1" * 40]:
        with pytest.raises(NoSuchStep):
            history.step(name)
    step = made(history, b"a", Splice(0, 1, b"b"))
    assert history.step(f" {step.upper()}").id == step
    with pytest.raises(NoSuchStep, match="did not change"):
        history.former(step, b"/other")


@given(st.integers(0, 1 << 50))
def test_a_name_gives_its_number_back(number: int) -> None:
    assert history_steps.step_number(history_steps.step_id(number)) == number == int(history_steps.step_id(number), 36)


def test_the_history_is_for_its_owner_only(history: History) -> None:
    made(history, b"a", Splice(0, 1, b"b"))
    files = list(history.path.parent.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(history.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["head", "middle", "text"])
def test_a_damaged_history_is_moved_aside_and_said_so(tmp_path: Path, damage: str) -> None:
    history = History(tmp_path / "history.db")
    old = [made(history, noise(5_000, seed), Splice(0, 1, b"")) for seed in range(20)]
    history.close()
    content = bytearray(history.path.read_bytes())
    match damage:
        case "head":
            content[:4000] = bytes(4000)
            content[0] = 1
        case "middle":
            content[4096:] = b"\x37" * (len(content) - 4096)
        case _:
            content = bytearray(b"no database at all\n" * 500)
    history.path.write_bytes(content)
    step = history.prepare("t", [step_of(b"a", Splice(0, 1, b"b"))])
    (note,) = history.settle(step)
    assert "damaged" in note
    assert "history.db.damaged-1" in note
    assert (tmp_path / "history.db.damaged-1").read_bytes() == content
    assert [one.id for one in history.steps()] == [step]
    assert step not in old
    history.close()


def test_a_damaged_history_is_left_where_it_is_by_who_only_reads(history: History) -> None:
    made(history, b"a", Splice(0, 1, b"b"))
    history.close()
    history.path.write_bytes(b"no database at all\n" * 500)
    with pytest.raises(Unreadable, match="is damaged"):
        history.steps()
    assert not list(history.path.parent.glob("*damaged*"))
    assert history.pending() == []  # what a start asks must not refuse the writes that come after it
    assert len(list(history.path.parent.glob("history.db.damaged-1"))) == 1


def test_damaged_bytes_of_one_step_cost_no_other_step_anything(history: History) -> None:
    steps = [made(history, noise(3_000, seed), Splice(0, 1, b"b")) for seed in range(3)]
    history.close()
    content = history.path.read_bytes()
    at = content.index(noise(3_000, 1)[:1_000])
    history.path.write_bytes(content[: at + 50] + b"!" + content[at + 51 :])
    with pytest.raises(NoSuchStep, match="damaged"):
        history.former(steps[1], PATH).read(0, 3_000)
    assert history.former(steps[0], PATH).read(0, 3_000) == noise(3_000, 0)
    assert history.former(steps[2], PATH).read(0, 3_000) == noise(3_000, 2)


def test_a_history_with_other_tables_is_moved_aside(history: History) -> None:
    made(history, b"a", Splice(0, 1, b"b"))
    history.close()
    with sqlite3.connect(history.path) as db:
        db.execute("ALTER TABLE files RENAME COLUMN whole TO hole")
    db.close()
    step = made(history, b"a", Splice(0, 1, b"b"))
    assert [one.id for one in history.steps()] == [step]
    assert len(list(history.path.parent.glob("history.db.damaged-1"))) == 1


def test_a_history_of_a_later_version_is_not_touched(history: History) -> None:
    made(history, b"a", Splice(0, 1, b"b"))
    history.close()
    with sqlite3.connect(history.path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(WriteFailed, match="later version"):
        history.prepare("t", [step_of(b"a", Splice(0, 1, b"b"))])
    assert not list(history.path.parent.glob("*damaged*"))


def test_a_history_that_was_deleted_under_us_is_begun_anew(history: History) -> None:
    made(history, b"a", Splice(0, 1, b"b"))
    for file in history.path.parent.iterdir():
        file.unlink()
    history.path.parent.rmdir()
    step = made(history, b"c", Splice(0, 1, b"d"))
    assert [one.id for one in history.steps()] == [step]


def test_a_step_that_cannot_be_recorded_is_a_failed_write(tmp_path: Path) -> None:
    (tmp_path / "history").write_bytes(b"a file")
    history = History(tmp_path / "history" / "history.db")
    with pytest.raises(WriteFailed, match="cannot be recorded"):
        history.prepare("t", [step_of(b"a", Splice(0, 1, b"b"))])


def test_a_full_disk_is_a_failed_write_and_the_history_goes_on(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], check=False).returncode:
        pytest.skip("mounting is denied here")
    try:
        history = History(tmp_path / "history.db")
        first = made(history, b"a", Splice(0, 1, b"b"))
        large = noise(2_000_000)
        with pytest.raises(WriteFailed, match="cannot be recorded") as refused:
            history.prepare("t", [step_of(large, Splice(0, len(large), b""))])
        assert "Nothing was written" in refused.value.hint
        assert history.pending() == []
        second = made(history, b"b", Splice(0, 1, b"c"))
        assert [step.id for step in history.steps()] == [second, first]
        history.close()
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_file_that_becomes_shorter_while_it_is_kept_leaves_no_step(history: History) -> None:
    def shorter(offset: int, size: int) -> bytes:
        raise InterruptedError

    step = NewFileStep(PATH, (Splice(0, 1, b"b"),), shorter, size_before=10, size_after=10)
    with pytest.raises(WriteFailed):
        history.prepare("t", [step])
    assert history.pending() == []


def test_threads_and_processes_share_a_history(history: History) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from linedex_server.edit.history.history import History\n"
        "from linedex_server.edit.history.steps import NewFileStep\n"
        "from linedex_server.edit.splice import Splice\n"
        "history = History(Path(sys.argv[1]))\n"
        "for _ in range(20):\n"
        "    step = NewFileStep(b'/x', (Splice(0, 0, b'x'),), lambda offset, size: b'', size_before=0, size_after=1)\n"
        "    made = history.prepare('t', [step]); history.settle(made); print(made)\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, history.path], stdout=subprocess.PIPE, text=True, env=child())
        for _ in range(3)
    ]
    with ThreadPoolExecutor(4) as pool:
        mine = list(pool.map(lambda number: made(history, b"%d" % number, Splice(0, 1, b"")), range(40)))
    theirs = [line for one in children for line in one.communicate(timeout=60)[0].split()]
    assert [one.returncode for one in children] == [0, 0, 0]
    assert len(theirs) == 60
    assert sorted([*mine, *theirs], reverse=True) == [step.id for step in history.steps(limit=1000)]


def child() -> dict[str, str]:
    """Return the environment of a child that finds our packages."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_killed_at_any_moment_the_history_opens_with_every_settled_step(history: History) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from linedex_server.edit.history.budget import Budget\n"
        "from linedex_server.edit.history.history import History\n"
        "from linedex_server.edit.history.steps import NewFileStep\n"
        "from linedex_server.edit.splice import Splice\n"
        "history = History(Path(sys.argv[1]), Budget(steps=30))\n"
        "number = int(sys.argv[2])\n"
        "while True:\n"
        "    number += 1\n"
        "    content = b'%d;' % number * 30_000\n"
        "    step = NewFileStep(b'/x', (Splice(0, 9, b'x'),), lambda offset, size: content[offset:offset + size],\n"
        "        size_before=len(content), size_after=1)\n"
        "    made = history.prepare('t', [step]); history.settle(made); print(made, number, flush=True)\n"
    )
    chance = random.Random(5)
    said: dict[str, int] = {}
    for round_ in range(6):
        one = subprocess.Popen(
            [sys.executable, "-c", program, history.path, str(round_ * 1000)], stdout=subprocess.PIPE, env=child()
        )
        assert one.stdout is not None
        for _ in range(chance.randrange(1, 25)):
            step, number = one.stdout.readline().decode().split()
            said[step] = int(number)
        one.send_signal(signal.SIGKILL)
        for line in one.stdout.read().decode().splitlines():
            if line.count(" ") == 1 and line.split()[1]:
                said[line.split()[0]] = int(line.split()[1])
        one.wait(timeout=30)
        one.stdout.close()
        for pending in history.pending():
            assert not writers.running(pending.writer)
            history.discard(pending.step.id)
        left = [step.id for step in history.steps(limit=100)]
        # a step may be settled and not said yet
        expected = sorted(said, reverse=True)
        assert [name for name in left if name in said] == expected[: len([name for name in left if name in said])]
        assert len(left) >= min(len(said), 30)
        for name in left:
            if name in said:
                content = b"%d;" % said[name] * 30_000
                assert history.former(name, b"/x").read(0, 1_000_000) == content
    with sqlite3.connect(history.path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert (
            db.execute("SELECT sum(stored) FROM chunks").fetchone() == db.execute("SELECT bytes FROM totals").fetchone()
        )
        assert db.execute(
            "SELECT count(*) FROM chunks WHERE uses <> (SELECT count(*) FROM pieces WHERE chunk = chunks.number)"
        ).fetchone() == (0,)
    db.close()


def test_a_process_is_told_apart_from_a_later_one_with_its_number() -> None:
    me = writers.this_process()
    assert writers.running(me)
    assert not writers.running(Writer(me.process, "another boot 17"))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(timeout=30)
    assert not writers.running(Writer(gone.pid, ""))


def test_steps_prepared_at_once_wait_for_one_another(history: History) -> None:
    inside = threading.Event()
    go_on = threading.Event()

    def slow(offset: int, size: int) -> bytes:
        inside.set()
        assert go_on.wait(30)
        return b"0123456789"[offset : offset + size]

    with ThreadPoolExecutor(2) as pool:
        first = NewFileStep(PATH, (Splice(0, 1, b"b"),), slow, size_before=10, size_after=10)
        one = pool.submit(history.prepare, "t", [first])
        assert inside.wait(30)
        other = pool.submit(made, history, b"abc", Splice(0, 1, b"x"))
        go_on.set()
        assert history.step(one.result(30)).id < other.result(30)


class Pile:
    """What stands, the plain way: a list copied before every step."""

    def __init__(self) -> None:
        self.now: list[int] = []
        self.before: dict[int, list[int]] = {}

    def add(self, event: Event) -> None:
        self.before[event.number] = list(self.now)
        if event.undoes is None:
            self.now.append(event.number)
        elif event.restores:
            self.now = list(self.before.get(event.undoes, []))
        elif event.undoes in self.now:
            self.now.remove(event.undoes)


@given(st.lists(st.tuples(st.sampled_from(["write", "undo", "restore"]), st.integers(1, 30)), max_size=30))
def test_what_stands_is_what_copied_lists_say(drawn: list[tuple[str, int]]) -> None:
    pile = Pile()
    events = []
    for number, (kind, back) in enumerate(drawn, start=100):
        target = None if kind == "write" else number - back
        events.append(Event(number, target, kind == "restore"))
        pile.add(events[-1])
    found = standing(events)
    assert found.newest == (pile.now[-1] if pile.now else None)
    ordinary = {event.number for event in events if event.undoes is None}
    assert ordinary - found.undone_by.keys() == set(pile.now)
