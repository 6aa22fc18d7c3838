"""Where a command writes: results as bytes on stdout, sentences on stderr.

Promise: what a file holds or is called can never steer a terminal; on a pipe the same bytes pass through as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from linedex.errors import LinedexError
from linedex.files.names import display
from linedex_server.render.terminal import safe_for_terminal

PATH_COLOR = "\x1b[35m"
NUMBER_COLOR = "\x1b[32m"
MATCH_COLOR = "\x1b[1;31m"
_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Screen:
    """One command's stdout.

    Attributes:
        out: where bytes go.
        terminal: whether a person looks at it; then text is made safe.
        color: whether colours are written.
    """

    out: BinaryIO
    terminal: bool
    color: bool

    @classmethod
    def of_stdout(cls, color: str = "auto", environ: Mapping[str, str] = os.environ) -> Screen:
        """Return stdout as it is; `color` is `auto` (a terminal that did not opt out), `always` or `never`."""
        terminal = sys.stdout.isatty()
        wanted = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        return cls(sys.stdout.buffer, terminal, wanted if color == "auto" else color == "always")

    def text(self, text: str) -> str:
        """Return text of a file or a signature as it may be shown here, on one line."""
        return _one_line(text) if self.terminal else text

    def path(self, path: bytes) -> str:
        """Return a path as it may be shown here."""
        return display(path) if self.terminal else os.fsdecode(path)

    def painted(self, text: str, color: str) -> str:
        """Return `text` in a colour, where colours are written."""
        return f"{color}{text}{_RESET}" if self.color and text else text

    def write(self, text: str) -> None:
        """Write text; bytes that did not decode come out as the bytes they were."""
        self.out.write(text.encode("utf-8", "surrogateescape"))

    def line(self, text: str) -> None:
        """Write text and a line end."""
        self.write(text + "\n")

    def flush(self) -> None:
        """Let the reader see what was written so far."""
        self.out.flush()


def _one_line(text: str) -> str:
    return safe_for_terminal(text).replace("\n", "\u240a")


def notify(*lines: str) -> None:
    """Say something on stderr, a sentence a line."""
    if sys.stderr.isatty():
        lines = tuple(_one_line(line) for line in lines)
    sys.stderr.buffer.write("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))
    sys.stderr.buffer.flush()


def complain(error: LinedexError) -> None:
    """Say on stderr what failed and, on lines of its own, what to do next."""
    # hints name the tools of assistants; this one is a command of another name
    hint = error.hint.replace("edit_history", "`linedex history`")
    notify(*f"linedex: {error}".splitlines(), *(f"  {line}" for line in hint.splitlines()))
