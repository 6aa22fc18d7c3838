"""What is known of a compressed file before and after its survey: how it is decoded, and what it may not expand to.

Kept apart from the survey itself, because who only reads need not load what finds seek points.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from linedex.files.compressed.codec import Codec, ReadRaw
from linedex.files.compressed.points import Points
from linedex.files.compressed.reader import ONE_POINT, STEP
from linedex.files.compressed.stream import Forward
from linedex.limits import Limits

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
        points: its seek points, or those of its copy; only the beginning if it is sequential.
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

    def windows(self, number: int) -> bytes:
        """Return the windows of one group."""
        return zlib.decompress(self.groups[number])


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
