"""Text formats: which encoding, byte order mark and line ends a file has, or that it is no text.

Promise: valid UTF-8 is recognised over the whole file, however late its first character beyond ASCII, and a file
that is text in any way gets an encoding that shows it. A few NUL bytes do not make a log binary. The order is: a byte
order mark, a magic number, UTF-16 and UTF-32 by their shape, strict UTF-8, UTF-8 with stray bytes, a legacy encoding.
Some words of Chinese in GB18030 happen to be valid UTF-8: they are known by the jumble they would be (`misread`).

Speed: a small ASCII file costs 3 to 6 us; large ones are taken at 9 GB/s (ASCII), 1 GB/s (other UTF-8) and 0.75 GB/s
(CRLF, whose line ends are counted). The file is read in chunks; only samples of it are kept.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from linedex.files.legacy import legacy_encoding
from linedex.files.magic import controls, names_binary
from linedex.files.misread import reads_better_as_gb18030, reads_in_pairs
from linedex.model import Newline, TextFormat

Read = Callable[[int, int], bytes]

BINARY = TextFormat(binary=True)

_CHUNK = 1 << 20
_GLANCE = 4 << 10
_HEAD = 32 << 10
_PIECE = 16 << 10
_PIECES = 4
_CONTROLS_IN_UTF8 = 0.10
"""Share of control codes above which bytes are binary although they are valid UTF-8. Text with NUL separators has up
to 5 %, object files and small tables of numbers over 20 %."""
_CONTROLS_IN_LEGACY = 0.05
"""The same for bytes that are not UTF-8. Compressed bytes have 11 %."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HOLE = bytes(64)
_HOLES = re.compile(rb"\0{64,}")
_HOLE_REACH = 256 << 20
"""How far into a file that begins with NULs its text is looked for: 0.1 s."""
_UNIT = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff\b\x1b"))


def detect_bytes(content: bytes) -> TextFormat:
    """Return the format of a file whose bytes are `content`."""
    if content.isascii() and 0 not in content and len(content) <= _CHUNK:
        glance = content[:_GLANCE]
        if controls(glance) <= len(glance) * _CONTROLS_IN_UTF8 and not names_binary(glance):
            return _ascii_format(content)
        return BINARY
    return detect(lambda offset, size: content[offset : offset + size], len(content))


def detect(read: Read, size: int) -> TextFormat:
    """Return the format of a file.

    Args:
        read: returns up to (offset, size) bytes of it; fewer only at its end.
        size: its length in bytes.
    """
    head = read(0, min(size, _HEAD))
    if head.startswith(_HOLE) and (hole := _leading_hole(read, size)):
        behind = detect(lambda offset, count: read(hole + offset, count), size - hole)
        # a log that was cut to nothing while its writer kept its place
        return BINARY if behind.bom or behind.encoding in _UNIT else behind
    bom, encoding = _bom(head)
    if not bom and names_binary(head):
        return BINARY
    body = head[bom:]
    if encoding in _UNIT:
        return _wide_format(read, size, encoding, bom) if _shows(body, encoding) else BINARY
    sample = _sample(read, size, body)
    share = _control_share(sample)
    if not encoding and 0 in body and (wide := _wide_encoding(body, cut=size > len(head))):
        return _wide_format(read, size, wide, 0)
    if share > _CONTROLS_IN_UTF8:
        return BINARY
    ends = _LineEnds()
    invalid = _scan(read, size, bom, ends)
    if encoding or invalid is None:
        jumbled = not encoding and size <= len(head) and not body.isascii() and reads_better_as_gb18030(body)
        return TextFormat("gb18030" if jumbled else "utf-8", bom, ends.style, ends.final)
    if invalid >= len(head):
        sample += _whole_lines(read(invalid - _PIECE // 2, _PIECE))
    if _mostly_utf8(sample) and not (size <= len(head) and reads_in_pairs(body)):
        return TextFormat("utf-8", 0, ends.style, ends.final)
    if share > _CONTROLS_IN_LEGACY:
        return BINARY
    legacy = legacy_encoding(_dense(sample))
    return TextFormat(legacy, 0, ends.style, ends.final) if legacy else BINARY


def glance(read: Read, size: int) -> TextFormat:
    """Return the format of a file as its head, its end and places between tell, for a first look at a very large one.

    Text of another encoding, or other line ends, that stand in none of these places are not noticed.

    Args:
        read: as for `detect`.
        size: length of the file in bytes.
    """
    if size <= 4 * _PIECES * _PIECE:
        return detect(read, size)
    head = read(0, _HEAD)
    if head.startswith(_HOLE):
        return detect(read, size)
    found = detect(lambda offset, count: head[offset : offset + count], len(head))
    begin = size - _HEAD - (size - found.bom) % 4
    end = read(begin, size - begin)
    if found.encoding in _UNIT:
        shown = end.decode(found.encoding, "replace")
        return replace(found, final_newline=shown.endswith("\r" if found.newline is Newline.CR else "\n"))
    text = head[: found.bom] + _sample(read, size, head[found.bom :]) + end[end.find(b"\n") + 1 :]
    return detect(lambda offset, count: text[offset : offset + count], len(text))


def grown(read: Read, old: TextFormat, start: int, old_size: int, size: int) -> TextFormat | None:
    """Return the format of a text file that became longer, having read the end of it; None when that does not tell.

    An encoding that was recognised by other bytes than the first 32 KiB is kept as long as what is new is valid in it.

    Args:
        read: reads (offset, size) bytes of the file as it is now.
        old: its format when it was shorter.
        start: where to begin, before `old_size` and not inside a character.
        old_size: its former length in bytes.
        size: its length in bytes.
    """
    if old_size < _HEAD:
        now = detect(lambda offset, count: read(offset, min(count, size - offset)), size)
        same = (now.encoding, now.bom, now.binary) == (old.encoding, old.bom, old.binary)
        return now if same and _keeps_line_ends(old.newline, now.newline) else None
    ends = _LineEnds()
    decoder = codecs.getincrementaldecoder(old.encoding)()
    wide = old.encoding in _UNIT
    for chunk in _chunks(read, start, size):
        if old.encoding == "utf-8" and chunk.isascii() and not decoder.getstate()[0]:
            text = chunk
        else:
            try:
                text = decoder.decode(chunk).encode()
            except UnicodeError:
                if old.encoding != "utf-8" or not _mostly_utf8(chunk):
                    return None
                decoder.reset()
                text = chunk
        if _control_share(text) > _CONTROLS_IN_LEGACY:
            return None
        ends.add(text if wide else chunk)
    newline = _both(old.newline, ends.style)
    if not _keeps_line_ends(old.newline, newline):
        return None
    return replace(old, newline=newline, final_newline=ends.ends_with(newline))


def edited(
    read: Read, old: TextFormat, parts: Sequence[tuple[int, int]], old_size: int, size: int
) -> TextFormat | None:
    """Return the format of a text file after parts of it were edited; None when the parts do not tell.

    Line ends that were removed are not noticed: a file that had both kinds goes on having them.

    Args:
        read: reads (offset, size) bytes of the file as it is now.
        old: its format before.
        parts: first byte and byte after the last of each part, ascending; none begins or ends inside a character.
        old_size: its length in bytes before.
        size: its length now.
    """
    if min(old_size, size) < _HEAD:
        return grown(read, old, 0, 0, size)
    if parts[0][0] < _HEAD:
        head = detect(lambda offset, count: read(offset, min(count, _HEAD - offset)), _HEAD)
        if (head.binary, head.bom) != (False, old.bom) or (head.encoding in _UNIT) != (old.encoding in _UNIT):
            return None
    now = old
    for low, high in parts:
        part = grown(read, now, low, _HEAD, high)
        if part is None:
            return None
        now = replace(part, final_newline=part.final_newline if high == size else old.final_newline)
    return now


def _keeps_line_ends(old: Newline, now: Newline) -> bool:
    """Say whether what ended a line in the shorter file still does, and nothing else in it."""
    return (old is Newline.CR) == (now is Newline.CR) or old is Newline.NONE


def _both(one: Newline, other: Newline) -> Newline:
    """Return the style of a text whose parts have these; a lone CR ends no line of a file that has an LF."""
    styles = {one, other} - {Newline.NONE}
    if len(styles) > 1:
        styles -= {Newline.CR}
    return styles.pop() if len(styles) == 1 else Newline.MIXED if styles else Newline.NONE


class _LineEnds:
    """Counts line ends over chunks of text in an encoding that leaves ASCII bytes alone."""

    def __init__(self) -> None:
        self._feeds = 0
        self._pairs = 0
        self._returns = False
        self._last = b""

    def add(self, chunk: bytes) -> None:
        if b"\r" in chunk or self._last == b"\r":
            self._returns = True
            self._feeds += chunk.count(b"\n")
            self._pairs += chunk.count(b"\r\n") + (self._last == b"\r" and chunk.startswith(b"\n"))
        else:
            # Without a CR it is enough to know that there is a line end, which costs a thirtieth of counting them.
            self._feeds += b"\n" in chunk
        self._last = chunk[-1:] or self._last

    @property
    def style(self) -> Newline:
        if self._feeds:
            if not self._pairs:
                return Newline.LF
            return Newline.CRLF if self._pairs == self._feeds else Newline.MIXED
        return Newline.CR if self._returns else Newline.NONE

    @property
    def final(self) -> bool:
        return self.ends_with(self.style)

    def ends_with(self, style: Newline) -> bool:
        return self._last == b"\n" or (self._last == b"\r" and style is Newline.CR)


def _ascii_format(content: bytes) -> TextFormat:
    ends = _LineEnds()
    ends.add(content)
    return _plain_format(ends.style, final_newline=ends.final)


@lru_cache
def _plain_format(newline: Newline, *, final_newline: bool) -> TextFormat:
    return TextFormat("utf-8", 0, newline, final_newline)


def _chunks(read: Read, start: int, size: int) -> Iterator[bytes]:
    """Yield the bytes from `start` to `size`, or to where the file ends by now."""
    while start < size and (chunk := read(start, min(_CHUNK, size - start))):
        yield chunk
        start += len(chunk)


def _scan(read: Read, size: int, start: int, ends: _LineEnds) -> int | None:
    """Count the line ends of the whole file, and return the offset of the first bytes that are not UTF-8, or None."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    invalid: int | None = None
    offset = start
    for chunk in _chunks(read, start, size):
        ends.add(chunk)
        pending = len(decoder.getstate()[0])
        if invalid is None and (pending or not chunk.isascii()):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                invalid = offset - pending + error.start
                decoder.reset()
        offset += len(chunk)
    pending = len(decoder.getstate()[0])
    return offset - pending if invalid is None and pending else invalid


def _dense(sample: bytes) -> bytes:
    """Return a sample without holes of NULs: a log has them after a power cut."""
    return _HOLES.sub(b"", sample) if _HOLE in sample else sample


def _control_share(sample: bytes) -> float:
    """Return the share of control codes, holes left out."""
    dense = _dense(sample)
    return controls(dense) / len(dense) if dense else float(bool(sample))


def _leading_hole(read: Read, size: int) -> int:
    """Return how many NULs a file begins with; 0 when nothing else comes, or too late."""
    offset = 0
    for chunk in _chunks(read, 0, min(size, _HOLE_REACH)):
        text = chunk.lstrip(b"\0")
        if text:
            return offset + len(chunk) - len(text)
        offset += len(chunk)
    return 0


def _bom(head: bytes) -> tuple[int, str]:
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            # FF FE 00 00 also begins UTF-16 text whose first character is NUL; only real UTF-32 decodes on.
            if encoding == "utf-32-le" and _decoded(head[4:], encoding) is None:
                continue
            return len(mark), encoding
    return 0, ""


def _sample(read: Read, size: int, body: bytes) -> bytes:
    """Return the beginning of the file and whole lines from places spread over the rest."""
    if size <= _HEAD:
        return body
    step = (size - _HEAD) // _PIECES
    pieces = (read(_HEAD + step * at + max(0, step - _PIECE), _PIECE) for at in range(_PIECES))
    return _whole_lines(body, first=True) + b"".join(map(_whole_lines, pieces))


def _whole_lines(piece: bytes, *, first: bool = False) -> bytes:
    """Drop the lines that a piece cuts; where there is no line end, the bytes that may be half a character."""
    start = 0 if first else piece.find(b"\n") + 1
    stop = piece.rfind(b"\n") + 1
    if stop > start:
        return piece[start:stop]
    return piece.lstrip(bytes(range(0x80, 0xC0))).rstrip(bytes(range(0x80, 0x100)))


def _mostly_utf8(sample: bytes) -> bool:
    """Say whether more bytes beyond ASCII belong to valid UTF-8 than do not."""
    beyond = len(sample) - len(sample.translate(None, bytes(range(0x80, 0x100))))
    stray = len(sample) - len(sample.decode("utf-8", "ignore").encode())
    return beyond > 2 * stray


def _wide_encoding(head: bytes, *, cut: bool) -> str:
    """Return the UTF-16 or UTF-32 encoding that bytes with NULs among them are in, or ""."""
    single = head.isascii() or _decoded(head, "utf-8") is not None
    for encoding, unit in _UNIT.items():
        if len(head) % unit and not cut:
            continue
        text = _decoded(head[: len(head) - len(head) % unit], encoding)
        if text is None or len(text) < 2 or not _reads_as_text(text):
            continue
        ascii_share = len(text.encode("ascii", "ignore")) / len(text)
        # Read in pairs, ASCII text with a NUL in it gives CJK characters. Text that is also valid in single bytes is
        # therefore taken for UTF-16 only when most of it lies in alphabets, below U+2000; for what is not, some
        # blanks, digits or line ends are enough.
        if (single and _alphabetic_share(text) > 0.5) or (not single and ascii_share > 0.01):
            return encoding
    return ""


def _alphabetic_share(text: str) -> float:
    return sum(character < "\u2000" for character in text[:_HEAD]) / len(text[:_HEAD])


def _decoded(content: bytes, encoding: str) -> str | None:
    """Return the strictly decoded text, a character cut at its end left out; None when it is not of this encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(content)
    except UnicodeDecodeError:
        return None


def _shows(body: bytes, encoding: str) -> bool:
    """Say whether bytes behind a mark of UTF-16 or UTF-32 are such text, a few broken characters allowed."""
    text = body.decode(encoding, "replace")
    visible = "".join(text.translate(_INVISIBLE).split())
    # A fifth of all 16-bit numbers is no character that can be shown.
    broken = sum(not character.isprintable() or character == "\ufffd" for character in visible)
    return broken <= len(visible) * _CONTROLS_IN_UTF8


def _reads_as_text(text: str) -> bool:
    visible = "".join(text.translate(_INVISIBLE).split())
    nuls = visible.count("\0")
    return nuls <= len(text) // 100 and visible.replace("\0", "").isprintable()


def _wide_format(read: Read, size: int, encoding: str, bom: int) -> TextFormat:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    ends = _LineEnds()
    for chunk in _chunks(read, bom, size):
        ends.add(decoder.decode(chunk).encode("utf-8", "replace"))
    return TextFormat(encoding, bom, ends.style, ends.final)
