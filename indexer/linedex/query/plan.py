"""From a pattern to the grams its matches must hold.

Promise, and the only one: for every text in which the pattern matches a line, `fold(text)` satisfies the planned
query. How selective the query is, is a matter of luck and of limits.

The algebra is Russ Cox's (https://swtch.com/~rsc/regexp/regexp4.html): of each part of a pattern either all strings it
can match are known (`exact`), or a set of strings one of which it begins with, a set one of which it ends with, and a
query that holds for whatever it matches. Two things differ. Strings are of folded bytes: folding works code point by
code point, so it commutes with concatenation, and a pattern that ignores case costs nothing. And exact strings are kept
whole as long as they are few, so that a query remembers which grams belong together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linedex.answers import SearchRequest
from linedex.content.dotted import dotted_grams
from linedex.content.folding import fold
from linedex.content.grams import BLOCK_GRAM, FILE_GRAMS
from linedex.query.code_points import SURROGATES, folds_alike
from linedex.query.gram_query import ALL, NONE, GramQuery, both, bounded, either, require, spread
from linedex.query.parser import parse, parse_request
from linedex.query.syntax import (
    Alternate,
    Assertion,
    Capture,
    CharClass,
    Concat,
    Empty,
    Literal,
    Look,
    Node,
    Range,
    Repeat,
    reduce_tree,
    spans_lines,
)

MOST_GRAMS = 64
"""Grams in a whole query: each costs the index one row."""
STRING_GRAMS = 24
"""Grams taken from one string."""
_MOST_STRINGS = 16
_LONGEST_STRING = 256
_CLASS_POINTS = 64
_COPIES = 8
_MANY_GRAMS = 12
"""So many grams of four bytes leave little to those of three that they hold: for `devm_clk_bulk_get_optional` the same
45 of 78,000 files pass with 395 rows read as with 699."""

# Line ends: the index folds a CRLF file as it stands, patterns see its LF form. U+FFFD: an invalid byte folds to it.
_UNREQUIRED = frozenset("\n\r\ufffd")

_Strings = frozenset[bytes]
_NOTHING_KNOWN: _Strings = frozenset({b""})


@dataclass(frozen=True, slots=True)
class _Info:
    """What is known of the strings a part of a pattern matches, folded.

    Attributes:
        exact: all of them, or None.
        prefix: each begins with one of these (of use when `exact` is None).
        suffix: each ends with one of these.
        match: holds for each.
    """

    exact: _Strings | None
    prefix: _Strings = _NOTHING_KNOWN
    suffix: _Strings = _NOTHING_KNOWN
    match: GramQuery = ALL


_EMPTY = _Info(_NOTHING_KNOWN)
_ANYTHING = _Info(None)


def plan(pattern: str | Node, *, gram: int) -> GramQuery:
    """Return the query that every text with a match satisfies.

    Args:
        pattern: a tree, or a regular expression, which is then planned as if case did not count.
        gram: length of a gram in bytes of folded text.

    Raises:
        BadPattern: `pattern` is text and no regular expression.
    """
    tree = parse(pattern, fold=True) if isinstance(pattern, str) else pattern
    return bounded(_Planner(gram).required(tree), MOST_GRAMS)


def plan_request(request: SearchRequest, gram: int, *, whole_files: bool = False) -> GramQuery:
    """Return the query for the files, or blocks of files, that may hold a hit of `request`.

    `word` and `whole_line` only narrow what matches and leave the query as it is; an inverted search requires nothing.

    Args:
        request: the search.
        gram: length of a gram in bytes of folded text.
        whole_files: whether each signature asked is one of a whole file. A match over several lines may lie across two
            blocks of a file, so it requires nothing of a block.

    Raises:
        BadPattern: the pattern is no regular expression.
    """
    if request.invert:
        return ALL
    tree = parse_request(request)
    if spans_lines(tree) and not whole_files:
        return ALL
    return plan(tree, gram=gram)


def plan_files(request: SearchRequest) -> GramQuery:
    """Return the query for the columns of whole files that may hold a hit of `request`, with grams of both lengths.

    Raises:
        BadPattern: the pattern is no regular expression.
    """
    longer, shorter = (plan_request(request, gram, whole_files=True) for gram in FILE_GRAMS)
    if longer.least() >= _MANY_GRAMS:
        shorter = shorter.beyond(longer)
    return both([longer, shorter])


class _Planner:
    """The algebra for one gram length."""

    def __init__(self, gram: int) -> None:
        self._gram = gram

    def required(self, tree: Node) -> GramQuery:
        """Return the query that whatever `tree` matches satisfies."""
        info = reduce_tree(tree, self.combine)
        return info.match if info.exact is None else both([info.match, self._grams(info.exact)])

    def combine(self, node: Node, below: list[_Info]) -> _Info:
        """Return what is known of `node` from what is known of its children."""
        match node:
            case Empty() | Assertion() | Look():
                return _EMPTY  # zero width: what stands around it stands side by side
            case Literal(text, folded):
                return self._concat(_literal(text, folded))
            case CharClass():
                return _char_class(node)
            case Concat():
                return self._concat(below)
            case Alternate():
                return self._alternate(below)
            case Capture():
                return below[0]
            case Repeat(_, low, high):
                return self._repeat(below[0], low, high)
            case _:
                return _ANYTHING

    def loosened(self, info: _Info) -> _Info:
        """Return `info` without exact strings, what they said being said by the other attributes."""
        if info.exact is None:
            return info
        return self._trimmed(info.exact, info.exact, [info.match])

    def _trimmed(self, prefix: _Strings, suffix: _Strings, known: Iterable[GramQuery]) -> _Info:
        """Move what whole grams of `prefix` and `suffix` say into the query, and keep what is shorter than a gram."""
        match = both([*known, self._grams(prefix), self._grams(suffix)])
        return _Info(
            None,
            _ends(prefix, self._gram - 1, at_end=False),
            _ends(suffix, self._gram - 1, at_end=True),
            bounded(match, 4 * MOST_GRAMS),
        )

    def _grams(self, strings: _Strings) -> GramQuery:
        """Return the query that one of `strings` is in the text."""
        if not strings:
            return NONE
        if len(strings) > MOST_GRAMS or min(map(len, strings)) < self._gram:
            return ALL
        return either(require(self._windows(each)) for each in sorted(strings))

    def _windows(self, string: bytes) -> tuple[bytes, ...]:
        gram = self._gram
        windows = spread(tuple(string[at : at + gram] for at in range(len(string) - gram + 1)), STRING_GRAMS)
        return windows if gram != BLOCK_GRAM else (*windows, *spread(dotted_grams(string), STRING_GRAMS))

    def _concat(self, infos: list[_Info]) -> _Info:
        total = _EMPTY
        for info in infos:
            total = self._join(total, info)
        return total

    def _join(self, left: _Info, right: _Info) -> _Info:
        if left.exact is not None and right.exact is not None:
            if _few(left.exact, right.exact):
                return _Info(_cross(left.exact, right.exact), match=both([left.match, right.match]))
            left, right = self.loosened(left), self.loosened(right)
        known = [left.match, right.match]
        if left.exact is None and right.exact is None:
            if len(left.suffix) * len(right.prefix) <= MOST_GRAMS:
                known.append(self._grams(_cross(left.suffix, right.prefix)))
            return _Info(None, left.prefix, right.suffix, bounded(both(known), 4 * MOST_GRAMS))
        prefix = left.prefix if left.exact is None else _cross(left.exact, right.prefix)
        suffix = right.suffix if right.exact is None else _cross(left.suffix, right.exact)
        return self._trimmed(prefix, suffix, known)

    def _alternate(self, infos: list[_Info]) -> _Info:
        if all(info.exact is not None for info in infos):
            exact = frozenset(each for info in infos if info.exact is not None for each in info.exact)
            if len(exact) <= _MOST_STRINGS:
                return _Info(exact)
        loose = [self.loosened(info) for info in infos]
        return _Info(
            None,
            _ends(frozenset().union(*(info.prefix for info in loose)), self._gram - 1, at_end=False),
            _ends(frozenset().union(*(info.suffix for info in loose)), self._gram - 1, at_end=True),
            bounded(either(info.match for info in loose), 4 * MOST_GRAMS),
        )

    def _repeat(self, body: _Info, low: int, high: int | None) -> _Info:
        if high == 0:
            return _EMPTY
        if low == 0:
            return self._alternate([_EMPTY, body]) if high == 1 else _ANYTHING
        copies = min(low, _COPIES)
        repeated = self._concat([body] * copies)
        # More copies leave its beginning, its end and all it requires as they are.
        return repeated if high == copies else self.loosened(repeated)


def _literal(text: str, folded: bool) -> list[_Info]:
    """Return what is known of a literal, piece by piece, a code point that is not to be required standing between."""
    infos: list[_Info] = []
    run: list[str] = []
    for char in text:
        if _required(char, folded):
            run.append(char)
            continue
        infos += [_Info(frozenset({fold("".join(run).encode())})), _ANYTHING]
        run = []
    infos.append(_Info(frozenset({fold("".join(run).encode())})))
    return infos


def _required(char: str, folded: bool) -> bool:
    return char not in _UNREQUIRED and ord(char) not in SURROGATES and (not folded or folds_alike(char))


def _char_class(node: CharClass) -> _Info:
    ranges = [item for item in node.items if isinstance(item, Range)]
    if node.negated or len(ranges) < len(node.items) or sum(r.high - r.low + 1 for r in ranges) > _CLASS_POINTS:
        return _ANYTHING
    members = {chr(point) for item in ranges for point in range(item.low, item.high + 1)}
    if not all(_required(char, node.fold) for char in members):
        return _ANYTHING
    exact = frozenset(fold(char.encode()) for char in members)
    return _Info(exact) if len(exact) <= _MOST_STRINGS else _ANYTHING


def _few(left: _Strings, right: _Strings) -> bool:
    longest = max(map(len, left), default=0) + max(map(len, right), default=0)
    return len(left) * len(right) <= _MOST_STRINGS and (longest <= _LONGEST_STRING or _NOTHING_KNOWN in (left, right))


def _cross(left: _Strings, right: _Strings) -> _Strings:
    return frozenset(first + second for first in left for second in right)


def _ends(strings: _Strings, length: int, *, at_end: bool) -> _Strings:
    """Shorten `strings` to `length` bytes at their beginning or end, further while they are many."""
    while True:
        short = {each[max(0, len(each) - length) :] if at_end else each[:length] for each in strings}
        # where "ab" may stand, "abc" says nothing more
        kept = frozenset(
            each
            for each in short
            if not any((each[cut:] if at_end else each[: len(each) - cut]) in short for cut in range(1, len(each) + 1))
        )
        if len(kept) <= _MOST_STRINGS or length == 0:
            return kept
        length -= 1
