"""The real command in a process of its own: pipes, terminals, signals, exit statuses, the state folder."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str = ""


class Shell:
    """Runs linedex in one working folder, with a state folder of its own that is not there at first."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder = folder
        self.state = state

    @contextmanager
    def started(self, *arguments: str | Path, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
        """Start a command; at the end it is waited for, and its pipes are closed."""
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("LINEDEX_", "NO_COLOR"))}
        environment |= {"LINEDEX_STATE_DIR": str(self.state), "XDG_CONFIG_HOME": str(self.state), "TERM": "xterm"}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        command = [sys.executable, "-m", "linedex_server", *map(str, arguments)]
        # a signal that the test run ignores, as in the background of a shell, would be ignored by the command too
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, **streams)
        finally:
            signal.signal(signal.SIGINT, before)
        with process:
            yield process

    def __call__(self, *arguments: str | Path, **streams: Any) -> Ran:
        with self.started(*arguments, **streams) as process:
            out, err = process.communicate()
        return Ran(process.returncode, out.decode("utf-8", "surrogateescape"), err.decode())

    def on_terminal(self, *arguments: str | Path) -> Ran:
        """Run with stdout and stderr on one terminal; return what it was sent."""
        master, slave = pty.openpty()
        with self.started(*arguments, stdout=slave, stderr=slave) as process:
            os.close(slave)
            sent = b"".join(iter(lambda: _piece(master), b""))
        os.close(master)
        return Ran(process.returncode, sent.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))


def _piece(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux says that the last writer has gone
        return b""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "tree"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.py").write_text("def total(self):\n    return 1\n\n\nclass Cart:\n    def add(self): ...\n")
    (folder / "sub" / "b.txt").write_text("".join(f"total {number}\n" for number in range(1, 101)))
    (folder / "zero").write_bytes(b"total\0\1" * 50)
    return Shell(folder, tmp_path / "state")


def test_a_search_without_an_index_answers_and_leaves_nothing_behind(shell: Shell, tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    ran = shell("search", r"def \w+", "sub", "a.py")
    assert ran == Ran(0, "a.py:1:def total(self):\na.py:6:    def add(self): ...\n")
    assert not shell.state.exists()


def test_no_match_is_one_and_an_error_is_two_with_words(shell: Shell) -> None:
    assert shell("search", "nowhere") == Ran(1, "")
    bad = shell("search", "a(b")
    assert (bad.status, bad.out) == (2, "")
    assert bad.err.startswith("linedex: ")
    missing = shell("search", "total", "absent", "a.py")
    assert (missing.status, missing.out) == (2, "a.py:1:def total(self):\n")
    assert "absent" in missing.err
    assert "Traceback" not in bad.err + missing.err


def test_index_accounts_for_every_file_and_shows_no_bar_on_a_pipe(shell: Shell) -> None:
    ran = shell("index", "-v", ".")
    assert (ran.status, ran.err) == (0, "")
    assert "2 indexed + 1 skipped = 3 seen" in ran.out
    assert "1 binary" in ran.out
    assert "skipped   zero: binary" in ran.out
    assert re.search(r"sidecar +[\d.,]+ \w+ \([\d.,]+% of the text\)", ran.out)
    assert "\x1b" not in ran.out
    assert "\r" not in ran.out


def test_a_folder_below_an_indexed_one_is_answered_by_its_index_and_sees_changes(shell: Shell) -> None:
    shell("index", ".")
    (shell.folder / "sub" / "new.txt").write_text("total of a file made since\n")
    ran = shell("search", "--stats", "-c", "total", "sub")
    assert ran.out == "sub/b.txt:100\nsub/new.txt:1\n"
    assert "101 hits in 2 files; complete: 1 by index, 1 by scan" in ran.err


def test_an_old_hit_is_not_given(shell: Shell) -> None:
    shell("index", ".")
    (shell.folder / "a.py").write_text("changed\n")
    assert shell("search", "def total") == Ran(1, "")


def test_all_hits_are_printed_page_after_page(shell: Shell) -> None:
    numbers = range(1, 25_001)
    (shell.folder / "many").write_text("".join(f"hit {number}\n" for number in numbers))
    ran = shell("search", "^hit", "many")
    assert ran.out.splitlines() == [f"{number}:hit {number}" for number in numbers]


def test_a_reader_that_has_enough_ends_it_quietly(shell: Shell) -> None:
    (shell.folder / "many").write_text("a hit on every line\n" * 50_000)
    with shell.started("search", "hit", "many") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"1:a hit on every line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_an_error_in_words(shell: Shell) -> None:
    with Path("/dev/full").open("wb") as full, shell.started("search", "total", "a.py", stdout=full) as process:
        assert process.stderr is not None
        assert process.stderr.read() == b"linedex: cannot write the answer: No space left on device\n"
    assert process.returncode == 2


def test_ctrl_c_ends_it_quietly_with_130(shell: Shell) -> None:
    (shell.folder / "many").write_text("a hit on every line\n" * 50_000)
    with shell.started("search", "hit", "many") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # one line read, the rest more than a pipe holds: it is in the middle of its answer
        assert process.stdout.readline() == b"1:a hit on every line\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == 130


def test_a_terminal_gets_headings_colours_and_no_escape_of_a_file(shell: Shell) -> None:
    (shell.folder / "sub" / "evil\x1b[2J").write_bytes(b"total \x1b]0;renamed\x07 \xc2\x9b31m\r\n")
    ran = shell.on_terminal("search", "total", "a.py", "sub/evil\x1b[2J")
    assert ran.status == 0
    assert ran.out.startswith("\x1b[35ma.py\x1b[0m\n\x1b[32m1\x1b[0m:def \x1b[1;31mtotal\x1b[0m(self):\n\n\x1b[35m")
    rest = re.sub(r"\x1b\[(0|32|35|1;31)m", "", ran.out)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", rest)
    assert "␛]0;renamed␇" in rest


def test_a_pipe_gets_a_files_bytes_as_they_are(shell: Shell) -> None:
    (shell.folder / "raw").write_bytes(b"total \x1b[31m red\t\xe2\x82\xac\n")
    assert shell("search", "total", "raw").out == "1:total \x1b[31m red\t€\n"


def test_colours_are_for_who_wants_them(shell: Shell) -> None:
    assert "\x1b[1;31mtotal" in shell("search", "--color", "always", "total", "a.py").out
    assert "\x1b" not in shell.on_terminal("search", "--color", "never", "total", "a.py").out


def test_index_shows_bars_on_a_terminal_and_ends_with_the_account(shell: Shell) -> None:
    ran = shell.on_terminal("index", ".")
    assert ran.status == 0
    assert "\x1b[" in ran.out
    assert "= 3 seen" in ran.out


def test_a_damaged_index_is_found_and_searches_go_on(shell: Shell) -> None:
    shell("index", ".")
    (sidecar,) = shell.state.rglob("index.db")
    sidecar.write_bytes(b"no database" * 1000)
    assert shell("search", "def total") == Ran(0, "a.py:1:def total(self):\n")


def test_a_wrong_setting_is_named(shell: Shell) -> None:
    shell.state.mkdir()
    (shell.state / "linedex").mkdir()
    (shell.state / "linedex" / "config.toml").write_text("stat_dir = '/nowhere'\n")
    ran = shell("search", "x")
    assert ran.status == 2
    assert "stat_dir" in ran.err
    assert "state_dir" in ran.err
