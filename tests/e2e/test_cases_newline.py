"""Line ends that other tools miscounted, each as a public bug report tells it: what is read and found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Served


def test_n01_a_search_with_lf_matches_lines_that_end_in_crlf(served: Served) -> None:
    """anthropics/claude-code#27718, anthropics/claude-code#28831, anthropics/claude-code#54876."""
    (served.folder / "draw.cpp").write_bytes(b"begin\r\n\tfoo();\r\n\tbar();\r\nend\r\n")
    (hit,) = served.fields(
        "search_content", absolute_file_path="draw.cpp", pattern="\tfoo();\n\tbar();", context_lines=0
    )["results"]
    assert (hit["line_number"], hit["end_line"], hit["match"]) == (2, 3, "\tfoo();\n\tbar();")
    assert served.lines("draw.cpp") == ["begin", "\tfoo();", "\tbar();", "end"]


def test_n04_a_lone_carriage_return_ends_lines_where_nothing_else_does(served: Served) -> None:
    """BurntSushi/ripgrep#1300, nickbnf/glogg#153."""
    (served.folder / "mac.txt").write_bytes(b"uno\rdos\rtres\r")
    assert served.fields("get_overview", absolute_file_path="mac.txt")["line_count"] == 3
    assert ", CR; " in served.text("get_overview", absolute_file_path="mac.txt")
    assert served.hits("dos") == [("mac.txt", 2, (1, 4), "dos")]
    assert served.lines("mac.txt") == ["uno", "dos", "tres"]


@pytest.mark.parametrize(("name", "data"), [("noeol.txt", b"a\nb\nc"), ("eol.txt", b"a\nb\nc\n")])
def test_n07_a_final_newline_ends_a_line_and_begins_none(served: Served, name: str, data: bytes) -> None:
    """NousResearch/hermes-agent#83022, BrokkAi/brokk-app#895, cline/cline#11274, zhayujie/CowAgent#2943."""
    (served.folder / name).write_bytes(data)
    assert served.fields("get_overview", absolute_file_path=name)["line_count"] == 3
    assert served.lines(name, offset=3) == ["c"]
    assert served.lines(name, mode="tail", limit=1) == ["c"]
    assert served.lines(name, mode="tail", limit=2) == ["b", "c"]
    assert "3 lines" in served.refusal("read_content", absolute_file_path=name, offset=4)


def test_n08_there_are_as_many_line_starts_and_ends_as_lines(served: Served) -> None:
    """BurntSushi/ripgrep#1295, microsoft/edit#808, bobbylight/RSyntaxTextArea#107."""
    (served.folder / "q.txt").write_bytes(b"a\r\n\r\nb\r\n")
    starts = served.hits("^", regex=True)
    assert starts == [("q.txt", line, (1, 1), text) for line, text in ((1, "a"), (2, ""), (3, "b"))]
    ends = served.hits("$", regex=True)
    assert ends == [("q.txt", 1, (2, 2), "a"), ("q.txt", 2, (1, 1), ""), ("q.txt", 3, (2, 2), "b")]


def test_n09_the_hash_of_a_read_is_that_of_the_bytes(served: Served) -> None:
    """anthropics/claude-code#64599, anthropics/claude-code#13456."""
    from hashlib import sha256

    data = b"x = 1\r\ny = 2\r\n"
    (served.folder / "w.ini").write_bytes(data)
    assert f"hash {sha256(data).hexdigest()[:16]}]" in served.text("read_content", absolute_file_path="w.ini")


def test_d21_a_no_break_space_is_no_space_but_near(served: Served) -> None:
    """anthropics/claude-code#29869, anthropics/claude-code#20828."""
    (served.folder / "nb.md").write_bytes("total:\u00a0100 units\nnext\u00a0line\n".encode())
    page = served.text("search_content", absolute_file_path="nb.md", pattern="total: 100 units", context_lines=0)
    assert page.startswith("nb.md\n1~total:\u00a0100 units\n[no exact hit; 1 near line ")
