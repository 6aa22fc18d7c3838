"""What is counted while serving, and how it is told to Prometheus (text format 0.0.4).

Promise: counting costs a call two clock readings and a lock held for two additions, and names no pattern, path of a
file or secret: labels are tools, results and the roots being served.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from linedex.answers import IndexStatus
from linedex.errors import LinedexError
from linedex_server.render.words import encodable
from linedex_server.tools.parameters import Given
from linedex_server.tools.tool import Reply, Session, Tool

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
RESULTS = ("answered", "refused", "failed")


class Tally(NamedTuple):
    """The calls of one tool that had one result.

    Attributes:
        calls: how many.
        seconds: the time they took together.
    """

    calls: int = 0
    seconds: float = 0.0


class Meter:
    """Counts calls of tools; safe to use from any thread."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._tallies: dict[tuple[str, str], Tally] = {}

    def counted(self, tools: Iterable[Tool]) -> tuple[Tool, ...]:
        """Return the same tools, their calls counted here."""
        return tuple(replace(tool, run=self._counting(tool)) for tool in tools)

    @property
    def uptime(self) -> float:
        """Seconds since this meter was made."""
        return time.monotonic() - self._began

    def tallies(self) -> dict[tuple[str, str], Tally]:
        """Return what was counted, by tool and result; a copy."""
        with self._lock:
            return dict(self._tallies)

    def _counting(self, tool: Tool) -> Callable[[Session, Given], Reply]:
        run, name = tool.run, tool.name

        def counting(session: Session, given: Given) -> Reply:
            began = time.perf_counter()
            result = "failed"
            try:
                reply = run(session, given)
                result = "answered"
            except LinedexError:
                result = "refused"
                raise
            finally:
                self._add((name, result), time.perf_counter() - began)
            return reply

        return counting

    def _add(self, key: tuple[str, str], seconds: float) -> None:
        with self._lock:
            before = self._tallies.get(key, Tally())
            self._tallies[key] = Tally(before.calls + 1, before.seconds + seconds)


def exposition(statuses: Sequence[IndexStatus], meter: Meter, *, sessions: int) -> str:
    """Return all metrics as Prometheus reads them.

    Args:
        statuses: of each root being served.
        meter: what was counted.
        sessions: clients connected now.
    """
    tallies = sorted(meter.tallies().items())
    families = (
        _family("linedex_files", "gauge", "Files in the catalogue, by state.", _files(statuses)),
        _family("linedex_text_bytes", "gauge", "Bytes of the indexed text.", _roots(statuses, lambda s: s.text_bytes)),
        _family(
            "linedex_sidecar_bytes", "gauge", "Size of the index on disk.", _roots(statuses, lambda s: s.sidecar_bytes)
        ),
        _family(
            "linedex_queries_total",
            "counter",
            "Calls of tools, by result.",
            (({"tool": tool, "result": result}, tally.calls) for (tool, result), tally in tallies),
        ),
        _family(
            "linedex_query_seconds_total",
            "counter",
            "Time that calls of tools took.",
            (({"tool": tool, "result": result}, tally.seconds) for (tool, result), tally in tallies),
        ),
        _family("linedex_sessions", "gauge", "Clients connected now.", [({}, sessions)]),
        _family("linedex_uptime_seconds", "gauge", "Time since the start.", [({}, meter.uptime)]),
    )
    return "".join(line + "\n" for family in families for line in family)


_Sample = tuple[dict[str, str], float]


def _files(statuses: Sequence[IndexStatus]) -> Iterator[_Sample]:
    for status in statuses:
        skipped = sum(status.skipped.values())
        for state, count in (("indexed", status.indexed), ("pending", status.pending), ("skipped", skipped)):
            yield {"root": status.root, "state": state}, count


def _roots(statuses: Sequence[IndexStatus], value: Callable[[IndexStatus], int]) -> Iterator[_Sample]:
    return (({"root": status.root}, value(status)) for status in statuses)


def _family(name: str, kind: str, about: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{{{inside}}} {value!r}" if inside else f"{name} {value!r}"


def _escaped(text: str) -> str:
    return encodable(text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
