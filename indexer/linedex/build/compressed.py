"""The worker's look at one compressed file: what its text is, and how it can be read from the middle.

A file that somebody still writes to is left alone: half a member would be taken for damage, and all of it decoded again
a moment later.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from linedex.build.analyze import LargeFile, large_language, log_reading, skipped
from linedex.build.columns import file_columns
from linedex.build.ranges import RangeRead, ReadRange, read_range
from linedex.content import languages
from linedex.content.folding import fold, utf8_text
from linedex.content.grams import Bits
from linedex.content.lines import LineEnds, cut_ranges
from linedex.errors import LinedexError
from linedex.files import fingerprint as fingerprints
from linedex.files import text_format
from linedex.files.compressed.codec import MAGIC_BYTES, Codec, ReadRaw, codec_of, plain_name
from linedex.files.compressed.decoding import Survey, TooDense, Way, beginning
from linedex.files.compressed.reader import DecodedReader
from linedex.files.compressed.shadow import Shadows
from linedex.files.compressed.stream import Forward
from linedex.files.compressed.survey import survey
from linedex.files.magic import names_binary
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileId, FileState, Fingerprint, RelPath, SkipReason
from linedex.store.files import TextFacts

_HEAD = 1024
_EDGE_FOR_LANGUAGE = 4096
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SurveyFile:
    """A compressed file to be looked at: its root, id and path, the bounds, and the folder of seekable copies."""

    root: str
    file: FileId
    path: RelPath
    limits: Limits
    copies: Path


@dataclass(frozen=True, slots=True)
class FileSurveyed:
    """What the look told.

    Attributes:
        facts: of a file with little text or none; None for another, and for one that did not keep still.
        column: of a file with little text, (bits, packed).
        plan: a file with much text, whose blocks are still to be made.
        survey: how that one is decoded.
    """

    facts: TextFacts | None = None
    column: tuple[int, Bits] | None = None
    plan: LargeFile | None = None
    survey: Survey | None = None


_LATER = FileSurveyed()


def survey_file(job: SurveyFile) -> FileSurveyed:
    """Look at one compressed file, having decoded all of it; nothing is told of one that is written to meanwhile."""
    try:
        descriptor = Root(job.root).open(job.path)
    except LinedexError:
        return _LATER
    try:
        if not _keeps_still(descriptor, job.limits.still_seconds):
            return _LATER
        mark, seen = fingerprints.settled(descriptor)
        codec = codec_of(job.path, os.pread(descriptor, MAGIC_BYTES, 0))
        if codec is None:
            return _LATER
        found = _look(descriptor, job, codec, mark, seen)
        return found if fingerprints.of(descriptor) == mark else _LATER
    except OSError:
        return FileSurveyed(skipped(job.file, time.time_ns(), SkipReason.UNREADABLE))
    finally:
        os.close(descriptor)


def survey_or_range(job: SurveyFile | ReadRange) -> FileSurveyed | RangeRead:
    """Do what either job asks, so that the same processes survey files and cut those that were surveyed."""
    return survey_file(job) if isinstance(job, SurveyFile) else read_range(job)


def _keeps_still(descriptor: int, seconds: float) -> bool:
    """Wait until a file has not been written to for so long; return whether it was left alone meanwhile."""
    before = fingerprints.from_stat(os.fstat(descriptor))
    since = (time.time_ns() - max(before.mtime_ns, before.ctime_ns)) / _NS
    if 0 <= since < seconds:
        time.sleep(seconds - since)
    return fingerprints.from_stat(os.fstat(descriptor)) == before


def _look(descriptor: int, job: SurveyFile, codec: Codec, mark: Fingerprint, seen: int) -> FileSurveyed:
    def read(offset: int, size: int) -> bytes:
        return os.pread(descriptor, size, offset)

    short = beginning(read, codec, job.limits.large_file)
    if short is not None:
        return _small(short[0], job, mark, seen)
    if names_binary(Forward(read, codec).step(_HEAD)):
        return FileSurveyed(skipped(job.file, seen, SkipReason.BINARY, mark))
    copies = Shadows(job.copies, job.limits.shadow_bytes)
    try:
        found = survey(read, mark, codec, job.limits, copies)
    except TooDense:
        return FileSurveyed(skipped(job.file, seen, SkipReason.RATIO, mark))
    if found.decoding.way is not Way.SHADOW:
        return _large(read, job, mark, seen, found)
    copy = copies.open(mark)
    if copy is None:
        return _LATER
    try:
        return _large(lambda offset, size: os.pread(copy, size, offset), job, mark, seen, found)
    finally:
        os.close(copy)


def _small(text: bytes, job: SurveyFile, mark: Fingerprint, seen: int) -> FileSurveyed:
    spelling = text_format.detect_bytes(text)
    if spelling.binary:
        return FileSurveyed(skipped(job.file, seen, SkipReason.BINARY, mark))
    shown = utf8_text(text, spelling)
    name = RelPath(plain_name(job.path))
    language = languages.detect(name, shown[:_EDGE_FOR_LANGUAGE], shown[-_EDGE_FOR_LANGUAGE:])
    lines = shown.count(b"\n") + (bool(shown) and not shown.endswith(b"\n"))
    facts = TextFacts(job.file, mark, seen, FileState.INDEXED, "", spelling, language, lines)
    return FileSurveyed(facts, next(file_columns([fold(shown)])))


def _large(read: ReadRaw, job: SurveyFile, mark: Fingerprint, seen: int, found: Survey) -> FileSurveyed:
    decoding, limits = found.decoding, job.limits
    codec = Codec.ZSTD if decoding.way is Way.SHADOW else decoding.codec
    text = DecodedReader(read, codec, decoding.size, decoding.points, found.windows)
    spelling = text_format.detect(text.read, decoding.size)
    if spelling.binary:
        return FileSurveyed(skipped(job.file, seen, SkipReason.BINARY, mark))
    language = large_language(text.read, decoding.size, RelPath(plain_name(job.path)), spelling)
    facts = TextFacts(job.file, mark, seen, FileState.INDEXED, "", spelling, language, 0)
    ranges = tuple(cut_ranges(text.read, spelling.bom, decoding.size, LineEnds.of(spelling), limits))
    plan = LargeFile(facts, job.path, ranges, log_reading(text.read, decoding.size, spelling, limits))
    return FileSurveyed(plan=plan, survey=found)
