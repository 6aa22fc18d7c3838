"""A call of a tool as its client is answered: what the tool says, or why it refuses and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from linedex.errors import LinedexError, Unreadable
from linedex.query.progress import Progress
from linedex_server.edit.errors import Conflict, NotPlaced
from linedex_server.render.words import encodable
from linedex_server.tools.tool import Session, Tool

NOT_EDITED = "Not edited"


@dataclass(frozen=True, slots=True)
class Called:
    """How a call ended.

    Attributes:
        text: what a model reads.
        fields: the same as fields, for a session that asks for them.
        failed: whether the tool refused.
    """

    text: str
    fields: dict[str, object] | None = None
    failed: bool = False


def called(tool: Tool, session: Session, arguments: Mapping[str, Any], progress: Progress) -> Called:
    """Return how a call of `tool` with these arguments, as they were sent, ends; its work tells `progress`."""
    try:
        reply = tool.call(replace(session, progress=progress), arguments)
    except LinedexError as error:
        return Called(encodable(failure(tool.name, error)), failed=True)
    except OSError as error:
        # no descriptors left to load a module with, say
        return Called(encodable(failure(tool.name, refused_by_system(error))), failed=True)
    # a lone surrogate cannot be written as UTF-8 and would end the connection
    return Called(encodable(reply.text), reply.fields)


def failure(tool: str, error: LinedexError) -> str:
    """Return what a model reads of a refused call: what failed and why, then what to do."""
    reason = str(error)
    if "\n" not in reason:  # behind a diff a full stop would be read as a part of it
        reason = reason.rstrip(".") + "."
    if not reason.startswith(NOT_EDITED):
        # a refused edit has the same words whichever tool was asked
        edit = isinstance(error, (Conflict, NotPlaced))
        reason = f"{NOT_EDITED if edit else f'{tool} failed'}: {reason}"
    return f"{reason}\n{error.hint}".rstrip()


def refused_by_system(error: OSError) -> LinedexError:
    """Return what a model is told where the system refused what every call needs."""
    return Unreadable(
        f"the system refuses: {error.strerror or error}",
        "Try again in a moment; index_status and the daemon's log say more if it stays so.",
    )
