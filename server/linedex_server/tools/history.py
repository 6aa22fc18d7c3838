"""Taking edits back, and what was done so far."""

from __future__ import annotations

from collections.abc import Sequence

from linedex.errors import LinedexError
from linedex.files.names import display
from linedex.files.places import Place
from linedex.query.progress import Progress
from linedex_server.edit.editor import Editor
from linedex_server.edit.history.steps import Step
from linedex_server.edit.put.plans import Committed
from linedex_server.edit.undo.revert import revert
from linedex_server.render.history import (
    backups_fields,
    history_fields,
    history_page,
    reverted_fields,
    reverted_sentence,
)
from linedex_server.render.schemas import EDIT_HISTORY, REVERT_EDIT
from linedex_server.tools.parameters import WORDS, Given, Parameter, text, whole
from linedex_server.tools.tool import Reply, Session, Tool

BACKUPS = 20
"""Steps of the file that a revert tells programs of."""
_LOOKED_AT = 1_000
"""Steps looked at for one page; those of other sessions' folders are left out."""


def _revert(session: Session, given: Given) -> Reply:
    editor = session.editor
    at = editor.place(given.text("absolute_file_path"), must_exist=False)
    done, backups = reverted(editor, at, given.maybe_text("backup_id"), session.progress)
    sentences = "\n".join(reverted_sentence(one) for one in done)
    called = session.workspace.called
    return session.reply(
        lambda: sentences, lambda: reverted_fields(done, backups_fields(backups, at.absolute, called), sentences)
    )


def reverted(
    editor: Editor, at: Place, identifier: str | None, progress: Progress
) -> tuple[tuple[Committed, ...], Sequence[Step]]:
    """Take a step back in all its files, and return what became of them, and the newest steps of the file named.

    Args:
        editor: what writes them; all files of the step must lie below its roots.
        at: the file that is meant.
        identifier: the step whose former state is wanted; None for the newest that stands.
        progress: who waits.

    Raises:
        LinedexError: there is no such step, or it cannot be taken back; nothing was written.
    """
    history = editor.engine.history
    wanted = revert(history, at.absolute, identifier, editor.called)
    targets = [editor.target(display(path), planner, create_dirs=True, new=True) for path, planner in wanted.planners]
    done = editor.commit(targets, tool="revert_edit", progress=progress, undoes=wanted.undoes)
    return done, history.steps(at.absolute, BACKUPS)


def _history(session: Session, given: Given) -> Reply:
    editor, limit = session.editor, given.whole("limit")
    path = given.maybe_text("path")
    place = None if path is None else session.workspace.place(path, must_exist=False)
    called = session.workspace.called
    steps, cursor = visible(editor, None if place is None else place.absolute, limit, given.maybe_text("cursor"))
    where = "" if place is None else called(place.absolute)
    return session.reply(
        lambda: history_page(steps, called, cursor=cursor, where=where),
        lambda: history_fields(steps, called, cursor=cursor),
    )


def visible(editor: Editor, path: bytes | None, limit: int, before: str | None) -> tuple[list[Step], str]:
    """Return a page of the steps whose files all lie below this session's roots, newest first, and where to go on.

    Raises:
        NoSuchStep: `before` is no step.
    """
    found: list[Step] = []
    looked_at = 0
    while len(found) < limit and looked_at < _LOOKED_AT:
        steps = editor.engine.history.steps(path, limit, before)
        for step in steps:
            looked_at += 1
            before = step.id
            if all(_allowed(editor, file.path) for file in step.files):
                found.append(step)
            if len(found) == limit:
                break
        else:
            if len(steps) < limit:
                return found, ""
    return found, before or ""


def _allowed(editor: Editor, path: bytes) -> bool:
    try:
        editor.place(display(path), must_exist=False)
    except LinedexError:
        return False
    return True


TOOLS = (
    Tool(
        "revert_edit",
        "Take back the last write of a file by these tools; again, the one before it. With backup_id, the undo "
        "id of a write, the file becomes what it was before that; the id of an undo redoes. A step over several "
        "files is taken back in all. Changes by others are kept, or it is refused.",
        (
            Parameter("absolute_file_path", text(), "Absolute, or as answers show it."),
            Parameter("backup_id", text(WORDS), "Undo id of a step; else the newest that stands.", None),
        ),
        _revert,
        REVERT_EDIT,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "edit_history",
        "What these tools wrote, newest first: undo id, time, tool, file, lines added and removed, and what was "
        "taken back.",
        (
            Parameter("path", text(), "Only steps of this file, which may be gone.", None),
            Parameter("limit", whole(1, 200), "Steps in a page.", 20),
            Parameter("cursor", text(), "From the page before, to go on.", None),
        ),
        _history,
        EDIT_HISTORY,
    ),
)
