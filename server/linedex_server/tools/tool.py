"""What a tool is, and what it gives back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from linedex.errors import BadCursor
from linedex.query.progress import Progress
from linedex_server.edit.editor import Editor
from linedex_server.render.fields import Fields
from linedex_server.tools.parameters import Given, Parameter, taken
from linedex_server.workspace import Workspace


class Output(StrEnum):
    """For whom answers are: one block of text for a model, or fields for a program."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: its text, and under `Output.JSON` the fields that the text spells."""

    text: str
    fields: Fields | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What a tool works with: the folders being served, the form its answers take, and who waits for the call.

    Attributes:
        workspace: the folders.
        output: the form of answers.
        progress: who waits, and how far it is.
    """

    workspace: Workspace
    output: Output = Output.TEXT
    progress: Progress = field(default_factory=Progress)
    _editor: Editor | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self._editor is None:
            object.__setattr__(self, "_editor", Editor(self.workspace))

    @property
    def editor(self) -> Editor:
        """What writes the files; one for a session and all its calls."""
        assert self._editor is not None
        return self._editor

    @property
    def page_characters(self) -> int:
        """Length of one answer, in characters."""
        return self.workspace.settings.page_characters

    def reply(self, text: Callable[[], str], fields: Callable[[], Fields]) -> Reply:
        """Return an answer in the form this session asks for; the other form is not made."""
        if self.output is Output.TEXT:
            return Reply(text())
        made = fields()
        return Reply(json.dumps(made, ensure_ascii=False, separators=(",", ":")), made)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        name: what a client calls it.
        about: what it does and when to use it, for a model; under 400 characters.
        parameters: in the order a model should think of them.
        run: the synchronous core; called in a thread.
        output_schema: of the fields under `Output.JSON`.
        writes: whether it changes files.
        destructive: whether what it writes may take the place of what was there.
        idempotent: whether calling it again with the same parameters changes nothing more.
    """

    name: str
    about: str
    parameters: Sequence[Parameter]
    run: Callable[[Session, Given], Reply]
    output_schema: Mapping[str, Any]
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True

    def call(self, session: Session, arguments: Mapping[str, object]) -> Reply:
        """Check the parameters and run.

        Raises:
            LinedexError: the call cannot be answered; the error says why and what to do.
        """
        return self.run(session, taken(self.parameters, arguments))


_Item = TypeVar("_Item")


def fitted(attempt: Callable[[int], tuple[int, Reply]], wanted: int, characters: int) -> Reply:
    """Return the longest of the replies tried that fits a page.

    Args:
        attempt: makes a reply of at most so many items and says how many it holds.
        wanted: how many to try first.
        characters: length of a page; a reply of a single item is returned even when longer.
    """
    while True:
        shown, reply = attempt(wanted)
        if len(reply.text) <= characters or shown <= 1:
            return reply
        wanted = max(1, min(shown - 1, int(shown * characters / len(reply.text) * 0.95)))


class Pages:
    """Cursors over a list whose order does not change between two pages: the place, and which question it is of."""

    def __init__(self, *question: object) -> None:
        """`question` is all that decides the list; a cursor of another question is refused."""
        self._mark = hashlib.blake2s(repr(question).encode(), digest_size=4).hexdigest()

    def start(self, cursor: str | None) -> int:
        """Return how many items the pages before hold.

        Raises:
            BadCursor: the cursor is not one of these pages.
        """
        if not cursor:
            return 0
        place, _, mark = cursor.partition("-")
        if mark != self._mark or not (place.isascii() and place.isdigit()):
            raise BadCursor(
                "The cursor belongs to another question, or the file has changed since.",
                "Repeat the call that gave it with the same parameters, or leave the cursor out to start over.",
            )
        return int(place)

    def cursor(self, place: int) -> str:
        """Return the cursor that goes on after `place` items."""
        return f"{place}-{self._mark}"
