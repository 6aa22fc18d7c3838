"""Outlines and overviews: one symbol a line, `first-last kind name(parameters)`, members indented."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from linedex.answers import Overview
from linedex.model import Newline, Symbol
from linedex_server.render.logs import facts_lines
from linedex_server.render.words import Naming, bracketed, counted, size

_NEWLINES = {Newline.LF: "LF", Newline.CRLF: "CRLF", Newline.CR: "CR", Newline.MIXED: "LF and CRLF mixed"}

_QUOTES = ('"', "'", "`")


def outline_lines(
    symbols: Sequence[Symbol], *, start: int = 0, stop: int | None = None, changes: Mapping[int, str] | None = None
) -> list[str]:
    """Return a line for each of `symbols[start:stop]`.

    Args:
        symbols: all symbols of the file, parents before their members.
        start: index of the first symbol to show.
        stop: index after the last one; the end when None.
        changes: what a change did to a symbol, by its index: `added`, `modified`, `removed`.
    """
    depths: list[int] = []
    for symbol in symbols:
        depths.append(depths[symbol.parent] + 1 if symbol.parent >= 0 else 0)
    marks = changes or {}
    lines = []
    for index, symbol in enumerate(symbols[start:stop], start):
        mark = f"  [{marks[index]}]" if index in marks else ""
        lines.append(f"{'  ' * depths[index]}{span(symbol)} {headline(symbol)}{mark}")
    return lines


def span(symbol: Symbol) -> str:
    """Return the lines of a symbol as `41-88`, or `41`."""
    if symbol.start_line == symbol.end_line:
        return str(symbol.start_line)
    return f"{symbol.start_line}-{symbol.end_line}"


def headline(symbol: Symbol, name: str | None = None) -> str:
    """Return kind, name and what follows the name in the symbol's head, as `method add(self, item, count=1)`.

    Args:
        symbol: the symbol.
        name: what to call it instead of its own name (`Class.method`).
    """
    # not the first place that spells it: the `f` of `def f()` is not that of `def`
    found = re.search(rf"(?<!\w){re.escape(symbol.name)}(?!\w)", symbol.signature) if symbol.name else None
    rest = symbol.signature[found.end() :] if found else ""
    if found and rest[:1] in _QUOTES and symbol.signature[: found.start()].endswith(rest[:1]):
        rest = rest[1:]
    return f"{symbol.kind} {name or symbol.name}{rest.rstrip().rstrip('{:').rstrip()}"


def overview_page(
    overview: Overview,
    name: Naming,
    *,
    start: int = 0,
    stop: int | None = None,
    changes: Mapping[int, str] | None = None,
    cursor: str = "",
) -> str:
    """Return what a person wants to know of a file before reading it: its outline, then one line of facts.

    Args:
        overview: the facts.
        name: how the file is called.
        start: index of the first symbol to show.
        stop: index after the last one; the end when None.
        changes: what a change did to a symbol, by its index; None when no changes were named.
        cursor: passes on to the rest of the outline, "" when there is none.
    """
    symbols = overview.outline.symbols
    lines = outline_lines(symbols, start=start, stop=stop, changes=changes)
    log = [] if overview.log is None or start else facts_lines(overview.log)
    called = name(overview.path)
    if overview.format.binary:
        return bracketed((f"{called}: binary, {size(overview.size)}", f"hash {overview.hash}"))
    facts = [
        overview.outline.language,
        ("about " if "lines" in overview.approximate else "") + counted(overview.lines, "line"),
        size(overview.size),
        overview.format.encoding
        + (" with BOM" if overview.format.bom else "")
        + (" as far as samples tell" if "encoding" in overview.approximate else ""),
        _NEWLINES.get(overview.format.newline, ""),
        "" if overview.format.final_newline or not overview.size else "no final newline",
    ]
    parts = [f"{called}: {', '.join(fact for fact in facts if fact)}"]
    if overview.long_lines:
        some, most = ("at least " * (name in overview.approximate) for name in ("long_lines", "longest_line"))
        parts.append(
            f"{some}{counted(overview.long_lines, 'long line')},"
            f" the longest of {most}{counted(overview.longest_line, 'byte')}"
        )
    parts.append(f"hash {overview.hash}")
    shown = f"{len(lines):,} of " if len(lines) < len(symbols) else ""
    parts.append(f"{shown}{counted(len(symbols), 'symbol')}" if symbols else "no outline")
    if changes is not None:
        parts.append(f"{counted(len(changes), 'symbol')} changed")
    parts.append(overview.outline.note)
    parts.append(f"next cursor={cursor}" if cursor else "")
    return "".join(line + "\n" for line in [*log, *lines]) + bracketed(parts)
