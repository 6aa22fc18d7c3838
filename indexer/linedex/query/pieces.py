"""Files as pieces of text for a pattern to be matched on: all that may hold a hit, read now.

Small files are read whole. Of a large one whose blocks the index knows only the stretches that pass are read, and what
it has grown by since; else all of it, in windows of whole lines. A line longer than a window is a piece of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import apsw

from linedex.answers import SearchRequest
from linedex.content.folding import lf_text
from linedex.content.grams import BLOCK_GRAM
from linedex.content.lines import LineEnds, Reader
from linedex.errors import LinedexError, NotAFile, NotFound
from linedex.files import fingerprint as fingerprints
from linedex.files import holes, text_format
from linedex.files.compressed.codec import is_named_compressed
from linedex.files.compressed.decoding import TooDense
from linedex.files.fingerprint import from_stat
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.later import later
from linedex.limits import Limits
from linedex.model import FileId, Fingerprint, LineNumber, SkipReason, TextFormat
from linedex.query.candidates import candidate_blocks
from linedex.query.decoded import DecodedText, TooLate, decoded_text
from linedex.query.gram_query import GramQuery, Op
from linedex.query.indexed_part import IndexedPart, indexed_part
from linedex.query.long_lines import LongLine
from linedex.query.plan import plan_request
from linedex.query.progress import Progress
from linedex.query.windows import Stretch, Window, passing_stretches, windows
from linedex.store.catalogue import Catalogue, key_path

if TYPE_CHECKING:
    from linedex.content.logs.selection import Selection
    from linedex.query import log_choice, surveys
    from linedex.query.log_choice import ChosenLines, LargeChoice
else:
    log_choice = later("linedex.query.log_choice")
    surveys = later("linedex.query.surveys")

FIRST_PLACE = (0, 1)
"""Where a file begins: its first byte, in line 1."""


class Entry(NamedTuple):
    """A file to be verified. As a named tuple, like `Piece`, it is made in a third of the time of a frozen dataclass.

    Attributes:
        key: its key.
        place: its place in the catalogue, -1 when it is new.
        known: the stat (inode, size, mtime and ctime in ns) at which the index knows its text, None when it does not.
    """

    key: bytes
    place: int = -1
    known: tuple[int, int, int, int] | None = None


@dataclass
class Outcome:
    """What befell the files of one query besides hits.

    Attributes:
        skipped: files that could not be answered, by reason.
        notes: sentences on what is missing.
        late: whether time ran out.
        sequential: compressed files that were decoded from their beginning.
    """

    skipped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    late: bool = False
    sequential: int = 0

    def skip(self, reason: str) -> None:
        """Count one file that could not be answered."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def note(self, sentence: str) -> None:
        """Remember a sentence on what is missing, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


class Piece(NamedTuple):
    """Whole lines of a file as they are matched.

    Attributes:
        text: UTF-8, lines ended by LF; lines of context may stand before `core` and from `core_end` on.
        first_line: number of the line at `core`.
        core: offset of the first line that may be a hit.
        core_end: offset after the last one.
        chosen: the lines that are asked for by time and level, None for all.
    """

    text: bytes
    first_line: LineNumber
    core: int
    core_end: int
    chosen: ChosenLines | None = None

    def asks_for(self, line: LineNumber) -> bool:
        """Return whether a line may be a hit."""
        return self.chosen is None or line in self.chosen


class Pieces:
    """Reads files of one root for one request.

    Attributes:
        outcome: what befell the files so far.
        place: byte and line number of the piece of the last file that was looked at last.
    """

    def __init__(
        self,
        root: Root,
        catalogue: Catalogue,
        db: apsw.Connection | None,
        request: SearchRequest,
        limits: Limits,
        deadline: float,
        progress: Progress,
        selection: Selection | None = None,
        *,
        multiline: bool = False,
        timed: bool = False,
    ) -> None:
        """Read nothing yet.

        Args:
            root: the folder the files are below.
            catalogue: what the index knows of them.
            db: a reading connection for the blocks of large files, None to do without.
            request: what is asked.
            limits: sizes.
            deadline: `time.monotonic` at which to give up.
            progress: asked before each file and window whether to go on.
            selection: the times and levels that are asked for, None for all lines.
            multiline: whether matches may span lines; then it is said which files come in several pieces.
            timed: whether files without times are left out even if no time is asked for.
        """
        self._root = root
        self._catalogue = catalogue
        self._db = db
        self._context = request.context
        self._limits = limits
        self._deadline = deadline
        self._progress = progress
        self._multiline = multiline
        self.outcome = Outcome()
        self._filter = None
        if selection is not None:
            self._filter = log_choice.LogFilter(selection, self.outcome.skip, deadline, self._progress, timed=timed)
        self.place = FIRST_PLACE
        self._request = request

    @cached_property
    def _plan(self) -> GramQuery:
        return plan_request(self._request, BLOCK_GRAM)

    def go_on(self, db: apsw.Connection | None, deadline: float) -> None:
        """Read the index through `db` from now on, and give up at `deadline`."""
        self._db, self._deadline = db, deadline
        self.outcome.late = False
        if self._filter is not None:
            self._filter.deadline = deadline

    def of(
        self, entry: Entry, *, context: bool = True, place: tuple[int, int] = FIRST_PLACE
    ) -> Iterator[Piece | LongLine]:
        """Yield the text of a file piece by piece from `place` on, leaving out what cannot hold a hit.

        Raises:
            Cancelled: nobody waits for it any more.
        """
        self._progress.check()
        self.place = FIRST_PLACE
        try:
            descriptor = self._root.open(key_path(entry.key))
        except LinedexError as error:
            self.outcome.skip(_reason(error))
            return
        text: DecodedText | None = None
        try:
            status = os.fstat(descriptor)
            text = self._decoded(entry, descriptor)
            size = status.st_size if text is None else text.size
            if size <= self._limits.large_file:
                data = _read_whole(descriptor, size) if text is None else text.read(0, size)
                spelling = self._known(entry, status) or text_format.detect_bytes(data)
                if spelling.binary:
                    self.outcome.skip(SkipReason.BINARY)
                    return
                lines = lf_text(data, spelling)
                chosen = None
                if self._filter is not None:
                    log = surveys.OpenLog(
                        lambda at, count: data[at : at + count], len(data), from_stat(status), spelling, self._limits
                    )
                    chosen = self._filter.small(log, lines)
                yield Piece(lines, LineNumber(1), 0, len(lines), chosen)
                return
            anew = yield from self._large_pieces(entry, descriptor, status, place, text, context=context)
            if anew and text is not None:
                text.close()
                text = self._decoded(entry, descriptor)
                place = max(place, self.place)
                yield from self._large_pieces(entry, descriptor, status, place, text, context=context)
        except OSError:
            self.outcome.skip(SkipReason.UNREADABLE)
        except TooDense:
            self.outcome.skip(SkipReason.RATIO)
        except TooLate:
            self.outcome.late = True
        finally:
            if text is not None:
                if text.broken >= 0:
                    self.outcome.note(
                        f"{display(key_path(entry.key))} is damaged at {text.broken:,} bytes of its text, and what"
                        " follows was not searched"
                    )
                text.close()
            os.close(descriptor)

    def _decoded(self, entry: Entry, descriptor: int) -> DecodedText | None:
        """Return the text of a compressed file, None for another; what of it cannot be searched is noted."""
        path = key_path(entry.key)
        if not is_named_compressed(path):
            return None
        known = None
        if self._db is not None and entry.place >= 0:
            known = self._db, FileId(int(self._catalogue.facts["id"][entry.place]))
        text = decoded_text(descriptor, path, known, self._limits, self._deadline)
        if text is None:
            return None
        if text.damage:
            self.outcome.note(f"{display(path)} is truncated at {text.size:,} bytes of its text: {text.damage}")
        elif not text.whole:
            self.outcome.note(
                f"{display(path)} is not indexed yet: of its text the first {text.size:,} bytes were decoded in time"
            )
        self.outcome.sequential += text.sequential
        return text

    def _known(self, entry: Entry, status: os.stat_result) -> TextFormat | None:
        """Return how the file spells text if the index knows its present bytes."""
        if entry.known != (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns):
            return None
        return self._catalogue.format(entry.place)

    def _large_pieces(
        self,
        entry: Entry,
        descriptor: int,
        status: os.stat_result,
        place: tuple[int, int],
        text: DecodedText | None,
        *,
        context: bool,
    ) -> Generator[Piece | LongLine, None, bool]:
        """Yield the pieces of a large file; return whether those from `self.place` on are to be asked for anew.

        That is so when the text of a compressed file proves shorter than the file declares.
        """
        size = status.st_size if text is None else text.size

        def read(offset: int, length: int) -> bytes:
            within = max(0, min(length, size - offset))
            return holes.pread(descriptor, within, offset) if text is None else text.read(offset, within)

        part = self._indexed_part(entry, from_stat(status), read) if text is None else text.part
        reader: Reader = part.reading(read, size) if part else read
        known = part.format if part else self._known(entry, status)
        spelling = known or text_format.detect(read, size)
        if text is not None and text.broken >= 0:
            return True
        if spelling.binary:
            self.outcome.skip(SkipReason.BINARY)
            return False
        if self._multiline and size > self._limits.window_bytes:
            self.outcome.note(
                f"{display(key_path(entry.key))} is matched in pieces of {self._limits.window_bytes:,} bytes: a match"
                " of many lines that stands across two pieces is not seen"
            )
        ends = LineEnds.of(spelling)
        choice: LargeChoice | None = None
        stretches = self._stretches(part, size, spelling)
        if self._filter is not None:
            log = surveys.OpenLog(reader, size, fingerprints.of(descriptor), spelling, self._limits)
            choice = self._filter.large(log, part, self._db)
            if choice is None:
                self.outcome.late = True
                return False
            stretches = choice.within(stretches)
        for whole in stretches:
            if whole.end <= place[0]:
                continue
            stretch = Stretch(place[0], whole.end, place[1]) if whole.start < place[0] else whole
            line = LineNumber(stretch.first_line)
            going = windows(reader, stretch, ends, self._limits)
            for window in going:
                if not window.opens:
                    continue  # the rest of a long line that nobody wanted to see
                self.place = (window.start, line)
                self._progress.check()
                if time.monotonic() > self._deadline:
                    self.outcome.late = True
                    return False
                if window.divided:
                    long_line = LongLine(line, reader, window, going, replace(spelling, bom=0))
                    if choice is not None:
                        long_line = replace(long_line, chosen=choice.long_line(window.start, line))
                    if long_line.chosen is None or line in long_line.chosen:
                        yield long_line
                    if text is not None and text.broken >= 0:
                        return False  # what there is of it was given
                    line = LineNumber(line + 1)
                    continue
                data = reader(window.start, window.end - window.start)
                if text is not None and text.broken >= 0:
                    return True
                piece = self._whole_lines(reader, window, data, line, spelling, ends, context=context)
                if choice is not None:
                    core = piece.text[piece.core : piece.core_end]
                    piece = piece._replace(chosen=choice.lines(window.start, core, line, window.end))
                yield piece
                if choice is not None and choice.hopeless:
                    return False
                line = LineNumber(line + ends.count(data))
        return False

    def _indexed_part(self, entry: Entry, now: Fingerprint, read: Reader) -> IndexedPart | None:
        if self._db is None or entry.place < 0:
            return None
        return indexed_part(self._db, FileId(int(self._catalogue.facts["id"][entry.place])), now, read)

    def _stretches(self, part: IndexedPart | None, size: int, spelling: TextFormat) -> Iterator[Stretch]:
        if part is not None and self._db is not None and self._plan.op is not Op.ALL:
            blocks = candidate_blocks(self._db, part.file, self._plan, grown=part.grown)
            if blocks:
                yield from passing_stretches(blocks, size)
                return
        yield Stretch(spelling.bom, size, 1)

    def _whole_lines(
        self,
        read: Reader,
        window: Window,
        data: bytes,
        line: LineNumber,
        spelling: TextFormat,
        ends: LineEnds,
        *,
        context: bool,
    ) -> Piece:
        inside = replace(spelling, bom=0)
        text = lf_text(data, inside)
        if not (context and self._context):
            return Piece(text, line, 0, len(text))
        # lines around the window, for the context of its first and last hits only
        reach = self._limits.window_overlap - self._limits.window_overlap % ends.width
        lead_start = max(spelling.bom, window.start - reach)
        lead = read(lead_start, window.start - lead_start)
        if lead_start > spelling.bom:
            offsets = ends.ends(lead)
            lead = lead[int(offsets[0]) :] if len(offsets) else b""
        tail = read(window.end, reach)
        offsets = ends.ends(tail)
        tail = tail[: int(offsets[-1])] if len(offsets) else b""
        before, after = lf_text(lead, inside), lf_text(tail, inside)
        return Piece(before + text + after, line, len(before), len(before) + len(text))


def _read_whole(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size) if size else b""
    while len(data) < size and (more := os.read(descriptor, size - len(data))):
        data += more
    return data


def _reason(error: LinedexError) -> SkipReason:
    if isinstance(error, NotFound):
        return SkipReason.VANISHED
    return SkipReason.NOT_REGULAR if isinstance(error, NotAFile) else SkipReason.UNREADABLE
