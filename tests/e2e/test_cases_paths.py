"""Paths by which other tools were led astray, each as a public bug report tells it: reading and finding."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Served


def test_p01_a_link_out_of_the_folder_leads_nowhere(served: Served) -> None:
    """modelcontextprotocol/servers#1845, efforthye/fast-filesystem-mcp#23, cyanheads/filesystem-mcp-server#21."""
    (served.folder / "allowed").mkdir()
    (served.folder / "outside").mkdir()
    (served.folder / "allowed/ok.txt").write_text("fine\n", encoding="utf-8")
    (served.folder / "outside/secret.txt").write_text("SECRET_1\n", encoding="utf-8")
    (served.folder / "allowed/leak.txt").symlink_to("../outside/secret.txt")
    (served.folder / "allowed/sub").symlink_to("../outside")
    served.serve("allowed")
    for path in ("leak.txt", "sub/secret.txt"):
        for tool, more in (
            ("read_content", {}),
            ("get_overview", {}),
            ("read_enclosing", {"line": 1}),
            ("search_content", {"pattern": "SECRET_1"}),
        ):
            refused = served.refusal(tool, absolute_file_path=path, **more)
            assert "outside the allowed folders" in refused
            assert "SECRET_1" not in refused.replace("`SECRET_1`", "")
    assert "outside the allowed folders" in served.refusal("list_directory", absolute_dir_path="sub")
    assert served.hits("SECRET_1") == []
    assert served.lines("ok.txt") == ["fine"]


def test_p02_a_sibling_with_a_longer_name_is_outside(served: Served) -> None:
    """blazickjp/shell-mcp-server#9, kizniche/Mycodo#1547."""
    for folder, name, text in (("proj", "a.txt", "in"), ("proj-evil", "b.txt", "out")):
        (served.folder / folder).mkdir()
        (served.folder / folder / name).write_text(text + "\n", encoding="utf-8")
    served.serve("proj")
    assert served.lines(f"{served.folder}/proj/a.txt") == ["in"]
    assert served.lines(f"{served.folder}/proj/./a.txt") == ["in"]
    for path in ("proj-evil/b.txt", "proj/../proj-evil/b.txt"):
        assert "outside the allowed folders" in served.refusal(
            "read_content", absolute_file_path=f"{served.folder}/{path}"
        )


def test_p04_links_in_circles_end_and_each_file_counts_once(served: Served) -> None:
    """oracle/opengrok#233, twisted/twisted#3098, thecodrr/fdir#125."""
    (served.folder / "tree/x").mkdir(parents=True)
    (served.folder / "tree/a.txt").write_text("hit\n", encoding="utf-8")
    (served.folder / "tree/self").symlink_to(".")
    (served.folder / "tree/x/up").symlink_to("..")
    (served.folder / "tree/loop_a").symlink_to("loop_b")
    (served.folder / "tree/loop_b").symlink_to("loop_a")
    served.serve("tree")
    assert served.hits("hit") == [("a.txt", 1, (1, 4), "hit")]
    assert served.text("find_files", name="a.txt") == "a.txt\n[1 file]"
    listed = served.text("list_directory", absolute_dir_path=".", max_depth=9)
    assert [line.split("\t")[0] for line in listed.splitlines() if "a.txt" in line] == ["a.txt"]
    assert re.match(r"read_content failed: .*loop_a", served.refusal("read_content", absolute_file_path="loop_a"))


def test_p05_names_that_are_no_utf8_or_hold_a_line_end_can_be_given_back(served: Served) -> None:
    """simonw/sqlite-utils#507, samschott/maestral#230, Ellerhold/fs2es-indexer#22."""
    for name in (b"good.txt", b"bad\xff.txt", b"new\nline.txt"):
        with open(os.path.join(os.fsencode(served.folder), name), "wb") as file:
            file.write(b"hit\n")
    found = served.hits("hit")
    assert [(line, columns, text) for _, line, columns, text in found] == [(1, (1, 4), "hit")] * 3
    assert len({file for file, *_ in found}) == 3
    for file, *_ in found:
        assert file.isprintable()
        assert served.lines(file) == ["hit"]


def test_p07_a_relative_path_counts_from_the_only_folder(served: Served) -> None:
    """modelcontextprotocol/servers#2526."""
    (served.folder / "allowed/notes").mkdir(parents=True)
    (served.folder / "elsewhere").mkdir()
    (served.folder / "allowed/notes/m.log").write_text("hello\n", encoding="utf-8")
    os.chdir(served.folder / "elsewhere")
    served.serve("allowed")
    assert served.lines("notes/m.log") == ["hello"]
    assert "outside the allowed folders" in served.refusal("list_directory", absolute_dir_path="../elsewhere")
    assert "outside the allowed folders" in served.refusal("read_content", absolute_file_path="../elsewhere")


def test_d16_a_file_is_read_through_links_that_stay_inside(served: Served) -> None:
    """anthropics/claude-code#28376, anthropics/claude-code#52463."""
    (served.folder / "store/here").mkdir(parents=True)
    (served.folder / "store/base.cfg").write_bytes(b"level 1\n")
    (served.folder / "store/here/base.cfg").symlink_to("../base.cfg")
    (served.folder / "alias").symlink_to("store/here")
    (served.folder / "plain.txt").write_bytes(b"k=1\n")
    (served.folder / "link.txt").symlink_to("plain.txt")
    assert served.lines("link.txt") == ["k=1"]
    assert served.lines("alias/base.cfg") == ["level 1"]
    assert served.hits("level 1") == [("store/base.cfg", 1, (1, 8), "level 1")]
