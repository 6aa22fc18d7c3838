"""Index and ask files of unusual shapes at full size, with the memory of all processes and the time of each step.

    python scripts/bench/shapes.py [SHAPE ...] [--scale F] [--folder DIR]

Shapes: `one-line` (a line of 2 GB), `short-lines` (300 million of two bytes), `sparse` (a hole of 8 GB between two
texts), `utf-16`, `shift-jis`, `crlf` (1 GB each). `--scale 0.01` makes all of them a hundredth as large. Each file is
made in a folder of its own, which is removed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from growth import PeakMemory

from linedex.answers import SearchRequest
from linedex.index import Index
from linedex.model import RelPath

NAME = RelPath(b"shape.log")
MEBIBYTE = 1 << 20


def one_line(path: Path, scale: float) -> tuple[int, int]:
    """A line of 2 GB whose needle stands near its end, and a short one."""
    size = int(2_000_000_000 * scale)
    piece = b"0123456789abcdef" * (MEBIBYTE // 16)
    with path.open("wb") as log:
        for _ in range(size // MEBIBYTE):
            log.write(piece)
        log.write(b" needle tail\nshort\n")
    return 2, 1


def short_lines(path: Path, scale: float) -> tuple[int, int]:
    """Lines of two bytes, and the needle behind them."""
    count = int(300_000_000 * scale) // MEBIBYTE * MEBIBYTE
    with path.open("wb") as log:
        for _ in range(count // MEBIBYTE):
            log.write(b"a\n" * MEBIBYTE)
        log.write(b"needle\n")
    return count + 1, count + 1


def sparse(path: Path, scale: float) -> tuple[int, int]:
    """Text, a hole, and text that begins with a line end."""
    text = b"2026-03-04 05:06:07 INFO a line before the hole\n" * 50_000
    with path.open("wb") as log:
        log.write(text)
        log.seek(int(8_000_000_000 * scale), 1)
        log.write(b"\nneedle behind the hole\n")
    return 50_002, 50_002


def encoded(encoding: str, ending: str) -> Callable[[Path, float], tuple[int, int]]:
    """Return the maker of a log in an encoding."""

    def make(path: Path, scale: float) -> tuple[int, int]:
        line = f"2026-03-04 05:06:07 INFO \u6f22\u5b57\u306e\u884c request served in 12 ms{ending}".encode(encoding)
        piece = line * (MEBIBYTE // len(line))
        count = int(1_000_000_000 * scale) // len(piece) * (MEBIBYTE // len(line))
        with path.open("wb") as log:
            log.write("\ufeff".encode(encoding) if encoding == "utf-16-le" else b"")
            for _ in range(int(1_000_000_000 * scale) // len(piece)):
                log.write(piece)
            log.write(f"needle{ending}".encode(encoding))
        return count + 1, count + 1

    return make


SHAPES: dict[str, Callable[[Path, float], tuple[int, int]]] = {
    "one-line": one_line,
    "short-lines": short_lines,
    "sparse": sparse,
    "utf-16": encoded("utf-16-le", "\n"),
    "shift-jis": encoded("shift_jis", "\n"),
    "crlf": encoded("utf-8", "\r\n"),
}


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long a step took."""
    began = time.perf_counter()
    yield
    print(f"  {what}: {time.perf_counter() - began:.3f} s", flush=True)


def measure(name: str, root: Path, scale: float) -> None:
    """Make the file, index it, and ask of it what is known."""
    path = root / "root" / "shape.log"
    path.parent.mkdir()
    lines, at = SHAPES[name](path, scale)
    status = path.stat()
    print(f"{name}: {status.st_size / 1e6:,.0f} MB, {status.st_blocks * 512 / 1e6:,.0f} MB on disk, {lines:,} lines")
    memory = PeakMemory()
    with Index(path.parent, root / "index.db") as index:
        with timed("indexed"):
            index.build()
        with timed("searched"):
            answer = index.search(SearchRequest("needle", regex=False, scope=NAME))
        found = [hit.line for file in answer.files for hit in file.hits]
        print(f"  found at {found} of {[at]}, {answer.coverage.verdict}")
        with timed("last line"):
            tail = index.tail(NAME, 1)
        print(f"  {tail.total_lines:,} lines of {lines:,}")
        with timed("a line in the middle"):
            index.read(NAME, max(1, lines // 2), 1)
        print(f"  sidecar {index.status().sidecar_bytes / 1e6:,.0f} MB")
    memory.close()
    print(f"  peak of all processes {memory.peak / 1e6:,.0f} MB", flush=True)
    if (found, tail.total_lines) != ([at], lines):
        raise SystemExit(f"{name}: not what was made")


def main() -> None:
    """Measure the shapes that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=[], metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    for name in options.shapes or SHAPES:
        with tempfile.TemporaryDirectory(dir=options.folder) as made:
            measure(name, Path(made), options.scale)


if __name__ == "__main__":
    main()
