"""What is known of a file as a log when the index does not know it: read once, kept, and continued as the file grows.

Promise: a survey says what an index would say of the same bytes. It goes on where an earlier query stopped, so that a
file of any size is known in the end, however short the time of each query; it keeps some 10 bytes for each KiB of log.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from linedex.content.lines import LineEnds, Reader, cut_ranges
from linedex.content.logs.changes import is_poor, widened
from linedex.content.logs.parts import Part, read_parts
from linedex.content.logs.records import FILE_START, Carry
from linedex.content.logs.texts import LogReading, ahead_bytes, find_rule
from linedex.content.logs.zones import zone_of
from linedex.files import fingerprint as fingerprints
from linedex.limits import Limits
from linedex.model import Change, Fingerprint, TextFormat
from linedex.query.progress import Progress
from linedex.store.log_columns import SEGMENT_PARTS, LogColumns, packed, unpacked

_KEPT: Final = 512
"""Small files are surveyed too, at every question about a folder."""


@dataclass(frozen=True, slots=True)
class OpenLog:
    """An open file that may be a log.

    Attributes:
        read: reads (offset, size) bytes of its text.
        size: of its text, in bytes.
        mark: its fingerprint, digests included.
        spelling: how its bytes spell text.
        limits: sizes.
    """

    read: Reader
    size: int
    mark: Fingerprint
    spelling: TextFormat
    limits: Limits

    @property
    def inside(self) -> TextFormat:
        """How bytes from the middle of it spell text."""
        return replace(self.spelling, bom=0)

    @property
    def grows(self) -> bool:
        """Whether bytes that are appended to the file are appended to its text."""
        return self.size == self.mark.size


@dataclass(frozen=True, slots=True)
class Stored:
    """What the index, or an earlier survey, knows of a shorter state of a log.

    Attributes:
        reading: how its lines are read.
        columns: its parts.
        looked: whether formats were looked for where few lines have a stamp.
        templates: whether the columns tell of templates.
    """

    reading: LogReading | None
    columns: LogColumns
    looked: bool
    templates: bool = False


class Survey:
    """The parts of one file, made as they are asked for.

    Attributes:
        mark: the state of the file that it is of.
        reading: how its lines are read, None when it is no log.
    """

    def __init__(self, log: OpenLog, known: Stored | None = None) -> None:
        """Begin with the first byte, or behind what is `known` of a shorter state of the file."""
        self.mark = log.mark
        self._guard = threading.RLock()
        if known is None:
            rule = find_rule(log.read, log.size, log.spelling)
            self._begin(log, None if rule is None else LogReading(rule, zone_of(log.limits)))
        else:
            self._begin(log, known.reading)
            self._take_up(known.columns)
            self._looked, self._poor = self._next[0] if known.looked else 0, not known.looked

    def _begin(self, log: OpenLog, reading: LogReading | None) -> None:
        """Begin with the first byte, knowing nothing."""
        self.reading = reading
        self._known = unpacked([])
        self._blobs: list[bytes] = []
        self._parts: list[Part] = []
        self._columns: LogColumns | None = None
        self._next: tuple[int, Carry, bool] = (log.spelling.bom, FILE_START, False)
        # the parts behind this byte may have a format that is not read yet
        self._looked = 0
        self._poor = False

    def _take_up(self, columns: LogColumns) -> None:
        """Begin with the parts of a shorter state; the last of them, which may have ended otherwise, is made again."""
        kept = len(columns) - 1
        if kept >= 0:
            self._known = columns.head(kept)
            part = columns.part
            self._next = (int(part["start"][kept]), columns.carry(kept), bool(part["continues"][kept]))

    def grown(self, log: OpenLog) -> Survey:
        """Return the survey of the same file after it has grown."""
        with self._guard:
            columns = self.columns()
            longer = Survey(log, Stored(self.reading, columns, looked=True))
            # a part is what it was unless its end was that of the file, or inside a line that was looked into there
            end, _, inside = self._next
            if end + inside * ahead_bytes(LineEnds.of(log.spelling)) < self.mark.size:
                longer._known, longer._next = columns, self._next
            longer._looked, longer._poor = min(self._looked, longer._next[0]), self._poor
            return longer

    def knows_more(self, other: Stored) -> bool:
        """Return whether it has read further than what else is known of the log, in the same way."""
        with self._guard:
            return self.reading == other.reading and self._next[0] > other.columns.end

    def unread(self, log: OpenLog) -> int:
        """Return how many bytes of the log are still to be read."""
        with self._guard:
            return 0 if self.reading is None else log.size - self._next[0]

    def advance(self, log: OpenLog, deadline: float, progress: Progress) -> bool:
        """Read on until `deadline` (`time.monotonic`), one part at least; return whether the end was reached.

        Raises:
            Cancelled: nobody waits for it any more.
        """
        with self._guard:
            while self._read_on(log, deadline, progress):
                wider = self._wider(log)
                if wider is None:
                    return True
                self._begin(log, wider)
        return False

    def _wider(self, log: OpenLog) -> LogReading | None:
        """Return how the log is read with formats of its poor parts, None where there are no others."""
        reading, poor, start = self.reading, self._poor, self._looked
        self._poor, self._looked = False, self._next[0]
        if reading is None or not poor:
            return None
        return widened(reading, log.read, log.spelling, self.columns().stretches(), start)

    def _read_on(self, log: OpenLog, deadline: float, progress: Progress) -> bool:
        reading = self.reading
        if reading is not None:
            ends = LineEnds.of(log.spelling)
            sized = replace(log.limits, batch_bytes=log.limits.log_part_bytes)
            begun = self._next[0]
            while self._next[0] < log.size:
                if self._next[0] > begun and time.monotonic() > deadline:
                    return False
                progress.check()
                progress.reads(self._next[0], log.size)
                start, carry, continues = self._next
                _, end = next(cut_ranges(log.read, start, log.size, ends, sized))
                data = log.read(start, end - start)
                beyond = log.read(end, ahead_bytes(ends))
                made = read_parts(
                    *(reading, data, start, [start], carry),
                    continues=continues,
                    beyond=beyond,
                    spelling=log.spelling,
                    shapes=False,
                )
                self._take(made.parts[0].part)
                self._next = (end, made.left, not data.endswith(ends.unit))
        return True

    def _take(self, part: Part) -> None:
        self._columns = None
        self._poor |= is_poor(part.records, part.lines)
        self._parts.append(part)
        if len(self._parts) > 2 * SEGMENT_PARTS:
            self._blobs.append(packed(self._parts[:SEGMENT_PARTS]))
            del self._parts[:SEGMENT_PARTS]

    def columns(self) -> LogColumns:
        """Return the parts that are known so far."""
        with self._guard:
            if self._columns is None:
                self._columns = self._known.with_more(unpacked([*self._blobs, packed(self._parts)]))
            return self._columns


class _Surveys:
    """The surveys made last, by file; the oldest makes room."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int, str], Survey] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, log: OpenLog, known: Stored | None) -> Survey:
        told = known is not None and known.templates
        key = (log.mark.device, log.mark.inode, f"{zone_of(log.limits)} {log.limits.log_part_bytes} {told}")
        with self._guard:
            kept = self._kept.get(key)
        found = None
        if kept is not None:
            change = fingerprints.change(kept.mark, log.mark, log.read)
            if change is Change.UNCHANGED:
                found = kept
            elif change is Change.APPENDED and log.grows and (known is None or kept.knows_more(known)):
                found = kept.grown(log)
        if found is None:
            found = Survey(log, known)
        # what is read within the clock tick of a change is not kept, so a log that is written all the time would
        # never be known: it is worth the rest of a tick
        if fingerprints.outlasts_tick(log.mark, wait=log.size > log.limits.large_file):
            with self._guard:
                self._kept[key] = found
                self._kept.move_to_end(key)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return found


_SURVEYS: Final = _Surveys()
"""True of bytes, not of an index: one memory serves every index of the process."""


def survey(log: OpenLog, known: Stored | None = None) -> Survey:
    """Return the survey of an open file, begun by an earlier query where there was one.

    Args:
        log: the file.
        known: what the index knows of a shorter state of it.
    """
    return _SURVEYS.of(log, known)
