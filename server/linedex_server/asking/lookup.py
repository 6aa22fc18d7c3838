"""A look-up that is asked of the daemon instead of being made here.

Promise: neither the engine nor a package that it stands on is loaded. Who cannot be asked, or does not answer, is
nobody: the look-up is then made here.
"""

from __future__ import annotations

from pathlib import Path

from linedex.model import RelPath
from linedex_server.asking.link import line_from, link_for
from linedex_server.json_lines import QUESTION_BYTES
from linedex_server.lookups import Lookup, LookupAnswer, answer_of
from linedex_server.rendezvous.errors import NoDaemon
from linedex_server.rendezvous.hello import LOOKUP


def ask(state_dir: Path, lookup: Lookup) -> tuple[RelPath, LookupAnswer] | None:
    """Ask the daemon of a state folder; return where the path lies in its index and the answer, None if nobody answers.

    Raises:
        LinedexError: the look-up ended so.
    """
    line = lookup.line()
    link = link_for(state_dir, LOOKUP) if len(line) <= QUESTION_BYTES else None
    if link is None:
        return None
    try:
        link.connection.sendall(line)
        return answer_of(line_from(link), lookup.subject)
    except (OSError, ValueError, NoDaemon):
        return None
    finally:
        link.close()
