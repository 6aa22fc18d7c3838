"""Lines of a byte stream, each whole or not at all."""

from __future__ import annotations

import anyio
from anyio.abc import ByteStream

from linedex_server.rendezvous.hello import LINE_BYTES

_CHUNK = 1 << 18
_FEW_BYTES = 1 << 18
MOST_VALUES = 200_000
"""Values that one line may hold: 60 MiB of empty lists took 3.8 GB and held up every session for 20 s."""
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_ENDS = (anyio.EndOfStream, *_GONE)


class Lines:
    """Reads lines from `stream`; at most one line and one chunk are held."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._ready: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = 0

    async def next(self, most: int = LINE_BYTES) -> bytes | None:
        """Return the next line without its end; None when the stream ended or a line is longer than `most` bytes."""
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
            if self._size > most:
                return None
        return self._ready.pop()


async def send(connection: ByteStream, line: bytes) -> bool:
    """Send a line; return whether somebody was there to take it."""
    try:
        await connection.send(line)
    except _GONE:
        return False
    return True


def is_crowded(line: bytes) -> bool:
    """Return whether a line of JSON holds more than `MOST_VALUES` values, without making any of them.

    A long text counts as one value, whatever stands in it.
    """
    if len(line) <= _FEW_BYTES or _separators(line) <= MOST_VALUES:
        return False
    # not a regular expression: those that find strings take seconds for some, or for ever
    quoted = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    if quoted.count(b'"') > 2 * MOST_VALUES:
        return True
    return sum(map(_separators, quoted.split(b'"')[::2])) > MOST_VALUES


def _separators(line: bytes) -> int:
    return line.count(b",") + line.count(b"[") + line.count(b"{")
