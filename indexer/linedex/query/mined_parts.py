"""Templates of the parts of a log that the index has not counted: each is read once, its counts are kept.

Promise: what was counted stays counted while the file only grows, so that questions about a log of any size end,
however short the time of each; some 300 bytes are kept for each part, and the files that were asked about last.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np

from linedex.content.logs.levels import Level
from linedex.content.logs.templates.miner import TemplateCounts, TemplateMiner
from linedex.content.logs.texts import LogReading
from linedex.files import fingerprint as fingerprints
from linedex.model import Change
from linedex.query.surveys import OpenLog

_FILES: Final = 16
Place: TypeAlias = tuple[int, int]
"""First byte of a part and the byte after its last."""
Entry: TypeAlias = tuple[int, Level, int]
"""Template, level, and how many records have both."""


class MinedParts:
    """What was counted of one file, and the templates that the counts are of.

    Attributes:
        miner: the templates; learned under `guard`.
        guard: held while a part is counted.
    """

    def __init__(self, log: OpenLog, reading: LogReading) -> None:
        self.miner = TemplateMiner()
        self.guard = threading.RLock()
        self._mark = log.mark
        self._reading = reading
        self._counts: dict[Place, bytes] = {}

    def still_true(self, log: OpenLog, reading: LogReading) -> bool:
        """Say whether a file is still what was counted, perhaps grown, and then remember its state."""
        change = fingerprints.change(self._mark, log.mark, log.read if log.grows else None)
        if change is Change.REWRITTEN or reading != self._reading:
            return False
        self._mark = log.mark
        return True

    def get(self, place: Place) -> Iterator[Entry] | None:
        """Return the counts of a part, None when it was not counted yet."""
        told = self._counts.get(place)
        if told is None:
            return None
        rows = np.frombuffer(zlib.decompress(told), np.int64).reshape(-1, 3).tolist()
        return ((number, Level(level), count) for number, level, count in rows)

    def put(self, place: Place, counts: TemplateCounts) -> None:
        """Keep the counts of a part that will not be cut otherwise when the file grows."""
        rows = [(number, int(level), count) for (number, level), count in counts.items()]
        self._counts[place] = zlib.compress(np.array(rows, np.int64).tobytes(), 1)


class _Kept:
    """What was counted of the files asked about last."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[int, int], MinedParts] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, log: OpenLog, reading: LogReading) -> MinedParts:
        key = (log.mark.device, log.mark.inode)
        with self._guard:
            kept = self._files.get(key)
            if kept is None or not kept.still_true(log, reading):
                kept = MinedParts(log, reading)
            if not fingerprints.is_racy(log.mark, time.time_ns()):
                self._files[key] = kept
                self._files.move_to_end(key)
                while len(self._files) > _FILES:
                    self._files.popitem(last=False)
            return kept


_KEPT: Final = _Kept()
"""True of bytes, not of an index: one memory serves every index of the process."""


def mined_parts(log: OpenLog, reading: LogReading) -> MinedParts:
    """Return what was counted of a log so far."""
    return _KEPT.of(log, reading)
