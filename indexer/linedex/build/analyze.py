"""Files, the worker's side of the text phase: the bytes of a batch of files become facts and columns.

Promise: each small file comes back with its facts and its column, each large one with its facts and the ranges that
`ranges.read_range` is then asked for. Nothing here knows the sidecar.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace

from linedex.build.columns import file_columns
from linedex.content import languages
from linedex.content.folding import fold, utf8_text
from linedex.content.grams import (
    Bits,
)
from linedex.content.lines import LF, LineEnds, Reader, count_byte, cut_ranges
from linedex.content.logs.texts import LogReading, find_rule
from linedex.content.logs.zones import zone_of
from linedex.content.symbols import has_outline
from linedex.errors import LinedexError
from linedex.files import fingerprint as fingerprints
from linedex.files import holes, text_format
from linedex.files.compressed.codec import MAGIC_BYTES, codec_of, is_named_compressed
from linedex.files.fingerprint import EDGE_BYTES, digest, from_stat
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import FileId, FileState, Fingerprint, RelPath, SkipReason, TextFormat
from linedex.store.files import TextFacts, TextRow, text_row

_EDGE_FOR_LANGUAGE = 4096


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
class FilesTold:
    """What a batch told, as it goes through a pipe: `FilesRead` with rows instead of facts, and columns as bytes."""

    rows: tuple[TextRow, ...]
    columns: tuple[tuple[FileId, int, bytes], ...]
    large: tuple[LargeFile, ...]
    compressed: tuple[tuple[FileId, RelPath], ...]


def tell_files(job: ReadFiles) -> FilesTold:
    """Read a batch of files and say what they hold, in the form that is cheap to send."""
    found = read_files(job)
    columns = tuple((file, bits, column.tobytes()) for file, bits, column in found.columns)
    return FilesTold(tuple(map(text_row, found.facts)), columns, found.large, found.compressed)


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
    made = file_columns([text for _, text in folded])
    columns = tuple((file, *one) for (file, _), one in zip(folded, made, strict=True))
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
    mark = replace(from_stat(status), head=digest(data[:EDGE_BYTES]), tail=digest(data[-EDGE_BYTES:]))
    spelling = text_format.detect_bytes(data)
    if spelling.binary:
        return skipped(file, seen, SkipReason.BINARY, mark), None
    text = utf8_text(data, spelling)
    language = languages.detect(path, text[:_EDGE_FOR_LANGUAGE], text[-_EDGE_FOR_LANGUAGE:])
    lines = count_byte(text, LF) + (bool(text) and not text.endswith(b"\n"))
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
        return holes.pread(descriptor, min(size, mark.size - offset), offset)

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
