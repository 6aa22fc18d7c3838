"""The group of commands, how each is loaded, and how its errors become words and an exit status."""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from typing import NamedTuple

import click

from linedex.errors import LinedexError
from linedex_server.cli.teaching import TaughtGroup
from linedex_server.cli.terminal import complain, notify

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Entry(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    name: str
    summary: str


_SECTIONS = {
    "Find and read": {
        "search": _Entry("search", "search", "Find a pattern in files and folders, like grep."),
        "read": _Entry("show", "read", "Print lines of a file, however large."),
        "outline": _Entry("show", "outline", "List the symbols of a file."),
        "symbols": _Entry("show", "symbols", "Find where a name is defined."),
        "files": _Entry("show", "files", "Find files by a part of their path."),
    },
    "Logs": {
        "log": _Entry("logs", "log", "Say what a log holds, over time."),
        "tail": _Entry("logs", "tail", "Print the last lines of a file, and follow it."),
    },
    "The index": {
        "index": _Entry("indexing", "index", "Index folders, so that searches take milliseconds."),
        "status": _Entry("state", "status", "Say what is indexed and how far."),
        "check": _Entry("state", "check", "Compare an index with every file it speaks of."),
        "languages": _Entry("languages", "languages", "List or add the languages whose symbols are known."),
    },
    "AI assistants": {
        "install": _Entry("install", "install", "Add linedex to the settings of an AI client."),
        "mcp": _Entry("serving", "mcp", "Answer an AI assistant over MCP on stdin and stdout."),
        "history": _Entry("history", "history", "List what was written through linedex."),
        "revert": _Entry("history", "revert", "Take a write of a file back."),
        "serve": _Entry("serving", "serve", "Be the daemon that keeps the indexes, in the foreground."),
        "stop": _Entry("serving", "stop", "End the daemon."),
    },
}
"""The commands, as their list is laid out."""
_COMMANDS = {name: entry for section in _SECTIONS.values() for name, entry in section.items()}


class _Commands(TaughtGroup):
    """A group that imports a command only when it is called for; the list of all needs none of them."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(f"linedex_server.cli.{entry.module}"), entry.name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, _COMMANDS))
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), entry.summary) for name, entry in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            # only for a mistake
            near = importlib.import_module("difflib").get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    # 20 ms, and only here.
    metadata = importlib.import_module("importlib.metadata")
    click.echo(f"linedex {metadata.version('linedex')}")
    context.exit()


@click.group(
    cls=_Commands,
    context_settings=_CONTEXT,
    examples=[
        (r"linedex search 'def \w+_bytes' src", "a regular expression, as with grep"),
        ("linedex index ~/src/project", "make searches of this folder fast"),
        ("linedex symbols Parser.parse", "where is it defined?"),
        ("linedex read app.log:1200000-1200040", "lines of a file of any size"),
        ("linedex mcp --root ~/src/project", "what an MCP client is configured with"),
    ],
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print the version."
)
def cli() -> None:
    """Find and read text in folders and huge files.

    Works at once on any folder; after `linedex index DIR` an answer on it reads only what may match, and is still
    checked against the files as they are now. `linedex COMMAND --help` has examples of each.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; KeyboardInterrupt and BrokenPipeError pass through."""
    try:
        # Not `cli.main`: it would answer Ctrl-C and a closed pipe in its own way.
        with cli.make_context("linedex", list(arguments)) as context:
            status = cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        # it quotes arguments, and those that a shell made of `*` are names of files
        said = io.StringIO()
        error.show(said)
        notify(*said.getvalue().removesuffix("\n").split("\n"))
        return error.exit_code
    except LinedexError as error:
        complain(error)
        return 2
    return status if isinstance(status, int) else 0
