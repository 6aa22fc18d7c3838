"""Compressed files for tests, made by the codecs' own packers, and bombs made by hand."""

from __future__ import annotations

import gzip
import lzma
import random
import struct
import sys
import zlib
from collections.abc import Callable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from linedex.files.compressed.codec import Codec, ReadRaw


def log(lines: int, seed: int = 0) -> bytes:
    """Return a log whose lines differ enough that its members span many deflate blocks."""
    drawn = random.Random(seed)
    return b"".join(
        b"2026-11-30 10:%02d:%02d INFO request %d took %d ms id=%032x\n"
        % (number // 60 % 60, number % 60, number, drawn.randrange(1000), drawn.getrandbits(128))
        for number in range(lines)
    )


def parts(text: bytes, count: int) -> list[bytes]:
    step = -(-len(text) // count)
    return [text[at : at + step] for at in range(0, len(text), step)]


def gz(text: bytes, members: int = 1) -> bytes:
    return b"".join(gzip.compress(part) for part in parts(text, members))


def zst(text: bytes, frames: int = 1) -> bytes:
    return b"".join(zstd.compress(part) for part in parts(text, frames))


def zst_of_unknown_size(text: bytes, frames: int = 1) -> bytes:
    def packed(part: bytes) -> bytes:
        packer = zstd.ZstdCompressor()
        return packer.compress(part) + packer.flush()

    return b"".join(packed(part) for part in parts(text, frames))


def xz(text: bytes, streams: int = 1) -> bytes:
    return b"".join(lzma.compress(part, preset=0) for part in parts(text, streams))


def xz_of_blocks(text: bytes, blocks: int, check: int = lzma.CHECK_CRC64) -> bytes:
    """Return one stream of several blocks, which this library writes one of only: blocks of streams under one index."""
    head, body, index, count = b"", b"", b"", 0
    for part in parts(text, blocks):
        one = lzma.compress(part, check=check, preset=0)
        index_bytes = 4 * (1 + int.from_bytes(one[-8:-4], "little"))
        listed = one[-12 - index_bytes : -12]
        assert listed[:2] == b"\0\1"
        at = 2
        for _ in range(2):
            while listed[at] >= 0x80:
                at += 1
            at += 1
        head, body, index, count = one[:12], body + one[12 : -12 - index_bytes], index + listed[2:at], count + 1
    assert count < 128
    index = b"\0" + bytes([count]) + index
    index += bytes(-len(index) % 4)
    index += struct.pack("<I", zlib.crc32(index))
    footer = struct.pack("<I", len(index) // 4 - 1) + head[6:8]
    return head + body + index + struct.pack("<I", zlib.crc32(footer)) + footer + b"YZ"


KINDS: dict[str, tuple[Codec, Callable[[bytes], bytes]]] = {
    "gzip, one member": (Codec.GZIP, gz),
    "gzip, many members": (Codec.GZIP, lambda text: gz(text, 7)),
    "zstd, one frame": (Codec.ZSTD, zst),
    "zstd, many frames": (Codec.ZSTD, lambda text: zst(text, 9)),
    "zstd, frames of unknown size": (Codec.ZSTD, lambda text: zst_of_unknown_size(text, 9)),
    "xz, one block": (Codec.XZ, xz),
    "xz, many blocks": (Codec.XZ, lambda text: xz_of_blocks(text, 9)),
    "xz, many streams": (Codec.XZ, lambda text: xz(text, 5)),
    "xz, streams of many blocks": (
        Codec.XZ,
        lambda text: b"".join(xz_of_blocks(part, 4) + bytes(8) for part in parts(text, 3)),
    ),
}


def reading(raw: bytes) -> ReadRaw:
    return lambda offset, size: raw[offset : offset + size]


def gzip_bomb(mebibytes: int) -> bytes:
    """Return a gzip file that holds so many MiB of zeros, sixteen at a time, and is cut."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * (mebibytes // 16)


def zstd_bomb(mebibytes: int) -> bytes:
    """Return one Zstandard frame of blocks that each repeat one byte 131,072 times (RFC 8878, 3.1.1.2.2)."""
    frame = b"\x28\xb5\x2f\xfd" + bytes([0, 7 << 3])
    block = struct.pack("<I", (128 << 10) << 3 | 1 << 1)[:3] + b"\0"
    last = struct.pack("<I", (128 << 10) << 3 | 1 << 1 | 1)[:3] + b"\0"
    return frame + block * (mebibytes * 8 - 1) + last
