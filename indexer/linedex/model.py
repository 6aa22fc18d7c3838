"""The words that every room of linedex shares: positions, file facts, symbols, reasons.

Nothing here reads a file or knows a database. Positions that are easily mixed up are types of their own:
a `ByteOffset` counts bytes from 0, a `LineNumber` and a `Column` count from 1, and a column counts code points.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple, NewType

ByteOffset = NewType("ByteOffset", int)
LineNumber = NewType("LineNumber", int)
LineCount = NewType("LineCount", int)
Column = NewType("Column", int)
FileId = NewType("FileId", int)
RelPath = NewType("RelPath", bytes)
"""A path below a root as the file system spells it, components joined by b"/"; b"" is the root itself."""


class Newline(IntEnum):
    """How the lines of a file end. A line ends at LF or CRLF; at a lone CR only in a file that has no LF at all."""

    NONE = 0
    LF = 1
    CRLF = 2
    CR = 3
    MIXED = 4
    """LF and CRLF both occur."""


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How the bytes of a file spell its text.

    Attributes:
        encoding: a Python codec name that never handles a BOM by itself (`utf-8`, `utf-16-le`, `cp1252` ...).
        bom: length of the byte order mark in bytes, 0 when there is none.
        newline: the style of its line ends.
        final_newline: whether the last line is ended.
        binary: whether the bytes are not text; then the other attributes mean nothing.
    """

    encoding: str = "utf-8"
    bom: int = 0
    newline: Newline = Newline.NONE
    final_newline: bool = False
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells one state of a file from another without reading it whole.

    `head` and `tail` are 8-byte digests of its first and last 1 KiB; `b""` when only the stat is known.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    head: bytes = b""
    tail: bytes = b""


class Change(StrEnum):
    """What happened to a file between two looks at it."""

    UNCHANGED = "unchanged"
    APPENDED = "appended"
    REWRITTEN = "rewritten"


class FileState(IntEnum):
    """How far the index knows a file's text."""

    PENDING = 0
    INDEXED = 1
    SKIPPED = 2


class SkipReason(StrEnum):
    """Why a file's text, or only its symbols, are not in the index. The value is what a person reads."""

    BINARY = "binary"
    UNREADABLE = "unreadable"
    NOT_REGULAR = "not a regular file"
    VANISHED = "vanished while read"
    NOT_ANALYSED = "could not be analysed"
    RATIO = "over the compression ratio"
    NO_TIMES = "without recognised times"
    NO_LEVELS = "without recognised levels"
    NO_LANGUAGE = "no known language"
    TOO_LARGE = "over the size limit"
    MINIFIED = "minified"
    OVER_BUDGET = "over the time or memory budget"
    TOO_MANY = "cut at the symbol limit"
    PARSER_CRASHED = "parser crashed"
    LANGUAGE_OFF = "language switched off after repeated crashes"


class SymbolKind(StrEnum):
    """LSP's words for symbols, and five that people filter by and LSP lacks: macro, type, trait, union, impl."""

    MODULE = "module"
    NAMESPACE = "namespace"
    PACKAGE = "package"
    CLASS = "class"
    METHOD = "method"
    PROPERTY = "property"
    FIELD = "field"
    CONSTRUCTOR = "constructor"
    ENUM = "enum"
    INTERFACE = "interface"
    FUNCTION = "function"
    VARIABLE = "variable"
    CONSTANT = "constant"
    STRING = "string"
    OBJECT = "object"
    KEY = "key"
    ENUM_MEMBER = "enummember"
    STRUCT = "struct"
    EVENT = "event"
    OPERATOR = "operator"
    MACRO = "macro"
    TYPE = "type"
    UNION = "union"
    TRAIT = "trait"
    IMPL = "impl"


UNKNOWN_BYTE = ByteOffset(-1)
"""The byte offsets of a symbol that comes from the index, which keeps lines only."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition in a file.

    Attributes:
        name: its own name, without its container.
        kind: what it is.
        container: the names around it joined by `.`, "" at top level.
        parent: index of the enclosing symbol in the same list, or -1.
        start_line: first line of its range (decorators and doc comments included), 1-based.
        end_line: line of its last byte, included.
        start_byte: first byte of the range **in the UTF-8 text that was parsed** (no BOM); the offsets of a symbol
            from the index are `UNKNOWN_BYTE`.
        end_byte: end of the range in that text, exclusive.
        line: line of its name, 1-based.
        column: column of its name, 1-based, in code points.
        name_byte: first byte of its name in the parsed text.
        signature: its head on one line, at most 240 code points.
    """

    name: str
    kind: SymbolKind
    container: str
    parent: int
    start_line: LineNumber
    end_line: LineNumber
    start_byte: ByteOffset
    end_byte: ByteOffset
    line: LineNumber
    column: Column
    name_byte: ByteOffset
    signature: str

    @property
    def path(self) -> str:
        """The name with its container, as in `Class.method`."""
        return f"{self.container}.{self.name}" if self.container else self.name


class StoredSymbol(NamedTuple):
    """What the index keeps of a symbol: a `Symbol` without what is read from the file when it is shown."""

    name: str
    kind: SymbolKind
    container: str
    parent: int
    start_line: int
    end_line: int
    line: int
    column: int
