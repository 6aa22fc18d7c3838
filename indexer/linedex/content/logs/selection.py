"""Which lines of a window a query asks for: by time, by line number, by level.

Promise: whole records. A line without a stamp is selected with the record it belongs to, and a line that belongs to no
record only where neither time nor level is asked for.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from linedex.content.logs.calendars import Completion
from linedex.content.logs.cells import Cells
from linedex.content.logs.instants import NO_INSTANT
from linedex.content.logs.levels import SLOTS, Level
from linedex.content.logs.moments import TimeRange
from linedex.content.logs.records import Records
from linedex.content.logs.window import Flags
from linedex.errors import LinedexError

WHOLE: TimeRange = TimeRange()


class UnknownLevel(LinedexError):
    """What was given as a level is none."""

    code = "unknown_level"


def levels_named(text: str) -> frozenset[Level]:
    """Return the levels that an argument names: `error`, `warn,error`, or `warn+` for that and graver ones.

    Raises:
        UnknownLevel: a word is no level.
    """
    labels = {level.label: level for level in Level}
    found: set[Level] = set()
    for part in text.lower().split(","):
        word = part.strip()
        level = labels.get(word.removesuffix("+"))
        if level is None:
            raise UnknownLevel(
                f"`{word}` is no level.", f"Give one of {', '.join(labels)}, or warn+ for warn and graver."
            )
        graver = word.endswith("+") and level is not Level.NONE
        found |= {other for other in Level if level <= other < Level.NONE} if graver else {level}
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a query asks for.

    Attributes:
        span: the range, in instants and lines.
        levels: the levels, None for all.
    """

    span: TimeRange = WHOLE
    levels: Set[Level] | None = None

    @property
    def timed(self) -> bool:
        """Whether times or levels are asked for, and not only lines by number."""
        return self.levels is not None or self.span.since is not None or self.span.until is not None

    def of(self, records: Records, completion: Completion, first_line: int) -> Flags:
        """Return which lines of a window are asked for.

        Args:
            records: the window's.
            completion: of the window's file.
            first_line: number of the window's first line in the file, from 1.
        """
        count = len(records.starts)
        chosen: Flags = np.ones(count, np.bool_)
        if self.levels is not None:
            asked = np.zeros(SLOTS, np.bool_)
            asked[list(self.levels)] = True
            chosen &= asked[records.levels]
            chosen &= records.instants != NO_INSTANT
        span = self.span
        if span.since is not None or span.until is not None:
            instants = completion.instants(records.instants)
            chosen &= instants != NO_INSTANT
            if span.since is not None:
                chosen &= instants >= span.since
            if span.until is not None:
                chosen &= instants < span.until
        numbers = np.arange(first_line, first_line + count)
        if span.since_line is not None:
            chosen &= numbers >= span.since_line
        if span.until_line is not None:
            chosen &= numbers < span.until_line
        return chosen

    def may_hold(self, least: int, greatest: int, cells: Cells, carried: Level) -> bool:
        """Return whether a block may hold lines that are asked for.

        Args:
            least: least instant of its lines, or `NO_INSTANT`.
            greatest: the greatest one.
            cells: its counts.
            carried: level of the record that goes on into it.
        """
        if not self.span.overlaps(least, greatest):
            return False
        return self.levels is None or carried in self.levels or bool(np.isin(cells.levels, list(self.levels)).any())
