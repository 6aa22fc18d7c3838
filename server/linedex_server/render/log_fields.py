"""Timelines, patterns and facts of logs as fields for programs, with their schemas; times as ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from linedex.log_answers import LogFacts, Pattern, Patterns, Timeline, TimeSpan
from linedex_server.render.logs import clock
from linedex_server.render.words import Naming

Fields: TypeAlias = dict[str, Any]

_WHOLE: Final = {"type": "integer"}
_NUMBER: Final = {"type": "number"}
_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_COUNTS: Final = {"type": "object", "additionalProperties": _WHOLE}
_MAYBE_TEXT: Final = {"anyOf": [_TEXT, {"type": "null"}]}
_MAYBE_WHOLE: Final = {"anyOf": [_WHOLE, {"type": "null"}]}


def _record(properties: Fields) -> Fields:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _listed(items: Fields) -> Fields:
    return {"type": "array", "items": items}


LOG_TIMELINE: Final = _record(
    {
        "buckets": _listed(_record({"start": _TEXT, "total": _WHOLE, "levels": _COUNTS})),
        "bucket_minutes": _WHOLE,
        "total": _WHOLE,
        "levels": _COUNTS,
        "files": _listed(_record({"file": _TEXT, "records": _WHOLE, "first": _MAYBE_TEXT, "last": _MAYBE_TEXT})),
        "since": _MAYBE_TEXT,
        "until": _MAYBE_TEXT,
        "zone": _TEXT,
        "unstamped_lines": _MAYBE_WHOLE,
        "skipped": _COUNTS,
        "notes": _listed(_TEXT),
        "complete": _FLAG,
        "seconds": _NUMBER,
    }
)
LOG_PATTERNS: Final = _record(
    {
        "path": _TEXT,
        "patterns": _listed(
            _record(
                {
                    "pattern": _TEXT,
                    "count": _WHOLE,
                    "levels": _COUNTS,
                    "first": _MAYBE_TEXT,
                    "last": _MAYBE_TEXT,
                    "line_number": _MAYBE_WHOLE,
                    "example": _TEXT,
                    "count_before": _MAYBE_WHOLE,
                    "weight": _NUMBER,
                }
            )
        ),
        "total_patterns": _WHOLE,
        "records": _WHOLE,
        "other": _WHOLE,
        "records_before": _MAYBE_WHOLE,
        "since": _MAYBE_TEXT,
        "until": _MAYBE_TEXT,
        "zone": _TEXT,
        "notes": _listed(_TEXT),
        "complete": _FLAG,
        "seconds": _NUMBER,
    }
)
LOG_FACTS: Final = _record(
    {
        "formats": _listed(_TEXT),
        "first": _TEXT,
        "last": _TEXT,
        "records": _WHOLE,
        "levels": _COUNTS,
        "busiest_minute": _MAYBE_TEXT,
        "busiest_records": _MAYBE_WHOLE,
        "gaps": _listed(_record({"since": _TEXT, "until": _TEXT})),
        "unstamped_lines": _MAYBE_WHOLE,
        "zone": _TEXT,
        "year": _TEXT,
        "approximate": _FLAG,
    }
)


def _iso(instant: int) -> str:
    return clock(instant).isoformat().replace("+00:00", "Z")


def _maybe(instant: int | None) -> str | None:
    return None if instant is None else _iso(instant)


def _ends(span: TimeSpan | None) -> Fields:
    return {
        "since": None if span is None else _maybe(span.since),
        "until": None if span is None else _maybe(span.until),
    }


def timeline_fields(answer: Timeline, name: Naming) -> Fields:
    """Return counts over time."""
    return {
        "buckets": [
            {"start": _iso(one.start), "total": one.total, "levels": dict(one.levels)} for one in answer.buckets
        ],
        "bucket_minutes": answer.minutes,
        "total": answer.total,
        "levels": dict(answer.levels),
        "files": [
            {"file": name(one.path), "records": one.records, "first": _maybe(one.first), "last": _maybe(one.last)}
            for one in answer.files
        ],
        **_ends(answer.span),
        "zone": answer.zone,
        "unstamped_lines": answer.unstamped if answer.unstamped >= 0 else None,
        "skipped": {str(reason): count for reason, count in answer.skipped.items()},
        "notes": list(answer.notes),
        "complete": not answer.late and not answer.notes,
        "seconds": round(answer.seconds, 6),
    }


def patterns_fields(answer: Patterns, shown: Sequence[Pattern], name: Naming) -> Fields:
    """Return the recurring messages of a log."""
    return {
        "path": name(answer.path),
        "patterns": [
            {
                "pattern": one.text,
                "count": one.count,
                "levels": dict(one.levels),
                "first": _maybe(one.first),
                "last": _maybe(one.last),
                "line_number": one.line,
                "example": one.example,
                "count_before": one.before,
                "weight": round(one.weight, 3),
            }
            for one in shown
        ],
        "total_patterns": answer.total_patterns,
        "records": answer.records,
        "other": answer.other,
        "records_before": answer.before_records,
        **_ends(answer.span),
        "zone": answer.zone,
        "notes": list(answer.notes),
        "complete": not answer.late,
        "seconds": round(answer.seconds, 6),
    }


def facts_fields(log: LogFacts) -> Fields:
    """Return the facts of a log."""
    return {
        "formats": list(log.formats),
        "first": _iso(log.first),
        "last": _iso(log.last),
        "records": log.records,
        "levels": dict(log.levels),
        "busiest_minute": None if log.busiest is None else _iso(log.busiest[0]),
        "busiest_records": None if log.busiest is None else log.busiest[1],
        "gaps": [{"since": _iso(gap.since), "until": _iso(gap.until)} for gap in log.gaps],
        "unstamped_lines": log.unstamped if log.unstamped >= 0 else None,
        "zone": log.zone,
        "year": log.year,
        "approximate": bool(log.sampled),
    }
