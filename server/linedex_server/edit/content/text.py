"""Some whole lines of a file as the text that tools speak of, and the way back from its code points to bytes.

Promise: `Text.text` has no BOM, every line end is one newline, and each byte that does not decode is one code point
from U+DC00 to U+DCFF (a lone surrogate, which no caller's text may hold). `byte_at` names the byte at which a code
point begins, also where a character is spelt otherwise than its codec would spell it.
"""

from __future__ import annotations

import codecs
import re
from functools import cached_property, lru_cache

import numpy as np

from linedex.content.lines import LineEnds, Offsets
from linedex.errors import BadArgument
from linedex.model import Newline, TextFormat
from linedex_server.edit.errors import Unencodable

UNDECODED = re.compile("[\udc00-\udcff]+")
"""A run of code points that stand for bytes which do not decode, U+DC00 more than the byte each."""
_BYTE_BASE = 0xDC00
_KEEP_BYTES = "linedex.keep-bytes"
_KEEP_FIRST_BYTE = "linedex.keep-first-byte"
_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_NEWLINE_STEP = 1 << 20


def _keep_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(_BYTE_BASE + byte) for byte in error.object[error.start : error.end]), error.end


def _keep_first_byte(error: UnicodeError) -> tuple[str, int]:
    # EUC-JP and GB18030 take a line feed behind half a character for a part of it
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(_BYTE_BASE + error.object[error.start]), error.start + 1


codecs.register_error(_KEEP_BYTES, _keep_bytes)
codecs.register_error(_KEEP_FIRST_BYTE, _keep_first_byte)


def decoded(raw: bytes, encoding: str) -> str:
    """Return bytes as text in which each byte that does not decode is one code point of `UNDECODED`."""
    if encoding == "utf-8":
        # says the same as ours, ten times as fast
        return raw.decode(encoding, "surrogateescape")
    return raw.decode(encoding, _KEEP_BYTES if encoding in _WIDE else _KEEP_FIRST_BYTE)


def encoded(text: str, encoding: str, *, line: int = 1) -> bytes:
    """Return text as bytes, code points of `UNDECODED` as the bytes that they stand for.

    Args:
        text: with line ends as they shall be written.
        encoding: a codec that writes no BOM of its own.
        line: number of the line that `text` begins on, for the refusal.

    Raises:
        Unencodable: a character cannot be written in this encoding; it and its line are named.
    """
    parts: list[bytes] = []
    at = 0
    try:
        for stray in UNDECODED.finditer(text):
            parts.append(text[at : stray.start()].encode(encoding))
            parts.append(bytes(ord(point) - _BYTE_BASE for point in stray.group()))
            at = stray.end()
        parts.append(text[at:].encode(encoding))
    except UnicodeEncodeError as refusal:
        at += refusal.start
        character = text[at]
        number = line + text.count("\n" if "\n" in text else "\r", 0, at)
        raise Unencodable(
            f"{character!r} (U+{ord(character):04X}) in line {number:,} cannot be written in {encoding}.",
            "Write it with other characters, or name another `encoding` in a tool that takes one.",
        ) from None
    return b"".join(parts)


def shown(text: str) -> str:
    """Return `text` with U+FFFD for each byte that does not decode, as reads show it."""
    return UNDECODED.sub(lambda run: "\ufffd" * len(run.group()), text)


def argument(name: str, text: str) -> str:
    r"""Return a caller's text with CRLF as `\n`; nothing else is changed.

    Raises:
        BadArgument: it holds half of a surrogate pair, which is no character.
    """
    if lone := _SURROGATE.search(text):
        raise BadArgument(
            f"`{name}` holds half of a surrogate pair at character {lone.start() + 1}.", "Give it as Unicode text."
        )
    return text.replace("\r\n", "\n")


@lru_cache(maxsize=64)
def one_byte_each(encoding: str) -> bool:
    """Tell whether every character of this encoding is one byte."""
    if encoding == "utf-8" or encoding in _WIDE:
        return False
    return len(decoded(bytes(range(256)), encoding)) == 256


def unit_of(encoding: str) -> int:
    """Return the bytes of a code unit: 2 for UTF-16, 4 for UTF-32, else 1."""
    return _WIDE.get(encoding, 1)


class Text:
    r"""Whole lines of one state of a file; its last line may lack an end if it is the file's last.

    Attributes:
        raw: their bytes.
        text: what they say, with `\n` for each line end.
        start: offset of the first byte in the file.
        end: offset of the byte after the last.
        first_line: number of the first line, 1-based.
        format: how the file spells text.
    """

    def __init__(self, raw: bytes, text_format: TextFormat, *, start: int, first_line: int) -> None:
        self.raw = raw
        self.start = start
        self.end = start + len(raw)
        self.first_line = first_line
        self.format = text_format
        text = decoded(raw, text_format.encoding)
        self.text = text.replace("\r" if text_format.newline is Newline.CR else "\r\n", "\n")
        self._ends = LineEnds.of(text_format)
        # what was asked for last: callers go through a text from its beginning to its end
        self._known_row = (0, 0, 0)
        self._known = (0, 0)
        self._column_bytes: tuple[int, Offsets] = (-1, np.zeros(1, np.int64))

    @property
    def lines(self) -> int:
        """The number of lines; a last one without an end counts."""
        return len(self._points) - 1 + (int(self._points[-1]) < len(self.text))

    def line_at(self, offset: int) -> int:
        """Return the number of the line that a code point stands in; behind the last line end, the line after it."""
        return self.first_line + self._row(offset)

    def line_start(self, line: int) -> int:
        """Return the offset of the first code point of a line of this text, or of the line that would follow."""
        row = line - self.first_line
        return int(self._points[row]) if row < len(self._points) else len(self.text)

    def line_end_bytes(self, line: int) -> bytes:
        """Return the bytes that end a line of this text, b"" for a last line without an end."""
        row = line - self.first_line
        if row + 1 >= len(self._starts):
            return b""
        end, width = int(self._starts[row + 1]), self._ends.width
        paired = "\r\n".encode(self.format.encoding)
        first = int(self._starts[row])
        if self.format.newline is not Newline.CR and self.raw[max(first, end - len(paired)) : end] == paired:
            return paired
        return self.raw[end - width : end]

    def line_end_counts(self) -> tuple[int, int]:
        """Return how many lines end with CRLF, and how many with a lone line end."""
        ended = len(self._starts) - 1
        if self.format.newline is Newline.CR:
            return 0, ended
        wide = self.format.encoding in _WIDE
        paired = decoded(self.raw, self.format.encoding).count("\r\n") if wide else self.raw.count(b"\r\n")
        return paired, ended - paired

    def byte_at(self, offset: int) -> int:
        """Return the byte of the file at which the code point at `offset` begins; before the CR for a CRLF.

        Where one character of the file is two code points, the byte after it stands for the place between them: see
        `divides`.
        """
        row = self._row(offset)
        point, byte = int(self._points[row]), int(self._starts[row])
        if self._by_table:
            return self.start + byte + int(self._columns(row)[offset - point])
        if point <= self._known[0] <= offset:
            point, byte = self._known
        byte += self._width(self.text[point:offset])
        self._known = (offset, byte)
        return self.start + byte

    def divides(self, offset: int) -> bool:
        """Tell whether `offset` stands between two code points that are one character of the file (in Big5-HKSCS)."""
        if not self._by_table or offset >= len(self.text):
            return False
        row = self._row(offset)
        column = offset - int(self._points[row])
        table = self._columns(row)
        return 0 < column < len(table) - 1 and bool(table[column] == table[column + 1])

    def part(self, first: int, last: int) -> Text:
        """Return the lines `first` to `last` (included) of this text as one of their own."""
        row = last - self.first_line + 1
        low = int(self._starts[first - self.first_line])
        high = int(self._starts[row]) if row < len(self._starts) else len(self.raw)
        return Text(self.raw[low:high], self.format, start=self.start + low, first_line=first)

    @cached_property
    def undecoded(self) -> int:
        """How many bytes do not decode."""
        return 0 if self.text.isascii() else sum(len(run) for run in UNDECODED.findall(self.text))

    @cached_property
    def _by_table(self) -> bool:
        encoding = self.format.encoding
        return encoding != "utf-8" and encoding not in _WIDE and not one_byte_each(encoding)

    @cached_property
    def _starts(self) -> Offsets:
        """Where each line begins in `raw`, and the end of the last line that has one."""
        return np.concatenate((np.zeros(1, np.int64), self._ends.ends(self.raw)))

    @cached_property
    def _points(self) -> Offsets:
        """The same in code points of `text`."""
        found = [np.zeros(1, np.int64)]
        for at in range(0, len(self.text), _NEWLINE_STEP):
            points = self.text[at : at + _NEWLINE_STEP].encode("utf-32-le", "surrogatepass")
            found.append(np.flatnonzero(np.frombuffer(points, "<u4") == 0x0A).astype(np.int64) + at + 1)
        return np.concatenate(found)

    def _row(self, offset: int) -> int:
        row, low, high = self._known_row
        if not low <= offset < high:
            row = int(self._points.searchsorted(offset, side="right")) - 1
            low = int(self._points[row])
            high = int(self._points[row + 1]) if row + 1 < len(self._points) else len(self.text) + 1
            self._known_row = (row, low, high)
        return row

    def _width(self, piece: str) -> int:
        """Return the bytes of a piece of one line, its line end left out."""
        encoding = self.format.encoding
        if encoding == "utf-8":
            return len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogateescape"))
        if encoding not in _WIDE:
            return len(piece)
        stray = sum(len(run) for run in UNDECODED.findall(piece)) if self.undecoded else 0
        # each stray byte is counted as a code unit first
        return len(piece.encode(encoding, "surrogatepass")) - stray * (_WIDE[encoding] - 1)

    def _columns(self, row: int) -> Offsets:
        """Return the byte at which each code point of a line begins, and that of its end, counted from the line's."""
        if self._column_bytes[0] != row:
            low, high = self._starts[row], self._starts[row + 1] if row + 1 < len(self._starts) else len(self.raw)
            first = int(self._points[row])
            last = int(self._points[row + 1]) - 1 if row + 1 < len(self._points) else len(self.text)
            self._column_bytes = (row, _table(self.raw[low:high], self.text[first:last], self.format.encoding))
        return self._column_bytes[1]


def _table(raw: bytes, line: str, encoding: str) -> Offsets:
    if raw.isascii():
        return np.arange(len(line) + 1, dtype=np.int64)
    widths = _canonical_widths(raw, line, encoding)
    if widths is None:
        widths = np.array(_stepped_widths(raw, encoding)[: len(line)], np.int64)
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(widths)))


def _canonical_widths(raw: bytes, line: str, encoding: str) -> Offsets | None:
    """Return the bytes of each code point if the line is spelt as the codec would spell it, else None."""
    try:
        spelt = encoded(line, encoding)
        width = {point: len(encoded(point, encoding)) for point in set(line)}
    except Unencodable:
        return None
    widths = np.fromiter(map(width.__getitem__, line), np.int64, len(line))
    # two code points that are one character need fewer bytes than one by one
    return widths if raw.startswith(spelt) and int(widths.sum()) == len(spelt) else None


def _stepped_widths(raw: bytes, encoding: str) -> list[int]:
    """Return the bytes of each code point by decoding byte after byte."""
    decoder = codecs.getincrementaldecoder(encoding)(_KEEP_FIRST_BYTE)
    widths: list[int] = []
    waiting = 0
    for at in range(len(raw)):
        points = decoder.decode(raw[at : at + 1])
        waiting += 1
        if points:
            held = len(decoder.getstate()[0])
            widths += _shared(points, waiting - held, encoding)
            waiting = held
    points = decoder.decode(b"", final=True)
    return widths + _shared(points, waiting, encoding)


def _shared(points: str, size: int, encoding: str) -> list[int]:
    """Return how `size` bytes are shared by the code points that they decoded to together."""
    if len(points) == 1:
        return [size]
    widths = [1 if point.isascii() or UNDECODED.match(point) else 0 for point in points]
    for at, point in enumerate(points):
        if not widths[at]:
            left = size - sum(widths)
            try:
                widths[at] = min(left, len(point.encode(encoding)))
            except UnicodeEncodeError:
                continue
    return widths
