"""What linedex refuses, and in which words.

Each error says what failed, why, and what to do next; `hint` is the last of these, so that a caller may show it on a
line of its own.
"""

from __future__ import annotations


class LinedexError(Exception):
    """Base of every refusal a caller can mend.

    Attributes:
        code: a stable word for programs.
        hint: what to do next, or "".
    """

    code = "error"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class OutsideRoots(LinedexError):
    """The path is not below an allowed root, or leads out of it."""

    code = "outside_roots"


class NotFound(LinedexError):
    """There is no such file, folder or symbol."""

    code = "not_found"


class NotAFile(LinedexError):
    """A file was asked for and the path names a folder, a FIFO, a device or a socket."""

    code = "not_a_file"


class NotAFolder(LinedexError):
    """A folder was asked for and the path names something else."""

    code = "not_a_folder"


class Unreadable(LinedexError):
    """The file is there but the system does not let us read it."""

    code = "unreadable"


class ChangedWhileRead(LinedexError):
    """The file was rewritten or became shorter while it was read, each time that reading it was tried."""

    code = "changed_while_read"


class BinaryFile(LinedexError):
    """The file holds no text."""

    code = "binary"


class LineOutOfRange(LinedexError):
    """The line is past the end of the file; `last_line` is the file's last one.

    Attributes:
        last_line: number of the last line, 1-based; 0 for an empty file.
    """

    code = "line_out_of_range"

    def __init__(self, message: str, last_line: int, hint: str = "") -> None:
        super().__init__(message, hint)
        self.last_line = last_line


class NotCounted(LinedexError):
    """The lines of a very large file have not been counted up to the one that is asked for."""

    code = "not_counted"


class BadPattern(LinedexError):
    """The pattern is empty or not a regular expression.

    Attributes:
        position: 0-based code point of the pattern where it goes wrong, or None when unknown.
    """

    code = "bad_pattern"

    def __init__(self, message: str, position: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint)
        self.position = position


class PatternTimedOut(LinedexError):
    """A pattern takes longer than it may on one text; what it would have found is not known."""

    code = "pattern_timed_out"


class BadCursor(LinedexError):
    """The cursor belongs to another query, or what it points into has been replaced."""

    code = "bad_cursor"


class BadArgument(LinedexError):
    """A parameter is unknown, missing, or has a value it cannot take."""

    code = "bad_argument"


class Cancelled(LinedexError):
    """Whoever asked wants no answer any more."""

    code = "cancelled"


class IndexBusy(LinedexError):
    """Another process is writing this index; this one only reads it."""

    code = "index_busy"


class NotWritten(LinedexError):
    """The system does not let the index be written: no space, no permission, a state folder that is gone."""

    code = "index_not_written"
