"""Lines of a file: number, tab, the line verbatim; then where they stand, the file's hash and where to go on."""

from __future__ import annotations

from dataclasses import dataclass

from linedex.answers import ReadAnswer
from linedex_server.render.words import Naming, bracketed, counted

_ROOM_FOR_FOOTER = 700
"""Characters kept for the last line beside the file's name and the note."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a read that fits a page.

    Attributes:
        first: number of the first line shown, 0 when there is none.
        lines: the lines shown.
        cut_at: for a single line longer than the page, the code points of it that are shown; else None.
        left_out_from: the first of the lines that were asked for and left out before `first`, 0 when none were.
        next_line: the line to go on from, or None at the end.
    """

    first: int
    lines: tuple[str, ...]
    cut_at: int | None
    left_out_from: int
    next_line: int | None


def fitted(answer: ReadAnswer, characters: int, *, tail_from: int = 0, overhead: int = 1) -> Shown:
    """Return as many lines as fit.

    Args:
        answer: what was read.
        characters: room for them, in code points.
        tail_from: for the tail of a file, the first line that was asked for: the last lines are kept, not the first.
        overhead: characters that each line costs beside its text and number.
    """
    room = characters
    kept = 0
    for index in range(len(answer.lines) - 1, -1, -1) if tail_from else range(len(answer.lines)):
        room -= len(answer.lines[index]) + len(str(answer.first_line + index)) + overhead
        if room < 0:
            break
        kept += 1
    cut_at = None
    if answer.lines and not kept:
        kept, cut_at = 1, max(characters - len(str(answer.total_lines)) - overhead, 1)
    start = len(answer.lines) - kept if tail_from else 0
    lines = answer.lines[start : start + kept]
    if cut_at is not None:
        lines = (lines[0][:cut_at],)
    first = answer.first_line + start
    next_line: int | None = answer.next_line
    if not tail_from and kept < len(answer.lines):
        next_line = first + kept
    return Shown(first, lines, cut_at, tail_from if tail_from < first else 0, next_line)


def read_page(
    answer: ReadAnswer, name: Naming, *, characters: int = 20_000, tail_from: int = 0, note: str | None = None
) -> str:
    """Return a page of lines.

    Args:
        answer: what was read.
        name: how the file is called.
        characters: length of the page, in code points.
        tail_from: for the tail of a file, the first line that was asked for: the last lines are kept, not the first.
        note: a sentence for the last line instead of the answer's own.
    """
    called = name(answer.path)
    said = answer.note if note is None else note
    room = characters - _ROOM_FOR_FOOTER - len(called) - len(said)
    shown = fitted(answer, room, tail_from=tail_from, overhead=2)
    body = "".join(f"{number}\t{line}\n" for number, line in enumerate(shown.lines, shown.first))
    if shown.cut_at is not None:
        body = body.removesuffix("\n") + "…\n"
    later = f"later lines: cursor={answer.later}" if answer.later else ""
    if not body:
        where = f"{called} is empty" if not answer.total_lines else f"{called}: no line of {answer.total_lines:,}"
        return bracketed((where, said, f"hash {answer.hash}", later))
    last = shown.first + len(shown.lines) - 1
    parts = [_where(answer, called, shown.first, last)]
    if answer.symbol is not None:
        parts.append(f"{answer.symbol.kind} {answer.symbol.path}")
    if answer.match_line is not None:
        parts.append(f"match at line {answer.match_line}")
    parts.append(said)
    parts.extend(_cuts(answer, shown, last))
    parts.append(f"hash {answer.hash}")
    if shown.next_line is not None:
        parts.append(f"next offset={shown.next_line}")
    parts.append(later)
    return body + bracketed(parts)


def _cuts(answer: ReadAnswer, shown: Shown, last: int) -> list[str]:
    parts = []
    shortened = [number for number in answer.cut_lines if shown.first <= number <= last]
    if shortened and shown.cut_at is None:
        few = ", ".join(str(number) for number in shortened[:5]) + (", ..." if len(shortened) > 5 else "")
        parts.append(f"{counted(len(shortened), 'long line')} cut ({few})")
    if shown.cut_at is not None:
        parts.append(
            f"line {shown.first} is longer than a page and cut after column {shown.cut_at}: "
            "search_content shows the part around a match"
        )
    if shown.left_out_from:
        parts.append(f"page full: {_lines(shown.left_out_from, shown.first - 1)} left out")
    return parts


def _where(answer: ReadAnswer, called: str, first: int, last: int) -> str:
    if answer.counted:
        return f"{called} {_lines(first, last)} of {answer.total_lines:,}"
    if first < 0:
        return f"{called}, the last {counted(-first, 'line')}"
    return f"{called} {_lines(first, last)} of more than {answer.total_lines:,}"


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"
