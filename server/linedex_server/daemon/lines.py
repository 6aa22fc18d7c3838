"""Lines of a byte stream, each whole or not at all."""

from __future__ import annotations

import anyio
from anyio.abc import ByteStream

from linedex_server.rendezvous.hello import LINE_BYTES

_CHUNK = 1 << 18
_ENDS = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Lines:
    """Reads lines from `stream`; at most one line and one chunk are held."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._ready: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = 0

    async def next(self) -> bytes | None:
        """Return the next line without its end; None when the stream ended or a line is longer than `LINE_BYTES`."""
        while not self._ready:
            try:
                chunk = await self._stream.receive(_CHUNK)
            except _ENDS:
                return None
            *whole, rest = chunk.split(b"\n")
            if whole:
                self._ready = [b"".join((*self._parts, whole[0])), *whole[1:]][::-1]
                self._parts, self._size = [], 0
            if rest:
                self._parts.append(rest)
                self._size += len(rest)
            if self._size > LINE_BYTES:
                return None
        return self._ready.pop()
