"""From what a tool asks for to a planner of the committer: the guards first, then the text, then bytes.

Promise: a planner is pure and may be asked again on a fresh snapshot. The first guard that fails is the one that is
told: whether the file may be there, its hash, then what the change itself expects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from linedex.errors import NotFound
from linedex_server.edit.content.diff import Edited, lines_changed, rewritten
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.style import Style, conversions, encoded_new, splices
from linedex_server.edit.content.text import Text, argument
from linedex_server.edit.errors import Conflict, Exists
from linedex_server.edit.plan import full
from linedex_server.edit.plan.planned import Planned
from linedex_server.edit.put.plans import Plan, Planner
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.splice import Splice, TextChange
from linedex_server.edit.streamed import LargeText, styled_as

KEPT: Final = Style()
Changes: TypeAlias = Sequence[tuple[Text, Sequence[TextChange]]]


@dataclass(frozen=True, slots=True)
class Subject:
    """The file that a planner is about.

    Attributes:
        shown: how the caller spells it.
        document: makes the document of a snapshot.
        since: returns what changed in a snapshot since the state that a hash names, as a diff, "" if it is not known.
    """

    shown: str
    document: Callable[[Snapshot], Document]
    since: Callable[[Snapshot, str], str]

    def demand(self, snapshot: Snapshot, base_hash: str | None) -> None:
        """Do nothing if the file is in the state that `base_hash` names, or if it names none.

        Raises:
            BadArgument: it is no hash.
            Conflict: the file is in another state; what changed since is told where it is known.
        """
        try:
            snapshot.demand(base_hash, self.shown)
        except Conflict as conflict:
            told = self.since(snapshot, base_hash or "")
            raise Conflict(f"{conflict} What changed:\n{told}" if told else str(conflict), conflict.hint) from None


@dataclass(frozen=True, slots=True)
class Whole:
    """What a write of a whole text found.

    Attributes:
        skipped: whether the file was left as it is because there is one.
        changed_since: whether the file is another than it was when the writer began, as far as that was told.
        lines: how many were added and removed, where the file was small enough to be compared.
        converted: what of the style was converted, as parts of a sentence.
    """

    skipped: bool = False
    changed_since: bool = False
    lines: tuple[int, int] | None = None
    converted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change of parts made.

    Attributes:
        made: what its planner planned.
        converted: what of the style was converted, as parts of a sentence.
    """

    made: Planned
    converted: tuple[str, ...] = ()


def changing(
    subject: Subject,
    work: Callable[[Document], tuple[Changes, object]],
    *,
    base_hashes: Sequence[str] = (),
    style: Style = KEPT,
) -> Planner:
    """Return the planner of a change to a file that must be there.

    Args:
        subject: the file.
        work: returns what changes, and what the answer tells of it (`Plan.told`).
        base_hashes: of the state that the caller means; each has to fit.
        style: what to convert.
    """

    def plan(snapshot: Snapshot | None) -> Plan:
        if snapshot is None:
            raise NotFound(f"There is no `{subject.shown}`.", "write_full_text makes a new file.")
        for mark in base_hashes:
            subject.demand(snapshot, mark)
        document = subject.document(snapshot)
        changes, told = work(document)
        added, removed = lines_changed(by_text(changes))
        made = splices(document, changes, style)
        return Plan(made, told=told, lines_added=added, lines_removed=removed)

    return plan


def by_text(changes: Changes) -> list[Edited]:
    """Return changes as a diff takes them: each text once, in the order of the file, with its changes in order."""
    found: dict[int, tuple[Text, list[TextChange]]] = {}
    for text, some in changes:
        found.setdefault(id(text), (text, []))[1].extend(some)
    parts = sorted(found.values(), key=lambda part: part[0].start)
    return [Edited(text.text, sorted(some, key=_place), text.first_line) for text, some in parts]


def _place(change: TextChange) -> tuple[int, int]:
    return change.start, change.end


def whole(
    subject: Subject,
    content: str | LargeText,
    style: Style,
    *,
    if_exists: str = "overwrite",
    base_hash: str | None = None,
    hash_then: str | None = None,
) -> Planner:
    """Return the planner of a write of a whole text; its `Plan.told` is a `Whole`.

    Args:
        subject: the file.
        content: the text.
        style: the form it is written in.
        if_exists: what to do when there is such a file: `overwrite`, `error` or `skip`.
        base_hash: the state that the caller means, None for any.
        hash_then: the file's token when the writer began, None if it is not known.
    """

    def plan(snapshot: Snapshot | None) -> Plan:
        if snapshot is None:
            if base_hash is not None:
                raise Conflict(
                    f"There is no {subject.shown}, so it has no hash {base_hash}.",
                    "Leave base_hash out to make a new file.",
                )
            if isinstance(content, LargeText):
                return Plan(content.splices(style, 0), told=Whole())
            text = argument("content", content)
            lines = text.count("\n") + (text[-1:] not in ("", "\n"))
            return Plan((Splice(0, 0, encoded_new(text, style)),), told=Whole(), lines_added=lines, lines_removed=0)
        if if_exists == "error":
            raise Exists(f"{subject.shown} exists.", 'Name another file, or give if_exists="overwrite".')
        if if_exists == "skip":
            return Plan((), told=Whole(skipped=True))
        subject.demand(snapshot, base_hash)
        document = subject.document(snapshot)
        told = Whole(changed_since=hash_then is not None and hash_then != snapshot.token())
        if isinstance(content, LargeText):
            wanted = style if document.format.binary else styled_as(document, style)
            return Plan(content.splices(wanted, snapshot.size), told=told)
        if document.format.binary:
            return Plan((Splice(0, snapshot.size, encoded_new(argument("content", content), style)),), told=told)
        made = full.splices(document, content, style)
        if not document.fits:
            return Plan(made, told=told)
        added, removed = lines_changed([rewritten(document.whole.text, document.argument("content", content))])
        told = replace(told, lines=(added, removed), converted=conversions(document, style))
        return Plan(made, told=told, lines_added=added, lines_removed=removed)

    return plan
