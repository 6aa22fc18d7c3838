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
LAST_ANSWERS_SECONDS = 2.0
"""How long answers may still come after a client has said its last."""
HELLO_BYTES = 1 << 20
"""Longest hello: whoever connects may make the daemon hold so much."""

MCP, STATUS, INDEX, SEARCH, LOOKUP, STOP = "mcp", "status", "index", "search", "lookup", "stop"
"""What a session is for."""

Version = tuple[int, ...]


def version_of(text: str) -> Version:
    """Return a version as numbers that compare; what is no number in it counts as 0."""
    return tuple(int(part) if part.isascii() and part.isdigit() and len(part) < 10 else 0 for part in text.split("."))


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
        purpose: `MCP`, or a question to the daemon itself: `STATUS`, `INDEX`, `SEARCH`, `LOOKUP`, `STOP`.
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
    def here(cls, purpose: str, arguments: Mapping[str, Any], environ: Mapping[str, str]) -> Hello:
        """Return the hello of this process; folders among the allowed roots are made absolute.

        Args:
            purpose: what the session is for.
            arguments: settings of the command line; None counts as not given.
            environ: the variables that decide settings, as they mean the same in any process.
        """
        folder = os.getcwd()
        given = {name: value for name, value in arguments.items() if value is not None}
        roots = given.get("allowed_roots")
        if roots is not None:
            given["allowed_roots"] = [root if root == "*" else _absolute(folder, root) for root in roots]
        return cls(purpose, folder, given, dict(environ))

    def line(self) -> bytes:
        """Return this as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> Hello:
        """Return the hello that a line holds; whatever the line is, nothing in it surprises who uses it.

        Raises:
            ValueError: it holds none, or one with a part of another kind or a text that no system call takes.
        """
        try:
            told = json.loads(line)
            hello = cls(
                purpose=_text(told["purpose"]),
                folder=_text(told["folder"]),
                arguments={_text(name): _argument(value) for name, value in told["arguments"].items()},
                environ={_text(name): _text(text) for name, text in told["environ"].items()},
                launcher=Launcher(**{name: _text(text) for name, text in told["launcher"].items()}),
                secret=_text(told["secret"]),
                pid=int(told["pid"]),
            )
        # json takes `Infinity` for a number and has no bound of depth but the interpreter's
        except (KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(f"not a hello: {error}") from None
        if not os.path.isabs(hello.folder):
            raise ValueError("not a hello: its folder is relative")
        return hello


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


def _text(value: object) -> str:
    """Return a text that can be a path or a variable."""
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("not a hello: a text is needed, without NUL")
    os.fsencode(value)  # half of a surrogate pair, which no path has, is refused by a ValueError
    return value


def _argument(value: object) -> object:
    """Return the value of a setting: one text, number or truth value, or a list of texts."""
    if isinstance(value, list):
        return [_text(one) for one in value]
    return value if value is None or isinstance(value, (int, float)) else _text(value)


def _absolute(folder: str, path: str) -> str:
    expanded = os.path.expanduser(path)
    return os.path.normpath(os.path.join(folder, expanded)) if path else path
