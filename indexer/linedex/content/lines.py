"""Lines of a file of any size: where they end, where blocks of them begin.

Promise: `LineIndex.locate` names the block that holds a line after one binary search, so reading line N of any file
costs one block, never a scan. Blocks end at line ends wherever a line end is near; a longer line spans several blocks,
and a cut never splits a character. Offsets are of the file's own bytes, in whatever encoding.

A line ends at LF or CRLF, and at a lone CR only in a file that has no LF at all.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from linedex.errors import LineOutOfRange
from linedex.limits import Limits
from linedex.model import ByteOffset, LineCount, LineNumber, Newline, TextFormat

Reader: TypeAlias = Callable[[int, int], bytes]
"""`read(offset, size)` returns up to `size` bytes of the file from `offset`."""
Offsets: TypeAlias = npt.NDArray[np.int64]

_LOW_SURROGATE = range(0xDC, 0xE0)
# never the second byte of a character in Shift-JIS, GBK, Big5 and the EUCs
_ALWAYS_WHOLE = frozenset(range(0x30))

_WORTH_NUMPY: Final = 2048
LF: Final = 10


def count_byte(data: bytes, byte: int, start: int = 0, end: int | None = None) -> int:
    """Return how often a byte stands in `data[start:end]`, in a fifth of the time of `bytes.count` if that is often."""
    size = (len(data) if end is None else end) - start
    if size < _WORTH_NUMPY:
        return data.count(byte, start, end)
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, size, start) == byte))


@dataclass(frozen=True, slots=True)
class LineEnds:
    """How one file ends its lines, in its own bytes.

    Attributes:
        unit: the bytes that end a line.
        width: bytes of a code unit; line ends stand at multiples of it, counted from `base`.
        base: length of the BOM in bytes.
        encoding: the file's codec.
    """

    unit: bytes
    width: int
    base: int
    encoding: str

    @classmethod
    def of(cls, text_format: TextFormat) -> LineEnds:
        """Return the line ends of a file of this format."""
        unit = ("\r" if text_format.newline is Newline.CR else "\n").encode(text_format.encoding)
        return cls(unit, len(unit), text_format.bom, text_format.encoding)

    def count(self, data: bytes) -> int:
        """Return the number of line ends in `data`, which begins at a code unit."""
        return count_byte(data, self.unit[0]) if self.width == 1 else len(self.ends(data))

    def ends(self, data: bytes) -> Offsets:
        """Return the offset after each line end in `data`, which begins at a code unit."""
        if self.width == 1:
            found = np.flatnonzero(np.frombuffer(data, np.uint8) == self.unit[0])
        else:
            kind = f"u{self.width}"
            whole = len(data) - len(data) % self.width
            found = np.flatnonzero(np.frombuffer(data[:whole], kind) == np.frombuffer(self.unit, kind)[0])
        ends: Offsets = (found.astype(np.int64) + 1) * self.width
        return ends

    def cut(self, data: bytes, origin: int, at: int, slack: int, known: int) -> tuple[int, bool]:
        """Return where to cut `data` near index `at`, and whether a line ends there.

        The first line end at or after `at` within `slack` bytes; where there is none, a character boundary.

        Args:
            data: bytes of the file from `origin` on.
            origin: their offset in the file.
            at: index in `data`, at least one code unit.
            slack: bytes to look past `at`.
            known: index in `data` where a character begins, `at` at most.
        """
        at += -(origin + at - self.base) % self.width
        found = at - self.width
        limit = min(len(data), at + slack)
        while (found := data.find(self.unit, found, limit)) >= 0:
            if (origin + found - self.base) % self.width == 0:
                return found + self.width, True
            found += 1
        return self._character_boundary(data, at, limit, known), False

    @property
    def tells_boundaries(self) -> bool:
        """Whether a few bytes tell where characters begin, as in UTF-8 and in what has wider code units."""
        return self.width > 1 or self.encoding == "utf-8"

    def _character_boundary(self, data: bytes, at: int, limit: int, known: int) -> int:
        if self.encoding == "utf-8":
            for ahead in range(4):
                if at + ahead >= len(data) or data[at + ahead] & 0xC0 != 0x80:
                    return at + ahead
            return at
        if self.width > 1:
            high = at + 1 if self.encoding.endswith("le") else at
            return at + 2 if self.width == 2 and high < len(data) and data[high] in _LOW_SURROGATE else at
        whole = next((index + 1 for index in range(at, limit) if data[index] in _ALWAYS_WHOLE), 0)
        return whole or counted_boundary(data, at, known, self.encoding)


def counted_boundary(data: bytes, at: int, known: int, encoding: str) -> int:
    """Return the first place from `at` on where a character begins, counted off from one where one is known to begin.

    Args:
        data: text in an encoding whose bytes do not tell by themselves where a character begins, some bytes past `at`.
        at: index in it.
        known: index of the first byte of a character, `at` at most.
        encoding: its codec.
    """
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    decoder.decode(data[known:at])
    while at < len(data) and decoder.getstate()[0]:
        decoder.decode(data[at : at + 1])
        at += 1
    return at


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a file.

    Attributes:
        ordinal: its place among the file's blocks, from 0.
        start: its first byte.
        end: the byte after its last.
        first_line: number of the line that its first byte belongs to.
        continues: whether that line began in an earlier block.
    """

    ordinal: int
    start: ByteOffset
    end: ByteOffset
    first_line: LineNumber
    continues: bool


def cut_blocks(data: bytes, origin: int, ends: LineEnds, limits: Limits) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, whether a line ends there) of each block of `data`, as indices into it.

    Args:
        data: whole lines, or parts of one line, of the file from `origin` on; its own end is a cut already.
        origin: offset of `data` in the file.
        ends: the file's line ends.
        limits: block size and slack.
    """
    start, size = 0, len(data)
    step = max(limits.block_bytes, ends.width)
    while start < size:
        if start + step >= size:
            yield start, size, data.endswith(ends.unit)
            return
        end, at_line_end = ends.cut(data, origin, start + step, limits.block_slack, start)
        yield start, end, at_line_end
        start = end


def cut_ranges(
    read: Reader, start: int, size: int, ends: LineEnds, limits: Limits, begun: int = -1
) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of ranges near `limits.batch_bytes` that cover a file, cut where blocks may be cut.

    Args:
        read: reads the file.
        start: the first byte that is wanted.
        size: the byte after the last.
        ends: the file's line ends.
        limits: size of a range and slack.
        begun: where the range that holds `start` began; then all are cut as they would be from there.
    """
    step = max(limits.batch_bytes, ends.width)
    near = start + step if begun < 0 else max(begun + step, start + ends.width)
    while start < size:
        if near >= size:
            yield start, size
            return
        origin = near - ends.width
        data = read(origin, limits.block_slack + 2 * ends.width + 4)
        cut, at_line_end = ends.cut(data, origin, ends.width, limits.block_slack, 0)
        if not (at_line_end or ends.tells_boundaries):
            origin = start
            data = read(origin, near - start + limits.block_slack + 6)
            cut, _ = ends.cut(data, origin, near - start, limits.block_slack, 0)
        end = min(size, origin + cut)
        yield start, end
        start = end
        near = start + step


def _cut_lines(
    read: Reader, stretch: tuple[int, int], line_at: tuple[int, bool], text_format: TextFormat, limits: Limits
) -> tuple[list[int], list[int], list[bool], LineCount]:
    """Cut a stretch of a file up to its end into blocks; return where they begin, their lines, and the last line.

    `line_at` is the line that the first byte belongs to, and whether it began earlier.
    """
    ends = LineEnds.of(text_format)
    starts: list[int] = []
    lines: list[int] = []
    continues: list[bool] = []
    line, inside = line_at
    for begin, end in cut_ranges(read, *stretch, ends, limits):
        data = read(begin, end - begin)
        for low, high, ended in cut_blocks(data, begin, ends, limits):
            starts.append(begin + low)
            lines.append(line)
            continues.append(inside)
            line += ends.count(data[low:high])
            inside = not ended
    return starts, lines, continues, LineCount(line if inside else line - 1)


@dataclass(frozen=True)
class LineIndex:
    """Where each block of a file's lines begins.

    Attributes:
        starts: first byte of each block, ascending.
        lines: number of the line each block's first byte belongs to.
        continues: whether that line began in an earlier block.
        size: bytes of the file that are covered, from the BOM on.
        total: lines of the file.
    """

    starts: Offsets
    lines: Offsets
    continues: npt.NDArray[np.bool_]
    size: int
    total: LineCount

    @classmethod
    def build(cls, read: Reader, size: int, text_format: TextFormat, limits: Limits) -> LineIndex:
        """Return the line index of a file by reading it once, a range at a time."""
        starts, lines, continues, total = _cut_lines(read, (text_format.bom, size), (1, False), text_format, limits)
        return cls(np.array(starts, np.int64), np.array(lines, np.int64), np.array(continues, np.bool_), size, total)

    def extended(self, read: Reader, size: int, text_format: TextFormat, limits: Limits) -> LineIndex:
        """Return the line index of the file after it has grown to `size` bytes, reading it from the last block on.

        The format is that of the whole; the last line that is known may go on.
        """
        origin, line, inside = int(self.starts[-1]), int(self.lines[-1]), bool(self.continues[-1])

        def read_on(offset: int, count: int) -> bytes:
            return read(offset, min(count, size - offset))

        starts, lines, continues, total = _cut_lines(read_on, (origin, size), (line, inside), text_format, limits)
        return LineIndex(
            np.concatenate((self.starts[:-1], np.array(starts, np.int64))),
            np.concatenate((self.lines[:-1], np.array(lines, np.int64))),
            np.concatenate((self.continues[:-1], np.array(continues, np.bool_))),
            size,
            total,
        )

    def __len__(self) -> int:
        return len(self.starts)

    def block(self, ordinal: int) -> Block:
        """Return a block by its place, from 0."""
        end = int(self.starts[ordinal + 1]) if ordinal + 1 < len(self.starts) else self.size
        return Block(
            ordinal,
            ByteOffset(int(self.starts[ordinal])),
            ByteOffset(end),
            LineNumber(int(self.lines[ordinal])),
            bool(self.continues[ordinal]),
        )

    def locate(self, line: LineNumber) -> Block:
        """Return the block that holds the first byte of `line` (1-based).

        Raises:
            LineOutOfRange: `line` is past the end; the error carries the last line's number.
        """
        if not 1 <= line <= self.total:
            raise LineOutOfRange(
                f"Line {line:,} is beyond the end of the file ({self.total:,} lines).",
                self.total,
                f"Ask for a line from 1 to {self.total}." if self.total else "The file is empty.",
            )
        # the last block whose first byte opens this line or stands in an earlier one
        return self.block(int(np.searchsorted(self._opening, line, side="right")) - 1)

    def at(self, offset: ByteOffset) -> Block:
        """Return the block that holds the byte at `offset`."""
        return self.block(max(0, int(np.searchsorted(self.starts, offset, side="right")) - 1))

    @cached_property
    def _opening(self) -> Offsets:
        """The first line that begins in each block or, for a block inside one line, the line after it."""
        opening: Offsets = self.lines + self.continues
        return opening

    def check(self) -> None:
        """Assert the invariants: starts ascend, lines never descend, a continued block does not open the file.

        Raises:
            AssertionError: one of them does not hold.
        """
        assert (np.diff(self.starts) > 0).all(), "blocks are empty or out of order"
        assert (np.diff(self.lines) >= 0).all(), "line numbers descend"
        assert not len(self.continues) or not self.continues[0], "the first block continues a line"
        assert not len(self.lines) or self.lines[0] == 1, "the first block does not hold line 1"
