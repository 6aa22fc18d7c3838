"""Every path is judged once: spellings of a place are one, what leads out is refused, and only files are opened."""

import errno
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from linedex.errors import BadArgument, LinedexError, NotAFile, NotAFolder, NotFound, OutsideRoots, Unreadable
from linedex.files import names, roots
from linedex.files.places import Place, Roots
from linedex.files.roots import Root
from linedex.model import RelPath


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "proj/src").mkdir(parents=True)
    (tmp_path / "proj/src/app.py").write_text("inside\n")
    (tmp_path / "proj-evil").mkdir()
    (tmp_path / "proj-evil/b.txt").write_text("SECRET\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("SECRET\n")
    return tmp_path


@pytest.fixture(params=["kernel names", "step by step"])
def opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening a file, whatever this system would choose."""
    if request.param == "step by step":
        monkeypatch.setattr(roots, "_KERNEL_NAMES", False)
    elif not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system has no names of open files")
    return str(request.param)


def content(root: Root, path: bytes) -> bytes:
    with root.opened(RelPath(path)) as descriptor:
        return os.read(descriptor, 100)


def resolved(roots: Roots, path: str | Path, **options: str | bool) -> Place:
    return roots.resolve(str(path), **options)  # type: ignore[arg-type]


def test_every_spelling_of_a_file_resolves_to_one_place(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tree))
    (tree / "alias").symlink_to("proj")
    (tree / "proj/here").symlink_to("src/app.py")
    (tree / "proj/up").symlink_to("..")
    allowed = Roots([tree / "proj"])
    for spelled in (
        "proj/src/app.py",
        "proj//src/./app.py",
        "proj/src/../src/app.py",
        "proj-evil/../proj/src/app.py",
        "alias/src/app.py",
        "proj/here",
        "proj/up/proj/src/app.py",
        r"proj/src/app\x2epy",
    ):
        place = resolved(allowed, f"{tree}/{spelled}")
        assert (place.root, place.path) == (Root(tree / "proj"), b"src/app.py")
        assert place.absolute == os.fsencode(tree / "proj/src/app.py")
    assert resolved(allowed, "~/proj/src/app.py").path == b"src/app.py"
    assert resolved(allowed, tree / "proj").path == b""


def test_a_root_given_by_an_alias_accepts_both_spellings(tree: Path) -> None:
    (tree / "alias").symlink_to("proj")
    allowed = Roots([tree / "alias"])
    for spelled in (tree / "alias/src/app.py", tree / "proj/src/app.py"):
        assert resolved(allowed, spelled).path == b"src/app.py"


def test_a_root_mounted_at_a_second_place_accepts_both_spellings(tree: Path) -> None:
    (tree / "second").mkdir()
    program = (
        "import sys; from linedex.files.places import Roots\n"
        "place = Roots([sys.argv[1] + '/proj']).resolve(sys.argv[1] + '/second/src/app.py')\n"
        "print(place.path, place.absolute == (sys.argv[1] + '/proj/src/app.py').encode())"
    )
    script = 'mount --bind "$1/proj" "$1/second" || exit 9; exec "$2" -c "$3" "$1"'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(tree), sys.executable, program]
    if shutil.which("unshare") is None:
        pytest.skip("the system has no unshare")
    run = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    if run.returncode == 9 or run.stderr.startswith("unshare"):
        pytest.skip(f"this process may not mount: {run.stderr}")
    assert (run.stdout, run.stderr) == ("b'src/app.py' True\n", "")


def test_the_innermost_of_nested_roots_holds_a_path(tree: Path) -> None:
    allowed = Roots([tree, tree / "proj/src", tree / "proj", tree / "proj/src"])
    assert len(allowed) == 3
    assert resolved(allowed, tree / "proj/src/app.py").root == Root(tree / "proj/src")
    assert resolved(allowed, tree / "proj/src").path == b""
    assert resolved(allowed, tree / "proj-evil/b.txt").root == Root(tree)


def test_the_whole_file_system_can_be_a_root(tree: Path) -> None:
    place = resolved(Roots(["/"]), tree / "proj/src/app.py")
    assert place.path == os.fsencode(tree / "proj/src/app.py")[1:]
    assert content(place.opener, place.path) == b"inside\n"


@pytest.mark.parametrize(
    "spelled",
    [
        "outside/secret.txt",
        "outside/no-such-file",
        "proj-evil/b.txt",
        "proj/../outside/secret.txt",
        "proj/../outside/no-such-file",
        "proj/leak.txt",
        "proj/dangling",
        "proj/sub/secret.txt",
        "proj/sub/no-such-file",
        "",
    ],
)
def test_what_leads_out_is_refused_in_words_that_do_not_tell_whether_it_exists(tree: Path, spelled: str) -> None:
    (tree / "proj/leak.txt").symlink_to("../outside/secret.txt")
    (tree / "proj/dangling").symlink_to("../outside/no-such-file")
    (tree / "proj/sub").symlink_to("../outside")
    path = f"{tree}/{spelled}"
    with pytest.raises(OutsideRoots) as refusal:
        resolved(Roots([tree / "proj"]), path, must_exist=False)
    assert str(refusal.value) == f"`{path}` is outside the allowed folders."
    assert refusal.value.hint == f"Use a path below `{tree}/proj`."
    with pytest.raises(OutsideRoots, match="is outside the allowed folders"):
        resolved(Roots([tree / "proj"]), path)


def test_unrestricted_roots_resolve_any_path_and_open_it(tree: Path) -> None:
    place = resolved(Roots([tree / "proj"], unrestricted=True), tree / "outside/secret.txt")
    assert place.root is None
    assert content(place.opener, place.path) == b"SECRET\n"
    assert resolved(Roots([tree / "proj"], unrestricted=True), tree / "proj").root == Root(tree / "proj")


def test_relative_paths_are_taken_against_the_base_or_refused(tree: Path) -> None:
    allowed = Roots([tree / "proj"])
    assert resolved(allowed, "src/app.py", base=str(tree / "proj")).path == b"src/app.py"
    assert resolved(allowed, "app.py", base=str(tree / "proj/src")).path == b"src/app.py"
    with pytest.raises(OutsideRoots):
        resolved(allowed, "../outside/secret.txt", base=str(tree / "proj"))
    with pytest.raises(BadArgument, match="relative") as refusal:
        resolved(allowed, "src/app.py")
    assert refusal.value.hint == f"Give an absolute path below `{tree}/proj`."


@pytest.mark.parametrize("path", ["", "/a\0b", r"/a\x00b", "/a\ud800"])
def test_a_path_that_cannot_be_spelled_is_refused(tree: Path, path: str) -> None:
    with pytest.raises(BadArgument):
        resolved(Roots([tree]), path)


@pytest.mark.parametrize(
    ("spelled", "hint"),
    [
        ("proj/src/ap.py", "Did you mean `{0}/proj/src/app.py`?"),
        ("proj/src/APP.PY", "Did you mean `{0}/proj/src/app.py`?"),
        ("proj/scr/app.py", "Did you mean `{0}/proj/src`?"),
        ("proj/src/zzz", "List `{0}/proj/src` to see what is there."),
        ("proj/src/app.py/x", "`{0}/proj/src/app.py` is a file, not a folder."),
    ],
)
def test_a_missing_file_is_refused_with_what_is_near(tree: Path, spelled: str, hint: str) -> None:
    with pytest.raises(NotFound) as refusal:
        resolved(Roots([tree / "proj"]), f"{tree}/{spelled}")
    assert str(refusal.value) == f"There is no `{tree}/{spelled}`."
    assert refusal.value.hint == hint.format(tree)


@pytest.mark.parametrize(
    ("spelled", "hint"),
    [
        ("src/ap.py", "Did you mean `src/app.py`?"),
        ("scr", "Did you mean `src`?"),
        ("./src/../src/ap.py", "Did you mean `./src/../src/app.py`?"),
        ("src/zzz", "List `src` to see what is there."),
        ("zzzzzz", "List `.` to see what is there."),
        ("src/app.py/x", "`src/app.py` is a file, not a folder."),
        ("dangling", "Did you mean `{0}/proj/src`?"),
    ],
)
def test_what_is_near_is_spelled_as_it_was_asked_for(tree: Path, spelled: str, hint: str) -> None:
    (tree / "proj/dangling").symlink_to("scr")
    with pytest.raises(NotFound) as refusal:
        resolved(Roots([tree / "proj"]), spelled, base=f"{tree}/proj")
    assert refusal.value.hint == hint.format(tree)


def test_a_near_name_that_begins_with_a_tilde_can_be_given_back(tree: Path) -> None:
    (tree / "proj/~notes.txt").write_text("x")
    with pytest.raises(NotFound, match="note") as refusal:
        resolved(Roots([tree / "proj"]), "./~note.txt", base=f"{tree}/proj")
    assert refusal.value.hint == "Did you mean `./~notes.txt`?"


def test_a_file_to_be_written_need_not_exist(tree: Path) -> None:
    place = resolved(Roots([tree / "proj"]), tree / "proj/new/deep.txt", must_exist=False)
    assert place.path == b"new/deep.txt"


def test_a_loop_of_links_is_refused(tree: Path) -> None:
    (tree / "proj/loop_a").symlink_to("loop_b")
    (tree / "proj/loop_b").symlink_to("loop_a")
    with pytest.raises(NotFound, match="leads back to itself"):
        resolved(Roots([tree / "proj"]), tree / "proj/loop_a")


def test_a_name_that_is_not_utf8_is_read_by_what_is_shown_for_it(tree: Path) -> None:
    name = b"bad\xff\n.txt"
    with open(os.path.join(os.fsencode(tree), b"proj", name), "wb") as file:
        file.write(b"hit\n")
    place = resolved(Roots([tree / "proj"]), f"{tree}/proj/{names.display(name)}")
    assert place.path == name
    assert content(place.opener, place.path) == b"hit\n"


def test_a_root_must_be_a_folder(tree: Path) -> None:
    with pytest.raises(NotFound):
        Root(tree / "no")
    with pytest.raises(NotAFolder):
        Root(tree / "proj/src/app.py")


def test_a_regular_file_is_opened_and_closed(tree: Path, opening: str) -> None:
    root = Root(tree / "proj")
    assert content(root, b"src/app.py") == b"inside\n"
    with root.opened(RelPath(b"src/app.py")) as descriptor:
        assert not os.get_inheritable(descriptor)
        assert root.stat(RelPath(b"src/app.py")) == os.fstat(descriptor)
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(descriptor)


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        (b"", NotAFile),
        (b"src", NotAFile),
        (b"link", NotAFile),
        (b"fifo", NotAFile),
        (b"socket", NotAFile),
        (b"no", NotFound),
        (b"src/app.py/x", NotFound),
        (b"../outside/secret.txt", OutsideRoots),
        (b"n" * 300, Unreadable),
    ],
)
def test_what_is_no_regular_file_below_the_root_is_not_opened(
    tree: Path, opening: str, path: bytes, refusal: type[LinedexError]
) -> None:
    (tree / "proj/link").symlink_to("src/app.py")
    os.mkfifo(tree / "proj/fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tree / "s"))
        (tree / "s").rename(tree / "proj/socket")
        with pytest.raises(refusal):
            Root(tree / "proj").open(RelPath(path))


def test_a_file_below_a_folder_that_is_a_link_out_of_the_root_is_refused(tree: Path, opening: str) -> None:
    (tree / "proj/sub").symlink_to("../outside")
    root = Root(tree / "proj")
    for act in (root.open, root.stat):
        with pytest.raises(LinedexError):
            act(RelPath(b"sub/secret.txt"))
    for path in (b"sub", b"src/app.py"):
        with pytest.raises(LinedexError):
            root.open_folder(RelPath(path))


def test_devices_are_refused() -> None:
    with pytest.raises(NotAFile, match="device"):
        Root("/dev").open(RelPath(b"null"))


def test_no_descriptor_is_left_open_by_refusals(tree: Path, opening: str) -> None:
    (tree / "proj/sub").symlink_to("../outside")
    root = Root(tree / "proj")
    before = len(os.listdir("/proc/self/fd"))
    for path in (b"src", b"no", b"sub/secret.txt", b"no/x", b"src/no"):
        for act in (root.open, root.stat, root.open_folder):
            try:
                found = act(RelPath(path))
            except LinedexError:
                continue
            if isinstance(found, int):
                os.close(found)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_swapped_for_a_link_while_it_is_opened_never_shows_what_is_outside(tree: Path, opening: str) -> None:
    root = Root(tree / "proj")
    (tree / "decoy").mkdir()
    (tree / "decoy/app.py").symlink_to(tree / "outside/secret.txt")
    (tree / "decoy2").symlink_to(tree / "outside")
    (tree / "outside/app.py").write_text("SECRET\n")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for other in ("decoy", "decoy2"):
                os.rename(tree / "proj/src", tree / "aside")
                os.rename(tree / other, tree / "proj/src")
                os.rename(tree / "proj/src", tree / other)
                os.rename(tree / "aside", tree / "proj/src")

    swapper = threading.Thread(target=swap)
    swapper.start()
    read, refused = set(), 0
    try:
        for _ in range(3000):
            try:
                read.add(content(root, b"src/app.py"))
            except LinedexError:
                refused += 1
    finally:
        stop.set()
        swapper.join()
    assert read <= {b"inside\n"}
    assert refused


@pytest.fixture
def as_ordinary_user() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "shut").mkdir()
    (folder / "shut/x").touch()
    (folder / "secret").touch()
    (folder / "shut").chmod(0)
    (folder / "secret").chmod(0)
    privileged = os.geteuid() == 0
    if privileged:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if privileged:
            os.seteuid(0)
        (folder / "shut").chmod(stat.S_IRWXU)
        shutil.rmtree(folder)


def test_a_file_without_permission_is_unreadable_and_the_reason_is_said(as_ordinary_user: Path, opening: str) -> None:
    root = Root(as_ordinary_user)
    for path in (b"secret", b"shut/x"):
        with pytest.raises(Unreadable, match="Permission denied"):
            root.open(RelPath(path))
    with pytest.raises(Unreadable):
        resolved(Roots([as_ordinary_user]), as_ordinary_user / "shut/x")
