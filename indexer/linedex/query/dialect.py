r"""A syntax tree written out for an engine: RE2 over UTF-8 bytes, or `regex` over decoded text.

Promise: both texts match the same lines as the tree says, with ripgrep's meaning of `\w \d \s`. A code point is a valid
one: neither dialect's `.` or negated class matches an invalid byte. RE2 alone would take three bytes that spell a
surrogate, or an overlong form, for one: leaving the surrogates out of every negated class stops that, at no cost that
could be measured. In the text given to `regex` the invalid bytes are lone surrogates (`surrogateescape`), and are left
out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linedex.errors import BadPattern
from linedex.query.code_points import SURROGATES, case_partners, matched_ranges
from linedex.query.syntax import (
    Alternate,
    AnyByte,
    AnyChar,
    Assertion,
    BackReference,
    Capture,
    CharClass,
    Concat,
    Edge,
    Empty,
    Literal,
    Look,
    Node,
    Property,
    PropertyKind,
    Range,
    Repeat,
    reduce_tree,
)

_ATOM, _SEQUENCE, _CHOICE = range(3)
_Piece = tuple[str, int]
"""A written node and how tightly it binds."""

# Unicode's Alphabetic is letters, letter numbers, marks and the circled and squared letters; \w adds marks, decimal
# digits, connector punctuation and the two joiners. RE2 knows general categories and scripts only.
_RE2_WORD = (
    r"\pL\pM\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}"
    r"\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}\x{200c}\x{200d}"
)
_RE2_SURROGATES = r"\x{d800}-\x{dfff}"
# the properties that hold the surrogates, without them
_RE2_WITH_SURROGATES = {"C": r"\p{Cc}\p{Cf}\p{Co}", "Cs": "", "Any": r"\x{0}-\x{d7ff}\x{e000}-\x{10ffff}"}
_RE2_NEVER = r"[^\x00-\x{10ffff}]"
_REGEX_SURROGATES = r"\ud800-\udfff"
_REGEX_NEVER = "(?!)"
_EDGES_RE2 = {
    Edge.LINE_START: "(?m:^)",
    Edge.LINE_END: "(?m:$)",
    Edge.WORD: r"\b",
    Edge.NOT_WORD: r"\B",
    Edge.TEXT_START: r"\A",
    Edge.TEXT_END: r"\z",
}
_EDGES_REGEX = {**_EDGES_RE2, Edge.TEXT_END: r"\Z"}

RE2_NOT_WORD = f"[^{_RE2_WORD}{_RE2_SURROGATES}]"
"""One valid code point that is no word character."""
REGEX_NOT_WORD = rf"[^\w\n{_REGEX_SURROGATES}]"


def to_re2(node: Node, *, word_edges: bool = True, captures: bool = False) -> str:
    r"""Write `node` for RE2 in UTF-8 mode.

    Args:
        node: a tree without look-around and back-references.
        word_edges: False leaves `\b` and `\B` out, which gives a pattern for a superset of the lines.
        captures: whether groups are told apart; they cost time.
    """

    def write(current: Node, below: list[_Piece]) -> _Piece:
        match current:
            case Literal(text, fold):
                return _re2_literal(text, fold=fold)
            case AnyChar(newline):
                return f"[^{'' if newline else chr(92) + 'n'}{_RE2_SURROGATES}]", _ATOM
            case AnyByte():
                return r"\C", _ATOM
            case CharClass():
                return _re2_class(current), _ATOM
            case Assertion(edge=Edge.WORD | Edge.NOT_WORD) if not word_edges:
                return "(?:)", _ATOM
            case Assertion(edge):
                return _EDGES_RE2[edge], _ATOM
            case Capture():
                return (f"({below[0][0]})", _ATOM) if captures else below[0]
            case _:
                return _joined(current, below)

    return _tight(reduce_tree(node, write), _SEQUENCE)


def to_regex(node: Node, *, multiline: bool) -> str:
    r"""Write `node` for the `regex` package, over text decoded with `surrogateescape`.

    Args:
        node: any tree without `\C`.
        multiline: whether classes may match a line feed.

    Raises:
        BadPattern: the tree holds `\C`.
    """
    newline = "" if multiline else r"\n"

    def write(current: Node, below: list[_Piece]) -> _Piece:
        match current:
            case Literal(text, fold):
                return "".join(_regex_char(char, fold=fold) for char in text), _ATOM if len(text) == 1 else _SEQUENCE
            case AnyChar(any_newline):
                return f"[^{newline if any_newline else chr(92) + 'n'}{_REGEX_SURROGATES}]", _ATOM
            case AnyByte():
                raise BadPattern(
                    "\\C (any byte) cannot stand together with look-around, a back-reference or \\b",
                    hint="Use . or (?s:.) in its place.",
                )
            case CharClass():
                return _regex_class(current, newline), _ATOM
            case Assertion(edge):
                return _EDGES_REGEX[edge], _ATOM
            case Capture():
                return f"({below[0][0]})", _ATOM
            case Look(_, ahead, negated):
                return f"(?{'' if ahead else '<'}{'!' if negated else '='}{below[0][0]})", _ATOM
            case BackReference(number, fold):
                return f"(?{'i' if fold else ''}:\\{number})", _ATOM
            case _:
                return _joined(current, below)

    return _tight(reduce_tree(node, write), _SEQUENCE)


def _joined(node: Node, below: list[_Piece]) -> _Piece:
    """Write the nodes that both dialects spell alike."""
    match node:
        case Empty():
            return "(?:)", _ATOM
        case Concat():
            return "".join(_tight(piece, _SEQUENCE) for piece in below), _SEQUENCE
        case Alternate():
            return "|".join(text for text, _ in below), _CHOICE
        case Repeat(_, low, high, lazy):
            return f"(?:{_tight(below[0], _ATOM)}{_times(low, high)}{'?' if lazy else ''})", _ATOM
        case _:
            raise AssertionError(node)


def _tight(piece: _Piece, loosest: int) -> str:
    text, level = piece
    return text if level <= loosest else f"(?:{text})"


def _times(low: int, high: int | None) -> str:
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    if simple:
        return simple
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _re2_literal(text: str, *, fold: bool) -> _Piece:
    written = "".join(char if char.isalnum() or char in "_ " else f"\\x{{{ord(char):x}}}" for char in text)
    if fold:
        return f"(?i:{written})", _ATOM
    return written, _ATOM if len(text) == 1 else _SEQUENCE


def _re2_class(node: CharClass) -> str:
    ranges = [item for item in node.items if isinstance(item, Range)]
    properties = [item for item in node.items if isinstance(item, Property)]
    if node.negated:
        written = f"[^{_re2_ranges(ranges)}{''.join(map(_re2_property, properties))}{_RE2_SURROGATES}]"
    else:
        members = _re2_ranges(_without(ranges, SURROGATES.start, SURROGATES.stop - 1))
        members += "".join(_re2_property(item) for item in properties if not item.negated)
        # the complement of a property would bring the surrogates in, so it stands by itself
        choices = [
            f"[^{_re2_property(replace(item, negated=False))}{_RE2_SURROGATES}]" for item in properties if item.negated
        ]
        if members:
            choices.append(f"[{members}]")
        written = choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})" if choices else _RE2_NEVER
    return f"(?i:{written})" if node.fold else written


def _re2_ranges(ranges: Iterable[Range]) -> str:
    return "".join(f"\\x{{{item.low:x}}}-\\x{{{item.high:x}}}" for item in ranges)


def _re2_property(item: Property) -> str:
    match item:
        case Property(name, negated, PropertyKind.POSIX):
            return f"[:{'^' if negated else ''}{name}:]"
        case Property(negated=False, kind=PropertyKind.WORD):
            return _RE2_WORD
        case Property(kind=PropertyKind.WORD):
            # RE2 cannot write the complement of a union inside a class, as `[^\W_]` asks for
            return _re2_ranges(Range(low, high) for low, high in matched_ranges(RE2_NOT_WORD))
        case Property(name, negated=False) if name in _RE2_WITH_SURROGATES:
            return _RE2_WITH_SURROGATES[name]
        case Property(name, negated):
            return f"\\{'P' if negated else 'p'}{{{name}}}"


def _regex_char(char: str, *, fold: bool) -> str:
    if SURROGATES.start <= ord(char) < SURROGATES.stop:
        return _REGEX_NEVER
    partners = case_partners(char) if fold else char
    if len(partners) > 1:
        return f"[{''.join(_regex_point(ord(each)) for each in partners)}]"
    return _regex_point(ord(char))


def _regex_class(node: CharClass, newline: str) -> str:
    plain = all(
        (isinstance(item, Range) and (not node.fold or item.high < 0x80))
        or item in (Property("w", kind=PropertyKind.WORD), Property("Nd"))
        for item in node.items
    )
    if plain:
        ranges = [item for item in node.items if isinstance(item, Range)]
        if node.fold:
            points = (chr(point) for item in ranges for point in range(item.low, item.high + 1))
            ranges = [Range(ord(each), ord(each)) for point in points for each in case_partners(point)]
        names = "".join(
            r"\w" if item.kind is PropertyKind.WORD else r"\p{Nd}" for item in node.items if isinstance(item, Property)
        )
        negated = node.negated
    else:
        # `regex` folds i with the Turkish letters and names some properties otherwise: RE2 says what is in the class
        ranges = [Range(low, high) for low, high in matched_ranges(_re2_class(node))]
        names, negated = "", False
    if negated:
        return f"[^{_regex_ranges(ranges)}{names}{newline}{_REGEX_SURROGATES}]"
    ranges = list(_without(ranges, SURROGATES.start, SURROGATES.stop - 1))
    if newline:
        ranges = list(_without(ranges, 0x0A, 0x0A))
    return f"[{_regex_ranges(ranges)}{names}]" if ranges or names else _REGEX_NEVER


def _regex_ranges(ranges: Iterable[Range]) -> str:
    return "".join(f"{_regex_point(item.low)}-{_regex_point(item.high)}" for item in ranges)


def _regex_point(point: int) -> str:
    return f"\\U{point:08x}"


def _without(ranges: Iterable[Range], low: int, high: int) -> Iterable[Range]:
    """Cut the code points from `low` to `high` out of `ranges`."""
    for item in ranges:
        if item.high < low or item.low > high:
            yield item
            continue
        if item.low < low:
            yield Range(item.low, low - 1)
        if item.high > high:
            yield Range(high + 1, item.high)
