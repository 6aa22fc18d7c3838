"""`linedex status` and `linedex check`: how far an index is, and whether it is sound."""

from __future__ import annotations

import dataclasses
import json
import time

import click

from linedex_server.asking.control import DaemonStatus, daemon_status
from linedex_server.cli.door import opened
from linedex_server.cli.named import named
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import Screen, notify
from linedex_server.config import Settings
from linedex_server.render.status import status_lines
from linedex_server.render.words import counted, elapsed


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex status", "all indexed folders"),
        ("linedex status --json ~/src/project", "for a program"),
    ],
)
@click.argument("path", required=False, metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(path: str | None, as_json: bool) -> int:
    """Say what is indexed and how far: of every indexed folder, or of the one that answers for DIR."""
    settings = Settings.load()
    screen = Screen.of_stdout()
    daemon = daemon_status(settings.state_dir)
    # the daemon knows of its own indexes what is being done; the others are read from their sidecars
    known = {state.root: state for state in daemon.indexes} if daemon else {}
    with opened(settings) as places:
        indexes = [places.indexed(named(path)).index] if path is not None else list(places.all_indexed())
        states = [known.get(str(index.root)) or index.status() for index in indexes]
    if as_json:
        told = [dataclasses.asdict(state) for state in states]
        running = dataclasses.asdict(dataclasses.replace(daemon, indexes=())) if daemon else None
        whole = {"daemon": running, "indexes": told}
        screen.line(json.dumps(told[0] if path is not None else whole, indent=2, ensure_ascii=True))
        return 0
    for line in daemon_lines(daemon, time.time()):
        screen.line(screen.text(line))
    for state in states:
        for line in status_lines(state):
            screen.line(screen.text(line))
    if not states:
        screen.line("nothing is indexed yet; `linedex index DIR` does it")
    return 0


def daemon_lines(daemon: DaemonStatus | None, now: float) -> list[str]:
    """Return what a person is told of the daemon; `now` is in seconds since the epoch."""
    if daemon is None:
        return ["daemon: none runs; `linedex mcp` starts one"]
    up = elapsed(max(now - daemon.began, 0.0))
    lines = [
        f"daemon: process {daemon.pid}, version {daemon.version}, up {up}, {counted(len(daemon.clients), 'client')}"
    ]
    lines.extend(f"  process {pid} sees {', '.join(roots)}" for pid, roots in daemon.clients)
    return lines


@click.command(cls=TaughtCommand, examples=[("linedex check ~/src/project", "0 when it is sound, 1 when not")])
@click.argument("path", required=False, metavar="[DIR]")
def check(path: str | None) -> int:
    """Compare the index that answers for DIR (default: this folder) with every file it speaks of.

    A damaged index is noticed and read past; `linedex index DIR` makes it anew.
    """
    settings = Settings.load()
    screen = Screen.of_stdout()
    with opened(settings) as places:
        place = places.indexed(named(path))
        problems = place.index.check()
        root = place.index.root
    for problem in problems:
        screen.line(screen.text(problem))
    if problems:
        notify(f"linedex: {len(problems):,} found wrong; `linedex index {root}` makes the index anew")
        return 1
    screen.line(screen.text(f"the index of {root} is sound"))
    return 0
