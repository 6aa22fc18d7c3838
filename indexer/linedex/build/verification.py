"""The verification of checkpoints, one at a time, when nothing else is to do.

Bytes in the middle of a large file that changed together with its growth leave no trace in its stat, head and tail.
Here each checkpoint is read once for each state of its file that the index has seen, the one that was not read for the
longest time first; what is not as it was indexed is read anew from there on. A checkpoint of a file that changes all
the time is read once in `recheck_seconds`, and of a file that does not change nothing is read or written again.
"""

from __future__ import annotations

import os
import time
from typing import Final

from linedex.build.checkpoints import Stopped, checksum
from linedex.build.growth import GrowthPhase, Refused
from linedex.build.site import Site
from linedex.build.text_phase import TextPhase
from linedex.errors import LinedexError
from linedex.files import fingerprint as fingerprints
from linedex.files.roots import Root
from linedex.model import Change, Fingerprint
from linedex.store import checkpoints
from linedex.store import files as file_rows
from linedex.store.catalogue import Catalogue
from linedex.store.checkpoints import Checkpoint

_SECOND: Final = 1_000_000_000


class Verification:
    """Verifies the checkpoints of one root.

    Attributes:
        mismatches: checkpoints that were not as they had been indexed.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._root = Root(site.root)
        self._unreadable: set[int] = set()
        self.mismatches = 0

    def verify_next(self, catalogue: Catalogue) -> Catalogue | None:
        """Read the checkpoint that is due; return the catalogue afterwards, None when none is due."""
        due_ns = time.time_ns() - int(self._site.limits.recheck_seconds * _SECOND)
        for one in checkpoints.unverified(self._site.sidecar.write, due_ns):
            if one.file in self._unreadable:
                continue
            try:
                return self._verify(catalogue, one)
            except (OSError, LinedexError):
                # it is gone or another file by now, which the next look at the disk tells
                self._unreadable.add(one.file)
            except Stopped:
                return None
        return None

    def begin(self) -> None:
        """Hear that a build has looked at the disk: files that could not be read are tried again."""
        self._unreadable.clear()

    def _verify(self, catalogue: Catalogue, one: Checkpoint) -> Catalogue:
        db = self._site.sidecar.write
        known = file_rows.stored_fingerprint(db, one.file)
        place = catalogue.place(one.file)
        if known is None or place < 0:
            self._unreadable.add(one.file)
            return catalogue
        descriptor = self._root.open(catalogue.path(place))
        try:
            now = time.time_ns()
            crc = checksum(self._site, descriptor, one.start, one.end)
            change = _change(descriptor, known)
        finally:
            os.close(descriptor)
        if change is Change.REWRITTEN or (one.crc is None and change is not Change.UNCHANGED):
            self._unreadable.add(one.file)
            return catalogue
        # what an edit told of was not summed: its stat says that these are still the bytes of that state
        if one.crc is None or crc == one.crc:
            with self._site.sidecar.transaction():
                checkpoints.set_checked(db, one, crc, now)
            return catalogue
        self.mismatches += 1
        return self._read_anew(catalogue, one, known)

    def _read_anew(self, catalogue: Catalogue, one: Checkpoint, known: Fingerprint) -> Catalogue:
        try:
            return GrowthPhase(self._site).reread(catalogue, one.file, one.start)
        except Refused:
            with self._site.sidecar.transaction() as db:
                catalogue = file_rows.mark_pending(db, catalogue, [(one.file, known, time.time_ns())])
            self._site.publish(catalogue)
            with TextPhase(self._site) as text:
                return text.run(catalogue)


def _change(descriptor: int, known: Fingerprint) -> Change:
    now = fingerprints.from_stat(os.fstat(descriptor))
    return fingerprints.change(known, now, lambda offset, size: os.pread(descriptor, size, offset))
