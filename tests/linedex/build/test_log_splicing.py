"""Edits that are told of in the middle of large logs: what is stored afterwards is what reading the file anew gives."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.linedex.build.test_log_pass import STAMP
from tests.linedex.build.test_log_pass import TINY as LOG_LIMITS
from tests.linedex.build.test_splicing import mark_of, spliced, splices_of

from linedex.build.splicing import Edit
from linedex.content.logs.cells import merge_cells
from linedex.content.logs.instants import NO_INSTANT
from linedex.content.logs.levels import Level
from linedex.content.logs.parts import read_parts
from linedex.content.logs.records import FILE_START
from linedex.content.logs.texts import LogReading
from linedex.index import Index
from linedex.limits import Limits
from linedex.log_answers import PatternsRequest
from linedex.model import FileId, RelPath, TextFormat
from linedex.store import logs
from linedex.store.log_columns import LogColumns, columns_of

LATEST = (1 << 63) - 1
NAME = RelPath(b"app.log")
TINY = replace(LOG_LIMITS, block_slack=100, commit_bytes=1 << 20)
START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ENTRY = st.tuples(
    st.sampled_from([0, 1, 40, 400]),
    st.sampled_from(["INFO", "ERROR"]),
    st.sampled_from(["disk 7 full", "user bob logged in", "took 31 ms", "x" * 120]),
    st.integers(0, 4),
)


def dated(entries: list[tuple[int, str, str, int]]) -> bytes:
    lines = []
    moment = START
    for minutes, level, message, more in entries:
        moment += timedelta(minutes=minutes)
        lines.append(f"{moment:%Y-%m-%d %H:%M:%S} {level} {message}")
        lines += ["\tat some.place(Here.java:12)"] * more
    return "".join(line + "\n" for line in lines).encode()


def yearless(entries: list[tuple[int, str, str, int]]) -> bytes:
    lines = []
    moment = START
    for days, level, message, more in entries:
        moment += timedelta(days=days / 4)
        lines.append(f"{moment:%b %d %H:%M:%S} host app[7]: {level} {message}")
        lines += ["\tat some.place(Here.java:12)"] * more
    return "".join(line + "\n" for line in lines).encode()


BASE = [(20, "INFO", "user bob logged in", 0), (30, "ERROR", "disk 7 full", 3), (400, "INFO", "took 31 ms", 0)] * 14


def read_whole(text: bytes, reading: LogReading, beyond: bytes = b"") -> LogColumns:
    """Read a whole log, or what stands before a place in it, as one part."""
    told: dict[str, Any] = {"continues": False, "beyond": beyond, "spelling": TextFormat(), "shapes": False}
    return columns_of([read_parts(reading, text, 0, [0], FILE_START, **told).parts[0].part])


def sums(columns: LogColumns) -> dict[str, object]:
    known = columns.part["least"] != NO_INSTANT
    cells = merge_cells([columns.cells()])
    return {
        **{name: int(columns.part[name].sum()) for name in ("records", "lines", "line_ends", "unstamped")},
        "least": columns.part["least"][known].min(initial=LATEST),
        "greatest": columns.part["greatest"].max(),
        "last": columns.last,
        "cells": list(zip(cells.minutes.tolist(), cells.levels.tolist(), cells.counts.tolist(), strict=True)),
    }


def stored_log(index: Index) -> tuple[LogReading, LogColumns]:
    with index._keeper.reading() as db:
        assert db is not None
        file = FileId(int(db.execute("SELECT id FROM files").get))
        _, reading = logs.stored_reading(db, file)
        assert reading is not None
        return reading, logs.columns(db, file)


def agrees(index: Index, text: bytes) -> None:
    reading, columns = stored_log(index)
    assert columns.part["start"].tolist() == [0, *columns.part["end"].tolist()[:-1]]
    assert columns.end == len(text)
    assert sums(columns) == sums(read_whole(text, reading))
    # reading may begin at any part: what is stored with it tells the same as what the parts before it leave
    for at in range(1, len(columns)):
        place = int(columns.part["start"][at])
        before, beyond = text[:place], text[place : place + 512]
        assert columns.part["last"][at - 1] == read_whole(before, reading, beyond).last
        assert bool(columns.part["continues"][at]) == (not before.endswith(b"\n"))


def take_in(index: Index, log: Path, body: bytes, splices: list[tuple[int, int, bytes]]) -> tuple[bytes, bool]:
    before, now = mark_of(log), spliced(body, splices)
    log.write_bytes(now)
    edit = Edit(NAME, before, tuple((start, end, len(text)) for start, end, text in splices))
    return now, index._keeper._made_builder().take_in(index._keeper.catalogue(), edit) is not None


CUTS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.0, 0.01, 0.2]), st.lists(ENTRY, max_size=4)),
    min_size=1,
    max_size=2,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.booleans(), st.lists(ENTRY, max_size=12), st.lists(st.tuples(CUTS, st.booleans()), min_size=1, max_size=3))
@example(years=False, more=[], rounds=[([(0.99, 0.01, [])], False)])
def test_a_log_that_was_edited_is_known_as_if_it_had_been_read_anew(
    years: bool,
    more: list[tuple[int, str, str, int]],
    rounds: list[tuple[list[tuple[float, float, list[tuple[int, str, str, int]]]], bool]],
) -> None:
    spell = dated if years else yearless
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        log = root / "app.log"
        body = spell(BASE + more)
        log.write_bytes(body)
        with Index(root, Path(folder, "index.db"), TINY) as index:
            index.build()
            for cuts, appends in rounds:
                splices = splices_of(body, [(at, length, spell(entries)) for at, length, entries in cuts])
                body, taken = take_in(index, log, body, splices)
                if not taken:
                    return
                agrees(index, body)
                if appends:
                    added = spell([(3, "INFO", "disk 7 full", 1)])
                    body += added
                    with log.open("ab") as grown:
                        grown.write(added)
                    index.build()
                    agrees(index, body)
            # which messages share a pattern depends on the order they are met in, their counts do not
            shapes = index.patterns(PatternsRequest(NAME, max_patterns=99))
            records = int(stored_log(index)[1].part["records"].sum())
            assert sum(one.count for one in shapes.patterns) == shapes.records == records


def test_an_edited_log_counts_as_its_lines_say(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    body = dated(BASE)
    log.write_bytes(body)
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        at = body.index(b"\n", 900) + 1
        new = dated([(7, "ERROR", "disk 9 full", 2), (0, "INFO", "user eve logged in", 0)])
        body, taken = take_in(index, log, body, [(at, at + 200, new)])
        assert taken
        expected: Counter[tuple[int, str]] = Counter()
        for line in body.splitlines():
            if match := STAMP.match(line):
                moment = datetime.fromisoformat(match[1].decode()).replace(tzinfo=UTC)
                expected[int(moment.timestamp()) // 60, match[2].decode().lower()] += 1
        cells = merge_cells([stored_log(index)[1].cells()])
        entries = zip(cells.minutes.tolist(), cells.levels.tolist(), cells.counts.tolist(), strict=True)
        assert {(minute, Level(level).label): count for minute, level, count in entries} == expected
        with Index(root, tmp_path / "fresh.db", TINY) as fresh:
            fresh.build()
            told, anew = (one.patterns(PatternsRequest(NAME, max_patterns=99)).patterns for one in (index, fresh))
            assert Counter({one.text: one.count for one in told}) == Counter({one.text: one.count for one in anew})


def test_taking_away_a_new_year_moves_all_that_follows(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    body = yearless([(4 * 9, "INFO", f"message {at}", 0) for at in range(160)])
    log.write_bytes(body)
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        years = 366 * 86_400 * 10**6
        assert stored_log(index)[1].last // years == 4
        # from one spring to the next
        first, second = springs(body)
        body, taken = take_in(index, log, body, [(first, second, b"")])
        assert taken
        agrees(index, body)
        assert stored_log(index)[1].last // years == 3


def places(body: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    for line in body.splitlines(keepends=True):
        found.append((at, line))
        at += len(line)
    return found


def springs(body: bytes) -> tuple[int, int]:
    found = [at for at, line in places(body) if line.startswith(b"Apr")]
    later = [at for at in found if at > found[0] + 1500]
    return found[0], later[0]


def test_an_edit_reads_the_parts_it_touches_and_one_more_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    body = dated([(1, "INFO", f"request {at} was served", 0) for at in range(40_000)])
    log.write_bytes(body)
    with Index(root, tmp_path / "index.db", Limits(workers=0, log_zone="UTC", log_part_bytes=64 << 10)) as index:
        index.build()
        total = 0
        pread = os.pread

        def counted(descriptor: int, size: int, offset: int) -> bytes:
            nonlocal total
            data = pread(descriptor, size, offset)
            total += len(data)
            return data

        at = body.index(b"\n", len(body) // 2) + 1
        monkeypatch.setattr(os, "pread", counted)
        body, taken = take_in(index, log, body, [(at, at, dated([(0, "ERROR", "disk 9 full", 1)]))])
        monkeypatch.undo()
        assert taken
        assert total < 600_000
        agrees_in_sum(index, body)


def agrees_in_sum(index: Index, text: bytes) -> None:
    reading, columns = stored_log(index)
    assert sums(columns) == sums(read_whole(text, reading))


def test_an_edited_place_does_not_fall_to_ever_smaller_parts(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    log = root / "app.log"
    body = dated(BASE)
    log.write_bytes(body)
    with Index(root, tmp_path / "index.db", TINY) as index:
        index.build()
        count = len(stored_log(index)[1])
        for _ in range(20):
            at = body.index(b"\n", 900) + 1
            body, taken = take_in(index, log, body, [(at, at, b"\tat other.place\n")])
            assert taken
        agrees(index, body)
        assert len(stored_log(index)[1]) <= count + 4
