"""Which files are compressed text: the name says it, and so do the first bytes.

Both are asked. A name alone says nothing of the bytes, and bytes alone would open every archive and image that merely
uses a codec inside (`.tgz`, `.svgz`, packages).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

ReadRaw: TypeAlias = Callable[[int, int], bytes]
"""Reads (offset, size) bytes of a compressed file, fewer only at its end."""


class Codec(StrEnum):
    """How a file is compressed; the value is what a person reads, and what is stored."""

    GZIP = "gzip"
    ZSTD = "zstd"
    XZ = "xz"


MAGIC_BYTES = 6
"""How many first bytes of a file `codec_of` wants to see."""

_SUFFIXES = {b".gz": Codec.GZIP, b".zst": Codec.ZSTD, b".zstd": Codec.ZSTD, b".xz": Codec.XZ}
_MAGIC = {Codec.GZIP: b"\x1f\x8b\x08", Codec.ZSTD: b"\x28\xb5\x2f\xfd", Codec.XZ: b"\xfd7zXZ\x00"}
_ENDINGS = tuple(_SUFFIXES)


def is_named_compressed(path: bytes) -> bool:
    """Say whether the name of a file is that of a compressed one; the test that costs nothing."""
    return path.lower().endswith(_ENDINGS)


def codec_of(path: bytes, head: bytes) -> Codec | None:
    """Return how a file is compressed, None when it is not.

    Args:
        path: its path or name.
        head: its first bytes, `MAGIC_BYTES` of them if it has so many.
    """
    lowered = path.lower()
    if not lowered.endswith(_ENDINGS):
        return None
    codec = _SUFFIXES[lowered[lowered.rindex(b".") :]]
    if head.startswith(_MAGIC[codec]) or (codec is Codec.ZSTD and _is_skippable_frame(head)):
        return codec
    return None


def plain_name(path: bytes) -> bytes:
    """Return the path without the ending that names a codec: what the decoded text would be called."""
    return path[: path.rindex(b".")] if is_named_compressed(path) else path


def _is_skippable_frame(head: bytes) -> bool:
    return head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F
