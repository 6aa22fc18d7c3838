"""Definitions found by their first line, where the parser has lost its way.

Used only on a text whose tree has errors, and only for lines on which the parser found nothing: for C, heads at the
start of a line with a body at the start of a line; for languages with braces, a line that begins with a defining
keyword. Comments and strings are blanked first, and braces are counted to find the end.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from linedex.content.symbols.c_macros import Parentheses
from linedex.content.symbols.capture import Found, Row
from linedex.content.symbols.text_lines import TextLines
from linedex.model import SymbolKind as K

_COMMENTS_AND_STRINGS = re.compile(
    rb"/\*.*?(?:\*/|\Z)|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n]){1,12}'", re.DOTALL
)
_COMMENTS_AND_STRINGS_PHP = re.compile(_COMMENTS_AND_STRINGS.pattern + rb"|#(?!\[)[^\n]*", re.DOTALL)
_NOT_LINE_END = re.compile(rb"[^\n]")
_BRACES = re.compile(rb"[{}]")

_C_HEAD = re.compile(
    rb"^(?!(?:typedef|return|else|if|for|while|switch|do|case|goto|extern)\b)"
    rb"(?:[A-Za-z_][\w \t*]{0,200}?)?\b([A-Za-z_]\w{0,100}+)[ \t]*\(",
    re.MULTILINE,
)
_C_BODY = re.compile(rb"[^;{}=()]{0,400}?\{")
_C_NOT_NAMES = frozenset(b"if for while switch return sizeof defined void int".split())


def _head(
    modifiers: bytes, words: bytes, name: bytes = rb"\w+", *, before: bytes = b"", after: bytes = b""
) -> re.Pattern[bytes]:
    """Return a line that begins with any of the modifiers, then one of the defining words, then a name."""
    template = rb"^[ \t]*%b(?:(?:%b)[ \t]+)*(?P<word>%b)[ \t]+&?(?P<name>%b)%b"
    return re.compile(template % (before, modifiers, words, name, after), re.MULTILINE)


_ANNOTATIONS = rb"(?:@\w+[ \t]+)*"
_SCRIPT_MODIFIERS = rb"export|default|declare|abstract|async"

HEADS: dict[str, re.Pattern[bytes]] = {
    "kotlin": re.compile(
        rb"^[ \t]*(?:@\w+[ \t]+)*(?:(?:public|private|internal|protected|open|abstract|sealed|data|inner|inline"
        rb"|override|suspend|operator|infix|tailrec|external|value|annotation|expect|actual|fun(?=[ \t]+interface)"
        rb")[ \t]+)*"
        rb"(?P<word>enum[ \t]+class|class|interface|object|fun|typealias)[ \t]+(?:<[^<>\n]{0,200}>[ \t]*)?"
        rb"(?:[\w<>?,]+\.)*(?P<name>\w+)",
        re.MULTILINE,
    ),
    "java": _head(
        rb"public|private|protected|static|final|abstract|sealed|non-sealed|strictfp",
        rb"class|interface|enum|record|@interface",
        before=_ANNOTATIONS,
    ),
    "csharp": _head(
        rb"public|private|protected|internal|static|sealed|abstract|partial|readonly|ref|unsafe|new",
        rb"class|interface|enum|struct|record|namespace",
        rb"[\w.]+",
    ),
    "swift": _head(
        rb"public|private|fileprivate|internal|open|final|static|override|mutating|indirect|nonisolated",
        rb"class|struct|enum|protocol|extension|func|actor",
        before=_ANNOTATIONS,
    ),
    "scala": _head(
        rb"private|protected|final|sealed|abstract|implicit|override|lazy|case|inline", rb"class|trait|object|def|enum"
    ),
    "php": _head(rb"public|private|protected|static|final|abstract|readonly", rb"class|interface|trait|enum|function"),
    "rust": _head(
        rb"pub(?:\([^()\n]{0,40}\))?|async|const|unsafe|default|extern(?:[ \t]+\"[^\"\n]{0,20}\")?",
        rb"fn|struct|enum|union|trait|mod",
    ),
    "go": re.compile(rb"^(?P<word>func)[ \t]+(?:\([^()\n]{0,200}\)[ \t]*)?(?P<name>\w+)[ \t]*[\[(]", re.MULTILINE),
    "javascript": _head(_SCRIPT_MODIFIERS, rb"function\*?|class", rb"[\w$]+"),
    "typescript": _head(_SCRIPT_MODIFIERS, rb"function\*?|class|interface|enum|namespace", rb"[\w$]+"),
    "cpp": _head(
        rb"template[ \t]*<[^<>\n]{0,200}>",
        rb"class|struct|namespace|union",
        after=rb"(?=[ \t]*(?:final[ \t]*)?(?::[^:\n]|\{|$))",
    ),
}
HEADS["tsx"] = HEADS["typescript"]
"""Language -> a line that defines something; group `word` says what."""

_KINDS = {
    b"class": K.CLASS,
    b"record": K.CLASS,
    b"actor": K.CLASS,
    b"interface": K.INTERFACE,
    b"@interface": K.INTERFACE,
    b"protocol": K.INTERFACE,
    b"object": K.OBJECT,
    b"enum": K.ENUM,
    b"struct": K.STRUCT,
    b"union": K.UNION,
    b"trait": K.TRAIT,
    b"extension": K.IMPL,
    b"namespace": K.NAMESPACE,
    b"mod": K.MODULE,
    b"typealias": K.TYPE,
    b"fun": K.FUNCTION,
    b"func": K.FUNCTION,
    b"fn": K.FUNCTION,
    b"def": K.FUNCTION,
    b"function": K.FUNCTION,
}


def c_heads(text: bytes, lines: TextLines, found: Found) -> Iterator[Row]:
    """Yield the functions of a C text whose head starts a line and whose lines the parser knows no function on."""
    known = {lines.line_of(row.name_start) for row in found.rows if row.kind is not K.MACRO}
    # blanking comments costs more than all else here; most texts with errors have lost no function
    if any(True for _ in _unknown_heads(text, lines, known)):
        yield from _unknown_heads(_bare(text), lines, known)


def _unknown_heads(bare: bytes, lines: TextLines, known: set[int]) -> Iterator[Row]:
    parentheses = Parentheses(len(bare))
    for match in _C_HEAD.finditer(bare):
        if match.group(1) in _C_NOT_NAMES or lines.line_of(match.start(1)) in known:
            continue
        close = parentheses.closing(bare, match.end() - 1)
        body = _C_BODY.match(bare, close) if close > 0 else None
        if body is None or _is_inside_line(bare, body.end() - 1, match.start()):
            continue
        brace = body.end() - 1
        one_line = b"\n" not in bare[match.start() : brace] and b"}" in bare[brace : _line_end(bare, brace)]
        end = bare.find(b"}" if one_line else b"\n}", brace)
        stop = len(bare) if end < 0 else end + 1 if one_line else end + 2
        yield Row(K.FUNCTION, _head_start(bare, match.start()), stop, *match.span(1), body=brace)


def line_heads(text: bytes, language: str, found: Found) -> Iterator[Row]:
    """Yield what lines of a language in `HEADS` define where the parser found nothing."""
    known = {row.name_start for row in found.rows}
    bare = _bare(text, php=language == "php")
    closes: dict[int, int] | None = None
    opens: list[int] = []
    for match in HEADS[language].finditer(bare):
        if match.start("name") in known:
            continue
        if closes is None:
            closes = _brace_pairs(bare)
            opens = sorted(closes)
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        end = _line_end(bare, match.end())
        place = bisect_left(opens, match.end())
        body = -1
        if place < len(opens) and opens[place] <= end + 200 and b";" not in bare[match.end() : opens[place]]:
            body = opens[place]
            end = closes[body]
        kind = _KINDS[match.group("word").split()[0].rstrip(b"*")]
        yield Row(kind, start, end, *match.span("name"), body=body)


def _bare(text: bytes, *, php: bool = False) -> bytes:
    """Return the text with comments and strings as blanks."""
    pattern = _COMMENTS_AND_STRINGS_PHP if php else _COMMENTS_AND_STRINGS
    return pattern.sub(lambda match: _NOT_LINE_END.sub(b" ", match.group()), text)


def _is_inside_line(text: bytes, brace: int, head: int) -> bool:
    """Return whether a brace stands inside a line other than its head's own."""
    line = text.rfind(b"\n", 0, brace) + 1
    return bool(text[line:brace].strip()) and line > head


def _head_start(text: bytes, start: int) -> int:
    """Return where a head begins whose return type may stand on the line above."""
    above = text.rfind(b"\n", 0, max(0, start - 1)) + 1
    line = text[above:start].strip()
    is_type = start > above and line and not line.startswith(b"#") and all(c in _TYPE_BYTES for c in line)
    return above if is_type and text[above : above + 1].strip() else start


_TYPE_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_* \t")


def _line_end(text: bytes, start: int) -> int:
    end = text.find(b"\n", start)
    return len(text) if end < 0 else end


def _brace_pairs(text: bytes) -> dict[int, int]:
    """Return, for each brace that opens, the end of the one that closes it."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for brace in _BRACES.finditer(text):
        if brace.group() == b"{":
            stack.append(brace.start())
        elif stack:
            pairs[stack.pop()] = brace.end()
    pairs.update(dict.fromkeys(stack, len(text)))
    return pairs


def is_within(starts: list[int], ends: list[int], byte: int) -> bool:
    """Return whether a byte lies in one of the ranges, which are sorted and apart."""
    place = bisect_right(starts, byte) - 1
    return place >= 0 and byte < ends[place]
