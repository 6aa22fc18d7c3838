"""Seek points of a gzip file, found by indexed_gzip; for worker processes only.

`build_full_index` keeps the interpreter's lock: another thread ran at a hundredth of its speed beside it. And it
accepts broken files without a word, so it is shown only the part that was decoded before, and told to check nothing.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from dataclasses import dataclass
from typing import Final

import indexed_gzip
import numpy as np

from linedex.files.compressed.codec import ReadRaw
from linedex.files.compressed.points import POINT, WINDOW, WINDOWS_A_GROUP, Points

_MOST_POINTS: Final = 4096
"""Their windows are held while they are found: 128 MiB. Larger files have wider spacing."""


@dataclass(frozen=True)
class GzipPoints:
    """Seek points of a gzip file, and their windows in compressed groups."""

    points: Points
    groups: tuple[bytes, ...]


class _Export:
    """Takes the index that indexed_gzip exports, and keeps its windows compressed as they come.

    The format (version 1): a head of 35 bytes, 18 bytes a point, then the windows of the points that have one.
    """

    _HEAD: Final = struct.Struct("<5sBBQQIII")
    _ROW: Final = struct.Struct("<QQBB")

    def __init__(self, raw_end: int, size: int) -> None:
        """Take an index of so many bytes of a file, of whose text the first `size` bytes count."""
        self._raw_end = raw_end
        self._size = size
        self._received = bytearray()
        self._rows: list[tuple[int, int, int, int]] | None = None
        self._waiting: list[int] = []
        self._kept: list[tuple[int, int, int, bool]] = []
        self._group: list[bytes] = []
        self._groups: list[bytes] = []

    def write(self, piece: bytes) -> int:
        """Take the next bytes of the export."""
        self._received += piece
        if self._rows is None:
            self._take_rows()
        if self._rows is not None:
            self._take_windows()
        return len(piece)

    def flush(self) -> None:
        """Do nothing; the exporter calls it."""

    def fileno(self) -> int:
        """Say that there is no file, so that the exporter writes here.

        Raises:
            io.UnsupportedOperation: always.
        """
        raise io.UnsupportedOperation("the export is taken in memory")

    def finish(self) -> GzipPoints:
        """Return what was exported."""
        self._close_group()
        return GzipPoints(Points(np.array(self._kept, POINT)), tuple(self._groups))

    def _take_rows(self) -> None:
        if len(self._received) < self._HEAD.size:
            return
        *_, count = self._HEAD.unpack_from(self._received)
        end = self._HEAD.size + count * self._ROW.size
        if len(self._received) < end:
            return
        self._rows = list(self._ROW.iter_unpack(bytes(self._received[self._HEAD.size : end])))[::-1]
        del self._received[:end]

    def _take_windows(self) -> None:
        assert self._rows is not None
        while self._rows:
            raw, decoded, bits, has_window = self._rows[-1]
            if has_window and len(self._received) < WINDOW:
                return
            window = bytes(self._received[:WINDOW]) if has_window else bytes(WINDOW)
            if has_window:
                del self._received[:WINDOW]
            self._rows.pop()
            if not self._kept:
                self._keep((0, 0, 0, False), bytes(WINDOW))  # the member's own header begins it
            elif decoded < self._size and raw < self._raw_end:
                # the last row is the end of the file, where nothing begins
                self._keep((raw, decoded, bits, True), window)

    def _keep(self, point: tuple[int, int, int, bool], window: bytes) -> None:
        self._kept.append(point)
        self._group.append(window)
        if len(self._group) == WINDOWS_A_GROUP:
            self._close_group()

    def _close_group(self) -> None:
        if self._group:
            self._groups.append(zlib.compress(b"".join(self._group)))
            self._group = []


def find_points(read: ReadRaw, raw_end: int, size: int, spacing: int) -> GzipPoints:
    """Return the seek points of a gzip file, or of the part of it that can be decoded.

    Args:
        read: reads (offset, size) bytes of the compressed file.
        raw_end: how many bytes of it count.
        size: how many bytes of text they hold.
        spacing: bytes of text from point to point, more for a text of over 4,096 times as many.

    Raises:
        indexed_gzip.ZranError: no points were found.
    """
    export = _Export(raw_end, size)
    # indexed_gzip wants it to be larger than a window
    spacing = max(spacing, WINDOW + 1, -(-size // _MOST_POINTS))
    with indexed_gzip.IndexedGzipFile(fileobj=_Part(read, raw_end), spacing=spacing, skip_crc_check=True) as reader:
        reader.build_full_index()
        reader.export_index(fileobj=export)
    return export.finish()


class _Part(io.RawIOBase):
    """The first bytes of a file, as a file."""

    def __init__(self, read: ReadRaw, end: int) -> None:
        self._read = read
        self._end = end
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._read(self._at, max(0, min(len(into), self._end - self._at)))
        into[: len(data)] = data
        self._at += len(data)
        return len(data)
