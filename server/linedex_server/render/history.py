"""The steps of the history in words and as fields: what changed, when, by which tool, and what was taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from linedex_server.edit.history.steps import FileStep, Step
from linedex_server.edit.put.plans import Committed
from linedex_server.edit.undo.revert import Reverted
from linedex_server.render.edit import written
from linedex_server.render.fields import Fields
from linedex_server.render.words import bracketed, counted

Called = Callable[[bytes], str]
"""How answers spell an absolute path."""


def history_page(steps: Sequence[Step], called: Called, *, cursor: str = "", where: str = "") -> str:
    """Return a page of steps, newest first.

    Args:
        steps: the steps.
        called: how their files are called.
        cursor: passes on to older ones, "" when there are none.
        where: the file that was asked for, "" for all.
    """
    if not steps:
        return f"No step{f' of {where}' if where else ''} in the history."
    lines = [_line(step, called) for step in steps]
    return "\n".join((*lines, bracketed((counted(len(steps), "step"), f"next cursor={cursor}" if cursor else ""))))


def _line(step: Step, called: Called) -> str:
    files = "; ".join(_file(one, called) for one in step.files)
    line = f"{step.id}  {when(step)}  {step.tool}  {files}"
    if step.undoes is not None:
        what = "restores the state before" if step.undoes.restores else "undoes"
        line += f"  ({what} {step.undoes.step})"
    if step.undone_by is not None:
        line += f"  (undone by {step.undone_by})"
    return line


def _file(one: FileStep, called: Called) -> str:
    what = " created" if one.created else " removed" if one.removed else ""
    return f"{called(one.path)} +{one.lines_added:,} -{one.lines_removed:,}{what}"


def when(step: Step) -> str:
    """Return the time of a step, in UTC, to the second."""
    return datetime.fromtimestamp(step.time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def history_fields(steps: Sequence[Step], called: Called, *, cursor: str) -> Fields:
    """Return a page of steps as fields."""
    return {"steps": [_step(step, called) for step in steps], "cursor": cursor or None}


def _step(step: Step, called: Called) -> Fields:
    return {
        "id": step.id,
        "timestamp": datetime.fromtimestamp(step.time_ns / 1e9, UTC).isoformat(),
        "tool": step.tool,
        "undoes": None if step.undoes is None else step.undoes.step,
        "undone_by": step.undone_by,
        "files": [
            {
                "path": called(one.path),
                "lines_added": one.lines_added,
                "lines_removed": one.lines_removed,
                "created": one.created,
                "removed": one.removed,
                "size_before": one.size_before,
                "size_after": one.size_after,
            }
            for one in step.files
        ],
    }


def backups_fields(steps: Sequence[Step], path: bytes, called: Called) -> list[Fields]:
    """Return the steps of a file as largefile's backups: each id stands for the bytes before that step."""
    found = []
    for step in steps:
        one = step.file(path)
        if one is not None:
            found.append(
                {
                    "id": step.id,
                    "timestamp": datetime.fromtimestamp(step.time_ns / 1e9, UTC).isoformat(),
                    "size": one.size_before,
                    "path": called(path),
                }
            )
    return found


def reverted_sentence(done: Committed) -> str:
    """Return what became of one file of a step that was taken back."""
    told = done.told
    assert isinstance(told, Reverted)
    of = f"step {told.step} ({told.tool})"
    if not done.changed:
        return written(done, "", unchanged=f"it is what it was before {of}")
    if told.how == "restored":
        kept = "; what others had changed is kept as a step" if told.foreign else ""
        what = f"restored as it was before {of}{kept}"
    elif told.how == "spliced":
        what = f"undid {of}; others have changed the file since, and only that change was taken back"
    else:
        what = f"undid {of}"
    return written(done, what)


def reverted_fields(done: Sequence[Committed], backups: Sequence[Fields], message: str) -> Fields:
    """Return a revert in largefile's fields; `current_saved_as` is the id that brings the present bytes back."""
    told = done[0].told
    assert isinstance(told, Reverted)
    return {
        "success": True,
        "message": message,
        "reverted_to": told.step,
        "current_saved_as": next((one.step for one in done if one.step), None),
        "available_backups": list(backups),
        "hash": done[0].hash or None,
        "files": [{"path": one.shown, "hash": one.hash or None} for one in done],
    }
