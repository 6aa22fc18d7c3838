"""Output schemas of the fields in `render.fields`: JSON Schema 2020-12, one constant for each tool."""

from __future__ import annotations

from typing import Any, TypeAlias

from linedex_server.render.log_fields import LOG_FACTS

Schema: TypeAlias = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_FLAG: Schema = {"type": "boolean"}
# not a list of types, which clients with a dialect of single types refuse
_MAYBE_TEXT: Schema = {"anyOf": [_TEXT, {"type": "null"}]}
_MAYBE_WHOLE: Schema = {"anyOf": [_WHOLE, {"type": "null"}]}
_COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}


def _listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


_COVERAGE = _record(
    {
        "verdict": {"enum": ["complete", "page", "deadline", "partial"]},
        "by_index": _WHOLE,
        "by_scan": _WHOLE,
        "sequential": _WHOLE,
        "skipped": _COUNTS,
        "notes": _listed(_TEXT),
        "seconds": _NUMBER,
        "check_seconds": _NUMBER,
    }
)
_HIT = _record(
    {
        "line_number": _WHOLE,
        "match": _TEXT,
        "context_before": _listed(_TEXT),
        "context_after": _listed(_TEXT),
        "semantic_context": _TEXT,
        "similarity_score": _NUMBER,
        "truncated": _FLAG,
        "match_type": _TEXT,
        "column": _WHOLE,
        "end_column": _WHOLE,
        "text_column": _WHOLE,
        "end_line": _WHOLE,
    },
    {"more": _listed(_record({"column": _WHOLE, "end_column": _WHOLE}, {"match": _TEXT, "text_column": _WHOLE}))},
)
_SYMBOL = {
    "name": _TEXT,
    "type": _TEXT,
    "line_number": _WHOLE,
    "end_line": _WHOLE,
    "line_count": _WHOLE,
    "container": _TEXT,
    "signature": _TEXT,
    "name_line": _WHOLE,
    "name_column": _WHOLE,
}
_READ = {
    "content": _TEXT,
    "start_line": _WHOLE,
    "end_line": _WHOLE,
    "lines_returned": _WHOLE,
    "total_lines": _MAYBE_WHOLE,
    "mode": _TEXT,
    "truncated": _FLAG,
    "cut_lines": _listed(_WHOLE),
    "hash": _TEXT,
    "next_offset": _MAYBE_WHOLE,
}

SEARCH_CONTENT = _record(
    {
        "pattern": _TEXT,
        "fuzzy_enabled": _FLAG,
        "regex_enabled": _FLAG,
        "case_sensitive": _FLAG,
        "inverted": _FLAG,
        "coverage": _COVERAGE,
        "cursor": _MAYBE_TEXT,
    },
    {
        "results": _listed(_HIT),
        "total_matches": _WHOLE,
        "near": _FLAG,
        "count": _WHOLE,
        "later": _TEXT,
        "note": _TEXT,
        "warnings": _listed(_TEXT),
    },
)
SEARCH_DIRECTORY = _record(
    {
        "path": _TEXT,
        "pattern": _TEXT,
        "include_pattern": _TEXT,
        "total_matches": _WHOLE,
        "files_searched": _WHOLE,
        "files_with_matches": _WHOLE,
        "truncated": _FLAG,
        "truncated_at": _MAYBE_TEXT,
        "results": _listed(_record({"file": _TEXT, "count": _MAYBE_WHOLE, "matches": _listed(_HIT)})),
        "near": _FLAG,
        "coverage": _COVERAGE,
        "cursor": _MAYBE_TEXT,
    },
)
READ_CONTENT = _record(
    _READ, {"pattern": _TEXT, "match_line": _MAYBE_WHOLE, "warnings": _listed(_TEXT), "later": _TEXT}
)
READ_ENCLOSING = _record({**_READ, "enclosing_symbol": _MAYBE_TEXT}, {"warnings": _listed(_TEXT)})
GET_OVERVIEW = _record(
    {
        "line_count": _WHOLE,
        "file_size": _WHOLE,
        "encoding": _MAYBE_TEXT,
        "is_binary": _FLAG,
        "binary_hint": _MAYBE_TEXT,
        "long_lines": _record({"has_long_lines": _FLAG, "count": _WHOLE, "max_length": _WHOLE, "threshold": _WHOLE}),
        "approximate": _listed(_TEXT),
        "outline": _listed(_record(_SYMBOL, {"changes": _MAYBE_TEXT})),
        "search_hints": _listed(_TEXT),
        "language": _TEXT,
        "total_symbols": _WHOLE,
        "hash": _TEXT,
        "cursor": _MAYBE_TEXT,
    },
    {"changed_symbols": _WHOLE, "warning": _TEXT, "log": LOG_FACTS},
)
LIST_DIRECTORY = _record(
    {
        "path": _TEXT,
        "entries": _listed(
            _record(
                {
                    "name": _TEXT,
                    "type": {"enum": ["dir", "file"]},
                    "size_bytes": _WHOLE,
                    "child_count": _MAYBE_WHOLE,
                    "ignored": _FLAG,
                    "special": _MAYBE_TEXT,
                }
            )
        ),
        "total_files": _WHOLE,
        "total_dirs": _WHOLE,
        "truncated": _FLAG,
        "truncated_at": _MAYBE_TEXT,
        "cursor": _MAYBE_TEXT,
    }
)
FIND_FILES = _record({"files": _listed(_TEXT), "total": _WHOLE, "cursor": _MAYBE_TEXT})
FIND_SYMBOL = _record(
    {
        "symbols": _listed(_record({"file": _TEXT, "path": _TEXT, **_SYMBOL})),
        "total": _WHOLE,
        "pending_files": _WHOLE,
        "note": _TEXT,
        "cursor": _MAYBE_TEXT,
    }
)
INDEX_STATUS = _record(
    {
        "roots": _listed(
            _record(
                {
                    "root": _TEXT,
                    "phase": _TEXT,
                    "progress": {"type": "object"},
                    "files": _WHOLE,
                    "indexed": _WHOLE,
                    "pending": _WHOLE,
                    "skipped": _COUNTS,
                    "text_bytes": _WHOLE,
                    "symbols": _WHOLE,
                    "symbol_files": _WHOLE,
                    "symbol_pending": _WHOLE,
                    "symbol_skipped": _COUNTS,
                    "sidecar_bytes": _WHOLE,
                    "signature_bytes": _WHOLE,
                    "writer": _FLAG,
                    "freshness": _TEXT,
                    "checkpoints": _WHOLE,
                    "checkpoints_verified": _WHOLE,
                    "checkpoint_mismatches": _WHOLE,
                    "problems": _listed(_TEXT),
                }
            )
        ),
        "state_dir": _TEXT,
        "version": _TEXT,
    }
)

_WRITE = {"success": _FLAG, "message": _TEXT}
WRITTEN = _record(
    _WRITE,
    {
        "path": _TEXT,
        "created": _FLAG,
        "changed": _FLAG,
        "hash": _MAYBE_TEXT,
        "backup_created": _MAYBE_TEXT,
        "replacements": _WHOLE,
        "session_id": _TEXT,
    },
)
SESSION = _record(
    {**_WRITE, "session_id": _TEXT}, {"path": _TEXT, "hash": _MAYBE_TEXT, "chunks": _WHOLE, "characters": _WHOLE}
)
_SIMILAR = _record({"line": _WHOLE, "content": _TEXT, "similarity": _NUMBER})
EDIT_CONTENT = _record(
    {
        **_WRITE,
        "changes_applied": _WHOLE,
        "changes_failed": _WHOLE,
        "results": _listed(
            _record(
                {"index": _WHOLE, "success": _FLAG},
                {
                    "line_number": _WHOLE,
                    "line_numbers": _listed(_WHOLE),
                    "match_type": _TEXT,
                    "similarity": _NUMBER,
                    "how": _TEXT,
                    "error": _TEXT,
                    "similar_matches": _listed(_SIMILAR),
                },
            )
        ),
        "preview": _MAYBE_TEXT,
        "backup_created": _MAYBE_TEXT,
        "hash": _MAYBE_TEXT,
        "files": _listed(_record({"path": _TEXT, "hash": _MAYBE_TEXT})),
    }
)
REVERT_EDIT = _record(
    {
        **_WRITE,
        "reverted_to": _MAYBE_TEXT,
        "current_saved_as": _MAYBE_TEXT,
        "available_backups": _listed(
            _record({"id": _TEXT, "timestamp": _TEXT, "size": _WHOLE, "path": _TEXT}),
        ),
    },
    {"hash": _MAYBE_TEXT, "files": _listed(_record({"path": _TEXT, "hash": _MAYBE_TEXT}))},
)
EDIT_HISTORY = _record(
    {
        "steps": _listed(
            _record(
                {
                    "id": _TEXT,
                    "timestamp": _TEXT,
                    "tool": _TEXT,
                    "undoes": _MAYBE_TEXT,
                    "undone_by": _MAYBE_TEXT,
                    "files": _listed(
                        _record(
                            {
                                "path": _TEXT,
                                "lines_added": _WHOLE,
                                "lines_removed": _WHOLE,
                                "created": _FLAG,
                                "removed": _FLAG,
                                "size_before": _WHOLE,
                                "size_after": _WHOLE,
                            }
                        )
                    ),
                }
            )
        ),
        "cursor": _MAYBE_TEXT,
    }
)
