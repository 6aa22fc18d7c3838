"""What the index is asked and what it answers: frozen values, no behaviour.

Lines and columns are 1-based, columns count code points, and a range says in its name whether its end is included
(`last_line`) or not (`end_column`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from linedex.log_answers import LogFacts, TimeSpan
from linedex.model import Column, LineCount, LineNumber, RelPath, Symbol, SymbolKind, TextFormat


class Coverage(StrEnum):
    """How far an answer can be trusted to be all there is."""

    COMPLETE = "complete"
    PAGE = "page"
    """Stopped at the page limit; the cursor goes on."""
    DEADLINE = "deadline"
    """Stopped by time; the cursor goes on."""
    PARTIAL = "partial"
    """Something in scope could not be answered; `notes` say what."""


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """How an answer came about.

    Attributes:
        verdict: whether it is all there is.
        by_index: files decided by the index (those it ruled out, and those it named and that were verified).
        by_scan: files read because the index did not know them or could not narrow the pattern.
        verified: files whose bytes were read and matched against, of either kind.
        skipped: files not searched, by reason (the reason's words).
        notes: sentences on what is missing.
        sequential: compressed files that had to be decoded from their beginning.
        check_seconds: time spent comparing the files on disk with the index before the query.
        seconds: time of the query itself.
        plan: the gram query, printed.
    """

    verdict: Coverage
    by_index: int = 0
    by_scan: int = 0
    verified: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sequential: int = 0
    check_seconds: float = 0.0
    seconds: float = 0.0
    plan: str = ""


class OutputMode(StrEnum):
    """What a search of a folder gives back."""

    MATCHES = "matches"
    FILES = "files"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search, of a file or of a folder.

    Attributes:
        pattern: a literal, or a regular expression when `regex`.
        scope: file or folder below the root; b"" is the whole root.
        regex: whether `pattern` is a regular expression (RE2 syntax, Unicode classes; look-around and
            back-references are taken too, with a time limit).
        case_sensitive: as it says.
        word: only matches that stand as whole words.
        whole_line: only matches that are the whole line.
        invert: lines that do not match.
        fuzzy: with no exact hit, give near lines, marked so.
        include: globs; a file must match one of them (on its name, or on its path when the glob holds a slash).
        exclude: globs; a file must match none.
        language: only files of this language.
        include_ignored: also files that ignore rules leave out.
        include_hidden: also files and folders whose name starts with a dot.
        context: lines of context before and after each hit.
        mode: hits, files, or counts only.
        max_hits: hits in a page.
        max_characters: end a page before the text of its hits is longer than this, 0 for any length; a page holds one
            hit at least.
        cursor: where an earlier page stopped, or "".
        brute: leave the index aside and read everything.
        breadcrumbs: name the symbol around each hit where it is known for certain.
        since: only lines of log records from this time on, as `content.logs.moments` reads it; "" for all.
        until: only lines of records before this time.
        level: only lines of records of these levels: `error`, `warn,error`, or `warn+` for that and graver ones.
    """

    pattern: str
    scope: RelPath = RelPath(b"")
    regex: bool = False
    case_sensitive: bool = False
    word: bool = False
    whole_line: bool = False
    invert: bool = False
    fuzzy: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    language: str = ""
    include_ignored: bool = False
    include_hidden: bool = False
    context: int = 0
    mode: OutputMode = OutputMode.MATCHES
    max_hits: int = 100
    max_characters: int = 0
    cursor: str = ""
    brute: bool = False
    breadcrumbs: bool = False
    since: str = ""
    until: str = ""
    level: str = ""


class Occurrence(NamedTuple):
    """A further match in the line of a hit.

    Attributes:
        column: its column.
        end_column: column after it.
        text: the part of the line around it, where no text before shows it; else "".
        text_column: column of the first code point of `text`.
    """

    column: Column
    end_column: Column
    text: str = ""
    text_column: Column = Column(1)


class Hit(NamedTuple):
    """One line that matches, or the lines that one match goes over.

    A named tuple, which is made in a quarter of the time that a frozen dataclass takes: 0.6 us, and an answer may hold
    a million.

    Attributes:
        line: its number, that of the first line.
        column: column of the first match in it (1 for an inverted hit).
        end_column: column after that match; in a match of several lines columns count on, a line end as one.
        text: the line without its end; when longer than the excerpt limit, the part around the match.
        text_column: column of the first code point of `text` (1 unless cut at the left).
        cut: whether `text` is only a part of the line.
        before: lines before it, nearest last.
        after: lines after it, nearest first.
        similarity: None for an exact hit; for a near one the similarity, 0 to 1.
        breadcrumb: the symbol around it as `Class.method`, or "".
        lines: how many lines it goes over.
        more: the matches behind the first one that are not empty, in order, at most `Limits.line_matches`; none for
            inverted and near hits and for those of several lines.
    """

    line: LineNumber
    column: Column
    end_column: Column
    text: str
    text_column: Column = Column(1)
    cut: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    similarity: float | None = None
    breadcrumb: str = ""
    lines: int = 1
    more: tuple[Occurrence, ...] = ()

    @property
    def last_line(self) -> LineNumber:
        """Number of the last line it goes over."""
        return LineNumber(self.line + self.lines - 1)


@dataclass(frozen=True, slots=True)
class FileHits:
    """The hits of one file on this page, in line order.

    `count` is the number of matching lines of the whole file when it is known (mode `count`, or the file is wholly on
    this page), else None.
    """

    path: RelPath
    hits: tuple[Hit, ...]
    count: int | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """One page of a search, in path order.

    Attributes:
        files: files with hits.
        total_hits: matching lines on this page; for mode `count` in all, from the cursor on that was asked with.
        matched_files: files with hits, likewise; in mode `count` `files` holds the first of them, and the answer is
            complete though `cursor` passes on to the others.
        near: whether the hits are near matches, given because there was no exact one.
        cursor: passes on to the next page, "" when there is none.
        coverage: how it came about.
        span: the range of time that was searched, None when none was asked for.
        later: a cursor that passes on to what is appended later, "" when there is none.
        note: a sentence on how the page came to be where it is, or "".
    """

    files: tuple[FileHits, ...]
    total_hits: int
    matched_files: int
    near: bool
    cursor: str
    coverage: CoverageReport
    span: TimeSpan | None = None
    later: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """Lines of one file.

    Attributes:
        path: the file.
        lines: their text without line ends, tabs and blanks as they are.
        first_line: number of the first of them; 0 when there are none. The last lines of a file that nobody has
            counted are numbered from its end: the last one is -1.
        total_lines: lines in the file; of a very large one that nobody has counted yet at least so many.
        hash: the first 16 hex digits of the SHA-256 of the file's bytes, or a `rev:` token over 64 MiB and where it is
            compressed.
        cut_lines: numbers of the lines that were shortened.
        next_line: the line to go on from, or None at the end.
        match_line: the line that `pattern` led to, or None.
        symbol: the enclosing symbol, for reads that asked for one.
        note: a sentence on how the range was chosen, or "".
        later: a cursor that passes on to what follows the lines, appended later perhaps, "" when there is none.
        counted: whether `total_lines` are all.
    """

    path: RelPath
    lines: tuple[str, ...]
    first_line: LineNumber
    total_lines: LineCount
    hash: str
    cut_lines: tuple[LineNumber, ...] = ()
    next_line: LineNumber | None = None
    match_line: LineNumber | None = None
    symbol: Symbol | None = None
    note: str = ""
    later: str = ""
    counted: bool = True


@dataclass(frozen=True, slots=True)
class Outline:
    """The symbols of one file.

    Attributes:
        symbols: in source order, parents before their members.
        language: the language, "" when unknown.
        note: why it is empty or not whole, "" when it is whole.
    """

    symbols: tuple[Symbol, ...]
    language: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """What a person wants to know of a file before reading it."""

    path: RelPath
    size: int
    lines: LineCount
    format: TextFormat
    hash: str
    outline: Outline
    long_lines: int
    longest_line: int
    """Length of the longest line, in bytes of its text."""
    log: LogFacts | None = None
    """What it tells as a log, None when it is none."""
    approximate: tuple[str, ...] = ()
    """Which of `lines`, `long_lines` and `longest_line` are reckoned from a sample; the last two are then at least so
    many."""


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One entry of a folder listing; `path` is below the root."""

    path: RelPath
    is_folder: bool
    size: int
    children: int | None = None
    depth: int = 1
    ignored: bool = False
    special: str = ""
    """`link`, `fifo`, `socket`, `device`, or "" for files and folders."""


@dataclass(frozen=True, slots=True)
class FolderListing:
    """A folder's entries in path order; `total_*` count what is in it even when the list is cut."""

    path: RelPath
    entries: tuple[FolderEntry, ...]
    total_files: int
    total_folders: int
    cut: bool


@dataclass(frozen=True, slots=True)
class SymbolHit:
    """A symbol found by name, with the file that defines it."""

    path: RelPath
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class SymbolAnswer:
    """Symbols found by name, best first.

    Attributes:
        hits: one page of them.
        total: how many there are in all.
        pending: files whose symbols are not in the index yet; they were not asked.
        note: what is missing, or "".
    """

    hits: tuple[SymbolHit, ...]
    total: int
    pending: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class SymbolRequest:
    """Symbols by name: `Class.method`, a name, its start, a part of it, or its camel humps (`gTU` for `getTheUser`)."""

    name: str
    kind: SymbolKind | None = None
    scope: RelPath = RelPath(b"")
    language: str = ""
    max_hits: int = 50


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """Files found by path, best first; `total` counts all that match."""

    paths: tuple[RelPath, ...]
    total: int


class Phase(StrEnum):
    """What the builder is doing."""

    IDLE = "idle"
    """Nothing is left to do, as far as anything is known of the files."""
    WAITING = "waiting"
    """Nothing is being done yet or at this instant, but something is to do."""
    CATALOGUE = "catalogue"
    TEXT = "text"
    SIGNATURES = "signatures"
    """Of the text of very large files, whose lines are known already."""
    SYMBOLS = "symbols"


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """Progress of one phase; `rate` is bytes a second over the phase so far, `seconds` its time so far."""

    done_files: int = 0
    total_files: int = 0
    done_bytes: int = 0
    total_bytes: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Bytes a second over the phase so far."""
        return self.done_bytes / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of one root's index.

    Attributes:
        root: the folder, as the system spells it.
        phase: what is being done now.
        progress: per phase of the running or last build.
        files: files in the catalogue.
        indexed: of these, known to the index.
        pending: of these, answered by scanning for now.
        skipped: of these, not text or not readable, by reason.
        text_bytes: bytes of the indexed text.
        symbols: symbols stored.
        symbol_files: files whose symbols are stored.
        symbol_pending: files whose symbols are still to come.
        symbol_skipped: files without symbols, by reason.
        sidecar_bytes: size of the sidecar on disk.
        signature_bytes: of this, signatures.
        writer: whether this process is the one that writes the index.
        freshness: how changes are noticed (`stat at each query`).
        problems: sentences on what is wrong, for a person to act on.
        checkpoints: stretches of large files, some 64 MiB each, whose bytes are compared with what was indexed.
        checkpoints_verified: of these, compared since their file was last seen to change.
        checkpoint_mismatches: of those compared since this process began, not as indexed, and read anew since.
    """

    root: str
    phase: Phase
    progress: Mapping[Phase, PhaseProgress]
    files: int
    indexed: int
    pending: int
    skipped: Mapping[str, int]
    text_bytes: int
    symbols: int
    symbol_files: int
    symbol_pending: int
    symbol_skipped: Mapping[str, int]
    sidecar_bytes: int
    signature_bytes: int
    writer: bool
    freshness: str
    problems: tuple[str, ...] = ()
    checkpoints: int = 0
    checkpoints_verified: int = 0
    checkpoint_mismatches: int = 0
