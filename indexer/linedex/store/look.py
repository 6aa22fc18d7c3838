"""What a look at the disk said against the catalogue: which rows still tell the truth.

Made by `build.sync`, read by queries; a file the look does not vouch for is read, whatever the index says of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linedex.model import Fingerprint, RelPath
from linedex.store.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file on disk that the catalogue does not have: its key, its stat, and whether it is hidden or ignored."""

    key: bytes
    stat: Fingerprint
    hidden: bool = False
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """The files at or below one path, as they were a moment ago.

    Attributes:
        catalogue: what was looked at.
        scope: the path; b"" is the whole root.
        low: place of the first known file in scope.
        high: place after the last one.
        current: for each of them, whether the catalogue's row speaks of the bytes on disk.
        gone: for each of them, whether it is no longer there.
        new: files that are there and not in the catalogue, in path order.
        seconds: how long the look took.
        problems: folders that could not be read, in words.
        derived: what was worked out from it, by what was asked. Looks of one moment share it.
    """

    catalogue: Catalogue
    scope: RelPath
    low: int
    high: int
    current: npt.NDArray[np.bool_]
    gone: npt.NDArray[np.bool_]
    new: tuple[NewFile, ...] = ()
    seconds: float = 0.0
    problems: tuple[str, ...] = ()
    derived: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def changed(self) -> bool:
        """Whether the index has something to learn from it."""
        return bool(self.new) or not bool(self.current.all())

    @property
    def teaches(self) -> bool:
        """Whether the index has something to learn from it that it is not to learn by the names of files."""
        known = self.derived.get("teaches")
        if known is None:
            named = self.catalogue.column("ignored")[self.low : self.high]
            known = self.derived["teaches"] = bool(self.new) or not bool((self.current | named).all())
        return bool(known)

    def keys(self) -> list[bytes]:
        """Return the keys of all files that are there, ascending."""
        known = self.catalogue.keys[self.low : self.high]
        there = [key for key, gone in zip(known, self.gone.tolist(), strict=True) if not gone]
        return sorted(there + [new.key for new in self.new]) if self.new else there

    def everywhere_current(self) -> npt.NDArray[np.bool_]:
        """Return `current` for each place of the catalogue; false outside the scope."""
        everywhere = np.zeros(len(self.catalogue), np.bool_)
        everywhere[self.low : self.high] = self.current
        return everywhere
