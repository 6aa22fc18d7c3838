"""`linedex index`: build the index of folders while a person watches, then account for every file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from linedex.answers import IndexStatus, Phase, PhaseProgress
from linedex.build.memory import collect_seldom
from linedex.errors import IndexBusy
from linedex_server.asking.control import index_by_daemon
from linedex_server.cli.door import opened
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import Screen
from linedex_server.config import Settings
from linedex_server.render.words import counted, elapsed, reasons, size

if TYPE_CHECKING:
    from linedex.index import Index

Watcher = Callable[[IndexStatus], None]


def summary(status: IndexStatus, seconds: float) -> list[str]:
    """Return the account of a build, the root first: files, text, symbols, sidecar.

    Args:
        status: the index when the build has ended.
        seconds: time of the build by the wall clock.
    """
    skipped = sum(status.skipped.values())
    lines = [status.root]
    files = f"{status.indexed:,} indexed + {skipped:,} skipped"
    files += f" + {status.pending:,} pending" if status.pending else ""
    lines.append(f"  files     {files} = {status.files:,} seen")
    lines.extend(f"            {count:,} {reason}" for reason, count in sorted(status.skipped.items(), key=_commonest))
    text = status.progress.get(Phase.TEXT, PhaseProgress())
    lines.append(f"  text      {size(status.text_bytes)}; {_read(text)}")
    symbols = f"  symbols   {status.symbols:,} in {counted(status.symbol_files, 'file')}"
    symbols += f", {status.symbol_pending:,} pending" if status.symbol_pending else ""
    without = sum(status.symbol_skipped.values())
    symbols += f"; {counted(without, 'file')} without ({reasons(status.symbol_skipped)})" if without else ""
    lines.append(symbols)
    lines.append(
        f"  sidecar   {size(status.sidecar_bytes)}{_share(status.sidecar_bytes, status.text_bytes)}, "
        f"signatures {size(status.signature_bytes)}{_share(status.signature_bytes, status.text_bytes)}"
    )
    lines.append(f"  time      {elapsed(seconds)}")
    lines.extend(f"  problem: {problem}" for problem in status.problems)
    return lines


def _commonest(entry: tuple[str, int]) -> tuple[int, str]:
    reason, count = entry
    return -count, reason


def _read(text: PhaseProgress) -> str:
    if not text.done_bytes:
        return "nothing had changed"
    rate = f", {size(int(text.rate))}/s" if text.seconds else ""
    return f"{size(text.done_bytes)} read now in {elapsed(text.seconds)}{rate}"


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.1%} of the text)" if whole else ""


@contextmanager
def watching() -> Iterator[Watcher | None]:
    """Give what shows the progress of a build: a bar for each phase on a terminal, None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    # 40 ms, and only where somebody looks
    from linedex_server.cli.progress import bars  # noqa: PLC0415

    with bars() as watcher:
        yield watcher


def _built(settings: Settings, target: Index, watcher: Watcher | None) -> IndexStatus:
    """Bring an index up to date, by the daemon if that is what writes it.

    Raises:
        IndexBusy: yet another process is writing it.
    """
    try:
        return target.build(watcher)
    except IndexBusy:
        status = index_by_daemon(settings.state_dir, target.root, watcher)
        if status is None:
            raise
        return status


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex index .", "this folder"),
        ("linedex index ~/src/* /var/log/app", "several, an index for each"),
    ],
)
@click.argument("folders", nargs=-1, required=True, metavar="DIR...")
@click.option("-v", "--verbose", is_flag=True, help="List every file that was skipped, and why.")
def index(folders: tuple[str, ...], verbose: bool) -> int:
    """Index folders, so that searches in and below them take milliseconds.

    Ends with an account of every file. Run again it reads only what has changed; interrupted, it goes on where it was.
    Nothing is written in the folder itself: an index is one file in linedex's state folder, and may be deleted.
    """
    settings = Settings.load()
    screen = Screen.of_stdout()
    collect_seldom()
    with opened(settings) as places:
        for position, folder in enumerate(folders):
            target = places.root(folder)
            began = time.monotonic()
            with watching() as watcher:
                status = _built(settings, target, watcher)
            if position:
                screen.line("")
            for line in summary(status, time.monotonic() - began):
                screen.line(screen.text(line))
            if verbose:
                for path, reason in target.skipped():
                    screen.line(f"  skipped   {screen.path(path)}: {reason}")
            screen.flush()
    return 0
