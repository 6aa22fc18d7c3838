"""Formats that a log takes up where its sample did not look: after a deploy, or for some hours in its middle.

Promise: of a log that was read with the formats that are known, the stretches in which under half of the usual share of
lines has a stamp are looked at again, by at most `STRETCHES` reads of 16 KiB. What is found there becomes one more
format of the whole file, so how a line is read depends on the line alone, wherever it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from linedex.content.folding import lf_text
from linedex.content.lines import LineEnds, Reader
from linedex.content.logs.detection import WINDOW_BYTES, detect_more, may_be_stamped
from linedex.content.logs.records import FILE_START, Records
from linedex.content.logs.texts import LogReading
from linedex.content.logs.window import Flags, Places, Window
from linedex.model import Newline, TextFormat

STRETCHES: Final = 16
_SHARE: Final = 0.5
"""So many lines there that may hold a stamp must have the new one: rows of a table in a message have dates too."""
_KEPT_LINES: Final = 64
_STRETCH_LINES: Final = 256
_TEXT: Final = TextFormat(newline=Newline.LF)


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Stretches of a log in order, an entry a stretch.

    Attributes:
        start: its first byte.
        end: the byte after its last.
        records: records that begin in it.
        lines: lines that begin in it.
    """

    start: Places
    end: Places
    records: Places
    lines: Places

    def poor(self) -> Flags:
        """Return which stretches have under half of the usual share of stamped lines."""
        usual = self.records.sum() / max(1, self.lines.sum())
        found: Flags = 2 * self.records < usual * self.lines
        return found


def is_poor(records: int, lines: int) -> bool:
    """Say whether a stretch may be poor, whatever the usual share is."""
    return 2 * records < lines


def widened(
    reading: LogReading, read: Reader, spelling: TextFormat, stretches: Stretches, start: int = 0
) -> LogReading | None:
    """Return how a log is read whose poor stretches have formats of their own, None where there is no other.

    Args:
        reading: how it was read so far.
        read: reads (offset, size) bytes of it.
        spelling: how they spell text.
        stretches: what was found by that reading.
        start: the byte from which on stretches are looked at; what stands before was looked at already.
    """
    poor = np.flatnonzero(stretches.poor() & (stretches.end > start))
    if not len(poor):
        return None
    chosen = poor[np.unique(np.linspace(0, len(poor) - 1, STRETCHES).astype(np.int64))]
    ends, inside = LineEnds.of(spelling), replace(spelling, bom=0)
    lines: list[bytes] = []
    for low, high in zip(stretches.start[chosen].tolist(), stretches.end[chosen].tolist(), strict=True):
        # from its end: a change inside a stretch stands there
        begin = max(low, high - WINDOW_BYTES * ends.width)
        found = lf_text(read(begin, high - begin), inside).split(b"\n")[begin > low :]
        lines += [line for line in found if may_be_stamped(line)][-_KEPT_LINES:]
    rule = detect_more(reading.rule, lines, _SHARE)
    return None if rule is None else replace(reading, rule=rule)


def read_whole(reading: LogReading, text: bytes) -> tuple[LogReading, Records]:
    """Return how a whole text is read, formats of its poor stretches included, and its records.

    Args:
        reading: how it seems to be read.
        text: its lines, as UTF-8 ended by LF.
    """
    while True:
        records = reading.records().read(Window(text), FILE_START)
        edges = np.arange(0, len(records.starts), _STRETCH_LINES)
        if not len(edges):
            return reading, records
        starts, counts = records.starts[edges], np.add.reduceat(records.heads.astype(np.int64), edges)
        lines = np.diff(np.append(edges, len(records.starts)))
        stretches = Stretches(starts, np.append(starts[1:], len(text)), counts, lines)
        wider = widened(reading, lambda at, size: text[at : at + size], _TEXT, stretches)
        if wider is None:
            return reading, records
        reading = wider
