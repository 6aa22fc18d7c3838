"""The state of one index in numbers, for `index_status` and `linedex status`."""

from __future__ import annotations

import os

import apsw
import numpy as np

from linedex.answers import IndexStatus, Phase, PhaseProgress
from linedex.build.progress import Progress
from linedex.files.roots import Root
from linedex.model import FileState
from linedex.store import checkpoints, signatures, symbols
from linedex.store import files as file_rows
from linedex.store.catalogue import Catalogue
from linedex.store.database import Sidecar


def status_of(
    root: Root,
    catalogue: Catalogue,
    progress: Progress,
    db: apsw.Connection | None,
    sidecar: Sidecar,
    freshness: str,
    problems: tuple[str, ...],
    *,
    waiting: bool,
    mismatches: int = 0,
) -> IndexStatus:
    """Return the state of an index.

    Args:
        root: its folder.
        catalogue: what it knows.
        progress: of the build that runs or ran last.
        db: a reading connection, None when the stored index cannot be used.
        sidecar: where it is stored.
        freshness: how changes are noticed.
        problems: what is wrong.
        waiting: whether a build has been asked for and is not done.
        mismatches: checkpoints of large files that were found changed.
    """
    phase, phases = progress.snapshot()
    stored = file_rows.phase_seconds(db) if db is not None else {}
    phases = {Phase(name): PhaseProgress(seconds=seconds) for name, seconds in stored.items()} | phases
    if phase is Phase.IDLE and (waiting or not stored):
        phase = Phase.WAITING
    facts = catalogue.facts
    indexed = facts["state"] == FileState.INDEXED
    skipped: dict[str, int] = {}
    for number, count in zip(
        *np.unique(facts["reason"][facts["state"] == FileState.SKIPPED], return_counts=True), strict=True
    ):
        skipped[catalogue.words.reasons.value(int(number))] = int(count)
    total, by_state = symbols.counts(db) if db is not None else (0, {})
    symbol_skipped: dict[str, int] = {}
    for (state, note), count in by_state.items():
        if state == FileState.SKIPPED:
            reason = note.partition(":")[0] if not note.startswith("not outlined:") else _kind_of(note)
            symbol_skipped[reason] = symbol_skipped.get(reason, 0) + count
    verified, of_large = checkpoints.counts(db) if db is not None else (0, 0)
    return IndexStatus(
        root=os.fsdecode(root.path),
        phase=phase,
        progress=phases,
        files=len(catalogue),
        indexed=int(np.count_nonzero(indexed)),
        pending=catalogue.count(FileState.PENDING),
        skipped=skipped,
        text_bytes=int(facts["size"][indexed].sum()),
        symbols=total,
        symbol_files=sum(count for (state, _), count in by_state.items() if state == FileState.INDEXED),
        symbol_pending=sum(count for (state, _), count in by_state.items() if state == FileState.PENDING),
        symbol_skipped=symbol_skipped,
        sidecar_bytes=sidecar.size(),
        signature_bytes=signatures.signature_bytes(db) if db is not None else 0,
        writer=sidecar.writer,
        freshness=freshness,
        problems=problems,
        checkpoints=of_large,
        checkpoints_verified=verified,
        checkpoint_mismatches=mismatches,
    )


def _kind_of(note: str) -> str:
    """Return a note without its figures, so that files left out for one reason are counted together."""
    text = note.removeprefix("not outlined:").strip()
    return "over the size limit" if "over the limit of" in text else text.partition("(")[0].strip()
