"""The survey of a compressed file: one pass over all of it, in a worker, that finds its size and its seek points.

Promise: memory stays bounded whatever the file says of itself. Text is decoded in steps of a mebibyte and counted;
past the bounds of size and ratio the survey ends with `TooDense`. What is broken ends the text there, and is said.
"""

from __future__ import annotations

import indexed_gzip

from linedex.files.compressed.codec import Codec, ReadRaw
from linedex.files.compressed.decoding import Decoding, Density, Survey, Way
from linedex.files.compressed.frames import NEAR, has_large_frame
from linedex.files.compressed.gzip_points import GzipPoints, find_points
from linedex.files.compressed.points import Points
from linedex.files.compressed.reader import STEP
from linedex.files.compressed.shadow import Shadows
from linedex.files.compressed.stream import RAW_STEP, Forward
from linedex.files.compressed.xz_blocks import BlockTable, block_table
from linedex.limits import Limits
from linedex.model import Fingerprint


def survey(read: ReadRaw, mark: Fingerprint, codec: Codec, limits: Limits, shadows: Shadows | None) -> Survey:
    """Return how a compressed file is decoded, having decoded all of it.

    Args:
        read: reads (offset, size) bytes of the file.
        mark: its state; a shadow is named by it.
        codec: how it is compressed.
        limits: the bounds of size, ratio and frames, and the spacing of seek points.
        shadows: where a seekable copy may be put, None for nowhere.

    Raises:
        TooDense: it holds more text than a file is believed to.
        OSError: it cannot be read.
    """
    table = block_table(read, mark.size) if codec is Codec.XZ else None
    copied = _wants_copy(read, mark, codec, limits, table)
    writer = shadows.begin(mark) if shadows and copied else None
    density = Density(limits)
    forward = Forward(read, codec)
    starts = [forward.member_start]
    done = False
    try:
        while piece := forward.step(STEP):
            density.check(forward.position, forward.raw_position)
            if forward.member_start[1] >= starts[-1][1] + NEAR:
                starts.append(forward.member_start)
            if writer:
                writer.add(piece)
        done = True
    finally:
        if writer and not done:
            writer.abandon()
    points = writer.finish() if writer is not None else None
    if points is not None:
        return Survey(Decoding(codec, Way.SHADOW, forward.position, forward.damage, points))
    if codec is Codec.GZIP:
        gzip = _gzip_points(read, forward, limits)
        points, groups = (None, ()) if gzip is None else (gzip.points, gzip.groups)
    else:
        points, groups = _own_points(forward, starts, table), ()
        points = None if copied and len(points) == 1 else points
    if points is None:
        return Survey(Decoding(codec, Way.SEQUENTIAL, forward.position, forward.damage))
    return Survey(Decoding(codec, Way.POINTS, forward.position, forward.damage, points), groups)


def _own_points(forward: Forward, starts: list[tuple[int, int]], table: BlockTable | None) -> Points:
    """Return where decoding can begin in the file itself, as its table says or else as was found on the way."""
    # a table that promises another text than there is may lie about places too
    if table is not None and (table.size == forward.position or forward.damage):
        return table.points.below(forward.position)
    return Points.of(starts)


def _wants_copy(read: ReadRaw, mark: Fingerprint, codec: Codec, limits: Limits, table: BlockTable | None) -> bool:
    """Say whether reading from the middle of a file would mean to decode more than a frame may hold."""
    if codec is Codec.XZ:
        return table is None or table.widest > limits.frame_bytes
    return codec is Codec.ZSTD and has_large_frame(read, mark.size, limits.frame_bytes)


def _gzip_points(read: ReadRaw, forward: Forward, limits: Limits) -> GzipPoints | None:
    # behind damage indexed_gzip finds nothing, not even what was whole; the last points may be missing then
    raw_end = forward.raw_position - (2 * RAW_STEP if forward.damage else 0)
    if raw_end <= 0:
        return None
    try:
        return find_points(read, raw_end, forward.position, limits.seek_spacing)
    except indexed_gzip.ZranError:
        return None
