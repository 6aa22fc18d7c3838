"""The symbol around a line: whole functions and classes for a reader, breadcrumbs for a list of hits.

Promise: symbols that are stored are used only when they are of the bytes just opened; a shifted answer would lie. Else
the one file is parsed now under the usual budget, and where that gives nothing the block is found by indentation, and
said so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import apsw

from linedex.answers import ReadAnswer
from linedex.content.symbols.kinds import UNSTORED
from linedex.content.symbols.signature import one_line
from linedex.model import FileId, FileState, LineNumber, SkipReason, Symbol, SymbolKind
from linedex.query.indentation import block_around
from linedex.query.outline import Parse
from linedex.query.read import demand_positive, shown_lines, stretch
from linedex.query.source import Source
from linedex.store import symbols as stored_symbols

_DATA: Final = UNSTORED | {SymbolKind.VARIABLE, SymbolKind.CONSTANT, SymbolKind.PROPERTY}
"""Kinds that enclose a line only when they go over several."""
_REACH: Final = 2_000
"""Lines looked at in either direction when a block is found by indentation."""
_INDENT_CHARACTERS: Final = 200
_SWEEP: Final = 20
"""From so many hits in a file on, its symbols are read once instead of a chain a hit (17 us)."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a line: the enclosing symbols, outermost first, the nearest others, and what is missing."""

    chain: Sequence[Symbol] = ()
    before: Symbol | None = None
    after: Symbol | None = None
    missing: str = ""


def enclosing(source: Source, parse: Parse, line: int, *, depth: int = 1, context_lines: int = 40) -> ReadAnswer:
    """Return the lines of the symbol around a line, or a window of lines where there is none.

    Args:
        source: the file.
        parse: finds the symbols of a text; asked when the index does not know these bytes.
        line: a line of the file, 1-based.
        depth: 1 is the innermost function or class, n the n-th outward; beyond them the outermost, and said so.
        context_lines: lines of the window.

    Raises:
        BadArgument: `line`, `depth` or `context_lines` is under 1.
        LineOutOfRange: `line` is past the last line.
        BinaryFile: the file holds no text.
        ChangedWhileRead: it was rewritten each time it was read.
    """
    demand_positive("line", line)
    demand_positive("depth", depth)
    demand_positive("context_lines", context_lines)

    def answer() -> ReadAnswer:
        source.demand_text()
        source.lines.index.locate(LineNumber(line))
        around = _stored(source, line) or _parsed(source, parse, line)
        if around.chain:
            return _symbol_lines(source, around.chain, line, depth)
        if around.missing and source.language:
            block = _block_lines(source, line, depth, around.missing)
            if block is not None:
                return block
        first = max(1, line - (context_lines - 1) // 2)
        return stretch(source, first, context_lines, note=_outside(line, around))

    return source.steadily(answer)


def _symbol_lines(source: Source, chain: Sequence[Symbol], line: int, depth: int) -> ReadAnswer:
    level = min(depth, len(chain))
    symbol = chain[-level]
    if not symbol.signature:
        name_line = next(shown_lines(source, symbol.line, symbol.line))
        symbol = replace(symbol, signature=one_line(name_line.text))
    notes = [f"depth {depth} is beyond the outermost symbol, which is given (depth {level})"] if level < depth else []
    count = symbol.end_line - symbol.start_line + 1
    shown = stretch(source, symbol.start_line, count, symbol=symbol)
    if shown.next_line is not None and line >= shown.next_line:
        notes.append(f"line {line:,} comes after this page")
    return replace(shown, note="; ".join(notes))


def _block_lines(source: Source, line: int, depth: int, missing: str) -> ReadAnswer | None:
    low = max(1, line - _REACH)
    high = min(source.lines.total, line + _REACH)
    lines = [shown.text for shown in shown_lines(source, low, high, most=_INDENT_CHARACTERS)]
    block = block_around(lines, line - low, depth)
    if block is None:
        return None
    first, last = block
    return stretch(source, low + first, last - first + 1, note=f"block found by indentation ({missing})")


def _outside(line: int, around: _Around) -> str:
    near = [
        f"{side}: {symbol.kind} {symbol.path} ({_lines(symbol)})"
        for side, symbol in (("before it", around.before), ("after it", around.after))
        if symbol is not None
    ]
    says = f"line {line:,} is in no function or class" if not around.missing else around.missing
    return "; ".join([says, *near])


def _lines(symbol: Symbol) -> str:
    first, last = symbol.start_line, symbol.end_line
    return f"line {first:,}" if first == last else f"lines {first:,}-{last:,}"


def _encloses(symbol: Symbol) -> bool:
    return symbol.kind not in _DATA or (symbol.kind not in UNSTORED and symbol.end_line > symbol.start_line)


def _stored(source: Source, line: int) -> _Around | None:
    """Return what the index knows, None when it does not know the symbols of these bytes."""
    if source.symbol_state is not FileState.INDEXED:
        return None

    def ask(db: apsw.Connection, file: FileId) -> _Around | None:
        at = LineNumber(line)
        chain = [symbol for symbol in stored_symbols.enclosing(db, file, at) if _encloses(symbol)]
        if chain:
            return _Around(chain)
        before, after = stored_symbols.neighbours(db, file, at)
        if before is not None:
            # what starts last before the line may be a member of what ends last before it
            outward = stored_symbols.enclosing(db, file, before.start_line)
            before = next((symbol for symbol in outward if symbol.end_line < line), before)
        # a file without any symbol may be one whose symbols this connection does not see yet
        return _Around((), before, after) if before or after else None

    return source.stored(ask)


def _parsed(source: Source, parse: Parse, line: int) -> _Around:
    if not source.language:
        return _Around(missing=f"line {line:,} shown in its surroundings: the file has no known language")
    if not source.fits:
        return _Around(missing=f"{source.size >> 20:,} MiB are too much to parse")
    found = parse(source.text(), source.language, False)  # noqa: FBT003 - the protocol of `Parse` is positional
    chain = [symbol for symbol in found.symbols if symbol.start_line <= line <= symbol.end_line and _encloses(symbol)]
    before = max(
        (symbol for symbol in found.symbols if symbol.end_line < line), key=lambda one: one.end_line, default=None
    )
    after = next((symbol for symbol in found.symbols if symbol.start_line > line), None)
    missing = ""
    if found.reason is SkipReason.NO_LANGUAGE:
        missing = f"there is no parser for {source.language}"
    elif found.reason is not None:
        missing = found.note or str(found.reason)
    return _Around(chain, before, after, missing)


def breadcrumb(db: apsw.Connection, file: FileId, line: int) -> str:
    """Return the path of the innermost symbol around a line as `Class.method`, "" when there is none.

    True only of the bytes the stored symbols are of: the caller compares fingerprints.
    """
    chain = [symbol for symbol in stored_symbols.enclosing(db, file, LineNumber(line)) if _encloses(symbol)]
    return chain[-1].path if chain else ""


def breadcrumbs(db: apsw.Connection, file: FileId, lines: Iterable[int]) -> dict[int, str]:
    """Return the breadcrumb of each line, as `breadcrumb` would; many lines cost one read of the file's symbols."""
    wanted = sorted(set(lines))
    if len(wanted) <= _SWEEP:
        return {line: breadcrumb(db, file, line) for line in wanted}
    crumbs: dict[int, str] = {}
    around: list[Symbol] = []
    waiting = [symbol for symbol in reversed(stored_symbols.of_file(db, file)) if _encloses(symbol)]
    for line in wanted:
        while waiting and waiting[-1].start_line <= line:
            symbol = waiting.pop()
            # source order: what ended before this one starts encloses nothing that follows
            while around and around[-1].end_line < symbol.start_line:
                around.pop()
            around.append(symbol)
        while around and around[-1].end_line < line:
            around.pop()
        crumbs[line] = around[-1].path if around else ""
    return crumbs
