"""linedex as an MCP server: a session's tools, resources and subscriptions behind the `mcp` package's low-level server.

Promise: a call is answered with one text block, refused calls too; no call holds up another or the handshake, since
each runs in a thread; a cancelled call stops waiting at once, and its thread soon after. Arguments reach the tools as
they were sent. Nothing but frames is written to standard output, and serving ends within two seconds of end of input,
SIGTERM or SIGINT.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplateReference,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextContent,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from mcp.types import Tool as ListedTool
from pydantic import ValidationError

from linedex.errors import LinedexError
from linedex_server import completion, resources
from linedex_server.calling import called
from linedex_server.config import Settings
from linedex_server.edit.editor import Editor
from linedex_server.render.words import encodable
from linedex_server.subscriptions import Subscriptions
from linedex_server.threads import Threads
from linedex_server.tools.parameters import input_schema
from linedex_server.tools.registry import offered
from linedex_server.tools.tool import Output, Session, Tool
from linedex_server.unreadable import refusal_of
from linedex_server.waiting import waited_for
from linedex_server.workspace import Workspace

GRACE_SECONDS = 1.5
"""What a stuck thread or a half-written sidecar may take at the end; then the process leaves."""
CALLS_AT_ONCE = 4

INSTRUCTIONS = """\
linedex searches and reads indexed folders: source trees, logs of many GB. Answers come from the bytes on \
disk now.
- Where a function, class or type is defined: find_symbol. A file by name: find_files.
- Text anywhere: search_directory (regex, word, include_pattern, language; output_mode files or count for many). Text \
in one file of any size: search_content.
- An unknown or large file: get_overview, then read_content (offset, limit; mode tail for the end of a log), or \
read_enclosing for the function around a hit.
- A folder: list_directory. A log over time: log_timeline. What is indexed: index_status.
The last line of an answer, in brackets, says how many hits, whether that is complete (then no hit means there is \
none), what was left out and why, the file's hash, and `next cursor=` or `next offset=`: repeat the call with it for \
more. Lines and columns count from 1. Searches ignore case unless case_sensitive, and leave out ignored and hidden \
files.
"""
WRITING = """\
To change files: edit_content (a preview unless preview=false), apply_text_edits (by lines), replace_literal, \
write_full_text; base_hash= takes the hash of your last read. revert_edit takes a write back.
"""
INSTRUCTIONS_CHARACTERS = 1_450
"""What a model is told at most; some clients cut or refuse more."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Serving:
    """What serves one client: its session, its tools, the threads of its calls, and what it wants to hear of."""

    session: Session
    tools: dict[str, Tool]
    threads: Threads
    subscriptions: Subscriptions


Context: TypeAlias = ServerRequestContext[Serving]


def build_server(session: Session, tools: Sequence[Tool], threads: Threads | None = None) -> Server[Serving]:
    """Return an MCP server, for both protocol eras, that answers with these tools.

    Args:
        session: what the tools work with.
        tools: in the order a client lists them.
        threads: where calls of all its clients run, closed with it; None for `CALLS_AT_ONCE` of its own.
    """

    @asynccontextmanager
    async def lifespan(_: Server[Serving]) -> AsyncIterator[Serving]:
        subscriptions = Subscriptions(session.workspace)
        with closing(threads or Threads(CALLS_AT_ONCE)) as running:
            async with anyio.create_task_group() as group:
                group.start_soon(subscriptions.watch)
                yield Serving(session, {tool.name: tool for tool in tools}, running, subscriptions)
                group.cancel_scope.cancel()

    server: Server[Serving] = Server(
        "linedex",
        version=version("linedex"),
        instructions=instructions(session.workspace, writing=any(tool.writes for tool in tools)),
        lifespan=lifespan,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_subscribe_resource=_subscribe,
        on_unsubscribe_resource=_unsubscribe,
        on_subscriptions_listen=_listen,
        on_completion=_complete,
    )
    # spans of OpenTelemetry, which nobody collects here, take 30 us a call
    server.middleware.clear()
    return server


def instructions(workspace: Workspace, *, writing: bool = True) -> str:
    """Return what a model is told of the server as a whole: when to use which tool, and where paths count from.

    Args:
        workspace: the folders.
        writing: whether tools that write are offered.
    """
    roots = ", ".join(str(root) for root in workspace.roots[:5]) + (", ..." if len(workspace.roots) > 5 else "")
    where = f"Folders: {roots or 'any'}. Relative paths count from {workspace.base}."
    said = INSTRUCTIONS + (WRITING if writing else "")
    room = INSTRUCTIONS_CHARACTERS - len(said)
    return encodable(said + (where if len(where) <= room else where[: room - 3] + "..."))


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
    anyio.run(_serve, server, workspace, session.editor)
    _leave(workspace)


def announce(workspace: Workspace) -> None:
    """Say on standard error what is served, and loudly when nothing is out of reach."""
    if workspace.unrestricted:
        sys.stderr.write(f"linedex: WARNING: {unrestricted_warning(workspace)}\n")
    for root in workspace.roots:
        sys.stderr.write(f"linedex: serving {encodable(str(root))}\n")
    sys.stderr.flush()


def unrestricted_warning(workspace: Workspace) -> str:
    """Return what a person is told when nothing is out of reach."""
    written = "" if workspace.settings.read_only else " and every one that they can write can be written"
    return f"allowed roots hold '*': EVERY file that this user can read can be read{written} through linedex"


async def _list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
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
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


async def _call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
    serving = context.lifespan_context
    tool = serving.tools.get(params.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"there is no tool {params.name!r}; tools: {', '.join(serving.tools)}")
    work = partial(called, tool, serving.session, params.arguments or {})
    # reports go nowhere unless the client sent a token; in-process clients send none and hear them all the same
    ended = await waited_for(context.session.report_progress, serving.threads, work)
    return CallToolResult(
        content=[TextContent(type="text", text=ended.text)], structured_content=ended.fields, is_error=ended.failed
    )


async def _list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    del params  # all roots fit one page
    return ListResourcesResult(resources=resources.roots(context.lifespan_context.session.workspace))


async def _list_templates(context: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    del context, params
    return ListResourceTemplatesResult(resource_templates=resources.templates())


async def _read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    serving = context.lifespan_context
    try:
        read = await serving.threads.run(lambda: resources.read(serving.session, params.uri))
    except LinedexError as error:
        raise resources.refusal(params.uri, error) from None
    return ReadResourceResult(contents=[read])


async def _subscribe(context: Context, params: SubscribeRequestParams) -> EmptyResult:
    return await context.lifespan_context.subscriptions.subscribe(context, params)


async def _unsubscribe(context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
    return await context.lifespan_context.subscriptions.unsubscribe(context, params)


async def _listen(context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
    return await context.lifespan_context.subscriptions.listen(context, params)


async def _complete(context: Context, params: CompleteRequestParams) -> CompleteResult:
    serving = context.lifespan_context
    if not isinstance(params.ref, ResourceTemplateReference) or params.argument.name != resources.VARIABLE:
        return CompleteResult(completion=Completion(values=[], has_more=False))
    found = await serving.threads.run(lambda: completion.paths(serving.session.workspace, params.argument.value))
    values = [encodable(value) for value in found.values]
    return CompleteResult(completion=Completion(values=values, has_more=found.more))


def _recover(editor: Editor) -> None:
    """See to what an earlier process left half written; a write that comes meanwhile waits for that."""
    try:
        editor.engine.recover()
    except LinedexError as error:
        log.warning("%s %s", error, error.hint)


async def _serve(server: Server[Serving], workspace: Workspace, editor: Editor) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_leave_on_signal, workspace)
        # opening and listing a large root must not hold up the handshake
        group.start_soon(anyio.to_thread.run_sync, workspace.start)
        group.start_soon(anyio.to_thread.run_sync, _recover, editor)
        async with stdio_server() as (read, write):
            readable, taken = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            group.start_soon(_refuse_unreadable, read, readable, write)
            await server.run(taken, write, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _refuse_unreadable(
    read: ObjectReceiveStream[SessionMessage | Exception],
    readable: ObjectSendStream[SessionMessage | Exception],
    write: ObjectSendStream[SessionMessage],
) -> None:
    """Hand on what is a message, and answer what is none."""
    async with read, readable:
        async for item in read:
            if not isinstance(item, ValidationError):
                await readable.send(item)
            elif (line := item.errors()[0]["input"]).strip():
                await write.send(SessionMessage(refusal_of(line)))


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
