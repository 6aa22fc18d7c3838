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
    """Return one stream of several blocks, of which the library writes one only."""
    return _under_one_index([lzma.compress(part, check=check, preset=0) for part in parts(text, blocks)])


def _under_one_index(streams: list[bytes]) -> bytes:
    """Return the blocks of streams that have one each as a stream."""
    body, listed = b"", b""
    for one in streams:
        index = one[-12 - 4 * (1 + int.from_bytes(one[-8:-4], "little")) : -12]
        assert index[:2] == b"\0\1"
        body += one[12 : -12 - len(index)]
        at = 2
        for _ in range(2):
            while index[at] >= 0x80:
                at += 1
            at += 1
        listed += index[2:at]
    assert len(streams) < 128
    table = b"\0" + bytes([len(streams)]) + listed
    table += bytes(-len(table) % 4)
    table += struct.pack("<I", zlib.crc32(table))
    footer = struct.pack("<I", len(table) // 4 - 1) + streams[0][6:8]
    return streams[0][:12] + body + table + struct.pack("<I", zlib.crc32(footer)) + footer + b"YZ"


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


def xz_bomb(mebibytes: int) -> bytes:
    """Return one xz stream of blocks of 16 MiB of zeros."""
    return _under_one_index([lzma.compress(bytes(16 << 20), preset=0)] * (mebibytes // 16))
