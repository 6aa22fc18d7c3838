"""One search, as each program that searches is asked for it at a terminal, and what it tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from beside.programs import Program
from beside.server import LINEDEX

SEARCHERS = ("ripgrep", "codesearch", "ugrep", "GNU grep")
"""Peers that search folders and files."""
_COUNT = re.compile(rb"(\d+)\r?\n?$")


def ours(pattern: str, options: Mapping[str, object], where: Path) -> list[str | Path]:
    """Return our command for a search below a folder, or of a file."""
    return [*LINEDEX, "search", "--color=never", *_flags(options), "-e", pattern, where]


def theirs(program: Program, pattern: str, options: Mapping[str, object], where: Path) -> list[str | Path]:
    """Return the command of a peer for a search below a folder, or of a file; codesearch knows only its index."""
    if program.kind == "codesearch":
        expression = pattern if options.get("regex") else re.escape(pattern).replace(r"\ ", " ")
        expression = rf"\b{expression}\b" if options.get("word") else expression
        return [program.path, *(flag for flag in _flags(options) if flag in {"-n", "-c", "-i"}), expression]
    flags = _flags(options)
    if program.kind == "ripgrep":
        # as text, since the others are told where they find binary files, and without a user's own settings
        flags += ["-a", "--crlf", "--no-config"]
    elif where.is_dir():
        flags += ["-r", "-I"]
    if program.kind == "GNU grep" and options.get("regex"):
        flags.append("-E")
    return [program.path, *flags, "-e", pattern, where]


def _flags(options: Mapping[str, object]) -> list[str]:
    flags = ["-c"] if options.get("output_mode") == "count" else ["-n"]
    flags += [] if options.get("regex") else ["-F"]
    flags += ["-i"] if options.get("case_sensitive") is False else []
    return [*flags, "-w"] if options.get("word") else flags


def lines_told(out: Path, options: Mapping[str, object]) -> int:
    """Return how many matching lines an output tells, as lines or as a count of each file."""
    with out.open("rb") as lines:
        if options.get("output_mode") != "count":
            return sum(1 for _ in lines)
        return sum(int(found[1]) for line in lines if (found := _COUNT.search(line)))
