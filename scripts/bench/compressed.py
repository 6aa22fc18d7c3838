"""Measure compressed logs: what indexing costs, how soon a line or an id is found, and how much memory that takes.

    python scripts/bench/compressed.py [SIZE_MB] [--kinds plain,gz,zst,zst-frames,xz,xz-blocks] [--folder DIR]

Each kind is one log of so many MB of text, compressed by the codec's own program's settings, and indexed by two worker
processes. Every read is compared with the text. Blocks of xz are made by its own program, which must be there.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from logs import write_log

from linedex.answers import SearchRequest
from linedex.files import fingerprint
from linedex.index import Index
from linedex.limits import DEFAULT_LIMITS
from linedex.log_answers import TimelineRequest
from linedex.model import RelPath
from linedex.query.decoded import decoded_text
from linedex.store import files as file_rows
from linedex.store.database import Sidecar

PIECE = 1 << 20
READ = 64 << 10


def pieces(path: Path, size: int = PIECE) -> Iterator[bytes]:
    """Yield a file a piece at a time."""
    with path.open("rb") as file:
        while piece := file.read(size):
            yield piece


def pack_gz(plain: Path, packed: Path) -> None:
    """Compress as gzip does."""
    with gzip.open(packed, "wb", compresslevel=6) as out:
        for piece in pieces(plain):
            out.write(piece)


def pack_zst(plain: Path, packed: Path) -> None:
    """Compress as zstd does, into one frame."""
    with zstd.open(packed, "wb") as out:
        for piece in pieces(plain):
            out.write(piece)


def pack_zst_frames(plain: Path, packed: Path) -> None:
    """Compress into frames of a mebibyte."""
    with packed.open("wb") as out:
        for piece in pieces(plain):
            out.write(zstd.compress(piece))


def pack_xz(plain: Path, packed: Path) -> None:
    """Compress as `xz -0` does, into one block."""
    with lzma.open(packed, "wb", preset=0) as out:
        for piece in pieces(plain):
            out.write(piece)


def pack_xz_blocks(plain: Path, packed: Path) -> None:
    """Compress as `xz -0` does, into blocks of four mebibytes."""
    with packed.open("wb") as out:
        subprocess.run(["xz", "-0", "--block-size=4MiB", "--keep", "--stdout", str(plain)], stdout=out, check=True)


def keep_plain(plain: Path, packed: Path) -> None:
    """Compress nothing, to compare with."""
    shutil.copyfile(plain, packed)


KINDS: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "plain": ("app.log", keep_plain),
    "gz": ("app.log.gz", pack_gz),
    "zst": ("app.log.zst", pack_zst),
    "zst-frames": ("app.log.zst", pack_zst_frames),
    "xz": ("app.log.xz", pack_xz),
    "xz-blocks": ("app.log.xz", pack_xz_blocks),
}


def milliseconds(times: list[float]) -> str:
    """Return the middle and the slow end of times given in seconds."""
    return f"p50 {median(times) * 1000:6.1f} ms, p99 {quantiles(times, n=100)[98] * 1000:6.1f} ms"


def timed(ask: Callable[[], object]) -> float:
    """Return how many seconds a call takes."""
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


@contextmanager
def folder_of(name: str, plain: Path, base: Path) -> Iterator[tuple[Path, Path]]:
    """Give a folder that holds the compressed log, and the path of an index of it."""
    file_name, pack = KINDS[name]
    home = Path(tempfile.mkdtemp(dir=base))
    try:
        (home / "root").mkdir()
        packed = home / "root" / file_name
        took = timed(lambda: pack(plain, packed))
        stamp = time.time() - 3_600
        os.utime(packed, (stamp, stamp))
        print(f"\n{name}: {packed.stat().st_size / 1e6:.1f} MB, packed in {took:.1f} s")
        yield packed, home / "state" / "index.sqlite"
    finally:
        shutil.rmtree(home)


def measure_reads(packed: Path, sidecar: Path, plain: Path, root: Path) -> None:
    """Read 64 KiB at random places of the text and compare."""
    drawn = random.Random(5)
    size = plain.stat().st_size
    store = Sidecar(sidecar, str(root), read_only=True)
    times = []
    with store.reading() as db, plain.open("rb") as text:
        catalogue = file_rows.load(db)
        place = catalogue.index(packed.name.encode())
        descriptor = os.open(packed, os.O_RDONLY)
        assert fingerprint.of(descriptor).size == packed.stat().st_size
        for _ in range(200):
            offset = drawn.randrange(size - READ)
            known = db, catalogue.facts["id"][place].item()
            began = time.perf_counter()
            opened = decoded_text(descriptor, RelPath(packed.name.encode()), known, DEFAULT_LIMITS)
            assert opened is not None
            found = opened.read(offset, READ)
            times.append(time.perf_counter() - began)
            opened.close()
            text.seek(offset)
            assert found == text.read(READ)
        os.close(descriptor)
    store.close()
    print(f"  64 KiB at a random place, opened each time: {milliseconds(times)}; 200 reads, 0 wrong")


def measure(name: str, plain: Path, base: Path) -> None:
    """Measure one kind of compressed file, and print."""
    size = plain.stat().st_size
    drawn = random.Random(7)
    with plain.open("rb") as text:
        text.seek(size // 2)
        text.readline()
        line = text.readline().decode().rstrip("\n")
    with folder_of(name, plain, base) as (packed, sidecar):
        path = RelPath(packed.name.encode())
        with Index(packed.parent, sidecar) as index:
            unknown = timed(lambda: index.search(SearchRequest("no such text anywhere")))
            print(f"  absent text while the index does not know the file: {unknown:.2f} s")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            took = timed(index.build)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            side = sum(entry.stat().st_size for entry in sidecar.parent.rglob("*") if entry.is_file())
            print(
                f"  indexed in {took:.1f} s: {size / took / 1e6:.0f} MB/s of text, {cpu:.1f} s of processor time in"
                f" workers; sidecar and copy {side / size:.1%}"
            )
            total = index.read(path, 1, 1).total_lines
            jumps = [timed(partial(index.read, path, drawn.randrange(1, total), 20)) for _ in range(200)]
            print(f"  20 lines at a random number: {milliseconds(jumps)}")
            found = index.search(SearchRequest(line, max_hits=10))
            assert found.total_hits >= 1
            one = [timed(lambda: index.search(SearchRequest(line, max_hits=10))) for _ in range(20)]
            none = [timed(lambda: index.search(SearchRequest("0f3c9a7e55d1", max_hits=10))) for _ in range(20)]
            print(f"  a whole line found: {milliseconds(one)}; 12 absent hex digits: {milliseconds(none)}")
            counts = [timed(lambda: index.timeline(TimelineRequest())) for _ in range(20)]
            recent = [timed(lambda: index.search(SearchRequest("e", since="-1s", max_hits=10))) for _ in range(20)]
            print(f"  timeline: {milliseconds(counts)}; ten hits of the last second: {milliseconds(recent)}")
        if name != "plain":
            measure_reads(packed, sidecar, plain, packed.parent)


def main() -> None:
    """Measure the kinds that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", nargs="?", type=int, default=100, metavar="SIZE_MB")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    base = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        plain = base / "plain.log"
        write_log(plain, options.size * 1_000_000)
        for name in options.kinds.split(","):
            measure(name, plain, base)
        own, workers = (
            resource.getrusage(who).ru_maxrss >> 10 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        print(f"\npeak memory: this process {own} MiB, its largest worker {workers} MiB")
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
