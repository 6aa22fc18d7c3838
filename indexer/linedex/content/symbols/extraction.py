"""Symbols of one text, under a budget: what a caller gets for a file, and why it may be less than all.

Promise: `extract` never raises on any text. It gives symbols, or a note that says what is missing and why. It runs in
a worker process, since a query cannot be stopped and a grammar may crash: the parent's clock bounds what this cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

import tree_sitter as ts

from linedex.content.symbols.arrange import (
    arrange,
    as_stored,
    as_symbols,
    flat_as_stored,
    without_members,
)
from linedex.content.symbols.c_defines import only_defines
from linedex.content.symbols.c_macros import Masked, mask_c, mask_cpp, unmask_starts
from linedex.content.symbols.capture import (
    Found,
    ParseTimeout,
    QueryOverflow,
    first_error,
    parse,
    read_keys,
    read_symbols,
)
from linedex.content.symbols.grammars import BadQuery, LanguageSpec, has_outline, load_grammar, spec_of
from linedex.content.symbols.line_heads import HEADS, c_heads, line_heads
from linedex.content.symbols.line_scan import SCANS, define_rows, scan, scan_defines
from linedex.content.symbols.text_lines import TextLines
from linedex.errors import LinedexError
from linedex.limits import Limits
from linedex.model import SkipReason, StoredSymbol, Symbol

_MINIFIABLE = frozenset({"javascript", "typescript", "tsx", "css"})


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in one text.

    Attributes:
        symbols: in source order, parents before their members.
        note: a phrase on what is missing or how it was found, "" when all is as it should be.
        reason: set when symbols are missing for certain (none, or cut).
        recovered: symbols found by lines because the parser lost them.
    """

    symbols: tuple[Symbol, ...] = ()
    note: str = ""
    reason: SkipReason | None = None
    recovered: int = 0


@dataclass(frozen=True, slots=True)
class StoredExtraction:
    """What the index keeps of one text's symbols; `note` as in `Extraction`."""

    symbols: tuple[StoredSymbol, ...] = ()
    note: str = ""


def extract(text: bytes, language: str, limits: Limits, *, full: bool) -> Extraction:
    """Return the symbols of a text.

    Args:
        text: the file's text in UTF-8, without BOM; invalid bytes count as one code point each. Line ends are LF or
            CRLF (a file of lone CRs comes with LFs).
        language: our name for its language.
        limits: the budget.
        full: also fields, enum members and keys, and with the larger size limit of a file a person asks for; without,
            only what is stored.
    """
    if not has_outline(language):
        return Extraction(note="no outline for this language", reason=SkipReason.NO_LANGUAGE)
    spec = spec_of(language)
    if spec.data and not full:
        return Extraction()
    try:
        _check_size(text, language, limits, full=full)
        lines = TextLines(text)
        found, truncated = _find(text, lines, language, spec, limits, full=full)
    except _NotOutlined as refusal:
        return _scanned(text, language, refusal, limits.outline_symbols)
    notes, cut = _notes(lines, found, limits, truncated=truncated)
    placed = arrange(text, lines, spec, found, data_depth=limits.data_depth)
    symbols = as_symbols(text, lines, found, placed if full else without_members(placed))
    reason = SkipReason.TOO_MANY if truncated or cut else None
    return Extraction(tuple(symbols), notes, reason, found.recovered)


def extract_stored(text: bytes, language: str, limits: Limits) -> StoredExtraction:
    """Return of `extract` without `full` what is stored, three times as fast where there are many symbols."""
    if not has_outline(language) or spec_of(language).data:
        return StoredExtraction()
    spec = spec_of(language)
    lines = TextLines(text)
    try:
        _check_size(text, language, limits, full=False)
        found, truncated = _find(text, lines, language, spec, limits, full=False)
    except _NotOutlined as refusal:
        if language not in SCANS or language == "markdown":
            scanned = _scanned(text, language, refusal, limits.outline_symbols)
            return StoredExtraction(tuple(map(_kept_of, scanned.symbols)), scanned.note)
        found = scan_defines(text, limits.outline_symbols)
        note = _scan_note(language, refusal, len(found.rows), limits.outline_symbols)
        return StoredExtraction(tuple(flat_as_stored(text, lines, found)), note)
    note, _ = _notes(lines, found, limits, truncated=truncated)
    if found.flat:
        return StoredExtraction(tuple(flat_as_stored(text, lines, found)), note)
    placed = arrange(text, lines, spec, found, data_depth=limits.data_depth)
    return StoredExtraction(tuple(as_stored(text, lines, without_members(placed))), note)


def _notes(lines: TextLines, found: Found, limits: Limits, *, truncated: bool) -> tuple[str, bool]:
    """Cut the rows at their limit; return what is to be said of them, and whether they were cut."""
    total = len(found.rows)
    if total > limits.outline_symbols:
        found.rows = sorted(found.rows, key=lambda row: row.start)[: limits.outline_symbols]
    notes = []
    if found.recovered:
        notes.append(f"{found.recovered} recovered by lines")
    elif found.error >= 0:
        notes.append(f"parse error in line {lines.line_of(found.error):,}: symbols near it may be missing")
    if total > limits.outline_symbols:
        notes.append(f"cut at {limits.outline_symbols:,} of {total:,} symbols")
    if truncated:
        notes.append(f"only the first {limits.data_keys:,} keys")
    return "; ".join(notes), total > limits.outline_symbols


class _NotOutlined(Exception):
    """The text is not parsed, or its parse was given up."""

    def __init__(self, note: str, reason: SkipReason) -> None:
        super().__init__(note)
        self.reason = reason


def _find(
    text: bytes, lines: TextLines, language: str, spec: LanguageSpec, limits: Limits, *, full: bool
) -> tuple[Found, bool]:
    """Return what the query and the line fallbacks find, and whether keys were left out."""
    if spec.masks == "c" and (macros := only_defines(text)) is not None:
        return macros, False
    masked = mask_c(text) if spec.masks == "c" else mask_cpp(text) if spec.masks == "cpp" else Masked(text)
    try:
        grammar = load_grammar(language, full=full)
    except (LinedexError, BadQuery, ts.QueryError) as error:  # an added language, damaged since
        raise _NotOutlined(f"not outlined: {error}", SkipReason.NO_LANGUAGE) from error
    try:
        root = parse(masked.text, grammar, limits.parse_seconds)
        # C's macros are errors to the grammar in most files, and its heads are looked for by lines
        stumbled = first_error(root) if full and root.has_error and not spec.masks else -1
        if spec.data:
            found, truncated = read_keys(text, root, grammar, limits.data_keys)
            found.error = stumbled
            return found, truncated
        found = read_symbols(text, root, grammar, masked.names)
        found.error = stumbled
    except ParseTimeout as error:
        note = f"not outlined: parsing took over {limits.parse_seconds:g} s"
        raise _NotOutlined(note, SkipReason.OVER_BUDGET) from error
    except QueryOverflow as error:
        raise _NotOutlined("not outlined: too deeply nested", SkipReason.OVER_BUDGET) from error
    if spec.masks:
        unmask_starts(text, masked.text, lines.starts, found.rows)
        found.rows += define_rows(text, lines, found)
    if root.has_error and spec.masks == "c":
        found.recover(c_heads(text, lines, found))
    elif root.has_error and language in HEADS:
        found.recover(line_heads(text, language, found))
    return found, False


def _check_size(text: bytes, language: str, limits: Limits, *, full: bool) -> None:
    limit = limits.parse_header_bytes if full or language in ("c", "cpp") else limits.parse_bytes
    if len(text) > limit:
        note = f"not outlined: {_size(len(text))}, over the limit of {_size(limit)}"
        raise _NotOutlined(note, SkipReason.TOO_LARGE)
    if language in _MINIFIABLE and len(text) > limits.minified_average:
        average = len(text) // (text.count(b"\n") or 1)
        if average > limits.minified_average or _has_long_line(text, limits.minified_line):
            raise _NotOutlined("not outlined: minified", SkipReason.MINIFIED)


def _scanned(text: bytes, language: str, refusal: _NotOutlined, most: int) -> Extraction:
    """Return what the line scanners find in a text that is not parsed."""
    if language not in SCANS:
        return Extraction(note=str(refusal), reason=refusal.reason)
    symbols = scan(text, language, most)
    return Extraction(symbols, _scan_note(language, refusal, len(symbols), most), refusal.reason, len(symbols))


def _scan_note(language: str, refusal: _NotOutlined, count: int, most: int) -> str:
    what = "#define lines" if language in ("c", "cpp") else "headings"
    return f"{refusal}; only {f'the first {most:,}' if count == most else 'its'} {what} are listed"


def _kept_of(symbol: Symbol) -> StoredSymbol:
    return StoredSymbol(
        *(symbol.name, symbol.kind, symbol.container, symbol.parent),
        *(symbol.start_line, symbol.end_line, symbol.line, symbol.column),
    )


def _has_long_line(text: bytes, limit: int) -> bool:
    """Return whether a line is longer than `limit` bytes, looking at one line end in `limit` bytes."""
    start = 0
    while len(text) - start > limit:
        end = text.rfind(b"\n", start, start + limit + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"
