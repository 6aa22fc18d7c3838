"""What Prometheus reads, parsed back by its own rules."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linedex.answers import IndexStatus, Phase
from linedex.errors import NotFound
from linedex_server.config import Settings
from linedex_server.metrics import Meter, Tally, exposition
from linedex_server.tools.parameters import Given
from linedex_server.tools.tool import Reply, Session, Tool
from linedex_server.workspace import Workspace

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? (\S+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\[\\"n])*)"')


def status(root: str, **counts: int) -> IndexStatus:
    return IndexStatus(
        root=root,
        phase=Phase.TEXT,
        progress={},
        files=counts.get("indexed", 0) + counts.get("pending", 0),
        indexed=counts.get("indexed", 0),
        pending=counts.get("pending", 0),
        skipped={"binary": counts.get("skipped", 0)},
        text_bytes=counts.get("text", 0),
        symbols=0,
        symbol_files=0,
        symbol_pending=0,
        symbol_skipped={},
        sidecar_bytes=counts.get("sidecar", 0),
        signature_bytes=0,
        writer=True,
        freshness="",
    )


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Each sample by its name and labels; fails on a line that the format does not know."""
    found = {}
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# "):
            assert re.fullmatch(r"# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge))", line), line
            continue
        parts = SAMPLE.fullmatch(line)
        assert parts, line
        labels = tuple(
            (key, re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], value))
            for key, value in LABEL.findall(parts[2] or "")
        )
        found[parts[1], labels] = float(parts[3])
    return found


def test_each_root_s_state_is_told() -> None:
    told = samples(
        exposition(
            [status("/a", indexed=5, pending=2, skipped=1, text=1 << 40, sidecar=7), status("/b")],
            Meter(),
            sessions=3,
        )
    )
    assert told["linedex_files", (("root", "/a"), ("state", "indexed"))] == 5
    assert told["linedex_files", (("root", "/a"), ("state", "pending"))] == 2
    assert told["linedex_files", (("root", "/a"), ("state", "skipped"))] == 1
    assert told["linedex_text_bytes", (("root", "/a"),)] == 1 << 40
    assert told["linedex_sidecar_bytes", (("root", "/a"),)] == 7
    assert told["linedex_text_bytes", (("root", "/b"),)] == 0
    assert told["linedex_sessions", ()] == 3
    assert told["linedex_uptime_seconds", ()] >= 0


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_root_of_any_name_is_read_back(name: str) -> None:
    told = samples(exposition([status(name, text=1)], Meter(), sessions=0))
    assert told["linedex_text_bytes", (("root", name),)] == 1


def test_a_name_that_is_not_utf_8_can_be_written() -> None:
    assert "\ufffd" in exposition([status("/a\udcff")], Meter(), sessions=0).encode().decode()


def run(session: Session, given: Given) -> Reply:
    del session
    word = given.maybe_text("word")
    if word == "gone":
        raise NotFound("It is not there.")
    if word == "broken":
        raise ZeroDivisionError
    return Reply("here")


def given_word(word: str) -> Given:
    return Given({"word": word})


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "tree").mkdir()
    return Session(Workspace(Settings(state_dir=tmp_path / "state", allowed_roots=(str(tmp_path / "tree"),))))


def test_calls_are_counted_by_their_result_and_pass_through(session: Session) -> None:
    meter = Meter()
    (tool,) = meter.counted([Tool("find", "Finds.", (), run, {})])
    assert tool.run(session, given_word("a")).text == "here"
    with pytest.raises(NotFound):
        tool.run(session, given_word("gone"))
    with pytest.raises(ZeroDivisionError):
        tool.run(session, given_word("broken"))
    assert {key: tally.calls for key, tally in meter.tallies().items()} == {
        ("find", "answered"): 1,
        ("find", "refused"): 1,
        ("find", "failed"): 1,
    }
    told = samples(exposition([], meter, sessions=0))
    assert told["linedex_queries_total", (("tool", "find"), ("result", "refused"))] == 1


def test_no_call_is_lost_among_threads(session: Session) -> None:
    meter = Meter()
    (tool,) = meter.counted([Tool("find", "Finds.", (), run, {})])
    barrier = threading.Barrier(4)

    def many(_: int) -> None:
        barrier.wait(10)
        for _ in range(2_000):
            tool.run(session, given_word("a"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(many, range(4)))
    assert meter.tallies().keys() == {("find", "answered")}
    assert cast("Tally", meter.tallies()["find", "answered"]).calls == 8_000
