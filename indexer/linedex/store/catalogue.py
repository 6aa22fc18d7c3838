"""The catalogue in memory: which files the index knows, in path order, as columns of numbers.

A `Catalogue` is never changed: the builder makes the next one and swaps it in, so a query works on one state from its
first look to its last without a lock. Path order is order by path components, which is the order of keys: a key is a
path with `/` replaced by NUL.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linedex.model import FileId, FileState, Fingerprint, RelPath, TextFormat

FACTS = np.dtype(
    [
        ("id", "i8"),
        ("device", "i8"),
        ("inode", "u8"),
        ("size", "i8"),
        ("mtime_ns", "i8"),
        ("ctime_ns", "i8"),
        ("seen_ns", "i8"),
        ("lines", "i8"),
        ("state", "u1"),
        ("symbol_state", "u1"),
        ("hidden", "?"),
        ("ignored", "?"),
        ("format", "u2"),
        ("language", "u2"),
        ("reason", "u2"),
    ]
)
FOLDER_FACTS = np.dtype([("id", "i8"), ("mtime_ns", "i8"), ("seen_ns", "i8")])
STAT_FIELDS = ("device", "inode", "size", "mtime_ns", "ctime_ns")
Facts: TypeAlias = npt.NDArray[np.void]
Indices: TypeAlias = npt.NDArray[np.intp]


def path_key(path: bytes) -> bytes:
    """Return the key that sorts `path` by its components."""
    return path.replace(b"/", b"\0")


def key_path(key: bytes) -> RelPath:
    """Return the path of a key."""
    return RelPath(key.replace(b"\0", b"/"))


def is_hidden(path: bytes) -> bool:
    """Return whether a component of `path` begins with a dot."""
    return path.startswith(b".") or b"/." in path


class Vocabulary:
    """Values that many files share, each stored once; a column holds their numbers. Only ever grows."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """Return the number of `value`, giving it one if it has none."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._values)
            self._values.append(value)
        return number

    def value(self, number: int) -> Any:
        """Return the value of a number that `number` gave."""
        return self._values[number]

    def find(self, value: Any) -> int:
        """Return the number of `value`, or -1 when no file has it."""
        return self._numbers.get(value, -1)


@dataclass(frozen=True, slots=True)
class Words:
    """The vocabularies of one index."""

    formats: Vocabulary = field(default_factory=Vocabulary)
    languages: Vocabulary = field(default_factory=Vocabulary)
    reasons: Vocabulary = field(default_factory=Vocabulary)


@dataclass(frozen=True)
class Catalogue:
    """The known folders and files of one root at one moment.

    Attributes:
        keys: of the files, ascending.
        facts: one row a file, in the order of `keys`.
        folder_keys: of the folders, ascending; the root is b"".
        folder_facts: one row a folder.
        words: what the numbers in `format`, `language` and `reason` stand for.
        complete: whether the whole root has been listed at least once.
        life: names the sidecar whose ids these are; one that was begun anew gives other ids.
        drops: how often signatures of files had been dropped; where it is more often by now, some of these files have
            none any more, though they may be as they were.
    """

    keys: list[bytes]
    facts: Facts
    folder_keys: list[bytes]
    folder_facts: Facts
    words: Words
    complete: bool = False
    life: str = ""
    drops: int = 0

    @classmethod
    def empty(cls) -> Catalogue:
        """Return the catalogue of a root nothing is known of."""
        return cls([], np.empty(0, FACTS), [], np.empty(0, FOLDER_FACTS), Words())

    def __len__(self) -> int:
        return len(self.keys)

    def path(self, index: int) -> RelPath:
        """Return the path of a file by its place."""
        return key_path(self.keys[index])

    def index(self, path: bytes) -> int:
        """Return the place of the file at `path`, or -1."""
        key = path_key(path)
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else -1

    def folder_index(self, path: bytes) -> int:
        """Return the place of the folder at `path` among the folders, or -1."""
        key = path_key(path)
        at = bisect_left(self.folder_keys, key)
        return at if at < len(self.folder_keys) and self.folder_keys[at] == key else -1

    def below(self, scope: bytes) -> tuple[int, int]:
        """Return the range of files at or below `scope`."""
        return _range_below(self.keys, scope)

    def folders_below(self, scope: bytes) -> tuple[int, int]:
        """Return the range of folders at or below `scope`."""
        return _range_below(self.folder_keys, scope)

    def format(self, index: int) -> TextFormat:
        """Return how the file at this place spells its text."""
        text_format: TextFormat = self.words.formats.value(int(self.column("format")[index]))
        return text_format

    def language(self, index: int) -> str:
        """Return the language of the file at this place, "" when unknown."""
        language: str = self.words.languages.value(int(self.facts["language"][index]))
        return language

    def reason(self, index: int) -> str:
        """Return why the file at this place was skipped, "" when it was not."""
        reason: str = self.words.reasons.value(int(self.facts["reason"][index]))
        return reason

    def fingerprint(self, index: int) -> Fingerprint:
        """Return the stat part of the fingerprint of the file at this place."""
        row = self.facts[index]
        device, inode, size, mtime_ns, ctime_ns = (int(row[name]) for name in STAT_FIELDS)
        return Fingerprint(device, inode, size, mtime_ns, ctime_ns)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return one column of the facts with its values side by side, for questions that look at every file.

        Of 78,000 files it takes them 5 us, through rows of 74 bytes 160.
        """
        column = self._columns.get(name)
        if column is None:
            column = np.ascontiguousarray(self.facts[name])
            column.flags.writeable = False
            self._columns[name] = column
        return column

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {}

    @cached_property
    def places_by_key(self) -> dict[bytes, int]:
        """The place of each file by its key, for meeting many of them."""
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def _order_by_id(self) -> Indices:
        return np.argsort(self.facts["id"], kind="stable")

    @cached_property
    def _sorted_ids(self) -> npt.NDArray[np.int64]:
        ids: npt.NDArray[np.int64] = self.facts["id"][self._order_by_id]
        return ids

    def places(self, ids: npt.NDArray[np.integer[Any]]) -> Indices:
        """Return the places of the files with these ids; ids that are gone are left out."""
        found = self.places_of(ids)
        there: Indices = found[found >= 0]
        return there

    def places_of(self, ids: npt.ArrayLike) -> Indices:
        """Return the place of each of the files with these ids, -1 for one that is gone."""
        wanted = np.asarray(ids, np.int64)
        if not len(self.keys):
            return np.full(len(wanted), -1, np.intp)
        sorted_ids = self._sorted_ids
        at = np.minimum(np.searchsorted(sorted_ids, wanted), len(sorted_ids) - 1)
        places: Indices = np.where(sorted_ids[at] == wanted, self._order_by_id[at], -1)
        return places

    def place(self, file: FileId) -> int:
        """Return the place of the file with this id, or -1."""
        found = self.places(np.array([file], np.int64))
        return int(found[0]) if len(found) else -1

    def count(self, state: FileState) -> int:
        """Return how many files are in a state."""
        return int(np.count_nonzero(self.facts["state"] == state))

    def with_facts(self, changed: Facts) -> Catalogue:
        """Return the catalogue in which the files of these rows, found by id, have these facts."""
        facts = self.facts.copy()
        places = self.places_of(changed["id"])
        facts[places[places >= 0]] = changed[places >= 0]
        return self._with_same_keys(replace(self, facts=facts))

    def with_drops(self, drops: int) -> Catalogue:
        """Return the same catalogue, known when signatures had been dropped so often."""
        return self if drops == self.drops else self._with_same_keys(replace(self, drops=drops))

    def _with_same_keys(self, following: Catalogue) -> Catalogue:
        # the same ids in the same order: what was sorted stays so
        vars(following).update({name: vars(self)[name] for name in _OF_KEYS if name in vars(self)})
        return following

    def completed(self) -> Catalogue:
        """Return the same catalogue, said to hold the whole root."""
        return replace(self, complete=True)

    def without(self, files: Iterable[int], folders: Iterable[int] = ()) -> Catalogue:
        """Return the catalogue without the files and folders of these ids."""
        keep = ~np.isin(self.facts["id"], np.fromiter(files, np.int64))
        keep_folders = ~np.isin(self.folder_facts["id"], np.fromiter(folders, np.int64))
        return replace(
            self,
            keys=[key for key, kept in zip(self.keys, keep.tolist(), strict=True) if kept],
            facts=self.facts[keep],
            folder_keys=[key for key, kept in zip(self.folder_keys, keep_folders.tolist(), strict=True) if kept],
            folder_facts=self.folder_facts[keep_folders],
        )

    def with_moved(self, folders: Iterable[tuple[int, bytes]], files: Iterable[tuple[int, bytes]]) -> Catalogue:
        """Return the catalogue in which these folders and files, as (id, key), stand under these keys."""
        moved = dict(files)
        keys, facts = _moved(self.keys, self.facts, moved)
        folder_keys, folder_facts = _moved(self.folder_keys, self.folder_facts, dict(folders))
        for key in moved.values():
            facts["hidden"][bisect_left(keys, key)] = is_hidden(key_path(key))
        return replace(self, keys=keys, facts=facts, folder_keys=folder_keys, folder_facts=folder_facts)

    def with_added(
        self,
        keys: list[bytes],
        facts: Facts,
        folder_keys: list[bytes] | None = None,
        folder_facts: Facts | None = None,
        *,
        complete: bool | None = None,
    ) -> Catalogue:
        """Return the catalogue with more files and folders, which it does not have yet, in any order."""
        all_keys, all_facts = _merge(self.keys, self.facts, keys, facts)
        all_folder_keys, all_folder_facts = self.folder_keys, self.folder_facts
        if folder_keys and folder_facts is not None:
            all_folder_keys, all_folder_facts = _merge(self.folder_keys, self.folder_facts, folder_keys, folder_facts)
        whole = self.complete if complete is None else complete
        return replace(
            self,
            keys=all_keys,
            facts=all_facts,
            folder_keys=all_folder_keys,
            folder_facts=all_folder_facts,
            complete=whole,
        )


_OF_KEYS = ("_order_by_id", "_sorted_ids", "places_by_key")
"""What a catalogue knows once for its keys and ids, whatever its other facts are."""


def _moved(keys: list[bytes], facts: Facts, moved: dict[int, bytes]) -> tuple[list[bytes], Facts]:
    renamed = [moved.get(row, key) for row, key in zip(facts["id"].tolist(), keys, strict=True)]
    order = sorted(range(len(renamed)), key=renamed.__getitem__)
    return [renamed[at] for at in order], facts[order]


def _merge(keys: list[bytes], facts: Facts, more_keys: list[bytes], more: Facts) -> tuple[list[bytes], Facts]:
    if not more_keys:
        return keys, facts
    all_keys = keys + more_keys
    order = sorted(range(len(all_keys)), key=all_keys.__getitem__)
    return [all_keys[at] for at in order], np.concatenate([facts, more])[order]


def _range_below(keys: list[bytes], scope: bytes) -> tuple[int, int]:
    if not scope:
        return 0, len(keys)
    key = path_key(scope)
    return bisect_left(keys, key), bisect_left(keys, key + b"\1")
