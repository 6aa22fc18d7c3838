"""Makes the checkout's `.venv`: `make_venv.py ROOT run|test`, called by `scripts/prepare`.

Promise: when it ends well, `.venv` holds linedex (editable) and what `constraints.txt` pins, with the test extras for
`test`, and a stamp that says for which files and which folder it was made. Calls at the same time wait for each
other. A venv whose making was interrupted is made anew, since a half-copied package cannot be told from a whole one.
Runs on the interpreter that the venv will use, with the standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_EXTRAS = {"run": "", "test": "[test]"}
_LOCK = ".lock"
_UNFINISHED = ".unfinished"


class SetupError(Exception):
    """The environment could not be made; the message says why and what to do."""


def say(message: str) -> None:
    """Tell a person at the terminal; stdout is never written to."""
    print(f"linedex: {message}", file=sys.stderr, flush=True)


def stamp_text(root: Path) -> bytes:
    """Return what a stamp must hold; `scripts/linedex` builds the same bytes to compare."""
    parts = (root / "constraints.txt").read_bytes(), (root / "pyproject.toml").read_bytes()
    return os.fsencode(root) + b"\n" + b"".join(parts)


@contextmanager
def locked(venv: Path) -> Iterator[int]:
    """Hold the environment's lock; yield its descriptor."""
    with (venv / _LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another call is making the environment; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def run(command: list[str | Path], lock: int) -> bool:
    """Run `command` with its output on stderr; return whether it succeeded.

    It inherits the lock, so that a caller killed in between leaves nobody to write beside its orphan.
    """
    environment = {**os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    environment.pop("PIP_TARGET", None)
    finished = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, pass_fds=(lock,), env=environment, check=False
    )
    return finished.returncode == 0


def works(python: Path, code: str = "") -> bool:
    """Return whether the interpreter is there and runs `code`."""
    if not python.exists():
        return False
    return subprocess.run([python, "-I", "-c", code], capture_output=True, check=False).returncode == 0


def empty(venv: Path) -> None:
    """Remove all but the lock, which others wait on."""
    for entry in venv.iterdir():
        if entry.name == _LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def made_elsewhere(venv: Path, root: Path) -> bool:
    """Return whether the venv was made for another folder; its scripts name the interpreter by its old path."""
    first_lines = (stamp.read_bytes().split(b"\n", 1)[0] for stamp in venv.glob(".ready-*"))
    return any(line != os.fsencode(root) for line in first_lines)


def install(venv: Path, requirement: str, constraints: Path, lock: int) -> None:
    """Install with uv, the venv's own pip or this interpreter's pip, whichever is there and succeeds first.

    Raises:
        SetupError: none did.
    """
    python = venv / "bin" / "python"
    quiet: list[str | Path] = [] if sys.stderr.isatty() else ["--quiet"]
    wanted: list[str | Path] = ["--constraint", constraints, "--editable", requirement]
    tried = False
    uv = shutil.which("uv")
    if uv:
        tried = True
        if run([uv, "pip", "install", *quiet, "--python", python, *wanted], lock):
            return
        say("uv did not succeed; trying pip")
    if works(python, "import pip") or (works(python, "import ensurepip") and run([python, "-m", "ensurepip"], lock)):
        tried = True
        if run([python, "-m", "pip", "install", *quiet, *wanted], lock):
            return
    # A system Python may come without ensurepip, and yet have a pip of its own.
    elif works(Path(sys.executable), "import pip"):
        tried = True
        if run([sys.executable, "-m", "pip", "--python", python, "install", *quiet, *wanted], lock):
            return
    if tried:
        message = "the packages could not be installed (see above).\nMend that and call again; it starts anew."
    else:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        message = (
            f"{sys.executable} has neither ensurepip nor pip, and there is no uv.\n"
            f"Install one of them (Debian, Ubuntu: apt install python{version}-venv) and call again."
        )
    raise SetupError(message)


def make(root: Path, profile: str) -> None:
    """Bring the venv to `profile`.

    Raises:
        SetupError: it could not be made.
    """
    venv = root / ".venv"
    venv.mkdir(exist_ok=True)
    # What runs below, and what that runs in turn, would import from the folder it is called in.
    os.chdir(root)
    python = venv / "bin" / "python"
    stamp = venv / f".ready-{profile}"
    with locked(venv) as lock:
        wanted = stamp_text(root)
        sound = works(python) and not (venv / _UNFINISHED).exists() and not made_elsewhere(venv, root)
        if sound and (venv / "bin" / "linedex").exists() and stamp.exists() and stamp.read_bytes() == wanted:
            return
        say(f"setting up {venv} with Python {sys.version.split()[0]}; the first time takes about a minute")
        if not sound:
            empty(venv)
        (venv / _UNFINISHED).touch()
        for old in venv.glob(".ready-*"):
            old.unlink()
        if not sound and not run([sys.executable, "-I", "-m", "venv", "--without-pip", venv], lock):
            raise SetupError(
                f"{sys.executable} could not make a virtual environment (see above).\n"
                "Install its venv module (Debian, Ubuntu: apt install python3-venv) and call again."
            )
        install(venv, f"{root}{_EXTRAS[profile]}", root / "constraints.txt", lock)
        # `test` is `run` and more, so it makes both ready.
        for name in {"run", profile}:
            fresh = venv / f".ready-{name}.new"
            fresh.write_bytes(wanted)
            fresh.replace(venv / f".ready-{name}")
        (venv / _UNFINISHED).unlink()
        say("ready")


def main() -> int:
    """Make the environment and return the exit status."""
    parser = argparse.ArgumentParser(description="Make the checkout's virtual environment.")
    parser.add_argument("root", type=Path)
    parser.add_argument("profile", choices=sorted(_EXTRAS))
    arguments = parser.parse_args()
    try:
        make(arguments.root, arguments.profile)
    except (SetupError, OSError) as error:
        say(f"the environment is not ready: {error}")
        return 2
    except KeyboardInterrupt:
        say("interrupted; the next call starts anew")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
