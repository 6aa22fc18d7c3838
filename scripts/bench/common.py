"""What the bench scripts share: a served index over MCP, paired timings, dated results."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "docs" / "benchmarks"
LINEDEX = str(REPOSITORY / "scripts" / "linedex")
_COVERAGE = re.compile(r"; ([\d,.]+ m?s)\b(?: \+ ([\d,.]+ m?s) to check)?")


@asynccontextmanager
async def served(root: Path, state: Path, *, wait: bool = True) -> AsyncIterator[Client]:
    """Serve `root` over stdio from a process of its own and give a client; with `wait`, once it is indexed."""
    environ = {**os.environ, "LINEDEX_STATE_DIR": str(state)}
    command = StdioServerParameters(
        command=LINEDEX, args=["mcp", "--no-daemon", "--root", str(root), "--tools", "all"], env=environ
    )
    async with Client(command, read_timeout_seconds=600) as client:
        while wait and ": up to date\n" not in await told(client, "index_status"):
            await anyio.sleep(0.5)
        yield client


async def told(client: Client, tool: str, **arguments: object) -> str:
    """Return the text of a tool's answer; an error is raised."""
    result = await client.call_tool(tool, arguments)
    (block,) = result.content
    text = str(block.text)
    if result.is_error:
        raise RuntimeError(text)
    return text


def query_milliseconds(answer: str) -> tuple[float, float]:
    """Return (time of the query, time of checking files before it) as the last line of an answer says them."""
    found = _COVERAGE.search(answer.rsplit("\n", 1)[-1])
    if found is None:
        raise ValueError(f"no time in {answer[-200:]!r}")
    query, check = (_milliseconds(text or "0 ms") for text in found.groups())
    return query, check


def _milliseconds(text: str) -> float:
    figure, unit = text.replace(",", "").split(" ")
    return float(figure) * (1000 if unit == "s" else 1)


def timed(call: Callable[[], object]) -> float:
    """Return the wall time of a call in seconds."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def ran(*command: str | Path, check: bool = True, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, its output kept."""
    return subprocess.run([*map(str, command)], check=check, capture_output=True, **options)  # type: ignore[call-overload]


def median_ratio(ours: list[float], theirs: list[float]) -> str:
    """Return the median of pairwise ratios, with their range."""
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"


def machine() -> str:
    """Describe this machine in a line."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    system = f"{platform.system()} {platform.release()}"
    return f"{os.cpu_count()} cores ({model}), {system}, Python {platform.python_version()}"


def write_result(name: str, text: str) -> Path:
    """Write a dated result into docs/benchmarks and return where."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{datetime.now(UTC):%Y-%m-%d}-{name}.md"
    path.write_text(f"# {name}, {datetime.now(UTC):%Y-%m-%d}\n\nMachine: {machine()}.\n\n{text.rstrip()}\n")
    return path


def fresh_folder() -> Path:
    """Return a new empty folder for state."""
    return Path(tempfile.mkdtemp(prefix="linedex-bench-"))
