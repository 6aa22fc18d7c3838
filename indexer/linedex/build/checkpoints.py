"""Reading the checkpoints of a large file again: whether its bytes are still those that were indexed.

Promise: memory is one piece of a mebibyte whatever a checkpoint's size, and a builder that is stopped stops here too.
"""

from __future__ import annotations

import zlib
from typing import Final

from linedex.build.site import Site
from linedex.files import holes
from linedex.model import FileId
from linedex.store import checkpoints

_PIECE: Final = 1 << 20


class Stopped(Exception):
    """The builder was asked to stop; internal to the phases of a build."""


def checksum(site: Site, descriptor: int, start: int, end: int) -> int:
    """Return the CRC-32 of the bytes that stand in a file now, of fewer of them if it has become shorter.

    Raises:
        Stopped: the build is to end.
        OSError: they cannot be read.
    """
    crc = 0
    while start < end and (piece := holes.pread(descriptor, min(_PIECE, end - start), start)):
        if site.stop.is_set():
            raise Stopped
        crc = zlib.crc32(piece, crc)
        start += len(piece)
    return crc


def first_changed(site: Site, descriptor: int, file: FileId) -> int | None:
    """Return the first byte of the first checkpoint of a file that is not what was indexed, None when all are.

    A file without checkpoints, as a compressed one, may have changed from its first byte on.

    Raises:
        Stopped: the build is to end.
        OSError: the file cannot be read.
    """
    known = checkpoints.of_file(site.sidecar.write, file)
    for one in known:
        if one.crc is None or checksum(site, descriptor, one.start, one.end) != one.crc:
            return one.start
    return None if known else 0
