"""Edits as fields for programs: largefile 0.3.0's result fields, and beside them `hash`, `files` and `message`."""

from __future__ import annotations

from collections.abc import Sequence

from linedex_server.edit.find.locate import Placed
from linedex_server.edit.find.verdicts import Verdict
from linedex_server.edit.put.plans import Committed
from linedex_server.render.fields import Fields


def placed_fields(found: Sequence[tuple[str, Sequence[Placed], str]], diffs: Sequence[str], message: str) -> Fields:
    """Return a preview: for each file how it is called, its changes, its hash, and its diff."""
    return {
        **_result([one for _, placed, _ in found for one in placed], message),
        "preview": "\n".join(f"{shown}\n{diff}" for (shown, _, _), diff in zip(found, diffs, strict=True)),
        "backup_created": None,
        "hash": found[0][2] or None,
        "files": [{"path": shown, "hash": mark or None} for shown, _, mark in found],
    }


def made_fields(found: Sequence[tuple[Committed, Sequence[Placed]]], message: str) -> Fields:
    """Return what was written, file by file, with the changes of each."""
    step = next((done.step for done, _ in found if done.step), None)
    return {
        **_result([one for _, placed in found for one in placed], message),
        "preview": None,
        "backup_created": step,
        "hash": found[0][0].hash or None,
        "files": [{"path": done.shown, "hash": done.hash or None} for done, _ in found],
    }


def missed_fields(verdicts: Sequence[Verdict], message: str) -> Fields:
    """Return why nothing was written, change by change."""
    return {
        "success": False,
        "changes_applied": 0,
        "changes_failed": sum(not one.fits for one in verdicts),
        "results": [_missed(one) for one in verdicts],
        "preview": None,
        "backup_created": None,
        "hash": None,
        "files": [],
        "message": message,
    }


def _result(placed: Sequence[Placed], message: str) -> Fields:
    ordered = sorted(placed, key=lambda one: one.index)
    return {
        "success": True,
        "changes_applied": len(ordered),
        "changes_failed": 0,
        "results": [
            {
                "index": one.index,
                "success": True,
                "line_number": one.line,
                "match_type": _match_type(one.how),
                "similarity": 1.0,
                "how": one.how,
                "line_numbers": list(one.lines),
            }
            for one in ordered
        ],
        "message": message,
    }


def _missed(one: Verdict) -> Fields:
    told: Fields = {"index": one.index, "success": False}
    if one.fits:
        return {**told, "line_number": one.lines[0], "match_type": _match_type(one.how), "similarity": 1.0}
    return {
        **told,
        "error": one.sentence,
        "similar_matches": [
            {"line": near.line, "content": near.content, "similarity": near.similarity} for near in one.nearest
        ],
    }


def _match_type(how: str) -> str:
    return "exact" if how == "exact" else "fuzzy"
