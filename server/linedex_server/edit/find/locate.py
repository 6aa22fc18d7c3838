"""Finding the places of a batch of search/replace changes: all of them, or none and a verdict on each.

Promise: a change is placed exactly, or else by tolerance at the only place that it fits, or not at all. All changes
refer to the file as it is before the call. `line` and `within` choose among several places, and never make a place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from linedex.errors import BadArgument
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import Text
from linedex_server.edit.find.diagnose import explained, nearby
from linedex_server.edit.find.occurrences import Ground, Hits, Occurrence, Span, ground_of, without_overlap
from linedex_server.edit.find.slips import BLANKS
from linedex_server.edit.find.tolerant import TolerantSearch, rewritten
from linedex_server.edit.find.verdicts import ChangesNotPlaced, Nearby, Verdict, lines_told
from linedex_server.edit.splice import TextChange

MOST_CHANGES: Final = 50
MOST_BYTES: Final = 1 << 20
"""Longest search, and longest replacement, in UTF-8."""
_EXPLAINED = 3
"""Misses of one call that are explained by what resembles them; each may take a second."""

Enclosing = Callable[[str], Sequence[tuple[int, int]]]
"""From the name of a symbol to the (first, last) lines of those that bear it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One change as the caller asks for it.

    Attributes:
        search: the text to be replaced.
        replace: what shall stand there, literally.
        fuzzy: whether tolerance may place it.
        replace_all: whether all exact places are meant.
        line: a line, 1-based, that the place must begin on or cover.
        within: name of a symbol that the place must lie in.
    """

    search: str
    replace: str
    fuzzy: bool = True
    replace_all: bool = False
    line: int | None = None
    within: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """One change that has its place or places.

    Attributes:
        index: number of the change in the call, from 0.
        how: "exact", or "tolerant (indentation)" and so on.
        lines: the line that each place begins on.
        parts: for each place some lines of the file, and what changes there; a small file is one text in all parts.
    """

    index: int
    how: str
    lines: tuple[int, ...]
    parts: tuple[tuple[Text, tuple[TextChange, ...]], ...]

    @property
    def line(self) -> int:
        """The first line."""
        return self.lines[0]


@dataclass(frozen=True, slots=True)
class _Item:
    """A change whose texts are normalised, and where it was found."""

    index: int
    wanted: Wanted
    verdict: Verdict | None = None
    places: tuple[Occurrence, ...] = ()
    how: str = "exact"


def place(document: Document, wanted: Sequence[Wanted], enclosing: Enclosing, *, shown: str) -> tuple[Placed, ...]:
    """Return the place of each change.

    Args:
        document: the file as it is before the call.
        wanted: 1 to 50 changes.
        enclosing: looks a symbol up in the file's outline; called only for `within`.
        shown: the file as answers call it.

    Raises:
        ChangesNotPlaced: some change has no place, or too many, or two overlap; each has its verdict.
        BadArgument: there are too many changes, or a text is not Unicode.
        TooLarge: lines that would have to be held are too long.
        BinaryFile: the file holds no text.
    """
    if not 1 <= len(wanted) <= MOST_CHANGES:
        raise BadArgument(f"`changes` has {len(wanted)} items; 1 to {MOST_CHANGES} are taken.", "Use several calls.")
    items = [_normalised(document, index, one) for index, one in enumerate(wanted)]
    finder = _Finder(document, enclosing, shown)
    items = finder.found(items)
    items = _overlaps_told(items)
    if any(item.verdict for item in items):
        raise ChangesNotPlaced(_verdicts(document, items, shown))
    return tuple(
        Placed(
            item.index,
            item.how,
            tuple(one.line for one in item.places),
            tuple((one.text, _changes(one, item.wanted)) for one in item.places),
        )
        for item in items
    )


def _normalised(document: Document, index: int, one: Wanted) -> _Item:
    search, new = document.argument("search", one.search), document.argument("replace", one.replace)
    item = _Item(index, replace(one, search=search, replace=new))
    if one.line is not None and one.line < 1:
        raise BadArgument(f"`line` of change {index} is {one.line}; lines count from 1.", "Give a line of the file.")
    for name, text in (("search", search), ("replace", new)):
        if len(text) > MOST_BYTES or len(text.encode()) > MOST_BYTES:
            return _refused(
                item,
                f"has {len(text):,} characters in `{name}`; up to {MOST_BYTES:,} bytes are taken",
                "Use apply_text_edits with line numbers, or write_full_text.",
            )
    if not search.strip("\n" + BLANKS):
        return _refused(
            item,
            "has an empty `search`" if not search else "has a `search` of blanks only",
            "Give the text to be replaced; apply_text_edits inserts at a line.",
        )
    if search == new:
        return _refused(item, "has a `search` equal to its `replace`", "Leave it out, or change `replace`.")
    return item


def _refused(item: _Item, sentence: str, hint: str, lines: tuple[int, ...] = (), how: str = "") -> _Item:
    return replace(item, verdict=Verdict(item.index, fits=False, sentence=sentence, hint=hint, lines=lines, how=how))


class _Finder:
    """Finds the items of one call in one document."""

    def __init__(self, document: Document, enclosing: Enclosing, shown: str) -> None:
        self._document = document
        self._enclosing = enclosing
        self._shown = shown
        self._ground: Ground = ground_of(document)

    def found(self, items: Sequence[_Item]) -> list[_Item]:
        """Return the items with their places; the rest have a verdict, an empty one where a miss is to be explained."""
        hits: dict[int, Hits] = {}
        for item in items:
            one = item.wanted
            if not item.verdict and one.line is not None and not one.replace_all:
                near = self._ground.exact_near(one.search, one.line)
                if near.spans:
                    hits[item.index] = near
        asked = [item for item in items if not item.verdict and item.index not in hits]
        found = self._ground.exact([item.wanted.search for item in asked])
        hits.update(zip((item.index for item in asked), found, strict=True))
        return [item if item.verdict else self._placed(item, hits[item.index]) for item in items]

    def _placed(self, item: _Item, exact: Hits) -> _Item:
        if exact.spans:
            return self._chosen(item, exact, item.wanted.search)
        missed = replace(item, verdict=Verdict(item.index, fits=False, sentence=""))
        tolerant = TolerantSearch(item.wanted.search)
        hits = self._ground.tolerant(tolerant, item.wanted.line)
        if not hits.spans:
            return missed
        if item.wanted.fuzzy:
            return self._chosen(item, hits, tolerant)
        first = self._ground.occurrence(hits.spans[0], tolerant)
        near = _tolerable(first, tolerant)
        verdict = Verdict(
            item.index,
            fits=False,
            sentence=f"not found in {self._shown}",
            hint=f"Copy line {near.line:,} from read_content, or set fuzzy=true.",
            nearest=(near,),
        )
        return replace(item, verdict=verdict)

    def _chosen(self, item: _Item, hits: Hits, search: str | TolerantSearch) -> _Item:
        wanted, spans = item.wanted, list(hits.spans)
        for lies, what in self._scopes(wanted):
            chosen = [span for span in spans if lies(span)]
            if not chosen:
                lines = tuple(self._ground.line_of(span) for span in spans[:20])
                return _refused(
                    item,
                    f"fits {lines_told(lines, len(spans), more=hits.more)} of {self._shown}, {what}",
                    "Correct `line` or `within`, or leave it out.",
                    lines,
                )
            spans = chosen
        if wanted.line is not None:
            first, end = self._ground.of_lines(wanted.line, wanted.line)
            spans = [span for span in spans if first <= span[0] < end] or spans
        every = wanted.replace_all and isinstance(search, str)
        if every:
            spans = without_overlap(spans)
        if (len(spans) > 1 and not every) or (every and hits.more):
            return self._too_many(item, spans, hits, search)
        places = tuple(self._ground.occurrence(span, search) for span in spans)
        how = "exact" if isinstance(search, str) else f"tolerant ({_slips(places[0])})"
        return replace(item, places=places, how=how)

    def _too_many(self, item: _Item, spans: Sequence[Span], hits: Hits, search: str | TolerantSearch) -> _Item:
        lines = tuple(self._ground.line_of(span) for span in spans[:20])
        exact = isinstance(search, str)
        count = f"{'over ' if hits.more else ''}{len(spans):,}"
        if exact and item.wanted.replace_all:
            return _refused(
                item,
                f"fits {count} places in {self._shown}",
                "Use replace_literal with expected_occurrences=null.",
                lines,
            )
        told = lines_told(lines, len(spans), more=hits.more)
        hint = "Add a neighbouring line to `search`, give `line`, or set replace_all."
        return _refused(
            item,
            f"fits {count} places in {self._shown}{'' if exact else ' by tolerance'}: {told}",
            hint
            if exact
            else "Add a neighbouring line to `search`, give `line`, or copy it exactly from read_content.",
            lines,
        )

    def _scopes(self, wanted: Wanted) -> list[tuple[Callable[[Span], bool], str]]:
        """Return for `within` and `line` what a place must fulfil, and what to say if none does."""
        found: list[tuple[Callable[[Span], bool], str]] = []
        if wanted.within is not None:
            ranges = self._enclosing(wanted.within)
            told = ", ".join(f"{first:,}-{last:,}" for first, last in ranges[:3])
            what = f"not within {wanted.within} (lines {told})" if ranges else f"and there is no {wanted.within}"
            stretches = [self._ground.of_lines(*one) for one in ranges]
            found.append((lambda span: any(low <= span[0] and span[1] <= high for low, high in stretches), what))
        if wanted.line is not None:
            first, end = self._ground.of_lines(wanted.line, wanted.line)
            found.append((lambda span: span[0] < end and span[1] > first, f"not line {wanted.line:,}"))
        return found


def _tolerable(place: Occurrence, search: TolerantSearch) -> Nearby:
    """Return the first line of a tolerant place that is not what the search has."""
    assert place.sighting is not None
    text = place.text.text
    spans = [(*span, ours) for span, ours in zip(place.sighting.lines, search.lines, strict=True) if span]
    start, end, ours = next((one for one in spans if text[one[0] : one[1]] != one[2]), spans[0])
    theirs = text[start:end]
    return nearby(place.text.line_at(start), theirs, ours, 1.0)


def _slips(place: Occurrence) -> str:
    return ", ".join(place.sighting.slips) if place.sighting else ""


def _changes(place: Occurrence, wanted: Wanted) -> tuple[TextChange, ...]:
    if place.sighting is None:
        return (TextChange(place.start, place.end, wanted.replace),)
    return rewritten(place.text.text, place.sighting, wanted.search, wanted.replace)


def _overlaps_told(items: Sequence[_Item]) -> list[_Item]:
    """Return the items; of two that overlap the later one in the call is refused."""
    told = {item.index: item for item in items}
    placed = [
        (one.text.byte_at(one.start), one.text.byte_at(one.end), item, one) for item in items for one in item.places
    ]
    placed.sort(key=lambda each: each[:2])
    reach = 0
    farthest: tuple[_Item, Occurrence] | None = None
    for start, end, item, one in placed:
        if farthest and start < reach:
            earlier, later = sorted((farthest[0], item), key=lambda each: each.index)
            last = min(one.last_line, farthest[1].last_line)
            lines = f"line {last:,}" if one.line == last else f"lines {one.line:,}-{last:,}"
            if not told[later.index].verdict:
                told[later.index] = _refused(
                    later, f"overlaps change {earlier.index}, {lines}", "Make one change of the two.", (one.line,)
                )
        if end > reach:
            reach, farthest = end, (item, one)
    return [told[item.index] for item in items]


def _verdicts(document: Document, items: Sequence[_Item], shown: str) -> list[Verdict]:
    found: list[Verdict] = []
    explained_already = 0
    for item in items:
        verdict = item.verdict
        if verdict is None:
            lines = tuple(one.line for one in item.places)
            how = "" if item.how == "exact" else f", {item.how}"
            sentence = f"fits ({lines_told(lines, len(lines))}{how})"
            found.append(Verdict(item.index, fits=True, sentence=sentence, lines=lines, how=item.how))
        elif verdict.sentence:
            found.append(verdict)
        elif (after := _fits_after(item, items)) is not None:
            hint = "All changes refer to the file as it is before the call: make one change of the two, or two calls."
            found.append(replace(verdict, sentence=f"would fit only after change {after}", hint=hint))
        elif explained_already == _EXPLAINED:
            found.append(replace(verdict, sentence=f"not found in {shown}"))
        else:
            explained_already += 1
            why = explained(document, item.wanted.search, item.wanted.replace, line=item.wanted.line)
            found.append(
                replace(
                    verdict,
                    sentence=f"not found in {shown}",
                    reason=why.reason,
                    hint=why.hint,
                    nearest=why.nearest,
                )
            )
    return found


def _fits_after(missed: _Item, items: Sequence[_Item]) -> int | None:
    """Return the number of another change whose new text would give this one its place."""
    height = missed.wanted.search.count("\n") + 1
    for item in items:
        for one in item.places[:1]:
            text = one.text.text
            start, end = _lines_around(text, one.start, one.end, height)
            if missed.wanted.search in _changed(text, _changes(one, item.wanted), start, end):
                return item.index
    return None


def _lines_around(text: str, start: int, end: int, height: int) -> Span:
    for _ in range(height):
        start = max(0, text.rfind("\n", 0, max(0, start - 1)) + 1) if start else 0
        end = text.find("\n", end) + 1 or len(text)
    return start, end


def _changed(text: str, changes: Sequence[TextChange], start: int, end: int) -> str:
    parts: list[str] = []
    for change in sorted(changes, key=lambda each: (each.start, each.end)):
        parts += (text[start : change.start], change.new)
        start = change.end
    return "".join((*parts, text[start:end]))
