"""Who answers a look-up at the command line: the daemon, where it keeps an index of the path, else this process.

Promise: both answer the same. The daemon is not started for it, and the engine is loaded only when this process has to
answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from linedex.model import RelPath
from linedex_server.asking.lookup import ask
from linedex_server.cli.door import opened
from linedex_server.cli.named import Named, called
from linedex_server.config import Settings
from linedex_server.lookups import Lookup, LookupAnswer, Subject


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What a look-up told.

    Attributes:
        answer: of the kind that the subject of the look-up has.
        named: the path where it was looked.
        scope: where that lies in the index which answered.
    """

    answer: LookupAnswer
    named: Named
    scope: RelPath

    def called(self, path: bytes) -> bytes:
        """Return how the person calls a file of the index."""
        return called(self.named.spelled, self.scope, path)


def looked_up(settings: Settings, named: Named, lookup: Lookup) -> LookedUp:
    """Answer a look-up at the path that a person named.

    Raises:
        NotFound: only an index answers this, and there is none around the path.
        LinedexError: as the methods of `Index` do.
    """
    asked = ask(settings.state_dir, lookup)
    if asked is not None:
        scope, answer = asked
        return LookedUp(answer, named, scope)
    with opened(settings, lookup.limits(settings.limits)) as places:
        place = places.of(named) if lookup.subject is Subject.OUTLINE else places.indexed(named)
        return LookedUp(lookup.answered(place.index, place.scope), named, place.scope)
