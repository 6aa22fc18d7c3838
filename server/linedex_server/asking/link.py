"""A connection to the daemon for a question, and the lines that it says."""

from __future__ import annotations

from pathlib import Path

from linedex.errors import LinedexError
from linedex_server import VERSION
from linedex_server.config import variables
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import Hello
from linedex_server.rendezvous.reach import Link, reach

_REACH_SECONDS = 2.0
"""A search made here takes about as long."""
_SILENT_SECONDS = 10.0
"""A daemon at work on a search says so every second; a look-up takes less."""
AGAIN = "What was printed is right, and not all; ask again."


def link_for(state_dir: Path, purpose: str) -> Link | None:
    """Return a connection to the daemon of a state folder, None if there is none of this version that hears us."""
    try:
        link = reach(state_dir, Hello.here(purpose, {}, variables()), starting=False, seconds=_REACH_SECONDS)
    except LinedexError:
        return None
    if link is not None and link.welcome.version != VERSION:
        link.close()
        return None
    if link is not None:
        link.connection.settimeout(_SILENT_SECONDS)
    return link


def line_from(link: Link) -> bytes:
    """Return the next line.

    Raises:
        NoDaemon: the daemon ended, or says nothing any more.
    """
    try:
        line = link.received.readline()
    except TimeoutError:
        raise NoDaemon(f"the daemon that was answering has said nothing for {_SILENT_SECONDS:.0f} s", AGAIN) from None
    except OSError:
        line = b""
    if not line.endswith(b"\n"):
        raise NoDaemon("the daemon that was answering has ended", AGAIN)
    return line
