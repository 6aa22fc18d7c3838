"""What a commit is asked for and what it tells: targets, plans, and what became of them.

Values only. A planner is pure: it is asked again, on a fresh snapshot, when the file changed while it was written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from linedex.files.places import Place
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.splice import Splice


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to become of one file.

    Attributes:
        splices: `ordered`, in offsets of the snapshot; for a file that does not exist one at 0 with its content.
        told: carried through to `Committed.told`.
        mode: permission bits to set; None keeps them, or leaves those of a new file to the system.
        remove: delete the file; `splices` is empty then.
        remove_folders: absolute paths of folders to remove afterwards if they are empty, innermost first.
        lines_added: lines that the history says were brought; None counts the line feeds in `splices`.
        lines_removed: the same of those taken away.
    """

    splices: tuple[Splice, ...]
    told: object = None
    mode: int | None = None
    remove: bool = False
    remove_folders: tuple[bytes, ...] = ()
    lines_added: int | None = None
    lines_removed: int | None = None


Planner: TypeAlias = Callable[[Snapshot | None], Plan]
"""Returns what to do with a file; None stands for a file that does not exist. Raises to refuse the whole commit."""


@dataclass(frozen=True, slots=True)
class Target:
    """One file of a commit.

    Attributes:
        place: where it is, links resolved.
        shown: how the caller spells it.
        plan: asked what to do once the file is open.
        create_dirs: whether missing folders above a new file are made.
    """

    place: Place
    shown: str
    plan: Planner
    create_dirs: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of one target.

    Attributes:
        place: where it is.
        shown: how the caller spells it.
        created: whether it did not exist before.
        removed: whether it does not exist any more.
        changed: whether anything was written; if not, there is no step.
        hash: token of its bytes now, "" when there is no such file.
        step: the history's id of what was done.
        told: what the plan carried.
        made_folders: absolute paths of folders that were made, outermost first.
        splices: as they were put down.
        notes: what the caller should be told beside success.
    """

    place: Place
    shown: str
    created: bool
    removed: bool
    changed: bool
    hash: str
    step: str | None
    told: object
    made_folders: tuple[bytes, ...]
    splices: tuple[Splice, ...]
    notes: tuple[str, ...] = ()
