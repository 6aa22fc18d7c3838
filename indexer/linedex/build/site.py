"""Where a phase of a build works: what all of them are given."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from linedex.build.progress import Progress
from linedex.limits import Limits
from linedex.store.catalogue import Catalogue
from linedex.store.database import Sidecar


@dataclass(frozen=True, slots=True)
class Site:
    """What a phase reads, writes and heeds.

    Attributes:
        root: the folder that is indexed.
        sidecar: where the index is stored; this process writes it.
        limits: sizes and times.
        progress: told what is done.
        publish: given every new catalogue.
        stop: set when the build is to end at the next commit.
        nice: how much workers yield to other processes, 0 to 19.
    """

    root: str
    sidecar: Sidecar
    limits: Limits
    progress: Progress
    publish: Callable[[Catalogue], None]
    stop: threading.Event
    nice: int
