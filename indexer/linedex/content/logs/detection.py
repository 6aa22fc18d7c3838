"""Which timestamp formats a file has and where its stamps and levels stand, from a sample of its lines.

Promise: the sample is the same for the same file, and its cost is bounded whatever the file's size: 16 reads of 16 KiB.
Order of the times is no test of a format, and no majority of lines is asked for: one stamped line in 36 suffices.
A file has up to `MOST_FORMATS` of them; each line is read by the first that it has, each format with its own levels.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, TypeVar

from linedex.content.lines import Reader
from linedex.content.logs.formats import (
    FORMATS,
    HEAD,
    PLACES,
    PRIORITY,
    WORD,
    WORDS,
    Basis,
    Place,
    TimestampFormat,
    match_stamp,
    placed,
)
from linedex.content.logs.instants import NO_INSTANT, read_wall
from linedex.content.logs.level_reader import LevelRule
from linedex.content.logs.levels import FoundLevel, LevelSource, level_at
from linedex.content.logs.stamps import StampRule

WINDOWS: Final = 16
WINDOW_BYTES: Final = 16 << 10
WINDOW_LINES: Final = 64
MOST_FORMATS: Final = 4
KEPT_LINES: Final = 8
"""Lines kept of a window: those that may hold a stamp. Without that, 128 lines of a log with one stamp in 36 lines had
1 to 8 stamps, too few to tell."""
LEAST_STAMPS: Final = 3
USUAL_SHARE: Final = 0.9
SECOND_SHARE: Final = 0.05
LEVEL_SHARE: Final = 0.05
"""A file with levels on fewer of its records has none."""
SCATTERED_SHARE: Final = 0.25
"""... and so many are asked for if they stand at no usual place."""
_PREFIX_BYTES = 64
# numbers in hexadecimal, of which headers of drivers are full, are none: 11 ms a file of 84 in the Linux tree
_HINT = re.compile(rb"\d:\d\d?|\d\d[.]\d\d[.]\d\d|\d{8}T\d{6}|\d{6} {1,2}\d{5}|\d{10}|@40")
_HINT_BYTES = 200
_KEY_END = re.compile(rb"[\"']?[\w@]+[\"']?\s*[=:]\s*[\"']?\Z")
_Value = TypeVar("_Value")
_ONE_WORD = re.compile(WORD.encode())


@dataclass(frozen=True, slots=True)
class LogRule:
    """How the lines of one file are read; a value to be stored with the file.

    Attributes:
        stamps: one rule for each format; a line is tried by the first, then by the second, and so on.
        levels: where levels stand in the lines of each format, None for lines without; no entry is as None.
        near: an instant of the file, for stamps without a date before all that have one; or `NO_INSTANT`.
    """

    stamps: tuple[StampRule, ...]
    levels: tuple[LevelRule | None, ...] = ()
    near: int = NO_INSTANT

    @property
    def basis(self) -> Basis:
        """How much of an instant its first format tells."""
        return self.stamps[0].basis

    @property
    def level(self) -> LevelRule | None:
        """Where levels stand in the first format that has them, None for a file without levels."""
        return next((level for level in self.levels if level is not None), None)

    def to_json(self) -> str:
        """Return the rule as text for the sidecar."""
        levels = [level and {**asdict(level), "source": level.source.value} for level in self.levels]
        return json.dumps({"stamps": [asdict(rule) for rule in self.stamps], "levels": levels, "near": self.near})

    @classmethod
    def from_json(cls, text: str) -> LogRule:
        """Return the rule that `to_json` wrote."""
        told = json.loads(text)
        return cls(
            tuple(StampRule(**rule) for rule in told["stamps"]),
            tuple(level and LevelRule(**{**level, "source": LevelSource(level["source"])}) for level in told["levels"]),
            told["near"],
        )


def sample_lines(read: Reader, size: int, *, newline: bytes = b"\n") -> list[bytes]:
    """Return lines of a file that may hold stamps: of its head, its end and 14 random places, the same at each call.

    Evenly spaced places would alias with the length of its records. What a deploy changed stands at the end.

    Args:
        read: reads bytes of the file.
        size: its length in bytes.
        newline: what ends a line.
    """
    dice = random.Random(size)
    if size <= WINDOW_BYTES:
        hinted = [line for line in read(0, size).split(newline) if may_be_stamped(line)]
        most = KEPT_LINES * WINDOWS
        return hinted if len(hinted) <= most else [hinted[at] for at in sorted(dice.sample(range(len(hinted)), most))]
    starts = [0, *sorted(dice.randrange(size - WINDOW_BYTES // 2) for _ in range(WINDOWS - 2)), size - WINDOW_BYTES]
    kept: list[bytes] = []
    for start in starts:
        lines = read(start, WINDOW_BYTES).split(newline)
        # the first piece begins, and the last one ends, somewhere inside a line
        lines = lines[1 if start else 0 : None if start + WINDOW_BYTES >= size else -1]
        if start == starts[-1]:
            kept += [line for line in lines[-WINDOW_LINES:] if may_be_stamped(line)][-KEPT_LINES:]
        else:
            kept += [line for line in lines[:WINDOW_LINES] if may_be_stamped(line)][:KEPT_LINES]
    return kept


def may_be_stamped(line: bytes) -> bool:
    """Say whether a line holds what every stamp has something of."""
    return _HINT.search(line, 0, _HINT_BYTES) is not None


def detect(lines: Sequence[bytes]) -> LogRule | None:
    """Return how a file is read of which `lines` are a sample, or None where no format is found in it."""
    scored = sorted(_scores(lines), key=lambda score: score.order)
    if not scored:
        return None
    most = max(score.hits for score in scored)
    near = [score for score in scored if score.hits * 10 >= most * 9]
    rest = sorted((score for score in scored if score.hits * 10 < most * 9), key=lambda score: -score.hits)
    for score in near + rest:
        if (first := score.rule()) is not None:
            break
    else:
        return None
    return _with_more([first], [], lines, SECOND_SHARE)


def detect_more(known: LogRule, lines: Sequence[bytes], share: float) -> LogRule | None:
    """Return a rule that reads further formats too, None where there is no other.

    Args:
        known: how the file was read so far.
        lines: lines of it that may hold stamps.
        share: of those without a stamp of a known format, how many another must have.
    """
    missed = [line for line in lines if _stamped_by(known.stamps, line) is None]
    wider = _with_more(known.stamps, list(zip(known.stamps, known.levels, strict=False)), missed, share, known.near)
    return None if len(wider.stamps) == len(known.stamps) else wider


def _with_more(
    rules: Sequence[StampRule],
    known: Sequence[tuple[StampRule, LevelRule | None]],
    lines: Sequence[bytes],
    share: float,
    near: int = NO_INSTANT,
) -> LogRule:
    """Return the rule of a file with these formats and what else its lines have; levels of some are known."""
    found = list(rules)
    missed = [line for line in lines if _stamped_by(found, line) is None]
    while len(found) < MOST_FORMATS and (more := _further(missed, share * len(lines), found)) is not None:
        found.append(more)
        missed = [line for line in missed if _stamped_by([more], line) is None]
    # those that tell a date lead: the others' dates are completed from theirs
    found.sort(key=lambda rule: rule.basis.rank)
    levels = dict(known)
    stamped: dict[StampRule, list[tuple[bytes, re.Match[bytes]]]] = {rule: [] for rule in found}
    for line in lines:
        if (read := _stamped_by(found, line)) is not None:
            stamped[read[0]].append((line, read[1]))
    told = tuple(levels[rule] if rule in levels else _level_rule(stamped[rule], rule) for rule in found)
    if near == NO_INSTANT and found[-1].basis.partial and not found[0].basis.partial:
        near = _first_instant(stamped, lines)
    return LogRule(tuple(found), told, near)


def _stamped_by(rules: Iterable[StampRule], line: bytes) -> tuple[StampRule, re.Match[bytes]] | None:
    for rule in rules:
        match = rule.match(line, 0, len(line))
        if match is not None and read_wall(match, rule.basis) is not None:
            return rule, match
    return None


def _first_instant(stamped: Mapping[StampRule, Sequence[tuple[bytes, re.Match[bytes]]]], lines: Sequence[bytes]) -> int:
    """Return what the first of the lines tells whose stamp has a date; its zone does not matter."""
    told = {line: (rule, match) for rule, read in stamped.items() if not rule.basis.partial for line, match in read}
    for line in lines:
        if line in told and (wall := read_wall(told[line][1], told[line][0].basis)) is not None:
            return wall.value
    return NO_INSTANT


@dataclass(frozen=True, slots=True)
class _Score:
    """How well one format at one kind of place fits the sample."""

    place: Place
    stamp_format: TimestampFormat
    hits: int
    column: float
    length: float
    nth: int
    columns: Counter[int]
    words: Counter[int]
    prefixes: Counter[bytes]

    @property
    def order(self) -> tuple[int, int, float, int]:
        return (self.stamp_format.basis.rank, round(self.column), -self.length, self.nth)

    def rule(self) -> StampRule | None:
        """Return the rule this fit makes, or None if the stamps stand here and there."""
        if self.hits < LEAST_STAMPS:
            return None
        names = (self.stamp_format.name, self.place.name)
        if self.place in {HEAD, PRIORITY}:
            return StampRule(*names)
        if self.place is WORDS:
            if (column := _usual(self.columns, self.hits)) is not None:
                return StampRule(*names, column=column)
            words = _usual(self.words, self.hits)
            return None if words is None else StampRule(*names, words=words)
        prefix = _usual(self.prefixes, self.hits)
        if prefix is not None and len(prefix) <= _PREFIX_BYTES:
            return StampRule(*names, prefix=prefix.decode("latin-1"))
        return StampRule(*names, key=_usual_key(self.prefixes, self.hits))


def _usual_key(prefixes: Counter[bytes], total: int) -> str:
    """Return the key with its quotes and colon or equals sign that nearly all prefixes end with, or ""."""
    keys: Counter[bytes] = Counter()
    for prefix, count in prefixes.items():
        match = _KEY_END.search(prefix[-_PREFIX_BYTES:])
        keys[match[0] if match else b""] += count
    return (_usual(keys, total) or b"").decode("latin-1")


def _usual(counts: Counter[_Value], total: int) -> _Value | None:
    (value, count), *_ = counts.most_common(1)
    return value if count >= USUAL_SHARE * total else None


def _scores(lines: Sequence[bytes]) -> Iterable[_Score]:
    nth = 0
    for place in PLACES:
        for stamp_format in FORMATS:
            nth += 1
            # a time without a date among words is the second half of something else
            if place is WORDS and stamp_format.basis is Basis.TIME_ONLY:
                continue
            pattern = placed(place, stamp_format)
            columns: Counter[int] = Counter()
            words: Counter[int] = Counter()
            prefixes: Counter[bytes] = Counter()
            length = 0
            for line in lines:
                match = match_stamp(pattern, line, 0, len(line))
                if match is None or read_wall(match, stamp_format.basis) is None:
                    continue
                begin, end = match.span("stamp")
                length += end - begin
                columns[begin] += 1
                prefixes[line[:begin]] += 1
                words[len(_ONE_WORD.findall(line, 0, begin))] += 1
            hits = columns.total()
            if hits:
                column = sum(at * count for at, count in columns.items()) / hits
                yield _Score(place, stamp_format, hits, column, length / hits, nth, columns, words, prefixes)


def _further(missed: Sequence[bytes], least: float, known: Sequence[StampRule]) -> StampRule | None:
    """Return the rule of another format that at least so many of the lines have that no other has."""
    partial = {rule.basis for rule in known if rule.basis.partial}
    dated = len(partial) < len({rule.basis for rule in known})
    scored = sorted(_scores(missed), key=lambda score: (-score.hits, score.order))
    for score in scored:
        if score.hits < max(LEAST_STAMPS, least):
            return None
        basis = score.stamp_format.basis
        # without one that tells a date, formats that lack different things cannot complete each other
        if basis.partial and not dated and partial != {basis}:
            continue
        if (rule := score.rule()) is not None:
            return rule
    return None


def _level_rule(stamped: Sequence[tuple[bytes, re.Match[bytes]]], rule: StampRule) -> LevelRule | None:
    """Return where levels stand in the lines of one format."""
    found: list[tuple[bytes, tuple[int, int], FoundLevel]] = []
    for line, match in stamped:
        stamp = match.span("stamp")
        level = level_at(line, 0, len(line), stamp, rule.format_name, rule.place_name)
        if level is not None:
            found.append((line, stamp, level))
    if not stamped or len(found) < LEVEL_SHARE * len(stamped):
        return None
    source = Counter(level.source for _, _, level in found).most_common(1)[0][0]
    alike = [entry for entry in found if entry[2].source is source]
    gaps = Counter(level.start - stamp[1] for _, stamp, level in alike)
    anchors: Counter[tuple[int, int]] = Counter()
    for line, _, level in alike:
        spans = [match.end() for match in _ONE_WORD.finditer(line, 0, level.start)]
        anchors[len(spans), level.start - (spans[-1] if spans else 0)] += 1
    after, words = _usual(gaps, len(alike)), _usual(anchors, len(alike))
    by_words = words is not None and words[0] > 0 and source in {LevelSource.WORD, LevelSource.LETTER}
    if after is not None and after >= 0 and not (by_words and max(anchors.values()) > gaps[after]):
        return LevelRule(source, after_stamp=after)
    if words is not None and by_words:
        return LevelRule(source, words=words[0], inner=words[1])
    keys = Counter(line[: level.start] for line, _, level in alike)
    if source in {LevelSource.WORD, LevelSource.NUMBER} and (key := _usual_key(keys, len(alike))):
        return LevelRule(source, key=key)
    # words that stand here and there are parts of messages, unless there are many
    scattered = source is LevelSource.WORD and len(found) < SCATTERED_SHARE * len(stamped)
    return None if scattered else LevelRule(source)
