"""Ranges of the text of a compressed file, for the workers that cut it into blocks.

The parent knows the seek points; a worker is given the one to begin at, with its 32 KiB of text, and decodes from there
to the end of its range. A text without seek points is decoded by each worker once: it keeps its place between ranges.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.decoding import Decoding, Way
from linedex.files.compressed.points import Windows
from linedex.files.compressed.reader import STEP, DecodedReader
from linedex.files.compressed.stream import BEGINNING, Forward, Start
from linedex.model import Fingerprint

_FAR = 8 << 20
"""Where seek points are further apart, decoding from one to each range costs more than decoding all in each worker."""


@dataclass(frozen=True, slots=True)
class DecodedPart:
    """Where the decoding of a range begins.

    Attributes:
        codec: how the bytes are compressed.
        size: bytes of the whole text.
        start: the seek point.
        copy: the seekable copy that is read instead of the file, "" for the file itself.
        sequential: whether there is no seek point but the beginning.
    """

    codec: Codec
    size: int
    start: Start = BEGINNING
    copy: str = ""
    sequential: bool = False


@dataclass(frozen=True)
class DecodedRanges:
    """Gives the ranges of one text where they begin: how it is decoded, its windows, and its copy if it has one."""

    decoding: Decoding
    windows: Windows
    copy: Path

    def part(self, offset: int) -> DecodedPart:
        """Return where to begin for a range that begins at a decoded offset."""
        decoding = self.decoding
        if decoding.way is Way.SEQUENTIAL or (decoding.way is Way.POINTS and decoding.points.widest > _FAR):
            return DecodedPart(decoding.codec, decoding.size, sequential=True)
        start = decoding.points.before(offset, self.windows)
        if decoding.way is Way.SHADOW:
            return DecodedPart(Codec.ZSTD, decoding.size, start, os.fspath(self.copy))
        return DecodedPart(decoding.codec, decoding.size, start)


def read_decoded(descriptor: int, part: DecodedPart, mark: Fingerprint, offset: int, size: int) -> bytes:
    """Return a range of the text of an open file, less only where the text ends or is not what it was.

    Raises:
        OSError: the file or its copy cannot be read.
    """
    if part.sequential:
        return _kept_reader(descriptor, part, mark).read(offset, size)
    copy = os.open(part.copy, os.O_RDONLY | os.O_CLOEXEC) if part.copy else -1
    source = copy if part.copy else descriptor
    try:
        forward = Forward(lambda at, count: os.pread(source, count, at), part.codec, part.start)
        if not forward.skip_to(offset, STEP):
            return b""
        text = bytearray()
        while len(text) < size and (piece := forward.step(min(STEP, size - len(text)))):
            text += piece
        return bytes(text)
    finally:
        if copy >= 0:
            os.close(copy)


@dataclass
class _Kept:
    """The text that this process decodes from its beginning, and how far it is."""

    mark: Fingerprint
    descriptor: int
    reader: DecodedReader


_KEPT: list[_Kept] = []


def _kept_reader(descriptor: int, part: DecodedPart, mark: Fingerprint) -> DecodedReader:
    if not _KEPT or _KEPT[0].mark != mark:
        let_go()
        own = os.dup(descriptor)
        reader = DecodedReader(lambda at, count: os.pread(own, count, at), part.codec, part.size)
        _KEPT.append(_Kept(mark, own, reader))
    return _KEPT[0].reader


def let_go() -> None:
    """Close the file that was kept open between ranges; a worker that ends need not."""
    while _KEPT:
        os.close(_KEPT.pop().descriptor)
