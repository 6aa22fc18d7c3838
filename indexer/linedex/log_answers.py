"""What is asked of logs and answered: timelines, message patterns, and the facts of one log. Frozen values.

Instants are microseconds since 1970-01-01 UTC; a level is its word (`error`), "none" for a record without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linedex.model import LineNumber, RelPath


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A range of time.

    Attributes:
        since: its first instant, or None.
        until: the first instant after it, or None.
        zone: name of the zone in which it was given, and in which stamps are read that name none.
    """

    since: int | None
    until: int | None
    zone: str


@dataclass(frozen=True, slots=True)
class TimelineRequest:
    """Counts over time, of all records or of the lines that match.

    Attributes:
        scope: file or folder below the root.
        pattern: only lines that match, "" for every record.
        regex: whether `pattern` is a regular expression.
        case_sensitive: as it says.
        since: from this time on, as `content.logs.moments` reads it; "" for all.
        until: before this time.
        level: of these levels; "" for all.
        include: globs; of a folder only files that match one of them.
        bucket_minutes: width of a bucket, 0 for the least usual one that gives at most `max_buckets`.
        max_buckets: bound of buckets; a smaller width is widened to keep it.
    """

    scope: RelPath = RelPath(b"")
    pattern: str = ""
    regex: bool = False
    case_sensitive: bool = False
    since: str = ""
    until: str = ""
    level: str = ""
    include: tuple[str, ...] = ()
    bucket_minutes: int = 0
    max_buckets: int = 60


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket of a timeline: its first instant, and records by level."""

    start: int
    levels: Mapping[str, int]

    @property
    def total(self) -> int:
        """Records in it."""
        return sum(self.levels.values())


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file of a timeline: its path, its records (or matches) in it, and the first and last of them."""

    path: RelPath
    records: int
    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Counts over time, merged over the files; empty buckets between others are among them.

    Attributes:
        buckets: in order of time.
        minutes: width of each.
        total: records (or matches) in all.
        levels: the same by level.
        files: the files with any, in path order.
        span: the range that was asked for, None when none was.
        zone: name of the zone of stamps that name none.
        unstamped: lines that belong to no record, in those files; -1 when that is not known.
        skipped: files left out, by reason.
        notes: sentences on what is missing.
        late: whether time ran out.
        seconds: time it took.
    """

    buckets: tuple[Bucket, ...]
    minutes: int
    total: int
    levels: Mapping[str, int]
    files: tuple[CountedFile, ...]
    span: TimeSpan | None
    zone: str
    unstamped: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    late: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PatternsRequest:
    """The recurring messages of one log.

    Attributes:
        scope: the file.
        since: from this time on; "" for all.
        until: before this time.
        level: of these levels; "" for all.
        compare: whether to tell what is new or changed against the time before `since`.
        compare_since: with `compare`, where that time begins; "" for the file's beginning.
        max_patterns: how many are told.
    """

    scope: RelPath
    since: str = ""
    until: str = ""
    level: str = ""
    compare: bool = False
    compare_since: str = ""
    max_patterns: int = 20


@dataclass(frozen=True, slots=True)
class Pattern:
    """One recurring message.

    Attributes:
        text: the message, `<*>` where it differs from record to record.
        count: its records in the range.
        levels: the same by level.
        first: instant of the first of them, None when there is none.
        last: instant of the last of them.
        line: number of a line that has it.
        example: that line, cut if it is long.
        before: its records in the time it is compared with, None when nothing is compared.
        weight: how unlikely both counts are at one rate (a log-likelihood ratio).
    """

    text: str
    count: int
    levels: Mapping[str, int]
    first: int | None
    last: int | None
    line: LineNumber | None
    example: str
    before: int | None = None
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Patterns:
    """The recurring messages of a log, the commonest first, or what changed most first.

    Attributes:
        path: the file.
        patterns: a page of them.
        total_patterns: how many there are.
        records: records in the range.
        other: records without a pattern of their own, because there was no room for more.
        before_records: records in the time it is compared with, None when nothing is compared.
        span: the range that was asked for.
        zone: name of the zone.
        by_index: whether the counts of whole parts came from the index.
        notes: sentences on what is missing.
        late: whether time ran out.
        seconds: time it took.
    """

    path: RelPath
    patterns: tuple[Pattern, ...]
    total_patterns: int
    records: int
    other: int
    before_records: int | None
    span: TimeSpan | None
    zone: str
    by_index: bool
    notes: tuple[str, ...] = ()
    late: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Gap:
    """A time without records: its first and last instant, to the minute."""

    since: int
    until: int


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What a person wants to know of a log before reading it.

    Attributes:
        formats: the formats of its timestamps and where they stand, the first one first.
        first: least instant of its records.
        last: the greatest one.
        records: how many there are.
        levels: the same by level; empty when the file has none that are recognised.
        level_source: what levels are read from, "" when there are none.
        busiest: first instant of the minute with most records, and how many these are; None when that is not known.
        gaps: the longest times without records, the longest first.
        unstamped: lines that belong to no record, -1 when that is not known.
        year: how its year is known, "" when its stamps tell it.
        zone: name of the zone of stamps that name none.
        longest_line: bytes of its longest line, -1 when that is not known.
        sampled: bytes of a sample that the counts are reckoned from, because the log is not known to its end; 0 when
            they are exact.
    """

    formats: tuple[str, ...]
    first: int
    last: int
    records: int
    levels: Mapping[str, int]
    level_source: str
    busiest: tuple[int, int] | None
    gaps: tuple[Gap, ...]
    unstamped: int
    year: str
    zone: str
    longest_line: int = -1
    sampled: int = 0
