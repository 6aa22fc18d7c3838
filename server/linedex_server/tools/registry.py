"""Which tools there are, and in which groups they are offered."""

from __future__ import annotations

from linedex_server.config import TOOL_GROUPS
from linedex_server.tools import edit, history, logs, navigate, search, session, write
from linedex_server.tools.tool import Tool

ALL: dict[str, Tool] = {
    tool.name: tool
    for tool in (*search.TOOLS, *navigate.TOOLS, *logs.TOOLS, *edit.TOOLS, *history.TOOLS, *write.TOOLS, *session.TOOLS)
}

_READ = (
    "get_overview",
    "search_content",
    "search_directory",
    "read_content",
    "read_enclosing",
    "find_symbol",
    "find_files",
    "list_directory",
    "log_timeline",
    "index_status",
)
_DEFAULT = (
    *_READ,
    "edit_content",
    "revert_edit",
    "edit_history",
    "write_full_text",
    "apply_text_edits",
    "replace_literal",
)
_LARGEFILE = (
    "get_overview",
    "search_content",
    "read_content",
    "read_enclosing",
    "edit_content",
    "revert_edit",
    "list_directory",
    "search_directory",
)
_FILE_MCP = (
    "write_full_text",
    "apply_text_edits",
    "apply_text_spans",
    "replace_literal",
    "replace_regex",
    "replace_block",
    "begin_write_session",
    "append_write_chunk",
    "commit_write_session",
    "abort_write_session",
)
GROUPS: dict[str, tuple[str, ...]] = {
    "default": _DEFAULT,
    "read": _READ,
    "largefile": _LARGEFILE,
    "file-mcp": _FILE_MCP,
    "all": tuple(ALL),
}
assert set(GROUPS) == set(TOOL_GROUPS)


def offered(group: str, *, read_only: bool = False) -> tuple[Tool, ...]:
    """Return the tools of a group, in the order a client lists them; with `read_only`, none that writes."""
    return tuple(ALL[name] for name in GROUPS[group] if not (read_only and ALL[name].writes))
