"""Text of a compressed file by decoded offset: what `pread` is to a plain one.

Promise: `read` gives the bytes that stand there in the text, whatever was read before; it decodes from the nearest seek
point on, or goes on where it stopped, and keeps the last mebibytes. Without seek points it decodes from the beginning:
`sequential` says so, and reads in rising order still cost one decoding. One reader serves one thread.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.points import Points, Windows, decoded_before
from linedex.files.compressed.stream import Forward, ReadRaw

_KEPT: Final = 6
"""Steps of text that are kept: a search reads a window twice, and the lines around it."""
STEP: Final = 1 << 20

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
        step: int = STEP,
        check: Callable[[], None] = never,
    ) -> None:
        """Take an open file.

        Args:
            read: reads (offset, size) bytes of the compressed file.
            codec: how it is compressed.
            size: bytes of text that can be decoded.
            points: its seek points.
            windows: their windows, for gzip.
            step: bytes that are decoded at once.
            check: called before each step; whatever it raises ends the read.
        """
        self.size = size
        self.sequential = len(points) == 1 and size > step
        self._read_raw = read
        self._codec = codec
        self._points = points
        self._windows = windows
        self._step = step
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
            at, inside = divmod(offset, self._step)
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
        chunk = self._decode(at * self._step, min(self._step, self.size - at * self._step))
        self._kept[at] = chunk
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return chunk

    def _decode(self, offset: int, size: int) -> bytes:
        forward = self._forward
        if forward is None or not decoded_before(self._points, offset) <= forward.position <= offset:
            start = self._points.before(offset, self._windows)
            forward = self._forward = Forward(self._read_raw, self._codec, start)
        while forward.position < offset:
            self._check()
            if not forward.step(min(self._step, offset - forward.position)):
                return b""
        parts = []
        while size > 0 and (part := forward.step(size)):
            self._check()
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
