from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.linedex_server.edit.committing import Desk, acting, becoming, failing, removing, replacing, spliced

from linedex.errors import NotAFile, NotAFolder, NotFound
from linedex_server.edit.errors import Conflict, WriteFailed
from linedex_server.edit.put.plans import Plan
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.put.syscalls import NATIVE, PLAIN
from linedex_server.edit.put.ways import Bounds
from linedex_server.edit.splice import Splice

OLD = b"first\nsecond\nthird\n"


@pytest.fixture(params=["native", "plain"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """A desk with one file; the plain one has no system calls of its own, and trusts that nobody writes."""
    plain = request.param == "plain"
    made = Desk(tmp_path, PLAIN if plain else NATIVE, Bounds(quiet_seconds=0 if plain else 2))
    (made.root / "a.txt").write_bytes(OLD)
    opened = open_files()
    yield made
    made.close()
    assert open_files() == opened, "a commit left a file open"


def open_files() -> int:
    """Return how many descriptors this process has open, 0 where the system does not tell."""
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0


def test_a_change_is_put_down_with_its_token_and_one_step(desk: Desk) -> None:
    done = desk.edit("a.txt", Splice(6, 12, b"2nd"))
    new = b"first\n2nd\nthird\n"
    assert (desk.root / "a.txt").read_bytes() == new
    assert done.hash == hashlib.sha256(new).hexdigest()[:16]
    assert (done.changed, done.created, done.removed, done.notes) == (True, False, False, ())
    (step,) = desk.history.steps()
    assert step.id == done.step
    assert desk.history.pending() == []
    assert desk.names() == ["a.txt"]


def test_a_change_to_the_same_bytes_writes_nothing(desk: Desk) -> None:
    before = (desk.root / "a.txt").stat()
    done = desk.edit("a.txt", Splice(0, 5, b"first"), Splice(6, 6, b""))
    assert (done.changed, done.step) == (False, None)
    assert done.hash == hashlib.sha256(OLD).hexdigest()[:16]
    after = (desk.root / "a.txt").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert desk.history.steps() == []


def test_splices_that_cancel_each_other_write_nothing(desk: Desk) -> None:
    assert not desk.edit("a.txt", Splice(0, 1, b""), Splice(1, 1, b"f")).changed


def test_mode_owner_and_attributes_stay(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.chmod(0o4751)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
        path.chmod(0o4751)
    os.setxattr(path, "user.colour", b"green")
    before = path.stat()
    desk.edit("a.txt", Splice(0, 5, b"FIRST!"))
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(path, "user.colour") == b"green"
    assert after.st_ino != before.st_ino


def test_a_folders_default_access_list_is_not_laid_on_a_file_that_had_none(desk: Desk) -> None:
    # version 2; owner rwx, user 1000 rwx, group r-x, mask rwx, others r-x
    entries = [(1, 7, 0xFFFFFFFF), (2, 7, 1000), (4, 5, 0xFFFFFFFF), (16, 7, 0xFFFFFFFF), (32, 5, 0xFFFFFFFF)]
    packed = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + bits.to_bytes(2, "little") + who.to_bytes(4, "little") for tag, bits, who in entries
    )
    try:
        os.setxattr(desk.root, "system.posix_acl_default", packed)
    except OSError:
        pytest.skip("this file system has no access lists")
    desk.edit("a.txt", Splice(0, 5, b"FIRST!"))
    assert "system.posix_acl_access" not in os.listxattr(desk.root / "a.txt")


def test_a_new_file_has_the_mode_that_the_system_gives(desk: Desk) -> None:
    (desk.root / "beside").touch()
    done = desk.edit("new.txt", Splice(0, 0, b"hello\n"))
    assert (done.created, (desk.root / "new.txt").read_bytes()) == (True, b"hello\n")
    assert (desk.root / "new.txt").stat().st_mode == (desk.root / "beside").stat().st_mode
    assert desk.names() == ["a.txt", "beside", "new.txt"]


def test_a_new_empty_file_is_a_change(desk: Desk) -> None:
    assert desk.edit("new.txt", Splice(0, 0, b"")).created
    assert (desk.root / "new.txt").read_bytes() == b""


def test_missing_folders_are_made_only_when_asked_for(desk: Desk) -> None:
    with pytest.raises(NotFound, match="no folder"):
        desk.edit("x/y/new.txt", Splice(0, 0, b"hello\n"))
    assert desk.names() == ["a.txt"]
    done = desk.edit("x/y/new.txt", Splice(0, 0, b"hello\n"), create_dirs=True)
    root = os.fsencode(desk.root.resolve())
    assert done.made_folders == (root + b"/x", root + b"/x/y")
    assert desk.history.steps()[0].files[0].made_folders == done.made_folders


def test_folders_that_were_made_go_when_the_write_fails(desk: Desk) -> None:
    with pytest.raises(WriteFailed, match="disk is full"):
        desk.edit("x/y/new.txt", Splice(0, 0, b"a"), create_dirs=True, faults=failing("write new bytes", errno.ENOSPC))
    assert desk.names() == ["a.txt"]


def test_a_file_is_removed_and_its_folder_with_it(desk: Desk) -> None:
    desk.edit("x/new.txt", Splice(0, 0, b"hello\n"), create_dirs=True)
    folder = os.fsencode(desk.root.resolve()) + b"/x"
    target = desk.target("x/new.txt", lambda _: Plan((), remove=True, remove_folders=(folder,)))
    (done,) = desk.committer().commit([target], tool="test")
    assert (done.removed, done.hash) == (True, "")
    assert desk.names() == ["a.txt"]


def test_several_files_are_one_step(desk: Desk) -> None:
    (desk.root / "b.txt").write_bytes(b"b")
    targets = [
        desk.target("a.txt", replacing(b"first", b"1st")),
        desk.target("x/new.txt", becoming(b"new"), create_dirs=True),
        desk.target("x/other.txt", becoming(b"other"), create_dirs=True),
        desk.target("b.txt", removing),
    ]
    done = desk.committer().commit(targets, tool="test")
    assert len({one.step for one in done}) == 1
    assert desk.names() == ["a.txt", "x", "x/new.txt", "x/other.txt"]
    assert (desk.root / "a.txt").read_bytes() == OLD.replace(b"first", b"1st")


@pytest.mark.parametrize("at", ["name the new file", "rename the removed file", "look at what came out"])
def test_several_files_are_written_all_or_none(desk: Desk, at: str) -> None:
    (desk.root / "b.txt").write_bytes(b"b")
    (desk.root / "c.txt").write_bytes(b"see")
    os.link(desk.root / "c.txt", desk.root / "d.txt")
    targets = [
        desk.target("a.txt", replacing(b"first", b"1st")),
        desk.target("new.txt", becoming(b"new")),
        desk.target("b.txt", removing),
        desk.target("c.txt", becoming(b"seen")),
    ]
    before = desk.names()
    with pytest.raises(WriteFailed, match="unchanged"):
        desk.committer(failing(at, errno.EIO)).commit(targets, tool="test")
    assert desk.names() == before
    assert (desk.root / "a.txt").read_bytes() == OLD
    assert (desk.root / "d.txt").read_bytes() == b"see"
    assert (desk.history.steps(), desk.history.pending()) == ([], [])


def test_one_file_under_two_names_is_refused(desk: Desk) -> None:
    os.link(desk.root / "a.txt", desk.root / "b.txt")
    targets = [desk.target(name, replacing(b"first", b"1st")) for name in ("a.txt", "b.txt")]
    with pytest.raises(Conflict, match="one file"):
        desk.committer().commit(targets, tool="test")
    with pytest.raises(Conflict, match="named twice"):
        desk.committer().commit([targets[0], targets[0]], tool="test")


def test_a_change_that_somebody_makes_meanwhile_is_kept(desk: Desk) -> None:
    path = desk.root / "a.txt"

    def foreign() -> None:
        other = desk.root / "other"
        other.write_bytes(b"zeroth\n" + OLD)
        other.rename(path)

    for at in ("write new bytes", "check again", "exchange the files"):
        path.write_bytes(OLD)
        faults = acting(at, foreign)
        if at == "exchange the files" and not desk.abilities.renames:
            continue
        desk.committer(faults).commit([desk.target("a.txt", replacing(b"second", b"2nd"))], tool="test")
        assert path.read_bytes() == b"zeroth\n" + OLD.replace(b"second", b"2nd")
        assert desk.names() == ["a.txt"]


def test_a_file_that_changes_each_time_is_a_conflict(desk: Desk) -> None:
    path = desk.root / "a.txt"

    def foreign() -> None:
        (desk.root / "other").write_bytes(path.read_bytes() + b"more\n")
        (desk.root / "other").rename(path)

    with pytest.raises(Conflict, match="each of the 4 times"):
        desk.committer(acting("check again", foreign, times=9)).commit(
            [desk.target("a.txt", replacing(b"second", b"2nd"))], tool="test"
        )
    assert path.read_bytes() == OLD + b"more\n" * 4
    assert desk.names() == ["a.txt"]
    assert (desk.history.steps(), desk.history.pending()) == ([], [])


def test_a_name_that_is_taken_meanwhile_is_planned_again(desk: Desk) -> None:
    def plan(snapshot: Snapshot | None) -> Plan:
        return Plan((Splice(0, 0, b"ours "),))

    faults = acting("name the new file", lambda: (desk.root / "new.txt").write_bytes(b"theirs"))
    (done,) = desk.committer(faults).commit([desk.target("new.txt", plan)], tool="test")
    assert not done.created
    assert (desk.root / "new.txt").read_bytes() == b"ours theirs"


def test_a_file_replaced_by_a_folder_meanwhile_is_refused(desk: Desk) -> None:
    path = desk.root / "a.txt"

    def foreign() -> None:
        path.unlink()
        path.mkdir()

    with pytest.raises(NotAFile, match="folder"):
        desk.edit("a.txt", Splice(0, 1, b""), faults=acting("check again", foreign))
    assert desk.names() == ["a.txt"]
    assert path.is_dir()


def test_a_folder_that_vanishes_is_refused(desk: Desk) -> None:
    (desk.root / "x").mkdir()
    (desk.root / "x" / "b.txt").write_bytes(OLD)

    def vanish() -> None:
        (desk.root / "x" / "b.txt").unlink()
        (desk.root / "x").rmdir()

    with pytest.raises(NotFound, match="no folder"):
        desk.edit("x/b.txt", Splice(0, 1, b""), faults=acting("record the temporary files", lambda: move(desk)))
    (desk.root / "y").rename(desk.root / "x")
    with pytest.raises(WriteFailed, match="folder is gone"):
        desk.edit("x/b.txt", Splice(0, 1, b""), faults=acting("make the temporary file", vanish))
    assert desk.names() == ["a.txt"]
    assert desk.history.pending() == []


def move(desk: Desk) -> None:
    (desk.root / "x").rename(desk.root / "y")


def test_a_link_put_in_the_place_of_the_folder_leads_nowhere(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_bytes(OLD)
    (desk.root / "x").mkdir()
    (desk.root / "x" / "b.txt").write_bytes(OLD)

    def swap() -> None:
        move(desk)
        (desk.root / "x").symlink_to(outside)

    with pytest.raises(NotAFolder):
        desk.edit("x/b.txt", Splice(0, 1, b""), faults=acting("make the temporary file", swap))
    assert (outside / "b.txt").read_bytes() == OLD
    assert os.listdir(outside) == ["b.txt"]
    assert os.listdir(desk.root / "y") == ["b.txt"]


def test_a_link_to_a_file_stays_a_link(desk: Desk) -> None:
    (desk.root / "link.txt").symlink_to("a.txt")
    desk.edit("link.txt", Splice(0, 5, b"1st"))
    assert (desk.root / "link.txt").is_symlink()
    assert (desk.root / "a.txt").read_bytes() == OLD.replace(b"first", b"1st")


def test_the_second_edit_of_a_file_waits_for_the_first(desk: Desk) -> None:
    inside, done = threading.Event(), threading.Event()

    def first() -> None:
        inside.set()
        assert done.wait(30)

    committer = desk.committer(acting("check again", first))
    results: list[bytes] = []

    def add(text: bytes) -> None:
        committer.commit([desk.target("a.txt", spliced(Splice(0, 0, text)))], tool="test")
        results.append(text)

    threads = [threading.Thread(target=add, args=(text,)) for text in (b"1", b"2")]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    assert results == []
    done.set()
    for thread in threads:
        thread.join(30)
    assert (desk.root / "a.txt").read_bytes() == b"21" + OLD


def test_an_edit_that_never_ends_lets_the_others_go(desk: Desk) -> None:
    desk.bounds = Bounds(quiet_seconds=0, wait_seconds=0.01)
    committer = desk.committer()

    def within(snapshot: Snapshot | None) -> Plan:
        with pytest.raises(Conflict, match="another edit of it"):
            committer.commit([desk.target("a.txt", spliced(Splice(0, 1, b"")))], tool="test")
        return Plan((Splice(0, 0, b"x"),))

    committer.commit([desk.target("a.txt", within)], tool="test")
    assert (desk.root / "a.txt").read_bytes() == b"x" + OLD


def test_a_file_with_two_names_keeps_both(desk: Desk) -> None:
    os.link(desk.root / "a.txt", desk.root / "b.txt")
    done = desk.edit("a.txt", Splice(0, 5, b"a longer first"), Splice(13, 19, b""))
    assert (desk.root / "b.txt").read_bytes() == b"a longer first\nsecond\n"
    assert (desk.root / "a.txt").samefile(desk.root / "b.txt")
    assert done.notes == ("Written in place: it has 2 names.",)


def test_too_much_is_not_moved_in_place(desk: Desk) -> None:
    desk.bounds = Bounds(quiet_seconds=0, moved_bytes=8)
    os.link(desk.root / "a.txt", desk.root / "b.txt")
    with pytest.raises(WriteFailed, match="would move 19 bytes"):
        desk.edit("a.txt", Splice(0, 1, b""))
    desk.edit("a.txt", Splice(13, 18, b"3rd"))
    assert (desk.root / "b.txt").read_bytes() == b"first\nsecond\n3rd\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EINTR, errno.EACCES])
@pytest.mark.parametrize("linked", [False, True], ids=["replaced", "in place"])
def test_whatever_the_system_refuses_the_file_is_as_before(desk: Desk, number: int, linked: bool) -> None:
    path = desk.root / "a.txt"
    path.chmod(0o640)
    if linked:
        os.link(path, desk.root / "b.txt")
    before = desk.names()
    steps: list[str] = []
    desk.edit("a.txt", Splice(0, 0, b"x"), Splice(6, 12, b"longer"), faults=steps.append)
    path.write_bytes(OLD)
    assert len(set(steps)) > 5
    made = {"remove the temporary file"} if linked else {"remove the temporary file", "settle the step"}
    final = made | {"record the temporary files", "keep the former bytes"}
    in_place_instead = {"exchange the files", "rename the new file", "make the temporary file"}
    for at in dict.fromkeys(steps):
        if at in final or (number == errno.EACCES and at in in_place_instead):
            continue
        with pytest.raises(WriteFailed, match="it is unchanged"):
            desk.edit("a.txt", Splice(0, 0, b"x"), Splice(6, 12, b"longer"), faults=failing(at, number))
        assert path.read_bytes() == OLD, at
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert desk.names() == before, at
        assert desk.history.pending() == [], at
