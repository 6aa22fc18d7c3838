"""Patterns that never end and lines that are too long, each as a public bug report tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Served


def test_m01_nested_repetition_takes_no_time(served: Served) -> None:
    """aden-hive/hive#1673, johnhuang316/code-index-mcp#84, redimp/otterwiki#434."""
    (served.folder / "a.txt").write_text("a" * 40 + "!\n", encoding="utf-8")
    (served.folder / "b.txt").write_text("aaa\n", encoding="utf-8")
    assert served.hits("^(a+)+$", regex=True) == [("b.txt", 1, (1, 4), "aaa")]
    assert ("b.txt", 1, (1, 4), "aaa") in served.hits("aaa")


@pytest.mark.timeout(60)
def test_m01_a_pattern_that_backtracks_for_ever_names_the_file_it_gave_up(served: Served) -> None:
    """aden-hive/hive#1673, johnhuang316/code-index-mcp#84, redimp/otterwiki#434."""
    (served.folder / "a.txt").write_text("a" * 40 + "!\n", encoding="utf-8")
    (served.folder / "b.txt").write_text("aaa\n", encoding="utf-8")
    page = served.text("search_directory", absolute_dir_path=".", pattern=r"^(?=a)(a|aa|a?)+$", regex=True)
    assert page.startswith("b.txt\n1:aaa\n[1 hit in 1 file; partial: ")
    assert "a.txt: the pattern took over 5 seconds on one file" in page
    assert "1:aaa" in served.text("search_directory", absolute_dir_path=".", pattern="aaa")


def test_m02_every_match_in_a_huge_line_is_found_and_shown_shortly(served: Served) -> None:
    """lidge-jun/aside-codemode#45, BurntSushi/ripgrep#1451, anomalyco/opencode#35655."""
    line = "x" * 1_000_000 + "NEEDLE" + "y" * 1_000_000 + "NEEDLE" + "z" * 1_000_000
    (served.folder / "min.js").write_text(line + "\n", encoding="utf-8")
    (served.folder / "other.txt").write_text("NEEDLE\n", encoding="utf-8")
    first, second, third = served.hits("NEEDLE")
    assert first[:3] == ("min.js", 1, (1_000_001, 1_000_007))
    assert second[:3] == ("min.js", 1, (2_000_007, 2_000_013))
    assert third == ("other.txt", 1, (1, 7), "NEEDLE")
    for found in (first, second):
        assert "NEEDLE" in found.text
        assert found.text.endswith("...")  # how `--output json` marks what is cut
        assert len(found.text) <= 503
    page = served.text("search_directory", absolute_dir_path=".", pattern="NEEDLE")
    assert page.count("NEEDLE") == 3
    assert page.count("…") == 4
    assert "match at column 1000001]" in page
    assert "match at column 2000007]" in page
    assert len(page) < 2_000
