"""The survey of a compressed file: one pass over all of it, in a worker, that finds its size and its seek points.

Promise: memory stays bounded whatever the file says of itself. Text is decoded in steps of a mebibyte and counted;
past the bounds of size and ratio the survey ends with `TooDense`. What is broken ends the text there, and is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import indexed_gzip

from linedex.files.compressed.codec import Codec
from linedex.files.compressed.frames import NEAR, has_large_frame
from linedex.files.compressed.gzip_points import GzipPoints, find_points
from linedex.files.compressed.points import Points
from linedex.files.compressed.reader import ONE_POINT, STEP
from linedex.files.compressed.shadow import Shadows
from linedex.files.compressed.stream import RAW_STEP, Forward, ReadRaw
from linedex.limits import Limits
from linedex.model import Fingerprint

_NO_GROUPS: Final[tuple[bytes, ...]] = ()


class Way(StrEnum):
    """How the text of a compressed file is read from the middle; the value is stored."""

    POINTS = "points"
    """From seek points in the file itself."""
    SHADOW = "shadow"
    """From a seekable copy in the state folder, as long as that is kept."""
    SEQUENTIAL = "sequential"
    """Not at all: from the beginning."""


@dataclass(frozen=True)
class Decoding:
    """How a compressed file is decoded.

    Attributes:
        codec: how it is compressed.
        way: how it is read from the middle.
        size: bytes of text that can be decoded.
        damage: why there are no more, "" when that is all.
        points: its seek points; only the beginning unless `way` is `POINTS`.
    """

    codec: Codec
    way: Way
    size: int
    damage: str
    points: Points = ONE_POINT


@dataclass(frozen=True)
class Survey:
    """What a survey found: how the file is decoded, and the windows of its points, in compressed groups."""

    decoding: Decoding
    groups: tuple[bytes, ...] = _NO_GROUPS


class TooDense(Exception):
    """A file holds more text than any that is meant to be read; internal to indexing and searching."""


@dataclass(frozen=True, slots=True)
class Density:
    """The bounds of what a compressed file may expand to."""

    limits: Limits

    def check(self, decoded: int, raw: int) -> None:
        """Do nothing while so many decoded bytes of so many compressed ones are believable.

        Raises:
            TooDense: they are not.
        """
        limits = self.limits
        dense = decoded > limits.ratio_from and decoded > limits.decoded_ratio * max(1, raw)
        if dense or decoded > limits.decoded_bytes:
            raise TooDense


def beginning(read: ReadRaw, codec: Codec, most: int) -> tuple[bytes, str] | None:
    """Return the whole text of a compressed file of at most `most` bytes of text, and its damage; None for a longer."""
    forward = Forward(read, codec)
    text = bytearray()
    while len(text) <= most and (piece := forward.step(min(STEP, most + 1 - len(text)))):
        text += piece
    return (bytes(text), forward.damage) if len(text) <= most else None


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
        kept = writer is not None and writer.finish()
        return Survey(Decoding(codec, Way.SHADOW, found.size, found.damage) if kept else found)
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
