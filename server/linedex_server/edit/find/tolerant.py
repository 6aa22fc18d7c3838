"""Tolerant finding: the one place that a search means although its blanks, indentation or quotes slipped.

Promise: a place is given only if every line of the search stands there, in order, but for what `slips` tolerates, one
orderly mapping of indents (`indents`), and empty lines missing or extra. Similarity plays no part. What is written is
the difference between search and replacement, put on the lines that the file has: lines that are equal in both stay as
they are.

The search becomes RE2 patterns over the whole buffer, one for every 16 KiB of it: the first finds, the next ones
confirm where it ended. Four lines take 0.04 s in a 10 MB log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import re2

from linedex_server.edit.content.line_diff import Run, runs
from linedex_server.edit.find.indents import IndentMapping, mapped, same_depth
from linedex_server.edit.find.slips import (
    BLANK,
    BLANKS,
    NOT_WORD,
    OPERATORS,
    differences,
    ends_quoted,
    indent_of,
    is_word,
    line_pattern,
)
from linedex_server.edit.splice import TextChange

_PIECE = 16 << 10
_EXAMINED = 10_000
"""Most places that are looked at: past these a search names nothing."""
_EXAMINED_BYTES = 2 << 20
"""The same for the lengths of these places together: over a second if they have lines of one character."""
_LONGEST = 128 << 10
"""A search of as many characters takes a second for its patterns alone."""
_LONGEST_LINE = 8_000
"""A longer line of a search, in characters, would take a single pattern of megabytes."""
_SLACK_LINES = 16
_WORD = re.compile(r"\w{4,}")
_WORDS = 3
_FEWEST_CHARACTERS = 6
"""A search of one line needs as many that are no blanks: `*/`, `}` and `else:` are never placed by tolerance."""
_ONE_OPERATOR = "[^" + "".join(f"\\x{{{ord(one):x}}}" for one in OPERATORS) + "]"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A place that a search may mean, in code points of the text.

    Attributes:
        start: where it begins: a line start, or a place within a line.
        end: where it ends; a line end is not included.
        lines: (start, end) of each line of the search, None for an empty one that the file lacks.
        indents: how the search's indents answer to the file's.
        part: whether it is part of a line.
        slips: what differs: "indentation", "blanks", "quotes", "empty lines".
    """

    start: int
    end: int
    lines: tuple[tuple[int, int] | None, ...]
    indents: IndentMapping
    part: bool
    slips: tuple[str, ...]


class TolerantSearch:
    """A search text as whole lines; without any line end and leading blanks, also as part of a line.

    Args:
        search: line ends are newlines; one at the end belongs to the last line.
    """

    def __init__(self, search: str) -> None:
        self.lines = lines_of(search)
        self._kept = [number for number, line in enumerate(self.lines) if line.strip(BLANKS)]
        self._single = len(self._kept) == 1
        self._part = self._single and "\n" not in search and not indent_of(search)

    @property
    def possible(self) -> bool:
        """Whether it says enough to be placed by tolerance, in lines of bounded length."""
        if sum(map(len, self.lines)) > _LONGEST or max(map(len, self.lines)) > _LONGEST_LINE:
            return False
        if not self._single:
            return bool(self._kept)
        solid = [one for one in self.lines[self._kept[0]] if one not in BLANKS]
        return len(solid) >= _FEWEST_CHARACTERS and any(map(is_word, solid))

    @property
    def words(self) -> list[str]:
        """Its longest words, which stand unchanged in every place."""
        found = {word for line in self.lines for word in _WORD.findall(line)}
        return sorted(found, key=lambda word: (-len(word), word))[:_WORDS]

    @property
    def most_lines(self) -> int:
        """How many lines a place may have, empty ones that the search left out among them."""
        return 2 * len(self.lines) + _SLACK_LINES

    def find(self, text: str, encoded: bytes, most: int) -> tuple[Sighting, ...]:
        """Return the places in order, at most `most` of them; none if too much resembles the search to be sure.

        Args:
            text: line ends are newlines.
            encoded: the same in UTF-8, lone surrogates passed through.
            most: how many to give; places of a search that fits all over are not told to their end.
        """
        found: list[Sighting] = []
        if not self.possible:
            return ()
        place = _Points(text, encoded)
        examined = 0
        for number, (start, end) in enumerate(self._candidates(encoded)):
            examined += end - start
            if number == _EXAMINED or examined > _EXAMINED_BYTES + end - start:
                return ()
            sighting = self._sighted(text, place(start), place(end))
            if sighting:
                found.append(sighting)
                if len(found) == most:
                    break
        return tuple(found)

    def _candidates(self, encoded: bytes) -> Iterator[tuple[int, int]]:
        first, *others = self._programs
        group = int(self._part)
        at = 0
        while True:
            start, end = first.Match(re2._Anchor.UNANCHORED, encoded, at, len(encoded))[group]
            if start < 0:
                return
            for program in others:
                _, end = program.Match(re2._Anchor.ANCHOR_START, encoded, end, len(encoded))[0]
                if end < 0:
                    break
            else:
                yield start, end
            at = start + 1 if self._part else encoded.find(b"\n", start) + 1
            if not at:
                return

    @cached_property
    def _programs(self) -> list[Any]:
        kept = [self.lines[number] for number in self._kept]
        if self._part:
            core = kept[0].strip(BLANKS)
            patterns = [f"{_border(core[0], '^')}({line_pattern(core)}){_border(core[-1], '$')}"]
        else:
            patterns = [f"(?m:^){self._first_indent(kept[0])}{line_pattern(kept[0])}{BLANK}*"]
            for line in kept[1:]:
                following = f"{BLANK}*{line_pattern(line)}{BLANK}*"
                between = rf"\n(?:{BLANK}*\n)*"
                if len(patterns[-1]) > _PIECE:
                    patterns.append(between + following)
                else:
                    patterns[-1] += between + following
            patterns = [pattern + "(?m:$)" for pattern in patterns]
        return [_compiled(pattern) for pattern in patterns]

    def _first_indent(self, line: str) -> str:
        indent = indent_of(line)
        if not self._single or not indent:
            return f"{BLANK}*"
        return "(?:" + "|".join("".join(f"\\x{{{ord(one):x}}}" for one in same) for same in same_depth(indent)) + ")"

    def _sighted(self, text: str, start: int, end: int) -> Sighting | None:
        if self._part:
            return self._sighted_part(text, start, end)
        spans = _spans(text, start, end)
        solid = [span for span in spans if text[span[0] : span[1]].strip(BLANKS)]
        if len(spans) > self.most_lines:
            return None
        found = [text[slice(*span)] for span in solid]
        searched = [self.lines[number] for number in self._kept]
        indents = mapped([indent_of(line) for line in searched], [indent_of(line) for line in found])
        if indents is None:
            return None
        lines = self._aligned(text, spans, solid)
        named = set[str]().union(*map(differences, found, searched))
        if any(map(lambda ours, theirs: indent_of(ours) != indent_of(theirs), found, searched)):
            named.add("indentation")
        known = [span for span in lines if span]
        if len(known) != len(lines) or known != _spans(text, known[0][0], known[-1][1]):
            named.add("empty lines")
        elif not named:
            # all that is left are blanks in lines that are otherwise empty
            named.add("blanks")
        return Sighting(known[0][0], known[-1][1], lines, indents, part=False, slips=tuple(sorted(named)))

    def _sighted_part(self, text: str, start: int, end: int) -> Sighting | None:
        line_start = text.rfind("\n", 0, start) + 1
        before, found = text[line_start:start], text[start:end]
        if ends_quoted(before):
            within = _compiled(line_pattern(self.lines[0], quoted=True))
            encoded = found.encode("utf-8", "surrogatepass")
            if within.Match(re2._Anchor.ANCHOR_BOTH, encoded, 0, len(encoded))[0][0] < 0:
                return None
        indents = IndentMapping({"": "" if before.strip(BLANKS) else before})
        named = differences(found, self.lines[0]) or {"blanks"}
        return Sighting(start, end, ((start, end),), indents, part=True, slips=tuple(sorted(named)))

    def _aligned(
        self, text: str, spans: Sequence[tuple[int, int]], solid: Sequence[tuple[int, int]]
    ) -> tuple[tuple[int, int] | None, ...]:
        """Return the file's line for each of the search's; empty ones in their order, those at both ends as well."""
        empty: dict[int, list[tuple[int, int]]] = {}
        passed = 0
        for span in spans:
            if passed < len(solid) and span == solid[passed]:
                passed += 1
            else:
                empty.setdefault(passed, []).append(span)
        leading = self._kept[0]
        trailing = len(self.lines) - self._kept[-1] - 1
        empty[0] = _empty_before(text, spans[0][0], leading)
        empty[len(solid)] = _empty_after(text, spans[-1][1], trailing)
        lines: list[tuple[int, int] | None] = []
        passed = 0
        for number, _ in enumerate(self.lines):
            if passed < len(self._kept) and number == self._kept[passed]:
                lines.append(solid[passed])
                passed += 1
            else:
                waiting = empty.get(passed)
                lines.append(waiting.pop(0) if waiting else None)
        return tuple(lines)


class _Points:
    """Code points before a byte of a text, asked for in rising order."""

    def __init__(self, text: str, encoded: bytes) -> None:
        self._encoded = encoded
        self._plain = len(text) == len(encoded)
        self._byte = self._point = 0

    def __call__(self, byte: int) -> int:
        if self._plain:
            return byte
        if byte < self._byte:
            self._byte = self._point = 0
        self._point += len(self._encoded[self._byte : byte].decode("utf-8", "surrogatepass"))
        self._byte = byte
        return self._point


def lines_of(text: str) -> list[str]:
    """Return the lines of a text; a newline at its end ends the last one and starts none."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" and len(lines) > 1 else lines


def rewritten(text: str, sighting: Sighting, search: str, replace: str) -> tuple[TextChange, ...]:
    """Return the changes that put the difference between `search` and `replace` on the lines that were found.

    Args:
        text: the text that was searched.
        sighting: where `search` was found in it.
        search: what was searched for.
        replace: what is to stand there; its new lines are indented as the file's are.
    """
    if sighting.part:
        return _rewritten_part(sighting, search, replace)
    ours, theirs = lines_of(search), _replacing(search, replace)
    changes: list[TextChange] = []
    for run in runs(ours, theirs):
        if not run.equal:
            new = sighting.indents.applied(theirs[run.new_start : run.new_end], at_start=run.new_start == 0)
            changes += _run_changes(text, sighting.lines, run, new)
    return tuple(change for change in changes if text[change.start : change.end] != change.new)


def _replacing(search: str, replace: str) -> list[str]:
    """Return the lines of `replace`; what it says of the end of the last line counts as it does for an exact place."""
    if search.endswith("\n"):
        return lines_of(replace) if replace else []
    return replace.split("\n")


def _rewritten_part(sighting: Sighting, search: str, replace: str) -> tuple[TextChange, ...]:
    ours = search.rstrip(BLANKS)
    if replace.endswith(search[len(ours) :]):
        replace = replace[: len(replace) - (len(search) - len(ours))]
    first, *others = replace.split("\n")
    if others and sighting.indents.known[""]:
        others = sighting.indents.applied(others, at_start=False)
    if others and first == ours:
        return (TextChange(sighting.end, sighting.end, "".join("\n" + line for line in others)),)
    return (TextChange(sighting.start, sighting.end, "\n".join((first, *others))),)


def _run_changes(
    text: str, lines: Sequence[tuple[int, int] | None], run: Run, new: Sequence[str]
) -> Iterator[TextChange]:
    olds = [span for span in lines[run.start : run.end] if span]
    if not olds:
        if new:
            yield _inserted(text, lines, run, new)
        return
    groups: list[tuple[int, int, int]] = []
    for start, end in olds:
        if groups and groups[-1][1] + 1 == start:
            groups[-1] = (groups[-1][0], end, groups[-1][2] + 1)
        else:
            groups.append((start, end, 1))
    used = 0
    for number, (start, end, count) in enumerate(groups):
        taken = new[used:] if number == len(groups) - 1 else new[used : used + count]
        used += len(taken)
        if taken:
            yield TextChange(start, end, "\n".join(taken))
        elif end < len(text):
            yield TextChange(start, end + 1, "")
        else:
            # the last line goes with the line end before it: the file ends as it did
            yield TextChange(max(0, start - 1), end, "")


def _inserted(text: str, lines: Sequence[tuple[int, int] | None], run: Run, new: Sequence[str]) -> TextChange:
    before = [span for span in lines[: run.start] if span]
    if not before:
        start = next(span[0] for span in lines[run.end :] if span)
        return TextChange(start, start, "".join(line + "\n" for line in new))
    end = before[-1][1]
    if end < len(text):
        return TextChange(end + 1, end + 1, "".join(line + "\n" for line in new))
    return TextChange(end, end, "".join("\n" + line for line in new))


def _spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return (start, end) of the lines of a stretch of whole lines, line ends not included."""
    spans = []
    while True:
        line_end = text.find("\n", start, end)
        if line_end < 0:
            spans.append((start, end))
            return spans
        spans.append((start, line_end))
        start = line_end + 1


def _empty_before(text: str, start: int, most: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    while start and len(spans) < most:
        line_start = text.rfind("\n", 0, start - 1) + 1
        if text[line_start : start - 1].strip(BLANKS):
            break
        spans.insert(0, (line_start, start - 1))
        start = line_start
    return spans


def _empty_after(text: str, end: int, most: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    while end + 1 < len(text) and len(spans) < most:
        line_end = text.find("\n", end + 1)
        line_end = len(text) if line_end < 0 else line_end
        if text[end + 1 : line_end].strip(BLANKS):
            break
        spans.append((end + 1, line_end))
        end = line_end
    return spans


def _border(character: str, edge: str) -> str:
    """Return the pattern of what stands beside a part of a line that begins or ends with `character`."""
    if is_word(character):
        return f"(?:(?m:{edge})|{NOT_WORD})"
    return f"(?:(?m:{edge})|{_ONE_OPERATOR})" if character in OPERATORS else ""


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    program = re2._re2.RE2(pattern.encode("utf-8", "surrogatepass"), options)
    if not program.ok():
        raise ValueError(f"a tolerant pattern of {len(pattern):,} characters: {program.error().decode()}")
    return program
