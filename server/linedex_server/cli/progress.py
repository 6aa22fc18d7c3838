"""Progress bars on a terminal: of a build, one for each phase, and of a log that is read because no index knows it.

Imported only where there is a terminal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.progress_bar import ProgressBar
from rich.table import Table

from linedex.answers import IndexStatus, Phase, PhaseProgress
from linedex.query.progress import Progress as Reading
from linedex_server.render.words import size

_WORTH_SHOWING = 1.0
"""Seconds after which a wait is explained."""
_DESCRIPTIONS = {
    Phase.CATALOGUE: "listing files",
    Phase.TEXT: "indexing text",
    Phase.SIGNATURES: "indexing large files",
    Phase.SYMBOLS: "indexing symbols",
}


@contextmanager
def bars() -> Iterator[Callable[[IndexStatus], None]]:
    """Show a bar for each phase while the context lasts; the yielded function takes each new state of the build."""
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[Phase, TaskID] = {}

        def show(status: IndexStatus) -> None:
            for phase, description in _DESCRIPTIONS.items():
                state = status.progress.get(phase)
                if state is None:
                    continue
                if phase not in tasks:
                    tasks[phase] = progress.add_task(description, total=None, counts="")
                total = state.total_bytes or state.total_files or None
                done = state.done_bytes if state.total_bytes else state.done_files
                progress.update(tasks[phase], total=total, completed=done, counts=counts(phase, state))

        yield show


def counts(phase: Phase, state: PhaseProgress) -> str:
    """Return how far a phase is: `812/78,579 files, 41 MB/s`; listing reads no text, so it counts files a second."""
    of = f"/{state.total_files:,}" if state.total_files and phase is not Phase.CATALOGUE else ""
    text = f"{state.done_files:,}{of} files"
    if not state.seconds:
        return text
    if phase is Phase.CATALOGUE:
        return f"{text}, {state.done_files / state.seconds:,.0f}/s"
    return f"{text}, {size(int(state.rate))}/s"


class _Read(ProgressColumn):
    """A bar and the bytes that were read; looked at each time the terminal is drawn."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self._reading = reading

    def render(self, task: Task) -> Table:  # noqa: ARG002
        done, total = self._reading.read, self._reading.size
        row = Table.grid(padding=(0, 1))
        row.add_row(ProgressBar(total or None, done, width=24, pulse=not total), f"{size(done)}/{size(total)}")
        return row


@contextmanager
def reading_bar(reading: Reading, *, after: float = _WORTH_SHOWING, console: Console | None = None) -> Iterator[None]:
    """Show how far a log is read while the context lasts, from so many seconds on."""
    columns = (TextColumn("reading the log"), _Read(reading), TimeElapsedColumn())
    shown = Progress(*columns, console=console or Console(stderr=True), transient=True)
    shown.add_task("")
    timer = threading.Timer(after, shown.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        shown.stop()
