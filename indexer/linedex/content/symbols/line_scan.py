"""Symbols that a line shows by itself: `#define` in C, headings in Markdown.

They serve texts that are too large or too slow to parse, and macros that stand where the grammar allows none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from linedex.content.symbols.capture import Found, Row
from linedex.content.symbols.line_heads import is_within
from linedex.content.symbols.text_lines import ColumnCounter, TextLines
from linedex.model import ByteOffset, Column, LineNumber, Symbol, SymbolKind

_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_HEADING = re.compile(rb"^ {0,3}(#{1,6})[ \t]+([^\r\n]{1,400})|^ {0,3}(```+|~~~+)", re.MULTILINE)

SCANS = frozenset({"c", "cpp", "markdown"})
"""Languages that `scan` reads."""


def define_rows(text: bytes, lines: TextLines, found: Found) -> list[Row]:
    """Return the macros whose `#define` the parser did not see: inside arguments, initialisers, broken regions."""
    known = {lines.line_of(row.name_start) for row in found.rows if row.kind is SymbolKind.MACRO}
    missing = [match for match in _DEFINE.finditer(text) if lines.line_of(match.start(1)) not in known]
    if not missing:
        return []
    comments = sorted((start, end) for end, start in found.docs.items())
    starts, ends = [start for start, _ in comments], [end for _, end in comments]
    return [
        Row(SymbolKind.MACRO, _first_byte(match), _define_end(text, match.end()), *match.span(1))
        for match in missing
        if not is_within(starts, ends, match.start(1))
    ]


def scan_defines(text: bytes, most: int) -> Found:
    """Return at most `most` macros of a C text, wherever a line looks like one."""
    matches = islice(_DEFINE.finditer(text), most)
    return Found(
        [
            Row(SymbolKind.MACRO, _first_byte(match), _define_end(text, match.end()), *match.span(1))
            for match in matches
        ],
        flat=True,
    )


def scan(text: bytes, language: str, most: int) -> tuple[Symbol, ...]:
    """Return what lines show of a text in a language of `SCANS`, at most `most` symbols."""
    lines = TextLines(text)
    columns = ColumnCounter(text)
    if language == "markdown":
        return _headings(text, lines, columns, most)
    return tuple(
        _symbol(text, lines, columns, _Line(row.kind, (row.start, row.end), (row.name_start, row.name_end)))
        for row in scan_defines(text, most).rows
    )


def _headings(text: bytes, lines: TextLines, columns: ColumnCounter, most: int) -> tuple[Symbol, ...]:
    """Nest headings by their level; a heading's range ends before the next one of its level or above."""
    heads: list[tuple[int, int, int, int]] = []
    fence = b""
    for match in _HEADING.finditer(text):
        if match.group(3):
            if not fence:
                fence = match.group(3)
            elif match.group(3).startswith(fence):
                fence = b""
        elif not fence and len(heads) < most:
            heads.append((len(match.group(1)), match.start(), *match.span(2)))
    ends = [len(text)] * len(heads)
    parents = [-1] * len(heads)
    stack: list[int] = []
    for number, (level, start, _, _) in enumerate(heads):
        while stack and heads[stack[-1]][0] >= level:
            ends[stack.pop()] = start
        parents[number] = stack[-1] if stack else -1
        stack.append(number)
    symbols: list[Symbol] = []
    for number, (_, start, name_start, name_end) in enumerate(heads):
        parent = parents[number]
        container = symbols[parent].path if parent >= 0 else ""
        heading = _Line(SymbolKind.STRING, (start, ends[number]), (name_start, name_end), container, parent)
        symbols.append(_symbol(text, lines, columns, heading))
    return tuple(symbols)


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line defines: kind, byte range, range of the name, and the symbol around it."""

    kind: SymbolKind
    span: tuple[int, int]
    name: tuple[int, int]
    container: str = ""
    parent: int = -1


def _symbol(text: bytes, lines: TextLines, columns: ColumnCounter, item: _Line) -> Symbol:
    span, name = item.span, item.name
    line = lines.line_of(name[0])
    word = text[name[0] : name[1]].decode("utf-8", "replace")
    head = text[span[0] : min(span[1], name[1] + 400)].split(b"\n", 1)[0].decode("utf-8", "replace")
    return Symbol(
        name=(word.rstrip("# \t") or word)[:200],
        kind=item.kind,
        container=item.container,
        parent=item.parent,
        start_line=LineNumber(lines.line_of(span[0])),
        end_line=LineNumber(lines.line_of(max(span[0], span[1] - 1))),
        start_byte=ByteOffset(span[0]),
        end_byte=ByteOffset(span[1]),
        line=LineNumber(line),
        column=Column(columns.column_of(name[0], lines.starts[line - 1])),
        name_byte=ByteOffset(name[0]),
        signature=" ".join(head.split())[:240].rstrip(" \\"),
    )


def _first_byte(match: re.Match[bytes]) -> int:
    """Return where the `#` of a directive stands."""
    return match.start() + match.group().index(b"#")


def _define_end(text: bytes, start: int) -> int:
    """Return the end of a macro's last line, the lines continued by a backslash included."""
    end = text.find(b"\n", start)
    while end > 1 and (text[end - 1 : end] == b"\\" or text[end - 2 : end] == b"\\\r"):
        following = text.find(b"\n", end + 1)
        if following < 0:
            return len(text)
        end = following
    return len(text) if end < 0 else end
