"""`linedex install`: tell a client of linedex, or let the system run the daemon."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from linedex.errors import NotAFolder
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import Screen, notify
from linedex_server.install.change import change
from linedex_server.install.clients import CLIENTS, Machine
from linedex_server.install.units import UNITS


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex install claude-code", "show what would change"),
        ("linedex install claude-code --write", "change it"),
        ("linedex install zed --root ~/src/project", "serve this folder only"),
        ("linedex install systemd --root ~/src --write", "keep the daemon running"),
    ],
)
@click.argument("client", metavar="CLIENT", type=click.Choice([*CLIENTS, *UNITS]))
@click.option("--root", "roots", multiple=True, metavar="DIR", help="A folder to serve; may be given again.")
@click.option("--write", is_flag=True, help="Write the change instead of only showing it.")
def install(client: str, roots: tuple[str, ...], write: bool) -> int:
    """Add linedex to the settings of CLIENT, which is one of claude-code, claude-desktop, cursor, vscode, codex, gemini
    and zed, or to the system's units with systemd and launchd.

    Prints the change as a diff; what else is in the file stays, comments too. Nothing is written without --write, and
    never into a file that cannot be parsed.
    """  # noqa: D205 - the list of clients is part of what the command does
    chosen = CLIENTS.get(client) or UNITS[client]
    folders = [folder(root) for root in roots]
    made = change(chosen.place(Machine.here()), lambda text: chosen.edited(text, program(), folders))
    screen = Screen.of_stdout()
    if not made:
        notify(f"linedex: {made.place} has it already")
        return 0
    for line in made.diff().rstrip("\n").split("\n"):
        screen.line(screen.text(line))
    screen.flush()
    if not write:
        notify(f"linedex: nothing was written; `linedex install {client} --write` does it")
        return 0
    made.write()
    notify(f"linedex: wrote {made.place}", f"  {chosen.then}")
    return 0


def folder(root: str) -> str:
    """Return a root as it is written into settings: absolute, for the client may start anywhere.

    Raises:
        NotAFolder: there is no such folder.
    """
    if root.startswith("${"):
        return root  # the client's own word for a folder
    place = Path(root).expanduser().absolute()
    if not place.is_dir():
        raise NotAFolder(f"`{root}` is no folder.", "Name one that is there.")
    return str(place)


def program() -> list[str]:
    """Return the command that starts this linedex from anywhere: clients often lack the path that a terminal has."""
    found = shutil.which("linedex", path=str(Path(sys.executable).parent))
    # -P: clients start it in the folder that is worked on, whose modules must not be imported
    return [found] if found else [sys.executable, "-P", "-m", "linedex_server"]
