"""The scripts on small checkouts of their own: the real scripts, venv and pip, and a project without dependencies.

The project builds with a backend of its own, so that nothing is fetched. Its `linedex` prints how it was called; what
`scripts/test` runs is there likewise, and fails when the environment says so.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the scripts are for POSIX shells")

SCRIPTS = Path(__file__).parents[2] / "scripts"

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "linedex"
version = "1"
"""

# Appends to a log at each install. Where there is a FIFO called `begun` it says so there, and then waits at another.
BACKEND = """
import zipfile
from pathlib import Path

PROGRAMS = ["ruff", "mypy", "lint-imports", "pytest"]
FILES = {
    "METADATA": "Metadata-Version: 2.1\\nName: linedex\\nVersion: 1\\nProvides-Extra: test\\n",
    "WHEEL": "Wheel-Version: 1.0\\nGenerator: us\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    "entry_points.txt": "[console_scripts]\\nlinedex = called:main\\n"
    + "".join(f"{program} = called:check\\n" for program in PROGRAMS),
    "RECORD": "",
}

def get_requires_for_build_editable(config_settings=None):
    return []

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    here = Path.cwd()
    with (here / "installs").open("a") as log:
        log.write("install\\n")
    if (here / "begun").exists():
        (here / "begun").write_text("yes")
        (here / "nobody").read_text()
    name = "linedex-1-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as wheel:
        wheel.writestr("linedex.pth", str(here))
        for file, text in FILES.items():
            wheel.writestr(f"linedex-1.dist-info/{file}", text)
    return name
"""

CALLED = """
import os, sys

def main():
    print(os.getcwd(), sys.argv[1:], sys.stdin.read())
    return 7

def check():
    name = os.path.basename(sys.argv[0])
    print("ran", name, *sys.argv[1:], flush=True)
    return name in os.environ.get("FAILING", "").split()
"""


def checkout(folder: Path) -> Path:
    """Lay out a checkout that was never run."""
    folder.mkdir()
    shutil.copytree(SCRIPTS, folder / "scripts", ignore=shutil.ignore_patterns("bench", "__pycache__"))
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "constraints.txt").write_text("")
    (folder / "backend.py").write_text(BACKEND)
    (folder / "called.py").write_text(CALLED)
    return folder.resolve()


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment without a uv, so that every machine takes the same way."""
    path = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep) if not Path(folder, "uv").exists())
    return {**os.environ, "PATH": path, "PYTHON": sys.executable, **more}


def call(script: Path, *arguments: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [script, *arguments], input=stdin, cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )


def installs(folder: Path) -> int:
    log = folder / "installs"
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout that has been run once, by two calls at the same time."""
    folder = checkout(tmp_path_factory.mktemp("ready") / "a checkout")
    calls = [
        subprocess.Popen(
            [folder / "scripts" / "linedex", str(number)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            text=True,
        )
        for number in range(2)
    ]
    for number, one in enumerate(calls):
        out, err = one.communicate()
        assert (one.returncode, f"['{number}']" in out) == (7, True), err
        assert out.count("\n") == 1
    return folder


def test_two_first_calls_at_once_both_run_and_install_once(ready: Path) -> None:
    assert installs(ready) == 1


def test_a_later_call_passes_arguments_input_folder_and_status_and_adds_no_word(ready: Path, tmp_path: Path) -> None:
    called = call(ready / "scripts" / "linedex", "search", "a b", "-x", stdin="hello", cwd=tmp_path)
    assert (called.returncode, called.stderr) == (7, "")
    assert called.stdout == f"{tmp_path.resolve()} ['search', 'a b', '-x'] hello\n"
    assert installs(ready) == 1


def test_nothing_is_imported_from_the_folder_one_stands_in(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "checkout")
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for module in ("pip", "ensurepip", "venv", "json", "re", "sys"):
        (hostile / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{module}')\n")
    called = call(folder / "scripts" / "linedex", cwd=hostile)
    assert called.returncode == 7, called.stderr
    assert not (tmp_path / "ran").exists()


def test_it_works_through_links_from_any_folder(ready: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "near").symlink_to(os.path.relpath(ready / "scripts" / "linedex", tmp_path / "bin"))
    (tmp_path / "far").symlink_to("bin/near")
    assert call(tmp_path / "far", cwd=Path("/")).returncode == 7
    for line, folder in (("./far", tmp_path), ("bin/near", tmp_path), ("sh linedex", ready / "scripts")):
        shell = ["/bin/sh", "-c", f"exec {line} </dev/null"]
        assert subprocess.run(shell, cwd=folder, env=environment(), capture_output=True, check=False).returncode == 7
    assert installs(ready) == 1


@pytest.mark.parametrize("name", ["constraints.txt", "pyproject.toml"])
def test_a_changed_requirement_installs_again_even_under_an_old_time(ready: Path, name: str) -> None:
    before = installs(ready)
    changed = ready / name
    changed.write_text(changed.read_text() + "# changed\n")
    os.utime(changed, (1, 1))
    assert call(ready / "scripts" / "linedex").returncode == 7
    assert call(ready / "scripts" / "linedex").returncode == 7
    assert installs(ready) == before + 1


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Yield a checkout whose first call stands still in the middle of its install, and that call."""
    folder = checkout(tmp_path / "held")
    os.mkfifo(folder / "begun")
    os.mkfifo(folder / "nobody")
    first = subprocess.Popen(
        [folder / "scripts" / "linedex"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    assert (folder / "begun").read_text() == "yes"
    yield folder, first
    if first.poll() is None:
        os.killpg(first.pid, signal.SIGKILL)
    first.wait()


def test_an_install_that_was_killed_is_made_anew_at_the_next_call(held: tuple[Path, subprocess.Popen[bytes]]) -> None:
    folder, first = held
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    half_copied = folder / ".venv" / "half-copied"
    half_copied.touch()
    (folder / "begun").unlink()
    again = call(folder / "scripts" / "linedex")
    assert again.returncode == 7, again.stderr
    assert installs(folder) == 2
    assert not half_copied.exists()


def test_without_a_suitable_python_it_says_so_and_what_to_do(tmp_path: Path) -> None:
    if any(Path(folder, "python3").exists() for folder in ("/usr/local/bin", "/opt/homebrew/bin")):
        pytest.skip("a Python stands where one is always looked for")
    folder = checkout(tmp_path / "alone")
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("readlink", "cat", "cmp"):
        (tools / tool).symlink_to(str(shutil.which(tool)))
    (tools / "python3").write_text("#!/bin/sh\nexit 127\n")
    (tools / "python3").chmod(0o755)
    called = subprocess.run(
        [folder / "scripts" / "linedex"],
        env={"PATH": str(tools)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (called.returncode, called.stdout) == (2, "")
    assert "found no CPython 3.11 or newer" in called.stderr
    assert "PYTHON=" in called.stderr


def test_a_python_that_was_named_and_does_not_suit_is_refused_by_name(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "named")
    called = subprocess.run(
        [folder / "scripts" / "linedex"],
        env=environment(PYTHON="/bin/false"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (called.returncode, called.stdout) == (2, "")
    assert "PYTHON=/bin/false" in called.stderr


def checks(folder: Path, *arguments: str, failing: str = "") -> tuple[int, list[str]]:
    """Run `scripts/test`; return its status and what it ran, in order."""
    called = subprocess.run(
        [folder / "scripts" / "test", *arguments],
        env=environment(FAILING=failing),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return called.returncode, [line.removeprefix("ran ") for line in called.stdout.splitlines() if line[:4] == "ran "]


def test_every_check_runs_and_pytest_comes_last_with_the_arguments(ready: Path) -> None:
    status, ran = checks(ready, "-k", "a b")
    assert status == 0
    assert ran[:4] == ["ruff check .", "ruff format --check .", "mypy", "lint-imports"]
    assert ran[4].startswith("pytest ")
    assert ran[4].endswith(" -k a b")


@pytest.mark.parametrize("failing", ["ruff", "mypy", "lint-imports", "pytest"])
def test_one_failed_check_fails_the_whole_and_stops_none(ready: Path, failing: str) -> None:
    status, ran = checks(ready, failing=failing)
    assert (status, len(ran)) == (1, 5)


def test_a_moved_checkout_is_made_ready_for_its_new_place(ready: Path) -> None:
    moved = ready.with_name("moved")
    ready.rename(moved)
    try:
        called = call(moved / "scripts" / "linedex")
        assert called.returncode == 7, called.stderr
        shebang = (moved / ".venv" / "bin" / "linedex").read_text().splitlines()
        assert any(str(moved) in line for line in shebang[:3])
    finally:
        moved.rename(ready)
