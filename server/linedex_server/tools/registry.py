"""Which tools there are, and in which groups they are offered."""

from __future__ import annotations

from linedex_server.config import TOOL_GROUPS
from linedex_server.tools import navigate, search
from linedex_server.tools.tool import Tool

ALL: dict[str, Tool] = {tool.name: tool for tool in (*search.TOOLS, *navigate.TOOLS)}

_READ = (
    "get_overview",
    "search_content",
    "search_directory",
    "read_content",
    "read_enclosing",
    "find_symbol",
    "find_files",
    "list_directory",
    "index_status",
)
_LARGEFILE = ("get_overview", "search_content", "read_content", "read_enclosing", "list_directory", "search_directory")
GROUPS: dict[str, tuple[str, ...]] = {"default": _READ, "read": _READ, "largefile": _LARGEFILE, "all": tuple(ALL)}
assert set(GROUPS) == set(TOOL_GROUPS)


def offered(group: str, *, read_only: bool = False) -> tuple[Tool, ...]:
    """Return the tools of a group, in the order a client lists them; with `read_only`, none that writes."""
    return tuple(ALL[name] for name in GROUPS[group] if not (read_only and ALL[name].writes))
