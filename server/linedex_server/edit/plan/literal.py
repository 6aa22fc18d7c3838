"""Replacing a text by another, exactly as given (replace_literal).

Promise: no blank, letter case or quote is tolerated, and nothing is done unless the text stands in the file exactly as
often as the caller says. Text that was decoded wrongly before it came here is recovered only where one reading fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linedex.errors import BadArgument
from linedex_server.edit.content.document import Document
from linedex_server.edit.errors import NotPlaced, TooLarge
from linedex_server.edit.find.diagnose import explained
from linedex_server.edit.find.mojibake import recovered
from linedex_server.edit.find.occurrences import Ground, Hits, Span, ground_of, without_overlap
from linedex_server.edit.find.verdicts import lines_told
from linedex_server.edit.plan.planned import Planned, demand_room
from linedex_server.edit.splice import TextChange


@dataclass(frozen=True, slots=True)
class LiteralRequest:
    """What a call asks for.

    Attributes:
        old_text: the text to replace.
        new_text: what to put there, literally.
        expected_occurrences: exactly how many places there must be; None for one at least; 0 for none.
    """

    old_text: str
    new_text: str
    expected_occurrences: int | None = 1


def literal(document: Document, request: LiteralRequest) -> Planned:
    """Return what a replacement changes.

    Raises:
        BadArgument: the old text is empty, or the number of places negative.
        NotPlaced: there are not as many places as expected.
        TooLarge: there are too many places, or the new text would be too large.
        BinaryFile: the file holds no text.
    """
    demand_count(request.expected_occurrences)
    document.demand_text()
    old = document.argument("old_text", request.old_text)
    new = document.argument("new_text", request.new_text)
    if not old:
        raise BadArgument("`old_text` is empty.", "Give the text to replace; apply_text_edits inserts lines.")
    ground, expected, note = ground_of(document), request.expected_occurrences, ""
    hits = ground.exact([old])[0]
    if not hits.spans and expected != 0:
        meant = recovered(old, new, lambda text: _fits(ground.exact([text])[0], expected))
        if meant is None:
            raise _missed(document, old, new)
        old, new, note = meant.old, meant.new, meant.told("old_text")
        hits = ground.exact([old])[0]
    if not _fits(hits, expected):
        raise _miscounted(ground, hits, expected)
    if hits.more:
        raise TooLarge(f"old_text occurs over {len(hits.spans):,} times.", "Give a longer text, or use replace_regex.")
    places = without_overlap(hits.spans)
    demand_room([len(new) * len(places)])
    found = [ground.occurrence(span, old) for span in places]
    return Planned(
        tuple((one.text, (TextChange(one.start, one.end, new),)) for one in found),
        len(found),
        tuple(one.line for one in found),
        note,
    )


def demand_count(expected: int | None) -> None:
    """Do nothing if so many places can be expected.

    Raises:
        BadArgument: the number is negative.
    """
    if expected is not None and expected < 0:
        raise BadArgument(
            f"`expected_occurrences` cannot be {expected}.",
            "Give a number from 0 on, or null for any from 1 on.",
        )


def _places(hits: Hits, expected: int | None) -> Sequence[Span]:
    """Return the places that count: for exactly one, overlapping ones too, since any of them may be meant."""
    return hits.spans if expected == 1 else without_overlap(hits.spans)


def _fits(hits: Hits, expected: int | None) -> bool:
    count = len(_places(hits, expected))
    return count > 0 if expected is None else count == expected and not hits.more


def _miscounted(ground: Ground, hits: Hits, expected: int | None) -> NotPlaced:
    places = _places(hits, expected)
    lines = lines_told([ground.line_of(span) for span in places[:21]], len(places), more=hits.more)
    count = f"{'over ' if hits.more else ''}{len(places):,} time{'' if len(places) == 1 else 's'}"
    if expected == 0:
        return NotPlaced(
            f"Not edited: old_text occurs {count} ({lines}), and was not to occur.",
            "Set expected_occurrences to the number of places to replace.",
        )
    return NotPlaced(
        f"Not edited: old_text occurs {count} ({lines}), not {expected:,}.",
        "Give a longer old_text that names one place, or set expected_occurrences.",
    )


def _missed(document: Document, old: str, new: str) -> NotPlaced:
    why = explained(document, old, new)
    reason = f": {why.reason}" if why.reason else ""
    near = f" Nearest: line {why.nearest[0].line:,}, {why.nearest[0].difference}." if why.nearest and not reason else ""
    return NotPlaced(f"Not edited: old_text does not occur{reason}.{near}", why.hint)
