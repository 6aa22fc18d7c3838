"""`linedex mcp`: what an MCP client is configured with."""

from __future__ import annotations

import click

from linedex_server.cli.teaching import TaughtCommand
from linedex_server.config import OUTPUTS, TOOL_GROUPS, Settings


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex mcp --root ~/work/project", "one folder"),
        ("linedex mcp --root ~/src --root /var/log/app", "two"),
        ("linedex mcp --root . --output json", "answers for a program, not a model"),
    ],
)
@click.option("--root", "roots", multiple=True, metavar="DIR", help="A folder that may be read; may be given again.")
@click.option("--output", type=click.Choice(OUTPUTS), help="Answers for models (text, default) or programs (json).")
@click.option("--tools", type=click.Choice(TOOL_GROUPS), help="Which tools to offer.")
@click.option("--read-only", is_flag=True, help="Offer no tool that writes.")
@click.option("--no-daemon", is_flag=True, help="Do everything in this process; so far it always does.")
def mcp(roots: tuple[str, ...], output: str | None, tools: str | None, read_only: bool, no_daemon: bool) -> int:
    """Answer one MCP client on stdin and stdout, until it closes them.

    The folders are those of --root, else of LINEDEX_ALLOWED_ROOTS, else the working folder. They are indexed in the
    background; questions are answered at once, from the files where the index is not there yet.
    """
    del no_daemon
    given = {"allowed_roots": roots or None, "output": output, "tools": tools, "read_only": read_only or None}
    settings = Settings.load(given)
    # The protocol package takes 0.6 s to import, which `linedex mcp --help` and a mistyped option need not wait for.
    from linedex_server.mcp_server import serve_stdio  # noqa: PLC0415

    serve_stdio(settings)
    return 0
