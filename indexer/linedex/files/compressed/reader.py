"""Text of a compressed file by decoded offset: what `pread` is to a plain one.

Promise: `read` gives the bytes that stand there in the text, whatever was read before; it decodes from the nearest seek
point on, or goes on where it stopped, and keeps the last mebibytes. Without seek points it decodes from the beginning:
`sequential` says so, and reads in rising order still cost one decoding. One reader serves one thread.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from linedex.files.compressed.codec import Codec, ReadRaw
from linedex.files.compressed.points import Points, Windows, decoded_before
from linedex.files.compressed.stream import Forward

STEP: Final = 1 << 20
"""Bytes of text that are decoded at once on the way to those that are wanted."""
CHUNK: Final = 128 << 10
"""... and of those: a read of a block decodes little behind it."""
_KEPT: Final = 48
"""Chunks that are kept: a search reads a window of a mebibyte twice, and the lines around it."""

ONE_POINT: Final = Points.of([(0, 0)])
"""The seek points of a file that has none."""


def never() -> None:
    """End no read."""


class DecodedReader:
    """Reads the text of one open compressed file.

    Attributes:
        size: bytes of the text.
        sequential: whether reading backwards means to decode from the beginning.
    """

    size: int
    sequential: bool

    def __init__(
        self,
        read: ReadRaw,
        codec: Codec,
        size: int,
        points: Points = ONE_POINT,
        windows: Windows | None = None,
        *,
        chunk: int = CHUNK,
        check: Callable[[], None] = never,
    ) -> None:
        """Take an open file.

        Args:
            read: reads (offset, size) bytes of the compressed file.
            codec: how it is compressed.
            size: bytes of text that can be decoded.
            points: its seek points.
            windows: their windows, for gzip.
            chunk: bytes of text that are kept as one.
            check: called before each step; whatever it raises ends the read.
        """
        self.size = size
        self.sequential = len(points) == 1 and size > STEP
        self._read_raw = read
        self._codec = codec
        self._points = points
        self._windows = windows
        self._size_of_chunk = chunk
        self._check = check
        self._forward: Forward | None = None
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes of the text from `offset`, fewer only where it ends or is not what it was.

        Raises:
            OSError: the file cannot be read.
        """
        end = min(offset + size, self.size)
        parts = []
        while offset < end:
            at, inside = divmod(offset, self._size_of_chunk)
            part = self._chunk(at)[inside : inside + end - offset]
            if not part:
                break
            parts.append(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _chunk(self, at: int) -> bytes:
        if (kept := self._kept.get(at)) is not None:
            self._kept.move_to_end(at)
            return kept
        start = at * self._size_of_chunk
        forward = self._at_or_before(start)
        first = max(-(-forward.position // self._size_of_chunk), at - _KEPT // 2)
        for number in range(first, at + 1):
            # what is passed is kept as well: a search looks for the end of a window before it reads the window
            self._kept[number] = self._decode(forward, number * self._size_of_chunk)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return self._kept[at]

    def _at_or_before(self, offset: int) -> Forward:
        forward = self._forward
        if forward is None or not decoded_before(self._points, offset) <= forward.position <= offset:
            forward = self._forward = Forward(self._read_raw, self._codec, self._points.before(offset, self._windows))
        return forward

    def _decode(self, forward: Forward, offset: int) -> bytes:
        while forward.position < offset:
            self._check()
            if not forward.step(min(STEP, offset - forward.position)):
                return b""
        parts = []
        wanted = min(self._size_of_chunk, self.size - offset)
        while wanted > 0 and (part := forward.step(wanted)):
            self._check()
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)
