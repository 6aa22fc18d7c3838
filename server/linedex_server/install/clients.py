"""The clients that can be told of linedex: where their settings are, and what an entry looks like there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linedex.errors import BadArgument
from linedex_server.install.jsonc import with_member
from linedex_server.install.toml_text import with_table

NAME = "linedex"
_WORKSPACE = "${workspaceFolder}"
"""What editors put the folder at hand for."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides where settings are: the home folder, the environment, and the platform as `sys.platform` says it."""

    home: Path
    environ: Mapping[str, str]
    platform: str

    @classmethod
    def here(cls) -> Machine:
        """Return this machine, for this user."""
        return cls(Path.home(), os.environ, sys.platform)

    def variable(self, name: str, default: Path) -> Path:
        """Return the folder that a variable names, else `default`."""
        return Path(self.environ[name]) if self.environ.get(name) else default

    def application(self, *parts: str) -> Path:
        """Return where a desktop application keeps its settings."""
        if self.platform == "darwin":
            return self.home.joinpath("Library", "Application Support", *parts)
        if self.platform == "win32":
            return self.variable("APPDATA", self.home / "AppData" / "Roaming").joinpath(*parts)
        return self.config(*parts)

    def config(self, *parts: str) -> Path:
        """Return a place in the folder where programs of the terminal keep settings."""
        return self.variable("XDG_CONFIG_HOME", self.home / ".config").joinpath(*parts)


@dataclass(frozen=True, slots=True)
class Client:
    """A program that starts MCP servers.

    Attributes:
        title: what people call it.
        place: where its settings are.
        path: names of the objects around its entries.
        extra: members of an entry besides command and arguments.
        default_roots: folders to serve when none is named; empty for the one the client starts linedex in, None when
            the client starts it in no folder of use.
        toml: whether the settings are TOML; else they are JSON, perhaps with comments.
        then: what a person does next.
    """

    title: str
    place: Callable[[Machine], Path]
    path: tuple[str, ...]
    then: str
    extra: Mapping[str, Any] | None = None
    default_roots: tuple[str, ...] | None = ()
    toml: bool = False

    def edited(self, text: str, command: Sequence[str], roots: Sequence[str]) -> str:
        """Return the settings with an entry for linedex, all else as it was.

        Args:
            text: the settings as they are.
            command: the program and what stands before its options.
            roots: folders to serve, absolute.

        Raises:
            BadArgument: the settings cannot be parsed, or no folder was named and the client needs one.
        """
        chosen = roots or self.default_roots
        if chosen is None:
            raise BadArgument(
                f"{self.title} starts its servers in no folder of use.", "Name the folders to serve with --root DIR."
            )
        arguments = [*command[1:], "mcp", *(word for root in chosen for word in ("--root", root))]
        entry = {**(self.extra or {}), "command": command[0], "args": arguments}
        edit = with_table if self.toml else with_member
        return edit(text, (*self.path, NAME), entry)


def _zed(machine: Machine) -> Path:
    if machine.platform == "darwin":
        return machine.home / ".config" / "zed" / "settings.json"
    return machine.application("Zed" if machine.platform == "win32" else "zed", "settings.json")


CLIENTS: dict[str, Client] = {
    "claude-code": Client(
        "Claude Code",
        lambda machine: machine.variable("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json",
        ("mcpServers",),
        "Start a new session, and see `/mcp` there.",
        {"type": "stdio"},
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        lambda machine: machine.application("Claude", "claude_desktop_config.json"),
        ("mcpServers",),
        "Quit and start Claude Desktop again.",
        default_roots=None,
    ),
    "cursor": Client(
        "Cursor",
        lambda machine: machine.home / ".cursor" / "mcp.json",
        ("mcpServers",),
        "See the MCP page of Cursor's settings.",
        default_roots=(_WORKSPACE,),
    ),
    "vscode": Client(
        "VS Code",
        lambda machine: machine.application("Code", "User", "mcp.json"),
        ("servers",),
        "Run `MCP: List Servers` in VS Code.",
        {"type": "stdio"},
        default_roots=(_WORKSPACE,),
    ),
    "codex": Client(
        "Codex",
        lambda machine: machine.variable("CODEX_HOME", machine.home / ".codex") / "config.toml",
        ("mcp_servers",),
        "Start a new session, and see `/mcp` there.",
        toml=True,
    ),
    "gemini": Client(
        "Gemini CLI",
        lambda machine: machine.home / ".gemini" / "settings.json",
        ("mcpServers",),
        "Start a new session, and see `/mcp` there.",
    ),
    "zed": Client(
        "Zed",
        _zed,
        ("context_servers",),
        "See the settings of Zed's agent panel.",
        default_roots=None,
    ),
}
