from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.linedex_server.edit.committing import Desk, becoming, failing, removing, spliced

from linedex.limits import Limits
from linedex_server.edit.put.plans import Plan, Target
from linedex_server.edit.put.syscalls import NATIVE, PLAIN
from linedex_server.edit.put.ways import Bounds
from linedex_server.edit.splice import Splice

State = dict[str, tuple[bytes, int]]


@pytest.fixture(params=["native", "plain"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    plain = request.param == "plain"
    made = Desk(tmp_path, PLAIN if plain else NATIVE, Bounds(quiet_seconds=0 if plain else 2))
    yield made
    made.close()


def state(desk: Desk) -> State:
    """Return content and mode of everything below the root, by relative path."""
    return {
        str(path.relative_to(desk.root)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mode)
        for path in desk.root.rglob("*")
    }


def replaced(desk: Desk) -> list[Target]:
    return [desk.target("a.txt", spliced(Splice(2, 3, b"XYZ"), Splice(5, 9, b"")))]


def created(desk: Desk) -> list[Target]:
    return [desk.target("x/y/new.txt", becoming(b"new"), create_dirs=True)]


def removed(desk: Desk) -> list[Target]:
    return [desk.target("a.txt", removing)]


def in_place(desk: Desk) -> list[Target]:
    return [desk.target("c.txt", spliced(Splice(2, 3, b"XYZ"), Splice(5, 6, b"")))]


def in_place_with_mode(desk: Desk) -> list[Target]:
    return [desk.target("c.txt", lambda _: Plan((Splice(2, 5, b""),), mode=0o600))]


def several(desk: Desk) -> list[Target]:
    return [*replaced(desk), *created(desk), desk.target("b.txt", removing), *in_place(desk)]


def several_replaced(desk: Desk) -> list[Target]:
    return [*replaced(desk), *created(desk), desk.target("b.txt", becoming(b"other"))]


CASES = [
    replaced,
    created,
    removed,
    in_place,
    in_place_with_mode,
    several,
    pytest.param(several_replaced, marks=pytest.mark.long),
]


def furnish(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"0123456789")
    (desk.root / "b.txt").write_bytes(b"bytes of b")
    (desk.root / "c.txt").write_bytes(b"bytes of c")
    os.link(desk.root / "c.txt", desk.root / "d.txt")
    (desk.root / "mine.tmp").write_bytes(b"the user's")
    (desk.root / ".old").write_bytes(b"the user's as well")
    (desk.root / ".linedex-0123456789abcdef.tmp").write_bytes(b"the user's too")


def in_child(work: Callable[[], object]) -> int:
    """Run something in a process of its own; return how it ended, as `os.waitstatus_to_exitcode`."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(desk: Desk, targets: list[Target], number: int) -> int:
    """Commit in a process that is killed when the given number of steps were begun."""
    left = [number]

    def count(step: str) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child(lambda: desk.committer(count).commit(targets, tool="test"))


@pytest.mark.parametrize("case", CASES)
def test_killed_at_any_step_everything_is_old_or_everything_is_new(
    desk: Desk, case: Callable[[Desk], list[Target]]
) -> None:
    furnish(desk)
    old = state(desk)
    outcomes = []
    for number in range(1, 200):
        ended = killed_at(desk, case(desk), number)
        assert ended in {0, -signal.SIGKILL}
        assert desk.committer().recover() == ()
        found = state(desk)
        assert desk.history.pending() == []
        steps = desk.history.steps()
        assert len(steps) == (found != old), number
        outcomes.append(found)
        if not ended:
            break
        if found != old:
            for path in desk.root.rglob("*"):
                if path.is_file():
                    path.unlink()
            for folder in ("x/y", "x"):
                if (desk.root / folder).exists():
                    (desk.root / folder).rmdir()
            furnish(desk)
            desk.close()
            (desk.history.path).unlink()
    else:
        pytest.fail("it never came to its end")
    assert outcomes[0] == old
    new = outcomes[-1]
    assert new != old
    assert all(found in (old, new) for found in outcomes)
    assert len(outcomes) > 5


@pytest.mark.parametrize("desk", ["native"], indirect=True)  # only an exchange can be taken back
def test_a_file_written_since_by_somebody_else_is_not_lost(desk: Desk) -> None:
    furnish(desk)

    def append_and_die(step: str) -> None:
        if step == "flush the folder":
            (written,) = [
                path for path in desk.root.glob(".linedex-*.tmp") if path.name != ".linedex-0123456789abcdef.tmp"
            ]
            written.write_bytes(written.read_bytes() + b"appended to the old file")
            os._exit(0)

    # its lease would make the second open wait, as it should
    desk.abilities = NATIVE.__class__(leases=False)
    desk.bounds = Bounds(quiet_seconds=0)
    in_child(lambda: desk.committer(append_and_die).commit(replaced(desk), tool="test"))
    assert desk.committer().recover() == ()
    assert (desk.root / "a.txt").read_bytes() == b"0123456789appended to the old file"
    assert desk.history.steps() == []


def test_what_a_living_process_is_doing_is_left_alone(desk: Desk) -> None:
    furnish(desk)
    seen = []

    def recover(step: str) -> None:
        if step == "check again":
            Desk(desk.folder).committer().recover()
            seen.append(step)

    desk.committer(recover).commit(several(desk), tool="test")
    assert seen
    assert (desk.root / "b.txt").exists() is False
    assert len(desk.history.steps()) == 1


def test_a_folder_that_is_gone_by_the_next_start_is_no_trouble(desk: Desk) -> None:
    (desk.root / "x").mkdir()
    (desk.root / "x" / "a.txt").write_bytes(b"0123456789")
    assert killed_at(desk, [desk.target("x/a.txt", becoming(b"new"))], 6) == -signal.SIGKILL
    (desk.root / "x").rename(desk.folder / "elsewhere")
    assert desk.committer().recover() == ()
    assert desk.history.pending() == []


def test_a_large_file_gets_its_token_at_the_next_start(desk: Desk) -> None:
    furnish(desk)
    desk.limits = Limits(hash_bytes=4)

    def die(step: str) -> None:
        if step == "settle the step":
            os._exit(0)

    in_child(lambda: desk.committer(die).commit(replaced(desk), tool="test"))
    assert desk.history.steps() == []
    desk.committer().recover()
    with desk.snapshot("a.txt") as snapshot:
        assert desk.history.steps()[0].files[0].hash_after == snapshot.token()


@pytest.mark.parametrize("at", ["remove the temporary file", "settle the step"])
def test_what_cannot_be_finished_after_the_change_is_made_is_finished_at_the_next_start(desk: Desk, at: str) -> None:
    furnish(desk)
    names = desk.names()

    def work() -> None:
        (done,) = desk.committer(failing(at, errno.EIO)).commit(replaced(desk), tool="test")
        (desk.folder / "told").write_text("\n".join(done.notes))

    in_child(work)
    assert "at the next start" in (desk.folder / "told").read_text()
    assert (desk.root / "a.txt").read_bytes() == b"01XYZ349"
    desk.committer().recover()
    assert desk.names() == names
    assert len(desk.history.steps()) == 1


def test_what_a_user_writes_after_a_crash_before_the_first_byte_is_kept(desk: Desk) -> None:
    furnish(desk)

    def die(step: str) -> None:
        if step == "open for writing":
            os._exit(0)

    in_child(lambda: desk.committer(die).commit(in_place(desk), tool="test"))
    (desk.root / "c.txt").write_bytes(b"BYTES OF C")
    assert desk.committer().recover() == ()
    assert (desk.root / "d.txt").read_bytes() == b"BYTES OF C"
    assert desk.history.pending() == []


def test_what_a_user_appends_to_a_file_half_written_in_place_is_kept_and_said(desk: Desk) -> None:
    furnish(desk)

    def die(step: str) -> None:
        if step == "set the size":
            os._exit(0)

    in_child(lambda: desk.committer(die).commit(in_place(desk), tool="test"))
    with (desk.root / "d.txt").open("ab") as file:
        file.write(b"appended by the user")
    (note,) = desk.committer().recover()
    assert "c.txt: somebody has appended to it since" in note
    assert (desk.root / "c.txt").read_bytes().endswith(b"appended by the user")
