"""Edits by search and replace, over one file or several, all or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linedex.errors import BadArgument
from linedex.files.places import Place
from linedex_server.edit.content.diff import Bounds, of_changes
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.style import AS_EDITED
from linedex_server.edit.editor import Editor
from linedex_server.edit.find.locate import MOST_CHANGES, Placed, Wanted, place
from linedex_server.edit.find.verdicts import ChangesNotPlaced, Verdict
from linedex_server.edit.planners import Changes, by_text, changing
from linedex_server.edit.put.plans import Committed, Target
from linedex_server.render.edit import changes_made, previewed, written
from linedex_server.render.edit_fields import made_fields, missed_fields, placed_fields
from linedex_server.render.schemas import EDIT_CONTENT
from linedex_server.tools.parameters import NAME, WORDS, Given, Parameter, flag, records, text, whole
from linedex_server.tools.tool import Reply, Session, Tool
from linedex_server.tools.writing import BASE_HASH

TOOL = "edit_content"
PREVIEW_LINES = 400
"""Lines of the diffs of a preview, all files together."""
CHANGE = (
    Parameter("search", text(None), "Text as the file has it, without line numbers."),
    Parameter("replace", text(None), 'New text, literal; "" deletes.'),
    Parameter("fuzzy", flag(), "For this change.", None),
    Parameter("replace_all", flag(), "Every exact place.", default=False),
    Parameter("line", whole(1), "A line of the place that is meant.", None),
    Parameter("within", text(NAME), "Symbol around it, as Class.method.", None),
    Parameter("path", text(), "File of this change, if another.", None),
    Parameter("base_hash", text(WORDS), "Of that file.", None),
)


@dataclass(frozen=True, slots=True)
class _Part:
    """The changes of one file: where it is, its guards, and each change with its number in the call."""

    place: Place
    hashes: tuple[str, ...]
    numbers: tuple[int, ...]
    wanted: tuple[Wanted, ...]


def _edit(session: Session, given: Given) -> Reply:
    parts = _parts(session.editor, given)
    try:
        if len(parts) > 1:
            _demand_places(session.editor, parts)
        targets = [_target(session.editor, part) for part in parts]
        if given.flag("preview"):
            return _preview(session, targets)
        done = session.editor.commit(targets, tool=TOOL, progress=session.progress)
    except ChangesNotPlaced as missed:
        if session.output is session.output.TEXT:
            raise
        told, verdicts = f"{missed}\n{missed.hint}", missed.verdicts
        return session.reply(lambda: told, lambda: missed_fields(verdicts, told))
    return session.reply(
        lambda: "\n".join(_sentences(done)),
        lambda: made_fields([(one, _told(one.told)) for one in done], "\n".join(_sentences(done))),
    )


def _sentences(done: Sequence[Committed]) -> list[str]:
    return [written(one, changes_made(_told(one.told))) for one in done]


def _parts(editor: Editor, given: Given) -> tuple[_Part, ...]:
    """The changes by file, in the order in which the call first names each."""
    default = given.maybe_text("absolute_file_path")
    found: dict[bytes, list[tuple[int, Given]]] = {}
    places: dict[bytes, Place] = {}
    for number, change in enumerate(given.records("changes")):
        path = change.maybe_text("path") or default
        if path is None:
            raise BadArgument(f"Change {number} names no file.", "Give absolute_file_path, or a path in each change.")
        at = editor.place(path)
        places[at.absolute] = at
        found.setdefault(at.absolute, []).append((number, change))
    own = given.maybe_text("base_hash")
    guarded = None if own is None or default is None else editor.place(default).absolute
    return tuple(
        _Part(
            places[absolute],
            tuple(
                mark
                for mark in dict.fromkeys(
                    (own if absolute == guarded else None, *(one.maybe_text("base_hash") for _, one in changes))
                )
                if mark is not None
            ),
            tuple(number for number, _ in changes),
            tuple(_wanted(one, given) for _, one in changes),
        )
        for absolute, changes in found.items()
    )


def _wanted(change: Given, given: Given) -> Wanted:
    fuzzy = change.maybe_flag("fuzzy")
    return Wanted(
        change.text("search"),
        change.text("replace"),
        fuzzy=given.flag("fuzzy") if fuzzy is None else fuzzy,
        replace_all=change.flag("replace_all"),
        line=change.maybe_whole("line"),
        within=change.maybe_text("within"),
    )


def _target(editor: Editor, part: _Part) -> Target:
    shown = editor.shown(part.place)

    def work(document: Document) -> tuple[Changes, object]:
        placed = _placed(editor, part, document, shown)
        return _changes(placed), placed

    return Target(
        part.place, shown, changing(editor.subject(part.place), work, base_hashes=part.hashes, style=AS_EDITED)
    )


def _placed(editor: Editor, part: _Part, document: Document, shown: str) -> tuple[Placed, ...]:
    """The places of one file's changes, numbered as in the call."""
    try:
        placed = place(document, part.wanted, editor.enclosing(part.place), shown=shown)
    except ChangesNotPlaced as missed:
        raise ChangesNotPlaced(_numbered(part, missed.verdicts)) from None
    return tuple(replace(one, index=part.numbers[one.index]) for one in placed)


def _numbered(part: _Part, verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [replace(one, index=part.numbers[one.index]) for one in verdicts]


def _changes(placed: Sequence[Placed]) -> Changes:
    return [part for one in placed for part in one.parts]


def _preview(session: Session, targets: Sequence[Target]) -> Reply:
    looks = [session.editor.look(target) for target in targets]
    found = [(look.shown, _told(look.told), look.token) for look in looks]
    room = Bounds(
        lines=max(1, PREVIEW_LINES // len(found)), characters=max(1, session.page_characters * 3 // 4 // len(found))
    )
    diffs = [of_changes(by_text(_changes(placed)), room) for _, placed, _ in found]
    text = previewed(
        [f"{shown}: {changes_made(placed)}.\n{diff}" for (shown, placed, _), diff in zip(found, diffs, strict=True)],
        [(shown, token) for shown, _, token in found],
    )
    return session.reply(
        lambda: text, lambda: placed_fields([(shown, placed, token) for shown, placed, token in found], diffs, text)
    )


def _told(told: object) -> tuple[Placed, ...]:
    assert isinstance(told, tuple)  # what `_target` gives to the planner
    return told


def _demand_places(editor: Editor, parts: Sequence[_Part]) -> None:
    """Do nothing if every change of several files has its place; else refuse with the verdicts of all of them."""
    verdicts: list[Verdict] = []
    missed_any = False
    for part in parts:
        shown = editor.shown(part.place)
        with editor.opened(part.place) as snapshot:
            if snapshot is None:
                return  # the planner says it
            try:
                placed = _placed(editor, part, editor.document(snapshot), shown)
            except ChangesNotPlaced as missed:
                missed_any = True
                verdicts.extend(missed.verdicts)
            else:
                verdicts.extend(
                    Verdict(
                        one.index, fits=True, sentence=f"fits {shown} (line {one.line})", lines=one.lines, how=one.how
                    )
                    for one in placed
                )
    if missed_any:
        raise ChangesNotPlaced(sorted(verdicts, key=lambda one: one.index))


TOOLS = (
    Tool(
        TOOL,
        "Change parts of a file by search and replace: 1 to 50 changes, all or none. A search must name one "
        "place; where blanks, indentation or quotes differ, it is placed tolerantly and said so; a miss names "
        "the nearest place. Only a preview is made unless preview=false; then pass base_hash of the preview or a "
        "read. path in a change takes in further files.",
        (
            Parameter(
                "absolute_file_path",
                text(),
                "May be left out if every change has a path.",
                None,
            ),
            Parameter("changes", records(CHANGE, MOST_CHANGES), "What to replace; places must not overlap."),
            Parameter("fuzzy", flag(), "Tolerate blanks, indentation, empty lines and quotes.", default=True),
            Parameter("preview", flag(), "Only show the diff.", default=True),
            BASE_HASH,
        ),
        _edit,
        EDIT_CONTENT,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
)
