"""What edits refuse. In every case the file is as it was."""

from __future__ import annotations

from linedex.errors import LinedexError


class Conflict(LinedexError):
    """The file is no longer what the caller's hash, expected text or count says, or changed while it was written."""

    code = "conflict"


class NotPlaced(LinedexError):
    """The text to be replaced is not in the file, or is there more often than once."""

    code = "not_placed"


class Unencodable(LinedexError):
    """The new text has a character that the file's encoding cannot hold."""

    code = "unencodable"


class BeingWritten(LinedexError):
    """Another process is writing the file; replacing it would cut that process off."""

    code = "being_written"


class Compressed(LinedexError):
    """The file is compressed text, which is read and searched but not written."""

    code = "compressed"


class WriteFailed(LinedexError):
    """The system does not let us write: no space, no permission, a folder that is gone."""

    code = "write_failed"


class NoSuchStep(LinedexError):
    """There is no such step in the history, nothing left to undo, or its bytes were removed to keep the budget."""

    code = "no_such_step"


class NoSuchSession(LinedexError):
    """There is no such write session, or another call holds it."""

    code = "no_such_session"


class SessionFull(LinedexError):
    """A write session would be larger than it may be, or there would be more of them."""

    code = "session_full"


class TooLarge(LinedexError):
    """The edit would need more of the file in memory at once than is allowed."""

    code = "too_large"


class OwnState(LinedexError):
    """The path lies in linedex's own state folder, which no tool writes."""

    code = "own_state"


class Exists(LinedexError):
    """A new file was to be made and there is one already."""

    code = "exists"
