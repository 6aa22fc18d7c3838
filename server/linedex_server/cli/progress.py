"""Progress bars of a build on a terminal, one for each phase; imported only where there is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from linedex.answers import IndexStatus, Phase, PhaseProgress
from linedex_server.render.words import size

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
