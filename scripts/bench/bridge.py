#!/usr/bin/env python3
"""Time a client's start over the bridge, with the daemon up and down, and what the bridge adds to a call.

scripts/bench/bridge.py /usr/src/linux-source-6.1 --write
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from common import fresh_folder, ran, write_result
from spoken import Spoken

import linedex_server

LINEDEX = [sys.executable, "-m", "linedex_server"]
"""Not scripts/linedex, whose shell takes its own time."""


def mcp(root: Path, *options: str) -> list[str]:
    """Return the command of a client's server."""
    return [*LINEDEX, "mcp", "--root", str(root), *options]


def summed(times: list[float]) -> str:
    """Return median and worst of some times in milliseconds."""
    return f"median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms of {len(times)}"


def starts(root: Path, environ: dict[str, str], count: int) -> list[float]:
    """Time the start of `count` clients, one after the other."""
    times = []
    for _ in range(count):
        with Spoken(mcp(root), environ) as client:
            times.append(client.milliseconds)
    return times


def starts_without_daemon(root: Path, environ: dict[str, str], count: int) -> list[float]:
    """Time the start of `count` clients that have to start the daemon each."""
    times = []
    for _ in range(count):
        ran(*LINEDEX, "stop", env=environ)
        times += starts(root, environ, 1)
    return times


def overhead(root: Path, environ: dict[str, str], calls: int) -> tuple[float, float]:
    """Return the median milliseconds of a read of 20 lines, over the bridge and in one process, asked in turn."""
    pattern = "*.c" if any(root.rglob("*.c")) else "*.*"
    path = next(path for path in sorted(root.rglob(pattern)) if path.is_file() and path.stat().st_size > 2_000)
    alone = {**environ, "LINEDEX_STATE_DIR": str(fresh_folder())}
    with Spoken(mcp(root), environ) as bridged, Spoken(mcp(path.parent, "--no-daemon"), alone) as single:
        single.wait_until_indexed()
        times = [
            [
                client.call("read_content", absolute_file_path=str(path), offset=1, limit=20)
                for client in (bridged, single)
            ]
            for _ in range(calls)
        ]
    over, without = (statistics.median(column) for column in zip(*times, strict=True))
    return over, without


def upgrade(root: Path, environ: dict[str, str], version: str) -> tuple[float, float]:
    """Time the start of a client of a newer version beside four of this one, and then one call of all five, in ms."""
    package = Path(linedex_server.__file__).parent
    folder = fresh_folder()
    shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    init = folder / package.name / "__init__.py"
    init.write_text(init.read_text(encoding="utf-8").replace(linedex_server.VERSION, version), encoding="utf-8")
    compileall.compile_dir(folder, quiet=1)  # an installed version is compiled already
    with ExitStack() as stack:
        clients = [stack.enter_context(Spoken(mcp(root), environ)) for _ in range(4)]
        newer = stack.enter_context(Spoken(mcp(root), {**environ, "PYTHONPATH": str(folder)}))
        began = time.perf_counter()
        for client in (*clients, newer):
            client.call("list_directory", absolute_dir_path=str(root))
        return newer.milliseconds, (time.perf_counter() - began) * 1e3


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--write", action="store_true", help="keep the result in docs/benchmarks")
    options = parser.parse_args()
    root = options.root.resolve()
    environ = {**os.environ, "LINEDEX_STATE_DIR": str(fresh_folder())}
    lines = []
    try:
        down = starts_without_daemon(root, environ, max(options.starts // 4, 3))
        up = starts(root, environ, options.starts)
        with Spoken(mcp(root), environ) as client:
            indexing = ": up to date" not in client.ask("tools/call", name="index_status", arguments={})
            during = "while it indexes" if indexing else "of a root that was indexed by then"
            lines += [f"- daemon up, {during}: {summed(up)}", f"- daemon down, {during}: {summed(down)}"]
            client.wait_until_indexed()
        lines.append(f"- daemon up, root indexed: {summed(starts(root, environ, options.starts))}")
        down = starts_without_daemon(root, environ, max(options.starts // 4, 3))
        lines.append(f"- daemon down, root indexed: {summed(down)}")
        over, without = overhead(root, environ, options.calls)
        lines.append(
            f"- a read of 20 lines: {over:.2f} ms over the bridge, {without:.2f} ms in one process (`--no-daemon`): "
            f"{over - without:.2f} ms more"
        )
        begun, called = zip(*(upgrade(root, environ, f"{99 + number}.0.0") for number in range(3)), strict=True)
        lines.append(
            f"- a newer version beside four older clients, to its `initialize`: {summed(list(begun))}; then a call of "
            f"all five: {summed(list(called))}"
        )
        stopped = []
        for _ in range(5):
            with Spoken(mcp(root), environ):
                began = time.perf_counter()
                ran(*LINEDEX, "stop", env=environ)
                stopped.append((time.perf_counter() - began) * 1e3)
        lines.append(f"- `linedex stop`, until the daemon is gone: {summed(stopped)}")
    finally:
        ran(*LINEDEX, "stop", env=environ)
    text = f"{root.name}; spawn of `linedex mcp` to the reply to `initialize`:\n\n" + "\n".join(lines)
    print(text)
    if options.write:
        print(write_result("bridge", text))


if __name__ == "__main__":
    main()
