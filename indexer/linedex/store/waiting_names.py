"""Names of the sets of symbols that are in no run yet, looked for where they stand.

While a tree is indexed up to 250,000 symbols wait for their run. To split their names takes half a second, so what may
fit is looked for in the text of a set, and only the lines found are taken for names and compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import apsw

from linedex.store.name_blocks import names_in
from linedex.store.name_grams import humps
from linedex.store.name_runs import last_set
from linedex.store.symbol_pack import text_of_packed


def waiting_names(db: apsw.Connection, name: str, part: str, initials: str) -> Iterator[tuple[int, int, str]]:
    """Yield set, ordinal and name of the distinct names of each waiting set that fit in one of three ways.

    Args:
        db: a reading connection.
        name: what they begin with.
        part: what they contain when their case is folded, "" for nothing.
        initials: what their humps begin with, in ASCII, "" for nothing.
    """

    def fits(one: str) -> bool:
        return (
            one.startswith(name)
            or bool(part and part in one.casefold())
            or bool(initials and humps(one).startswith(initials))
        )

    patterns = _patterns(part or name, initials)
    query = "SELECT id, data FROM symbol_rows WHERE id IN (SELECT id FROM symbol_sets WHERE id > ?)"
    for number, data in db.execute(query, (last_set(db),)):
        count, text = text_of_packed(data)
        names = _lines(text, patterns) if text.isascii() else enumerate(names_in(text))
        for ordinal, one in _distinct(names, count, fits):
            yield number, ordinal, one


def _distinct(names: Iterable[tuple[int, str]], count: int, fits: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """Yield each name that fits once; lines from `count` on are containers."""
    seen = set()
    for ordinal, one in names:
        if ordinal < count and one not in seen and fits(one):
            seen.add(one)
            yield ordinal, one


def _patterns(text: str, initials: str) -> list[re.Pattern[bytes]]:
    """Return what is in the line, in lower case and behind its line feed, of each name in ASCII that fits."""
    patterns = [re.escape(text.lower())] if text.isascii() else []
    if initials:
        patterns.append(r"\n[^a-z0-9\n]*" + r"[^\n]*?".join(map(re.escape, initials)))
    return [re.compile(pattern.encode()) for pattern in patterns]


def _lines(text: bytes, patterns: Sequence[re.Pattern[bytes]]) -> Iterator[tuple[int, str]]:
    """Yield number, from 0, and text of the lines in which a pattern is found, some of them twice."""
    lowered = b"\n" + text.lower()
    for pattern in patterns:
        number = low = 0
        match = pattern.search(lowered)
        while match is not None:
            # the line feed that a match begins with is that of its line
            start = lowered.rfind(b"\n", low, match.start() + 1)
            number += lowered.count(b"\n", low, start)
            low = start
            end = lowered.find(b"\n", match.end())
            yield number, text[start : end - 1 if end >= 0 else len(text)].decode()
            match = pattern.search(lowered, end) if end >= 0 else None
