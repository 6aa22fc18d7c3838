"""Everything the index stores of a block of a log, in one pass.

Promise: the facts of blocks add up to those of the file wherever it was cut; memory is that of a block and the
templates' bounds. Only the shape of a message that a cut goes through is that of its first part. Blocks are analysed in
order, each with the carry of the one before. 256 KiB at a time is fastest: what is gathered stays in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo

import numpy as np

from linedex.content.logs.cells import Cells, count_cells
from linedex.content.logs.detection import LogRule
from linedex.content.logs.instants import NO_INSTANT
from linedex.content.logs.records import DEFAULT_BOUNDS, FILE_START, Bounds, Carry, RecordReader
from linedex.content.logs.templates.miner import NOTHING_MINED, TemplateCounts, TemplateMiner, count_shapes
from linedex.content.logs.window import Window


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """What is stored of one block.

    Attributes:
        least: least stored instant of its lines, the record that goes on into it included; or `NO_INSTANT`.
        greatest: the greatest one.
        cells: records that begin in it, per (minute, level).
        templates: the same records, per (template, level).
        examples: for each template made by this block, the place in it of the line it was made of.
        records: how many begin in it.
        lines: lines that begin in it.
        unstamped: those of them that belong to no record.
        longest: bytes of the longest stretch of a line in it, without the line's end.
        carry: what it leaves for the next block.
    """

    least: int
    greatest: int
    cells: Cells
    templates: TemplateCounts
    examples: Mapping[int, int]
    records: int
    lines: int
    unstamped: int
    longest: int
    carry: Carry

    def doubtful(self, usual: float) -> bool:
        """Return whether so few lines have stamps that the format may have changed.

        Args:
            usual: share of lines with a stamp in the file so far, 0 to 1.
        """
        return self.records < usual / 2 * self.lines


class LogAnalyser:
    """Analyses the blocks of one file.

    Args:
        rule: how its lines are read.
        miner: its templates so far; None leaves templates out.
        zone: of stamps that name none.
        bounds: how far a record reaches, and the like.
    """

    def __init__(
        self,
        rule: LogRule,
        miner: TemplateMiner | None = None,
        zone: tzinfo = UTC,
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        self._reader = RecordReader(rule, zone, bounds)
        self._miner = miner

    def analyse(
        self,
        block: bytes,
        carry: Carry = FILE_START,
        *,
        continues: bool = False,
        ahead: bytes = b"",
        newline: int = 10,
    ) -> BlockFacts:
        """Return the facts of a block.

        Args:
            block: bytes in an encoding that has ASCII as it is, as `Window` takes them.
            carry: what the block before left.
            continues: whether its first line began in the block before.
            ahead: what follows it, if its last line goes on there; 512 bytes suffice.
            newline: the byte that ends a line.
        """
        window = Window(block, ahead=ahead, newline=newline)
        records = self._reader.read(window, carry, continues=continues)
        heads = records.heads
        every = bool(heads.all())
        times = records.instants if every else records.instants[heads]
        levels = records.levels if every else records.levels[heads]
        mined = NOTHING_MINED
        if self._miner is not None:
            mined = self._miner.count(count_shapes(window, records), window, records)
        known = times if every else records.instants[records.instants != NO_INSTANT]
        started = slice(1, None) if continues else slice(None)
        lengths = np.minimum(window.ends, window.size) - window.starts
        return BlockFacts(
            least=int(known.min()) if len(known) else NO_INSTANT,
            greatest=int(known.max()) if len(known) else NO_INSTANT,
            cells=count_cells(times, levels),
            templates=mined.counts,
            examples=mined.examples,
            records=len(times),
            lines=len(records.starts[started]),
            unstamped=int(np.count_nonzero(records.instants[started] == NO_INSTANT)),
            longest=int(lengths.max()) if len(lengths) else 0,
            carry=records.carry,
        )
