"""What `check` finds wrong with logs and checkpoints: nothing in sound indexes, each kind of damage in others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from tests.linedex.build.test_log_pass import TINY as LOG_LIMITS
from tests.linedex.build.test_log_pass import written

from linedex.content.logs.levels import Level
from linedex.content.logs.parts import Part
from linedex.index import Index
from linedex.store.log_columns import packed, unpacked

TINY = replace(LOG_LIMITS, checkpoint_bytes=700)
MOMENTS = [(0, "INFO", "user bob logged in", 0), (1, "ERROR", "disk 7 full", 2), (2, "INFO", "took 31 ms", 0)]


def built(folder: Path, text: str) -> Index:
    root = folder / "root"
    root.mkdir()
    (root / "app.log").write_text(text)
    made = Index(root, folder / "index.db", TINY)
    made.build()
    return made


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with built(tmp_path, written(MOMENTS * 12, 0).decode()) as made:
        yield made


def damage(index: Index, statement: str, *bound: object) -> None:
    with index._keeper.reading() as db:
        assert db is not None
        path = db.filename
    writer = apsw.Connection(path)
    writer.execute(statement, bound)
    assert writer.changes() > 0
    writer.close()


def change_part(index: Index, change: Callable[[Part], Part]) -> None:
    with index._keeper.reading() as db:
        assert db is not None
        data = db.execute("SELECT data FROM log_segments WHERE first = 0").get
    parts = unpacked([data]).parts()
    at = next(at for at, part in enumerate(parts) if at and part.records)
    parts[at] = change(parts[at])
    damage(index, "UPDATE log_segments SET data = ? WHERE first = 0", packed(parts))


YEARLESS = "".join(f"Mar {day:2d} 05:06:07 host app: message\n  more\n" * 9 for day in range(1, 29))
LONG = written(MOMENTS * 12, 0).decode().replace("took 31 ms", "took 31 ms " + "x" * 900)


@pytest.mark.parametrize("text", [written(MOMENTS * 30, 0).decode(), YEARLESS, LONG], ids=["dated", "yearless", "long"])
def test_a_sound_log_is_found_sound_before_and_after_it_grew(text: str, tmp_path: Path) -> None:
    with built(tmp_path, text) as index:
        assert index.check() == ()
        with (index.root / "app.log").open("ab") as log:
            log.write(written(MOMENTS, 700) + b"half a")
        index.build()
        assert index.check() == ()


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda part: replace(part, records=part.records + 1), "other records"),
        (lambda part: replace(part, least=part.least - 1), "other least"),
        (lambda part: replace(part, greatest=part.greatest + 1), "other greatest"),
        (lambda part: replace(part, lines=part.lines + 1), "other lines"),
        (lambda part: replace(part, unstamped=part.unstamped + 1), "other unstamped"),
        (lambda part: replace(part, longest=part.longest - 1), "other longest"),
        (lambda part: replace(part, last=part.last - 1), "other last"),
        (lambda part: replace(part, end=part.end + 1), "other "),
        (lambda part: replace(part, continues=not part.continues), "other beginnings of lines"),
        (lambda part: replace(part, carry=replace(part.carry, open=not part.carry.open)), "other lines before it"),
        (
            lambda part: replace(part, cells=replace(part.cells, counts=part.cells.counts + 1)),
            "other counts by minute and level",
        ),
        (
            lambda part: replace(part, cells=replace(part.cells, minutes=part.cells.minutes - 1)),
            "other counts by minute and level",
        ),
        (
            lambda part: replace(part, templates={**part.templates, (1, Level.INFO): 10_000}),
            "other templates",
        ),
    ],
)
def test_a_part_that_says_something_else_than_its_bytes_is_reported(
    index: Index, change: Callable[[Part], Part], wrong: str
) -> None:
    change_part(index, change)
    (told,) = index.check()
    assert told.startswith("The part of the log of file ")
    assert wrong in told


def test_a_segment_that_is_numbered_wrongly_is_reported(index: Index) -> None:
    damage(index, "UPDATE log_segments SET line = line + 1 WHERE first = 0")
    assert any("begins with part 0 in line 2, not with part 0 in line 1" in told for told in index.check())


def test_a_log_that_is_not_stored_to_its_end_is_reported(index: Index) -> None:
    damage(index, "DELETE FROM log_segments WHERE first = 0")
    assert any(" is known to byte 0, not to " in told for told in index.check())


def test_a_log_that_is_stored_as_none_is_reported(index: Index) -> None:
    damage(index, "UPDATE logs SET rule = ''")
    assert any(" is stored as one without times, and has some." in told for told in index.check())


def test_a_checkpoint_that_is_not_of_its_bytes_is_reported(index: Index) -> None:
    damage(
        index, "UPDATE checkpoints SET crc = crc + 1 WHERE start > 0 AND start = (SELECT max(start) FROM checkpoints)"
    )
    assert [told.partition("file")[0] for told in index.check()] == ["The checkpoint of "]


def test_checkpoints_with_a_gap_or_without_an_end_are_reported(index: Index) -> None:
    damage(index, "DELETE FROM checkpoints WHERE start = (SELECT max(start) FROM checkpoints)")
    assert any(told.startswith("The checkpoints of file ") and " reach to byte " in told for told in index.check())
    damage(index, "DELETE FROM checkpoints WHERE start = 0")
    assert any("A checkpoint of file " in told and " not at 0." in told for told in index.check())
