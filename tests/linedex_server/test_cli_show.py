"""Naming lines of a file on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from linedex.errors import BadArgument
from linedex_server.cli.show import Spot, spot


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a.py", Spot("a.py")),
        ("a.py:41", Spot("a.py", 41, 41)),
        ("a.py:41-88", Spot("a.py", 41, 88)),
        ("a.py:41-", Spot("a.py", 41, None)),
        ("a.py:41:    return x:3", Spot("a.py", 41, 41)),
        ("a.py:41:7", Spot("a.py", 41, 41)),
        ("a:1:b.py", Spot("a", 1, 1)),
        ("a.py:x", Spot("a.py:x")),
        ("a.py:", Spot("a.py:")),
    ],
)
def test_lines_are_named_as_a_search_prints_them(text: str, named: Spot) -> None:
    assert spot(text) == named


def test_a_file_whose_name_reads_like_a_line_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "notes:12"
    path.touch()
    assert spot(str(path)) == Spot(str(path))


@pytest.mark.parametrize("text", ["a.py:0", "a.py:9-3", "a.py:0-3"])
def test_lines_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="names no lines"):
        spot(text)
