"""linedex as an MCP server: the tools of a session behind the low-level server of the `mcp` package.

Promise: a call is answered with one text block, refused calls too; no call holds up another or the handshake, since
each runs in a thread of its own limiter; a cancelled call stops waiting at once. Arguments reach the tools as they were
sent. Nothing but frames is written to standard output, and serving ends within two seconds of end of input, SIGTERM or
SIGINT.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as ListedTool

from linedex.errors import LinedexError
from linedex_server.config import Settings
from linedex_server.render.words import encodable
from linedex_server.tools.parameters import input_schema
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Output, Reply, Session, Tool
from linedex_server.workspace import Workspace

GRACE_SECONDS = 1.5
"""What a stuck thread or a half-written sidecar may take at the end; then the process leaves."""
CALLS_AT_ONCE = 4

INSTRUCTIONS = """\
linedex searches and reads indexed folders: source trees, documents, logs of many GB. Answers come from the bytes on \
disk now; the index only makes them fast.
- A name of a function, class, type or macro: find_symbol. A file by name: find_files.
- Text anywhere: search_directory (regex, word, include_pattern, language; output_mode files or count when there may \
be many). Text in one file, also a huge log: search_content.
- An unknown or large file: get_overview first, then read_content (offset, limit; mode tail for the end of a log) or \
read_enclosing around a hit's line.
- What is in a folder: list_directory. What is indexed, what was skipped: index_status.
The last line of an answer stands in brackets: how many hits, whether the answer is complete (then no hit means that \
there is none), what was left out and why, the file's hash, and `next cursor=` or `next offset=`: repeat the same call \
with it for the next page. Lines and columns count from 1. Searches ignore case unless case_sensitive, and leave out \
ignored and hidden files unless asked.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Serving:
    """What serves one client: its session, its tools, and how many calls run at once."""

    session: Session
    tools: dict[str, Tool]
    limiter: anyio.CapacityLimiter


def build_server(session: Session, tools: Sequence[Tool]) -> Server[Serving]:
    """Return an MCP server, for both protocol eras, that answers with these tools."""

    @asynccontextmanager
    async def lifespan(_: Server[Serving]) -> AsyncIterator[Serving]:
        yield Serving(session, {tool.name: tool for tool in tools}, anyio.CapacityLimiter(CALLS_AT_ONCE))

    return Server(
        "linedex",
        version=version("linedex"),
        instructions=instructions(session.workspace),
        lifespan=lifespan,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


def instructions(workspace: Workspace) -> str:
    """Return what a model is told of the server as a whole: when to use which tool, and where paths count from."""
    roots = ", ".join(str(root) for root in workspace.roots[:5]) + (", ..." if len(workspace.roots) > 5 else "")
    where = f"Folders: {roots or 'any'}. Relative paths count from {workspace.base}."
    return encodable(INSTRUCTIONS + (where if len(where) < 400 else where[:400] + "..."))


def serve_stdio(settings: Settings) -> None:
    """Serve one MCP client over standard input and output until it ends, with indexing going on behind.

    Ends the process. Without an allowed root in the settings, the working folder is served.

    Raises:
        LinedexError: a root or the state folder cannot be used.
    """
    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper(), format="linedex: %(message)s")
    here = Path.cwd()
    workspace = Workspace(
        settings if settings.allowed_roots else replace(settings, allowed_roots=(str(here),)), base=here
    )
    announce(workspace)
    session = Session(workspace, Output(settings.output))
    server = build_server(session, offered(settings.tools, read_only=settings.read_only))
    anyio.run(_serve, server, workspace)
    _leave(workspace)


def announce(workspace: Workspace) -> None:
    """Say on standard error what is served, and loudly when nothing is out of reach."""
    if workspace.unrestricted:
        sys.stderr.write(
            "linedex: WARNING: allowed roots hold '*': EVERY file that this user can read can be read through linedex\n"
        )
    for root in workspace.roots:
        sys.stderr.write(f"linedex: serving {encodable(str(root))}\n")
    sys.stderr.flush()


async def _list_tools(context: ServerRequestContext[Serving], params: PaginatedRequestParams | None) -> ListToolsResult:
    del params  # all tools fit one page
    serving = context.lifespan_context
    return ListToolsResult(tools=[_listed(tool, serving.session.output) for tool in serving.tools.values()])


def _listed(tool: Tool, output: Output) -> ListedTool:
    return ListedTool(
        name=tool.name,
        description=tool.about,
        input_schema=input_schema(tool.parameters),
        output_schema=dict(tool.output_schema) if output is Output.JSON else None,
        annotations=ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=tool.writes,
            idempotent_hint=not tool.writes,
            open_world_hint=False,
        ),
    )


async def _call_tool(context: ServerRequestContext[Serving], params: CallToolRequestParams) -> CallToolResult:
    serving = context.lifespan_context
    tool = serving.tools.get(params.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"there is no tool {params.name!r}; tools: {', '.join(serving.tools)}")
    arguments = params.arguments or {}

    def run() -> Reply:
        return tool.call(serving.session, arguments)

    try:
        reply = await anyio.to_thread.run_sync(run, limiter=serving.limiter, abandon_on_cancel=True)
    except LinedexError as error:
        return _result(failure(tool.name, error), failed=True)
    return _result(reply.text, fields=reply.fields)


def failure(tool: str, error: LinedexError) -> str:
    """Return what a model reads of a refused call: what failed and why, then what to do."""
    reason = str(error).rstrip(".")
    return f"{tool} failed: {reason}.\n{error.hint}".rstrip()


def _result(text: str, *, fields: dict[str, object] | None = None, failed: bool = False) -> CallToolResult:
    # a lone surrogate cannot be written as UTF-8 and would end the connection
    return CallToolResult(
        content=[TextContent(type="text", text=encodable(text))], structured_content=fields, is_error=failed
    )


async def _serve(server: Server[Serving], workspace: Workspace) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_leave_on_signal, workspace)
        # opening and listing a large root must not hold up the handshake
        group.start_soon(anyio.to_thread.run_sync, workspace.start)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _leave_on_signal(workspace: Workspace) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        async for _ in received:
            # the reader thread blocks in read(0) and cannot be cancelled, so the loop cannot be unwound from here
            await anyio.to_thread.run_sync(_leave, workspace)


def _leave(workspace: Workspace) -> None:
    """Close the sidecars and end the process; a thread that does not end is left behind."""
    timer = threading.Timer(GRACE_SECONDS, os._exit, [0])
    timer.daemon = True
    timer.start()
    workspace.close()
    sys.stderr.flush()
    os._exit(0)
