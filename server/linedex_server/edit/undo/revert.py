"""Undoing and restoring: what `revert_edit` makes of the history, as planners for the committer.

Promise: a file that nobody else has touched becomes, byte for byte and mode for mode, what it was. Where somebody else
has, undoing takes back only our own splices, and only if their bytes still stand where they came to; everything else
is refused, with a diff where the history knows enough for one. Restoring by id needs no such thing, since the present
bytes are kept in the step that it makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from linedex.files import text_format
from linedex.files.names import display
from linedex.model import RelPath
from linedex_server.edit.content import diff
from linedex_server.edit.content.text import decoded
from linedex_server.edit.errors import Conflict, NoSuchStep
from linedex_server.edit.history import versions
from linedex_server.edit.history.history import History
from linedex_server.edit.history.steps import FileStep, PastStep, Step, Undoes, contents
from linedex_server.edit.put.plans import Plan, Planner
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.splice import Splice, applied
from linedex_server.edit.undo import relocation

_DIFFED_BYTES: Final = 4 << 20
"""Versions of which a diff is made."""
_LOOKED_THROUGH: Final = 200
"""Steps of a file among which the version of a hash is looked for."""


@dataclass(frozen=True, slots=True)
class Reverted:
    """What was done to one file; `Plan.told` of a revert.

    Attributes:
        step: what it was done about.
        tool: which tool had made that step.
        how: `undone`: the file is what it was before the step; `spliced`: only the step's own splices were taken back,
            since others have changed the file; `restored`: the file is what it was before the step, and whatever came
            after it is gone; `unchanged`: it was that already.
        foreign: whether others had changed the file; where it was restored, the new step keeps what they had made.
    """

    step: str
    tool: str
    how: Literal["undone", "spliced", "restored", "unchanged"]
    foreign: bool


@dataclass(frozen=True, slots=True)
class Revert:
    """How a step is taken back.

    Attributes:
        step: the step.
        undoes: what the history is told.
        planners: what to do with each file, by absolute path.
    """

    step: Step
    undoes: Undoes
    planners: tuple[tuple[bytes, Planner], ...]


def revert(
    history: History, path: bytes, identifier: str | None = None, called: Callable[[bytes], str] | None = None
) -> Revert:
    """Return how to take back a step, in all files that it changed.

    Args:
        history: where the steps are.
        path: absolute path of the file asked about; it need not exist.
        identifier: the step whose former state is wanted; None for the newest step that is neither undone nor itself
            an undo.
        called: how refusals spell an absolute path; None spells it out.

    Raises:
        NoSuchStep: there is none, or it did not change this file, or it was removed to keep the budget.
        Unreadable: the history cannot be read.
    """
    called = called or (lambda absolute: display(RelPath(absolute)))
    shown = called(path)
    if identifier is None:
        newest = history.newest_standing(path)
        if newest is None:
            raise NoSuchStep(
                f"There is no edit of `{shown}` left to undo.", "See edit_history; an undo is taken back by its id."
            )
        step = history.step(newest)
        files = [file for file in step.files if file.undone_by is None]
        return Revert(
            step,
            Undoes(step.id, restores=False),
            tuple((one.path, _Undo(history, step, one, called).plan) for one in files),
        )
    step = history.step(identifier)
    if step.file(path) is None:
        others = ", ".join(f"`{called(file.path)}`" for file in step.files[:3])
        raise NoSuchStep(f"Step {step.id} did not change `{shown}`; it changed {others}.", "See edit_history.")
    planners = tuple((one.path, _Restoration(history, step, one, called).plan) for one in step.files)
    return Revert(step, Undoes(step.id, restores=True), planners)


def known_version(history: History, path: bytes, token: str) -> bytes | None:
    """Return the version of a file that a hash names, None where the history does not have it, or not whole.

    Args:
        history: where the steps are.
        path: absolute path of the file.
        token: SHA-256 in hex, at least 16 digits of its beginning.
    """
    for step in history.steps(path, limit=_LOOKED_THROUGH):
        file = step.file(path)
        if file is None or file.size_before > _DIFFED_BYTES:
            continue
        if file.whole and _is_named(file.hash_before, token):
            kept = history.former(step.id, path)
            return kept.read(0, kept.size)
        if file.size_after <= _DIFFED_BYTES and _is_named(file.hash_after, token):
            left = _left_by(history, step.id, file)
            if left is not None:
                return left
    return None


def difference(before: bytes, after: bytes, bounds: diff.Bounds = diff.DEFAULT_BOUNDS) -> str:
    """Return the unified diff of two versions of a file, decoded as the later one is."""
    found = text_format.detect(lambda offset, size: after[offset : offset + size], len(after))
    if found.binary:
        return ""
    mark = after[: found.bom]
    old, new = (
        decoded(content.removeprefix(mark), found.encoding).replace("\r\n", "\n") for content in (before, after)
    )
    if "\n" not in old + new:
        old, new = old.replace("\r", "\n"), new.replace("\r", "\n")
    return diff.unified(old, new, bounds)


def _lines_changed(snapshot: Snapshot, splices: Sequence[Splice]) -> tuple[int | None, int | None]:
    """Return how many lines splices bring and take away; None for a file that is too large to be compared."""
    if snapshot.size > _DIFFED_BYTES or sum(len(splice.new) for splice in splices) > _DIFFED_BYTES:
        return None, None
    before = snapshot.read(0, snapshot.size)
    # lines are counted as bytes between line feeds, whatever the encoding
    return diff.lines_changed(
        [diff.rewritten(before.decode("latin-1"), applied(before, tuple(splices)).decode("latin-1"))]
    )


def _read_alike(one: bytes, other: bytes) -> bool:
    """Return whether text of one of two versions of a file may stand in the other, as far as encodings go."""
    found = [text_format.detect_bytes(content).encoding for content in (one, other)]
    if any(encoding.startswith(("utf-16", "utf-32")) for encoding in found):
        return found[0] == found[1]
    return found[0] == found[1] or one.isascii() or other.isascii()


def _is_named(known: str | None, token: str) -> bool:
    return known is not None and known.startswith(token.lower().removeprefix("sha256:"))


def _is_in(snapshot: Snapshot, known: str | None) -> bool:
    """Return whether the open file has the bytes of a hash or token of the history."""
    if known is None:
        return False
    return snapshot.revision() == known if known.startswith("rev:") else snapshot.sha256().startswith(known)


def _left_by(history: History, step: str, file: FileStep) -> bytes | None:
    """Return the file that a step left, where all of it is known."""
    splices = _remembered(history, step, file)
    if splices is None or not (file.whole or file.created):
        return None
    kept = history.former(step, file.path)
    return relocation.left_by(kept.read(0, kept.size), splices)


def _remembered(history: History, step: str, file: FileStep) -> tuple[relocation.Remembered, ...] | None:
    places = history.places(step, file.path)
    return relocation.remembered(history.changes(step, file.path), places.read(0, places.size))


class _OneFile:
    """One of the files that a step changed, and how answers spell it."""

    def __init__(self, history: History, step: Step, file: FileStep, called: Callable[[bytes], str]) -> None:
        self._history = history
        self._step = step
        self._file = file
        self._shown = called(file.path)


class _Undo(_OneFile):
    """Takes one step back in one file, and nothing else."""

    def plan(self, snapshot: Snapshot | None) -> Plan:
        """Return what undoes the step in the open file."""
        file = self._file
        now = self._history.step(self._step.id).file(file.path)
        if now is None or now.undone_by is not None:
            raise Conflict(f"Step {self._step.id} has been undone meanwhile. Nothing was written.", "See edit_history.")
        if snapshot is None:
            raise Conflict(
                f"`{self._shown}` does not exist any more, so step {self._step.id} cannot be undone in it.",
                f'revert_edit with backup_id="{self._step.id}" makes the file anew as it was before that step.',
            )
        if not (_is_in(snapshot, file.hash_after) or self._is_left_again(snapshot)):
            return self._spliced(snapshot)
        if file.created:
            return Plan(
                (),
                self._told("undone", foreign=False),
                remove=True,
                remove_folders=file.made_folders[::-1],
                lines_added=file.lines_removed,
                lines_removed=file.lines_added,
            )
        version = self._taken_back()
        return self._lines(versions.splices(version, snapshot.read, snapshot.size), snapshot, "undone", foreign=False)

    def _is_left_again(self, snapshot: Snapshot) -> bool:
        """Return whether all that came after the step has been taken back, by steps that left the file as it is."""
        since = self._history.since(self._file.path, self._step.id)
        if not since or not _is_in(snapshot, since[0].file.hash_after):
            return False
        found = contents(since[::-1])
        return self._step.id in found and found[since[0].id][1] == found[self._step.id][1]

    def _taken_back(self) -> Sequence[versions.Piece]:
        file, step = self._file, self._step.id
        former = self._history.former(step, file.path)
        if file.whole:
            return versions.whole(former, file.size_before)
        return versions.taken_back(
            versions.whole(None, file.size_after), self._history.changes(step, file.path), former
        )

    def _spliced(self, snapshot: Snapshot) -> Plan:
        """Return what takes back the step's own splices in a file that others have changed."""
        file, step = self._file, self._step.id
        left = _left_by(self._history, step, file) if file.size_after <= _DIFFED_BYTES else None
        if file.created:
            raise self._refused(snapshot, left, f"step {step} made it; deleting it would lose that change")
        splices = _remembered(self._history, step, file)
        places = None
        if splices is not None:
            places = relocation.relocated(splices, snapshot.read, snapshot.size, left)
        if splices is None or places is None:
            raise self._refused(snapshot, left, f"the bytes that step {step} wrote are not in one certain place now")
        former = self._history.former(step, file.path)
        if left is not None and not _read_alike(former.read(0, former.size), left):
            raise self._refused(snapshot, left, f"step {step} converted its encoding, which their text is in now")
        found: list[Splice] = []
        at = 0
        for splice, (start, end) in zip(splices, places, strict=True):
            gone = splice.change.end - splice.change.start
            offset = splice.change.start if file.whole else at
            at += gone
            found += versions.replaced(start, end, [versions.Piece(former, offset, gone)])
        return self._lines(tuple(found), snapshot, "spliced", foreign=True)

    def _lines(
        self, splices: tuple[Splice, ...], snapshot: Snapshot, how: Literal["undone", "spliced"], *, foreign: bool
    ) -> Plan:
        file = self._file
        # a mode that somebody else has set since stays
        ours = snapshot.status.st_mode & 0o7777 == file.mode_after
        return Plan(
            splices,
            self._told(how, foreign=foreign),
            mode=file.mode_before if ours and file.mode_before != file.mode_after else None,
            lines_added=file.lines_removed,
            lines_removed=file.lines_added,
        )

    def _told(self, how: Literal["undone", "spliced"], *, foreign: bool) -> Reverted:
        return Reverted(self._step.id, self._step.tool, how, foreign)

    def _refused(self, snapshot: Snapshot, left: bytes | None, why: str) -> Conflict:
        message = (
            f"`{self._shown}` has been changed by others since step {self._step.id}, and {why}. Nothing was written."
        )
        if left is not None and snapshot.size <= _DIFFED_BYTES:
            told = difference(left, snapshot.read(0, snapshot.size))
            message += f" What changed since:\n{told}" if told else ""
        if self._file.created:
            return Conflict(message, "Delete it yourself if it is not needed.")
        return Conflict(
            message,
            f'revert_edit with backup_id="{self._step.id}" restores the file as it was before that step, and keeps the '
            "present one as a step.",
        )


class _Restoration(_OneFile):
    """Makes one file what it was before a step, whatever it is now."""

    def plan(self, snapshot: Snapshot | None) -> Plan:
        """Return what restores the file."""
        file = self._file
        since = self._history.since(file.path, self._step.id)
        newest = since[0].file
        foreign = not newest.removed if snapshot is None else not _is_in(snapshot, newest.hash_after)
        if file.created:
            return self._absent(snapshot, since, foreign=foreign)
        version = self._version(since, snapshot, foreign=foreign)
        if snapshot is None:
            return Plan(_content(version), self._told("restored", foreign=foreign), mode=file.mode_before)
        splices = versions.splices(version, snapshot.read, snapshot.size)
        mode = None if file.mode_before == snapshot.status.st_mode & 0o7777 else file.mode_before
        changed = bool(splices) or mode is not None
        told = self._told("restored" if changed else "unchanged", foreign=foreign)
        added, removed = _lines_changed(snapshot, splices)
        return Plan(splices, told, mode=mode, lines_added=added, lines_removed=removed)

    def _absent(self, snapshot: Snapshot | None, since: Sequence[PastStep], *, foreign: bool) -> Plan:
        """Return what deletes a file that did not exist before the step."""
        if snapshot is None:
            return Plan((), self._told("unchanged", foreign=foreign))
        if foreign:
            raise Conflict(
                f"`{self._shown}` did not exist before step {self._step.id}, and has been changed by others since the "
                "last step; deleting it would lose that change. Nothing was written.",
                "Delete it yourself if it is not needed.",
            )
        # what the step made, and what later ones made when they made the file anew
        folders = dict.fromkeys(folder for one in since for folder in one.file.made_folders[::-1])
        return Plan((), self._told("restored", foreign=False), remove=True, remove_folders=tuple(folders))

    def _version(
        self, since: Sequence[PastStep], snapshot: Snapshot | None, *, foreign: bool
    ) -> Sequence[versions.Piece]:
        """Return the file before the step: from the nearest later one that is kept whole, or from the present one."""
        path = self._file.path
        over: list[PastStep] = []
        version: Sequence[versions.Piece] | None = None
        for one in reversed(since):
            if over and not _follows(over[-1].file, one.file):
                raise self._broken(over[-1].id)
            if one.file.whole:
                version = versions.whole(self._history.former(one.id, path), one.file.size_before)
                break
            over.append(one)
        if version is None:
            if snapshot is None or foreign:
                raise self._broken(since[0].id)
            version = versions.whole(None, snapshot.size)
        for one in reversed(over):
            version = versions.taken_back(
                version, self._history.changes(one.id, path), self._history.former(one.id, path)
            )
        return version

    def _broken(self, step: str) -> Conflict:
        return Conflict(
            f"`{self._shown}` was changed by others after step {step}, and of a file of that size the history keeps "
            f"only what each step replaced; so what it was before step {self._step.id} is not known.",
            "Nothing was written. revert_edit without backup_id takes back the newest step alone, if its bytes stand.",
        )

    def _told(self, how: Literal["restored", "unchanged"], *, foreign: bool) -> Reverted:
        return Reverted(self._step.id, self._step.tool, how, foreign)


def _follows(earlier: FileStep, later: FileStep) -> bool:
    """Return whether a step began with the bytes that the one before it had left."""
    return earlier.hash_after is not None and earlier.hash_after == later.hash_before


def _content(version: Sequence[versions.Piece]) -> tuple[Splice, ...]:
    """Return what makes a version of nothing; also of an empty one a file comes to be."""
    return tuple(versions.replaced(0, 0, version)) or (Splice(0, 0, b""),)
