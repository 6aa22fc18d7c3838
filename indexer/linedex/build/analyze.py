"""The worker's side of the text phase: bytes of files become facts, columns and blocks.

Two tasks, both plain functions of one picklable job. `read_files` takes a batch of files: each small one comes back
with its facts and its column, each large one with its facts and the ranges that `read_range` is then asked for.
Nothing here knows the sidecar.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from linedex.build.decoded_ranges import DecodedPart, read_decoded
from linedex.content import languages
from linedex.content.checksums import Checksum, checksums
from linedex.content.folding import fold, utf8_text
from linedex.content.grams import (
    BLOCK_GRAM,
    FILE_GRAMS,
    MAX_BITS,
    Bits,
    column,
    hash_grams,
    most_bits,
    scatter,
)
from linedex.content.lines import LineEnds, Reader, cut_blocks, cut_ranges
from linedex.content.logs.parts import LogRange, part_edges, read_parts
from linedex.content.logs.records import Carry
from linedex.content.logs.texts import LogReading, ahead_bytes, carry_before, find_rule
from linedex.content.logs.zones import zone_of
from linedex.content.symbols import has_outline
from linedex.errors import LinedexError
from linedex.files import fingerprint as fingerprints
from linedex.files import text_format
from linedex.files.compressed.codec import MAGIC_BYTES, codec_of, is_named_compressed
from linedex.files.fingerprint import EDGE_BYTES, digest
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileId, FileState, Fingerprint, RelPath, SkipReason, TextFormat
from linedex.store.blocks import BlockColumns
from linedex.store.files import TextFacts

FILE_SPARSE = 0.18
"""A file's column is halved while its load is under this."""
BLOCK_SPARSE = 0.15
"""A run of blocks likewise."""
BLOCK_BITS = 15
"""Size of a block's column as it is made; the writer halves whole runs."""
_EDGE_FOR_LANGUAGE = 4096
WHOLE_LIMIT = 64 << 20
"""Past this size a column of the whole file says nothing any more, and its blocks decide alone."""
OVERLAP = 64
"""Bytes past a cut inside a line that are hashed with the block before it, so that no gram falls between blocks."""


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """A batch of files to be read.

    Attributes:
        root: the root folder.
        files: id, path and recorded size of each.
        limits: sizes.
    """

    root: str
    files: tuple[tuple[FileId, RelPath, int], ...]
    limits: Limits

    @property
    def bytes(self) -> int:
        """Recorded size of the files together."""
        return sum(size for _, _, size in self.files)


@dataclass(frozen=True, slots=True)
class LargeFile:
    """A large file whose blocks are still to be made: its facts, its path, the ranges to ask for, how it is a log."""

    facts: TextFacts
    path: RelPath
    ranges: tuple[tuple[int, int], ...]
    log: LogReading | None = None


@dataclass(frozen=True, slots=True)
class FilesRead:
    """What a batch told.

    Attributes:
        facts: of all small and skipped files.
        columns: file, bits and packed column of the small ones.
        large: the large files.
        compressed: id and path of files that are compressed; nothing else is told of them.
    """

    facts: tuple[TextFacts, ...]
    columns: tuple[tuple[FileId, int, Bits], ...]
    large: tuple[LargeFile, ...]
    compressed: tuple[tuple[FileId, RelPath], ...] = ()


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


def read_files(job: ReadFiles) -> FilesRead:
    """Read a batch of files and say what they hold."""
    root = Root(job.root)
    facts: list[TextFacts] = []
    large: list[LargeFile] = []
    compressed: list[tuple[FileId, RelPath]] = []
    folded: list[tuple[FileId, bytes]] = []
    for file, path, _ in job.files:
        seen = time.time_ns()
        try:
            descriptor = root.open(path)
        except LinedexError as error:
            facts.append(skipped(file, seen, _reason_of(error)))
            continue
        try:
            if is_named_compressed(path) and codec_of(path, os.pread(descriptor, MAGIC_BYTES, 0)):
                compressed.append((file, path))
                continue
            size = os.fstat(descriptor).st_size
            if size > job.limits.large_file:
                large_or_skipped = _survey_large(descriptor, file, path, job.limits)
                if isinstance(large_or_skipped, LargeFile):
                    large.append(large_or_skipped)
                else:
                    facts.append(large_or_skipped)
                continue
            fact, text = _read_small(descriptor, file, path, seen)
            facts.append(fact)
            if text is not None:
                folded.append((file, text))
        except OSError:
            facts.append(skipped(file, seen, SkipReason.UNREADABLE))
        finally:
            os.close(descriptor)
    columns = tuple((file, *file_column(text)) for file, text in folded)
    return FilesRead(tuple(facts), columns, tuple(large), tuple(compressed))


def _reason_of(error: LinedexError) -> SkipReason:
    reasons = {"not_found": SkipReason.VANISHED, "not_a_file": SkipReason.NOT_REGULAR}
    return reasons.get(error.code, SkipReason.UNREADABLE)


def skipped(file: FileId, seen: int, reason: SkipReason, fingerprint: Fingerprint | None = None) -> TextFacts:
    """Return the facts of a file whose text is not known, and why."""
    mark = fingerprint or Fingerprint(0, 0, 0, 0, 0)
    return TextFacts(file, mark, seen, FileState.SKIPPED, reason, TextFormat(binary=reason is SkipReason.BINARY), "", 0)


def _read_small(descriptor: int, file: FileId, path: RelPath, seen: int) -> tuple[TextFacts, bytes | None]:
    """Return the facts of a small file and its folded text, None when it holds no text."""
    status = os.fstat(descriptor)
    data = _read_all(descriptor, status.st_size)
    mark = Fingerprint(
        *(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns),
        digest(data[:EDGE_BYTES]),
        digest(data[-EDGE_BYTES:]),
    )
    spelling = text_format.detect_bytes(data)
    if spelling.binary:
        return skipped(file, seen, SkipReason.BINARY, mark), None
    text = utf8_text(data, spelling)
    language = languages.detect(path, text[:_EDGE_FOR_LANGUAGE], text[-_EDGE_FOR_LANGUAGE:])
    lines = text.count(b"\n") + (bool(text) and not text.endswith(b"\n"))
    outlined = has_outline(language)
    return TextFacts(file, mark, seen, FileState.INDEXED, "", spelling, language, lines, outlined), fold(text)


def _read_all(descriptor: int, size: int) -> bytes:
    """Return the bytes of a file that was `size` long a moment ago; what it has grown by since is left for later."""
    data = os.read(descriptor, size) if size else b""
    while len(data) < size and (more := os.read(descriptor, size - len(data))):
        data += more
    return data


def _survey_large(descriptor: int, file: FileId, path: RelPath, limits: Limits) -> LargeFile | TextFacts:
    # reading it again because it may have changed in the same tick would cost more than to wait for the tick's end
    mark, seen = fingerprints.settled(descriptor)

    def read(offset: int, size: int) -> bytes:
        return os.pread(descriptor, min(size, mark.size - offset), offset)

    spelling = text_format.detect(read, mark.size)
    if spelling.binary:
        return skipped(file, seen, SkipReason.BINARY, mark)
    language = large_language(read, mark.size, path, spelling)
    facts = TextFacts(file, mark, seen, FileState.INDEXED, "", spelling, language, 0, has_outline(language))
    ranges = tuple(cut_ranges(read, spelling.bom, mark.size, LineEnds.of(spelling), limits))
    return LargeFile(facts, path, ranges, log_reading(read, mark.size, spelling, limits))


def log_reading(read: Reader, size: int, spelling: TextFormat, limits: Limits) -> LogReading | None:
    """Return how the lines of a large file are read as those of a log, None when it is none."""
    rule = find_rule(read, size, spelling)
    return None if rule is None else LogReading(rule, zone_of(limits))


def large_language(read: Reader, size: int, path: RelPath, spelling: TextFormat) -> str:
    """Return the language of a large file by its name and by both its ends, "" when unknown."""
    edge = replace(spelling, bom=0)
    head = utf8_text(read(spelling.bom, _EDGE_FOR_LANGUAGE), edge)
    tail = utf8_text(read(max(0, size - _EDGE_FOR_LANGUAGE), _EDGE_FOR_LANGUAGE), edge)
    return languages.detect(path, head, tail)


def file_column(text: bytes) -> tuple[int, Bits]:
    """Return the column of a small file, (bits, packed), made of its folded text."""
    hashes = [hash_grams(text, gram) for gram in FILE_GRAMS]
    return column(hashes, bits=most_bits(len(text)), sparse=FILE_SPARSE)


def read_range(job: ReadRange) -> RangeRead:
    """Cut one range of a large file into blocks and make their columns."""
    try:
        descriptor = Root(job.root).open(job.path)
    except LinedexError:
        return RangeRead(None, None)
    try:
        mark = job.fingerprint
        now = fingerprints.from_stat(os.fstat(descriptor))
        if not same_or_longer(mark, now) or (job.decoded is not None and now.size != mark.size):
            return RangeRead(None, None)
        size = min(job.end + job.beyond, job.size) - job.lead
        if job.decoded is None:
            read = os.pread(descriptor, size, job.lead)
        else:
            read = read_decoded(descriptor, job.decoded, mark, job.lead, size)
    except OSError:
        return RangeRead(None, None)
    finally:
        os.close(descriptor)
    if len(read) < job.end - job.lead:
        return RangeRead(None, None)
    start, end = job.start - job.lead, job.end - job.lead
    return blocks_of(job, read[start:end], read[end:], read[:start])


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
    starts, line_ends, ended, columns = [], [], [], []
    seen = np.zeros(1 << MAX_BITS, np.bool_) if job.whole else None
    for low, high, line_end in cut_blocks(data, job.start, ends, job.limits):
        block = data[low:high]
        starts.append(job.start + low)
        line_ends.append(ends.count(block))
        ended.append(line_end)
        if not line_end:
            block += (data[high : high + OVERLAP] + beyond)[:OVERLAP]
        columns.append(block_column(block, inside, seen))
    blocks = BlockColumns(
        np.array(starts, np.int64),
        np.array(line_ends, np.int64),
        np.array(ended, np.bool_),
        BLOCK_BITS,
        np.stack(columns),
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


def block_column(block: bytes, spelling: TextFormat, seen: npt.NDArray[np.bool_] | None = None) -> Bits:
    """Return the signature of a block's bytes; what it gives to the column of the whole file is set in `seen`."""
    folded = fold(utf8_text(block, spelling))
    if seen is not None:
        for gram in FILE_GRAMS:
            scatter(hash_grams(folded, gram), seen)
    return column([hash_grams(folded, BLOCK_GRAM)], bits=BLOCK_BITS, sparse=0)[1]


def joined_column(old: tuple[int, Bits] | None, more: Sequence[Bits | None]) -> tuple[int, Bits]:
    """Return the column of a large file that has grown, made of its former one and what its new ranges gave to it.

    It keeps its size, because bits that were merged cannot be told apart; one that is half full says too little to be
    asked, and becomes one that every query passes.
    """
    if old is None:
        return whole_column(None)
    bits, column = old
    present = np.unpackbits(column).astype(np.bool_)
    for added in more:
        if added is None:
            return whole_column(None)
        bits_set = np.unpackbits(added).astype(np.bool_)
        while len(bits_set) > len(present):
            bits_set = bits_set[0::2] | bits_set[1::2]
        present |= bits_set
    if np.count_nonzero(present) * 2 > len(present):
        return whole_column(None)
    return bits, np.packbits(present)


def whole_column(bits_set: Bits | None) -> tuple[int, Bits]:
    """Return the column of a large file as a whole, made of what its ranges gave to it.

    Without that it is a column that every query passes, so that its blocks decide.
    """
    if bits_set is None:
        return 8, np.full(1 << 5, 0xFF, np.uint8)
    present = np.unpackbits(bits_set).astype(np.bool_)
    bits = MAX_BITS
    while bits > 8 and np.count_nonzero(present) < FILE_SPARSE * (1 << bits):
        present = present[0::2] | present[1::2]
        bits -= 1
    return bits, np.packbits(present)
