"""What the write tools have in common: their parameters, and the answer to one file that was written."""

from __future__ import annotations

from linedex_server.edit.content.style import Style
from linedex_server.edit.planners import Whole
from linedex_server.edit.put.plans import Committed
from linedex_server.render.edit import written
from linedex_server.render.fields import Fields
from linedex_server.tools.parameters import WORDS, Given, Parameter, choice, flag, text
from linedex_server.tools.tool import Reply, Session

PATH = Parameter("path", text(), "Absolute, or as answers show it.")
BASE_HASH = Parameter(
    "base_hash", text(WORDS), "Hash from a read or write; refused if the file has changed since.", None
)
ENCODING = Parameter("encoding", text(WORDS), "Or an encoding to convert the file to.", "preserve")
STYLE = (
    Parameter("bom", text(WORDS), "Or add, remove.", "preserve"),
    Parameter("newline", text(WORDS), "Or lf, crlf, cr.", "preserve"),
    Parameter("final_newline", text(WORDS), "Or add, remove.", "preserve"),
)
CREATE_DIRS = Parameter("create_dirs", flag(), "Make missing folders.", default=True)
IF_EXISTS = Parameter("if_exists", choice("overwrite", "error", "skip"), "If there is such a file.", "overwrite")


def style_of(given: Given) -> Style:
    """Return the style that a call asks for.

    Raises:
        BadArgument: a word is none of those that its parameter takes.
    """
    return Style.parse(*(given.text(name) for name in ("encoding", "bom", "newline", "final_newline")))


def reply(session: Session, done: Committed, what: str, unchanged: str = "", **fields: object) -> Reply:
    """Return the answer to one file that was written, or did not need to be.

    Args:
        session: whose answer it is.
        done: what became of the file.
        what: what happened to a file that was there.
        unchanged: why nothing had to be written, unless it is that the text was there already.
        fields: for programs, beside those that every write has.
    """
    sentence = written(done, what, unchanged=unchanged) if unchanged else written(done, what)
    return session.reply(lambda: sentence, lambda: {**written_fields(done, sentence), **fields})


def skipped(done: Committed) -> bool:
    """Tell whether a write of a whole text was left undone since there was such a file."""
    return isinstance(done.told, Whole) and done.told.skipped


def written_fields(done: Committed, sentence: str) -> Fields:
    """Return the fields of one write."""
    return {
        "success": True,
        "message": sentence,
        "path": done.shown,
        "created": done.created,
        "changed": done.changed,
        "hash": done.hash or None,
        "backup_created": done.step,
    }
