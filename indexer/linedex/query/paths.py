"""Files by path: what a person or a model remembers of a name, best first.

Promise: 100,000 paths take some 20 ms, because they are looked through as one text and only what fits is ranked. Ways
of fitting come one after the other, and the next is tried only when the one before found nothing: the text as it
stands, a glob, its letters in order, a likeness. So a page is never filled up with guesses behind a true hit.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import re2

from linedex.answers import PathAnswer
from linedex.errors import BadArgument
from linedex.later import later
from linedex.model import RelPath
from linedex.query.code_points import quiet_options
from linedex.query.globs import LONGEST_GLOB, glob_pattern, unreadable
from linedex.store.catalogue import key_path, path_key

if TYPE_CHECKING:
    from rapidfuzz import fuzz, process
else:
    fuzz = later("rapidfuzz.fuzz")
    process = later("rapidfuzz.process")

Places: TypeAlias = npt.NDArray[np.intp]

_GLOB: Final = frozenset("*?[{")
_LIKENESS: Final = 70.0
"""Per cent of likeness under which a name is no misspelling of another."""
_MOST_RANKED: Final = 2_000


def find_files(
    keys: Sequence[bytes], name: str, scope: RelPath = RelPath(b""), max_hits: int = 50, *, include_hidden: bool = False
) -> PathAnswer:
    """Return the files whose path fits `name`, best first; case never matters to whether a path fits.

    The order is: the whole base name, its start, a part of it, a folder, a part of the path. Without any of these: what
    a glob takes, or the letters of `name` in order, or a likeness.

    Args:
        keys: keys of the files that may be answered, ascending, as a catalogue's.
        name: a name or part of a path (`store/files`), or a glob (`*.py`, `src/**/test_*.py`); a glob without slash
            is of the base name, one with a slash of the path's end.
        scope: only files at or below it.
        max_hits: paths in the answer.
        include_hidden: also files with a component below `scope` that starts with a dot.

    Raises:
        BadArgument: `name` is empty or too long, or a glob that cannot be read.
    """
    if len(name) > LONGEST_GLOB:
        raise BadArgument(
            f"`name` has {len(name):,} characters; at most {LONGEST_GLOB:,} are taken.", "Give a part of the path."
        )
    wanted = name.strip().replace("\\", "/").removeprefix("./").casefold()
    if not wanted.strip("/"):
        raise BadArgument("`name` is empty.", "Give a part of the path, or a glob such as *.py.")
    text = _PathText.of(keys, scope)
    shown = np.ones(len(text.keys), np.bool_) if include_hidden else ~text.hidden
    places = _literal(text, wanted, name.strip(), shown)
    if not len(places) and not _GLOB.isdisjoint(wanted):
        places = _globbed(text, wanted, shown)
    elif not len(places):
        places = _letters_in_order(text, wanted, shown)
        if not len(places):
            places = _alike(text, wanted, shown)
    return PathAnswer(tuple(key_path(text.keys[place]) for place in places[:max_hits].tolist()), len(places))


@dataclass(frozen=True)
class _PathText:
    """Many paths as one text.

    Attributes:
        keys: their keys.
        text: the paths below the scope, folded, as UTF-8, each on a line of its own.
        starts: where each begins.
        ends: where each ends.
    """

    keys: Sequence[bytes]
    text: bytes
    starts: Places
    ends: Places

    @classmethod
    def of(cls, keys: Sequence[bytes], scope: RelPath) -> _PathText:
        """Return the text of the keys at or below `scope`."""
        prefix = 0
        if scope:
            key = path_key(scope)
            keys = keys[bisect_left(keys, key) : bisect_left(keys, key + b"\1")]
            # a scope that is a file itself is looked for by its whole path
            prefix = len(key) + 1 if keys and keys[0] != key else 0
        joined = b"\n".join([key[prefix:] for key in keys] if prefix else keys)
        if joined.count(b"\n") >= max(1, len(keys)):
            joined = b"\n".join(key[prefix:].replace(b"\n", b" ") for key in keys)
        raw = joined.replace(b"\0", b"/")
        text = raw.lower() if raw.isascii() else raw.decode("utf-8", "replace").casefold().encode()
        line_ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
        starts = np.concatenate(([0], line_ends + 1))[: len(keys)]
        ends = np.concatenate((line_ends, [len(text)]))[: len(keys)]
        return cls(keys, text, starts, ends)

    @cached_property
    def characters(self) -> npt.NDArray[np.uint8]:
        """The bytes of the text, with an end of line before and after it."""
        return np.frombuffer(b"\n" + self.text + b"\n", np.uint8)

    @cached_property
    def _slashes(self) -> Places:
        return np.flatnonzero(self.characters[1:] == ord("/"))

    def base_starts(self, places: Places) -> Places:
        """Return where the base names of these paths begin."""
        starts, ends = self.starts[places], self.ends[places]
        if not len(self._slashes):
            return starts
        last = self._slashes[np.maximum(np.searchsorted(self._slashes, ends) - 1, 0)]
        return np.where((last >= starts) & (last < ends), last + 1, starts)

    @cached_property
    def hidden(self) -> npt.NDArray[np.bool_]:
        """Which paths have a component that starts with a dot."""
        hidden = np.zeros(len(self.keys), np.bool_)
        dots = np.flatnonzero(self.characters[1:] == ord("."))
        before = self.characters[dots]
        hidden[self.lines_of(dots[(before == ord("/")) | (before == ord("\n"))])] = True
        return hidden

    def lines_of(self, offsets: Places) -> Places:
        """Return the place of the path that each offset stands in."""
        found: Places = np.searchsorted(self.starts, offsets, side="right") - 1
        return found

    def bases(self, places: Places) -> list[str]:
        """Return the folded base names of these paths."""
        spans = zip(self.base_starts(places).tolist(), self.ends[places].tolist(), strict=True)
        return [self.text[start:end].decode("utf-8", "replace") for start, end in spans]


def _literal(text: _PathText, wanted: str, typed: str, shown: npt.NDArray[np.bool_]) -> Places:
    """Return the paths that hold the text, ranked by where it stands in them."""
    sought = wanted.lstrip("/").encode("utf-8", "replace")
    hits = np.array(list(_occurrences(text.text, sought)), np.intp)
    places = text.lines_of(hits)
    kept = shown[places]
    hits, places = hits[kept], places[kept]
    if not len(hits):
        return places
    after = hits + len(sought)
    opens = (hits == text.starts[places]) | (text.characters[hits] == ord("/"))
    folder = text.characters[after + 1] == ord("/")
    at_end = after == text.ends[places]
    in_base = after > text.base_starts(places)
    rank = np.select([opens & at_end, opens & in_base, in_base, opens & folder], [1, 2, 3, 4], 5)
    best = np.full(len(text.keys), 9, np.intp)
    np.minimum.at(best, places, rank)
    found = np.unique(places)
    exact = path_key(typed.encode("utf-8", "surrogateescape"))
    for place in found[best[found] == 1].tolist():
        best[place] -= text.keys[place].endswith(exact)
    base_length = text.ends[found] - text.base_starts(found)
    length = text.ends[found] - text.starts[found]
    order = np.lexsort((found, length, base_length, best[found]))
    ranked: Places = found[order]
    return ranked


def _occurrences(text: bytes, sought: bytes) -> Iterator[int]:
    """Yield where `sought` stands, overlapping places too: the last of `aaa` may be the one that ends the name."""
    if not any(sought.startswith(sought[at:]) for at in range(1, len(sought))):
        yield from (match.start() for match in re.finditer(re.escape(sought), text))
        return
    at = text.find(sought)
    while at >= 0:
        yield at
        at = text.find(sought, at + 1)


def _globbed(text: _PathText, wanted: str, shown: npt.NDArray[np.bool_]) -> Places:
    """Return the paths that a glob takes, in path order."""
    pattern = rf"(?m)^{'' if wanted.startswith('/') else '(?:.*/)?'}{glob_pattern(wanted.lstrip('/'), by_line=True)}$"
    try:
        compiled = re2.compile(pattern.encode("utf-8", "replace"), quiet_options())
    except re2.error as error:
        raise unreadable(wanted, str(error)) from None
    starts = np.array([match.start() for match in compiled.finditer(text.text)], np.intp)
    places = text.lines_of(starts)
    taken: Places = places[shown[places]]
    return taken


def _letters_in_order(text: _PathText, wanted: str, shown: npt.NDArray[np.bool_]) -> Places:
    """Return the paths that hold the letters of `wanted` in order, those with them in the base name first."""
    letters = [re.escape(character) for character in wanted if not character.isspace()]
    in_base = r"(?m)^(?:.*/)?" + "".join(r"[^/\n]*" + letter for letter in letters) + r"[^/\n]*$"
    anywhere = "(?m)^" + "".join(".*" + letter for letter in letters)
    for pattern in (in_base, anywhere):
        compiled = re2.compile(pattern.encode("utf-8", "replace"), quiet_options())
        starts = np.array([match.start() for match in compiled.finditer(text.text)], np.intp)
        places = text.lines_of(starts)
        places = places[shown[places]]
        if len(places):
            return _by_likeness(text, wanted, places)
    return np.empty(0, np.intp)


def _by_likeness(text: _PathText, wanted: str, places: Places) -> Places:
    """Return places with the likest base names first; beyond `_MOST_RANKED` of them, the shortest come to be ranked."""
    order = np.argsort(text.ends[places] - text.base_starts(places), kind="stable")
    near, far = places[order[:_MOST_RANKED]], places[order[_MOST_RANKED:]]
    sought = wanted.rpartition("/")[2] or wanted
    scores = [fuzz.ratio(sought, base) for base in text.bases(near)]
    ranked: Places = np.concatenate((near[np.argsort(-np.array(scores), kind="stable")], far))
    return ranked


def _alike(text: _PathText, wanted: str, shown: npt.NDArray[np.bool_]) -> Places:
    """Return the paths whose base name is like the wanted one, likest first."""
    sought = wanted.rpartition("/")[2] or wanted
    places = np.flatnonzero(shown)
    found = process.extract(sought, text.bases(places), scorer=fuzz.ratio, score_cutoff=_LIKENESS, limit=None)
    alike: Places = places[np.array([index for _, _, index in found], np.intp)]
    return alike
