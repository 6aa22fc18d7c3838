"""Timelines, message patterns and facts of logs as text: one bucket or pattern a line, the date once a day.

Times are shown in the zone in which stamps without one are read, which the last line names. Empty buckets are shown,
four and more of them in a row as one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import groupby

from linedex.content.logs.levels import Level
from linedex.content.logs.zones import zone_named
from linedex.log_answers import LogFacts, Pattern, Patterns, Timeline, TimeSpan
from linedex_server.render.words import Naming, bracketed, counted, elapsed, reasons, size

_ORDER = [level.label for level in (Level.FATAL, Level.ERROR, Level.WARN, Level.INFO, Level.DEBUG, Level.TRACE)]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = 60_000_000
_EMPTY_RUN = 4
_DAY_MINUTES = 1440
_EIGHTHS = " ▏▎▍▌▋▊▉█"
BAR = 20
_LEAST_BAR = 4
"""Characters of the longest bar."""


def clock(instant: int, zone: tzinfo = UTC) -> datetime:
    """Return an instant as a clock of a zone shows it."""
    return (_EPOCH + timedelta(microseconds=instant)).astimezone(zone)


def moment(instant: int, zone: tzinfo, *, seconds: bool = True) -> str:
    """Return an instant as `2026-03-04 05:06:07`, or without the seconds."""
    shown = clock(instant, zone)
    return f"{shown:%Y-%m-%d %H:%M:%S}" if seconds else f"{shown:%Y-%m-%d %H:%M}"


def spanned(span: TimeSpan | None) -> str:
    """Return the range that was searched, as `since 2026-03-04 05:06:07 until ... (UTC)`, "" for none."""
    if span is None:
        return ""
    zone = zone_named(span.zone)
    since = "" if span.since is None else f"since {moment(span.since, zone)} "
    until = "" if span.until is None else f"until {moment(span.until, zone)} "
    return f"{since}{until}({span.zone})"


def levels(told: Mapping[str, int]) -> str:
    """Return `error 12, warn 80, info 1,000`, the gravest first; what has no level stands last as `none`."""
    known = [*(name for name in _ORDER if told.get(name)), *(name for name in told if name not in _ORDER)]
    return ", ".join(f"{name} {told[name]:,}" for name in known)


def bar(count: int, most: int, width: int = BAR) -> str:
    """Return a bar as long as a count's share of the largest one, in eighths of a character; none for nothing."""
    eighths = -(-count * width * 8 // most) if most else 0
    return _EIGHTHS[8] * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def timeline_page(answer: Timeline, name: Naming) -> str:
    """Return a timeline: a line a bucket, then what was counted."""
    zone = zone_named(answer.zone)
    body = "".join(line + "\n" for line in _bucket_lines(answer, zone))
    found = counted(answer.total, "record") + f" in {counted(len(answer.files), 'file')}"
    width = f"{len(answer.buckets)} buckets of {_length(answer.minutes)}" if answer.buckets else ""
    parts = [found, width, levels(answer.levels) if len(answer.levels) > 1 else ""]
    if len(answer.files) > 1:
        few = [f"{name(one.path)} {one.records:,}" for one in answer.files[:10]]
        parts.append(", ".join(few) + (", ..." if len(answer.files) > len(few) else ""))
    if answer.unstamped > 0:
        parts.append(f"{counted(answer.unstamped, 'line')} without a time")
    parts.append(spanned(answer.span) or f"times in {answer.zone}")
    return body + bracketed((*parts, *_how(answer)))


def timeline_rows(answer: Timeline, columns: int = 0) -> Iterator[str]:
    """Yield a line for each bucket, for people: when it begins, its records, a bar of their share, its levels.

    Args:
        answer: the timeline.
        columns: width of the terminal, for which bars become shorter; 0 where lines may have any.
    """
    zone = zone_named(answer.zone)
    most = max((bucket.total for bucket in answer.buckets), default=0)
    rows = [
        (
            f"{moment(bucket.start, zone, seconds=False)} {bucket.total:>9,}",
            bucket.total,
            levels(bucket.levels) if len(answer.levels) > 1 and bucket.total else "",
        )
        for bucket in answer.buckets
    ]
    longest = max((len(head) + len(told) + 2 for head, _, told in rows), default=0)
    width = min(BAR, max(_LEAST_BAR, columns - longest)) if columns else BAR
    for head, total, told in rows:
        yield f"{head} {bar(total, most, width):<{width}} {told}".rstrip()


def _how(answer: Timeline) -> list[str]:
    skipped = f"{sum(answer.skipped.values()):,} skipped ({reasons(answer.skipped)})" if answer.skipped else ""
    verdict = "stopped by the time limit" if answer.late else "partial" if answer.notes else "complete"
    return [verdict, skipped, *answer.notes, elapsed(answer.seconds)]


def _bucket_lines(answer: Timeline, zone: tzinfo) -> Iterator[str]:
    day = ""
    several = len(answer.levels) > 1
    for empty, run in groupby(answer.buckets, key=lambda bucket: not bucket.total):
        buckets = list(run)
        shown = buckets if not empty or len(buckets) < _EMPTY_RUN else buckets[:1]
        for bucket in shown:
            start = clock(bucket.start, zone)
            if f"{start:%Y-%m-%d}" != day and answer.minutes < _DAY_MINUTES:
                day = f"{start:%Y-%m-%d}"
                yield day
            label = f"{start:%H:%M}" if answer.minutes < _DAY_MINUTES else f"{start:%Y-%m-%d}"
            if len(shown) < len(buckets):
                last = clock(buckets[-1].start, zone)
                yield f"{label} to {_clock(last, day, answer.minutes)}\t0 ({len(buckets)} empty buckets)"
            else:
                yield f"{label}\t{bucket.total:,}" + (f"\t{levels(bucket.levels)}" if several and not empty else "")


def _clock(at: datetime, day: str, minutes: int) -> str:
    if minutes >= _DAY_MINUTES:
        return f"{at:%Y-%m-%d}"
    return f"{at:%H:%M}" if f"{at:%Y-%m-%d}" == day else f"{at:%Y-%m-%d %H:%M}"


def _length(minutes: int) -> str:
    for length, noun in ((_DAY_MINUTES, "day"), (60, "hour")):
        if minutes % length == 0:
            return counted(minutes // length, noun)
    return counted(minutes, "minute")


def patterns_page(answer: Patterns, shown: Sequence[Pattern], name: Naming) -> str:
    """Return recurring messages: a line each with its count, times and text, then a line that has it."""
    zone = zone_named(answer.zone)
    body = "".join(line + "\n" for one in shown for line in _pattern_lines(one, zone))
    total = counted(answer.total_patterns, "pattern")
    parts = [
        f"{name(answer.path)}: {counted(answer.records, 'record')}",
        f"{len(shown)} of {total}" if len(shown) < answer.total_patterns else total,
        "" if answer.before_records is None else f"compared with {counted(answer.before_records, 'record')} before",
        f"{counted(answer.other, 'record')} without a pattern" if answer.other else "",
        spanned(answer.span) or f"times in {answer.zone}",
        "stopped by the time limit" if answer.late else "complete",
        *answer.notes,
        elapsed(answer.seconds),
    ]
    return body + bracketed(parts)


def _pattern_lines(one: Pattern, zone: tzinfo) -> Iterator[str]:
    change = ""
    if one.before is not None:
        change = " NEW" if not one.before else " gone" if not one.count else f" (before: {one.before:,})"
    times = ""
    if one.first is not None and one.last is not None:
        times = f"{moment(one.first, zone)} to {moment(one.last, zone)}"
    yield "\t".join(part for part in (f"{one.count:,}{change}", levels(one.levels), times, one.text) if part)
    if one.line is not None:
        yield f"  {one.line}:\t{one.example}"


def facts_lines(log: LogFacts) -> list[str]:
    """Return the facts of a log, a sentence a line."""
    zone = zone_named(log.zone)
    minutes = max(1, (log.last - log.first) // _MINUTE + 1)
    known = f"{log.zone}, {log.year}" if log.year else log.zone
    span = f"{moment(log.first, zone)} to {moment(log.last, zone)}"
    about = "about " if log.sampled else ""
    busiest = (
        "" if log.busiest is None else f", most {log.busiest[1]:,} at {moment(log.busiest[0], zone, seconds=False)}"
    )
    lines = [
        f"log of {about}{counted(log.records, 'record')}: {span} ({known})",
        f"rate {about}{log.records / minutes:,.1f} a minute{busiest}",
        f"levels {levels(log.levels)} (by {log.level_source})" if log.levels else "no levels recognised",
        f"times as {', then '.join(log.formats)}",
    ]
    if log.gaps:
        told = (
            f"{moment(gap.since, zone, seconds=False)} to {moment(gap.until, zone, seconds=False)}" for gap in log.gaps
        )
        lines.append(f"silent {', '.join(told)}")
    if log.unstamped > 0:
        lines.append(f"{counted(log.unstamped, 'line')} without a time")
    if log.sampled:
        lines.append(
            f"not indexed yet: counts are reckoned from a sample of {size(log.sampled)};"
            " the busiest minute, silent times and lines without a time are not known yet"
        )
    return lines
