r"""Replacing the matches of a regular expression (replace_regex).

Promise: a pattern means what it means to the search tools, and the same engine is chosen for it: RE2, or a backtracking
one with a time limit where RE2 cannot. Here `\A` and `\z` are the ends of the file, and `.` crosses lines if asked to.
There is no match behind the final line end, and no empty one directly behind another match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, TypeAlias

import re2
import regex as backtracking

from linedex.errors import BadPattern, PatternTimedOut
from linedex.limits import DEFAULT_LIMITS, Limits
from linedex.query.code_points import quiet_options
from linedex.query.dialect import to_re2, to_regex
from linedex.query.engines import refused
from linedex.query.extent import demand_moderate, extent_of
from linedex.query.matcher import check_properties, check_text
from linedex.query.parser import TextPattern, parse_text_pattern
from linedex.query.stepping import Stepping
from linedex.query.syntax import (
    AnyByte,
    AnyChar,
    Assertion,
    Edge,
    Node,
    backtracks,
    contains,
    spans_lines,
)
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import Text
from linedex_server.edit.errors import NotPlaced, TooLarge
from linedex_server.edit.find.verdicts import lines_told
from linedex_server.edit.plan.literal import demand_count
from linedex_server.edit.plan.planned import Planned, demand_room
from linedex_server.edit.plan.template import Template, parsed
from linedex_server.edit.splice import TextChange

MOST_MATCHES: Final = 500_000
"""Matches that one call replaces."""
_LITERAL_INSTEAD: Final = "Correct it, or replace the text as it stands with replace_literal."

Groups: TypeAlias = tuple[tuple[int, int], ...]
"""Start and end of the whole match and of each group, in code points; -1 for a group that took no part."""
Search: TypeAlias = Callable[[int], Groups | None]
"""Finds the leftmost match at or after a code point; the points asked for must not decrease."""


@dataclass(frozen=True, slots=True)
class RegexRequest:
    """What a call asks for.

    Attributes:
        pattern: the regular expression.
        replacement: the new text, with references to groups.
        expected_occurrences: exactly how many matches there must be; None for one at least; 0 for none.
        case_sensitive: whether letter case counts.
        dotall: whether the dot matches a line end.
    """

    pattern: str
    replacement: str
    expected_occurrences: int | None = 1
    case_sensitive: bool = True
    dotall: bool = False


def regex(document: Document, request: RegexRequest, limits: Limits = DEFAULT_LIMITS) -> Planned:
    """Return what a replacement changes.

    Raises:
        BadPattern: the pattern cannot be read or compiled.
        BadArgument: the replacement cannot be read, or the number of matches is negative.
        NotPlaced: there are not as many matches as expected.
        PatternTimedOut: a backtracking pattern took too long.
        TooLarge: there are too many matches, the new text would be too large, or the pattern looks over the lines of a
            file that is not held whole.
        BinaryFile: the file holds no text.
    """
    demand_count(request.expected_occurrences)
    check_text(request.pattern, limits)
    try:
        pattern = parse_text_pattern(request.pattern, fold=not request.case_sensitive, dot_newline=request.dotall)
    except BadPattern as refusal:
        # the parser's advice is for tools that can be told to take the text as it stands
        raise BadPattern(str(refusal), refusal.position, _LITERAL_INSTEAD) from None
    check_properties(pattern.tree, request.pattern)
    template = parsed(document.argument("replacement", request.replacement), pattern.groups, pattern.names)
    program = _Program(pattern, limits.pattern_seconds)
    document.demand_text()
    if not document.fits:
        _demand_lines(document, pattern.tree)
    edits: list[tuple[Text, tuple[TextChange, ...]]] = []
    lines: list[int] = []
    room = 0
    for text in [document.whole] if document.fits else document.windows():
        found: list[TextChange] = []
        for change in _changes(text.text, program, template):
            found.append(change)
            lines.append(text.line_at(change.start))
            room += len(change.new)
            _demand_few(len(lines))
            demand_room([room])
        edits += [(text, tuple(found))] if document.fits else _by_line(text, found)
    _demand_count(lines, request.expected_occurrences)
    return Planned(tuple(edits), len(lines), tuple(lines))


class _Program:
    """A compiled pattern, and the time that it has left on one file."""

    def __init__(self, pattern: TextPattern, seconds: float) -> None:
        tree = pattern.tree
        if contains(tree, lambda node: isinstance(node, AnyByte)):
            raise BadPattern(
                "\\C (any byte) cannot be replaced: it may be a part of a character.", hint="Use . instead."
            )
        self._seconds = self._left = seconds
        self._multiline = crosses_lines(tree)
        self._tree = tree
        # RE2's word edges know ASCII letters only
        self._edges = contains(
            tree, lambda node: isinstance(node, Assertion) and node.edge in (Edge.WORD, Edge.NOT_WORD)
        )
        self._backtracks = backtracks(tree)
        self._re2 = None if self._backtracks else self._compiled()
        self._regex: Any = self._backtracking() if (self._backtracks or self._edges) else None

    def _backtracking(self) -> Any:
        try:
            return backtracking.compile(to_regex(self._tree, multiline=self._multiline), backtracking.VERSION0)
        except RecursionError:
            raise BadPattern("The pattern nests too deeply.", hint="Use fewer groups within groups.") from None

    def on(self, text: str) -> Search:
        """Return the search of `text`."""
        if self._re2 is None or (self._edges and not text.isascii()):
            return self._stepping(text)
        return self._linear(self._re2, text)

    def _compiled(self) -> Stepping:
        extent = extent_of(self._tree)
        demand_moderate(extent)
        program = re2._re2.RE2(
            to_re2(self._tree, captures=True).encode(), quiet_options(never_newline=not self._multiline)
        )
        if not program.ok():
            raise refused(program.error().decode("utf-8", "replace"))
        match, unanchored = program.Match, re2._Anchor.UNANCHORED
        return Stepping(
            lambda text, start, end: match(unanchored, text, start, end),
            program.ProgramSize(),
            extent,
            self._seconds,
            within_lines=not self._multiline,
        )

    def _linear(self, program: Stepping, text: str) -> Search:
        # stray bytes become what RE2 takes for invalid, three bytes each
        data = text.encode("utf-8", "surrogatepass")
        steps, same = program.on(data), len(data) == len(text)
        known_byte = known_point = 0

        def search(at: int) -> Groups | None:
            nonlocal known_byte, known_point
            if not same:
                known_byte += len(text[known_point:at].encode("utf-8", "surrogatepass"))
                known_point = at
            spans = steps(at if same else known_byte, len(data))
            if spans[0][0] < 0:
                return None
            if same:
                return tuple(spans)
            start, byte = spans[0][0], known_byte
            first = known_point + _points(data, byte, start)
            return tuple(
                (first + _points(data, start, low), first + _points(data, start, high)) if low >= 0 else (-1, -1)
                for low, high in spans
            )

        return search

    def _stepping(self, text: str) -> Search:
        def search(at: int) -> Groups | None:
            before = perf_counter()
            try:
                # `regex` takes no timeout of zero
                found = self._regex.search(text, at, timeout=max(self._left, 1e-3))
            except TimeoutError:
                raise PatternTimedOut(
                    f"the pattern took over {self._seconds:g} seconds on one file",
                    "Avoid repetitions within repetitions, look-around and back-references.",
                ) from None
            self._left -= perf_counter() - before
            return found and tuple(found.regs)

        return search


def crosses_lines(tree: Node) -> bool:
    """Tell whether a match may hold a line end: the pattern asks for one, or a dot may be one."""
    return spans_lines(tree) or contains(tree, lambda node: isinstance(node, AnyChar) and node.newline)


def _points(data: bytes, start: int, end: int) -> int:
    return len(data[start:end].decode("utf-8", "surrogatepass"))


def _changes(text: str, program: _Program, template: Template) -> Iterator[TextChange]:
    search, size, at, last = program.on(text), len(text), 0, -1
    while at <= size and (found := search(at)):
        start, end = found[0]
        if start == end and start == size and (not text or text[-1] == "\n"):
            return
        if not start == end == last:
            groups = ["" if low < 0 else text[low:high] for low, high in found]
            yield TextChange(start, end, template.expanded(groups))
        last, at = end, end + (start == end)


def _by_line(text: Text, changes: Iterable[TextChange]) -> list[tuple[Text, tuple[TextChange, ...]]]:
    """Return changes that stay within lines with those lines only, so that the window need not be kept."""
    by_line: dict[int, list[TextChange]] = {}
    for change in changes:
        by_line.setdefault(text.line_at(change.start), []).append(change)
    return [
        (
            text.part(line, line),
            tuple(TextChange(one.start - first, one.end - first, one.new) for one in found),
        )
        for line, found in by_line.items()
        for first in [text.line_start(line)]
    ]


def _demand_lines(document: Document, tree: Node) -> None:
    def looks_beyond(node: Node) -> bool:
        return isinstance(node, Assertion) and node.edge in (Edge.TEXT_START, Edge.TEXT_END)

    if crosses_lines(tree) or contains(tree, looks_beyond):
        raise TooLarge(
            f"The file has {document.size:,} bytes; a pattern over several lines or with \\A, \\z takes up to "
            f"{document.whole_bytes:,}.",
            "Use a pattern that stays within a line, or edit_content.",
        )


def _demand_few(count: int) -> None:
    if count > MOST_MATCHES:
        raise TooLarge(f"The pattern matches over {MOST_MATCHES:,} times.", "Use a pattern that matches less often.")


def _demand_count(lines: list[int], expected: int | None) -> None:
    count = len(lines)
    if count == expected or (expected is None and count):
        return
    if not count:
        raise NotPlaced(
            "Not edited: the pattern does not match.",
            "Try it in search_content with regex=true; ^ and $ are line ends.",
        )
    times = "once" if count == 1 else f"{count:,} times"
    wanted = "and was not to" if expected == 0 else f"not {expected:,}"
    raise NotPlaced(
        f"Not edited: the pattern matches {times} ({lines_told(lines[:21], count)}), {wanted}.",
        "Set expected_occurrences to the number of matches to replace, or null for all.",
    )
