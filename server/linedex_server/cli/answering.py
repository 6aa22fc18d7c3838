"""Who answers a search at the command line: the daemon, where it keeps an index of the path, else this process.

Promise: both print the same. The daemon is not started for it. If it ends before anything of a path was given, the path
is searched here; if later, that is an error. The engine is loaded only when this process has to answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from linedex.errors import BadPattern, LinedexError
from linedex.model import RelPath
from linedex_server.asking.search import AskedSearch, ask
from linedex_server.cli.door import opened
from linedex_server.cli.named import Named, called
from linedex_server.config import Settings
from linedex_server.pages import FOLLOWING_HITS, PAGE_CHARACTERS, Part, Question

if TYPE_CHECKING:
    from linedex_server.cli.places import Place, Places


@dataclass(frozen=True, slots=True)
class Target:
    """A path to be searched, and who does it.

    Attributes:
        named: the path.
        place: its index in this process, None where the daemon is asked.
        scope: where it lies in the daemon's.
    """

    named: Named
    place: Place | None
    scope: RelPath

    @property
    def indexed(self) -> bool:
        """Whether it lies in a folder that has been indexed."""
        return self.place is None or self.place.indexed

    def called(self, path: bytes) -> bytes:
        """Return how the person calls a file of the index."""
        return called(self.named.spelled, self.scope, path)


class Answering:
    """Answers one question about some paths; closes what it opened at the end of a `with`."""

    def __init__(self, settings: Settings, question: Question) -> None:
        """Open nothing yet.

        Args:
            settings: the state folder, limits, and what of a folder belongs to an index.
            question: what is asked of each path; which those are, `asks` is told.
        """
        self._settings = settings
        self._question = question
        self._daemon: AskedSearch | None = None
        self._places: Places | None = None
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def asks_daemon(self, paths: Sequence[Named]) -> tuple[RelPath | None, ...]:
        """Ask the daemon; return for each path its scope in the daemon's index, None if it is to be searched here."""
        nobody = (None,) * len(paths)
        if not paths or self._question.request.brute:
            # who leaves the index aside has doubts
            return nobody
        question = replace(self._question, paths=tuple(str(one.real) for one in paths))
        self._daemon = ask(self._settings.state_dir, question)
        if self._daemon is None:
            return nobody
        self._exits.callback(self._daemon.close)
        return self._daemon.scopes

    def target(self, named: Named, scope: RelPath | None) -> Target:
        """Return who searches a path; `scope` is what `asks_daemon` gave.

        Raises:
            NotFound: it is not there any more.
        """
        if scope is not None:
            return Target(named, None, scope)
        place = self._here(named)
        return Target(named, place, place.scope)

    def parts(self, target: Target) -> Iterator[tuple[Target, Part]]:
        """Yield the answer for a target part by part, and who gave it; targets that the daemon answers go in order.

        Raises:
            BadPattern, BadArgument: what is asked can be answered of no path.
            LinedexError: the answer ends here.
        """
        if target.place is None and self._daemon is not None:
            given = False
            try:
                for part in self._daemon.parts():
                    given = given or bool(part.files)
                    yield target, part
            except BadPattern:
                raise
            except LinedexError:
                if given:
                    raise
            else:
                return
        place = target.place or self._here(target.named)
        here = Target(target.named, place, place.scope)
        request = replace(self._question.request, scope=place.scope, max_characters=PAGE_CHARACTERS)
        for answer in place.index.pages(request, FOLLOWING_HITS):
            yield here, Part(answer.files, answer.coverage, bool(answer.cursor))
            if self._question.first_page_only:
                return

    def _here(self, named: Named) -> Place:
        if self._places is None:
            places = opened(self._settings, self._question.limits(self._settings.limits))
            self._places = self._exits.enter_context(places)
        return self._places.of(named)
