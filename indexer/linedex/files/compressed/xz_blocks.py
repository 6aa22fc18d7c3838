"""The block table of an xz file: where each block begins and how much text it says it holds, read from the end.

Each stream ends with an index of its blocks, and a file is one stream behind another. So some kilobytes at the end of
each tell what decoding the whole file would: 1 ms for 100 MB.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from linedex.files.compressed.codec import ReadRaw
from linedex.files.compressed.points import Points
from linedex.files.compressed.xz_format import FOOTER, IndexReader, NotBlocks, block_header, dictionary_bytes

_HEADER_MAGIC: Final = b"\xfd7zXZ\x00"
_FOOTER_MAGIC: Final = b"YZ"
_MOST: Final = 1 << 20
"""Blocks and streams of a table; a file of more has blocks that are too small to be worth one."""
NEAR: Final = 256 << 10
"""Blocks that begin nearer to a seek point than this have none of their own."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A block: its first byte, the bytes of its text, and `raw` and `bits` of the `Start` that decodes it."""

    raw: int
    size: int
    start: tuple[int, int]


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The blocks of a file.

    Attributes:
        points: where decoding can begin.
        size: bytes of text that all of them hold.
        widest: the most text from a point to the next, or to the end.
    """

    points: Points
    size: int
    widest: int


def block_table(read: ReadRaw, end: int) -> BlockTable | None:
    """Return the blocks of a file of `end` bytes, None when it is not whole streams or has too many of them.

    None is also returned when decoding cannot begin at each of its blocks.
    """
    rows: list[tuple[int, int, int, bool]] = []
    size = 0
    try:
        for block in _blocks(read, end):
            dictionary_bytes(block_header(read, block.raw))
            if not rows or size >= rows[-1][1] + NEAR:
                raw, bits = block.start
                rows.append((raw, size, bits, False))
            size += block.size
    except NotBlocks:
        return None
    if not rows:
        return None
    edges = [decoded for _, decoded, _, _ in rows] + [size]
    return BlockTable(Points.from_rows(rows), size, max(high - low for low, high in pairwise(edges)))


def _blocks(read: ReadRaw, end: int) -> list[_Block]:
    """Return all blocks of a file in order."""
    streams: list[list[_Block]] = []
    count = 0
    while end := _without_padding(read, end):
        stream, end = _stream(read, end, _MOST - count)
        count += 1 + len(stream)
        streams.append(stream)
    return [block for stream in reversed(streams) for block in stream]


def _without_padding(read: ReadRaw, end: int) -> int:
    """Return where the stream before a byte ends; zeros, four at a time, may stand behind it."""
    while end >= 4 and not any(read(end - 4, 4)):
        step = min(end, 4096)
        held = read(end - step, step)
        end -= (len(held) - len(held.rstrip(b"\0"))) // 4 * 4
    return end


def _stream(read: ReadRaw, end: int, most: int) -> tuple[list[_Block], int]:
    """Return the blocks of the stream that ends at a byte, `most` at most, and where it begins."""
    footer = read(end - FOOTER, FOOTER) if end >= 2 * FOOTER else b""
    if len(footer) < FOOTER or footer[10:] != _FOOTER_MAGIC or zlib.crc32(footer[4:10]) != _number(footer[:4]):
        raise NotBlocks("there is no footer")
    index_at = end - FOOTER - 4 * (1 + _number(footer[4:8]))
    index = IndexReader(read, index_at)
    if index.count >= most:
        raise NotBlocks("there are too many blocks")
    sizes = [(index.number(), index.number()) for _ in range(index.count)]
    start = index_at - sum(raw + -raw % 4 for raw, _ in sizes) - FOOTER
    flags = footer[8:10]
    if index.stream_end != end or start < 0 or flags[0] or flags[1] > 15:
        raise NotBlocks("index and stream are not of one length")
    if not _checked(read, index_at, end - FOOTER) or read(start, FOOTER)[:8] != _HEADER_MAGIC + flags:
        raise NotBlocks("the index is damaged")
    return list(_laid_out(start, sizes, flags[1])), start


def _laid_out(start: int, sizes: list[tuple[int, int]], check: int) -> Iterator[_Block]:
    at = start + FOOTER
    for number, (raw, decoded) in enumerate(sizes):
        yield _Block(at, decoded, (at, 1 + check) if number else (start, 0))
        at += raw + -raw % 4


def _checked(read: ReadRaw, start: int, end: int) -> bool:
    """Say whether the index between two bytes has the checksum that it ends with."""
    found = 0
    for at in range(start, end - 4, 1 << 16):
        found = zlib.crc32(read(at, min(1 << 16, end - 4 - at)), found)
    return found == _number(read(end - 4, 4))


def _number(held: bytes) -> int:
    return int.from_bytes(held, "little")
