"""Random questions about journals: their lines by time and level, and counts of their records."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from trials.answers import Asker, Question, demand_complete
from trials.world import World, journals

from linedex.answers import Coverage, SearchRequest
from linedex.log_answers import TimelineRequest
from linedex.model import RelPath


def _told(world: World, draw: random.Random) -> tuple[bytes, list[tuple[datetime, str, str]]] | None:
    """Return a journal, and of each line the time and level of its record."""
    found = journals(world)
    if not found:
        return None
    path = draw.choice(found)
    told: list[tuple[datetime, str, str]] = []
    for line in world.files[path].content.decode().split("\n")[:-1]:
        if line.startswith("  at"):
            told.append((*told[-1][:2], line))
        else:
            moment = datetime.strptime(line[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
            told.append((moment, line[20:].split(" ")[0].lower(), line))
    return path, told


def _selected(
    draw: random.Random, told: list[tuple[datetime, str, str]]
) -> tuple[dict[str, Any], Callable[[datetime, str], bool]]:
    """Return a range of time and levels as they are asked for, and what they take."""
    moments = sorted(draw.choices([moment for moment, _, _ in told], k=2))
    since, until = moments[0], moments[1] + timedelta(seconds=draw.choice((1, 30, 60)))
    level, meant = draw.choice(
        (("", ("info", "warn", "error")), ("error", ("error",)), ("warn+", ("warn", "error")), ("info", ("info",)))
    )
    asked: dict[str, Any] = {"level": level} if level else {}
    if draw.random() < 0.7:
        asked["since"] = f"{since:%Y-%m-%dT%H:%M:%S}"
    if draw.random() < 0.7:
        asked["until"] = f"{until:%Y-%m-%dT%H:%M:%S}"
    low = since if "since" in asked else datetime.min.replace(tzinfo=UTC)
    high = until if "until" in asked else datetime.max.replace(tzinfo=UTC)
    return asked, lambda moment, word: low <= moment < high and word in meant


def searched(world: World, draw: random.Random) -> Question | None:
    """Search a journal by time and level."""
    found = _told(world, draw)
    if found is None:
        return None
    path, told = found
    asked, takes = _selected(draw, told)
    pattern = draw.choice(("bob", "disk", "x", "at disk", draw.choice(told)[2][-9:]))
    request = SearchRequest(pattern, RelPath(path), case_sensitive=True, max_hits=100_000, **asked)
    wanted = [at for at, (moment, word, line) in enumerate(told, 1) if pattern in line and takes(moment, word)]

    def ask(index: Asker) -> object:
        found: list[int] = []
        asked = request
        while True:
            answer = index.search(asked)
            found += [hit.line for file in answer.files for hit in file.hits]
            if not answer.cursor:
                demand_complete(answer, allowed=(Coverage.COMPLETE,))
                return found
            asked = replace(asked, cursor=answer.cursor)

    return Question("journal", repr(request), ask, wanted)


def counted(world: World, draw: random.Random) -> Question | None:
    """Count the records of a journal by level."""
    found = _told(world, draw)
    if found is None:
        return None
    path, told = found
    asked, takes = _selected(draw, told)
    request = TimelineRequest(RelPath(path), **asked)
    wanted = Counter(word for moment, word, line in told if not line.startswith("  at") and takes(moment, word))

    def ask(index: Asker) -> object:
        answer = index.timeline(request)
        told_levels = Counter[str]()
        for bucket in answer.buckets:
            told_levels.update(bucket.levels)
        assert +told_levels == +Counter(answer.levels)
        return dict(+told_levels)

    return Question("timeline", repr(request), ask, dict(wanted))
