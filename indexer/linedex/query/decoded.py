"""The text of an open compressed file, as a query reads it: by decoded offset, like a plain file's bytes.

Promise: what is given is decoded from the file's present bytes, or from a copy of exactly this state of it. What the
index knows of the file only says where decoding can begin. A file that the index does not know is measured first, by
decoding it once, and then read from its beginning; the measure is remembered, the text is not. One that declares where
its frames or blocks are is believed until a read shows that it holds less, which is told and remembered too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import apsw

from linedex.content.lines import Reader
from linedex.files import fingerprint as fingerprints
from linedex.files.compressed.codec import MAGIC_BYTES, Codec, codec_of, is_named_compressed
from linedex.files.compressed.decoding import Decoding, Density, beginning
from linedex.files.compressed.frames import declared_points
from linedex.files.compressed.points import Points
from linedex.files.compressed.reader import STEP, DecodedReader
from linedex.files.compressed.stream import Forward
from linedex.files.compressed.xz_blocks import block_table
from linedex.limits import Limits
from linedex.model import Change, FileId, Fingerprint, LineCount, RelPath
from linedex.query.indexed_part import IndexedPart
from linedex.query.remembered import Remembered
from linedex.store import decodings, files
from linedex.store.database import unusable


class TooLate(Exception):
    """The time of a query ran out while a file was decoded; internal to queries."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What decoding a file once told: bytes of its text, why they end early, and whether there was time for all."""

    size: int
    damage: str
    whole: bool = True


_MEASURES: Final = Remembered[Measure](512)
_DISTRUSTED: Final = Remembered[bool](512)
"""Files that hold less than they declare."""


class DecodedText:
    """The text of one open compressed file.

    Attributes:
        codec: how it is compressed.
        size: bytes of text that can be read.
        damage: why there are no more, "" when that is all.
        whole: whether there was time to find its end.
        part: what the index knows of the text, None when it does not know this state of the file.
        broken: where the text turned out to end though the file declares more, -1 while it did not.
    """

    codec: Codec
    size: int
    damage: str
    whole: bool
    part: IndexedPart | None
    broken: int

    def __init__(
        self,
        codec: Codec,
        measure: Measure,
        reader: DecodedReader | bytes,
        part: IndexedPart | None = None,
        shadow: int = -1,
        *,
        declared: Fingerprint | None = None,
    ) -> None:
        """Take what was found.

        Args:
            codec: how the file is compressed.
            measure: of its text.
            reader: reads the text, or is it.
            part: what the index knows of it.
            shadow: a descriptor that `close` closes.
            declared: the state of a file of which `measure` is only what it declares.
        """
        self.codec = codec
        self.size, self.damage, self.whole = measure.size, measure.damage, measure.whole
        self.part = part
        self.broken = -1
        self._reader = reader
        self._shadow = shadow
        self._declared = declared

    @property
    def sequential(self) -> bool:
        """Whether the text can only be read from its beginning."""
        return isinstance(self._reader, DecodedReader) and self._reader.sequential

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes of text from `offset`, fewer only where it ends or the file has changed.

        Raises:
            TooLate: the time of the query is over.
            OSError: the file cannot be read.
        """
        if isinstance(self._reader, bytes):
            return self._reader[offset : offset + size]
        found = self._reader.read(offset, size)
        if self._declared is not None and len(found) < min(size, self.size - offset):
            self.broken = offset + len(found)
            settled = not fingerprints.is_racy(self._declared, time.time_ns())
            _DISTRUSTED.get(self._declared, lambda: True, keep=settled)
        return found

    def close(self) -> None:
        """Let go of what was opened beside the file itself."""
        if self._shadow >= 0:
            os.close(self._shadow)
            self._shadow = -1


def decoded_text(
    descriptor: int,
    path: RelPath,
    known: tuple[apsw.Connection, FileId] | None,
    limits: Limits,
    deadline: float | None = None,
) -> DecodedText | None:
    """Return the text of an open file if it is compressed, None if it is not.

    Args:
        descriptor: the file; it stays the caller's, and open as long as the text is read.
        path: its path; the name says whether it may be compressed.
        known: a reading connection and the file's id, if the index has a row of it.
        limits: sizes.
        deadline: `time.monotonic` after which `read` raises `TooLate`; half of the time before it may go into finding
            the end of a text that the index does not know.

    Raises:
        TooDense: it holds more text than a file is believed to.
        OSError: it cannot be read.
    """
    if not is_named_compressed(path):
        return None
    codec = codec_of(path, os.pread(descriptor, MAGIC_BYTES, 0))
    if codec is None:
        return None

    def read(offset: int, size: int) -> bytes:
        return os.pread(descriptor, size, offset)

    mark = fingerprints.of(descriptor)
    found = _as_stored(known, mark) if known is not None else None
    if found is not None and known is not None:
        return _by_index(read, known, *found, limits, deadline)
    short = beginning(read, codec, limits.large_file)
    if short is not None:
        text, damage = short
        return DecodedText(codec, Measure(len(text), damage), text)
    declared = _declared(read, mark.size, codec, limits)
    if declared is not None and not _DISTRUSTED.get(mark, lambda: False, keep=False):
        points, size = declared
        Density(limits).check(size, mark.size)
        reader = DecodedReader(read, codec, size, points, check=_alarm(deadline))
        return DecodedText(codec, Measure(size, ""), reader, declared=mark)
    measure = _measured(read, mark, codec, limits, deadline)
    reader = DecodedReader(read, codec, measure.size, check=_alarm(deadline))
    return DecodedText(codec, measure, reader)


def _declared(read: Reader, end: int, codec: Codec, limits: Limits) -> tuple[Points, int] | None:
    """Return the seek points and the size of a text as the file itself declares them, None when it does not."""
    if codec is Codec.ZSTD:
        return declared_points(read, end, limits.frame_bytes)
    table = block_table(read, end) if codec is Codec.XZ else None
    return (table.points, table.size) if table is not None and len(table.points) > 1 else None


def _as_stored(
    known: tuple[apsw.Connection, FileId], mark: Fingerprint
) -> tuple[Decoding, Fingerprint, IndexedPart] | None:
    """Return what the index knows of a file, if it knows exactly this state of it."""
    db, file = known
    try:
        text = files.stored_text(db, file)
        if text is None or fingerprints.change(text.fingerprint, mark) is not Change.UNCHANGED:
            return None
        if fingerprints.is_racy(text.fingerprint, text.seen_ns):
            return None
        decoding = decodings.stored(db, file)
    except apsw.Error as error:
        if not unusable(error):
            raise
        return None
    if decoding is None:
        return None
    lines = LineCount(text.lines)
    part = IndexedPart(file, decoding.size, lines, text.format, text.language, grown=False)
    return decoding, text.fingerprint, part


def _by_index(
    read: Reader,
    known: tuple[apsw.Connection, FileId],
    decoding: Decoding,
    mark: Fingerprint,
    part: IndexedPart,
    limits: Limits,
    deadline: float | None,
) -> DecodedText:
    db, file = known
    reader, copy = decodings.opened(db, file, decoding, mark, read, limits, _alarm(deadline))
    return DecodedText(decoding.codec, Measure(decoding.size, decoding.damage), reader, part, copy)


def _measured(read: Reader, mark: Fingerprint, codec: Codec, limits: Limits, deadline: float | None) -> Measure:
    """Return the size of a text that the index does not know, or how much of it there was time to decode."""
    settled = not fingerprints.is_racy(mark, time.time_ns())
    enough = None if deadline is None else (time.monotonic() + deadline) / 2
    try:
        return _MEASURES.get((mark, codec, limits), lambda: _decode_once(read, codec, limits, enough), keep=settled)
    except _Unfinished as unfinished:
        return Measure(unfinished.size, "", whole=False)


def _decode_once(read: Reader, codec: Codec, limits: Limits, enough: float | None) -> Measure:
    forward, density = Forward(read, codec), Density(limits)
    while forward.step(STEP):
        density.check(forward.position, forward.raw_position)
        if enough is not None and time.monotonic() > enough:
            raise _Unfinished(forward.position)
    return Measure(forward.position, forward.damage)


class _Unfinished(Exception):
    """There was no time to decode a whole text; only so much of it."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


def _alarm(deadline: float | None) -> Callable[[], None]:
    """Return what ends a read when the time of its query is over."""

    def check() -> None:
        if deadline is not None and time.monotonic() > deadline:
            raise TooLate

    return check
