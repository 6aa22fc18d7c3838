"""What is stored of a large log after an edit that is told: only the parts that were touched are read again.

Parts before the first splice stay. A touched part is read with what the lines before it leave; the parts behind it are
moved by the bytes that were added, and in a log without years by whole years, if what the touched lines leave now is
what they left before. Where it is not (the edit took away the line that a record begins with, say), the next part is
read too, and so on until it is.

Promise: what is stored afterwards is what reading the edited file from its beginning with the same rule gives, though
perhaps cut into parts elsewhere; memory is that of two segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import apsw
import numpy as np
import numpy.typing as npt

from linedex.build.numbering import Numbering
from linedex.content.lines import LineEnds, Reader, cut_ranges
from linedex.content.logs.parts import read_parts, shift_between, shifted_carry
from linedex.content.logs.records import Carry
from linedex.content.logs.texts import LogReading, ahead_bytes
from linedex.limits import Limits
from linedex.model import FileId, TextFormat
from linedex.store import logs
from linedex.store.log_columns import SEGMENT_PARTS, LogColumns, columns_of, unpacked


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text as it is after an edit.

    Attributes:
        read: reads (offset, size) bytes of it.
        size: its bytes.
        spelling: how they spell text.
        splices: in ascending order, first byte and byte after the last of what was replaced, and how many bytes stand
            there now; offsets are of the bytes before.
    """

    read: Reader
    size: int
    spelling: TextFormat
    splices: Sequence[tuple[int, int, int]]


def splice_log(db: apsw.Connection, file: FileId, text: EditedText, limits: Limits) -> None:
    """Store what an edit changed of a log; forget the log when too much would have to be read again.

    Args:
        db: the writing connection, inside a transaction.
        file: id of the file.
        text: its text now.
        limits: size of a part, and the most that is read.
    """
    _, reading = logs.stored_reading(db, file)
    segments = logs.segments(db, file)
    if reading is None or not segments or not _Splice(db, file, text, limits, reading).run(segments):
        logs.forget(db, file)


@dataclass(frozen=True, slots=True)
class _Before:
    """What the lines before a place leave, and whether the line that stands there began among them."""

    carry: Carry
    continues: bool


class _Splice:
    def __init__(
        self, db: apsw.Connection, file: FileId, text: EditedText, limits: Limits, reading: LogReading
    ) -> None:
        self._db = db
        self._file = file
        self._text = text
        self._limits = limits
        self._reading = reading
        self._ends = LineEnds.of(text.spelling)
        self._numbering = Numbering(db, file)
        self._budget = limits.commit_bytes
        self._made = unpacked([])
        self._end = text.spelling.bom
        self._first = 0
        self._line = 1
        self._later = 0
        # where parts begin that are to be read again, and what stands before them
        self._open: tuple[int, _Before] | None = None
        # what was read again leaves; None where what is stored holds
        self._true: _Before | None = None

    def run(self, segments: Sequence[logs.StoredSegment]) -> bool:
        """Store the parts anew from the first touched segment on; return whether that was possible."""
        begin = self._first_touched(segments)
        self._first, self._line = segments[begin].first, segments[begin].line
        logs.cut_segments(self._db, self._file, self._first)
        for segment in segments[begin:]:
            if not self._take(segment.columns()):
                return False
        if not self._close(self._text.size) or self._end != self._text.size:
            return False
        self._store(everything=True)
        self._numbering.save()
        return True

    def _first_touched(self, segments: Sequence[logs.StoredSegment]) -> int:
        """Return the place of the last segment that begins before all that the splices touch."""
        low, high = 0, len(segments) - 1
        reach = self._text.splices[0][0] - ahead_bytes(self._ends)
        while low < high:
            middle = (low + high + 1) // 2
            if int(segments[middle].columns().part["start"][0]) <= reach:
                low = middle
            else:
                high = middle - 1
        return low

    def _take(self, old: LogColumns) -> bool:
        """Take the parts of a segment; return False when too much would have to be read."""
        touched = self._touched(old)
        edges = [0, *(np.flatnonzero(touched[1:] != touched[:-1]) + 1).tolist(), len(old)]
        for low, high in pairwise(edges):
            if touched[low]:
                self._begin(old, low)
                continue
            for at in range(low, high):
                if not self._close(self._place(old, at)):
                    return False
                if self._joins(old, at):
                    self._keep(old.between(at, high))
                    break
                self._begin(old, at)
        return True

    def _touched(self, old: LogColumns) -> npt.NDArray[np.bool_]:
        """Return which parts hold a splice, or end so shortly before one that their last line was read into it."""
        starts, ends = old.part["start"], old.part["end"] + ahead_bytes(self._ends)
        found = np.zeros(len(old), np.bool_)
        for start, end, _ in self._text.splices:
            found |= (start < ends) & (max(end, start + 1) > starts)
        return found

    def _moved(self, place: int) -> int:
        """Return by how many bytes what stood at a place outside of all splices has moved."""
        return sum(length - (end - start) for start, end, length in self._text.splices if start < place)

    def _place(self, old: LogColumns, at: int) -> int:
        start = int(old.part["start"][at])
        return start + self._moved(start)

    def _begin(self, old: LogColumns, at: int) -> None:
        """Read again from a part on, unless that is so already."""
        if self._open is None:
            stored = _Before(shifted_carry(old.carry(at), self._later), bool(old.part["continues"][at]))
            self._open = self._place(old, at), self._true or stored

    def _close(self, stop: int) -> bool:
        """Read what is to be read again up to a byte; return False when it is too much."""
        if self._open is None:
            return True
        start, before = self._open
        self._open = None
        self._budget -= stop - start
        if self._budget < 0:
            return False
        carry, continues = before.carry, before.continues
        # no part much smaller than others, however often a place is edited
        count = max(1, (stop - start) // self._limits.log_part_bytes)
        sized = replace(self._limits, batch_bytes=-(-(stop - start) // count))
        for low, high in cut_ranges(self._text.read, start, stop, self._ends, sized):
            data = self._text.read(low, high - low)
            made = read_parts(
                *(self._reading, data, low, [low], carry),
                continues=continues,
                beyond=self._text.read(high, ahead_bytes(self._ends)),
                spelling=self._text.spelling,
            )
            self._line + int(self._made.part["line_ends"].sum())
            self._add(columns_of([self._numbering.counted(made.parts[0], made.parts[0].messages)]))
            carry, continues = made.left, not data.endswith(self._ends.unit)
        self._true = _Before(carry, continues)
        return True

    def _joins(self, old: LogColumns, at: int) -> bool:
        """Return whether a stored part holds after what was read again, though perhaps later by whole years."""
        if self._true is None:
            return True
        later = shift_between(old.carry(at), self._true.carry, self._reading)
        if later is None or self._true.continues != bool(old.part["continues"][at]):
            return False
        self._later, self._true = later, None
        return True

    def _keep(self, parts: LogColumns) -> None:
        self._add(parts.shifted(self._moved(int(parts.part["start"][0])), self._later))

    def _add(self, parts: LogColumns) -> None:
        self._made = self._made.with_more(parts)
        self._end = parts.end
        self._store(everything=False)

    def _store(self, *, everything: bool) -> None:
        while len(self._made) > (0 if everything else SEGMENT_PARTS):
            count = min(SEGMENT_PARTS, len(self._made))
            parts, self._made = self._made.between(0, count), self._made.between(count, len(self._made))
            logs.put_columns(self._db, self._file, self._first, self._line, parts)
            self._first += count
            self._line += int(parts.part["line_ends"].sum())
