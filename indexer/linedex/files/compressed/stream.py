"""Decoding forward: from a place where it can begin to the end of the text or to the first damage.

Promise: a step gives at most the bytes that were asked for, so what a file expands to is never held. Members, frames
and streams that follow each other are one text, as their own programs have it. What cannot be decoded ends the text,
and `damage` says at which decoded byte and why; nothing before it is lost.

Two traps. `zlib` throws away what it had decoded when it meets damage: the state before each step is kept, and the step
is taken again byte by byte. `zstandard.read_to_iter` stops silently after the first frame, so frames are followed here.
"""

from __future__ import annotations

import lzma
import sys
import zlib
from dataclasses import dataclass
from typing import Final, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from linedex.files.compressed.codec import Codec, ReadRaw
from linedex.files.compressed.xz_format import BlockDecoder, NotBlocks, behind_index

WINDOW_LOG_MAX: Final = 27
"""Zstandard frames that want a window over 128 MiB are refused."""
_XZ_MEMORY: Final = 192 << 20
"""Memory of an xz decoder; a dictionary of 128 MiB fits."""
RAW_STEP: Final = 64 << 10
"""Bytes of the compressed file that are read at once."""
_SMALL_RAW_STEP: Final = 16 << 10
"""Steps of codecs whose state cannot be kept: what a damaged step had decoded is lost."""
_TRAILER: Final = 8
"""CRC and length behind the deflate stream of a gzip member."""
_GZIP: Final = 31
_RAW_DEFLATE: Final = -15


@dataclass(frozen=True, slots=True)
class Start:
    """A place where decoding can begin.

    Attributes:
        raw: offset in the compressed file.
        decoded: offset in the text.
        bits: in gzip, bits of the byte before `raw` that belong to what follows, 0 to 7; in xz, 0 where a stream begins
            and 1 more than the kind of its check where one of its blocks does.
        window: the text before `decoded` that the codec refers to; None where a member or frame begins.
    """

    raw: int = 0
    decoded: int = 0
    bits: int = 0
    window: bytes | None = None


BEGINNING: Final = Start()


class Decoder(Protocol):
    """One member, frame or stream on its way."""

    @property
    def eof(self) -> bool:
        """Whether it is whole."""

    @property
    def needs_input(self) -> bool:
        """Whether nothing more comes without more bytes."""

    @property
    def unused_data(self) -> bytes:
        """What was given behind its end."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return up to `max_length` bytes of text."""


DECODE_ERRORS: Final = (zlib.error, lzma.LZMAError, zstd.ZstdError, EOFError)


class _Inflate:
    """A gzip member, or the rest of one from the middle of its deflate stream."""

    def __init__(self, window: bytes | None) -> None:
        self._inflate = zlib.decompressobj(_GZIP) if window is None else zlib.decompressobj(_RAW_DEFLATE, zdict=window)
        self._rest = b""

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._rest

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        before, given = self._inflate.copy(), self._rest + data
        try:
            found = self._inflate.decompress(given, max_length)
        except zlib.error:
            self._inflate, self._rest = before, b""
            found = self._up_to_damage(given, max_length)
            if not found:
                raise
            return found
        self._rest = self._inflate.unconsumed_tail
        return found

    def _up_to_damage(self, given: bytes, max_length: int) -> bytes:
        parts, size = [], 0
        for at in range(len(given)):
            try:
                part = self._inflate.decompress(given[at : at + 1], max_length - size)
            except zlib.error:
                self._rest = given[at:]
                break
            parts.append(part)
            size += len(part)
            if size == max_length:
                self._rest = self._inflate.unconsumed_tail + given[at + 1 :]
                break
        return b"".join(parts)


def _decoder(codec: Codec, start: Start) -> Decoder:
    if codec is Codec.GZIP:
        return _Inflate(start.window)
    if codec is Codec.ZSTD:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG_MAX})
    if start.bits:
        return BlockDecoder(start.bits - 1)
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


class Forward:
    """Text of a compressed file from a start on.

    Attributes:
        position: decoded offset of what `step` gives next.
        damage: why the text ends before the file does, "" while it does not.
        member_start: where the member, frame or stream that is being decoded begins, (raw, decoded).
    """

    position: int
    damage: str
    member_start: tuple[int, int]

    def __init__(self, read: ReadRaw, codec: Codec, start: Start = Start()) -> None:
        """Begin at `start`; `read` gives (offset, size) bytes of the compressed file, fewer only at its end."""
        self.position = start.decoded
        self.damage = ""
        self.member_start = (start.raw, start.decoded)
        self._read = read
        self._codec = codec
        self._raw = start.raw
        self._decoder: Decoder | None = _decoder(codec, start)
        self._trailer = _TRAILER if start.window is not None else 0
        self._ahead = b""
        if start.window is not None and start.bits:
            self._ahead = _primed(start.bits, read(start.raw - 1, 1))
        self._raw_step = RAW_STEP if codec is Codec.GZIP else _SMALL_RAW_STEP

    @property
    def raw_position(self) -> int:
        """How far the compressed file has been given to the decoder."""
        return self._raw - len(self._ahead)

    def step(self, most: int) -> bytes:
        """Return the next bytes of text, at most `most`; b"" at the end of the text only.

        Raises:
            OSError: the file cannot be read.
        """
        while self._decoder is not None:
            decoder = self._decoder
            data = self._more() if decoder.needs_input else b""
            ended = decoder.needs_input and not data
            try:
                found = decoder.decompress(data, most)
            except DECODE_ERRORS as error:
                return self._end(str(error) or "damaged")
            self.position += len(found)
            if decoder.eof:
                self._next_member(decoder.unused_data)
            elif ended and not found:
                return self._end("the file ends inside it")
            if found:
                return found
        return b""

    def skip_to(self, offset: int, step: int) -> bool:
        """Decode up to a decoded offset; return False if the text ends before it."""
        while self.position < offset:
            if not self.step(min(step, offset - self.position)):
                return False
        return True

    def _more(self) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        data = self._read(self._raw, self._raw_step)
        self._raw += len(data)
        return data

    def _end(self, damage: str) -> bytes:
        self.damage = damage
        self._decoder = None
        return b""

    def _next_member(self, unused: bytes) -> None:
        self._ahead = unused + self._ahead
        if isinstance(self._decoder, BlockDecoder):
            try:
                self._trailer = behind_index(self._read, self.raw_position) - self.raw_position
            except NotBlocks as error:
                self._end(str(error))
                return
        if self._trailer:
            self._fill(self._trailer)
            if len(self._ahead) < self._trailer:
                self._end("the file ends inside it")
                return
            self._ahead, self._trailer = self._ahead[self._trailer :], 0
        # padding: tapes and `xz --block` files are filled up with zeros
        while self._fill(1) and not self._ahead[0]:
            self._ahead = self._ahead.lstrip(b"\0")
        if not self._ahead:
            self._decoder = None
            return
        self._fill(8)
        if not _opens_member(self._codec, self._ahead):
            self._end(f"what follows byte {self.raw_position:,} of the file is not {self._codec}")
            return
        self.member_start = (self.raw_position, self.position)
        self._decoder = _decoder(self._codec, Start())

    def _fill(self, least: int) -> int:
        while len(self._ahead) < least:
            data = self._read(self._raw, self._raw_step)
            if not data:
                break
            self._raw += len(data)
            self._ahead += data
        return len(self._ahead)


def _opens_member(codec: Codec, head: bytes) -> bool:
    if codec is Codec.GZIP:
        return head.startswith(b"\x1f\x8b")
    if codec is Codec.XZ:
        return head.startswith(b"\xfd7zXZ\x00")
    return head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F)


class _Bits:
    """Bits in deflate's order, the least of a byte first."""

    def __init__(self) -> None:
        self.value = 0
        self.count = 0

    def add(self, value: int, count: int) -> None:
        self.value |= value << self.count
        self.count += count


def _empty_blocks(count: int) -> _Bits:
    """Return deflate blocks without text whose bits number `count` modulo 8.

    A fixed block is 10 bits; one of its own codes, with only the end of block among them, can be made of 93. (No
    published library for Python lets a caller prime the decoder with bits.)
    """
    bits = _Bits()
    if count % 2:
        bits.add(0b100, 3)  # not the last, dynamic
        bits.add(0, 5)  # 257 literal and length codes
        bits.add(0, 5)  # 1 distance code
        bits.add(14, 4)  # 18 lengths of length codes, in the order 16 17 18 0 8 7 9 6 10 5 11 4 12 3 13 2 14 1
        for length in (0, 0, 2, 1, *[0] * 13, 2):
            bits.add(length, 3)
        # canonical codes, most significant bit first: 0 -> "0", 1 -> "10", 18 -> "11"
        bits.add(0b11, 2)
        bits.add(138 - 11, 7)  # 138 zeros
        bits.add(0b11, 2)
        bits.add(118 - 11, 7)  # 118 zeros: literals 0 to 255
        bits.add(0b01, 2)  # the end of block has length 1
        bits.add(0b0, 1)  # no distance
        bits.add(0b0, 1)  # end of block
    while bits.count % 8 != count:
        bits.add(0b010, 3)  # not the last, fixed
        bits.add(0, 7)  # end of block
    return bits


def _primed(bits: int, byte: bytes) -> bytes:
    """Return whole bytes that end with the upper `bits` bits of a byte, and begin with blocks that say nothing."""
    filled = _empty_blocks(8 - bits)
    filled.add(byte[0] >> (8 - bits), bits)
    return filled.value.to_bytes(filled.count // 8, "little")
