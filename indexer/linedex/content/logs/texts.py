"""Logs in any encoding, as the UTF-8 lines ended by LF that the other modules of this package read.

Promise: the rule of a file depends on its bytes alone, and costs 16 reads of 16 KiB; what is remembered of the lines
before a place is exact whenever a record begins within `reach` bytes before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import tzinfo

from linedex.content.folding import lf_text
from linedex.content.lines import LineEnds, Reader
from linedex.content.logs.detection import LogRule, detect, sample_lines
from linedex.content.logs.formats import HEAD_BYTES
from linedex.content.logs.records import DEFAULT_BOUNDS, FILE_START, Bounds, Carry, RecordReader
from linedex.content.logs.window import Window
from linedex.content.logs.zones import zone_named
from linedex.model import TextFormat


@dataclass(frozen=True, slots=True)
class LogReading:
    """How the lines of one file are read.

    Attributes:
        rule: where its stamps and levels stand.
        zone: name of the zone of stamps that name none.
        bounds: how far a record reaches.
    """

    rule: LogRule
    zone: str
    bounds: Bounds = DEFAULT_BOUNDS

    @property
    def tz(self) -> tzinfo:
        """The zone itself."""
        return zone_named(self.zone)

    def records(self) -> RecordReader:
        """Return what reads its records."""
        return RecordReader(self.rule, self.tz, self.bounds)


def find_rule(read: Reader, size: int, spelling: TextFormat) -> LogRule | None:
    """Return how the lines of a file are read, None when no timestamps are recognised in it.

    Args:
        read: reads (offset, size) bytes of the file.
        size: its length.
        spelling: how its bytes spell text.
    """
    if spelling.binary:
        return None
    ends, inside = LineEnds.of(spelling), replace(spelling, bom=0)

    def read_text(offset: int, count: int) -> bytes:
        start = max(offset, spelling.bom)
        start -= (start - spelling.bom) % ends.width
        return lf_text(read(start, count), inside)

    return detect(sample_lines(read_text, size))


def ahead_bytes(ends: LineEnds) -> int:
    """Return how many bytes past a cut inside a line may hold a part of its stamp."""
    return HEAD_BYTES * ends.width


def carry_before(reading: LogReading, lead: bytes, *, whole: bool, ends: LineEnds, spelling: TextFormat) -> Carry:
    """Return what the lines before a place leave for those after it.

    Args:
        reading: how they are read.
        lead: the file's bytes before the place.
        whole: whether they begin where the text of the file does.
        ends: how its lines end.
        spelling: how its bytes spell text.
    """
    if not whole:
        found = ends.ends(lead)
        if not len(found):
            return FILE_START
        lead = lead[int(found[0]) :]
    return reading.records().read(Window(lf_text(lead, replace(spelling, bom=0)))).carry
