"""The lines of an open file, as reads and scans need them: of all of it, or as far as somebody asks.

Promise: where lines begin is told by the index if it knows these bytes, else by reading them once. That one pass keeps
17 bytes a block (5.6 MB for 10 GB), and is remembered, so that the next read of the same bytes costs one block. A very
large file that the index does not know is counted no further than was asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from linedex.content.lines import LineEnds, LineIndex, Reader
from linedex.errors import NotCounted
from linedex.files.names import display
from linedex.limits import Limits
from linedex.model import Fingerprint, LineCount, LineNumber, RelPath, TextFormat
from linedex.query.line_scans import LINE_SCANS, LineScan
from linedex.query.remembered import Remembered

# True of bytes, not of an index: one memory serves every index of the process. 10 GB of log take 5.6 MB of lines.
_LINES: Final = Remembered[LineIndex](16)


@dataclass(frozen=True, slots=True)
class OpenText:
    """The text of one state of an open file.

    Attributes:
        path: where it is below its root.
        fingerprint: of the state.
        format: how its bytes spell text.
        size: bytes of the text.
        read: reads them; it raises ChangedWhileRead when the file has become shorter.
        limits: the bounds of reading it.
        held: whether the text is in memory, so that reading it costs nothing.
        settled: whether what is made of it may be remembered under its fingerprint.
    """

    path: RelPath
    fingerprint: Fingerprint
    format: TextFormat
    size: int
    read: Reader
    limits: Limits
    held: bool
    settled: bool

    @property
    def line_ends(self) -> LineEnds:
        """How its lines end."""
        return LineEnds.of(self.format)


class FileLines:
    """Where the lines of one state of an open file begin.

    Attributes:
        text: the text they are of.
    """

    def __init__(self, text: OpenText, stored: Callable[[], LineIndex | None] | None) -> None:
        """Tell the lines of a text.

        Args:
            text: the text.
            stored: returns what the index knows of them, None when it turns out to be lost; None where it knows
                nothing of these bytes.
        """
        self.text = text
        self._stored = stored
        self._all: LineIndex | None = None
        self._scan: LineScan | None = None

    @property
    def known(self) -> bool:
        """Whether they are those of a large file and told without reading it."""
        return not self.text.held and self._stored is not None

    @property
    def index(self) -> LineIndex:
        """All of them: from the index if it knows these bytes, else by reading them once.

        Raises:
            ChangedWhileRead: the file has become shorter.
        """
        if self._all is None:
            self._all = self._build() if self.text.held else _LINES.get(self._key, self._find, keep=self.text.settled)
        return self._all

    @property
    def total(self) -> LineCount:
        """The number of all lines; a last line without an end counts.

        Raises:
            ChangedWhileRead: the file has become shorter.
        """
        return self.index.total

    @property
    def at_hand(self) -> bool:
        """Whether all lines are told by the index, or by reading no more than is read without a second thought."""
        text = self.text
        if self._all is not None or text.size <= text.limits.count_bytes or self.known:
            return True
        lines = _LINES.find(self._key) or self._counted().known
        if lines is None or lines.size < text.size:
            return False
        self._all = lines
        return True

    def up_to(self, line: LineNumber) -> LineIndex:
        """Return where the lines begin, of a very large file at least as far as `line`, if it has so many.

        Raises:
            NotCounted: time ran out; asked again, counting goes on.
            ChangedWhileRead: the file has become shorter.
        """
        if self.at_hand:
            return self.index
        text = self.text
        deadline = time.monotonic() + text.limits.query_seconds
        found = self._counted().up_to(line, text.read, text.size, text.format, text.limits, deadline)
        if found.size == text.size:
            self._all = found
        elif found.total <= line:
            raise NotCounted(
                f"Line {line:,} of `{display(text.path)}` was not reached in time: the first {found.total:,} lines are"
                f" counted, {found.size:,} of {text.size:,} bytes.",
                "Ask again: counting goes on where it stopped. Searches, and reading the head or tail, need no count.",
            )
        return found

    @property
    def _key(self) -> tuple[Fingerprint, TextFormat, Limits]:
        return self.text.fingerprint, self.text.format, self.text.limits

    def _find(self) -> LineIndex:
        found = None if self._stored is None else self._stored()
        return found or self._build()

    def _build(self) -> LineIndex:
        return LineIndex.build(self.text.read, self.text.size, self.text.format, self.text.limits)

    def _counted(self) -> LineScan:
        if self._scan is None:
            self._scan = LINE_SCANS.get(self._key, LineScan, keep=self.text.settled)
        return self._scan
