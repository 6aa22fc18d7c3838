"""Memory given back to the system, and how often it is looked through.

Promise: what was freed here and lies in pages of its own is the system's again. The allocator of glibc keeps what was
freed last at the end of its heap; after a build that is tens of megabytes which an idle process would hold for good.
"""

from __future__ import annotations

import ctypes
import gc

_COLLECT_AFTER = 10_000, 10, 50


def collect_seldom() -> None:
    """Let this process look for what only refers to itself less often; for programs that keep or build an index.

    By Python's own thresholds listing 78,579 files makes it look through all objects some ten times, and each of these
    looks stops every thread for up to 116 ms. There is next to nothing to find, and an index that has nothing to do
    collects by itself.
    """
    gc.set_threshold(*_COLLECT_AFTER)


def give_back() -> None:
    """Free what only refers to itself, and give memory back where the allocator lets itself be asked.

    Takes 0.1 s with the catalogue of 78,579 files, so it is for moments when nothing is to be done.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
