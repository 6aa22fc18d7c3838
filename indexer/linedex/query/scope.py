"""Which of the files that a look found are asked: filters on names, languages, hidden and ignored files.

What was found for one look is kept with it: of the next question about the same files at the same moment, and of each
further page of an answer, nothing but the candidates is gone through.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linedex.answers import SearchRequest
from linedex.content import languages
from linedex.model import FileState
from linedex.query.globs import path_test
from linedex.query.pieces import Entry
from linedex.store.catalogue import Catalogue, Indices, is_hidden, key_path
from linedex.store.look import Look, NewFile

_CHUNK = 1_024
_KEPT = 4
"""Scopes that are kept with a look."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The files a request asks, by how they are answered.

    Attributes:
        catalogue: the known files.
        low: place of the first of them that was looked at.
        indexed: for each that was looked at, whether the index may answer for it.
        read: places of those that must be read because the index does not know their present bytes, ascending.
        known: places of both, ascending.
        new: files the index does not have.
        skipped: files that hold no text or cannot be read, by reason.
    """

    catalogue: Catalogue
    low: int
    indexed: npt.NDArray[np.bool_]
    read: Indices
    known: Indices
    new: tuple[NewFile, ...]
    skipped: dict[str, int]

    @property
    def by_index(self) -> int:
        """How many files the index may answer for."""
        return len(self.known) - len(self.read)

    @property
    def by_reading(self) -> int:
        """How many files must be read."""
        return len(self.read) + len(self.new)

    def verified(self, passing: Indices) -> Indices:
        """Return the places of the known files to verify, ascending: those that pass, and all that must be read.

        Args:
            passing: places of files that the index lets pass, in no order, some perhaps twice or not asked.
        """
        within = passing[(passing >= self.low) & (passing < self.low + len(self.indexed))]
        asked = within[self.indexed[within - self.low]]
        both: Indices = np.unique(np.concatenate((asked, self.read)))
        return both

    def entries(self, places: Indices, start: bytes = b"") -> Iterator[Entry]:
        """Yield files to verify in path order: the known ones at these places, and the new ones.

        Args:
            places: ascending.
            start: key of the first file that is wanted.
        """
        known = self._known_entries(places, start)
        if not self.new:
            return known
        new = (Entry(file.key) for file in self.new if file.key >= start)
        return heapq.merge(known, new, key=lambda entry: entry.key)

    def _known_entries(self, places: Indices, start: bytes) -> Iterator[Entry]:
        keys = self.catalogue.keys
        first = int(np.searchsorted(places, bisect_left(keys, start))) if start else 0
        # a page needs few of many candidates, so they are made a few at a time
        for at in range(first, len(places), _CHUNK):
            chunk = places[at : at + _CHUNK]
            rows = self.catalogue.facts[chunk]
            stats = zip(*(rows[name].tolist() for name in ("inode", "size", "mtime_ns", "ctime_ns")), strict=True)
            indexed = self.indexed[chunk - self.low].tolist()
            for place, known, stat in zip(chunk.tolist(), indexed, stats, strict=True):
                yield Entry(keys[place], place, stat if known else None)


def scope_of(look: Look, request: SearchRequest) -> Scope:
    """Return the files of `look` that `request` asks. A file that is the scope itself is asked whatever its name.

    Raises:
        BadArgument: a glob is too long or cannot be read, or the language is not known.
    """
    asked: Hashable = (
        request.include_hidden,
        request.include_ignored,
        request.include,
        request.exclude,
        request.language,
    )
    scope: Scope | None = look.derived.get(asked)
    if scope is None:
        scope = _scope_of(look, request)
        if len(look.derived) > _KEPT:
            look.derived.clear()
        look.derived[asked] = scope
    return scope


def _scope_of(look: Look, request: SearchRequest) -> Scope:
    catalogue = look.catalogue
    here = slice(look.low, look.high)
    named = bool(look.scope) and (catalogue.index(look.scope) >= 0 or any(_is_scope(new, look) for new in look.new))
    asked = ~look.gone
    new = look.new
    if not named:
        if not request.include_hidden:
            asked &= ~(_hidden_below(catalogue, look) if is_hidden(look.scope) else catalogue.column("hidden")[here])
            new = tuple(file for file in new if not _hidden_name(file.key, look.scope))
        if not request.include_ignored:
            asked &= ~catalogue.column("ignored")[here]
            new = tuple(file for file in new if not file.ignored)
        wanted = name_filter(request.include, request.exclude)
        if wanted is not None:
            names = catalogue.keys[look.low : look.high]
            asked &= np.fromiter((wanted(key) for key in names), np.bool_, len(names))
            new = tuple(file for file in new if wanted(file.key))
    if request.language:
        language = languages.canonical(request.language)
        number = catalogue.words.languages.find(language)
        # a file the index does not know speaks by its name until it is read
        by_name = np.fromiter(
            (languages.detect(key_path(key)) == language for key in _keys_at(catalogue, look, asked & ~look.current)),
            np.bool_,
        )
        speaks = (catalogue.column("language")[here] == number) & look.current
        speaks[np.flatnonzero(asked & ~look.current)] = by_name
        asked &= speaks
        new = tuple(file for file in new if languages.detect(key_path(file.key)) == language)
    state = catalogue.column("state")[here]
    known = asked & look.current
    indexed = known & (state == FileState.INDEXED)
    left_out = known & (state == FileState.SKIPPED)
    skipped: dict[str, int] = {}
    for at in np.flatnonzero(left_out).tolist():
        reason = catalogue.reason(look.low + at)
        skipped[reason] = skipped.get(reason, 0) + 1
    read, known_places = np.flatnonzero(asked ^ indexed ^ left_out), np.flatnonzero(asked ^ left_out)
    return Scope(catalogue, look.low, indexed, look.low + read, look.low + known_places, new, skipped)


def _is_scope(new: NewFile, look: Look) -> bool:
    return key_path(new.key) == look.scope


def _keys_at(catalogue: Catalogue, look: Look, mask: npt.NDArray[np.bool_]) -> Sequence[bytes]:
    return [catalogue.keys[look.low + at] for at in np.flatnonzero(mask).tolist()]


def _hidden_name(key: bytes, scope: bytes) -> bool:
    """Say whether a component below the scope begins with a dot: who names a hidden folder means what is in it."""
    below = b"\0" + key[len(scope) :].lstrip(b"\0")
    return b"\0." in below


def _hidden_below(catalogue: Catalogue, look: Look) -> npt.NDArray[np.bool_]:
    keys = catalogue.keys[look.low : look.high]
    return np.fromiter((_hidden_name(key, look.scope) for key in keys), np.bool_, len(keys))


class NameFilter:
    """Tells whether a file's key is let through by include and exclude globs (`globs.path_test`).

    Raises:
        BadArgument: a glob is too long or cannot be read.
    """

    def __init__(self, include: tuple[str, ...], exclude: tuple[str, ...]) -> None:
        self._include = path_test(include) if include else None
        self._exclude = path_test(exclude) if exclude else None

    def __call__(self, key: bytes) -> bool:
        """Tell whether the file of this key is let through."""
        path = b"/" + key.replace(b"\0", b"/")
        if self._include is not None and not self._include(path):
            return False
        return self._exclude is None or not self._exclude(path)


def name_filter(include: tuple[str, ...], exclude: tuple[str, ...]) -> NameFilter | None:
    """Return the filter of these globs, None when they let everything through.

    Raises:
        BadArgument: a glob is too long or cannot be read.
    """
    include = tuple(glob for glob in include if glob)
    exclude = tuple(glob for glob in exclude if glob)
    if "*" in include:
        include = ()
    return NameFilter(include, exclude) if include or exclude else None
