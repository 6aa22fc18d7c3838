"""Logs that the tests of queries by time write, in plain words, and limits under which ten lines have many parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from linedex.limits import Limits
from linedex.model import RelPath

TINY = Limits(
    large_file=256,
    block_bytes=64,
    block_slack=700,
    batch_bytes=300,
    window_bytes=128,
    window_overlap=32,
    log_part_bytes=200,
    log_zone="UTC",
    index_symbols=False,
    workers=0,
)
START = datetime(2026, 3, 4, 5, 0, 0, tzinfo=UTC)
NAME = RelPath(b"app.log")


def in_order(pair: tuple[int | None, int | None]) -> bool:
    """Say whether a range is one: its end behind its beginning, where both are given."""
    return pair[0] is None or pair[1] is None or pair[0] < pair[1]


def written(entries: list[tuple[int, str, str, int]], step: int = 60) -> str:
    """Return entries as lines: seconds after the place of each (`step` apart), level, message, lines of a trace."""
    lines = []
    for number, (seconds, level, message, more) in enumerate(entries):
        moment = START + timedelta(seconds=step * number + seconds)
        lines.append(f"{moment:%Y-%m-%d %H:%M:%S} {level} {message}")
        lines += ["  at disk.place(bob)"] * more
    return "".join(line + "\n" for line in lines)
