"""What a person sees while a log is read that no index knows."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

from rich.console import Console

from linedex.index import Index
from linedex.log_answers import TimelineRequest
from linedex.model import RelPath
from linedex.query.progress import Progress
from linedex_server.cli.progress import reading_bar

DEADLINE = 20.0


def test_a_long_reading_is_shown_with_its_bytes_and_leaves_nothing_behind() -> None:
    screen, reading = io.StringIO(), Progress()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    with reading_bar(reading, after=0, console=console):
        reading.reads(3_000_000, 12_000_000)
        end = time.monotonic() + DEADLINE
        while "3 MB/12 MB" not in screen.getvalue():
            assert time.monotonic() < end, screen.getvalue()
    assert re.search(r"reading the log ━+", screen.getvalue())
    assert screen.getvalue().endswith("\x1b[2K")


def test_a_short_reading_shows_nothing() -> None:
    screen = io.StringIO()
    with reading_bar(Progress(), console=Console(file=screen, force_terminal=True)):
        pass
    assert screen.getvalue() == ""


def test_a_timeline_tells_how_much_of_the_log_was_read(tmp_path: Path) -> None:
    text = "".join(f"2026-03-04 05:{at // 60 % 60:02}:{at % 60:02} INFO request {at}\n" for at in range(20_000))
    (tmp_path / "app.log").write_text(text)
    progress = Progress()
    with Index(tmp_path, tmp_path / "state" / "index.db") as index:
        index.timeline(TimelineRequest(RelPath(b"app.log")), progress)
    assert progress.size == len(text)
    assert 0 < progress.read < len(text)
