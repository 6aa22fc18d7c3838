"""Places where a file cannot be written in the usual way: mounts, full disks, folders and files that are not ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.linedex_server.edit.committing import Desk, becoming

from linedex.errors import LinedexError
from linedex_server.edit.errors import WriteFailed
from linedex_server.edit.put.plans import Plan
from linedex_server.edit.put.syscalls import NATIVE, PLAIN
from linedex_server.edit.put.ways import Bounds
from linedex_server.edit.splice import Splice

NOBODY = 65534
LINUX = sys.platform == "linux"


@pytest.fixture(params=["native", "plain"])
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """A desk in a folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp()).resolve()
    folder.chmod(0o755)
    plain = request.param == "plain"
    made = Desk(folder, PLAIN if plain else NATIVE, Bounds(quiet_seconds=0 if plain else 2))
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.fixture
def mounted() -> Iterator[Callable[..., None]]:
    """Mounts things for the time of a test."""
    places: list[Path] = []

    def mount(place: Path, *arguments: str | Path) -> None:
        program = shutil.which("mount")
        ran = program and subprocess.run([program, *arguments, place], capture_output=True, check=False)
        if not ran or ran.returncode:
            pytest.skip("mounting is not permitted here")
        places.append(place)

    yield mount
    for place in reversed(places):
        subprocess.run(["umount", place], check=True)


def as_nobody(work: Callable[[], object]) -> None:
    """Run something in a process without privileges; what it raises fails the test."""
    if not LINUX or os.geteuid():
        pytest.skip("only a privileged user can become another")
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def give_state_to_nobody(desk: Desk) -> None:
    desk.state.mkdir()
    os.chown(desk.state, NOBODY, NOBODY)


@pytest.mark.skipif(not LINUX, reason="bind mounts are Linux's")
def test_a_file_mounted_by_itself_keeps_its_inode(desk: Desk, mounted: Callable[..., None]) -> None:
    outside, inside = desk.folder / "outside.txt", desk.root / "a.txt"
    outside.write_bytes(b"one two three\n")
    inside.touch()
    mounted(inside, "--bind", outside)
    inode = inside.stat().st_ino
    done = desk.edit("a.txt", Splice(4, 7, b"zwei und"))
    assert outside.read_bytes() == b"one zwei und three\n"
    assert inside.stat().st_ino == inode
    assert done.notes == ("Written in place: it is mounted by itself.",)
    assert desk.names() == ["a.txt"]


@pytest.mark.skipif(not LINUX, reason="tmpfs is Linux's")
@pytest.mark.parametrize("linked", [False, True], ids=["replaced", "in place"])
def test_on_a_full_disk_the_file_is_as_before(desk: Desk, mounted: Callable[..., None], linked: bool) -> None:
    mounted(desk.root, "-t", "tmpfs", "-o", "size=256k", "tmpfs")
    path = desk.root / "a.txt"
    content = b"0123456789abcdef" * 6_000
    path.write_bytes(content)
    if linked:
        os.link(path, desk.root / "b.txt")
    with pytest.raises(WriteFailed, match="disk is full; it is unchanged"):
        desk.edit("a.txt", Splice(8, 8, b"x" * 200_000))
    assert path.read_bytes() == content
    with pytest.raises(WriteFailed, match="disk is full"):
        desk.edit("new.txt", Splice(0, 0, b"x" * 300_000))
    assert desk.names() == (["a.txt", "b.txt"] if linked else ["a.txt"])
    assert (desk.history.steps(), desk.history.pending()) == ([], [])
    desk.edit("a.txt", Splice(8, 8, b"fits"))
    assert path.read_bytes() == content[:8] + b"fits" + content[8:]


@pytest.mark.skipif(not LINUX, reason="tmpfs is Linux's")
def test_when_the_history_has_no_room_the_file_is_as_before(desk: Desk, mounted: Callable[..., None]) -> None:
    desk.state.mkdir()
    mounted(desk.state, "-t", "tmpfs", "-o", "size=256k", "tmpfs")
    content = os.urandom(400_000)
    (desk.root / "a.txt").write_bytes(content)
    with pytest.raises(WriteFailed, match="history"):
        desk.edit("a.txt", Splice(0, 400_000, b"short"))
    assert (desk.root / "a.txt").read_bytes() == content
    assert desk.names() == ["a.txt"]
    desk.close()


def test_in_a_folder_that_is_not_writable_a_file_is_written_in_place_and_none_is_made(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.write_bytes(b"one two three\n")
    os.chown(path, NOBODY, NOBODY) if os.geteuid() == 0 else None
    path.chmod(0o600)
    desk.root.chmod(0o555)

    def work() -> None:
        done = desk.edit("a.txt", Splice(4, 7, b"zwei"))
        assert done.notes == ("Written in place: its folder is not writable.",)
        with pytest.raises(WriteFailed, match=r"new\.txt was not written: permission is denied; it is unchanged"):
            desk.edit("new.txt", Splice(0, 0, b"new"))

    give_state_to_nobody(desk)
    as_nobody(work)
    assert path.read_bytes() == b"one zwei three\n"
    assert desk.names() == ["a.txt"]


def test_a_file_that_may_not_be_written_is_refused_though_its_folder_would_let_us(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.write_bytes(b"one two three\n")
    path.chmod(0o444)
    os.chown(path, NOBODY, NOBODY) if os.geteuid() == 0 else None
    desk.root.chmod(0o777)

    def work() -> None:
        with pytest.raises(WriteFailed, match=r"a\.txt was not written: permission is denied; it is unchanged"):
            desk.edit("a.txt", Splice(4, 7, b"zwei"))

    give_state_to_nobody(desk)
    as_nobody(work)
    assert path.read_bytes() == b"one two three\n"


@pytest.mark.parametrize("sticky", [False, True])
def test_somebody_elses_file_keeps_its_owner(desk: Desk, sticky: bool) -> None:
    path = desk.root / "a.txt"
    path.write_bytes(b"one two three\n")
    path.chmod(0o666)
    desk.root.chmod(0o1777 if sticky else 0o777)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    owner = path.stat().st_uid

    def work() -> None:
        done = desk.edit("a.txt", Splice(4, 7, b"zwei"))
        assert done.notes == ("Written in place: its owner or group cannot be given to a new file.",)

    give_state_to_nobody(desk)
    as_nobody(work)
    assert path.read_bytes() == b"one zwei three\n"
    assert path.stat().st_uid == owner
    assert desk.names() == ["a.txt"]


def test_in_a_sticky_folder_a_file_is_removed_only_by_those_who_may(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.write_bytes(b"one")
    path.chmod(0o666)
    desk.root.chmod(0o1777)
    os.utime(path, (1_000_000_000, 1_000_000_000))

    def work() -> None:
        with pytest.raises(WriteFailed, match="does not permit it; it is unchanged"):
            desk.committer().commit([desk.target("a.txt", lambda _: Plan((), remove=True))], tool="test")

    give_state_to_nobody(desk)
    as_nobody(work)
    assert path.read_bytes() == b"one"


@pytest.mark.skipif(not LINUX, reason="attributes of files are Linux's")
def test_a_file_that_the_system_protects_is_refused(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.write_bytes(b"one two three\n")
    program = shutil.which("chattr")
    if not program or subprocess.run([program, "+i", path], capture_output=True, check=False).returncode:
        pytest.skip("no file can be made immutable here")
    try:
        with pytest.raises(WriteFailed, match="it is unchanged"):
            desk.edit("a.txt", Splice(0, 3, b"four"))
        assert desk.names() == ["a.txt"]
    finally:
        subprocess.run([program, "-i", path], check=True)
    assert path.read_bytes() == b"one two three\n"


@pytest.mark.skipif(not LINUX, reason="holes are told by Linux")
def test_holes_stay_holes(desk: Desk) -> None:
    path = desk.root / "a.txt"
    with path.open("wb") as file:
        file.write(b"head\n")
        file.seek(32 << 20)
        file.write(b"middle\n")
        file.truncate(64 << 20)
    if path.stat().st_blocks * 512 > 1 << 20:
        pytest.skip("this file system keeps no holes")
    desk.edit("a.txt", Splice(0, 5, b"HEAD\n"), Splice(64 << 20, 64 << 20, b""))
    status = path.stat()
    assert status.st_size == 64 << 20
    assert status.st_blocks * 512 < 1 << 20
    with path.open("rb") as file:
        assert file.read(8) == b"HEAD\n\0\0\0"
        file.seek(32 << 20)
        assert file.read(8) == b"middle\n\0"


def test_names_that_are_not_text_are_written(desk: Desk) -> None:
    target = desk.target("\\xff\\x0a.txt", becoming(b"content"))
    desk.committer().commit([target], tool="test")
    assert os.listdir(os.fsencode(desk.root)) == [b"\xff\n.txt"]


def test_a_name_too_long_is_refused(desk: Desk) -> None:
    with pytest.raises(LinedexError, match="longer name than the file system takes"):
        desk.edit("n" * 300, Splice(0, 0, b"x"))
    assert desk.names() == []
