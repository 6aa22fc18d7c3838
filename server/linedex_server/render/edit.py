"""What writes answer: one sentence for each file, then its new hash and the undo id in brackets.

`Updated src/a.py: 2 changes (line 41 exact; line 88 tolerant: indentation). [hash 9f2c41d07be3a518, undo 5c2]`
"""

from __future__ import annotations

from collections.abc import Sequence

from linedex_server.edit.find.locate import Placed
from linedex_server.edit.find.verdicts import lines_told
from linedex_server.edit.planners import Whole
from linedex_server.edit.put.plans import Committed
from linedex_server.render.words import counted

NAMED = 20
"""Changes, or lines, that a sentence names one by one."""


def written(done: Committed, what: str, *, unchanged: str = "new content matched existing file") -> str:
    """Return the sentence of a write that was made, or was not needed.

    Args:
        done: what became of the file.
        what: what happened to a file that was there, as `replaced 1 occurrence`.
        unchanged: why nothing had to be written.
    """
    if not done.changed:
        sentence = f"Unchanged {done.shown}: {unchanged}."
    elif done.created:
        sentence = f"Created {done.shown}.{_folders(done)}"
    elif done.removed:
        sentence = f"Removed {done.shown}: {what}."
    else:
        sentence = f"Updated {done.shown}: {what}."
    return " ".join((sentence, *_noted(done.notes), facts(done)))


def facts(done: Committed) -> str:
    """Return what a later call needs to know of a file, in brackets."""
    parts = [f"hash {done.hash}" if done.hash else "", f"undo {done.step}" if done.step else ""]
    return f"[{', '.join(part for part in parts if part)}]" if any(parts) else ""


def whole_text_told(done: Committed) -> str:
    """Return `wrote the whole text, +3 -1 lines`, or what was converted where no line was changed."""
    told = done.told
    assert isinstance(told, Whole)
    if told.lines is None:
        return "wrote the whole text"
    added, removed = told.lines
    if told.converted and not added and not removed:
        return "; ".join(told.converted)
    return "; ".join((f"wrote the whole text, +{added:,} -{removed:,} lines", *told.converted))


def listed(parts: Sequence[str]) -> str:
    """Return `line 41 exact; line 88 tolerant: indentation`, cut after the first few."""
    more = f"; and {len(parts) - NAMED:,} more" if len(parts) > NAMED else ""
    return "; ".join(parts[:NAMED]) + more


def occurrences(count: int) -> str:
    """Return `replaced 1 occurrence`."""
    return f"replaced {counted(count, 'occurrence')}"


def changes_made(placed: Sequence[Placed]) -> str:
    """Return `2 changes (line 41 exact; line 88 tolerant: indentation)`."""
    return f"{counted(len(placed), 'change')} ({listed([_made(one) for one in placed])})"


def _made(one: Placed) -> str:
    how = how_told(one.how)
    if len(one.lines) == 1:
        return f"line {one.line:,} {how}"
    return f"{len(one.lines):,} places {how}: {lines_told(one.lines, len(one.lines))}"


def how_told(how: str) -> str:
    """Return `tolerant: indentation` for what finding calls `tolerant (indentation)`."""
    return how.replace(" (", ": ").rstrip(")")


def previewed(parts: Sequence[str], guards: Sequence[tuple[str, str]]) -> str:
    """Return a preview: what would become of each file, and how to have it written.

    Args:
        parts: for each file its sentence and diff.
        guards: for each file how it is called, and its hash.
    """
    if len(guards) == 1:
        again = f'Write it with preview=false, base_hash="{guards[0][1]}".'
    else:
        marks = ", ".join(f'"{mark}" for {shown}' for shown, mark in guards)
        again = f"Write it with preview=false, and base_hash in the changes: {marks}."
    return "\n".join(("PREVIEW, nothing written. " + "\n".join(parts), again))


def _folders(done: Committed) -> str:
    made = len(done.made_folders)
    return f" Made {counted(made, 'folder')}." if made else ""


def _noted(notes: Sequence[str]) -> list[str]:
    return [f"({note})" for note in notes]


def committed_session(number: str, done: Committed) -> str:
    """Return the sentence of a write session that was committed."""
    told = done.told
    if not done.changed:
        skipped = isinstance(told, Whole) and told.skipped
        outcome = "unchanged, since it exists" if skipped else "unchanged, its content was the same"
    else:
        outcome = f"created file{_folders(done)}" if done.created else "updated file"
    notes = list(done.notes)
    if isinstance(told, Whole) and told.changed_since:
        notes.append("it had changed since the session began; revert_edit brings that state back")
    return " ".join((f"Committed write session {number} to {done.shown}: {outcome}.", *_noted(notes), facts(done)))
