"""Ranges of large files, the worker's side: the bytes of one become blocks, columns, parts of a log and checksums.

Promise: what is told of a range is of the file as it was surveyed, perhaps grown since; a file that did anything else
gives nothing. Nothing here knows the sidecar.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linedex.build.columns import BLOCK_BITS, OVERLAP, block_column
from linedex.build.decoded_ranges import DecodedPart, read_decoded
from linedex.content.checksums import Checksum, checksums
from linedex.content.grams import MAX_BITS, Bits
from linedex.content.lines import LineEnds, cut_blocks
from linedex.content.logs.parts import LogRange, part_edges, read_parts
from linedex.content.logs.records import Carry
from linedex.content.logs.texts import LogReading, ahead_bytes, carry_before
from linedex.errors import LinedexError
from linedex.files import fingerprint as fingerprints
from linedex.files import holes
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileId, Fingerprint, RelPath, TextFormat
from linedex.store.blocks import BlockColumns


@dataclass(frozen=True, slots=True)
class ReadRange:
    """A range of one large file to be cut into blocks.

    Attributes:
        root: the root folder.
        file: id of the file.
        path: where it is.
        fingerprint: its state when the ranges were made; a file that has since done anything but grow gives no blocks.
        format: how it spells text.
        start: first byte.
        end: byte after the last.
        fresh: whether the cutting begins anew at `start`.
        whole: whether the bits that the range gives to the column of the whole file are wanted too.
        limits: sizes.
        log: how its lines are read if it is a log.
        before: what the lines before it leave and whether its first line began there, where that is known.
        summed: byte before which the checksums are known already.
        decoded: where its text begins to be decoded, if the file is compressed; then offsets are those of the text.
        signed: whether the columns of its blocks are wanted.
    """

    root: str
    file: FileId
    path: RelPath
    fingerprint: Fingerprint
    format: TextFormat
    start: int
    end: int
    fresh: bool
    whole: bool
    limits: Limits
    log: LogReading | None = None
    before: tuple[Carry, bool] | None = None
    summed: int = 0
    decoded: DecodedPart | None = None
    signed: bool = True

    @property
    def last(self) -> bool:
        """Whether the file ends with the range."""
        return self.end == self.size

    @property
    def size(self) -> int:
        """Bytes of the file, or of its text if it is compressed."""
        return self.fingerprint.size if self.decoded is None else self.decoded.size

    @property
    def beyond(self) -> int:
        """Bytes behind the range that belong to the reading of its last line."""
        return OVERLAP if self.log is None else max(OVERLAP, ahead_bytes(LineEnds.of(self.format)))

    @property
    def lead(self) -> int:
        """The byte from which on the file tells what the lines before the range leave."""
        if self.log is None or self.before is not None:
            return self.start
        reach = self.log.bounds.bytes * LineEnds.of(self.format).width
        return max(self.format.bom, self.start - reach)


@dataclass(frozen=True, slots=True)
class RangeRead:
    """The blocks of a range, None when the file has changed meanwhile.

    `whole` is a packed column or None, `log` its parts if the file is a log, `sums` the checksums of its bytes.
    """

    blocks: BlockColumns | None
    whole: Bits | None
    log: LogRange | None = None
    sums: tuple[Checksum, ...] = ()


class RangeBytes(NamedTuple):
    """The bytes of a range, those before it from `ReadRange.lead` on, and those beyond it that are read with it."""

    lead: bytes
    data: bytes
    beyond: bytes


def read_range(job: ReadRange) -> RangeRead:
    """Cut one range of a large file into blocks and make their columns."""
    read = range_bytes(job)
    return RangeRead(None, None) if read is None else blocks_of(job, read.data, read.beyond, read.lead)


def range_bytes(job: ReadRange) -> RangeBytes | None:
    """Return the bytes of a range; None when the file has changed."""
    try:
        descriptor = Root(job.root).open(job.path)
    except LinedexError:
        return None
    try:
        mark = job.fingerprint
        now = fingerprints.from_stat(os.fstat(descriptor))
        if not same_or_longer(mark, now) or (job.decoded is not None and now.size != mark.size):
            return None
        edges = (job.lead, job.start, job.end, max(job.end, min(job.end + job.beyond, job.size)))
        if job.decoded is None:
            # one by one: to take a whole apart copies megabytes, which takes as long as to read them
            read = RangeBytes(*(holes.pread(descriptor, high - low, low) for low, high in pairwise(edges)))
        else:
            text = read_decoded(descriptor, job.decoded, mark, job.lead, edges[-1] - job.lead)
            read = RangeBytes(*(text[low - job.lead : high - job.lead] for low, high in pairwise(edges)))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    whole = len(read.lead) == job.start - job.lead and len(read.data) == job.end - job.start
    return read if whole else None


def confirmed(root: str, path: RelPath, mark: Fingerprint) -> bool:
    """Say whether a file that was read in ranges still begins with what it was when it was surveyed."""
    try:
        descriptor = Root(root).open(path)
    except LinedexError:
        return False
    try:
        return fingerprints.begins_with(descriptor, mark)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def same_or_longer(mark: Fingerprint, now: Fingerprint) -> bool:
    """Say whether a file may still begin with the bytes that it had: a stat cannot tell it more surely."""
    if now.size == mark.size:
        return (now.inode, now.mtime_ns, now.ctime_ns) == (mark.inode, mark.mtime_ns, mark.ctime_ns)
    return now.inode == mark.inode and now.size > mark.size


def blocks_of(job: ReadRange, data: bytes, beyond: bytes, lead: bytes = b"") -> RangeRead:
    """Cut the bytes of a range into blocks; `beyond` are the bytes behind it and `lead` those before, as `job` says."""
    ends = LineEnds.of(job.format)
    inside = replace(job.format, bom=0)
    starts, line_ends, ended = [], [], []
    columns: list[Bits] = []
    before = b""
    seen = np.zeros(1 << MAX_BITS, np.bool_) if job.whole else None
    for low, high, line_end in cut_blocks(data, job.start, ends, job.limits):
        block = data[low:high]
        starts.append(job.start + low)
        line_ends.append(ends.count(block))
        ended.append(line_end)
        if not line_end:
            block += (data[high : high + OVERLAP] + beyond)[:OVERLAP]
        if job.signed:
            # a hole has the same block over and over
            columns.append(columns[-1] if block == before else block_column(block, inside, seen))
            before = block
    blocks = BlockColumns(
        np.array(starts, np.int64),
        np.array(line_ends, np.int64),
        np.array(ended, np.bool_),
        BLOCK_BITS if job.signed else 0,
        np.stack(columns) if job.signed else np.empty((len(starts), 0), np.uint8),
        np.arange(len(starts)) == (0 if job.fresh else -1),
    )
    log = None if job.log is None else log_range(job, job.log, data, starts, beyond, lead)
    sums = checksums(data, job.start, job.summed, job.limits.checkpoint_bytes)
    return RangeRead(blocks, None if seen is None else np.packbits(seen), log, sums)


def log_range(
    job: ReadRange, reading: LogReading, data: bytes, starts: Sequence[int], beyond: bytes, lead: bytes
) -> LogRange:
    """Return the parts of a range of a log; `starts` are those of its blocks."""
    ends = LineEnds.of(job.format)
    if job.before is None:
        whole = job.lead == job.format.bom
        carry = carry_before(reading, lead, whole=whole, ends=ends, spelling=job.format)
        continues = bool(lead) and not lead.endswith(ends.unit)
    else:
        carry, continues = job.before
    edges = part_edges(starts, job.limits.log_part_bytes, apart=job.last)
    return read_parts(
        *(reading, data, job.start, edges, carry), continues=continues, beyond=beyond, spelling=job.format
    )
