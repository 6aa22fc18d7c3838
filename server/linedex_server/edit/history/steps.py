"""What the history tells: steps, the files they changed, intents, and which steps stand.

Promise: values only. Whether a step is undone is never stored: `standing` derives it from the steps of one file in
their order, so no crash and no removal of old steps can leave it wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from linedex_server.edit.splice import Splice

Read: TypeAlias = Callable[[int, int], bytes]
"""Returns up to `size` bytes from `offset`: (offset, size)."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def step_id(number: int) -> str:
    """Return the name of a step's number: base 36, lower case."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def step_number(identifier: str) -> int | None:
    """Return the number of a step's name in any case, None for what is no such name."""
    text = identifier.strip().lower()
    # twelve digits are still below SQLite's largest integer
    return int(text, 36) if 0 < len(text) <= 12 and all(digit in _DIGITS for digit in text) else None


@dataclass(frozen=True, slots=True)
class Undoes:
    """What a step takes back.

    Attributes:
        step: the step it is about.
        restores: True when the file became what it was before that step, False when that step alone was taken back.
    """

    step: str
    restores: bool


@dataclass(frozen=True, slots=True)
class NewFileStep:
    """One file of a step that is about to be made.

    Attributes:
        path: absolute, free of links.
        splices: `ordered`, in offsets of the former bytes.
        read: the former bytes, of the snapshot that the splices are about; never asked for a file that is created.
        size_before: bytes of the former file, 0 when there was none.
        size_after: bytes of the new one.
        created: whether there was no such file before.
        removed: whether there is none after.
        mode_before: permission bits before, None for a file that is created.
        mode_after: permission bits after, None for one that is removed.
        hash_before: SHA-256 in hex, or a `rev:` token of a large file, None when there was none.
        hash_after: the same of the new bytes; None while it is not known (`History.settle` takes it too).
        made_folders: folders made for it, outermost first, absolute.
        lines_added: lines the step brought.
        lines_removed: lines it took away.
    """

    path: bytes
    splices: tuple[Splice, ...]
    read: Read
    size_before: int
    size_after: int
    created: bool = False
    removed: bool = False
    mode_before: int | None = None
    mode_after: int | None = None
    hash_before: str | None = None
    hash_after: str | None = None
    made_folders: tuple[bytes, ...] = ()
    lines_added: int = 0
    lines_removed: int = 0


@dataclass(frozen=True, slots=True)
class FileStep:
    """One file of a recorded step; the fields of `NewFileStep`, and what is kept of it.

    Attributes:
        whole: whether the former file is kept whole; otherwise the former bytes of its splices are.
        undone_by: the step that took this one back for this file, None when it stands.
    """

    path: bytes
    size_before: int
    size_after: int
    created: bool
    removed: bool
    mode_before: int | None
    mode_after: int | None
    hash_before: str | None
    hash_after: str | None
    made_folders: tuple[bytes, ...]
    lines_added: int
    lines_removed: int
    whole: bool
    undone_by: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One write: all files of one call.

    Attributes:
        id: its name, short; later steps have later names.
        time_ns: when it was prepared, since the epoch.
        tool: which tool made it.
        undoes: what it takes back, None for an ordinary write.
        files: what it changed, in the order of the call.
    """

    id: str
    time_ns: int
    tool: str
    undoes: Undoes | None
    files: tuple[FileStep, ...]

    @property
    def undone_by(self) -> str | None:
        """The step that took this one back, None while one of its files stands."""
        undone = [file.undone_by for file in self.files]
        return undone[-1] if undone and all(undone) else None

    def file(self, path: bytes) -> FileStep | None:
        """Return what the step did to a file, None when it did not touch it."""
        return next((file for file in self.files if file.path == path), None)


@dataclass(frozen=True, slots=True)
class PastStep:
    """What one step did to one file.

    Attributes:
        id: the step.
        undoes: what it took back, None for an ordinary write.
        file: what it did.
    """

    id: str
    undoes: Undoes | None
    file: FileStep


@dataclass(frozen=True, slots=True)
class Change:
    """One splice of a recorded step, without its bytes.

    Attributes:
        start: first former byte that was replaced.
        end: the byte after the last one.
        length: bytes that stand there since.
        lead: unchanged bytes before it that are remembered to find it again.
        trail: the same after it.
    """

    start: int
    end: int
    length: int
    lead: int = 0
    trail: int = 0


@dataclass(frozen=True, slots=True)
class Intent:
    """How one file of a prepared step is about to be put down; what a start after a crash needs to know.

    Attributes:
        path: the target, absolute.
        way: how.
        temporary: absolute path of the temporary file, b"" when there is none.
        device: of the temporary file, 0 while it is not known.
        inode: of the temporary file, 0 while it is not known.
        kept: first and last (exclusive) former byte kept to roll back a write in place.
        note: whatever else the committer wants to find again.
    """

    path: bytes
    way: Literal["replace", "create", "in_place", "remove"]
    temporary: bytes = b""
    device: int = 0
    inode: int = 0
    kept: tuple[int, int] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Writer:
    """A process, told apart from later ones with its number.

    Attributes:
        process: its number.
        started: when it began, in words of the system; "" where the system does not tell.
    """

    process: int
    started: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A step that was prepared and neither settled nor discarded.

    Attributes:
        step: the step.
        intents: the latest ones told.
        writer: the process that prepared it.
    """

    step: Step
    intents: tuple[Intent, ...]
    writer: Writer


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one file, as far as undoing is concerned: its number and what it took back."""

    number: int
    undoes: int | None
    restores: bool


_Stack: TypeAlias = "tuple[int, _Stack] | None"


@dataclass(frozen=True, slots=True)
class Standing:
    """Which steps of one file stand after all of them.

    Attributes:
        newest: the newest ordinary step that stands, None when there is none.
        undone_by: step to the one that took it back.
    """

    newest: int | None
    undone_by: dict[int, int]


def standing(events: Sequence[Event]) -> Standing:
    """Return which steps of one file stand.

    An ordinary step is laid on the pile of those that stand. One that takes a single step back draws it out of the
    pile. One that restores puts back the pile as it was before the step it names.

    Args:
        events: the steps of the file, oldest first; the oldest ones may be missing.
    """
    pile: _Stack = None
    before: dict[int, _Stack] = {}
    undone: dict[int, int] = {}
    for event in events:
        before[event.number] = pile
        if event.undoes is None:
            pile = (event.number, pile)
        elif event.restores:
            # before a step that was removed since, none of the steps still known had been made
            former = before.get(event.undoes)
            _note(pile, former, event.number, undone)
            undone[event.undoes] = event.number
            pile = former
        else:
            pile = _without(pile, event.undoes)
            undone[event.undoes] = event.number
    return Standing(pile[0] if pile else None, undone)


def _without(pile: _Stack, number: int) -> _Stack:
    above = []
    while pile and pile[0] > number:
        above.append(pile[0])
        pile = pile[1]
    if pile and pile[0] == number:
        pile = pile[1]
    for one in reversed(above):
        pile = (one, pile)
    return pile


def _note(old: _Stack, new: _Stack, by: int, undone: dict[int, int]) -> None:
    """Note what stands no more and what stands again; both piles have their newest step on top."""
    while old is not new:
        if old and (not new or old[0] > new[0]):
            undone[old[0]] = by
            old = old[1]
        elif new and (not old or new[0] > old[0]):
            undone.pop(new[0], None)
            new = new[1]
        elif old and new:
            old, new = old[1], new[1]


def contents(steps: Sequence[PastStep]) -> dict[str, tuple[int, int]]:
    """Return which states of one file have equal bytes: by step a number for what it found, and for what it left.

    Hashes alone do not tell that of large files, whose `rev:` tokens are new after every write. What was undone or
    restored has the bytes it had, which is what makes one undo after another possible.

    Args:
        steps: the steps of the file, oldest first; the oldest ones may be missing.
    """
    found: dict[str, tuple[int, int]] = {}
    numbers: dict[str, int] = {}
    unused = itertools.count()

    def number(known: str | None) -> int:
        fresh = next(unused)
        return fresh if known is None else numbers.setdefault(known, fresh)

    for step in steps:
        before = number(step.file.hash_before)
        target = found.get(step.undoes.step) if step.undoes else None
        if step.undoes and target and (step.undoes.restores or before == target[1]):
            after = target[0]
            if step.file.hash_after is not None:
                numbers[step.file.hash_after] = after
        else:
            after = number(step.file.hash_after)
        found[step.id] = before, after
    return found
