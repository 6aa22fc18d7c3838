"""Symbols of one text, under a budget: what a caller gets for a file, and why it may be less than all.

Promise: `extract` never raises on any text. It gives symbols, or a note that says what is missing and why. It runs in
a worker process, since a query cannot be stopped and a grammar may crash: the parent's clock bounds what this cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from linedex.content.symbols.arrange import arrange
from linedex.content.symbols.c_macros import Masked, mask_c, mask_cpp, unmask_starts
from linedex.content.symbols.capture import Found, ParseTimeout, QueryOverflow, parse, read_keys, read_symbols
from linedex.content.symbols.grammars import LanguageSpec, has_outline, load_grammar, spec_of
from linedex.content.symbols.kinds import UNSTORED
from linedex.content.symbols.line_heads import HEADS, c_heads, line_heads
from linedex.content.symbols.line_scan import SCANS, define_rows, scan
from linedex.content.symbols.text_lines import TextLines
from linedex.limits import Limits
from linedex.model import SkipReason, Symbol

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
    refusal = _too_large(text, language, limits, full=full) or _minified(text, language, limits)
    if refusal is not None:
        return refusal
    lines = TextLines(text)
    try:
        found, truncated = _find(text, lines, language, spec, limits, full=full)
    except ParseTimeout:
        return _scanned(
            text, language, f"not outlined: parsing took over {limits.parse_seconds:g} s", SkipReason.OVER_BUDGET
        )
    except QueryOverflow:
        return _scanned(text, language, "not outlined: too deeply nested", SkipReason.OVER_BUDGET)
    symbols = arrange(text, lines, spec, found, data_depth=limits.data_depth)
    if not full:
        symbols = _stored(symbols)
    return _report(symbols, found.recovered, limits, truncated=truncated)


def _find(
    text: bytes, lines: TextLines, language: str, spec: LanguageSpec, limits: Limits, *, full: bool
) -> tuple[Found, bool]:
    """Return what the query and the line fallbacks find, and whether keys were left out."""
    masked = mask_c(text) if spec.masks == "c" else mask_cpp(text) if spec.masks == "cpp" else Masked(text)
    grammar = load_grammar(language, full=full)
    root = parse(masked.text, grammar, limits.parse_seconds)
    if spec.data:
        return read_keys(text, root, grammar, limits.data_keys)
    found = read_symbols(text, root, grammar, masked.names)
    if spec.masks:
        unmask_starts(text, masked.text, lines.starts, found.rows)
        found.rows += define_rows(text, lines, found)
        if spec.masks == "c" and root.has_error:
            found.recover(c_heads(text, lines, found))
    elif root.has_error and language in HEADS:
        found.recover(line_heads(text, lines, language, found))
    return found, False


def _too_large(text: bytes, language: str, limits: Limits, *, full: bool) -> Extraction | None:
    limit = limits.parse_header_bytes if full or language in ("c", "cpp") else limits.parse_bytes
    if len(text) <= limit:
        return None
    note = f"not outlined: {_size(len(text))}, over the limit of {_size(limit)}"
    return _scanned(text, language, note, SkipReason.TOO_LARGE, limits.outline_symbols)


def _scanned(text: bytes, language: str, note: str, reason: SkipReason, most: int = 20_000) -> Extraction:
    """Return what the line scanners find in a text that is not parsed."""
    if language not in SCANS:
        return Extraction(note=note, reason=reason)
    symbols = scan(text, language, most)
    what = "#define lines" if language in ("c", "cpp") else "headings"
    return Extraction(symbols, f"{note}; only {what} are listed", reason, len(symbols))


def _minified(text: bytes, language: str, limits: Limits) -> Extraction | None:
    if language not in _MINIFIABLE or len(text) <= limits.minified_average:
        return None
    average = len(text) // (text.count(b"\n") + 1)
    if average > limits.minified_average or _has_long_line(text, limits.minified_line):
        return Extraction(note="not outlined: minified", reason=SkipReason.MINIFIED)
    return None


def _has_long_line(text: bytes, limit: int) -> bool:
    """Return whether a line is longer than `limit` bytes, looking at one line end in `limit` bytes."""
    start = 0
    while len(text) - start > limit:
        end = text.rfind(b"\n", start, start + limit + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def _stored(symbols: list[Symbol]) -> list[Symbol]:
    """Leave out what is not stored; members of what is left out go to the next symbol around them."""
    if not any(symbol.kind in UNSTORED for symbol in symbols):
        return symbols
    place: list[int] = []
    kept: list[Symbol] = []
    for symbol in symbols:
        parent = place[symbol.parent] if symbol.parent >= 0 else -1
        if symbol.kind in UNSTORED:
            place.append(parent)
            continue
        place.append(len(kept))
        kept.append(symbol if parent == symbol.parent else replace(symbol, parent=parent))
    return kept


def _report(symbols: list[Symbol], recovered: int, limits: Limits, *, truncated: bool) -> Extraction:
    notes = [f"{recovered} recovered by lines"] if recovered else []
    reason = None
    if len(symbols) > limits.outline_symbols:
        notes.append(f"cut at {limits.outline_symbols:,} of {len(symbols):,} symbols")
        symbols = symbols[: limits.outline_symbols]
        reason = SkipReason.TOO_MANY
    if truncated:
        notes.append(f"only the first {limits.data_keys:,} keys")
        reason = SkipReason.TOO_MANY
    return Extraction(tuple(symbols), "; ".join(notes), reason, recovered)


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"
