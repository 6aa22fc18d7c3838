"""Unified diffs for previews and conflicts, cut to a bound.

Promise: only the lines around changes are looked at, and no more of them than are shown; time is near linear in the
text, whatever it repeats. A diff that was cut says so in its last line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from linedex_server.edit.content.line_diff import Run, runs
from linedex_server.edit.content.same_ends import common_ends
from linedex_server.edit.content.text import shown
from linedex_server.edit.splice import TextChange

_COMPARED_LINES: Final = 50_000
"""A changed region of more lines is told as replaced whole."""
_NO_NEWLINE: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a diff is shown.

    Attributes:
        lines: most lines, hunk headings included.
        characters: most code points, line ends included.
        context: unchanged lines on either side of a change.
        line_characters: code points of one line.
    """

    lines: int = 40
    characters: int = 4_000
    context: int = 3
    line_characters: int = 500


DEFAULT_BOUNDS: Final = Bounds()


@dataclass(frozen=True, slots=True)
class Edited:
    r"""Some whole lines of a file, and what becomes of them.

    Attributes:
        text: the lines, every line end one `\n`.
        changes: in offsets of `text`, in order, without overlap.
        first_line: number of its first line, 1-based.
    """

    text: str
    changes: Sequence[TextChange]
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines of one stretch before and after; `start` counts lines before it, from 0."""

    start: int
    old: Sequence[str]
    new: Sequence[str]


def unified(before: str, after: str, bounds: Bounds = DEFAULT_BOUNDS) -> str:
    """Return the unified diff of two texts without file headings, "" if they are equal."""
    return of_changes([Edited(before, _whole(before, after))], bounds)


def of_changes(edited: Iterable[Edited], bounds: Bounds = DEFAULT_BOUNDS) -> str:
    """Return the unified diff of changes, without file headings; "" if they change nothing.

    Args:
        edited: the parts of a file that change, in order.
        bounds: what is shown at most.
    """
    found: list[str] = []
    characters = 0
    for line in _lines(edited, bounds):
        cut = _cut(line, bounds.line_characters)
        characters += len(cut) + 1
        if len(found) >= bounds.lines or characters > bounds.characters:
            found.append(f"[diff cut after {len(found)} lines]")
            break
        found.append(cut)
    return "\n".join(found)


def lines_changed(edited: Iterable[Edited]) -> tuple[int, int]:
    """Return how many lines changes bring and take away."""
    added = removed = 0
    for part in edited:
        for hunk in _stretches(part, 0):
            for run in _compared(hunk.old, hunk.new):
                if not run.equal:
                    added += run.new_end - run.new_start
                    removed += run.end - run.start
    return added, removed


def rewritten(before: str, after: str) -> Edited:
    """Return the change from one whole text to another, for `of_changes` and `lines_changed`."""
    return Edited(before, _whole(before, after))


def _whole(before: str, after: str) -> list[TextChange]:
    if before == after:
        return []
    head, tail = common_ends(before, after)
    return [TextChange(head, len(before) - tail, after[head : len(after) - tail])]


def _lines(edited: Iterable[Edited], bounds: Bounds) -> Iterator[str]:
    shift = 0
    for part in edited:
        for stretch in _stretches(part, bounds.context):
            yield from _hunks(stretch, shift, bounds.context)
            shift += len(stretch.new) - len(stretch.old)


def _stretches(part: Edited, context: int) -> Iterator[_Hunk]:
    """Yield the lines that changes touch, with unchanged ones around; what is near one another together."""
    text = part.text
    line, counted = part.first_line - 1, 0
    changes = list(part.changes)
    first = 0
    while first < len(changes):
        start = _back(text, changes[first].start, context)
        end = _forward(text, changes[first].end, context)
        last = first + 1
        while last < len(changes) and _back(text, changes[last].start, context) <= end:
            end = _forward(text, changes[last].end, context)
            last += 1
        new = []
        at = start
        for change in changes[first:last]:
            new += [text[at : change.start], change.new]
            at = change.end
        new.append(text[at:end])
        line += text.count("\n", counted, start)
        counted = start
        yield _Hunk(line, _split(text[start:end]), _split("".join(new)))
        first = last


def _back(text: str, at: int, lines: int) -> int:
    """Return where the line of `at` begins, `lines` lines further back."""
    for _ in range(lines + 1):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _forward(text: str, at: int, lines: int) -> int:
    """Return the end of the line of `at`, `lines` lines further on."""
    for _ in range(lines + 1):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _split(text: str) -> list[str]:
    """Return the lines of a text with their ends; `str.splitlines` would end lines at form feeds and the like."""
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])


def _compared(old: Sequence[str], new: Sequence[str]) -> Sequence[Run]:
    if len(old) == len(new) == 1:  # by far the most, and comparing in every way takes 50 us
        return [Run(0, 1, 0, 1, equal=old == new)]
    if max(len(old), len(new)) > _COMPARED_LINES:
        return [Run(0, len(old), 0, len(new), equal=False)]
    return runs(old, new)


def _hunks(stretch: _Hunk, shift: int, context: int) -> Iterator[str]:
    """Yield the lines of a stretch's hunks: changes with at most `context` unchanged lines between and around."""
    compared = _compared(stretch.old, stretch.new)
    group: list[Run] = []
    for number, run in enumerate(compared):
        if not run.equal:
            group.append(run)
            continue
        size = run.end - run.start
        if group and (size > 2 * context or number == len(compared) - 1):
            group.append(_part(run, 0, min(context, size)))
            yield from _hunk(stretch, group, shift)
            group = []
        if group:
            group.append(run)
        elif number < len(compared) - 1:
            group = [_part(run, max(0, size - context), size)]
    if any(not run.equal for run in group):
        yield from _hunk(stretch, group, shift)


def _part(run: Run, first: int, last: int) -> Run:
    return Run(run.start + first, run.start + last, run.new_start + first, run.new_start + last, equal=True)


def _hunk(stretch: _Hunk, group: Sequence[Run], shift: int) -> Iterator[str]:
    old = _range(stretch.start + group[0].start, group[-1].end - group[0].start)
    new = _range(stretch.start + shift + group[0].new_start, group[-1].new_end - group[0].new_start)
    yield f"@@ -{old} +{new} @@"
    for run in group:
        if run.equal:
            yield from _marked(" ", stretch.old, run.start, run.end)
        else:
            yield from _marked("-", stretch.old, run.start, run.end)
            yield from _marked("+", stretch.new, run.new_start, run.new_end)


def _range(before: int, count: int) -> str:
    """Return a hunk's range as diff writes it: no count for one line, the line before for none."""
    if count == 1:
        return f"{before + 1}"
    return f"{before + 1 if count else before},{count}"


def _marked(mark: str, lines: Sequence[str], start: int, end: int) -> Iterator[str]:
    for number in range(start, end):
        yield mark + lines[number].removesuffix("\n")
        if not lines[number].endswith("\n"):
            yield _NO_NEWLINE


def _cut(line: str, most: int) -> str:
    return shown(line) if len(line) <= most else f"{shown(line[:most])}[... {len(line) - most:,} more characters]"
