"""Write a realistic application log of any size: the same bytes for the same size and seed.

    python scripts/bench/logs.py SIZE_MB FILE [SEED]

A line has about 130 bytes: a rising time, a level (80 % INFO, 10 % DEBUG, 7 % WARN, 3 % ERROR), a service, a request
id that no other line has, and one of ten messages with numbers, addresses and ids. Lines are made in bulk, at some 60
MB/s, and never held beyond one chunk.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

MESSAGES = (
    "GET /api/v1/users/{number} 200 {ms}ms",
    "POST /api/v2/orders {ms}ms status=201 order={number}",
    "connection from 10.{a}.{b}.{c}:{port} accepted",
    "cache miss key=user:{number}:profile",
    'slow query {ms}ms rows={port} sql="SELECT * FROM orders WHERE id={number}"',
    "retrying job={hexes} attempt={a}",
    "failed to open socket 10.{a}.{b}.{c}: timeout {ms}ms",
    "payment declined card=****{port} user={number}",
    "session {hexes} expired after {ms}s",
    "flush segment seg_{number} bytes={port}",
)
LEVELS = ("INFO ",) * 80 + ("DEBUG",) * 10 + ("WARN ",) * 7 + ("ERROR",) * 3
SERVICES = ("auth", "billing", "gateway", "search", "cart", "inventory", "mailer", "ledger")
_LINES = 20_000
"""Lines of a chunk."""


class LogMaker:
    """Makes the lines of one log, chunk by chunk."""

    def __init__(self, seed: int = 7) -> None:
        self._draw = Random(seed)
        self._now = datetime(2026, 1, 1)  # noqa: DTZ001 - logs tell no zone

    def line(self) -> str:
        """Return the next line, with its end."""
        draw = self._draw
        bits = draw.getrandbits(128)
        hexes = f"{bits:032x}"
        self._now += timedelta(milliseconds=bits % 40)
        request = f"{hexes[:8]}-{hexes[8:12]}-4{hexes[13:16]}-a{hexes[17:20]}-{hexes[20:]}"
        more = draw.getrandbits(128)
        message = MESSAGES[more % 10].format(
            number=more >> 8 & 0xFFFFFF,
            ms=more >> 32 & 0xFFF,
            a=more >> 44 & 0xFF,
            b=more >> 52 & 0xFF,
            c=more >> 60 & 0xFF,
            port=more >> 68 & 0xFFFF,
            hexes=f"{more:032x}",
        )
        head = f"{self._now.isoformat(timespec='milliseconds')} {LEVELS[bits % 100]}"
        return f"{head} [{SERVICES[more >> 100 & 7]}-{more >> 104 & 31}] req={request} {message}\n"

    def chunk(self, lines: int = _LINES) -> bytes:
        """Return the next lines."""
        return "".join(self.line() for _ in range(lines)).encode()

    def chunks(self, size: int) -> Iterator[bytes]:
        """Yield whole lines of `size` bytes together, or a little less."""
        left = size
        while left > 0:
            made = self.chunk(min(_LINES, left // 80 + 1))
            if len(made) > left:
                yield made[: made.rfind(b"\n", 0, left) + 1]
                return
            yield made
            left -= len(made)


def write_log(path: Path, size: int, seed: int = 7) -> LogMaker:
    """Write a log of about `size` bytes; return what makes the lines that follow."""
    maker = LogMaker(seed)
    with path.open("wb") as out:
        for chunk in maker.chunks(size):
            out.write(chunk)
    return maker


def main() -> None:
    """Write the log that the command line names."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    write_log(Path(sys.argv[2]), int(float(sys.argv[1]) * 1e6), seed)


if __name__ == "__main__":
    main()
