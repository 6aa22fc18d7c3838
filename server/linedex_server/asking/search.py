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
from linedex_server import VERSION
from linedex_server.config import variables
from linedex_server.pages import QUESTION_BYTES, WHOLE_LINE, Part, Question, part_of, scopes_of
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import SEARCH, Hello
from linedex_server.rendezvous.reach import Link, reach

_REACH_SECONDS = 2.0
"""A search made here takes about as long."""
_SILENT_SECONDS = 10.0
"""A daemon at work says so every second."""
_AGAIN = "What was printed is right, and not all; ask again."


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
                part = part_of(_line(self._link))
            except ValueError:
                raise NoDaemon("the daemon that was answering says what cannot be read", _AGAIN) from None
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
    try:
        link = reach(state_dir, Hello.here(SEARCH, {}, variables()), starting=False, seconds=_REACH_SECONDS)
    except LinedexError:
        return None
    if link is None:
        return None
    try:
        if link.welcome.version == VERSION:
            link.connection.settimeout(_SILENT_SECONDS)
            link.connection.sendall(line)
            scopes = scopes_of(_line(link))
            if len(scopes) == len(question.paths) and any(scope is not None for scope in scopes):
                return AskedSearch(link, scopes)
    except (OSError, ValueError, LinedexError):
        pass
    link.close()
    return None


def _line(link: Link) -> bytes:
    try:
        line = link.received.readline()
    except TimeoutError:
        raise NoDaemon(f"the daemon that was answering has said nothing for {_SILENT_SECONDS:.0f} s", _AGAIN) from None
    except OSError:
        line = b""
    if not line.endswith(b"\n"):
        raise NoDaemon("the daemon that was answering has ended", _AGAIN)
    return line
