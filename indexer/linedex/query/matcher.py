r"""From a search request to the lines of a text that match, verified on whole buffers.

Promise: a `Matcher` finds exactly the lines that ripgrep would, in a text of UTF-8 bytes without BOM whose lines end at
LF; what differs is listed in ARCHITECTURE.md. It never goes through a text line by line: an engine names the next
match, and two byte searches name its line.

A pattern that asks for a line end (`\n`, `[\r\n]`) makes a `multiline` matcher: a hit then spans from the start of its
first line to the end of its last, and what can match a line feed does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

import re2

from linedex.answers import SearchRequest
from linedex.content.lines import LF, count_byte
from linedex.errors import BadPattern, PatternTimedOut
from linedex.limits import Limits
from linedex.query.ascii_only import AsciiEngine, ascii_not_word, ascii_tree, gains_by_ascii, has_ascii_form
from linedex.query.code_points import quiet_options
from linedex.query.dialect import RE2_NOT_WORD, REGEX_NOT_WORD, to_re2, to_regex
from linedex.query.engines import (
    BacktrackingEngine,
    Engine,
    LineEngine,
    LiteralEngine,
    Re2Engine,
    Search,
)
from linedex.query.excerpt import character_start
from linedex.query.extent import Extent, extent_of
from linedex.query.parser import parse_request
from linedex.query.stepping import ByteSpan
from linedex.query.syntax import (
    AnyByte,
    Assertion,
    CharClass,
    Edge,
    Literal,
    Node,
    Property,
    PropertyKind,
    backtracks,
    contains,
    spans_lines,
)
from linedex.query.words import WordEngine, begins_and_ends_as_word

_NARROW_POSITIONS = 64
"""A larger pattern is compiled for all texts at once, so that it is refused whatever the texts are. RE2 has room for
Unicode's word characters 3,000 times."""


class LineMatch(NamedTuple):
    """One hit, in byte offsets of the text; ends are not included, `line_end` is that of the line without its LF.

    `more` are the spans of further matches in the line, empty ones left out.
    """

    line_start: int
    line_end: int
    match_start: int
    match_end: int
    more: tuple[ByteSpan, ...] = ()


class Matcher(Protocol):
    """A compiled request.

    Attributes:
        multiline: whether a hit may span several lines.
    """

    multiline: bool

    def find(self, text: bytes, start: int = 0, *, more: int = 0) -> Iterator[LineMatch]:
        """Yield a hit for each matching line from the line that begins at `start` on.

        Args:
            text: UTF-8, lines ended by LF.
            start: where to begin.
            more: how many further matches of each line to tell; none are told of hits that may span several lines.

        Raises:
            PatternTimedOut: the pattern takes too long; the hits before stand.
        """

    def count(self, text: bytes) -> int:
        """Return how many hits there are.

        Raises:
            PatternTimedOut: as `find`.
        """

    def matches(self, text: bytes) -> bool:
        """Tell whether there is a hit.

        Raises:
            PatternTimedOut: as `find`.
        """


class _Lines:
    """Lines with a match."""

    multiline = False

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, text: bytes, start: int = 0, *, more: int = 0) -> Iterator[LineMatch]:
        search, size = self._engine.on(text), len(text)
        while start < size:
            span = search(start)
            if span is None:
                return
            first, last = span
            if first == size and _past_the_end(span, text):
                return
            line_start = text.rfind(b"\n", start, first) + 1 or start
            line_end = text.find(b"\n", last)
            if line_end < 0:
                line_end = size
            if more:
                yield from self._with_others(search, text, LineMatch(line_start, line_end, first, last), more)
            else:
                yield LineMatch(line_start, line_end, first, last)
            start = line_end + 1

    @staticmethod
    def _with_others(search: Search, text: bytes, match: LineMatch, most: int) -> Iterator[LineMatch]:
        """Yield a match with the further ones of its line, those before a time-out too."""
        others: list[ByteSpan] = []
        try:
            for other in _others(search, text, (match.match_start, match.match_end), match.line_end, most):
                others.append(other)  # noqa: PERF402 - those before a time-out are kept
        except PatternTimedOut:
            yield match._replace(more=tuple(others))
            raise
        yield match._replace(more=tuple(others))

    def count(self, text: bytes) -> int:
        search, size, start, hits = self._engine.on(text), len(text), 0, 0
        while start < size:
            span = search(start)
            if span is None or _past_the_end(span, text):
                break
            hits += 1
            start = text.find(b"\n", span[1]) + 1 or size
        return hits

    def matches(self, text: bytes) -> bool:
        span = self._engine.on(text)(0) if text else None
        return span is not None and not _past_the_end(span, text)


class _LineSpans:
    """Runs of lines with a match that may go over their ends."""

    multiline = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, text: bytes, start: int = 0, *, more: int = 0) -> Iterator[LineMatch]:  # noqa: ARG002
        search, size, told = self._engine.on(text), len(text), -1
        while start < size:
            span = search(start)
            if span is None or _past_the_end(span, text):
                return
            first, last = span
            line_start = text.rfind(b"\n", 0, first) + 1
            # a match that ends with a line feed ends on the line of that line feed
            line_end = text.find(b"\n", max(first, last - 1))
            if line_end < 0:
                line_end = size
            if line_end > told:
                yield LineMatch(line_start, line_end, first, last)
                told = line_end
            start = last if last > first else line_end + 1

    def count(self, text: bytes) -> int:
        return sum(1 for _ in self.find(text))

    def matches(self, text: bytes) -> bool:
        return any(True for _ in self.find(text))


class _OtherLines:
    """Lines that are no part of any hit of another matcher; the match of each is the empty one at its start."""

    def __init__(self, inner: Matcher) -> None:
        self._inner = inner
        self.multiline = inner.multiline

    def find(self, text: bytes, start: int = 0, *, more: int = 0) -> Iterator[LineMatch]:  # noqa: ARG002
        for hit in self._inner.find(text, start):
            yield from _lines(text, start, hit.line_start)
            start = hit.line_end + 1
        yield from _lines(text, start, len(text))

    def count(self, text: bytes) -> int:
        if self.multiline:
            return sum(1 for _ in self.find(text))
        lines = count_byte(text, LF) + (bool(text) and not text.endswith(b"\n"))
        return lines - self._inner.count(text)

    def matches(self, text: bytes) -> bool:
        return any(True for _ in self.find(text))


def _others(search: Search, text: bytes, span: ByteSpan, line_end: int, most: int) -> Iterator[ByteSpan]:
    """Yield the matches behind `span` in its line, looking at most `most` times."""
    for _ in range(most):
        start, end = span
        at = end if end > start else character_start(text, end + 1)
        if at >= line_end:
            return
        found = search(at, line_end)
        if found is None:
            return
        span = found
        if found[1] > found[0]:
            yield found


def _past_the_end(span: tuple[int, int], text: bytes) -> bool:
    """Tell whether a match is the empty one after the final line feed, where there is no line."""
    return span[0] == len(text) and text.endswith(b"\n")


def _lines(text: bytes, start: int, end: int) -> Iterator[LineMatch]:
    while start < end:
        line_end = text.find(b"\n", start)
        line_end = len(text) if line_end < 0 else line_end
        yield LineMatch(start, line_end, start, start)
        start = line_end + 1


def compile_pattern(request: SearchRequest, limits: Limits) -> Matcher:
    """Compile what `request` looks for, its case, word, whole-line and invert options included.

    Raises:
        BadPattern: the pattern is empty, too long or too large, or cannot be read or compiled; the message says where
            and why.
    """
    check_text(request.pattern, limits)
    tree = parse_request(request)
    check_properties(tree, request.pattern)
    multiline = spans_lines(tree)
    engine = _engine(tree, request, multiline=multiline, seconds=limits.pattern_seconds)
    matcher: Matcher = _LineSpans(engine) if multiline else _Lines(engine)
    return _OtherLines(matcher) if request.invert else matcher


def _engine(tree: Node, request: SearchRequest, *, multiline: bool, seconds: float) -> Engine:
    def regex_engine() -> Engine:
        pattern = to_regex(tree, multiline=multiline)
        if request.word:
            pattern = f"(?:(?m:^)|(?<={REGEX_NOT_WORD}))(?:{pattern})(?:(?={REGEX_NOT_WORD})|(?m:$))"
        if request.whole_line:
            pattern = f"(?m:^)(?:{pattern})(?m:$)"
        return BacktrackingEngine(pattern, seconds=seconds)

    if backtracks(tree):
        return regex_engine()
    extent = extent_of(tree).around(2 * request.word)
    narrow = extent.positions <= _NARROW_POSITIONS and has_ascii_form(tree) and (request.word or gains_by_ascii(tree))

    def written(node: Node, not_word: str, *, word_edges: bool) -> Engine:
        pattern = to_re2(node, word_edges=word_edges)
        if request.word:
            pattern = f"(?:(?m:^)|{not_word})({pattern})(?:{not_word}|(?m:$))"
        if request.whole_line:
            pattern = f"(?m:^)(?:{pattern})(?m:$)"
        return Re2Engine(pattern, extent, seconds, multiline=multiline, group=int(request.word))

    def wide(*, word_edges: bool = True) -> Engine:
        return written(tree, RE2_NOT_WORD, word_edges=word_edges)

    def for_ascii(*, word_edges: bool = True) -> Engine:
        if not narrow:
            return wide(word_edges=word_edges)
        return written(ascii_tree(tree), ascii_not_word(), word_edges=word_edges)

    def re2_engine(*, word_edges: bool = True) -> Engine:
        if not narrow:
            return wide(word_edges=word_edges)
        return AsciiEngine(for_ascii(word_edges=word_edges), lambda: wide(word_edges=word_edges))

    if contains(tree, lambda node: isinstance(node, Assertion) and node.edge in (Edge.WORD, Edge.NOT_WORD)):
        return regex_engine() if multiline else LineEngine(re2_engine(word_edges=False), for_ascii(), regex_engine())
    if contains(tree, lambda node: isinstance(node, AnyByte)) and not multiline:
        return LineEngine(Re2Engine("", Extent(0, 0), seconds, multiline=False), re2_engine())
    if isinstance(tree, Literal) and not (multiline or request.whole_line):
        if request.word and begins_and_ends_as_word(tree.text):
            return WordEngine(_literal_engine(tree, seconds), re2_engine)
        if not request.word:
            return _literal_engine(tree, seconds)
    return re2_engine()


def _literal_engine(tree: Literal, seconds: float) -> Engine:
    engine = Re2Engine(to_re2(tree), extent_of(tree), seconds, multiline=False)
    return engine if tree.fold else LiteralEngine(tree.text.encode(), engine)


def check_text(pattern: str, limits: Limits) -> None:
    """Do nothing if `pattern` may be read at all.

    Raises:
        BadPattern: it is empty, too long or no Unicode text.
    """
    if not pattern:
        raise BadPattern("The pattern is empty.", hint="Give at least one character to look for.")
    if len(pattern) > limits.pattern_length:
        raise BadPattern(
            f"The pattern has {len(pattern):,} characters; at most {limits.pattern_length:,} are taken.",
            limits.pattern_length,
            "Search for a shorter part of it.",
        )
    try:
        pattern.encode()
    except UnicodeEncodeError as lone:
        raise BadPattern(
            f"The pattern holds half of a surrogate pair at character {lone.start + 1}.",
            lone.start,
            "Give it as Unicode text.",
        ) from None


@lru_cache(maxsize=256)
def _known_to_re2(name: str) -> bool:
    if not re.fullmatch(r"[A-Za-z_]+", name):
        return False
    try:
        re2.compile(f"\\p{{{name}}}".encode(), quiet_options())
    except re2.error:
        return False
    return True


def check_properties(tree: Node, pattern: str) -> None:
    """Do nothing if RE2 knows every Unicode class that `tree`, which was read from `pattern`, names.

    Raises:
        BadPattern: it does not.
    """
    names: list[str] = []

    def note(node: Node) -> bool:
        if isinstance(node, CharClass):
            names.extend(
                item.name for item in node.items if isinstance(item, Property) and item.kind is PropertyKind.UNICODE
            )
        return False

    contains(tree, note)
    for name in names:
        if not _known_to_re2(name):
            position = pattern.find(name)
            raise BadPattern(
                f"The pattern cannot be read at character {position + 1}: unknown Unicode class {name!r}.",
                position,
                r"Known are general categories (\pL, \p{Lu}) and scripts (\p{Greek}).",
            )
