"""`linedex log`, `linedex tail` and the log options of `linedex search`, run as people run them."""

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

DEADLINE = 60.0


def line(at: int, level: str, message: str) -> str:
    return f"2026-03-04 05:{at:02d}:00 {level} {message}\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "app.log"
    path.parent.mkdir()
    path.write_text("".join(line(at, "ERROR" if at > 7 else "INFO", f"job {at}") for at in range(10) if at != 5))
    return path


def environ(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "LINEDEX_STATE_DIR": str(tmp_path / "state"), "LINEDEX_LOG_ZONE": "UTC"}


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "linedex_server", *arguments],
        env=environ(tmp_path),
        cwd=tmp_path / "logs",
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def test_a_log_is_told_with_a_bar_for_each_bucket(tmp_path: Path, log: Path) -> None:
    done = run(tmp_path, "log", log.name, "-b", "5")
    assert done.returncode == 0, done.stderr
    facts, timeline = done.stdout.split("\n")[:4], done.stdout.split("\n")[4:]
    assert facts[0] == "log of 9 records: 2026-03-04 05:00:00 to 2026-03-04 05:09:00 (UTC)"
    assert facts[2] == "levels error 2, info 7 (by level word)"
    assert timeline == [
        f"2026-03-04 05:00         5 {'█' * 20} info 5",
        f"2026-03-04 05:05         4 {'█' * 16}     error 2, info 2",
        "",
    ]


def test_empty_buckets_and_ranges_are_shown(tmp_path: Path, log: Path) -> None:
    done = run(tmp_path, "log", log.name, "-b", "1", "--since", "05:04", "--until", "05:07", "-e", "job [4-6]")
    assert [one.split()[2] for one in done.stdout.splitlines()] == ["1", "0", "1"]
    assert "since 2026-03-04 05:04:00 until 2026-03-04 05:07:00 (UTC)" in done.stderr
    log.write_text("nothing tells the time here\n")
    done = run(tmp_path, "log", log.name)
    assert (done.returncode, done.stdout) == (1, "")
    assert "without recognised times" in done.stderr


def test_a_search_is_limited_by_time_and_level(tmp_path: Path, log: Path) -> None:
    done = run(tmp_path, "search", "--since", "05:06", "--level", "error", "job", log.name)
    assert done.stdout == f"8:{line(9, 'ERROR', 'job 9')}".replace("8:", "8:" + line(8, "ERROR", "job 8") + "9:")
    assert run(tmp_path, "search", "--until", "05:00", "job", log.name).returncode == 1


@pytest.fixture
def follower(tmp_path: Path, log: Path) -> Iterator[tuple[subprocess.Popen[str], "queue.Queue[str]"]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "linedex_server", "tail", "-f", "-n", "3", log.name, "ERROR"],
        env=environ(tmp_path),
        cwd=log.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        assert process.stdout is not None
        for one in process.stdout:
            lines.put(one)

    thread = threading.Thread(target=listen)
    thread.start()
    yield process, lines
    process.kill()
    process.communicate()
    thread.join()


def test_a_follower_prints_what_is_added_and_goes_on_after_a_rotation(
    follower: tuple[subprocess.Popen[str], "queue.Queue[str]"], log: Path
) -> None:
    process, lines = follower
    assert [lines.get(timeout=DEADLINE) for _ in range(2)] == [line(8, "ERROR", "job 8"), line(9, "ERROR", "job 9")]
    with log.open("a") as grown:
        grown.write(line(10, "INFO", "quiet") + line(11, "ERROR", "loud"))
    assert lines.get(timeout=DEADLINE) == line(11, "ERROR", "loud")
    with log.open("a") as grown:
        grown.write(line(12, "ERROR", "last of the old"))
    log.rename(log.with_name("app.log.1"))
    log.write_text(line(13, "ERROR", "first of the new"))
    assert lines.get(timeout=DEADLINE) == line(12, "ERROR", "last of the old")
    assert lines.get(timeout=DEADLINE) == line(13, "ERROR", "first of the new")
    assert process.stderr is not None
    told = process.stderr.readline()
    # where it looked between the two, it also says that the file was gone
    assert "app.log.1" in (process.stderr.readline() if "app.log is gone" in told else told)


def test_a_follower_waits_for_a_file_that_is_gone(
    follower: tuple[subprocess.Popen[str], "queue.Queue[str]"], log: Path
) -> None:
    process, lines = follower
    assert [lines.get(timeout=DEADLINE) for _ in range(2)] == [line(8, "ERROR", "job 8"), line(9, "ERROR", "job 9")]
    assert process.stderr is not None
    log.unlink()
    assert process.stderr.readline() == "linedex: app.log is gone; waiting until it is written anew\n"
    log.with_name("other").write_text("another file of the folder\n")
    log.write_text(line(13, "ERROR", "first of the new"))
    assert lines.get(timeout=DEADLINE) == line(13, "ERROR", "first of the new")
    assert "restarting at the new file's start" in process.stderr.readline()


@pytest.mark.parametrize(("columns", "bar"), [(200, 20), (59, 16), (47, 4), (30, 4)])
def test_bars_become_shorter_on_a_narrow_terminal(tmp_path: Path, log: Path, columns: int, bar: int) -> None:
    ours, theirs = os.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "linedex_server", "log", log.name, "-b", "5"],
        env={**environ(tmp_path), "COLUMNS": str(columns), "NO_COLOR": "1"},
        cwd=log.parent,
        stdout=theirs,
    )
    os.close(theirs)
    printed = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
        while piece := os.read(ours, 65536):
            printed += piece
    os.close(ours)
    assert done.wait(DEADLINE) == 0
    rows = printed.decode().splitlines()[-2:]
    assert rows[0] == f"2026-03-04 05:00         5 {'█' * bar} info 5"
    assert max(map(len, rows)) <= max(columns, 47)


def test_the_last_lines_are_printed_and_only_those_that_match(tmp_path: Path, log: Path) -> None:
    assert run(tmp_path, "tail", "-n", "2", log.name).stdout == line(8, "ERROR", "job 8") + line(9, "ERROR", "job 9")
    assert run(tmp_path, "tail", "-n", "4", log.name, "info", "-i").stdout == line(6, "INFO", "job 6") + line(
        7, "INFO", "job 7"
    )
    assert run(tmp_path, "tail", log.name, "(").returncode == 2
