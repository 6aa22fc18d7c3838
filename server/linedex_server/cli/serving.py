"""`linedex mcp`, `serve` and `stop`: the bridge that an MCP client is configured with, and the daemon behind it."""

from __future__ import annotations

import gc

import click

from linedex.later import load_all
from linedex_server.cli.teaching import TaughtCommand
from linedex_server.cli.terminal import notify
from linedex_server.config import OUTPUTS, TOOL_GROUPS, Settings


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex mcp --root ~/src/project", "one folder"),
        ("linedex mcp --root ~/src --root /var/log/app", "two"),
        ("linedex mcp --root . --output json", "answers for a program, not a model"),
    ],
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    help="A folder that may be read and, unless --read-only, written; may be given again.",
)
@click.option("--output", type=click.Choice(OUTPUTS), help="Answers for models (text, default) or programs (json).")
@click.option("--tools", type=click.Choice(TOOL_GROUPS), help="Which tools to offer.")
@click.option("--read-only", is_flag=True, help="Offer no tool that writes.")
@click.option("--no-daemon", is_flag=True, help="Do everything in this process.")
def mcp(roots: tuple[str, ...], output: str | None, tools: str | None, read_only: bool, no_daemon: bool) -> int:
    """Answer one MCP client on stdin and stdout, until it closes them.

    The folders are those of --root, else of LINEDEX_ALLOWED_ROOTS, else the working folder. They are indexed in the
    background; questions are answered at once, from the files where the index is not there yet. One daemon, started by
    the first client, keeps the indexes for all; it ends when nobody needs it.
    """
    given = {"allowed_roots": roots or None, "output": output, "tools": tools, "read_only": read_only or None}
    settings = Settings.load(given)
    # Here, since each of the two has no need of the other: the protocol package takes 0.6 s to import.
    if no_daemon:
        from linedex_server.mcp_server import serve_stdio  # noqa: PLC0415

        load_all()
        serve_stdio(settings)
    else:
        from linedex_server.bridge import serve as bridge  # noqa: PLC0415

        bridge(settings.state_dir, given)
    return 0


@click.command(
    cls=TaughtCommand,
    examples=[
        ("linedex serve --root ~/src/project", "and keep this folder indexed, client or not"),
        ("linedex serve --root ~/src --http 8765", "MCP over HTTP too, at http://127.0.0.1:8765/mcp"),
    ],
)
@click.option("--root", "roots", multiple=True, metavar="DIR", help="A folder to keep indexed; may be given again.")
@click.option("--until-idle", is_flag=True, help="End when no client needed it for LINEDEX_IDLE_SECONDS.")
@click.option("--http", metavar="HOST:PORT", help="Answer MCP over HTTP too, at /mcp, to who has the token.")
@click.option("--http-allow-remote", is_flag=True, help="Let other machines reach that port; it is not encrypted.")
def serve(roots: tuple[str, ...], until_idle: bool, http: str | None, http_allow_remote: bool) -> int:
    """Be the daemon of all linedex clients, in the foreground, until Ctrl-C or `linedex stop`.

    There is no need to: `linedex mcp` starts one. There is one daemon for a state folder; where one runs already, this
    command says so and ends. HTTP clients see the folders of --root, else of LINEDEX_ALLOWED_ROOTS, else the working
    folder; their bearer token lies in the state folder, http/token.
    """
    if http is not None and until_idle:
        raise click.UsageError("--http serves until it is stopped; leave out --until-idle.")
    settings = Settings.load({"allowed_roots": roots or None, "http_allow_remote": http_allow_remote or None})
    from linedex_server.rendezvous.election import elect  # noqa: PLC0415

    seat = elect(settings.state_dir)
    if seat is None:
        notify(f"linedex: a daemon serves {settings.state_dir} already")
        if http is not None:
            notify("linedex: it does not answer HTTP for this command; `linedex stop` ends it")
        return 0 if http is None else 2
    # Only the one that was elected waits for the protocol package, a tenth less without the collector, which finds
    # nothing in it then or later.
    gc.disable()
    from linedex_server.daemon.lifecycle import run  # noqa: PLC0415

    load_all()
    gc.enable()
    gc.freeze()

    run(seat, settings, until_idle=until_idle, http=http)
    return 0


@click.command(cls=TaughtCommand, examples=[("linedex stop", "and any client that still needs it starts another")])
def stop() -> int:
    """End the daemon, if one runs.

    Indexes that are half built go on where they were when the next one starts.
    """
    settings = Settings.load()
    from linedex_server.asking.control import stop_daemon  # noqa: PLC0415

    pid = stop_daemon(settings.state_dir)
    notify("linedex: no daemon runs" if pid is None else f"linedex: the daemon (process {pid}) has ended")
    return 0
