"""The keeper of one root's index: its sidecar, the catalogue that queries start from, and the builder behind them.

Promise: `catalogue` and `reading` are of a usable index or say that there is none; neither ever waits for a build. One
process writes a sidecar. One that came second reads what the first commits, and takes over when the first is gone.
Where the system refuses to build (a full disk, no descriptors, a state folder that went away), the state says so, the
background tries again after a while, and answers come from what is stored and from the files.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import apsw

from linedex.answers import IndexStatus
from linedex.build.crash_policy import CrashPolicy
from linedex.build.freshness import Freshness
from linedex.build.memory import give_back
from linedex.build.progress import Progress
from linedex.build.status import status_of
from linedex.build.sync import Difference
from linedex.build.told_edits import ToldEdits
from linedex.errors import IndexBusy, NotFound, NotWritten
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileState, RelPath
from linedex.store import files as file_rows
from linedex.store.age import age, drops, life
from linedex.store.catalogue import Catalogue
from linedex.store.database import NotWritable, Sidecar, unusable
from linedex.store.failures import STOPPING, is_damage, why
from linedex.store.files import FileRow
from linedex.store.look import Look, NewFile

if TYPE_CHECKING:
    from linedex.build.pipeline import Builder
    from linedex.build.splicing import Edit

T = TypeVar("T")

BACKGROUND = 19
"""Niceness of workers nobody waits for."""
_TELL_SECONDS = 0.1
_UNUSED_SECONDS = 60.0
"""So often the memory of questions is given back."""
_LONG_SECONDS = 2.0
"""After a build longer than this the background rests as long as it took ..."""
_REST_SECONDS = 60.0
"""... but no longer than this."""

_RETRY_SECONDS = 1.0
"""After a build that the system refused the background rests so long before the next, each time twice as long ..."""
_LONGEST_RETRY_SECONDS = 60.0
"""... up to this."""


class Keeper:
    """Keeps one index.

    Attributes:
        policy: which languages may be parsed.
        freshness: what is known of the disk without a walk, once the index is started.
    """

    def __init__(
        self,
        root: Root,
        sidecar: Sidecar,
        settings: WalkSettings,
        limits: Limits,
        *,
        loose: bool = False,
        added_languages: Path | None = None,
    ) -> None:
        """Read what `sidecar` holds; nothing is built before `start` or `build`.

        Args:
            root: the folder.
            sidecar: where its index is stored.
            settings: what of the folder belongs to it.
            limits: sizes and times.
            loose: whether only files that are named belong to it.
            added_languages: the folder of languages a person added.
        """
        self.policy = CrashPolicy()
        self._root = root
        self._sidecar = sidecar
        self._settings = settings
        self._limits = limits
        self._loose = loose
        self._added_languages = added_languages
        self._progress = Progress()
        self._catalogue = Catalogue.empty()
        self._age = ("", -1)
        self._refusal = ""
        self._lock = threading.Lock()
        self._builder: Builder | None = None
        self._thread: threading.Thread | None = None
        self._started = False
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._asking = threading.Lock()
        self._closing = threading.Event()
        self._named: list[FileRow] = []
        self._edits = ToldEdits(self._ask_for_build)
        self.freshness = Freshness(
            *(root, settings, lambda: self._catalogue, self._ask_for_build, self._closing, limits),
        )
        self._load()

    # what queries start from

    def catalogue(self) -> Catalogue:
        """Return the catalogue as it is now; what another process has written meanwhile is read first."""
        if self._sidecar.writer:
            if not self._sidecar.in_place:
                self._ask_for_build()
        else:
            with self._lock:
                if self._started and self._sidecar.take_over():
                    self._load()
                    self._begin()
                elif self._sidecar.look_again() and self._changed_by_another():
                    self._load()
        return self._catalogue

    @contextmanager
    def reading(self, catalogue: Catalogue | None = None) -> Iterator[apsw.Connection | None]:
        """Give a connection to the index, of one moment; None when there is no usable one.

        Of another index than `catalogue` is of, none is given: its ids would mean other files.
        """
        with ExitStack() as held:
            db = None
            if self._sidecar.usable:
                try:
                    db = held.enter_context(self._sidecar.reading())
                    if catalogue is not None and life(db) != catalogue.life:
                        db = None
                except apsw.Error as error:
                    if not unusable(error):
                        raise
                    self.lost(error)
            yield db

    def answered(self, ask: Callable[[apsw.Connection | None], T], catalogue: Catalogue | None = None) -> T:
        """Return what `ask` answers; where the stored index fails halfway, what it answers without one."""
        try:
            with self.reading(catalogue) as db:
                return ask(db)
        except apsw.Error as error:
            if not unusable(error):
                raise
            self.lost(error)
            return ask(None)

    def lost(self, error: apsw.Error) -> None:
        """Hear that the index cannot be read: answers come from the files, and if it is damaged it is begun anew."""
        self._sidecar.lose(error)
        self._ask_for_build()

    def learn(self, look: Look) -> None:
        """Let the background index what a look showed to be new, changed or gone."""
        if look.teaches:
            self._ask_for_build()

    def learn_named(self, new: NewFile) -> None:
        """Let the background index a large file that somebody named and that no walk meets."""
        if self._thread is not None and new.stat.size > self._limits.large_file and (self._loose or new.ignored):
            self._named.append(FileRow(new.key, new.stat, time.time_ns(), ignored=True))
            self._ask_for_build()

    def edited(self, edit: Edit, timeout: float) -> bool:
        """Let the background take in an edit of a large file; return whether the index knew the file within `timeout`.

        Whether it does or not, the file is answered rightly: at worst it is read whole, and then indexed anew.
        """
        if self._thread is None or self._closing.is_set():
            return False
        return self._edits.tell(edit, timeout)

    def expecting(self, path: RelPath) -> AbstractContextManager[None]:
        """Leave a file alone that is about to be edited, until the context ends, in which `edited` is called."""
        return self._edits.expecting(path)

    def status(self, problems: tuple[str, ...] = ()) -> IndexStatus:
        """Return the state of the index; `problems` are those of others, in sentences."""
        catalogue = self.catalogue()

        def told(db: apsw.Connection | None) -> IndexStatus:
            return status_of(
                *(self._root, catalogue, self._progress, db, self._sidecar, self.freshness.words),
                (*self._problems(), *self.freshness.problems, *problems),
                waiting=not self._idle.is_set(),
                mismatches=self._builder.mismatches if self._builder is not None else 0,
            )

        return self.answered(told)

    def _problems(self) -> tuple[str, ...]:
        """Return what keeps the index from being used or written, in sentences."""
        refusal = self._refusal or self._sidecar.refusal
        paused = (f"Indexing pauses, and what is not indexed is read at each query: {refusal}.",) if refusal else ()
        own = (self._sidecar.problem,) if self._sidecar.problem and not refusal else ()
        gone = () if self._root_is_there() else ("The folder is not there now; it is indexed when it comes back.",)
        return *gone, *paused, *own, *self._sidecar.notes

    def _root_is_there(self) -> bool:
        return os.path.isdir(self._root.path)

    def skipped(self) -> Iterator[tuple[RelPath, str]]:
        """Yield the path of each file that is not indexed, and why, in path order."""
        catalogue = self.catalogue()
        for place in (catalogue.facts["state"] == FileState.SKIPPED).nonzero()[0].tolist():
            yield catalogue.path(place), catalogue.reason(place)

    # building

    def start(self) -> None:
        """Begin indexing in the background; returns at once. Changes that queries meet are then indexed too.

        Without the right to write, begin as soon as the process that has it is gone.
        """
        if not self._started:
            self._started = True
            if self._sidecar.writer:
                self._begin()

    def _begin(self) -> None:
        self._idle.clear()
        self._wake.set()
        self._thread = threading.Thread(target=self._work, name="index", daemon=True)
        self._thread.start()

    def build(self, progress: Callable[[IndexStatus], None] | None = None) -> IndexStatus:
        """Bring the index up to date and return its state; `progress` is called about ten times a second meanwhile.

        Raises:
            IndexBusy: another process, or this one in the background, is writing this index.
            NotWritten: the system refuses.
        """
        if not self._sidecar.writer and self._sidecar.refusal:
            raise NotWritten(f"The index cannot be written: {self._sidecar.refusal}.")
        if not self._sidecar.writer or self._started:
            raise IndexBusy(
                "The index is being written by another process.", "Wait for it; `linedex status` says what it is doing."
            )
        done = threading.Event()
        teller = threading.Thread(target=self._tell, args=(progress, done), daemon=True) if progress else None
        if teller:
            teller.start()
        try:
            self._build_once(nice=0)
        except NotWritable as refusal:
            raise NotWritten(f"The index cannot be written: {refusal}.") from refusal
        finally:
            done.set()
            if teller:
                teller.join()
        state = self.status()
        if progress:
            progress(state)
        return state

    def _tell(self, progress: Callable[[IndexStatus], None], done: threading.Event) -> None:
        while not done.wait(_TELL_SECONDS):
            progress(self.status())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the background has nothing to do, or nothing that the system lets it do.

        Return whether that came true within `timeout` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            if not (self.freshness.wait(left) and self._idle.wait(left)):
                return False
            # a change may have been met while the last build ended
            if self.freshness.wait(0):
                return True

    def close(self) -> None:
        """End indexing at the next commit and close the sidecar; what is half done goes on at the next start."""
        self._closing.set()
        if self._builder is not None:
            self._builder.stop()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self.freshness.close()
        self._sidecar.close()

    def _ask_for_build(self) -> None:
        if self._thread is not None and not self._closing.is_set():
            with self._asking:
                if not self._refusal:
                    self._idle.clear()
                self._wake.set()

    def _work(self) -> None:
        if not self._loose:
            self.freshness.begin()
        retry = _RETRY_SECONDS
        while not self._closing.is_set():
            pause = self._limits.checkpoint_seconds
            while not self._wake.wait(pause):
                verified = self._verify_checkpoint()
                if not verified and pause == _UNUSED_SECONDS:
                    self._give_back()
                pause = self._limits.checkpoint_seconds if verified else _UNUSED_SECONDS
            if self._closing.is_set():
                return
            self._wake.clear()
            began = time.monotonic()
            try:
                # the folder may come back under its name; until then there is nothing to index
                with suppress(NotFound):
                    self._build_once(nice=BACKGROUND)
                retry, self._refusal = _RETRY_SECONDS, ""
            except NotWritable as refusal:
                self._refusal = str(refusal)
                self._progress.end()
                self._edits.release()
                self._idle.set()
                self._wake.set()
                self._closing.wait(retry)
                retry = min(2 * retry, _LONGEST_RETRY_SECONDS)
                continue
            took = time.monotonic() - began
            if not self._wake.is_set():
                self.freshness.follow()
                self._sidecar.shrink()
                give_back()
                with self._asking:
                    # to give back takes a while, in which more may be asked for
                    if not self._wake.is_set():
                        self._idle.set()
            elif took > _LONG_SECONDS:
                # a large file that grows all the time shall not keep a core busy for good
                self._closing.wait(min(took, _REST_SECONDS))

    def _verify_checkpoint(self) -> bool:
        """Read one checkpoint of a large file again; return whether one was due."""
        if self._builder is None or self._sidecar.problem:
            return False
        try:
            return self._builder.verify_next(self._catalogue) is not None
        except STOPPING as error:
            if not unusable(error):
                raise
            if isinstance(error, apsw.Error):
                self.lost(error)
            return False

    def _give_back(self) -> None:
        """Give back the memory of questions that were asked a while ago."""
        if self._sidecar.shrink():
            give_back()

    def _build_once(self, *, nice: int) -> None:
        """Run one build; an index that is found to be damaged is begun anew, once.

        Raises:
            NotWritable: the system refuses.
            NotFound: the folder is not there.
        """
        for attempt in (1, 2):
            try:
                if self._sidecar.make_ready():
                    self._builder = None
                    self._load()
                self._build_by(self._made_builder(), nice)
            except STOPPING as error:
                if not unusable(error):
                    raise
                self._sidecar.lose(error)
                if attempt == 2 or not is_damage(error):
                    raise NotWritable(why(error)) from error
            else:
                return

    def _build_by(self, builder: Builder, nice: int) -> None:
        named, self._named = self._named, []
        for row in named:
            if row.key not in self._catalogue.places_by_key:
                builder.add(self._catalogue, row)
        self._edits.take(lambda edit: builder.take_in(self._catalogue, edit) is not None)
        builder.build(self._catalogue, walk=not self._loose, nice=nice)

    def _made_builder(self) -> Builder:
        if self._builder is None:
            # 100 ms that a process which only reads need not wait for
            from linedex.build.pipeline import Builder  # noqa: PLC0415

            self._builder = Builder(
                *(self._root, self._sidecar, self._settings, self._limits, self._progress),
                *(self._publish, self.policy, self._added_languages),
                None if self._loose else self._difference,
            )
            if self._closing.is_set():
                self._builder.stop()
        return self._builder

    def _difference(self, catalogue: Catalogue) -> Difference | None:
        return self._edits.without_expected(self.freshness.difference(catalogue), catalogue)

    def _publish(self, catalogue: Catalogue) -> None:
        # on the thread that writes, after it has: nothing was dropped in between
        self._catalogue = catalogue.with_drops(drops(self._sidecar.write))

    # the stored state

    def _load(self) -> None:
        """Read the stored catalogue; one that cannot be read counts as empty."""
        if not self._sidecar.usable:
            self._catalogue = Catalogue.empty()
            return
        try:
            with self._sidecar.reading() as db:
                self._age = age(db)
                self._catalogue = file_rows.load(db)
        except apsw.Error as error:
            if not unusable(error):
                raise
            self._sidecar.lose(error)
            self._catalogue = Catalogue.empty()

    def _changed_by_another(self) -> bool:
        with self._sidecar.reading() as db:
            return age(db) != self._age
