"""The survey of a compressed file: one pass over all of it, in a worker, that finds its size and its seek points.

Promise: memory stays bounded whatever the file says of itself. Text is decoded in steps of a mebibyte and counted;
past the bounds of size and ratio the survey ends with `TooDense`. What is broken ends the text there, and is said.
"""

from __future__ import annotations

import indexed_gzip

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.decoding import Decoding, Density, Survey, Way
from linedex.files.compressed.frames import NEAR, has_large_frame
from linedex.files.compressed.gzip_points import GzipPoints, find_points
from linedex.files.compressed.points import Points
from linedex.files.compressed.reader import STEP
from linedex.files.compressed.shadow import Shadows
from linedex.files.compressed.stream import RAW_STEP, Forward, ReadRaw
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
    alone = codec is Codec.XZ or (codec is Codec.ZSTD and has_large_frame(read, mark.size, limits.frame_bytes))
    writer = shadows.begin(mark) if shadows and alone else None
    density = Density(limits)
    forward = Forward(read, codec)
    starts = [forward.member_start]
    done = False
    try:
        while piece := forward.step(STEP):
            density.check(forward.position, forward.raw_position)
            if not alone and forward.member_start[1] >= starts[-1][1] + NEAR:
                starts.append(forward.member_start)
            if writer:
                writer.add(piece)
        done = True
    finally:
        if writer and not done:
            writer.abandon()
    found = Decoding(codec, Way.SEQUENTIAL, forward.position, forward.damage)
    if alone:
        points = writer.finish() if writer is not None else None
        return Survey(found if points is None else Decoding(codec, Way.SHADOW, found.size, found.damage, points))
    if codec is Codec.ZSTD:
        return Survey(Decoding(codec, Way.POINTS, found.size, found.damage, Points.of(starts)))
    gzip = _gzip_points(read, forward, limits)
    if gzip is None:
        return Survey(found)
    return Survey(Decoding(codec, Way.POINTS, found.size, found.damage, gzip.points), gzip.groups)


def _gzip_points(read: ReadRaw, forward: Forward, limits: Limits) -> GzipPoints | None:
    # behind damage indexed_gzip finds nothing, not even what was whole; the last points may be missing then
    raw_end = forward.raw_position - (2 * RAW_STEP if forward.damage else 0)
    if raw_end <= 0:
        return None
    try:
        return find_points(read, raw_end, forward.position, limits.seek_spacing)
    except indexed_gzip.ZranError:
        return None
