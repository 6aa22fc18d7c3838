"""`linedex languages`: the languages whose symbols are found, and bringing in more of them."""

from __future__ import annotations

import click

from linedex.content.symbols import extra
from linedex.errors import LinedexError
from linedex_server.cli.teaching import TaughtCommand, TaughtGroup
from linedex_server.cli.terminal import Screen, complain, notify
from linedex_server.config import Settings
from linedex_server.rendezvous.private import make_private
from linedex_server.workspace import languages_folder


@click.group(
    cls=TaughtGroup,
    epilog="Text of every language is searched; this is about outlines and symbols.",
    examples=[
        ("linedex languages list", "what is there"),
        ("linedex languages add dart", "bring one in"),
    ],
)
def languages() -> None:
    """List or add the languages whose symbols are found."""


@languages.command(
    "list",
    cls=TaughtCommand,
    short_help="The languages whose symbols are found.",
    examples=[("linedex languages list", "each with what is found in it")],
)
def list_languages() -> int:
    """List the languages whose symbols are found, each with the kinds of symbols."""
    screen = Screen.of_stdout()
    for offer in extra.offers(languages_folder(Settings.load().state_dir)):
        screen.line(f"{offer.name:<12}{', '.join(offer.kinds)}" + (" (added)" if offer.added else ""))
    return 0


@languages.command(
    "add",
    cls=TaughtCommand,
    short_help="Bring in more of them.",
    examples=[
        ("linedex languages add dart", "fetches its parser"),
        ("linedex index .", "then finds its symbols"),
    ],
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def add(names: tuple[str, ...]) -> int:
    """Fetch the parsers of languages from tree-sitter-language-pack, and keep them in the state folder.

    This is the only command that reaches for the network. It needs the package tree-sitter-language-pack.
    """
    state_dir = Settings.load().state_dir
    make_private(state_dir)
    folder = languages_folder(state_dir)
    failed = False
    for name in names:
        try:
            offer = extra.add(name, folder)
        except LinedexError as error:
            complain(error)
            failed = True
        else:
            notify(f"linedex: added {offer.name}: {', '.join(offer.kinds)}; `linedex index` now finds its symbols")
    return 2 if failed else 0
