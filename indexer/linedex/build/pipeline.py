"""The builder: brings one root's sidecar up to what is on disk, in phases, and can be stopped at any moment.

First the catalogue, so that every file is known and can be answered by scanning; then the text, so that the index
narrows, of very large files lines first and signatures afterwards; then the symbols. One thread runs it, the only one
that writes; what it has committed it publishes as a new catalogue, and an interrupted build goes on where it was
because a file is pending until its rows are there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from linedex.answers import Phase
from linedex.build.crash_policy import CrashPolicy
from linedex.build.growth import GrowthPhase, may_have_grown
from linedex.build.moves import find_moves
from linedex.build.progress import Progress
from linedex.build.signing import SigningPhase
from linedex.build.site import Site
from linedex.build.splicing import Edit, take_in
from linedex.build.symbol_phase import SymbolPhase
from linedex.build.sync import Difference, difference, named_difference
from linedex.build.text_phase import TextPhase
from linedex.build.verification import Verification
from linedex.errors import LinedexError
from linedex.files.fingerprint import suspects
from linedex.files.ignore import WalkSettings
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileState, Fingerprint
from linedex.store import files as file_rows
from linedex.store.catalogue import Catalogue
from linedex.store.database import Sidecar
from linedex.store.files import FileRow
from linedex.store.moves import Moves, move

_ROWS_A_COMMIT = 50_000
_UNMOVED = Moves()
_TICK_SECONDS = 0.02
"""Time after which a file that was changed while it was read can be told from one that was not."""

_Changed: TypeAlias = tuple[tuple[int, Fingerprint, int], ...]


class Builder:
    """Builds and refreshes one sidecar."""

    def __init__(
        self,
        root: Root,
        sidecar: Sidecar,
        settings: WalkSettings,
        limits: Limits,
        progress: Progress,
        publish: Callable[[Catalogue], None],
        policy: CrashPolicy,
        added_languages: Path | None = None,
        compare: Callable[[Catalogue], Difference | None] | None = None,
    ) -> None:
        """Take a sidecar that this process writes.

        `progress` is told what is done, `publish` given every new catalogue, both on the builder's thread. `compare`
        says what a catalogue has to learn without a walk, or that only a walk can tell.
        """
        self._compare = compare
        self._progress = progress
        self._policy = policy
        self._added_languages = added_languages
        self._root = root
        self._sidecar = sidecar
        self._settings = settings
        self._limits = limits
        self._publish = publish
        self._stop = threading.Event()
        self._verification = Verification(self._site(0))

    def stop(self) -> None:
        """Ask a running build to end at the next committed batch; later builds end at once."""
        self._stop.set()

    def build(self, catalogue: Catalogue, *, walk: bool = True, nice: int) -> Catalogue:
        """Bring the sidecar up to date; return the catalogue afterwards.

        Args:
            catalogue: as the sidecar has it.
            walk: whether to look at the whole root first; a loose index only reads what was named.
            nice: how much the workers yield to other processes, 0 to 19.
        """
        self._verification.begin()
        catalogue = self._build_once(catalogue, walk=walk, nice=nice)
        if not self._stop.is_set() and _just_changed(catalogue) and not self._stop.wait(_TICK_SECONDS):
            # a file written in the clock tick of its reading would be read by every query until it is read again
            catalogue = self._build_once(catalogue, walk=walk, nice=nice)
        return catalogue

    def take_in(self, catalogue: Catalogue, edit: Edit) -> Catalogue | None:
        """Store what an edit of a large file changed; None when that is not known to be all, see `splicing`."""
        try:
            return take_in(self._site(0), catalogue, edit)
        except (OSError, LinedexError):
            return None

    def verify_next(self, catalogue: Catalogue) -> Catalogue | None:
        """Read one checkpoint of a large file again; return the catalogue afterwards, None when none is due."""
        return self._verification.verify_next(catalogue)

    @property
    def mismatches(self) -> int:
        """Checkpoints that were found changed without the file's stat having told it."""
        return self._verification.mismatches

    def _site(self, nice: int) -> Site:
        return Site(
            root=os.fsdecode(self._root.path),
            sidecar=self._sidecar,
            limits=self._limits,
            progress=self._progress,
            publish=self._publish,
            stop=self._stop,
            nice=nice,
        )

    def _build_once(self, catalogue: Catalogue, *, walk: bool, nice: int) -> Catalogue:
        site = self._site(nice)
        with TextPhase(site) as text:
            if walk:
                if not catalogue.complete:
                    text.start()
                catalogue, grown = self._list(catalogue)
            else:
                named = named_difference(self._root, catalogue, range(len(catalogue)))
                catalogue, grown = self._learn(catalogue, named)
            if grown and not self._stop.is_set():
                catalogue = self._grow(site, catalogue, grown)
            if not self._stop.is_set():
                catalogue = text.run(catalogue)
        if not self._stop.is_set():
            SigningPhase(site).run(catalogue)
        if self._limits.index_symbols and not self._stop.is_set():
            catalogue = SymbolPhase(site, self._policy, self._added_languages).run(catalogue)
        if not self._stop.is_set():
            self._sidecar.checkpoint(truncate=True)
        return catalogue

    def add(self, catalogue: Catalogue, row: FileRow) -> Catalogue:
        """Store one file that somebody named and no walk meets; return the catalogue with it."""
        with self._sidecar.transaction() as db:
            catalogue = file_rows.add_named(db, catalogue, row)
        self._publish(catalogue)
        return catalogue

    def _grow(self, site: Site, catalogue: Catalogue, grown: _Changed) -> Catalogue:
        """Take in what large files have grown by; what did something else is pending afterwards."""
        catalogue, refused = GrowthPhase(site).run(catalogue, [file for file, _, _ in grown])
        rewritten = [change for change in grown if change[0] in refused]
        if rewritten:
            with self._sidecar.transaction() as db:
                catalogue = file_rows.mark_pending(db, catalogue, rewritten)
            self._publish(catalogue)
        return catalogue

    def _list(self, catalogue: Catalogue) -> tuple[Catalogue, _Changed]:
        self._progress.begin(Phase.CATALOGUE)
        found = self._compare(catalogue) if self._compare else None
        if found is None:
            found = difference(self._root, self._settings, catalogue)
        moves, found = find_moves(
            *(self._root, self._sidecar.write, catalogue, found, self._limits),
            self._stop.wait,
        )
        catalogue, grown = self._learn(catalogue, found, moves)
        sizes = catalogue.facts["size"]
        self._progress.advance(len(catalogue), int(sizes.sum()), found=True)
        took = self._progress.end()
        if not self._stop.is_set() and not catalogue.complete:
            with self._sidecar.transaction() as db:
                file_rows.set_phase(db, "catalogue", took)
            catalogue = catalogue.completed()
            self._publish(catalogue)
        return catalogue, grown

    def _learn(self, catalogue: Catalogue, found: Difference, moves: Moves = _UNMOVED) -> tuple[Catalogue, _Changed]:
        """Store a difference in bounded transactions: what is gone, moved or changed first, then what is new.

        Large files that may hold all that they held keep what is stored of them, and are returned beside the catalogue.
        """
        folders = found.folders
        limit = self._limits.large_file
        grown = tuple(change for change in found.changed if may_have_grown(catalogue, *change[:2], limit))
        changed = [change for change in found.changed if change not in grown] if grown else found.changed
        if found.gone or found.gone_folders or changed or moves:
            with self._sidecar.transaction() as db:
                catalogue = file_rows.remove(db, catalogue, found.gone, found.gone_folders)
                if moves:
                    catalogue, folders = move(db, catalogue, moves, folders), ()
                if changed:
                    catalogue = file_rows.mark_pending(db, catalogue, changed)
            self._publish(catalogue)
        for at in range(0, max(len(found.files), len(folders) and 1), _ROWS_A_COMMIT):
            if self._stop.is_set():
                return catalogue, grown
            with self._sidecar.transaction() as db:
                catalogue = file_rows.add(db, catalogue, folders, found.files[at : at + _ROWS_A_COMMIT])
            folders = ()
            self._publish(catalogue)
        return catalogue, grown


def _just_changed(catalogue: Catalogue) -> bool:
    facts = catalogue.facts
    known = facts[facts["state"] != FileState.PENDING]
    return bool(suspects(known["mtime_ns"], known["ctime_ns"], known["seen_ns"]).any())
