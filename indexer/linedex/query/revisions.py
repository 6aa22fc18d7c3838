"""What states of a file are called, from its bytes: a hash of all of them, or a token that costs the same at any size.

Promise: one state has one name, whoever asks, so a name that a read printed is one that an edit takes as its guard.
"""

from __future__ import annotations

from hashlib import blake2b, sha256
from typing import Final

from linedex.content.lines import Reader
from linedex.model import Fingerprint

TOKEN_DIGITS: Final = 16
"""Digits of a SHA-256 that answers print, and the fewest that a guard takes."""
_STEP: Final = 1 << 20
_EDGE: Final = 64 << 10
"""Bytes at either end that a `rev:` token covers."""


def content_hash(size: int, read: Reader) -> str:
    """Return the SHA-256 of the first `size` bytes of a file, 64 hex digits, read a mebibyte at a time."""
    digest = sha256()
    for offset in range(0, size, _STEP):
        digest.update(read(offset, min(_STEP, size - offset)))
    return digest.hexdigest()


def revision(mark: Fingerprint, read: Reader) -> str:
    """Return `rev:` and 16 hex digits that change whenever a large file does, without reading it whole.

    Args:
        mark: the file's fingerprint; its stat is what counts.
        read: reads (offset, size) bytes of that state.
    """
    digest = blake2b(digest_size=TOKEN_DIGITS // 2)
    digest.update(repr((mark.device, mark.inode, mark.size, mark.mtime_ns, mark.ctime_ns)).encode())
    digest.update(read(0, _EDGE))
    digest.update(read(max(0, mark.size - _EDGE), _EDGE))
    return f"rev:{digest.hexdigest()}"
