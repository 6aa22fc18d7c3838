"""What a pattern requires of the text it matches: a tree of ANDs and ORs over grams.

Promise: a query is true of every folded text that may hold a match. It prints as codesearch prints its own:
`"abc" ("def"|"ghi")`, `+` for no requirement, `-` for a pattern that matches nothing. Trees are kept flat, free of
duplicates, with what all branches of an OR share drawn out of it, and small: weakening a query is always sound, so a
tree over its budget of grams loses some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum


class Op(Enum):
    """How a query's grams and parts are joined."""

    ALL = "all"
    """Every text will do."""
    NONE = "none"
    """No text will do."""
    AND = "and"
    OR = "or"


@dataclass(frozen=True, slots=True)
class GramQuery:
    """A requirement on folded text.

    Attributes:
        op: how `grams` and `parts` are joined.
        grams: byte strings, each in the text (AND) or one of them (OR).
        parts: further requirements, joined likewise; an AND's parts are ORs and the other way round.
    """

    op: Op
    grams: tuple[bytes, ...] = ()
    parts: tuple[GramQuery, ...] = ()

    def admits(self, has: Callable[[bytes], bool]) -> bool:
        """Tell whether a text may match, where `has` tells whether a gram is in it."""
        match self.op:
            case Op.ALL:
                return True
            case Op.NONE:
                return False
            case Op.AND:
                return all(map(has, self.grams)) and all(part.admits(has) for part in self.parts)
            case Op.OR:
                return any(map(has, self.grams)) or any(part.admits(has) for part in self.parts)

    def size(self) -> int:
        """Return how many grams the tree holds, each as often as it stands there."""
        return len(self.grams) + sum(part.size() for part in self.parts)

    def every(self) -> Iterator[bytes]:
        """Yield each gram of the tree, as often as it stands there."""
        yield from self.grams
        for part in self.parts:
            yield from part.every()

    def least(self) -> int:
        """Return how many grams of its own a text that is admitted holds at least, as far as the query tells."""
        below = [part.least() for part in self.parts]
        match self.op:
            case Op.AND:
                return len(self.grams) + sum(below)
            case Op.OR:
                return min(below + [1] * bool(self.grams))
            case _:
                return 0

    def beyond(self, other: GramQuery) -> GramQuery:
        """Return what is asked for here and is no part of any gram in `other`; an OR stays as a whole or not at all."""
        lengths = {len(gram) for gram in self.every()}
        held = {
            gram[at : at + length]
            for gram in other.every()
            for length in lengths
            for at in range(len(gram) - length + 1)
        }
        match self.op:
            case Op.AND:
                kept = (part for part in self.parts if not held.issuperset(part.every()))
                return both([require(gram for gram in self.grams if gram not in held), *kept])
            case Op.OR if held.issuperset(self.every()):
                return ALL
            case _:
                return self

    def __str__(self) -> str:
        if self.op is Op.ALL:
            return "+"
        if self.op is Op.NONE:
            return "-"
        words = [_quoted(gram) for gram in self.grams]
        if self.op is Op.AND:
            return " ".join(words + [f"({part})" for part in self.parts])
        return "|".join(
            words + [f"({part})" if len(part.grams) + len(part.parts) > 1 else str(part) for part in self.parts]
        )


ALL = GramQuery(Op.ALL)
NONE = GramQuery(Op.NONE)


def _quoted(gram: bytes) -> str:
    # backslashes first: a gram may begin or end inside a code point, and those bytes are shown as \xNN
    escaped = gram.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return f'"{escaped.decode("utf-8", "backslashreplace")}"'


def require(grams: Iterable[bytes]) -> GramQuery:
    """Return the query for all of `grams`; for none of them, ALL."""
    distinct = tuple(dict.fromkeys(grams))
    return GramQuery(Op.AND, distinct) if distinct else ALL


def both(queries: Iterable[GramQuery]) -> GramQuery:
    """Return the query that is true where all of `queries` are."""
    grams: dict[bytes, None] = {}
    parts: dict[GramQuery, None] = {}
    for query in queries:
        match query.op:
            case Op.NONE:
                return NONE
            case Op.AND:
                grams.update(dict.fromkeys(query.grams))
                parts.update(dict.fromkeys(query.parts))
            case Op.OR:
                parts[query] = None
    # an OR that a required gram makes true asks nothing more
    kept = tuple(part for part in parts if not any(gram in grams for gram in part.grams))
    if not grams and not kept:
        return ALL
    if not grams and len(kept) == 1:
        return kept[0]
    return GramQuery(Op.AND, tuple(grams), kept)


def either(queries: Iterable[GramQuery]) -> GramQuery:
    """Return the query that is true where one of `queries` is, with what all of them share drawn out."""
    branches: dict[GramQuery, None] = {}
    for query in queries:
        match query.op:
            case Op.ALL:
                return ALL
            case Op.OR:
                branches.update((require([gram]), None) for gram in query.grams)
                branches.update(dict.fromkeys(query.parts))
            case Op.AND:
                branches[query] = None
    if not branches:
        return NONE
    if len(branches) == 1:
        return next(iter(branches))
    shared = set.intersection(*(set(branch.grams) for branch in branches))
    if shared:
        order = [gram for gram in next(iter(branches)).grams if gram in shared]
        rests = [
            both([require(gram for gram in branch.grams if gram not in shared), *branch.parts]) for branch in branches
        ]
        return both([require(order), either(rests)])
    single = tuple(branch.grams[0] for branch in branches if len(branch.grams) == 1 and not branch.parts)
    wider = tuple(branch for branch in branches if len(branch.grams) != 1 or branch.parts)
    # a branch that contains another branch's only gram is true only where that one is
    wider = tuple(branch for branch in wider if not any(gram in single for gram in branch.grams))
    if len(single) == 1 and not wider:
        return require(single)
    return GramQuery(Op.OR, single, wider)


def bounded(query: GramQuery, budget: int) -> GramQuery:
    """Weaken `query` to at most `budget` grams: fewer of an AND, spread evenly; an OR with all its branches or none."""
    if query.size() <= budget:
        return query
    if budget <= 0:
        return ALL
    if query.op is Op.OR:
        branches = [require([gram]) for gram in query.grams] + list(query.parts)
        share = budget // len(branches)
        return either(bounded(branch, share) for branch in branches) if share else ALL
    grams = spread(query.grams, budget if not query.parts else max(1, budget // 2))
    left = budget - len(grams)
    kept: list[GramQuery] = []
    for part in sorted(query.parts, key=GramQuery.size):
        smaller = bounded(part, left)
        kept.append(smaller)
        left -= smaller.size()
    return both([require(grams), *kept])


def spread(grams: tuple[bytes, ...], count: int) -> tuple[bytes, ...]:
    """Return at most `count` of `grams`, the first, the last and evenly between: neighbours tell much the same."""
    if len(grams) <= count:
        return grams
    if count <= 1:
        return grams[:count]
    return tuple(grams[index * (len(grams) - 1) // (count - 1)] for index in range(count))
