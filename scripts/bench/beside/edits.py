"""Contests of one-line edits in the middle of a large log, each program on a copy of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

from beside import searches
from beside.contest import Bench, Contender, Measure, Outcome, peak_of, weighed
from beside.large import place
from beside.programs import Program
from beside.server import Asked, asked, linedex, others, stop

Edit = Callable[[str, str], float]
"""Replaces a text that stands in one place by another, and returns the seconds."""


class Edits:
    """The contests on copies of one log.

    Args:
        bench: how they are held.
        log: what is copied; it is left alone.
    """

    def __init__(self, bench: Bench, log: Path) -> None:
        self._bench, self._log = bench, log
        size = log.stat().st_size
        self._on = (
            f"copies of a log of {size / 1e9:.3g} GB" if size >= 1e9 else f"copies of a log of {size / 1e6:.3g} MB"
        )
        self._folder = bench.folder / f"edit-{size}"
        self._state = bench.folder / f"edit-{size}-state"
        _, self._id = place(log, 0.5)

    def measured(self) -> Iterator[Measure]:
        """Edit in turn, then weigh one edit more of each server."""
        try:
            with ExitStack() as stack:
                stack.callback(stop, self._state)
                servers = [linedex(self._copy("linedex").parent, self._state)]
                for server in others(self._bench, self._folder):
                    self._copy(server.kind)
                    servers.append(server)
                sessions = [stack.enter_context(asked(server, self._bench.patience)) for server in servers]
                sessions[0].settle()
                editors = {session.server.name: self._over_mcp(session) for session in sessions}
                commands = {
                    f"{program.name} -i": self._sed(program, self._copy(program.kind))
                    for program in self._bench.peers.of("GNU sed")
                }
                yield self._bench.contest("edit of one line in the middle", self._on, {**editors, **commands})
                weighing = {
                    session.server.name: partial(peak_of, session.server.mark, editors[session.server.name])
                    for session in sessions
                }
                yield weighed("memory, peak: such an edit", self._on, weighing)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _copy(self, who: str) -> Path:
        folder = self._folder / who
        folder.mkdir(parents=True)
        return Path(shutil.copyfile(self._log, folder / "app.log"))

    def _over_mcp(self, session: Asked) -> Contender:
        """Return the edit of a server; ours and largefile have one surface."""
        path = self._folder / session.server.kind / "app.log"

        def by_change(old: str, new: str) -> float:
            changes = [{"search": old, "replace": new, "fuzzy": False}]
            return session.timed("edit_content", absolute_file_path=str(path), changes=changes, preview=False).amount

        def by_edit(old: str, new: str) -> float:
            return session.timed("edit_file", path=str(path), edits=[{"oldText": old, "newText": new}]).amount

        return self._again_and_again(path, by_edit if session.server.kind == "filesystem server" else by_change)

    def _sed(self, program: Program, path: Path) -> Contender:
        return self._again_and_again(
            path, lambda old, new: self._bench.ran([program.path, "-i", f"s/{old}/{new}/", path])[0]
        )

    def _again_and_again(self, path: Path, edit: Edit) -> Contender:
        """Return an edit whose every call changes what the one before put there, and then looks for it."""
        numbers = count(1)
        now = self._id

        def once() -> Outcome:
            nonlocal now
            new = f"{self._id}-{next(numbers)}"
            took = edit(now, new)
            now = new
            _, found = self._bench.ran(["grep", "-F", f"{new} ", path])
            return Outcome(took, searches.lines_told(found, {}))

        return once
