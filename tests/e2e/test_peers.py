"""The bench beside the peers: who takes part, what a comparison names, and one run over a few small files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "scripts" / "bench"


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a folder that holds all programs there are."""
    monkeypatch.syspath_prepend(str(BENCH))
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def executable(path: Path, says: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


def test_peers_that_are_not_here_are_named_with_what_installs_them(programs: Path) -> None:
    from beside.programs import found  # type: ignore[import-not-found]

    peers = found([])
    assert peers.programs == ()
    assert peers.absent.keys() >= {"ripgrep", "codesearch", "ugrep", "lnav", "largefile", "filesystem server"}
    assert all("install" in how for how in peers.absent.values())


def test_every_version_of_ripgrep_takes_part_once_and_other_programs_of_a_name_do_not(programs: Path) -> None:
    from beside.programs import found

    executable(programs / "rg", "ripgrep 15.2.0 (rev 0123456789)")
    executable(programs.with_name("older") / "rg", "ripgrep 9.0.1")
    executable(programs.with_name("again") / "rg", "ripgrep 15.2.0")
    executable(programs / "ctags", "ctags (GNU Emacs 28.2)")
    peers = found([programs.with_name("again"), programs.with_name("older")])
    assert [program.name for program in peers.programs] == ["ripgrep 9.0.1", "ripgrep 15.2.0"]
    assert "Universal Ctags" in peers.absent


def kept(path: Path, **ratios: list[float]) -> Path:
    """Keep a run whose measures have these ratios to a peer that takes a second."""
    measures = [
        {"name": name, "on": "a tree", "unit": "s", "amounts": {"linedex MCP": amounts, "grep 1": [1.0] * len(amounts)}}
        for name, amounts in ratios.items()
    ]
    path.write_text(json.dumps({"date": "2026-01-31", "machine": "a machine", "measures": measures}))
    return path


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, Path], str]:
    """Return what names the differences of two kept runs, where a quarter is borne."""
    monkeypatch.syspath_prepend(str(BENCH))
    from beside.report import compared, loaded  # type: ignore[import-not-found]

    return lambda now, then: str(compared(loaded(now), loaded(then), 0.25))


def test_a_ratio_that_got_worse_is_named_and_noise_and_gains_are_not(
    tmp_path: Path, compare: Callable[[Path, Path], str]
) -> None:
    then = kept(
        tmp_path / "then", slower=[2.0, 2.1, 1.9], noisy=[2.0] * 3, near=[2.0] * 3, faster=[2.0] * 3, gone=[1.0]
    )
    now = kept(
        tmp_path / "now", slower=[2.6, 2.7, 2.5], noisy=[1.9, 4.0, 4.0], near=[2.4] * 3, faster=[1.0] * 3, new=[9.0]
    )
    head, _, *named = compare(now, then).splitlines()
    assert head.endswith(" 4 of 5 ratios stand in both; worse by more than 25%: 1.")
    assert named == ["- slower (a tree), linedex MCP to grep 1: 2.6, was 2"]


def test_a_measure_that_fails_now_counts_as_worse(tmp_path: Path, compare: Callable[[Path, Path], str]) -> None:
    then = kept(tmp_path / "then", rare=[2.0])
    now = kept(tmp_path / "now", rare=[2.0])
    figures = json.loads(now.read_text())
    del figures["measures"][0]["amounts"]["linedex MCP"]
    figures["measures"][0]["failed"] = {"linedex MCP": "ended after 900 s"}
    now.write_text(json.dumps(figures))
    assert compare(now, then).splitlines()[-1] == "- rare (a tree), linedex MCP failed: ended after 900 s"


def test_the_status_tells_whether_something_got_worse_and_the_table_is_shown(tmp_path: Path) -> None:
    then, now = kept(tmp_path / "then", rare=[0.25]), kept(tmp_path / "now", rare=[0.5])
    called = [
        subprocess.run(
            [sys.executable, BENCH / "peers.py", "--given", run, "--against", then], capture_output=True, check=False
        )
        for run in (then, now)
    ]
    assert [ran.returncode for ran in called] == [0, 1]
    assert b"| rare | a tree | 500 ms |  | grep 1 1.0 s (0.5, -) |" in called[1].stdout


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is weighed by /proc")
def test_a_run_over_a_few_small_files_measures_every_part_beside_what_is_here(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "clk-bulk.c").write_text("int devm_clk_bulk_get_optional(void)\n{\n\treturn 0; /* TODO */\n}\n")
    (tree / "tool.py").write_text("def kthread_bind_mask():\n    return 1\n")
    log = tmp_path / "app.log"
    subprocess.run([sys.executable, BENCH / "logs.py", "0.3", log], check=True)
    before = log.read_bytes()
    figures = tmp_path / "figures.json"
    command = [sys.executable, BENCH / "peers.py", "--tree", tree, "--log", log, "--edit", log, "--json", figures]
    quick = ["--runs", "1", "--index-runs", "1", "--starts", "1", "--folder", tmp_path]
    ran = subprocess.run(
        [*command, *quick], capture_output=True, text=True, check=False, env={**os.environ, "LINEDEX_LOG_LEVEL": "loud"}
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    measures = {measure["name"].split(":")[0]: measure for measure in json.loads(figures.read_text())["measures"]}
    assert measures.keys() >= {
        "start, daemon up",
        "index of the text",
        "symbols of the tree",
        "first query, nothing running before",
        "rare literal",
        "count of TODO",
        "files called clk-bulk.c",
        "edit of one line in the middle",
        "20 lines from 90 % on",
        "id at 90 %",
        "memory, peak",
    }
    for name, measure in measures.items():
        assert {"linedex MCP", "linedex CLI"} & measure["amounts"].keys(), name
        assert not {"linedex MCP", "linedex CLI"} & measure["failed"].keys(), name
    for name, hits in {"rare literal": 1, "id at 90 %": 1, "edit of one line in the middle": 1}.items():
        assert set(measures[name]["told"].values()) == {hits}, name
    assert log.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.log", "figures.json", "tree"]
