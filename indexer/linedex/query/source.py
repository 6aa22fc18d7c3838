"""One open file as a query sees it: its bytes as they are now, how they spell text, what the index knows of them.

Promise: what a `Source` tells (format, lines, hash) is true of the bytes it reads, whatever the index remembers: facts
of the index are taken only when its fingerprint is that of the open file, and otherwise made anew. A large file is
never held whole. A file that is rewritten or cut while it is read is read again (`steadily`), never answered from two
states at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

import apsw

from linedex.content import languages
from linedex.content.folding import utf8_text
from linedex.content.lines import LineEnds, LineIndex, Reader
from linedex.errors import BinaryFile, ChangedWhileRead, Unreadable
from linedex.files import fingerprint as fingerprints
from linedex.files import holes, text_format
from linedex.files.compressed.codec import plain_name
from linedex.files.compressed.decoding import TooDense
from linedex.files.names import display
from linedex.files.roots import Root
from linedex.limits import Limits
from linedex.model import Change, FileId, FileState, Fingerprint, LineCount, RelPath, TextFormat
from linedex.query.decoded import DecodedText, decoded_text
from linedex.query.file_lines import FileLines, OpenText
from linedex.query.indexed_part import IndexedPart, indexed_part
from linedex.query.remembered import Remembered
from linedex.query.revisions import TOKEN_DIGITS, content_hash, revision
from linedex.store import blocks, files
from linedex.store.catalogue import Catalogue
from linedex.store.database import unusable

T = TypeVar("T")

_ATTEMPTS: Final = 5
_LANGUAGE_BYTES: Final = 64 << 10


# True of bytes, not of an index: one memory serves every index of the process.
_Spelling: TypeAlias = tuple[TextFormat, str]
_SPELLINGS: Final = Remembered[_Spelling](512)
_HASHES: Final = Remembered[str](512)


class Source:
    """One open file.

    Attributes:
        path: where it is below its root.
        limits: the bounds of reading it.
        fingerprint: of the state that is being answered from.
        format: how its bytes spell text.
        language: its language, "" when unknown.
        glanced: whether its format is told from places of it, and text of another encoding may stand elsewhere.
        place: its place in the catalogue if the index knows exactly this state of it, else -1.
        lines: its lines, of the state that is being answered from.
    """

    path: RelPath
    limits: Limits
    fingerprint: Fingerprint
    format: TextFormat
    language: str
    place: int
    lines: FileLines

    def __init__(
        self,
        descriptor: int,
        path: RelPath,
        catalogue: Catalogue,
        db: apsw.Connection | None,
        limits: Limits,
        *,
        glance: bool = False,
    ) -> None:
        """Look at the file behind `descriptor`, which stays the caller's to close; see `opened`."""
        self.path = path
        self._glance = glance
        self.glanced = False
        self._text: DecodedText | None = None
        self.limits = limits
        self._descriptor = descriptor
        self._catalogue = catalogue
        self._db = db
        self._look()

    def _look(self) -> None:
        """Take the file's state as it is now."""
        for _ in range(_ATTEMPTS):
            seen_ns = time.time_ns()
            self.fingerprint = fingerprints.of(self._descriptor)
            self._settled = not fingerprints.is_racy(self.fingerprint, seen_ns)
            self.close()
            self._text = self._decoded()
            self._whole: bytes | None = None
            self._hash = ""
            try:
                if self.size <= self.limits.large_file:
                    self._whole = self._pread(0, self.size)
                self.place = self._known_place()
                self._part = self._indexed_part()
                self.format, self.language = self._spelling()
            except ChangedWhileRead:
                continue
            self.lines = self._lines()
            return
        raise self._restless()

    def _decoded(self) -> DecodedText | None:
        """Return the text of a compressed file, None for another."""
        place = self._catalogue.index(self.path)
        known = None
        if self._db is not None and place >= 0:
            known = self._db, FileId(int(self._catalogue.facts["id"][place]))
        try:
            return decoded_text(self._descriptor, self.path, known, self.limits)
        except TooDense:
            raise Unreadable(
                f"`{display(self.path)}` expands to more text than a file of its size is believed to hold.",
                "If it is no bomb, decompress it and read what comes out.",
            ) from None

    def close(self) -> None:
        """Let go of what was opened beside the file."""
        if self._text is not None:
            self._text.close()
            self._text = None

    @property
    def codec(self) -> str:
        """How the file is compressed, "" when it is not; then sizes and offsets are those of the decoded text."""
        return "" if self._text is None else str(self._text.codec)

    @property
    def damage(self) -> str:
        """What of a compressed file cannot be decoded, as a sentence without full stop, "" when all can."""
        if self._text is None or not self._text.damage:
            return ""
        return f"truncated at {self.size:,} bytes of its text: {self._text.damage}"

    def _known_place(self) -> int:
        place = self._catalogue.index(self.path)
        if place < 0:
            return -1
        row = self._catalogue.facts[place]
        known = (
            row["state"] != FileState.PENDING
            and fingerprints.change(self._catalogue.fingerprint(place), self.fingerprint) is Change.UNCHANGED
            and not fingerprints.is_racy(self.fingerprint, int(row["seen_ns"]))
        )
        return place if known else -1

    def _indexed_part(self) -> IndexedPart | None:
        """Return what the index knows of a large file that has grown since."""
        place = self._catalogue.index(self.path)
        if self._db is None or self._whole is not None or self._text is not None or self.place >= 0 or place < 0:
            return None
        try:
            part = indexed_part(self._db, FileId(int(self._catalogue.facts["id"][place])), self.fingerprint, self.read)
        except apsw.Error as error:
            if not unusable(error):
                raise
            return None
        return part if part is not None and part.grown else None

    def known_part(self) -> IndexedPart | None:
        """Return what the index knows of a large file, None when it knows nothing that is still true."""
        if self._part is not None:
            return self._part
        if self._text is not None:
            return self._text.part
        if self.place < 0 or self._whole is not None:
            return None
        return self.stored(lambda db, file: indexed_part(db, file, self.fingerprint, self.read))

    def _spelling(self) -> _Spelling:
        self.glanced = False
        if self.place >= 0:
            stored = self._catalogue.format(self.place)
            if stored.binary or self._catalogue.facts["state"][self.place] == FileState.INDEXED:
                return stored, self._catalogue.language(self.place)
        if self._part is not None:
            return self._part.format, self._part.language
        detect, key = text_format.detect, (self.fingerprint, self.path, "whole")
        if self._glance and self.size > self.limits.count_bytes and _SPELLINGS.find(key) is None:
            detect, key = text_format.glance, (self.fingerprint, self.path, "places")
            self.glanced = True
        return _SPELLINGS.get(key, lambda: self._detect(detect), keep=self._settled)

    def _detect(self, detect: Callable[[Reader, int], TextFormat]) -> _Spelling:
        found = detect(self.read, self.size)
        if found.binary:
            return found, ""
        head = utf8_text(self.read(0, _LANGUAGE_BYTES), found)
        at = max(found.bom, self.size - _LANGUAGE_BYTES)
        at += -(at - found.bom) % 4  # a whole code unit in every encoding
        tail = utf8_text(self.read(at, _LANGUAGE_BYTES), replace(found, bom=0))
        name = self.path if self._text is None else plain_name(self.path)
        return found, languages.detect(RelPath(name), head, tail)

    @property
    def size(self) -> int:
        """The file's size in bytes; of a compressed file, that of its text."""
        return self.fingerprint.size if self._text is None else self._text.size

    @property
    def line_ends(self) -> LineEnds:
        """How the file ends its lines."""
        return self.lines.text.line_ends

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes from `offset`, fewer only where the file ended when it was opened.

        Raises:
            ChangedWhileRead: the file has become shorter since.
        """
        if self._whole is not None:
            return self._whole[offset : offset + size]
        return self._pread(offset, min(size, self.size - offset))

    def _pread(self, offset: int, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            part = holes.pread(self._descriptor, size, offset) if self._text is None else self._text.read(offset, size)
            if not part:
                raise self._restless()
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def demand_text(self) -> None:
        """Do nothing if the file holds text.

        Raises:
            BinaryFile: it does not.
        """
        if self.format.binary:
            inside = f", inside {self.codec}" if self.codec else ""
            raise BinaryFile(
                f"`{display(self.path)}` is binary ({self.size:,} bytes{inside}), so it has no lines to show.",
                "Use a program for its format; an overview tells its size and hash.",
            )

    @property
    def fits(self) -> bool:
        """Whether the file is small enough for `text`."""
        return self.size <= max(self.limits.large_file, self.limits.text_bytes)

    def text(self) -> bytes:
        """Return the whole text as UTF-8 without BOM; only for a file that `fits`.

        Raises:
            ValueError: it does not fit.
            ChangedWhileRead: the file has become shorter.
        """
        if not self.fits:
            raise ValueError(f"{self.size} bytes are not to be held whole")
        return utf8_text(self.read(0, self.size), self.format)

    def _lines(self) -> FileLines:
        held = self._whole is not None
        stored = self._known_lines if self.place >= 0 or self._part is not None else None
        state = self.path, self.fingerprint, self.format, self.size, self.read, self.limits
        return FileLines(OpenText(*state, held, self._settled), stored)

    def _known_lines(self) -> LineIndex | None:
        return self._stored_lines() or self._longer_lines()

    def _stored_lines(self) -> LineIndex | None:
        """Return the stored line index, if it is of these bytes."""
        total = LineCount(int(self._catalogue.facts["lines"][self.place])) if self.place >= 0 else LineCount(0)
        return self.stored(lambda db, file: blocks.line_index(db, file, self.size, total))

    def _longer_lines(self) -> LineIndex | None:
        """Return the line index of a file that has grown: what is stored, and what is new."""
        if self._part is None or self._db is None:
            return None
        known = blocks.line_index(self._db, self._part.file, self._part.size, self._part.lines)
        read = self._part.reading(self.read, self.size)
        return known and known.extended(read, self.size, self.format, self.limits)

    @property
    def symbol_state(self) -> FileState:
        """How far the index knows the symbols of these bytes."""
        if self.place < 0:
            return FileState.PENDING
        return FileState(int(self._catalogue.facts["symbol_state"][self.place]))

    def stored(self, ask: Callable[[apsw.Connection, FileId], T | None]) -> T | None:
        """Return what `ask(db, file id)` finds, None when what is stored is not of exactly these bytes, or lost.

        Head and tail of the file are compared too, so a state that only looks equal is not taken.
        """
        if self.place < 0 or self._db is None:
            return None
        file = FileId(int(self._catalogue.facts["id"][self.place]))
        try:
            mark = files.stored_fingerprint(self._db, file)
            if mark is None or not mark.head:
                return None
            if fingerprints.change(mark, self.fingerprint) is not Change.UNCHANGED:
                return None
            return ask(self._db, file)
        except apsw.Error as error:
            if not unusable(error):
                raise
            return None

    def hash(self) -> str:
        """Return the first 16 hex digits of the SHA-256 of the file's bytes, or its `revision`.

        The latter of a file that is too large, and of a compressed one, which no edit is ever based on.

        Raises:
            ChangedWhileRead: the file has become shorter.
        """
        if not self._hash:
            whole = self._text is None and self.size <= self.limits.hash_bytes
            make = self._content_hash if whole else self._revision
            self._hash = _HASHES.get((self.fingerprint, whole), make, keep=self._settled)
        return self._hash

    def _content_hash(self) -> str:
        return content_hash(self.size, self.read)[:TOKEN_DIGITS]

    def _revision(self) -> str:
        def read(offset: int, size: int) -> bytes:
            return os.pread(self._descriptor, size, offset)

        return revision(self.fingerprint, read if self._text is not None else self.read)

    def steadily(self, answer: Callable[[], T]) -> T:
        """Return `answer()`, asked again if the file was rewritten or became shorter meanwhile.

        A file that only grew is answered as it was when it was looked at.

        Raises:
            ChangedWhileRead: it changed each time.
        """
        for _ in range(_ATTEMPTS):
            try:
                found = answer()
            except ChangedWhileRead:
                self._look()
                continue
            if self._holds():
                return found
            self._look()
        raise self._restless()

    def _holds(self) -> bool:
        # within a clock tick a rewritten file may keep its stat: then its ends are compared too
        now = fingerprints.from_stat(os.fstat(self._descriptor)) if self._settled else fingerprints.of(self._descriptor)

        def read_now(offset: int, size: int) -> bytes:
            return os.pread(self._descriptor, size, offset)

        return fingerprints.change(self.fingerprint, now, read_now) is not Change.REWRITTEN

    def _restless(self) -> ChangedWhileRead:
        return ChangedWhileRead(
            f"`{display(self.path)}` was rewritten or became shorter each time it was read.",
            "Ask again when the program that writes it has finished.",
        )


@contextmanager
def opened(
    root: Root,
    path: RelPath,
    catalogue: Catalogue,
    db: apsw.Connection | None,
    limits: Limits,
    *,
    glance: bool = False,
) -> Iterator[Source]:
    """Open a file for the time of a query.

    Args:
        root: the folder it is below; opens it without a gap between check and use.
        path: where it is below `root`.
        catalogue: what the index knows; facts of it are taken only when they are of the bytes that were opened.
        db: a reading connection to the sidecar of `catalogue`, or None to do without.
        limits: the bounds of reading.
        glance: whether the encoding of a very large file may be told from places of it: to show some of its lines, but
            not to search it.

    Raises:
        NotFound, NotAFile, Unreadable, OutsideRoots: as `Root.open`.
        ChangedWhileRead: it was rewritten each time it was looked at.
    """
    descriptor = root.open(path)
    try:
        source = Source(descriptor, path, catalogue, db, limits, glance=glance)
        try:
            yield source
        finally:
            source.close()
    finally:
        os.close(descriptor)
