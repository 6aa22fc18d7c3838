"""From text to raw finds: parse under a time budget, run the query, read what its captures say.

Captures of a query file (nothing else is understood):
    @<kind> + @name        a symbol: its node, and its name (several @name nodes: the text from first to last)
    @<kind> + @declarator  the same; C declarators are followed to the name
    @container             text that names the container where the syntax does not enclose it
    @arity                 a parameter list; clauses of one name join only when it is equally long
    @open                  on the symbol's node: it reaches to the next such symbol, or to the end of what holds it
    @doc                   comment or attribute: joined to the symbol directly after it
    @wrap + @inner         the inner node's symbol takes the outer range (decorators, export, template)
    @scope                 a range whose functions are methods though it is no symbol
    @_x                    for predicates only
An earlier pattern wins for the same name.

Traps of tree-sitter 0.26.1 that this module knows: a progress callback in a query is a segmentation fault, so none is
given; a parse can be cancelled only with a read callback, which the tree then keeps as its source and calls for every
predicate, so it never raises; `Node.text` goes the same way and is not used.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import tree_sitter as ts

from linedex.content.symbols.grammars import Grammar, Role, Rule, load_grammar
from linedex.model import SymbolKind

_CALLBACK_BYTES = 32 << 10
"""A smaller text is parsed at once: the callback costs half as much again, and 32 KiB can't take a second."""
_PARSE_STEP = 64 << 10
_PREDICATE_STEP = 256
_MATCH_LIMIT = 1 << 16
_KEY_WINDOW = 64 << 10
_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")


class ParseTimeout(Exception):
    """The parse was cancelled at its time limit."""


class QueryOverflow(Exception):
    """The query had more states in progress than it may keep; its matches are not whole."""


@dataclass(slots=True)
class Row:
    """One find before it has a place among the others. Positions are bytes of the text.

    Attributes:
        kind: what it is.
        start: first byte of its node.
        end: end of its node, exclusive.
        name_start: first byte of its name.
        name_end: end of its name, exclusive.
        body: first byte of its body, or -1.
        container: text naming its container, or "".
        arity: number of parameters where clauses are joined, else -1.
        open: whether it reaches on beyond its node.
        pattern: ordinal of the pattern that found it.
    """

    kind: SymbolKind
    start: int
    end: int
    name_start: int
    name_end: int
    body: int = -1
    container: str = ""
    arity: int = -1
    open: bool = False
    pattern: int = 0


@dataclass(slots=True)
class Found:
    """Everything a query says of one text.

    Attributes:
        rows: the symbols, in no order.
        docs: end of a comment or attribute (without its line end) -> its start.
        wraps: range of an inner node -> range that its symbol takes.
        scopes: ranges whose functions are methods.
        recovered: rows that do not come from the parser.
        error: where the grammar first could not read on, or -1.
        flat: whether the rows are in order and none holds another.
    """

    rows: list[Row] = field(default_factory=list)
    docs: dict[int, int] = field(default_factory=dict)
    wraps: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    scopes: list[tuple[int, int]] = field(default_factory=list)
    recovered: int = 0
    error: int = -1
    flat: bool = False

    def recover(self, rows: Iterable[Row]) -> None:
        """Add rows that were found by lines where the parser had lost its way."""
        before = len(self.rows)
        self.rows.extend(rows)
        self.recovered += len(self.rows) - before


class _Source:
    """A text as the parser reads it. Never raises; gives small pieces to predicates, which ask for names."""

    __slots__ = ("_step", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._step = _PARSE_STEP

    def __call__(self, byte: int, _point: object) -> bytes:
        return self._text[byte : byte + self._step]

    def parsed(self) -> None:
        self._step = _PREDICATE_STEP


def parse(text: bytes, grammar: Grammar, seconds: float) -> ts.Node:
    """Return the root of the text's syntax tree.

    Raises:
        ParseTimeout: it took longer than `seconds` of processor time.
    """
    parser = grammar.parser
    if len(text) <= _CALLBACK_BYTES:
        return parser.parse(text).root_node
    source = _Source(text)
    # processor time: on a busy machine a niced worker's wall clock would refuse honest files
    deadline = time.thread_time() + seconds
    try:
        tree = parser.parse(source, progress_callback=lambda _byte, _error: time.thread_time() > deadline)
    except ValueError as error:  # "Parsing failed" is how a cancelled parse ends
        raise ParseTimeout from error
    finally:
        parser.reset()
    source.parsed()
    return tree.root_node


def first_error(root: ts.Node) -> int:
    """Return where the grammar first could not read on, or missed something, in a tree that has an error."""
    node = root
    while not (node.is_error or node.is_missing):
        inside = next((child for child in node.children if child.has_error), None)
        if inside is None:
            break
        node = inside
    return node.start_byte


def self_test() -> None:
    """Cancel a parse and run a query: what crashed the interpreter in other versions of tree-sitter.

    Meant for the start of a worker process: if it dies here, symbols are off and all else goes on.

    Raises:
        RuntimeError: the parser does not do what it should.
    """
    grammar = load_grammar("json", full=True)
    text = b"[" * (2 * _CALLBACK_BYTES)
    try:
        parse(text, grammar, 0.0)
    except ParseTimeout:
        pass
    else:
        raise RuntimeError("a parse could not be cancelled")
    small = b'{"key": 1}'
    rows = read_symbols(small, parse(small, grammar, 1.0), grammar).rows
    if len(rows) != 1:
        raise RuntimeError("a query did not find what it should")


def read_symbols(
    text: bytes, root: ts.Node, grammar: Grammar, masked_names: Mapping[int, tuple[int, int]] | None = None
) -> Found:
    """Run the grammar's query over a tree.

    Args:
        text: the text as it stands in the file.
        root: the tree of that text, or of a masked text of the same length.
        grammar: the language.
        masked_names: first byte of a name that stands in for another -> where the real name stands.

    Raises:
        QueryOverflow: the tree has more open states than the query may keep.
    """
    cursor = ts.QueryCursor(grammar.query, match_limit=_MATCH_LIMIT)
    found = Found()
    best: dict[int, Row] = {}
    _read_matches(text, cursor, root, grammar.rules, (found, best))
    for name_start, name in (masked_names or {}).items():
        if name_start in best:
            best[name_start].name_start, best[name_start].name_end = name
    found.rows = list(best.values())
    return found


def read_keys(text: bytes, root: ts.Node, grammar: Grammar, most: int) -> tuple[Found, bool]:
    """Run a data format's query window by window until there are `most` keys.

    Returns:
        What was found, at most `most` rows, and whether there are more.

    Raises:
        QueryOverflow: as `read_symbols`.
    """
    found = Found()
    best: dict[int, Row] = {}
    start, window = 0, _KEY_WINDOW
    while start <= len(text):
        cursor = ts.QueryCursor(grammar.query, match_limit=_MATCH_LIMIT)
        cursor.set_byte_range(start, start + window)
        _read_matches(text, cursor, root, grammar.rules, (found, best))
        if len(best) > most:
            break
        # each window walks down from the root again, so that many of them are slow in a deep tree
        start, window = start + window, 2 * window
    found.rows = sorted(best.values(), key=lambda row: row.name_start)[:most]
    return found, len(best) > most


def _read_matches(
    text: bytes, cursor: ts.QueryCursor, root: ts.Node, rules: tuple[Rule, ...], into: tuple[Found, dict[int, Row]]
) -> None:
    found, best = into
    for pattern, captures in cursor.matches(root):
        rule = rules[pattern]
        if rule.role is Role.SYMBOL and rule.kind is not None:
            _read_symbol(text, pattern, rule.kind, captures, best)
        elif rule.role is Role.DOC:
            for node in captures["doc"]:
                end = node.end_byte
                while end and text[end - 1] in b"\r\n":
                    end -= 1
                found.docs[end] = node.start_byte
        elif rule.role is Role.WRAP:
            inner, wrap = captures["inner"][0], captures["wrap"][0]
            found.wraps[inner.start_byte, inner.end_byte] = (wrap.start_byte, wrap.end_byte)
        else:
            found.scopes += [(node.start_byte, node.end_byte) for node in captures["scope"]]
    if cursor.did_exceed_match_limit:
        raise QueryOverflow


def _read_symbol(
    text: bytes, pattern: int, kind: SymbolKind, captures: Mapping[str, list[ts.Node]], best: dict[int, Row]
) -> None:
    node = captures[kind.value][0]
    container = ""
    names = captures.get("name")
    if names is not None:
        name_start = names[0].start_byte
        name_end = names[-1].end_byte
    elif "declarator" in captures:
        name_start, name_end, container = _declared(text, captures["declarator"][0])
    else:
        return  # a heading or an attribute without text
    known = best.get(name_start)
    if known is not None and known.pattern <= pattern:
        return
    row = Row(kind, node.start_byte, node.end_byte, name_start, name_end, container=container, pattern=pattern)
    if len(captures) > 2:
        if "container" in captures:
            row.container = container_text(text, captures["container"][0])
        if "arity" in captures:
            row.arity = captures["arity"][0].named_child_count
        row.open = "open" in captures
    body = node.child_by_field_name("body")
    if body is not None and body.start_byte >= name_end:
        row.body = body.start_byte
    best[name_start] = row


def container_text(text: bytes, node: ts.Node) -> str:
    """Return a container as part of a path: dots for `::`, no template arguments, no `.prototype`."""
    name = text[node.start_byte : node.end_byte][:400].decode("utf-8", "replace")
    while "<" in name and name != (bare := _TEMPLATE_ARGUMENTS.sub("", name)):
        name = bare
    return ".".join(name.split()).replace("::", ".").removesuffix(".prototype").strip(".")


_DECLARATORS_WITHOUT_FIELD = frozenset({"parenthesized_declarator", "reference_declarator", "attributed_declarator"})


def _declared(text: bytes, node: ts.Node) -> tuple[int, int, str]:
    """Follow a C or C++ declarator to its name; return the name's range and the scope written before it."""
    scope: list[str] = []
    while True:
        if node.type == "qualified_identifier":
            before = node.child_by_field_name("scope")
            if before is not None:
                scope.append(container_text(text, before))
            inner = node.child_by_field_name("name")
        elif node.type == "operator_cast":  # `operator bool() const`: the name goes up to the parameters
            declarator = node.child_by_field_name("declarator")
            while declarator is not None and declarator.type != "abstract_function_declarator":
                declarator = declarator.child_by_field_name("declarator")
            end = node.end_byte if declarator is None else declarator.start_byte
            return node.start_byte, end, ".".join(scope)
        elif node.type == "template_function":
            inner = node.child_by_field_name("name")
        else:
            inner = node.child_by_field_name("declarator")
            if inner is None and node.type in _DECLARATORS_WITHOUT_FIELD:
                inner = next(
                    (c for c in node.named_children if c.type.endswith(("declarator", "identifier", "_name"))), None
                )
        if inner is None:
            return node.start_byte, node.end_byte, ".".join(scope)
        node = inner
