"""`linedex status` and `linedex check`: how far an index is, and whether it is sound."""

from __future__ import annotations

import dataclasses
import json

import click

from linedex_server.cli.door import opened
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import Screen, notify
from linedex_server.config import Settings
from linedex_server.render.status import status_lines


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex status", "all indexed folders"),
        ("linedex status --json ~/work/project", "for a program"),
    ],
)
@click.argument("path", required=False, metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(path: str | None, as_json: bool) -> int:
    """Say what is indexed and how far: of every indexed folder, or of the one that answers for DIR."""
    settings = Settings.load()
    screen = Screen.of_stdout()
    with opened(settings) as places:
        indexes = [places.indexed(path).index] if path is not None else list(places.all_indexed())
        states = [index.status() for index in indexes]
    if as_json:
        told = [dataclasses.asdict(state) for state in states]
        screen.line(json.dumps(told[0] if path is not None else {"indexes": told}, indent=2, ensure_ascii=True))
        return 0
    for state in states:
        for line in status_lines(state):
            screen.line(screen.text(line))
    if not states:
        screen.line("nothing is indexed yet; `linedex index DIR` does it")
    return 0


@click.command(cls=TaughtCommand, examples=[("linedex check ~/work/project", "0 when it is sound, 1 when not")])
@click.argument("path", required=False, metavar="[DIR]")
def check(path: str | None) -> int:
    """Compare the index that answers for DIR (default: this folder) with every file it speaks of.

    A damaged index is noticed and read past; `linedex index DIR` makes it anew.
    """
    settings = Settings.load()
    screen = Screen.of_stdout()
    with opened(settings) as places:
        place = places.indexed(path)
        problems = place.index.check()
        root = place.index.root
    for problem in problems:
        screen.line(screen.text(problem))
    if problems:
        notify(f"linedex: {len(problems):,} found wrong; `linedex index {root}` makes the index anew")
        return 1
    screen.line(screen.text(f"the index of {root} is sound"))
    return 0
