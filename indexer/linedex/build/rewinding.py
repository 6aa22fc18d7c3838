"""A large file as it was known before a byte: what is kept of it when what stands behind is not believed any more.

Promise: what `rewound` gives is what the index would know of a file that ends where a line does, at or before that
byte, and whose bytes up to there are the present ones. Where that cannot be told without reading them, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linedex.content.lines import Reader
from linedex.files import fingerprint as fingerprints
from linedex.model import ByteOffset, Newline
from linedex.store.blocks import BlockRun, cut
from linedex.store.files import TextFacts


def rewound(
    known: TextFacts, runs: Sequence[BlockRun], doubted: int, read: Reader
) -> tuple[TextFacts | None, Sequence[BlockRun]]:
    """Return the row and the blocks of a file as they would be if it ended before byte `doubted`.

    Args:
        known: its row.
        runs: of its blocks.
        doubted: byte from which on it may hold anything.
        read: reads (offset, size) bytes of the file as it is now.

    Returns:
        None and no blocks when the file is to be read as a whole: when its encoding was recognised by bytes that may
        be gone, its lines end in more than one way, or less than two blocks are left.
    """
    spelling = known.format
    certain = (spelling.encoding == "utf-8" or spelling.bom > 0) and spelling.newline in (Newline.LF, Newline.CRLF)
    if not runs or not certain:
        return None, ()
    starts, continues = (np.concatenate([getattr(run, name) for run in runs]) for name in ("starts", "continues"))
    whole = np.flatnonzero(~continues & (starts <= doubted))
    block = int(whole[-1])
    if block < 1:
        return None, ()
    end = ByteOffset(int(starts[block]))
    edge = min(fingerprints.EDGE_BYTES, end)
    tail = fingerprints.digest(read(end - edge, edge))
    mark = replace(known.fingerprint, size=end, tail=tail)
    return replace(known, fingerprint=mark, format=replace(spelling, final_newline=True)), cut(runs, block)[0]
