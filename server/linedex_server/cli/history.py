"""`linedex history` and `linedex revert`: what was written through linedex, and taking it back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linedex.errors import BadArgument
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import Screen, notify
from linedex_server.config import LIFTED, Settings

if TYPE_CHECKING:
    from linedex_server.workspace import Workspace


@contextmanager
def _everywhere() -> Iterator[Workspace]:
    """Every file that the person may write; the allowed roots of the settings confine MCP clients, not people."""
    # 300 ms that `--help` need not wait for
    from linedex_server.workspace import Workspace  # noqa: PLC0415

    with Workspace(replace(Settings.load(), allowed_roots=(LIFTED,)), base=Path.cwd()) as opened:
        yield opened


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex history", "the newest steps of all files"),
        ("linedex history src/cart.py", "of one file"),
        ("linedex history --json -m 100", "for a program"),
    ],
)
@click.argument("path", required=False)
@click.option("-m", "--max-count", "most", type=click.IntRange(1, 1_000), default=20, metavar="N", help="At most N.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def history(path: str | None, most: int, as_json: bool) -> int:
    """List what was written through linedex: undo id, time, tool, file, lines added and removed."""
    screen = Screen.of_stdout()
    with _everywhere() as workspace:
        from linedex_server.edit.editor import Editor  # noqa: PLC0415
        from linedex_server.render.history import history_fields, history_page  # noqa: PLC0415

        place = None if path is None else workspace.place(path, must_exist=False)
        steps = Editor(workspace).engine.history.steps(None if place is None else place.absolute, most)
        if as_json:
            told = history_fields(steps, workspace.called, cursor="")["steps"]
            screen.line(json.dumps(told, indent=2, ensure_ascii=True))
            return 0
        for line in history_page(steps, workspace.called, where=path or "").splitlines():
            screen.line(screen.text(line))
    return 0 if steps else 1


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex revert src/cart.py", "take its last write back; again, the one before"),
        ("linedex revert src/cart.py --id 5c2", "make it what it was before that step"),
        ("linedex revert --id 5c2", "the same, for the files of that step"),
    ],
)
@click.argument("file", required=False)
@click.option("--id", "identifier", metavar="ID", help="An undo id, as `linedex history` lists them.")
def revert(file: str | None, identifier: str | None) -> int:
    """Take back a write of FILE that was made through linedex; what others changed since is kept, or it is refused."""
    if file is None and identifier is None:
        raise BadArgument("Neither a file nor a step was named.", "Name a file, or a step with --id.")
    with _everywhere() as workspace:
        from linedex.files.names import display  # noqa: PLC0415
        from linedex.query.progress import Progress  # noqa: PLC0415
        from linedex_server.edit.editor import Editor  # noqa: PLC0415
        from linedex_server.render.history import reverted_sentence  # noqa: PLC0415
        from linedex_server.tools.history import reverted  # noqa: PLC0415

        editor = Editor(workspace)
        if file is None:
            assert identifier is not None
            file = display(editor.engine.history.step(identifier).files[0].path)
        done, _ = reverted(editor, editor.place(file, must_exist=False), identifier, Progress())
        for one in done:
            notify(reverted_sentence(one))
    return 0
