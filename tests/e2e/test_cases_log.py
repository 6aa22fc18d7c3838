"""Logs that other tools misread, each as a public bug report tells it: what needs no change meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Served


def test_g04_a_block_of_nuls_before_a_log_is_shown_shortly(served: Served) -> None:
    """logrotate/logrotate#286."""
    (served.folder / "app.log").write_bytes(b"\0" * 65536 + b"2024-01-01 ERROR_77 boom\nok line\n")
    overview = served.fields("get_overview", absolute_file_path="app.log")
    assert (overview["encoding"], overview["line_count"], overview["is_binary"]) == ("utf-8", 2, False)
    (error,) = served.hits("ERROR_77")
    assert error[:3] == ("app.log", 1, (65548, 65556))
    assert "2024-01-01 ERROR_77 boom" in error.text
    assert len(error.text) <= 503
    assert served.hits("ok line") == [("app.log", 2, (1, 8), "ok line")]


@pytest.mark.parametrize("indexed", [False, True])
def test_g05_the_first_and_last_lines_keep_their_characters_whole(served: Served, *, indexed: bool) -> None:
    """modelcontextprotocol/servers#4666."""
    lines = ["x" + "界" * 3000, "xx" + "界" * 3000, "界" * 3000 + "\U0001f680x"]
    (served.folder / "cjk.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if indexed:
        served.index()
    assert served.lines("cjk.log", mode="head", limit=1) == lines[:1]
    assert served.lines("cjk.log", mode="tail", limit=1) == lines[2:]
    assert served.lines("cjk.log", mode="tail", limit=2) == lines[1:]
