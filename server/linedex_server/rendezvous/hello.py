"""The first lines of a session between a client and the daemon, before any protocol: a hello and its answer.

Each is one line of JSON. The hello carries all that decides the session, so that the daemon's own environment decides
nothing for it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from linedex_server import VERSION

LINE_BYTES = 64 << 20
"""Longest line of a session; a longer one is refused by the bridge and ends a session in the daemon."""

MCP, STATUS, INDEX, STOP = "mcp", "status", "index", "stop"
"""What a session is for."""

Version = tuple[int, ...]


def version_of(text: str) -> Version:
    """Return a version as numbers that compare; what is no number in it counts as 0."""
    return tuple(int(part) if part.isascii() and part.isdigit() else 0 for part in text.split("."))


@dataclass(frozen=True, slots=True)
class Launcher:
    """How to start a daemon of one version.

    Attributes:
        version: the version it starts.
        python: the interpreter.
        folder: the folder that holds the package.
    """

    version: str
    python: str
    folder: str

    @classmethod
    def own(cls) -> Launcher:
        """Return how to start a daemon of the version that is running here."""
        return cls(VERSION, sys.executable, str(Path(__file__).parents[2]))


@dataclass(frozen=True, slots=True)
class Hello:
    """What a client says first.

    Attributes:
        purpose: `MCP`, or a question to the daemon itself: `STATUS`, `INDEX`, `STOP`.
        folder: the client's working folder.
        arguments: settings of its command line, by name; folders are absolute.
        environ: those of its variables that decide settings.
        launcher: how to start the client's version.
        secret: what the address asks for.
        pid: the client's process, for people who read logs.
    """

    purpose: str
    folder: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    launcher: Launcher = field(default_factory=Launcher.own)
    secret: str = ""
    pid: int = field(default_factory=os.getpid)

    @classmethod
    def here(cls, purpose: str, arguments: Mapping[str, Any]) -> Hello:
        """Return the hello of this process; folders among the allowed roots are made absolute."""
        folder = os.getcwd()
        given = {name: value for name, value in arguments.items() if value is not None}
        roots = given.get("allowed_roots")
        if roots is not None:
            given["allowed_roots"] = [root if root == "*" else _absolute(folder, root) for root in roots]
        kept = {
            name: text for name, text in os.environ.items() if name.startswith("LINEDEX_") or name == "XDG_CONFIG_HOME"
        }
        return cls(purpose, folder, given, kept)

    def line(self) -> bytes:
        """Return this as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> Hello:
        """Return the hello that a line holds.

        Raises:
            ValueError: it holds none.
        """
        try:
            told = json.loads(line)
            launcher = Launcher(**{name: str(text) for name, text in told.pop("launcher").items()})
            return cls(
                purpose=str(told["purpose"]),
                folder=str(told["folder"]),
                arguments=dict(told["arguments"]),
                environ={name: str(text) for name, text in told["environ"].items()},
                launcher=launcher,
                secret=str(told["secret"]),
                pid=int(told["pid"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a hello: {error}") from None


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the daemon answers.

    Attributes:
        version: of the daemon.
        pid: of the daemon.
        retiring: whether it is about to end, so that another has to be started.
        error: why the session is refused, "" when it is not.
        hint: what to do about that.
        retry: tools whose calls may be sent again when their answer was lost.
        notices: sentences for a person who watches the client's standard error.
    """

    version: str = VERSION
    pid: int = field(default_factory=os.getpid)
    retiring: bool = False
    error: str = ""
    hint: str = ""
    retry: Sequence[str] = ()
    notices: Sequence[str] = ()

    def line(self) -> bytes:
        """Return this as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> Welcome:
        """Return the welcome that a line holds; what a later version adds is passed over.

        Raises:
            ValueError: it holds none.
        """
        try:
            told = dict(json.loads(line))
        except TypeError as error:
            raise ValueError(f"not a welcome: {error}") from None
        return cls(**{name: told[name] for name in cls.__slots__ if name in told})


def _absolute(folder: str, path: str) -> str:
    expanded = os.path.expanduser(path)
    return os.path.normpath(os.path.join(folder, expanded)) if path else path
