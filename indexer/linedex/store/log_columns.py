"""The parts of a log as columns, and the blobs they are stored in.

A segment is the parts of one blob. Its columns are numbers of eight bytes, those that rise stored as differences, all
first bytes before all second ones, deflated: so 10 GB of log take some 0.7 MB for times and levels.

Promise: `unpacked(packed(parts))` says what the parts say.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from linedex.content.logs.calendars import ClockState
from linedex.content.logs.cells import Cells
from linedex.content.logs.changes import Stretches
from linedex.content.logs.instants import MINUTE, NO_INSTANT
from linedex.content.logs.level_reader import Levels
from linedex.content.logs.levels import Level
from linedex.content.logs.parts import Part
from linedex.content.logs.records import Carry

Numbers: TypeAlias = npt.NDArray[np.int64]

SEGMENT_PARTS: Final = 256
"""Parts of a segment."""
_HEAD: Final = struct.Struct("<III")
_RISING: Final = ("start", "end", "last", "least", "greatest", "clock_last", "clock_wall", "cell_minute")
_PART: Final = (
    *("start", "end", "continues", "last", "least", "greatest"),
    *("records", "lines", "line_ends", "unstamped", "longest"),
    *("clock_last", "clock_wall", "clock_folded", "carry_level", "carry_lines", "carry_size", "carry_open"),
    *("cells", "templates"),
)
_CELL: Final = ("cell_minute", "cell_level", "cell_count")
_TEMPLATE: Final = ("template", "template_level", "template_count")


@dataclass(frozen=True, slots=True, eq=False)
class LogColumns:
    """The parts of a log, an entry a part in the columns of `part`, an entry a cell or template in the others.

    Attributes:
        part: the facts of each part by name; `cells` and `templates` are how many entries it has in the others.
        cell: minute, level and count of each cell, in order of the parts.
        template: template, level and count, in order of the parts.
    """

    part: dict[str, Numbers]
    cell: dict[str, Numbers]
    template: dict[str, Numbers]

    def __len__(self) -> int:
        return len(self.part["start"])

    @property
    def end(self) -> int:
        """The byte after the last part, 0 when there is none."""
        return int(self.part["end"][-1]) if len(self) else 0

    @property
    def last(self) -> int:
        """Stored instant of the last record, or `NO_INSTANT`."""
        known = self.part["last"]
        return int(known[-1])

    def carry(self, at: int) -> Carry:
        """Return what the lines before a part leave."""
        told = {name: int(column[at]) for name, column in self.part.items()}
        clock = ClockState(told["clock_last"], told["clock_wall"], bool(told["clock_folded"]))
        return Carry(
            clock, Level(told["carry_level"]), told["carry_lines"], told["carry_size"], open=bool(told["carry_open"])
        )

    def first_lines(self) -> Numbers:
        """Return the number of the line that each part begins in."""
        return 1 + np.cumsum(self.part["line_ends"]) - self.part["line_ends"]

    def cell_parts(self) -> Numbers:
        """Return the part of each cell."""
        return np.repeat(np.arange(len(self)), self.part["cells"])

    def template_parts(self) -> Numbers:
        """Return the part of each entry of `template`."""
        return np.repeat(np.arange(len(self)), self.part["templates"])

    def cells(self, chosen: npt.NDArray[np.bool_] | None = None) -> Cells:
        """Return the cells of some parts, or of all, one after the other."""
        told = self.cell if chosen is None else {name: column[chosen] for name, column in self.cell.items()}
        levels: Levels = told["cell_level"].astype(np.uint8)
        return Cells(told["cell_minute"], levels, told["cell_count"])

    def stretches(self) -> Stretches:
        """Return the parts as stretches, to see where few lines have a stamp."""
        return Stretches(*(self.part[name] for name in ("start", "end", "records", "lines")))

    def head(self, count: int) -> LogColumns:
        """Return the first `count` parts."""
        return self.between(0, count)

    def between(self, low: int, high: int) -> LogColumns:
        """Return the parts from place `low` up to place `high`."""
        cells, templates = (
            slice(int(self.part[name][:low].sum()), int(self.part[name][:high].sum()))
            for name in ("cells", "templates")
        )
        return LogColumns(
            {name: column[low:high] for name, column in self.part.items()},
            {name: column[cells] for name, column in self.cell.items()},
            {name: column[templates] for name, column in self.template.items()},
        )

    def shifted(self, by: int, later: int) -> LogColumns:
        """Return the same parts so many bytes further on, their instants so many microseconds later."""
        part, cell = dict(self.part), dict(self.cell)
        for name in ("start", "end"):
            part[name] = part[name] + by
        if later:
            for name in ("last", "least", "greatest", "clock_last"):
                part[name] = np.where(part[name] == NO_INSTANT, NO_INSTANT, part[name] + later)
            cell["cell_minute"] = cell["cell_minute"] + later // MINUTE
        return LogColumns(part, cell, self.template)

    def with_more(self, other: LogColumns) -> LogColumns:
        """Return these parts and those that follow them."""
        pairs = ((self.part, other.part), (self.cell, other.cell), (self.template, other.template))
        return LogColumns(*({name: np.concatenate((one[name], two[name])) for name in one} for one, two in pairs))

    def parts(self) -> list[Part]:
        """Return the parts, one by one."""
        cells_to, templates_to = np.cumsum(self.part["cells"]), np.cumsum(self.part["templates"])
        found = []
        for at in range(len(self)):
            told = {name: int(column[at]) for name, column in self.part.items()}
            cells = slice(int(cells_to[at]) - told["cells"], int(cells_to[at]))
            templates = slice(int(templates_to[at]) - told["templates"], int(templates_to[at]))
            entries = zip(*(self.template[name][templates].tolist() for name in _TEMPLATE), strict=True)
            minutes, levels, counts = (self.cell[name][cells] for name in _CELL)
            found.append(
                Part(
                    start=told["start"],
                    end=told["end"],
                    continues=bool(told["continues"]),
                    carry=self.carry(at),
                    last=told["last"],
                    least=told["least"],
                    greatest=told["greatest"],
                    records=told["records"],
                    lines=told["lines"],
                    line_ends=told["line_ends"],
                    unstamped=told["unstamped"],
                    longest=told["longest"],
                    cells=Cells(minutes, levels.astype(np.uint8), counts),
                    templates={(number, Level(level)): count for number, level, count in entries},
                )
            )
        return found


def columns_of(parts: Sequence[Part]) -> LogColumns:
    """Return parts as columns."""
    rows = [
        (
            *(part.start, part.end, part.continues, part.last, part.least, part.greatest),
            *(part.records, part.lines, part.line_ends, part.unstamped, part.longest),
            *(part.carry.clock.last, part.carry.clock.wall, part.carry.clock.folded),
            *(part.carry.level, part.carry.lines, part.carry.size, part.carry.open),
            *(len(part.cells), len(part.templates)),
        )
        for part in parts
    ]
    table = np.array(rows, np.int64).reshape(-1, len(_PART))
    counted = [(*key, count) for part in parts for key, count in part.templates.items()]
    counts = np.array(counted, np.int64).reshape(-1, len(_TEMPLATE))
    cells = [
        np.concatenate([np.asarray(column, np.int64) for column in columns] or [np.empty(0, np.int64)])
        for columns in zip(*((part.cells.minutes, part.cells.levels, part.cells.counts) for part in parts), strict=True)
    ] or [np.empty(0, np.int64)] * len(_CELL)
    return LogColumns(
        dict(zip(_PART, table.T, strict=True)),
        dict(zip(_CELL, cells, strict=True)),
        dict(zip(_TEMPLATE, counts.T, strict=True)),
    )


def packed(parts: Sequence[Part]) -> bytes:
    """Return parts as the blob of a segment."""
    return packed_columns(columns_of(parts))


def packed_columns(columns: LogColumns) -> bytes:
    """Return parts as the blob of a segment."""
    groups = (columns.part, columns.cell, columns.template)
    head = _HEAD.pack(*(len(next(iter(group.values()))) for group in groups))
    body = []
    for group in groups:
        for name, column in group.items():
            # a difference may wrap around, and so does the sum that undoes it
            told = np.diff(column, prepend=np.int64(0)) if name in _RISING else column
            body.append(np.ascontiguousarray(told.astype("<i8")).view(np.uint8).reshape(-1, 8).T.tobytes())
    return head + zlib.compress(b"".join(body), 6)


def unpacked(blobs: Sequence[bytes], *, templates: bool = True) -> LogColumns:
    """Return the parts of segments that follow each other.

    Args:
        blobs: the segments.
        templates: whether those are wanted, which are most of the bytes; else no part seems to have one.
    """
    columns: list[list[Numbers]] = [[] for _ in (*_PART, *_CELL, *_TEMPLATE)]
    for blob in blobs:
        sizes = _HEAD.unpack_from(blob)
        lengths = np.repeat(sizes, [len(_PART), len(_CELL), len(_TEMPLATE)])
        if not templates:
            lengths[-len(_TEMPLATE) :] = 0
        text = zlib.decompressobj().decompress(memoryview(blob)[_HEAD.size :], 8 * int(lengths.sum()))
        at = 0
        for place, (name, length) in enumerate(zip((*_PART, *_CELL, *_TEMPLATE), lengths.tolist(), strict=True)):
            raw = np.frombuffer(text, np.uint8, 8 * length, at).reshape(8, -1).T
            column: Numbers = np.ascontiguousarray(raw).reshape(-1).view("<i8")
            columns[place].append(np.cumsum(column) if name in _RISING else column)
            at += 8 * length
    joined = {
        name: np.concatenate(some or [np.empty(0, np.int64)])
        for name, some in zip((*_PART, *_CELL, *_TEMPLATE), columns, strict=True)
    }
    return LogColumns(
        {name: joined[name] for name in _PART},
        {name: joined[name] for name in _CELL},
        {name: joined[name] for name in _TEMPLATE},
    )
