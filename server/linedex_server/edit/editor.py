"""The face of the edit engine: paths judged, guards checked, plans handed to the committer, what all writers share.

Promise: nothing outside the allowed roots is written, and nothing of linedex's own state; a call that is cancelled
before its bytes are put down leaves every file as it was, and one that is cancelled later has happened whole. All
editors of one state folder in this process share one history, one committer and its locks, and the write sessions.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from linedex.errors import BadArgument, LinedexError, NotFound
from linedex.files import fingerprint as fingerprints
from linedex.files.compressed.codec import MAGIC_BYTES, codec_of
from linedex.files.names import display
from linedex.files.places import Place
from linedex.limits import Limits
from linedex.model import Change, Fingerprint
from linedex.query.progress import Progress
from linedex_server.config import Settings
from linedex_server.edit.content.document import WHOLE_BYTES, Document
from linedex_server.edit.errors import Compressed, OwnState
from linedex_server.edit.history.budget import Budget
from linedex_server.edit.history.history import History
from linedex_server.edit.history.steps import Undoes
from linedex_server.edit.planners import Subject
from linedex_server.edit.put.commit import Committer
from linedex_server.edit.put.folders import Parent
from linedex_server.edit.put.plans import Committed, Plan, Planner, Target
from linedex_server.edit.put.snapshot import Snapshot, parsed_hash
from linedex_server.edit.sessions import Sessions
from linedex_server.edit.undo.revert import difference, known_version
from linedex_server.workspace import Workspace

_TOLD_SPLICES: Final = 10_000
"""Splices up to which an index is told where a large file changed."""
_DIFFED_BYTES: Final = 4 << 20
"""Files of which a refusal shows what changed."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Look:
    """A plan that was not carried out.

    Attributes:
        shown: how the caller spells the file.
        told: what the plan carries.
        token: hash of the file that it is about, "" when there is none.
    """

    shown: str
    told: object
    token: str


class Engine:
    """What all editors of one state folder share in this process.

    Attributes:
        history: the steps that were made.
        committer: puts bytes down.
        sessions: the write sessions.
    """

    def __init__(self, state_dir: Path, budget: Budget, limits: Limits) -> None:
        self.history = History(state_dir / "history" / "history.db", budget)
        self.committer = Committer(self.history, limits)
        self.sessions = Sessions(state_dir / "sessions")
        self._recovering = threading.Lock()
        self._recovered = False

    def recover(self) -> None:
        """Finish or take back what processes that are gone left half done; only the first call does anything.

        Raises:
            WriteFailed: the history cannot be read or written.
        """
        with self._recovering:
            if not self._recovered:
                if self.history.path.exists():
                    for sentence in self.committer.recover():
                        log.warning("%s", sentence)
                self._recovered = True


_ENGINES: Final[weakref.WeakValueDictionary[str, Engine]] = weakref.WeakValueDictionary()
_OPENING: Final = threading.Lock()


def engine_of(settings: Settings) -> Engine:
    """Return the engine of a state folder, alive as long as somebody holds it; the first to ask sets the budget."""
    key = os.path.realpath(settings.state_dir)
    with _OPENING:
        engine = _ENGINES.get(key)
        if engine is None:
            budget = Budget(stored_bytes=settings.history_bytes, steps=settings.history_steps)
            engine = _ENGINES[key] = Engine(settings.state_dir, budget, settings.limits)
        return engine


class Editor:
    """What the write tools of one session call."""

    def __init__(self, workspace: Workspace) -> None:
        """Edit the files of `workspace`; nothing is opened before the first call."""
        self._workspace = workspace
        self._guard = threading.Lock()
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """What this editor shares with others; the first to ask sees to what a crash left behind."""
        with self._guard:
            if self._engine is None:
                self._engine = engine_of(self._workspace.settings)
        self._engine.recover()
        return self._engine

    def place(self, path: str, *, must_exist: bool = True) -> Place:
        """Return where a path leads, for writing.

        Args:
            path: any spelling that leads below an allowed root, through links too.
            must_exist: whether a missing file is refused.

        Raises:
            BadArgument: the path of a file that may be new names a folder.
            OwnState: it lies in linedex's own state folder.
            LinedexError: as `Workspace.place`.
        """
        if path.endswith("/") and not must_exist:
            raise BadArgument(f"`{path}` ends with a slash, so it names a folder.", "Name the file in it.")
        place = self._workspace.place(path, must_exist=must_exist)
        own = os.fsencode(os.path.realpath(self._workspace.settings.state_dir))
        if place.absolute == own or place.absolute.startswith(own + b"/"):
            raise OwnState(f"`{path}` lies in linedex's own state folder, which no tool writes.", "Name another file.")
        return place

    def shown(self, place: Place) -> str:
        """Return how answers spell a place."""
        return self.called(place.absolute)

    def called(self, absolute: bytes) -> str:
        """Return how answers spell an absolute path."""
        return self._workspace.called(absolute)

    def demand_folder(self, place: Place, *, create: bool) -> None:
        """Do nothing if there is a folder for a new file, or it may be made.

        Raises:
            LinedexError: there is none, or it cannot be opened.
        """
        Parent(place, create=create).close()

    def target(self, path: str, plan: Planner, *, create_dirs: bool = False, new: bool = False) -> Target:
        """Return a target for `commit`.

        Args:
            path: as the caller spells it.
            plan: what to do with the file.
            create_dirs: whether missing folders above it are made.
            new: whether there need not be such a file yet.

        Raises:
            LinedexError: as `place`.
        """
        place = self.place(path, must_exist=not new)
        return Target(place, self.shown(place), plan, create_dirs)

    def commit(
        self, targets: Sequence[Target], *, tool: str, progress: Progress, undoes: Undoes | None = None
    ) -> tuple[Committed, ...]:
        """Make all of the targets' plans, or none; one step of the history, which the indexes hear of.

        Args:
            targets: each file once.
            tool: who asks, for the history.
            progress: who waits.
            undoes: what the step takes back, None for an ordinary write.

        Raises:
            Cancelled: the caller waits no longer; nothing was written.
            LinedexError: nothing was written; the error says why.
        """
        before: dict[bytes, Fingerprint] = {}
        progress.check()
        with ExitStack() as expected:
            for target in targets:
                expected.enter_context(self._expecting(target.place))
            done = self.engine.committer.commit([_noting(one, before) for one in targets], tool=tool, undoes=undoes)
            for one in done:
                self._tell(one, before.get(one.place.absolute))
        return done

    def _expecting(self, place: Place) -> AbstractContextManager[None]:
        """Have the index of a large file wait until it is told what becomes of it."""
        try:
            if os.stat(place.absolute).st_size <= self._workspace.settings.limits.large_file:
                return nullcontext()
            index, path = self._workspace.at(display(place.absolute))
        except (OSError, LinedexError):
            return nullcontext()  # a new file, or one that cannot be read, which the commit will say
        return index.expecting(path)

    def _tell(self, done: Committed, before: Fingerprint | None) -> None:
        """Spare the index a whole read of a large file; of a small one it hears by itself."""
        large = before is not None and before.size > self._workspace.settings.limits.large_file
        if before is None or not large or not done.changed or done.removed or len(done.splices) > _TOLD_SPLICES:
            return
        try:
            index, path = self._workspace.at(display(done.place.absolute))
        except LinedexError:
            return  # somebody else removed it since; the write was made all the same
        index.edited(path, before, [(one.start, one.end, one.end - one.start + one.delta) for one in done.splices])

    @contextmanager
    def opened(self, place: Place) -> Iterator[Snapshot | None]:
        """Open a file for looking, None when there is none.

        Raises:
            LinedexError: it cannot be read, or is no file.
        """
        try:
            snapshot = Snapshot(place, self._workspace.settings.limits)
        except NotFound:
            yield None
            return
        with snapshot:
            yield snapshot

    def look(self, target: Target) -> Look:
        """Return what a target's plan would do, and write nothing.

        Raises:
            LinedexError: as `commit`, but for what only the disk can say.
        """
        with self.opened(target.place) as snapshot:
            plan = target.plan(snapshot)
            return Look(target.shown, plan.told, "" if snapshot is None else snapshot.token())

    def subject(self, place: Place) -> Subject:
        """Return what planners need to know of a file beside its bytes."""
        return Subject(self.shown(place), self.document, self._since)

    def _since(self, snapshot: Snapshot, base_hash: str) -> str:
        if snapshot.size > _DIFFED_BYTES:
            return ""
        before = known_version(self.engine.history, snapshot.place.absolute, parsed_hash(base_hash))
        return "" if before is None else difference(before, snapshot.read(0, snapshot.size))

    def document(self, snapshot: Snapshot) -> Document:
        """Return the text of a snapshot; of a large file, what the index knows of exactly these bytes is taken.

        Raises:
            Compressed: its bytes are not those of the text that reads and searches show.
        """
        if codec := codec_of(snapshot.place.absolute, snapshot.read(0, MAGIC_BYTES)):
            raise Compressed(
                f"{self.shown(snapshot.place)} is compressed ({codec}): read-only.",
                "Decompress it, edit the text and compress it again; reads and searches decode it by themselves.",
            )
        if snapshot.size > WHOLE_BYTES:
            index, path = self._workspace.at(display(snapshot.place.absolute))
            known = index.layout(path)
            if fingerprints.change(known.fingerprint, fingerprints.from_stat(snapshot.status)) is Change.UNCHANGED:
                return Document(snapshot.read, snapshot.size, known.format, lambda: known.lines)
        return Document.detected(snapshot.read, snapshot.size, self._workspace.settings.limits)

    def enclosing(self, place: Place) -> Callable[[str], Sequence[tuple[int, int]]]:
        """Return a look-up in the outline of a file: from `Class.method`, or its last part, to first and last lines."""

        def ranges(name: str) -> Sequence[tuple[int, int]]:
            index, path = self._workspace.at(display(place.absolute))
            symbols = index.outline(path).symbols
            whole = [one for one in symbols if one.path == name]
            found = whole or [one for one in symbols if one.path.endswith(f".{name}")]
            return [(one.line, one.end_line) for one in found]

        return ranges


def _noting(target: Target, before: dict[bytes, Fingerprint]) -> Target:
    """Return a target whose planner notes the state of the file that it plans for."""

    def plan(snapshot: Snapshot | None) -> Plan:
        if snapshot is not None:
            before[target.place.absolute] = fingerprints.from_stat(snapshot.status)
        return target.plan(snapshot)

    return replace(target, plan=plan)
