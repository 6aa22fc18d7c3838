"""Answers as fields for programs: largefile 0.3.0's result fields, and beside them what linedex adds.

Added everywhere: `hash`, `coverage`, `cursor` or `next_offset`, each null when there is none. A field that largefile
has keeps its name, type and meaning; `content` holds lines joined by LF, whatever the file's own line ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from linedex.answers import (
    CoverageReport,
    FolderEntry,
    FolderListing,
    Hit,
    IndexStatus,
    Occurrence,
    Overview,
    PhaseProgress,
    ReadAnswer,
    SearchAnswer,
    SearchRequest,
    SymbolAnswer,
    SymbolHit,
)
from linedex.model import Symbol
from linedex_server.render.log_fields import facts_fields
from linedex_server.render.read import Shown
from linedex_server.render.words import Naming

Fields: TypeAlias = dict[str, Any]

LONG_LINE = 1000
"""largefile's threshold of a long line."""
_HINTS = {
    "python": ("def ", "class ", "import ", "from "),
    "javascript": ("function ", "class ", "const ", "import "),
    "typescript": ("function ", "class ", "const ", "import "),
    "tsx": ("function ", "class ", "const ", "import "),
    "go": ("func ", "type ", "import ", "package "),
    "rust": ("fn ", "struct ", "impl ", "use "),
    "java": ("class ", "interface ", "enum ", "import ", "@interface "),
}
_COMMON_HINTS = ("TODO", "FIXME", "NOTE", "HACK")


def coverage_fields(report: CoverageReport) -> Fields:
    """Return how an answer came about."""
    return {
        "verdict": str(report.verdict),
        "by_index": report.by_index,
        "by_scan": report.by_scan,
        "sequential": report.sequential,
        "skipped": dict(report.skipped),
        "notes": list(report.notes),
        "seconds": round(report.seconds, 6),
        "check_seconds": round(report.check_seconds, 6),
    }


def search_content_fields(
    answer: SearchAnswer, request: SearchRequest, *, total: int, count_only: bool = False
) -> Fields:
    """Return the hits of one file, or their count; `total` counts those of other pages too."""
    asked = {
        "pattern": request.pattern,
        "fuzzy_enabled": request.fuzzy,
        "regex_enabled": request.regex,
        "case_sensitive": request.case_sensitive,
        "inverted": request.invert,
    }
    how = {"coverage": coverage_fields(answer.coverage), "cursor": answer.cursor or None}
    how |= {name: said for name, said in (("later", answer.later), ("note", answer.note)) if said}
    if count_only:
        return {"count": total, **asked, **how}
    hits = [_hit(hit, request) for found in answer.files for hit in found.hits]
    return {"results": hits, "total_matches": total, "near": answer.near, **asked, **how}


def search_directory_fields(
    answer: SearchAnswer, request: SearchRequest, *, path: str, include_pattern: str, name: Naming
) -> Fields:
    """Return the hits of a folder, file by file; `name` calls a file by its path below that folder."""
    covered = answer.coverage
    return {
        "path": path,
        "pattern": request.pattern,
        "include_pattern": include_pattern,
        "total_matches": answer.total_hits,
        "files_searched": covered.by_index + covered.by_scan,
        "files_with_matches": max(answer.matched_files, len(answer.files)),
        "truncated": bool(answer.cursor) or len(answer.files) < answer.matched_files,
        "truncated_at": name(answer.files[-1].path) if answer.cursor and answer.files else None,
        "results": [
            {"file": name(found.path), "count": found.count, "matches": [_hit(hit, request) for hit in found.hits]}
            for found in answer.files
        ],
        "near": answer.near,
        "coverage": coverage_fields(covered),
        "cursor": answer.cursor or None,
    }


def read_fields(answer: ReadAnswer, shown: Shown, *, mode: str, pattern: str | None, warnings: Sequence[str]) -> Fields:
    """Return lines of a file."""
    fields: Fields = {
        "content": "\n".join(shown.lines),
        "start_line": shown.first,
        "end_line": shown.first + len(shown.lines) - 1,
        "lines_returned": len(shown.lines),
        "total_lines": answer.total_lines if answer.counted else None,
        "mode": mode,
        "truncated": shown.next_line is not None or bool(shown.left_out_from),
    }
    if pattern is not None:
        fields |= {"pattern": pattern, "match_line": answer.match_line}
    cut = list(answer.cut_lines) if shown.cut_at is None else [shown.first]
    if warnings:
        fields["warnings"] = list(warnings)
    if answer.later:
        fields["later"] = answer.later
    return {**fields, "cut_lines": cut, "hash": answer.hash, "next_offset": shown.next_line}


def enclosing_fields(answer: ReadAnswer, shown: Shown) -> Fields:
    """Return the symbol around a line, or a window of lines where there is none."""
    fields = read_fields(
        answer,
        shown,
        mode="context_window" if answer.symbol is None else "enclosing",
        pattern=None,
        warnings=(answer.note,) if answer.note else (),
    )
    fields["enclosing_symbol"] = None if answer.symbol is None else f"{answer.symbol.kind} {answer.symbol.path}"
    return fields


def overview_fields(
    overview: Overview, symbols: Sequence[Symbol], changes: Mapping[int, str] | None, *, start: int, cursor: str
) -> Fields:
    """Return the facts of a file and part of its outline.

    Args:
        overview: the facts.
        symbols: the part of the outline to show.
        changes: what a change did to a symbol, by its index in the whole outline; None when no changes were named.
        start: index of the first of `symbols` in the whole outline.
        cursor: passes on to the rest of the outline, "" when there is none.
    """
    binary = overview.format.binary
    outline = [_symbol(symbol) for symbol in symbols]
    if changes is not None:
        outline = [{**one, "changes": changes.get(index)} for index, one in enumerate(outline, start)]
    hints = _HINTS.get(overview.outline.language, _COMMON_HINTS)
    fields: Fields = {
        "line_count": 0 if binary else overview.lines,
        "file_size": overview.size,
        "encoding": None if binary else overview.format.encoding,
        "is_binary": binary,
        "binary_hint": None,
        "long_lines": {
            "has_long_lines": bool(overview.long_lines),
            "count": overview.long_lines,
            "max_length": overview.longest_line,
            "threshold": LONG_LINE,
        },
        "approximate": list(overview.approximate),
        "outline": outline,
        "search_hints": [] if binary else list(hints),
    }
    if changes is not None:
        fields["changed_symbols"] = len(changes)
    if overview.log is not None:
        fields["log"] = facts_fields(overview.log)
    warnings = (
        ["Binary file: it holds no text."] if binary else [overview.outline.note] if overview.outline.note else []
    )
    if warnings:
        fields["warning"] = warnings[0]
    return {
        **fields,
        "language": overview.outline.language,
        "total_symbols": len(overview.outline.symbols),
        "hash": overview.hash,
        "cursor": cursor or None,
    }


def folder_fields(
    listing: FolderListing, entries: Sequence[FolderEntry], *, path: str, name: Naming, cursor: str
) -> Fields:
    """Return the entries of a folder; `name` calls an entry by its path below that folder."""
    cut = bool(cursor) or listing.cut
    return {
        "path": path,
        "entries": [
            {
                "name": name(entry.path),
                "type": "dir" if entry.is_folder else "file",
                "size_bytes": 0 if entry.is_folder else entry.size,
                "child_count": entry.children,
                "ignored": entry.ignored,
                "special": entry.special or None,
            }
            for entry in entries
        ],
        "total_files": listing.total_files,
        "total_dirs": listing.total_folders,
        "truncated": cut,
        "truncated_at": name(entries[-1].path) if cut and entries else None,
        "cursor": cursor or None,
    }


def files_fields(paths: Sequence[str], total: int, *, cursor: str) -> Fields:
    """Return files found by name; `total` counts those on other pages too."""
    return {"files": list(paths), "total": total, "cursor": cursor or None}


def symbols_fields(answer: SymbolAnswer, hits: Sequence[tuple[str, SymbolHit]], *, cursor: str) -> Fields:
    """Return symbols found by name, each with its file as it is called."""
    return {
        "symbols": [{"file": path, "path": hit.symbol.path, **_symbol(hit.symbol)} for path, hit in hits],
        "total": answer.total,
        "pending_files": answer.pending,
        "note": answer.note,
        "cursor": cursor or None,
    }


def status_fields(statuses: Sequence[IndexStatus], *, state_dir: str, version: str) -> Fields:
    """Return the state of each index."""
    return {
        "roots": [
            {
                "root": status.root,
                "phase": str(status.phase),
                "progress": {str(phase): _progress(progress) for phase, progress in status.progress.items()},
                "files": status.files,
                "indexed": status.indexed,
                "pending": status.pending,
                "skipped": dict(status.skipped),
                "text_bytes": status.text_bytes,
                "symbols": status.symbols,
                "symbol_files": status.symbol_files,
                "symbol_pending": status.symbol_pending,
                "symbol_skipped": dict(status.symbol_skipped),
                "sidecar_bytes": status.sidecar_bytes,
                "signature_bytes": status.signature_bytes,
                "writer": status.writer,
                "freshness": status.freshness,
                "checkpoints": status.checkpoints,
                "checkpoints_verified": status.checkpoints_verified,
                "checkpoint_mismatches": status.checkpoint_mismatches,
                "problems": list(status.problems),
            }
            for status in statuses
        ],
        "state_dir": state_dir,
        "version": version,
    }


def _hit(hit: Hit, request: SearchRequest) -> Fields:
    more = {"more": [_occurrence(one) for one in hit.more]} if hit.more else {}
    kind = "regex" if request.regex else "exact" if hit.similarity is None else "fuzzy"
    return {
        "line_number": hit.line,
        "match": hit.text + "..." if hit.cut else hit.text,
        "context_before": list(hit.before),
        "context_after": list(hit.after),
        "semantic_context": hit.breadcrumb or f"Line {hit.line}",
        "similarity_score": 1.0 if hit.similarity is None else round(hit.similarity, 4),
        "truncated": hit.cut,
        "match_type": f"{kind}_inverted" if request.invert else kind,
        "column": hit.column,
        "end_column": hit.end_column,
        "text_column": hit.text_column,
        "end_line": hit.last_line,
        **more,
    }


def _occurrence(one: Occurrence) -> Fields:
    span = {"column": one.column, "end_column": one.end_column}
    return {**span, "match": one.text + "...", "text_column": one.text_column} if one.text else span


def _symbol(symbol: Symbol) -> Fields:
    return {
        "name": symbol.name,
        "type": str(symbol.kind),
        "line_number": symbol.start_line,
        "end_line": symbol.end_line,
        "line_count": symbol.end_line - symbol.start_line + 1,
        "container": symbol.container,
        "signature": symbol.signature,
        "name_line": symbol.line,
        "name_column": symbol.column,
    }


def _progress(progress: PhaseProgress) -> Fields:
    return {
        "done_files": progress.done_files,
        "total_files": progress.total_files,
        "done_bytes": progress.done_bytes,
        "total_bytes": progress.total_bytes,
        "seconds": round(progress.seconds, 3),
        "rate": round(progress.rate),
    }
