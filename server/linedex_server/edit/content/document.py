"""One state of a file as text: whole if it is small, by lines or by windows whatever its size.

Promise: nothing larger than `whole_bytes` is ever held. `lines` reads the lines asked for and the blocks they begin and
end in; `windows` and `raw_windows` go through the file once, in constant memory. All that is returned is of the state
that `read` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from linedex.content.lines import LineEnds, LineIndex, Reader
from linedex.errors import BinaryFile, LineOutOfRange
from linedex.files import text_format as formats
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex.model import ByteOffset, LineNumber, Newline, TextFormat
from linedex_server.edit.content.text import Text, argument, one_byte_each
from linedex_server.edit.errors import TooLarge

WHOLE_BYTES = 16 << 20
WINDOW_BYTES = 1 << 20


class Document:
    """A file's text.

    Args:
        read: reads (offset, size) bytes of one state of the file; fewer only at its end.
        size: the length of that state in bytes.
        text_format: how its bytes spell text.
        lines: makes or finds the index of its lines; called once, and only for a file over `whole_bytes`.
        whole_bytes: the most that is held at once.
        window_bytes: size near which windows end.
    """

    def __init__(
        self,
        read: Reader,
        size: int,
        text_format: TextFormat,
        lines: Callable[[], LineIndex],
        *,
        whole_bytes: int = WHOLE_BYTES,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self.read = read
        self.size = size
        self.format = text_format
        self._lines = lines
        self._whole_bytes = whole_bytes
        self._window_bytes = window_bytes

    @classmethod
    def detected(
        cls,
        read: Reader,
        size: int,
        limits: Limits = DEFAULT_LIMITS,
        *,
        whole_bytes: int = WHOLE_BYTES,
        window_bytes: int = WINDOW_BYTES,
    ) -> Document:
        """Return the document of a file of which nothing is known: its format is detected, its lines are indexed."""
        found = formats.detect(read, size)
        return cls(
            read,
            size,
            found,
            lambda: LineIndex.build(read, size, found, limits),
            whole_bytes=whole_bytes,
            window_bytes=window_bytes,
        )

    @property
    def fits(self) -> bool:
        """Whether the file is small enough for `whole`."""
        return self.size <= self._whole_bytes

    @property
    def whole_bytes(self) -> int:
        """The most bytes that are held at once."""
        return self._whole_bytes

    @property
    def byte_searchable(self) -> bool:
        """Whether the encoded form of a text, found in the file's bytes, is that text in the file.

        True for UTF-8 and for encodings of one byte a character. In the others a hit may begin in the middle of a
        character. Line ends are to be spelt as the file has them.
        """
        return self.format.encoding == "utf-8" or one_byte_each(self.format.encoding)

    def argument(self, name: str, text: str) -> str:
        r"""Return a caller's text with this file's line ends as `\n`: CRLF, and in a CR file a lone CR.

        Raises:
            BadArgument: it holds half of a surrogate pair.
        """
        normal = argument(name, text)
        return normal.replace("\r", "\n") if self.format.newline is Newline.CR else normal

    def demand_text(self) -> None:
        """Do nothing if the file holds text.

        Raises:
            BinaryFile: it does not.
        """
        if self.format.binary:
            raise BinaryFile(
                f"The file is binary ({self.size:,} bytes), so it has no text to edit.",
                "write_full_text replaces it as a whole.",
            )

    @cached_property
    def whole(self) -> Text:
        """All of the text.

        Raises:
            TooLarge: the file is larger than may be held.
            BinaryFile: it holds no text.
        """
        self.demand_text()
        if not self.fits:
            raise TooLarge(
                f"The file has {self.size:,} bytes; this edit takes up to {self._whole_bytes:,}.",
                "Use edit_content, replace_literal or apply_text_edits, which take files of any size.",
            )
        bom = self.format.bom
        return Text(self.read(bom, self.size - bom), self.format, start=bom, first_line=1)

    @cached_property
    def total_lines(self) -> int:
        """The number of lines; a last one without an end counts."""
        return self.whole.lines if self.fits else self._index.total

    def lines(self, first: int, last: int) -> Text:
        """Return the lines `first` to `last`, both included, reading little more than those.

        Raises:
            LineOutOfRange: there are fewer lines, or `first` is under 1.
            TooLarge: they are larger than may be held.
            BinaryFile: the file holds no text.
        """
        self.demand_text()
        total = self.total_lines
        if not 1 <= first <= last <= total:
            raise LineOutOfRange(
                f"Lines {first:,} to {last:,} are not all in the file ({total:,} lines).",
                total,
                f"Give lines from 1 to {total}." if total else "The file is empty.",
            )
        if self.fits:
            return self.whole.part(first, last)
        start = self._start_of(first)
        end = self.size if last == total else self._start_of(last + 1)
        if end - start > self._whole_bytes:
            raise self._too_long(first, last)
        return Text(self.read(start, end - start), self.format, start=start, first_line=first)

    def lines_at(self, start: int, end: int) -> Text:
        """Return the whole lines that hold the bytes `start` to `end` (exclusive) of the file.

        Raises:
            TooLarge: they are larger than may be held.
            BinaryFile: the file holds no text.
        """
        return self.lines(self._line_of(start), self._line_of(max(start, end - 1)))

    def windows(self, overlap_lines: int = 0) -> Iterator[Text]:
        """Yield the text in pieces of whole lines, in order, so that constant memory is enough for any file.

        Args:
            overlap_lines: how many lines of one piece begin the next; every run of `overlap_lines + 1` lines lies
                wholly in one of them.

        Raises:
            TooLarge: such a run of lines is larger than may be held.
            BinaryFile: the file holds no text.
        """
        self.demand_text()
        start, line = self.format.bom, 1
        while start < self.size:
            raw = self._whole_lines(start, overlap_lines + 1, line)
            yield Text(raw, self.format, start=start, first_line=line)
            if start + len(raw) >= self.size:
                return
            ends = self._ends.ends(raw)
            fresh = len(ends) - overlap_lines
            start, line = start + int(ends[fresh - 1]), line + fresh

    def raw_windows(self, overlap: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) pieces of the file without its BOM, each beginning `overlap` bytes inside the last."""
        start, step = self.format.bom, self._window_bytes + overlap
        while start < self.size:
            yield start, self.read(start, min(step, self.size - start))
            if start + step >= self.size:
                return
            start += step - overlap

    @cached_property
    def dominant(self) -> str:
        r"""What most lines end with: `\n`, `\r\n` or `\r`; "" when LF and CRLF are equally many; `\n` for no line end.

        A file of mixed line ends is read once for it.
        """
        match self.format.newline:
            case Newline.LF | Newline.NONE:
                return "\n"
            case Newline.CRLF:
                return "\r\n"
            case Newline.CR:
                return "\r"
            case Newline.MIXED:
                paired = single = 0
                for window in [self.whole] if self.fits else self.windows():
                    pairs, others = window.line_end_counts()
                    paired, single = paired + pairs, single + others
                return "" if paired == single else "\r\n" if paired > single else "\n"

    @cached_property
    def _ends(self) -> LineEnds:
        return LineEnds.of(self.format)

    @cached_property
    def _index(self) -> LineIndex:
        return self._lines()

    def _start_of(self, line: int) -> int:
        block = self._index.locate(LineNumber(line))
        skipped = line - block.first_line
        if not skipped:
            return block.start
        return block.start + int(self._ends.ends(self.read(block.start, block.end - block.start))[skipped - 1])

    def _line_of(self, byte: int) -> int:
        if self.fits:
            return 1 + self._ends.count(self.whole.raw[: max(0, byte - self.format.bom)])
        block = self._index.at(ByteOffset(byte))
        return block.first_line + self._ends.count(self.read(block.start, byte - block.start))

    def _whole_lines(self, start: int, least: int, line: int) -> bytes:
        """Return at least `least` lines from a line's first byte on, or all that are left."""
        size = self._window_bytes
        while True:
            raw = self.read(start, min(size, self.size - start))
            if start + len(raw) >= self.size:
                return raw
            ends = self._ends.ends(raw)
            if len(ends) >= least:
                return raw[: int(ends[-1])]
            if size >= self._whole_bytes:
                raise self._too_long(line, line + least - 1)
            size = min(2 * size, self._whole_bytes)

    def _too_long(self, first: int, last: int) -> TooLarge:
        lines = f"Line {first:,} has" if first == last else f"Lines {first:,} to {last:,} have"
        return TooLarge(
            f"{lines} over {self._whole_bytes:,} bytes, which is more than an edit holds.",
            "Edit fewer lines at once, or replace the file by write_full_text.",
        )
