"""Files that other processes write while they are edited: nothing they write is lost, and nothing of ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.linedex_server.edit.committing import Desk, acting, replacing, spliced

from linedex_server.edit.errors import BeingWritten, Conflict
from linedex_server.edit.put.lease import Lease, Writers
from linedex_server.edit.put.plans import Plan
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.put.syscalls import NATIVE, PLAIN, Abilities
from linedex_server.edit.put.ways import Bounds
from linedex_server.edit.splice import Splice

LINES = 120
APPENDER = """
import os, sys, time
path, keeping, lines = sys.argv[1], sys.argv[2] == "keeping", int(sys.argv[3])
log = os.open(path, os.O_WRONLY | os.O_APPEND)
for number in range(lines):
    if not keeping:
        os.close(log)
        log = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(log, b"line %d\\n" % number)
    if not keeping:
        os.close(log)
    time.sleep(0.004)
    if not keeping:
        log = os.open(path, os.O_WRONLY | os.O_APPEND)
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def head(text: bytes) -> Callable[[Snapshot | None], Plan]:
    """Return a planner that gives a file another first line."""

    def plan(snapshot: Snapshot | None) -> Plan:
        assert snapshot is not None
        return Plan((Splice(0, snapshot.read(0, 4096).index(b"\n"), text),))

    return plan


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
@pytest.mark.parametrize("how", ["keeping", "reopening"])
@pytest.mark.parametrize("same_length", [False, True], ids=["longer", "same length"])
def test_no_line_of_a_process_that_appends_is_lost(desk: Desk, how: str, same_length: bool) -> None:
    log = desk.root / "a.log"
    log.write_bytes(b"head 0000\n")
    writer = subprocess.Popen([sys.executable, "-c", APPENDER, log, how, str(LINES)])
    committer = desk.committer()
    expected, applied, refused, number = b"head 0000", 0, 0, 0
    while writer.poll() is None:
        number += 1
        text = b"head %04d" % (number % 10_000) if same_length else b"head" + b"!" * (number % 50)
        try:
            (done,) = committer.commit([desk.target("a.log", head(text))], tool="test")
        except (BeingWritten, Conflict):
            refused += 1
        else:
            applied += done.changed
            expected = text
    assert writer.returncode == 0
    first, *lines = log.read_bytes().splitlines()
    assert lines == [b"line %d" % number for number in range(LINES)]
    assert first == expected
    if how == "keeping" and not same_length:
        assert refused
    else:
        assert applied
    assert desk.names() == ["a.log"]
    assert desk.history.pending() == []


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_a_file_open_for_writing_elsewhere_is_refused_but_for_changes_of_equal_length(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.write_bytes(b"one two three")
    inode = path.stat().st_ino
    with path.open("ab"):
        with pytest.raises(BeingWritten, match="cut that process off"):
            desk.edit("a.txt", Splice(0, 3, b"four"))
        with pytest.raises(BeingWritten):
            desk.committer().commit([desk.target("a.txt", lambda _: Plan((), remove=True))], tool="test")
        done = desk.edit("a.txt", Splice(0, 3, b"ONE"), Splice(8, 13, b"THREE"))
    assert path.read_bytes() == b"ONE two THREE"
    assert path.stat().st_ino == inode
    assert done.notes == ("Written in place: another process has it open for writing.",)
    desk.edit("a.txt", Splice(0, 3, b"four"))
    assert path.read_bytes() == b"four two THREE"


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_who_opens_the_file_for_writing_meanwhile_waits_and_then_writes_the_file_that_has_the_name(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.write_bytes(b"one\n")
    for at in ("write new bytes", "check again", "exchange the files", "look at what came out", "flush the folder"):
        before = path.read_bytes()
        threads: list[threading.Thread] = []

        def append() -> None:
            with path.open("ab") as file:
                file.write(b"appended\n")

        def begin(threads: list[threading.Thread] = threads, at: str = at) -> None:
            inode = path.stat().st_ino
            thread = threading.Thread(target=append)
            threads.append(thread)
            thread.start()
            if at in {"write new bytes", "check again", "exchange the files"}:
                wait_for_break(inode)
            else:
                # the name leads to the new file by now, which nobody holds a lease on
                thread.join(30)

        desk.edit("a.txt", Splice(0, 0, b"more "), faults=acting(at, begin))
        for thread in threads:
            thread.join(30)
        assert path.read_bytes() == b"more " + before + b"appended\n", at
        assert desk.names() == ["a.txt"]


def wait_for_break(inode: int) -> None:
    """Wait until the kernel says that a lease of the file is being broken."""
    end = time.monotonic() + 30
    while not any(f":{inode} " in line and "BREAKING" in line for line in Path("/proc/locks").read_text().splitlines()):
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_a_breaking_lease_is_seen_and_kills_nobody(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    reading = os.open(path, os.O_RDONLY)
    caught: list[int] = []
    former = signal.signal(signal.SIGIO, lambda number, _: caught.append(number))
    try:
        lease = Lease(reading, wanted=True)
        assert (lease.writers, lease.breaking) == (Writers.NONE, False)
        with pytest.raises(BlockingIOError):
            os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        assert lease.breaking
        lease.release()
        assert not lease.breaking
        writing = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        assert Lease(reading, wanted=True).writers is Writers.SOME
        os.close(writing)
        assert Lease(reading, wanted=False).writers is Writers.UNKNOWN
    finally:
        signal.signal(signal.SIGIO, former)
        os.close(reading)
    assert caught == []


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_a_lease_that_the_kernel_took_is_broken_and_given_back_in_peace(tmp_path: Path) -> None:
    import fcntl

    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n")
    reading = os.open(path, os.O_RDONLY)
    lease = Lease(reading, wanted=True)
    fcntl.fcntl(reading, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    assert lease.breaking
    lease.release()
    os.close(reading)


@pytest.mark.parametrize("abilities", [PLAIN, Abilities(leases=False)], ids=["plain", "without leases"])
def test_without_leases_a_file_just_changed_counts_as_being_written(desk: Desk, abilities: Abilities) -> None:
    desk.abilities, desk.bounds = abilities, Bounds(quiet_seconds=3600)
    path = desk.root / "a.txt"
    path.write_bytes(b"one two three")
    with pytest.raises(BeingWritten, match="within the last 3600 s"):
        desk.edit("a.txt", Splice(0, 3, b"four"))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    committer = desk.committer()
    for text in (b"four", b"fives"):
        # what it has itself just written is not another's
        committer.commit([desk.target("a.txt", lambda _, text=text: Plan((Splice(0, 3, text),)))], tool="test")
    assert path.read_bytes() == b"fivesr two three"


@pytest.mark.parametrize("abilities", [NATIVE, PLAIN], ids=["native", "plain"])
def test_a_large_file_that_only_grows_is_followed_without_leases(desk: Desk, abilities: Abilities) -> None:
    desk.abilities = Abilities(leases=False, renames=abilities.renames, ranges=abilities.ranges)
    desk.bounds = Bounds(quiet_seconds=0)
    desk.limits = type(desk.limits)(hash_bytes=16)
    path = desk.root / "a.log"
    path.write_bytes(b"a line of the log\n" * 4)
    asked = []

    def plan(snapshot: Snapshot | None) -> Plan:
        asked.append(snapshot)
        return Plan((Splice(2, 6, b"first line"),))

    def append() -> None:
        with path.open("ab") as file:
            file.write(b"appended\n")

    (done,) = desk.committer(acting("flush the temporary file", append, times=3)).commit(
        [desk.target("a.log", plan)], tool="test"
    )
    assert path.read_bytes() == b"a first line of the log\n" + b"a line of the log\n" * 3 + b"appended\n" * 3
    assert len(asked) == 1
    with desk.snapshot("a.log") as snapshot:
        assert done.hash == snapshot.token() == desk.history.steps()[0].files[0].hash_after


def test_a_large_file_that_is_rewritten_meanwhile_is_begun_again(desk: Desk) -> None:
    desk.abilities, desk.bounds = Abilities(leases=False), Bounds(quiet_seconds=0)
    desk.limits = type(desk.limits)(hash_bytes=16)
    path = desk.root / "a.log"
    path.write_bytes(b"a line of the log\n" * 4)
    faults = acting("flush the temporary file", lambda: path.write_bytes(b"quite another, and a longer log\n" * 4))
    desk.committer(faults).commit([desk.target("a.log", replacing(b"log", b"LOG"))], tool="test")
    assert path.read_bytes() == b"quite another, and a longer LOG\n" + b"quite another, and a longer log\n" * 3


def test_eight_writers_lose_no_increment(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"0")
    committer, each = desk.committer(), 15

    def increment() -> None:
        for _ in range(each):
            while True:
                with desk.snapshot("a.txt") as seen:
                    number, base = int(seen.read(0, seen.size)), seen.token()

                def plan(snapshot: Snapshot | None, number: int = number, base: str = base) -> Plan:
                    assert snapshot is not None
                    snapshot.demand(base, "a.txt")
                    return Plan((Splice(0, snapshot.size, b"%d" % (number + 1)),))

                try:
                    committer.commit([desk.target("a.txt", plan)], tool="test")
                except Conflict:
                    continue
                break

    threads = [threading.Thread(target=increment) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert (desk.root / "a.txt").read_bytes() == b"%d" % (8 * each)


def test_two_processes_lose_no_increment(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"0")
    desk.close()
    each, children = 15, []
    for _ in range(2):
        child = os.fork()
        if not child:
            ended = 1
            try:
                other = Desk(desk.folder)
                committer = other.committer()
                for _ in range(each):
                    while True:
                        try:
                            committer.commit([other.target("a.txt", incremented)], tool="test")
                        except (Conflict, BeingWritten):
                            continue
                        break
                ended = 0
            except BaseException:
                traceback.print_exc()
                raise
            finally:
                os._exit(ended)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert (desk.root / "a.txt").read_bytes() == b"%d" % (2 * each)
    assert len(desk.history.steps(limit=100)) == 2 * each
    assert desk.names() == ["a.txt"]


def incremented(snapshot: Snapshot | None) -> Plan:
    assert snapshot is not None
    return Plan((Splice(0, snapshot.size, b"%d" % (int(snapshot.read(0, snapshot.size)) + 1)),))


def test_signals_that_arrive_all_the_time_break_nothing(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"a line\n" * 200_000)
    arrived = []
    former = signal.signal(signal.SIGALRM, lambda number, _: arrived.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0005)
    try:
        for number in range(10):
            desk.edit("a.txt", Splice(0, 6, b"line %d" % number))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert arrived
    assert (desk.root / "a.txt").read_bytes() == b"line 9\n" + b"a line\n" * 199_999


def test_a_plan_that_only_asserts_changes_nothing(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"one")
    (done,) = desk.committer().commit([desk.target("a.txt", spliced())], tool="test")
    assert (done.changed, done.step, done.splices) == (False, None, ())
