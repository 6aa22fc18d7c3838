"""Edits of large files by somebody who says what was edited: only the blocks that were touched are read again.

Promise: the blocks before the first splice stay, those behind it are shifted by the bytes and lines that it added, and
what is stored afterwards is what the present bytes of the touched blocks say. The file has the size that the splices
make, and the ends that they leave alone; where it has not, or the touched text shows another format, nothing is stored
and the file is read anew as any that was rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from linedex.build.analyze import large_language
from linedex.build.columns import BLOCK_SPARSE, OVERLAP, WHOLE_LIMIT, joined_column
from linedex.build.log_splicing import EditedText, splice_log
from linedex.build.ranges import RangeRead, ReadRange, read_range
from linedex.build.site import Site
from linedex.content.lines import LineEnds, Offsets, cut_ranges
from linedex.content.symbols import has_outline
from linedex.files import fingerprint as fingerprints
from linedex.files import text_format
from linedex.files.roots import Root
from linedex.model import Change, Fingerprint, LineCount, RelPath, TextFormat
from linedex.store import checkpoints, stages
from linedex.store import files as file_rows
from linedex.store.blocks import BlockColumns, BlockEditor, BlockRun, Flags, Replacement, joined
from linedex.store.catalogue import Catalogue
from linedex.store.files import TextFacts
from linedex.store.signatures import ColumnWriter, take_column


@dataclass(frozen=True, slots=True)
class Edit:
    """What somebody did to a file.

    Attributes:
        path: the file.
        before: its fingerprint before.
        splices: in ascending order, first byte and byte after the last of what was replaced, and how many bytes
            stand there now; offsets are of the bytes before.
    """

    path: RelPath
    before: Fingerprint
    splices: tuple[tuple[int, int, int], ...]

    @property
    def shift(self) -> int:
        """The bytes by which the file became longer."""
        return sum(length - (end - start) for start, end, length in self.splices)


@dataclass(frozen=True, slots=True)
class _Region:
    """Adjoining blocks that splices touch: their places, their bytes now, and by how much what is before them moved."""

    first: int
    last: int
    low: int
    high: int
    moved: int
    shift: int


def take_in(site: Site, catalogue: Catalogue, edit: Edit) -> Catalogue | None:
    """Store what an edit changed; return the catalogue afterwards, None when the file is to be read anew.

    Raises:
        LinedexError: the file cannot be opened.
        OSError: it cannot be read.
    """
    place = catalogue.index(edit.path)
    if place < 0 or not edit.splices:
        return None
    db = site.sidecar.write
    old = file_rows.stored_text(db, catalogue.facts["id"][place].item())
    if old is None or fingerprints.change(old.fingerprint, edit.before) is not Change.UNCHANGED:
        return None
    if stages.of_file(db, old.file) is not None:
        return None
    size = old.fingerprint.size + edit.shift
    editor = BlockEditor(db, old.file, sparse=BLOCK_SPARSE)
    if not editor.runs or size <= site.limits.large_file or edit.splices[0][0] < old.format.bom:
        return None
    regions = _regions(editor.runs, old.fingerprint.size, edit.splices)
    if not regions or sum(region.high - region.low for region in regions) > site.limits.commit_bytes:
        return None
    descriptor = Root(site.root).open(edit.path)
    try:
        return _Splicing(site, descriptor, edit, old, size).store(catalogue, editor, regions)
    finally:
        os.close(descriptor)


class _Splicing:
    def __init__(self, site: Site, descriptor: int, edit: Edit, old: TextFacts, size: int) -> None:
        self._site = site
        self._descriptor = descriptor
        self._edit = edit
        self._old = old
        self._size = size

    def store(self, catalogue: Catalogue, editor: BlockEditor, regions: Sequence[_Region]) -> Catalogue | None:
        facts = self._facts(regions)
        if facts is None:
            return None
        read: list[RangeRead] = []
        changes: list[Replacement] = []
        for region in regions:
            found = self._read_region(region, facts, begins=_begins_range(editor.runs, region.first))
            blocks = [one.blocks for one in found if one.blocks is not None]
            if len(blocks) < len(found):
                return None
            there = joined(blocks).shifted(-region.moved)
            growing = region.high == self._size
            changes.append(Replacement(region.first, region.last, there, region.shift, growing))
            read += found
        if not fingerprints.begins_with(self._descriptor, facts.fingerprint):
            return None
        return self._commit(catalogue, editor, facts, changes, read)

    def _commit(
        self,
        catalogue: Catalogue,
        editor: BlockEditor,
        facts: TextFacts,
        changes: Sequence[Replacement],
        read: Sequence[RangeRead],
    ) -> Catalogue:
        db, file = self._site.sidecar.write, facts.file
        with self._site.sidecar.transaction():
            # from the last one on, so that the places and bytes of those before stay what they were
            moved = sum(editor.replace(change) for change in reversed(changes))
            editor.save()
            splice_log(
                db, file, EditedText(self._read, self._size, facts.format, self._edit.splices), self._site.limits
            )
            checkpoints.splice(db, file, self._edit.splices, facts.seen_ns)
            lines = facts.lines + moved
            if changes[-1].growing:
                lines = _last_line(editor.runs[-1], changes[-1].blocks)
            column = joined_column(take_column(db, file), [one.whole for one in read])
            columns = ColumnWriter(db, self._site.limits)
            columns.add(file, *column)
            changed = file_rows.set_text(db, catalogue, [replace(facts, lines=LineCount(lines))])
            columns.flush(pack=columns.worth_packing())
        catalogue = catalogue.with_facts(changed)
        self._site.publish(catalogue)
        return catalogue

    def _read(self, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor, max(0, min(size, self._size - offset)), offset)

    def _facts(self, regions: Sequence[_Region]) -> TextFacts | None:
        """Return the row of the edited file, None when it is not what the splices make."""
        mark, seen = fingerprints.settled(self._descriptor)
        old = self._old.fingerprint
        if mark.size < self._size:
            return None
        head, tail = self._edge(0), self._edge(self._size)
        splices = self._edit.splices
        if splices[0][0] >= fingerprints.EDGE_BYTES and head != old.head:
            return None
        if splices[-1][1] <= old.size - fingerprints.EDGE_BYTES and tail != old.tail:
            return None
        spelling = self._spelling(regions)
        if spelling is None:
            return None
        language = large_language(self._read, self._size, self._edit.path, spelling)
        return replace(
            self._old,
            fingerprint=replace(mark, size=self._size, head=head, tail=tail),
            seen_ns=seen,
            format=spelling,
            language=language,
            outlined=has_outline(language),
        )

    def _edge(self, end: int) -> bytes:
        edge = min(fingerprints.EDGE_BYTES, self._size)
        return fingerprints.digest(self._read(max(0, end - edge), edge))

    def _spelling(self, regions: Sequence[_Region]) -> TextFormat | None:
        old = self._old.format
        ends = LineEnds.of(old)
        parts = [(region.low, region.high) for region in regions]
        now = text_format.edited(self._read, old, parts, self._old.fingerprint.size, self._size)
        aligned = all(region.shift % ends.width == 0 for region in regions)
        return now if now is not None and aligned and LineEnds.of(now) == ends else None

    def _read_region(self, region: _Region, facts: TextFacts, *, begins: bool) -> list[RangeRead]:
        limits = self._site.limits
        ends = LineEnds.of(facts.format)
        return [
            read_range(
                ReadRange(
                    *(self._site.root, facts.file, self._edit.path, facts.fingerprint, facts.format, low, high),
                    *(begins or low > region.low, self._size <= WHOLE_LIMIT, limits),
                )
            )
            for low, high in cut_ranges(self._read, region.low, region.high, ends, limits)
        ]


def _regions(runs: Sequence[BlockRun], size: int, splices: Sequence[tuple[int, int, int]]) -> list[_Region]:
    """Return the regions that splices of a file of `size` bytes touch; none when nothing would be left."""
    starts: Offsets = np.concatenate([run.starts for run in runs])
    continues: Flags = np.concatenate([run.continues for run in runs])
    found: list[_Region] = []
    moved = 0
    for start, end, length in splices:
        first = max(0, int(np.searchsorted(starts, start, side="right")) - 1)
        # a block that ends inside a line was hashed with what follows it
        hashed = np.flatnonzero(continues[: first + 1] & (starts[: first + 1] + OVERLAP > start))
        if len(hashed):
            first = int(hashed[0]) - 1
        last = max(first + 1, int(np.searchsorted(starts, max(start, end - 1), side="right")))
        shift = length - (end - start)
        before = moved
        if found and first <= found[-1].last:
            joining = found.pop()
            first, last, before = joining.first, max(joining.last, last), joining.moved
            shift += joining.shift
        while True:
            low = int(starts[first])
            high = int(starts[last]) if last < len(starts) else size
            if high + shift > low:
                break
            # nothing is left of these blocks: a neighbour takes their place
            if last < len(starts):
                last += 1
            elif first > 0:
                first -= 1
            else:
                return []
        found.append(_Region(first, last, low + before, high + before + shift, before, shift))
        moved = before + shift
    return _disjoint(found)


def _disjoint(regions: list[_Region]) -> list[_Region]:
    """Return the regions if none reaches into another, else none: rare enough to read the file anew."""
    apart = all(one.last <= other.first for one, other in pairwise(regions))
    return regions if apart else []


def _begins_range(runs: Sequence[BlockRun], block: int) -> bool:
    for run in runs:
        if block < len(run):
            return bool(run.ranges[block])
        block -= len(run)
    return False


def _last_line(run: BlockRun, blocks: BlockColumns) -> int:
    return int(run.lines[-1]) + int(blocks.line_ends[-1]) - bool(blocks.ended[-1])
