"""Lines of one file: from a line on, its head, its tail, or around a piece of text.

Promise: reading line N of a file of any size takes one look-up and one read of about a block, whatever stands before
it; a line of any length costs bounded memory. Lines are split as `content.lines` says, tabs and blanks are verbatim,
each invalid byte is one U+FFFD. What is left out is said: `cut_lines`, `next_line`, `note`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from linedex.answers import ReadAnswer
from linedex.content.lines import LineEnds
from linedex.errors import BadArgument, LineOutOfRange
from linedex.files.names import display
from linedex.model import LineCount, LineNumber, Newline, Symbol
from linedex.query.excerpt import decode
from linedex.query.source import Source

_LONGEST_CHARACTER: Final = 4
_TAIL_BATCH: Final = 64


class ShownLine(NamedTuple):
    """A line as it is shown, and whether that is only its beginning."""

    text: str
    cut: bool


def read(source: Source, first: int, count: int) -> ReadAnswer:
    """Return up to `count` lines from line `first` on, fewer where the file or the page ends.

    Args:
        source: the file.
        first: number of the first line, 1-based; 1 is allowed in an empty file.
        count: how many lines, at least 1.

    Raises:
        BadArgument: `first` or `count` is under 1.
        LineOutOfRange: `first` is past the last line.
        BinaryFile: the file holds no text.
        ChangedWhileRead: it was rewritten each time it was read.
    """
    demand_positive("first", first)
    demand_positive("count", count)
    return source.steadily(lambda: stretch(source, first, count))


def head(source: Source, count: int) -> ReadAnswer:
    """Return the first `count` lines; raises as `read` does."""
    return read(source, 1, count)


def tail(source: Source, count: int) -> ReadAnswer:
    """Return the last `count` lines, or as many of them as a page holds; raises as `read` does.

    Those of a very large file that nobody has counted are numbered from its end.
    """
    demand_positive("count", count)
    return source.steadily(lambda: _tail(source, count))


def demand_positive(name: str, value: int) -> None:
    """Refuse a value under 1 by the name of its parameter.

    Raises:
        BadArgument: it is under 1.
    """
    if value < 1:
        raise BadArgument(f"`{name}` must be at least 1, not {value}.", f"Give {name}=1 or more.")


def stretch(
    source: Source, first: int, count: int, *, symbol: Symbol | None = None, match: int | None = None, note: str = ""
) -> ReadAnswer:
    """Return lines as `read` does, with what led to them; for callers that are already inside `Source.steadily`.

    `next_line` is None once the lines of `symbol` have all been shown.
    """
    source.demand_text()
    known = source.lines.up_to(LineNumber(first + count))
    total, counted = known.total, known.size >= source.size
    if first > total and (total or first > 1):
        raise LineOutOfRange(
            f"Line {first:,} is beyond the end of `{display(source.path)}` ({total:,} lines).",
            total,
            f"Ask for a line from 1 to {total}." if total else "The file is empty.",
        )
    last = min(total, first + count - 1)
    texts: list[str] = []
    cut_lines: list[LineNumber] = []
    room = source.limits.page_characters
    for number, line in enumerate(shown_lines(source, first, last), start=first):
        room -= len(line.text) + 1
        if room < 0 and texts:
            break
        texts.append(line.text)
        if line.cut:
            cut_lines.append(LineNumber(number))
    after = first + len(texts)
    end = last if symbol is not None else total
    return ReadAnswer(
        path=source.path,
        lines=tuple(texts),
        first_line=LineNumber(first if texts else 0),
        total_lines=total,
        hash=source.hash(),
        cut_lines=tuple(cut_lines),
        next_line=LineNumber(after) if after <= end else None,
        match_line=None if match is None else LineNumber(match),
        symbol=symbol,
        note=_with_damage(note, source),
        counted=counted,
    )


def _with_damage(note: str, source: Source) -> str:
    return "; ".join(part for part in (note, source.damage) if part)


def _tail(source: Source, count: int) -> ReadAnswer:
    source.demand_text()
    if not source.lines.at_hand and (answer := _uncounted_tail(source, count)) is not None:
        return answer
    total = source.lines.total
    wanted_first = max(1, total - count + 1)
    kept: list[ShownLine] = []
    room = source.limits.page_characters
    at = total + 1
    while at > wanted_first and room >= 0:
        begin = max(wanted_first, at - _TAIL_BATCH)
        for line in reversed(list(shown_lines(source, begin, at - 1))):
            room -= len(line.text) + 1
            if room < 0 and kept:
                break
            kept.append(line)
        at = begin
    kept.reverse()
    first = total - len(kept) + 1
    note = f"the page is full: lines {wanted_first:,}-{first - 1:,} were left out" if first > wanted_first else ""
    return ReadAnswer(
        path=source.path,
        lines=tuple(line.text for line in kept),
        first_line=LineNumber(first if kept else 0),
        total_lines=LineCount(total),
        hash=source.hash(),
        cut_lines=tuple(LineNumber(number) for number, line in enumerate(kept, start=first) if line.cut),
        note=_with_damage(note, source),
    )


def _uncounted_tail(source: Source, count: int) -> ReadAnswer | None:
    """Return the last lines of a file by reading no more than its end; None when no line begins there."""
    limits, ends, bom = source.limits, source.line_ends, source.format.bom
    most = _LONGEST_CHARACTER * (limits.page_characters + limits.line_characters)
    reach = limits.window_bytes
    while True:
        begin = max(bom, source.size - reach)
        begin -= (begin - bom) % ends.width
        data = source.read(begin, source.size - begin)
        edges = [*ends.ends(data).tolist(), len(data)]
        if edges[-2:-1] == [len(data)]:
            edges.pop()
        if begin == bom or len(edges) > count or reach >= most:
            break
        reach *= 4
    if begin == bom:
        edges.insert(0, 0)
    if len(edges) < 2:
        return None
    kept: list[ShownLine] = []
    room = limits.page_characters
    for low, high in reversed([*pairwise(edges)][-count:]):
        line = _shown(source, _without_end(source, data[low:high]), limits.line_characters)
        room -= len(line.text) + 1
        if room < 0 and kept:
            break
        kept.append(line)
    kept.reverse()
    first = -len(kept)
    return ReadAnswer(
        path=source.path,
        lines=tuple(line.text for line in kept),
        first_line=LineNumber(first),
        total_lines=LineCount(len(kept)),
        hash=source.hash(),
        cut_lines=tuple(LineNumber(number) for number, line in enumerate(kept, start=first) if line.cut),
        note=_with_damage("numbered from the end, since nobody has counted the lines before", source),
        counted=False,
    )


def _without_end(source: Source, line: bytes) -> bytes:
    """Return a line's bytes without its end."""
    ends = source.line_ends
    if line.endswith(ends.unit):
        line = line[: -ends.width]
        if source.format.newline is not Newline.CR:
            line = line.removesuffix("\r".encode(source.format.encoding))
    return line


def _shown(source: Source, raw: bytes, most: int) -> ShownLine:
    """Return a line as it is shown, at most so many code points of it."""
    text = decoded(raw[: _LONGEST_CHARACTER * (most + 1)], source.format.encoding)
    return ShownLine(text[:most], len(text) > most)


def shown_lines(source: Source, first: int, last: int, most: int | None = None) -> Iterator[ShownLine]:
    """Yield the lines `first` to `last` (included) as they are shown; none when `last` is before `first`.

    Args:
        source: the file.
        first: number of the first line.
        last: number of the last line.
        most: code points shown of a line; `limits.line_characters` when None.
    """
    if most is None:
        most = source.limits.line_characters
    encoding = source.format.encoding
    for raw, whole in _raw_lines(source, first, last, _LONGEST_CHARACTER * (most + 1)):
        text = decoded(raw, encoding)
        yield ShownLine(text[:most], not whole or len(text) > most)


def decoded(raw: bytes, encoding: str) -> str:
    """Return bytes of a file as text; what is invalid becomes U+FFFD, in UTF-8 one for each byte, as columns count."""
    return decode(raw) if encoding == "utf-8" else raw.decode(encoding, "replace")


def _raw_lines(source: Source, first: int, last: int, most: int) -> Iterator[tuple[bytes, bool]]:
    """Yield each line's bytes without its end, at most `most` of them, and whether that is the whole line."""
    if last < first:
        return
    ends = source.line_ends
    step = max(source.limits.block_bytes, most + 2 * ends.width)
    carriage_return = b"" if source.format.newline is Newline.CR else "\r".encode(source.format.encoding)
    number = first
    offset = start_of(source, first, ends)
    while number <= last:
        piece = source.read(offset, step)
        start = 0
        for end in ends.ends(piece).tolist():
            line = piece[start : end - ends.width]
            if carriage_return and line.endswith(carriage_return):
                line = line[: -ends.width]
            yield line[:most], len(line) <= most
            number, start = number + 1, end
            if number > last:
                return
        rest = piece[start:]
        if offset + len(piece) >= source.size:
            yield rest[:most], len(rest) <= most
            return
        if len(rest) > most + ends.width:
            yield rest[:most], False
            number += 1
            if number <= last:
                offset = start_of(source, number, ends)
        else:
            offset += start


def start_of(source: Source, line: int, ends: LineEnds) -> int:
    """Return the offset of a line's first byte, reading at most the block that holds it."""
    block = source.lines.up_to(LineNumber(line)).locate(LineNumber(line))
    skipped = line - block.first_line
    if not skipped:
        return block.start
    return block.start + int(ends.ends(source.read(block.start, block.end - block.start))[skipped - 1])
