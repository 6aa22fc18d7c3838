"""Lines of very large files that the index does not know yet: counted as far as somebody asked, and no further.

Promise: a line that was counted up to once is found at once as long as the file stays as it is; counting that ran out
of time goes on where it stopped. Steps are small at the head and grow with what was counted: the first lines of
a log of 1.8 GB take 7 ms, with steps of `count_bytes` alone they took 130. Some 17 bytes a block are kept of what was
counted (5.6 MB for 10 GB).
"""

from __future__ import annotations

import threading
import time
from typing import Final

from linedex.content.lines import LineIndex, Reader
from linedex.limits import Limits
from linedex.model import LineNumber, TextFormat
from linedex.query.remembered import Remembered


class LineScan:
    """The lines of one state of one file, from the first on.

    Attributes:
        known: what was counted so far.
    """

    def __init__(self) -> None:
        self.known: LineIndex | None = None
        self._guard = threading.Lock()

    def up_to(
        self, line: LineNumber, read: Reader, size: int, spelling: TextFormat, limits: Limits, deadline: float
    ) -> LineIndex:
        """Return an index of the file's lines from the first to at least `line`, fewer where time runs out.

        It covers `LineIndex.size` bytes; where these are not all, its last line may go on behind them.

        Args:
            line: number of the line.
            read: reads the file.
            size: bytes of the file.
            spelling: how they spell text.
            limits: `count_step` bytes are counted before the first look at the clock, then each time as many as were
                counted, up to `count_bytes`.
            deadline: `time.monotonic` at which to stop, after one step at least.

        Raises:
            ChangedWhileRead: the file has become shorter.
        """
        with self._guard:
            known = self.known
            while known is None or (known.size < size and known.total <= line):
                begun = spelling.bom if known is None else known.size
                step = min(limits.count_bytes, max(limits.count_step, begun - spelling.bom))
                end = min(size, begun + step)
                if known is None:
                    known = LineIndex.build(read, end, spelling, limits)
                else:
                    known = known.extended(read, end, spelling, limits)
                self.known = known
                if time.monotonic() > deadline:
                    break
            return known


LINE_SCANS: Final = Remembered[LineScan](16)
"""True of bytes, not of an index: one memory serves every index of the process."""
