"""Where a text stands in a file of any size: exactly, or by tolerance.

Promise: every place is found, overlapping ones too, up to a bound that the answer tells; memory stays constant however
large the file is. A small file is searched as one text. A large one is read once for all exact searches of a call: as
bytes where its encoding allows, else in windows of whole lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from linedex.model import Newline
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import Text
from linedex_server.edit.errors import TooLarge
from linedex_server.edit.find.tolerant import Sighting, TolerantSearch

MOST_PLACES: Final = 100_000
"""Places of one search that are told apart in a small file."""
MOST_PLACES_LARGE: Final = 10_000
"""The same in a file that is not held whole, where each place is a read of its own."""
_MOST_SIGHTINGS = 200
_RARE = 500
"""Places of a word, up to which only what is around each of them is looked at."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place: code points of `text`, which holds at least the lines it stands on.

    Attributes:
        text: some whole lines of the file.
        start: where it begins.
        end: where it ends, exclusive.
        sighting: what was tolerated; None for an exact place.
    """

    text: Text
    start: int
    end: int
    sighting: Sighting | None = None

    @property
    def line(self) -> int:
        """Number of the line that it begins on."""
        return self.text.line_at(self.start)

    @property
    def last_line(self) -> int:
        """Number of the line that its last character stands on; a line end belongs to its line."""
        return self.text.line_at(max(self.start, self.end - 1))


@dataclass(frozen=True, slots=True)
class Hits:
    """Places of one search, in the ground's own offsets and in order.

    Attributes:
        spans: (start, end) of each.
        more: whether there are places beyond the bound.
    """

    spans: Sequence[Span] = field(default_factory=tuple)
    more: bool = False


class Ground(ABC):
    """A file to be searched."""

    @abstractmethod
    def exact(self, searches: Sequence[str]) -> list[Hits]:
        """Return where each text stands, code point for code point."""

    @abstractmethod
    def exact_near(self, search: str, line: int) -> Hits:
        """Return those places of a text that begin on a line or cover it."""

    @abstractmethod
    def tolerant(self, search: TolerantSearch, line: int | None = None) -> Hits:
        """Return the places that a search may mean: of the whole file, or those that begin on a line or cover it."""

    @abstractmethod
    def of_lines(self, first: int, last: int) -> Span:
        """Return the stretch that lines `first` to `last` take; what lies past the file's end is empty."""

    @abstractmethod
    def occurrence(self, span: Span, search: str | TolerantSearch) -> Occurrence:
        """Return a place that was found by `search`."""

    @abstractmethod
    def line_of(self, span: Span) -> int:
        """Return the number of the line that a place begins on."""


def ground_of(document: Document) -> Ground:
    """Return the way to search this document."""
    return Whole(document) if document.fits else Windows(document)


class Whole(Ground):
    """A file held as one text; offsets are its code points."""

    def __init__(self, document: Document) -> None:
        self._text = document.whole
        self._sightings: dict[Span, Sighting] = {}

    @cached_property
    def encoded(self) -> bytes:
        """The text in UTF-8, lone surrogates passed through."""
        return self._text.text.encode("utf-8", "surrogatepass")

    def exact(self, searches: Sequence[str]) -> list[Hits]:
        """Return where each text stands."""
        return [_bounded(_finds(self._text.text, search), MOST_PLACES) for search in searches]

    def exact_near(self, search: str, line: int) -> Hits:
        """Return the places that cover a line."""
        low, high = self.of_lines(line, line)
        start = max(0, low - len(search) + 1)
        return _bounded(_finds(self._text.text, search, start, high + len(search) - 1), MOST_PLACES)

    def tolerant(self, search: TolerantSearch, line: int | None = None) -> Hits:
        """Return the places that a search may mean."""
        sightings = search.find(self._text.text, self.encoded, _MOST_SIGHTINGS + 1)
        self._sightings = {(one.start, one.end): one for one in sightings}
        low, high = (0, len(self._text.text)) if line is None else self.of_lines(line, line)
        return _bounded(iter(span for span in self._sightings if span[0] < high and span[1] > low), _MOST_SIGHTINGS)

    def of_lines(self, first: int, last: int) -> Span:
        """Return the stretch of some lines."""
        return self._text.line_start(first), self._text.line_start(last + 1)

    def occurrence(self, span: Span, search: str | TolerantSearch) -> Occurrence:
        """Return a place that was found by `search`; of tolerant ones, by the last."""
        sighting = None if isinstance(search, str) else self._sightings[span]
        return Occurrence(self._text, *span, sighting)

    def line_of(self, span: Span) -> int:
        """Return the line that a place begins on."""
        return self._text.line_at(span[0])


class Windows(Ground):
    """A file too large to be held; offsets are its bytes."""

    def __init__(self, document: Document) -> None:
        document.demand_text()
        self._document = document

    def exact(self, searches: Sequence[str]) -> list[Hits]:
        """Return where each text stands, by one pass over the bytes and one over the text, if both are needed."""
        spelt = [self._spelt(search) for search in searches]
        raw = self._in_bytes([needle for needle in spelt if needle is not None])
        decoded = self._in_text([search for search, needle in zip(searches, spelt, strict=True) if needle is None])
        return [next(decoded if needle is None else raw) for needle in spelt]

    def exact_near(self, search: str, line: int) -> Hits:
        """Return the places that cover a line, reading little more than the lines they may stand on."""
        total, height = self._document.total_lines, search.count("\n")
        if line > total:
            return Hits()
        try:
            text = self._document.lines(max(1, line - height), min(total, line + height))
        except TooLarge:
            return Hits()
        low, high = text.line_start(line), text.line_start(line + 1)
        spans = (span for span in _finds(text.text, search) if span[0] < high and span[1] > low)
        return _bounded(((text.byte_at(start), text.byte_at(end)) for start, end in spans), MOST_PLACES_LARGE)

    def tolerant(self, search: TolerantSearch, line: int | None = None) -> Hits:
        """Return the places that a search may mean."""
        try:
            found = _bounded(self._sightings(search, line), _MOST_SIGHTINGS)
            return Hits(sorted(found.spans), found.more)
        except TooLarge:
            # where some lines cannot be compared, nobody knows that there is only one place
            return Hits()

    def of_lines(self, first: int, last: int) -> Span:
        """Return the stretch of some lines."""
        total = self._document.total_lines
        if first > total:
            return self._document.size, self._document.size
        lines = self._document.lines(first, first)
        if last <= first:
            return lines.start, lines.end
        return lines.start, self._document.lines(min(last, total), min(last, total)).end

    def occurrence(self, span: Span, search: str | TolerantSearch) -> Occurrence:
        """Return a place that was found by `search`, with the lines around it."""
        held = self._document.lines_at(*span)
        last = min(held.first_line + held.lines, self._document.total_lines)
        text = self._document.lines(max(1, held.first_line - 1), last)
        if isinstance(search, str):
            start = next(start for start, _ in _finds(text.text, search) if text.byte_at(start) == span[0])
            return Occurrence(text, start, start + len(search))
        encoded = text.text.encode("utf-8", "surrogatepass")
        sightings = search.find(text.text, encoded, _MOST_SIGHTINGS)
        found = next(one for one in sightings if text.byte_at(one.start) == span[0])
        return Occurrence(text, found.start, found.end, found)

    def line_of(self, span: Span) -> int:
        """Return the line that a place begins on."""
        return self._document.lines_at(span[0], span[0] + 1).first_line

    def rarest(self, words: Sequence[str], most: int) -> list[int] | None:
        """Return the lines on which that of some words stands that is there, but least often.

        Args:
            words: without line ends.
            most: a word with more places is left out of account.

        Returns:
            At most `most` lines; None if no word is that rare, or none is there.
        """
        found = [hits.spans for hits in self._places_of(words, most) if hits.spans and not hits.more]
        return sorted({self.line_of(span) for span in min(found, key=len)}) if found else None

    def _places_of(self, words: Sequence[str], most: int) -> list[Hits]:
        spelt = [needle for word in words if (needle := self._spelt(word)) is not None]
        return list(self._in_bytes(spelt, most))

    def _spelt(self, search: str) -> bytes | None:
        """Return the bytes of `search` in this file: b"" if it cannot be there, None if it has several spellings."""
        text_format = self._document.format
        if not self._document.byte_searchable or "\r" in search:
            return None
        if "\n" in search and text_format.newline is Newline.MIXED:
            return None
        end = {Newline.CRLF: "\r\n", Newline.CR: "\r"}.get(text_format.newline, "\n")
        try:
            return search.replace("\n", end).encode(text_format.encoding)
        except UnicodeEncodeError:
            return b""

    def _in_bytes(self, needles: Sequence[bytes], most: int = MOST_PLACES_LARGE) -> Iterator[Hits]:
        found: list[list[Span]] = [[] for _ in needles]
        wanted = [number for number, needle in enumerate(needles) if needle]
        overlap = max((len(needles[number]) for number in wanted), default=1) - 1
        if wanted:
            for offset, raw in self._document.raw_windows(overlap):
                for number in wanted:
                    known, needle = found[number], needles[number]
                    # a place inside the overlap was found in the window before
                    at = max(0, known[-1][0] + 1 - offset) if known else 0
                    while len(known) <= most and (at := raw.find(needle, at)) >= 0:
                        known.append((offset + at, offset + at + len(needle)))
                        at += 1
        return (_bounded(iter(spans), most) for spans in found)

    def _in_text(self, searches: Sequence[str]) -> Iterator[Hits]:
        found: list[list[Span]] = [[] for _ in searches]
        if searches:
            for window in self._document.windows(max(search.count("\n") for search in searches)):
                for number, search in enumerate(searches):
                    known = found[number]
                    for start, end in _finds(window.text, search):
                        if len(known) > MOST_PLACES_LARGE:
                            break
                        first = window.byte_at(start)
                        if not known or first > known[-1][0]:
                            known.append((first, window.byte_at(end)))
        return (_bounded(iter(spans), MOST_PLACES_LARGE) for spans in found)

    def _sightings(self, search: TolerantSearch, line: int | None) -> Iterator[Span]:
        seen: set[int] = set()
        for text, low, high in self._stretches(search, line):
            encoded = text.text.encode("utf-8", "surrogatepass")
            for one in search.find(text.text, encoded, _MOST_SIGHTINGS + 1):
                start = text.byte_at(one.start)
                # a place found later may begin before one found already, if empty lines make it longer
                if start not in seen and one.start < high and one.end > low:
                    seen.add(start)
                    yield start, text.byte_at(one.end)

    def _stretches(self, search: TolerantSearch, line: int | None) -> Iterator[tuple[Text, int, int]]:
        """Yield lines in order among which every place is, and the stretch of them that it must touch.

        What is tolerated is never a part of a word. So where a word of the search is rare, every place is near it, and
        the file is read as bytes only, in a third of the time.
        """
        height, total = search.most_lines, self._document.total_lines
        near: list[int] | None = None
        if line is not None:
            near = [line] if line <= total else []
        elif search.possible:
            places = [hits for hits in self._places_of(search.words, _RARE) if not hits.more]
            if places:
                rarest = min((hits.spans for hits in places), key=len)
                near = sorted({self.line_of(span) for span in rarest})
        if near is None:
            for text in self._document.windows(height):
                yield text, 0, len(text.text)
            return
        for number in near:
            text = self._document.lines(max(1, number - height), min(total, number + height))
            touched = (text.line_start(number), text.line_start(number + 1)) if line else (0, len(text.text))
            yield text, *touched


def without_overlap(spans: Sequence[Span]) -> list[Span]:
    """Return those places that are found from left to right if each search begins where the last place ended."""
    chosen: list[Span] = []
    for span in spans:
        if not chosen or span[0] >= chosen[-1][1]:
            chosen.append(span)
    return chosen


def _finds(text: str, search: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    end = len(text) if end is None else end
    while (start := text.find(search, start, end)) >= 0:
        yield start, start + len(search)
        start += 1


def _bounded(spans: Iterator[Span], most: int) -> Hits:
    kept: list[Span] = []
    for span in spans:
        if len(kept) == most:
            return Hits(kept, more=True)
        kept.append(span)
    return Hits(kept)
