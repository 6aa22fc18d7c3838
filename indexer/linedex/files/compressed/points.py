"""Seek points: the places of one compressed file where decoding can begin.

Promise: `before` names the last point at or before a decoded offset, so a read decodes at most one spacing more than it
wants. The table takes 18 bytes a point in memory. The windows that gzip needs (32 KiB each) are kept apart, compressed
in groups, and only the group that a read wants is fetched: a file of any size is read with a mebibyte of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from linedex.files.compressed.stream import Start

WINDOW: Final = 32 << 10
"""Bytes of a gzip window; a shorter one is filled up with zeros in front."""
WINDOWS_A_GROUP: Final = 32
POINT: Final = np.dtype([("raw", "<i8"), ("decoded", "<i8"), ("bits", "u1"), ("window", "?")])

Windows: TypeAlias = Callable[[int], bytes]
"""Gives the windows of the group of this number, one behind the other."""


@dataclass(frozen=True)
class Points:
    """The seek points of a file, ascending; the first is its beginning.

    `table` has a row a point: `raw` and `decoded` offset, `bits`, and whether it goes on inside a member, and so has a
    window in its group. `bits` are those of `Start`.
    """

    table: npt.NDArray[np.void]

    @classmethod
    def of(cls, starts: Iterable[tuple[int, int]]) -> Points:
        """Return points where members or frames begin, given as (raw, decoded)."""
        return cls.from_rows((raw, decoded, 0, False) for raw, decoded in starts)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[int, int, int, bool]]) -> Points:
        """Return the points that have these rows."""
        return cls(np.array(list(rows), POINT))

    @classmethod
    def unpacked(cls, packed: bytes) -> Points:
        """Return the points that `packed` made bytes of."""
        return cls(np.frombuffer(zlib.decompress(packed), POINT))

    def below(self, end: int) -> Points:
        """Return the points before a decoded offset, and in any case the first one."""
        return Points(self.table[: max(1, int(np.searchsorted(self.table["decoded"], end)))])

    @property
    def widest(self) -> int:
        """The most text from one point to the next."""
        return int(np.diff(self.table["decoded"]).max(initial=0))

    def packed(self) -> bytes:
        """Return the table as bytes for the sidecar."""
        return zlib.compress(self.table.tobytes())

    def __len__(self) -> int:
        return len(self.table)

    def before(self, offset: int, windows: Windows | None = None) -> Start:
        """Return the last point at or before a decoded offset.

        Args:
            offset: the decoded offset.
            windows: asked for the group that holds its window; None only for points that have none.
        """
        at = int(np.searchsorted(self.table["decoded"], offset, "right")) - 1
        raw, decoded, bits, inside = self.table[at].tolist()
        if not inside:
            return Start(raw, decoded, bits)
        assert windows is not None
        group, place = divmod(at, WINDOWS_A_GROUP)
        return Start(raw, decoded, bits, windows(group)[place * WINDOW : (place + 1) * WINDOW])


def decoded_before(points: Points, offset: int) -> int:
    """Return the decoded offset of the last point at or before an offset."""
    return int(points.table["decoded"][int(np.searchsorted(points.table["decoded"], offset, "right")) - 1])
