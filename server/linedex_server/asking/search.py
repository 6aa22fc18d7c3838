"""A search that is asked of the daemon instead of being made here.

Promise: neither the engine nor a package that it stands on is loaded, so that a search begins soon after its command.
Who cannot be asked, or does not answer, is nobody: the search is then made here. One line of the answer is held at a
time, and the daemon waits until it has been taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linedex.errors import LinedexError
from linedex.model import RelPath
from linedex_server.asking.link import AGAIN, line_from, link_for
from linedex_server.json_lines import QUESTION_BYTES
from linedex_server.pages import WHOLE_LINE, Part, Question, part_of, scopes_of
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import SEARCH
from linedex_server.rendezvous.reach import Link


class AskedSearch:
    """One search that the daemon answers; its paths in order, each to its end.

    Attributes:
        scopes: for each path where it lies in the index that answers for it, None where none does.
    """

    def __init__(self, link: Link, scopes: tuple[RelPath | None, ...]) -> None:
        self.scopes = scopes
        self._link = link

    def parts(self) -> Iterator[Part]:
        """Yield the answer for the next path that has a scope.

        Raises:
            NoDaemon: the daemon ended, or says nothing any more.
            LinedexError: the search ended so.
        """
        more = True
        while more:
            try:
                part = part_of(line_from(self._link))
            except ValueError:
                raise NoDaemon("the daemon that was answering says what cannot be read", AGAIN) from None
            yield part
            more = part.more

    def close(self) -> None:
        """Let the daemon stop."""
        self._link.close()


def ask(state_dir: Path, question: Question) -> AskedSearch | None:
    """Ask the daemon of a state folder; None if nobody there answers for any of the paths, or is of this version."""
    line = question.line()
    if question.excerpt > WHOLE_LINE or len(line) > QUESTION_BYTES:
        return None
    link = link_for(state_dir, SEARCH)
    if link is None:
        return None
    try:
        link.connection.sendall(line)
        scopes = scopes_of(line_from(link))
        if len(scopes) == len(question.paths) and any(scope is not None for scope in scopes):
            return AskedSearch(link, scopes)
    except (OSError, ValueError, LinedexError):
        pass
    link.close()
    return None
