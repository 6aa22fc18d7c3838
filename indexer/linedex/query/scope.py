"""Which of the files that a look found are asked: filters on names, languages, hidden and ignored files."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linedex.answers import SearchRequest
from linedex.content import languages
from linedex.model import FileState
from linedex.query.globs import path_test
from linedex.query.pieces import Entry
from linedex.store.catalogue import Catalogue, is_hidden, key_path
from linedex.store.look import Look, NewFile

_CHUNK = 1_024


@dataclass(frozen=True, slots=True)
class Scope:
    """The files a request asks, by how they are answered.

    Attributes:
        look: where they come from.
        indexed: for each known file of the look, whether the index may answer for it.
        scanned: for each, whether it must be read because the index does not know its present bytes.
        new: files the index does not have.
        skipped: files that hold no text or cannot be read, by reason.
    """

    look: Look
    indexed: npt.NDArray[np.bool_]
    scanned: npt.NDArray[np.bool_]
    new: tuple[NewFile, ...]
    skipped: dict[str, int]

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue the look was made against."""
        return self.look.catalogue

    def count(self, passing: npt.NDArray[np.bool_]) -> int:
        """Return how many files `entries` yields from the first one on."""
        return int(np.count_nonzero((self.indexed & passing) | self.scanned)) + len(self.new)

    def entries(self, passing: npt.NDArray[np.bool_], start: bytes = b"") -> Iterator[Entry]:
        """Yield the files to verify in path order: those that pass, and all that must be read.

        Args:
            passing: for each known file of the look, whether the index lets it pass.
            start: key of the first file that is wanted.
        """
        known = self._known_entries(passing, start)
        if not self.new:
            return known
        new = (Entry(file.key) for file in self.new if file.key >= start)
        return heapq.merge(known, new, key=lambda entry: entry.key)

    def _known_entries(self, passing: npt.NDArray[np.bool_], start: bytes) -> Iterator[Entry]:
        low, keys = self.look.low, self.catalogue.keys
        wanted = (self.indexed & passing) | self.scanned
        wanted[: max(0, bisect_left(keys, start, low, self.look.high) - low)] = False
        places = np.flatnonzero(wanted)
        # a page needs few of many candidates, so they are made a few at a time
        for at in range(0, len(places), _CHUNK):
            chunk = places[at : at + _CHUNK]
            rows = self.catalogue.facts[low + chunk]
            stats = zip(*(rows[name].tolist() for name in ("inode", "size", "mtime_ns", "ctime_ns")), strict=True)
            for place, known, stat in zip(chunk.tolist(), self.indexed[chunk].tolist(), stats, strict=True):
                yield Entry(keys[low + place], low + place, stat if known else None)


def scope_of(look: Look, request: SearchRequest) -> Scope:
    """Return the files of `look` that `request` asks. A file that is the scope itself is asked whatever its name.

    Raises:
        BadArgument: a glob is too long or cannot be read, or the language is not known.
    """
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
    return Scope(look, indexed, asked ^ indexed ^ left_out, new, skipped)


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
