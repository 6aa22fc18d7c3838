"""From raw finds to symbols: ranges with their comments, nesting, positions, signatures.

What is said here once holds for every language: symbols nest by range, a function directly inside a type is a method,
data directly inside a function is local and no symbol, comments and attributes that directly precede a symbol belong
to its range. The ranges of the result always nest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from linedex.content.symbols.capture import Found, Row
from linedex.content.symbols.grammars import LanguageSpec
from linedex.content.symbols.kinds import BODIES, DATA, TYPES, UNSTORED
from linedex.content.symbols.signature import one_line
from linedex.content.symbols.text_lines import ColumnCounter, TextLines
from linedex.model import ByteOffset, Column, LineNumber, StoredSymbol, Symbol, SymbolKind

_SIGNATURE_SOURCE = 2_000
"""Bytes read for a signature."""
_NAME = 200
# between head and body: whole lines of comment (Ruby) or of the preprocessor (C)
_NOT_SIGNATURE = re.compile(rb"\n[ \t]*(?:#|//|--|/\*)[^\n]*")
_TAGS = re.compile(r"<[^<>]*>")
_ANNOTATION = (b"@", b"[", b"#[")
_LINE_END = (b"\n", b"")
_NOT_NAMES = frozenset({"if", "for", "while", "switch", "return", "void", "int", "else", "do", "sizeof"})


@dataclass(slots=True)
class Placed:
    """A row with its widened range, on its way to being a symbol. `index` is -1 for a scope."""

    row: Row | None
    start: int
    end: int
    kind: SymbolKind | None = None
    name: str = ""
    container: str = ""
    parent: int = -1
    index: int = -1
    core: tuple[int, int] = (0, 0)


def arrange(text: bytes, lines: TextLines, spec: LanguageSpec, found: Found, *, data_depth: int) -> list[Placed]:
    """Return what becomes a symbol, in source order, parents before their members.

    Args:
        text: the text they were found in.
        lines: its lines.
        spec: the language.
        found: what the query and the fallbacks found.
        data_depth: in a data format, keys deeper than this are left out.
    """
    waiting = [_widened(text, lines, found, row) for row in found.rows]
    if any(row.open for row in found.rows):
        _close_open(waiting, len(text))
    waiting += [Placed(None, start, end, core=(start, end)) for start, end in found.scopes]
    waiting.sort(key=lambda placed: (placed.start, -placed.end, placed.row.name_start if placed.row else -1))
    if spec.joins_clauses:
        waiting = _joined(text, waiting)
    return _nested(text, spec, waiting, data_depth)


def without_members(placed: list[Placed]) -> list[Placed]:
    """Leave out what is not stored; members of what is left out go to the next symbol around them."""
    if not any(item.kind in UNSTORED for item in placed):
        return placed
    index: list[int] = []
    kept: list[Placed] = []
    for item in placed:
        item.parent = index[item.parent] if item.parent >= 0 else -1
        if item.kind in UNSTORED:
            index.append(item.parent)
        else:
            index.append(len(kept))
            kept.append(item)
    return kept


def as_symbols(text: bytes, lines: TextLines, found: Found, placed: Sequence[Placed]) -> list[Symbol]:
    """Return what `arrange` placed, to be shown."""
    columns = ColumnCounter(text)
    return [_symbol(text, lines, columns, found, item) for item in placed]


def as_stored(text: bytes, lines: TextLines, placed: Sequence[Placed]) -> list[StoredSymbol]:
    """Return what `arrange` placed, to be stored: without signatures, which take longer than all else here."""
    columns = ColumnCounter(text)
    line_of, starts = lines.line_of, lines.starts
    stored = []
    for item in placed:
        row = item.row
        assert row is not None
        line = line_of(row.name_start)
        stored.append(
            StoredSymbol(
                item.name,
                item.kind or row.kind,
                item.container,
                item.parent,
                line_of(item.start),
                line_of(max(item.start, item.end - 1)),
                line,
                columns.column_of(row.name_start, starts[line - 1]),
            )
        )
    return stored


def flat_as_stored(text: bytes, lines: TextLines, found: Found) -> list[StoredSymbol]:
    """Return rows that hold no other to be stored, as `arrange` would; they come in source order."""
    columns = ColumnCounter(text)
    line_of, starts, docs = lines.line_of, lines.starts, found.docs
    stored = []
    for row in found.rows:
        line = line_of(row.name_start)
        start = _with_docs(text, lines, docs, row.start) if docs else row.start
        stored.append(
            StoredSymbol(
                text[row.name_start : row.name_end].decode("utf-8", "replace")[:_NAME],
                row.kind,
                "",
                -1,
                line if start == row.start else line_of(start),
                line_of(row.end - 1),
                line,
                columns.column_of(row.name_start, starts[line - 1]),
            )
        )
    return stored


def _widened(text: bytes, lines: TextLines, found: Found, row: Row) -> Placed:
    """Give a row the range of what wraps it and of the comments before it."""
    start, end = core = (row.start, row.end)
    while (wrap := found.wraps.get((start, end))) is not None and wrap != (start, end):
        start, end = wrap
    if found.docs:
        start = _with_docs(text, lines, found.docs, start)
    return Placed(row, start, end, row.kind, core=core)


def _with_docs(text: bytes, lines: TextLines, docs: dict[int, int], start: int) -> int:
    """Return where the comments and attributes begin that stand directly before `start`.

    A comment counts only when it, or what it follows on its line, is first on that line: the trailing comment of the
    line before belongs to that line.
    """
    at = start
    while True:
        while at and text[at - 1] in b" \t":
            at -= 1
        if at and text[at - 1] == 0x0A:
            at -= 1
            while at and text[at - 1] in b" \t\r":
                at -= 1
        doc = docs.get(at)
        if doc is None or doc >= at:
            return start
        at = doc
        if not text[lines.start_of(doc) : doc].strip():
            start = doc


def _close_open(waiting: list[Placed], end: int) -> None:
    """Let each open symbol reach to the next open one."""
    opened = sorted((placed for placed in waiting if placed.row and placed.row.open), key=lambda placed: placed.start)
    for placed, following in zip(opened, [*opened[1:], None], strict=True):
        placed.end = end if following is None else following.start
        placed.core = (placed.core[0], placed.end)


def _joined(text: bytes, waiting: list[Placed]) -> list[Placed]:
    """Make neighbouring clauses of one name and arity one symbol, which keeps the position of the first."""
    joined: list[Placed] = []
    for placed in waiting:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.row is not None
            and placed.row is not None
            and placed.start >= last.end
            and placed.row.kind is last.row.kind
            and placed.row.kind in BODIES
            and (placed.row.arity == last.row.arity or -1 in (placed.row.arity, last.row.arity))
            and text[placed.row.name_start : placed.row.name_end] == text[last.row.name_start : last.row.name_end]
        ):
            last.end = placed.end
            last.row.arity = max(last.row.arity, placed.row.arity)
        else:
            joined.append(placed)
    return joined


def _nested(text: bytes, spec: LanguageSpec, waiting: list[Placed], data_depth: int) -> list[Placed]:
    """Give each its parent and container, and drop what is no symbol where it stands."""
    out: list[Placed] = []
    stack: list[Placed] = []
    for item in waiting:
        start = item.start
        while stack and (stack[-1].end <= start or (stack[-1].core == item.core and stack[-1].row is not None)):
            stack.pop()
        while stack and stack[-1].end < item.end:  # a comment or a recovered range that reaches over its holder's end
            stack.pop().end = start
        row = item.row
        if row is None:
            stack.append(item)
            continue
        if (
            not spec.nested_functions
            and row.kind is SymbolKind.FUNCTION
            and text[row.start - 1 : row.start] in _LINE_END
        ):
            # a head at the start of a line: whatever still holds it has an unbalanced brace
            while stack and stack[-1].kind in BODIES:
                stack.pop().end = start
        holder = stack[-1] if stack else None
        if holder is not None and holder.kind is SymbolKind.TYPE and row.kind in TYPES:
            # `typedef struct s { } t;`: s stands beside t
            holder = out[holder.parent] if holder.parent >= 0 else None
        name = _name_of(text, spec, row)
        if not name or not _belongs(row.kind, holder, spec, name, fits=len(stack) < data_depth):
            continue
        item.name = name
        item.kind = _kind_at(row, holder, spec)
        parent = holder
        if parent is not None and parent.index < 0:
            parent = next((above for above in reversed(stack) if above.index >= 0), None)
        around = "" if parent is None else f"{parent.container}.{parent.name}" if parent.container else parent.name
        around = around.replace("::", ".").replace("\\", ".")
        item.container = f"{around}.{row.container}" if around and row.container else around or row.container
        item.parent = -1 if parent is None else parent.index
        item.index = len(out)
        out.append(item)
        if spec.data or row.kind not in DATA:
            stack.append(item)
    return out


def _belongs(kind: SymbolKind, holder: Placed | None, spec: LanguageSpec, name: str, *, fits: bool) -> bool:
    if spec.data:
        return fits
    if holder is not None and holder.kind in BODIES and kind in DATA:
        return False
    if not spec.nested_functions and kind is SymbolKind.FUNCTION:
        return name not in _NOT_NAMES and (holder is None or holder.kind not in BODIES)
    return True


def _kind_at(row: Row, holder: Placed | None, spec: LanguageSpec) -> SymbolKind:
    if row.kind is not SymbolKind.FUNCTION:
        return row.kind
    in_type = holder is not None and (holder.row is None or holder.kind in TYPES)
    return SymbolKind.METHOD if in_type or (row.container and spec.methods_by_container) else row.kind


def _name_of(text: bytes, spec: LanguageSpec, row: Row) -> str:
    """Return the name without its quotes, and let the row's name begin after them."""
    raw = text[row.name_start : min(row.name_end, row.name_start + 4 * _NAME)]
    if spec.quotes:
        bare = raw.lstrip(spec.quotes.encode())
        row.name_start += len(raw) - len(bare)
        raw = bare.rstrip(spec.quotes.encode())
    name = raw.decode("utf-8", "replace")
    if spec.name_stop:
        name = name.split(spec.name_stop, 1)[0]
    if row.kind is SymbolKind.STRING:  # a heading: Markdown may close it with its marks, HTML has tags in it
        name = _TAGS.sub("", name) if spec.module == "html" else name.rstrip("# \t") or name
    return " ".join(name.split())[:_NAME]


def _symbol(text: bytes, lines: TextLines, columns: ColumnCounter, found: Found, item: Placed) -> Symbol:
    row = item.row
    assert row is not None
    line = lines.line_of(row.name_start)
    return Symbol(
        name=item.name,
        kind=item.kind or row.kind,
        container=item.container,
        parent=item.parent,
        start_line=LineNumber(lines.line_of(item.start)),
        end_line=LineNumber(lines.line_of(max(item.start, item.end - 1))),
        start_byte=ByteOffset(item.start),
        end_byte=ByteOffset(item.end),
        line=LineNumber(line),
        column=Column(columns.column_of(row.name_start, lines.starts[line - 1])),
        name_byte=ByteOffset(row.name_start),
        signature=_signature(text, found, row, item),
    )


def _signature(text: bytes, found: Found, row: Row, item: Placed) -> str:
    """Return the head: up to the body, or the first line, with the name added when that stands further down."""
    start = row.start
    wrap = found.wraps.get((row.start, row.end))
    if wrap is not None and b"\n" not in text[wrap[0] : start][:_SIGNATURE_SOURCE]:
        start = wrap[0]
    stop = min(row.end, start + _SIGNATURE_SOURCE)
    if row.body >= 0:
        head = _NOT_SIGNATURE.sub(b"", text[start : min(row.body, stop)])
    else:
        head = text[start:stop].split(b"\n", 1)[0]
        if row.name_start >= start + len(head):
            if head.startswith(_ANNOTATION):
                head = text[max(start, text.rfind(b"\n", 0, row.name_start) + 1) : row.end].split(b"\n", 1)[0]
            else:  # `typedef struct {` ... `} name;`
                head = head.rstrip(b" \t\r{") + b" ... " + item.name.encode("utf-8", "replace")
    return one_line(head[:_SIGNATURE_SOURCE].decode("utf-8", "replace"))
