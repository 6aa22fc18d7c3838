"""Parts of a large log: what is stored of every 256 KiB or so, made range by range in any order.

A range is read by itself, with what the bytes before it tell of the record and the clock it begins in; `follow` then
joins it to the range before. A file without years is read in each range as if its clock had not turned over yet, and
shifted by whole years when it is joined.

Promise: parts joined in order are those that reading the file from its beginning gives, wherever the ranges were cut;
where that cannot be had by joining, `follow` says so and the range is read again with what is known by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from linedex.content.folding import lf_text
from linedex.content.lines import LineEnds
from linedex.content.logs.cells import NO_CELLS, Cells, count_cells, merge_cells
from linedex.content.logs.instants import MINUTE, NO_INSTANT, period_of
from linedex.content.logs.records import Carry, Records
from linedex.content.logs.templates.miner import ShapeCounts, TemplateCounts, count_shapes, merge_counts, message_of
from linedex.content.logs.texts import LogReading, ahead_bytes
from linedex.content.logs.window import Window
from linedex.model import TextFormat

PART_BYTES: Final = 256 << 10
"""Size from which on a part is closed. What is gathered of so many bytes stays in the cache."""
MESSAGE_BYTES: Final = 4 << 10
"""Bytes of a message that its template is made of."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is stored of a stretch of a log.

    Attributes:
        start: its first byte.
        end: the byte after its last.
        continues: whether its first line began earlier.
        carry: what the lines before it leave.
        last: stored instant of the last record at its end, or `NO_INSTANT`.
        least: least stored instant of its lines, the record that goes on into it included; or `NO_INSTANT`.
        greatest: the greatest one.
        records: records that begin in it.
        lines: lines that begin in it.
        line_ends: lines that end in it.
        unstamped: of its lines, those that belong to no record.
        longest: bytes of the longest stretch of a line in it.
        cells: its records per (minute, level).
        templates: the same records per (template, level).
    """

    start: int
    end: int
    continues: bool
    carry: Carry
    last: int
    least: int
    greatest: int
    records: int
    lines: int
    line_ends: int
    unstamped: int
    longest: int
    cells: Cells = NO_CELLS
    templates: TemplateCounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShapedPart:
    """A part whose records are counted by shape: templates are numbered where all shapes of the file are known.

    Attributes:
        part: everything but its templates.
        shapes: its shapes.
        messages: for shapes that no part before it in the range has, the message of their first line; none for a line
            that is not finished yet.
    """

    part: Part
    shapes: ShapeCounts
    messages: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class LogRange:
    """The parts of one range of a file.

    Attributes:
        carry: what the lines before it were taken to leave.
        parts: its parts, in order.
        left: what it leaves itself.
    """

    carry: Carry
    parts: tuple[ShapedPart, ...]
    left: Carry


def part_edges(starts: Sequence[int], size: int, *, apart: bool) -> list[int]:
    """Return where parts begin among the blocks of a range.

    Args:
        starts: first byte of each block.
        size: bytes after which a part is closed.
        apart: whether the last block is a part of its own, because it is the end of a file that may grow.
    """
    edges = [starts[0]]
    for start in starts[1:]:
        if start - edges[-1] >= size or (apart and start == starts[-1]):
            edges.append(start)
    return edges


def read_parts(
    reading: LogReading,
    data: bytes,
    origin: int,
    edges: Sequence[int],
    carry: Carry,
    *,
    continues: bool,
    beyond: bytes,
    spelling: TextFormat,
    shapes: bool = True,
) -> LogRange:
    """Return the parts of a range.

    Args:
        reading: how its lines are read.
        data: its bytes.
        origin: place of its first byte in the file.
        edges: first byte of each part, `origin` first.
        carry: what the lines before it leave.
        continues: whether its first line began earlier.
        beyond: the bytes behind it, `texts.ahead_bytes` of them unless the file ends before.
        spelling: how the file's bytes spell text.
        shapes: whether shapes are wanted.
    """
    ends, inside = LineEnds.of(spelling), replace(spelling, bom=0)
    reader = reading.records()
    seen: set[int] = set()
    parts: list[ShapedPart] = []
    now = carry
    stops = [*edges[1:], origin + len(data)]
    for start, stop in zip(edges, stops, strict=True):
        raw = data[start - origin : stop - origin]
        ended = raw.endswith(ends.unit)
        ahead = b""
        if not ended:
            ahead = (data[stop - origin :][: ahead_bytes(ends)] + beyond)[: ahead_bytes(ends)]
        window = Window(lf_text(raw, inside), ahead=lf_text(ahead, inside))
        records = reader.read(window, now, continues=continues)
        counted = count_shapes(window, records) if shapes else NO_SHAPES
        messages: dict[int, str] = {}
        # half a line at the end of a file that grows would teach a template that no message has
        whole = ended or len(ahead) == ahead_bytes(ends) or ends.count(ahead) > 0
        whole_lines = len(window) - (not whole)
        for shape, line in zip(counted.hashes.tolist(), counted.example.tolist(), strict=True):
            if shape not in seen and line < whole_lines:
                seen.add(shape)
                messages[shape] = message_of(window, records, line, MESSAGE_BYTES)
        part = _part((start, stop), window, records, now, ends.count(raw), continues=continues)
        parts.append(ShapedPart(part, counted, messages))
        now, continues = records.carry, not ended
    return LogRange(carry, tuple(parts), now)


def _part(
    place: tuple[int, int], window: Window, records: Records, carry: Carry, line_ends: int, *, continues: bool
) -> Part:
    heads = records.heads
    every = bool(heads.all())
    times = records.instants if every else records.instants[heads]
    levels = records.levels if every else records.levels[heads]
    known = times if every else records.instants[records.instants != NO_INSTANT]
    begun = records.instants[1:] if continues else records.instants
    lengths = np.minimum(window.ends, window.size) - window.starts
    return Part(
        *place,
        continues,
        carry,
        records.carry.clock.last,
        least=int(known.min()) if len(known) else NO_INSTANT,
        greatest=int(known.max()) if len(known) else NO_INSTANT,
        records=len(times),
        lines=len(begun),
        line_ends=line_ends,
        unstamped=int(np.count_nonzero(begun == NO_INSTANT)),
        longest=int(lengths.max()) if len(lengths) else 0,
        cells=count_cells(times, levels),
    )


def follow(made: LogRange, carry: Carry, reading: LogReading) -> LogRange | None:
    """Return a range as it is after lines that leave `carry`; None when it has to be read again with that."""
    shift = shift_between(made.carry, carry, reading)
    if shift is None and _passes_on(made, carry):
        parts = tuple(replace(one, part=_passed(one.part, made.carry, carry)) for one in made.parts)
        return LogRange(carry, parts, _more_of(carry, made.carry, made.left))
    if not shift:
        return made if shift == 0 else None
    parts = tuple(replace(one, part=_shifted(one.part, shift)) for one in made.parts)
    return LogRange(carry, parts, shifted_carry(made.left, shift))


def _passes_on(made: LogRange, carry: Carry) -> bool:
    """Say whether a range tells nothing itself: its lines are in no record, or all in one line, as a hole is."""
    parts = [one.part for one in made.parts]
    if any(part.records for part in parts):
        return False
    return not (made.carry.open or carry.open) or all(part.continues and not part.line_ends for part in parts)


def _passed(part: Part, taken: Carry, true: Carry) -> Part:
    """Return a part that tells nothing itself, read after `taken`, as it is after `true`."""
    carry = _more_of(true, taken, part.carry)
    return replace(part, carry=carry, last=true.clock.last, least=true.instant, greatest=true.instant)


def _more_of(true: Carry, taken: Carry, left: Carry) -> Carry:
    """Return what lines leave after `true` that tell nothing themselves and left `left` after `taken`."""
    return replace(true, lines=true.lines + left.lines - taken.lines, size=true.size + left.size - taken.size)


def shift_between(taken: Carry, true: Carry, reading: LogReading) -> int | None:
    """Return by how many microseconds lines are later that were read after `taken` and stand after `true`.

    It is whole years (or days) in a log whose stamps tell none, else 0; None when the lines have to be read again.
    """
    if taken.open != true.open:
        return None
    if true.open and (taken.level, taken.lines, taken.size) != (true.level, true.lines, true.size):
        return None
    if taken.clock == true.clock:
        return 0
    basis = reading.rule.basis
    if not basis.partial or NO_INSTANT in {taken.clock.last, true.clock.last}:
        return None
    shift = true.clock.last - taken.clock.last
    return None if shift % period_of(basis) else shift


def shifted_carry(carry: Carry, later: int) -> Carry:
    """Return what lines leave that are so many microseconds later."""
    return replace(carry, clock=replace(carry.clock, last=_later(carry.clock.last, later)))


def _later(instant: int, shift: int) -> int:
    return instant if instant == NO_INSTANT else instant + shift


def _shifted(part: Part, shift: int) -> Part:
    return replace(
        part,
        carry=shifted_carry(part.carry, shift),
        last=_later(part.last, shift),
        least=_later(part.least, shift),
        greatest=_later(part.greatest, shift),
        cells=Cells(part.cells.minutes + shift // MINUTE, part.cells.levels, part.cells.counts),
    )


def joined_part(one: Part, other: Part) -> Part:
    """Return two adjoining parts as one."""
    least = [instant for instant in (one.least, other.least) if instant != NO_INSTANT]
    return Part(
        one.start,
        other.end,
        one.continues,
        one.carry,
        other.last,
        least=min(least, default=NO_INSTANT),
        greatest=max(one.greatest, other.greatest),
        records=one.records + other.records,
        lines=one.lines + other.lines,
        line_ends=one.line_ends + other.line_ends,
        unstamped=one.unstamped + other.unstamped,
        longest=max(one.longest, other.longest),
        cells=merge_cells((one.cells, other.cells)),
        templates=merge_counts((one.templates, other.templates)),
    )


_NONE = np.empty(0, np.int64)
NO_SHAPES: Final = ShapeCounts(np.empty(0, np.uint64), np.empty(0, np.uint8), _NONE, _NONE)
