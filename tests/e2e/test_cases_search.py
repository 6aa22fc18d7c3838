"""Searches that other tools got wrong, each as a public bug report tells it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Served


def test_s01_an_anchor_stands_before_the_carriage_return(served: Served) -> None:
    """BurntSushi/ripgrep#1568, BurntSushi/ripgrep#416."""
    (served.folder / "list.txt").write_bytes(b"red\r\ngreen\r\nred apple\r\n")
    assert served.hits("^red$", regex=True) == [("list.txt", 1, (1, 4), "red")]


def test_s02_a_byte_order_mark_is_no_part_of_line_one(served: Served) -> None:
    """BurntSushi/ripgrep#1163, patchloom/patchloom#2330."""
    (served.folder / "notes.txt").write_bytes(b"\xef\xbb\xbfalpha one\nbeta\nalpha two\n")
    assert served.hits("^alpha", regex=True) == [
        ("notes.txt", 1, (1, 6), "alpha one"),
        ("notes.txt", 3, (1, 6), "alpha two"),
    ]


def test_s04_a_stray_nul_ends_no_search(served: Served) -> None:
    """BurntSushi/ripgrep#1227, BurntSushi/ripgrep#306, anthropics/claude-code#66120."""
    filler = b"filler line of plain text\n" * 40000
    (served.folder / "late.log").write_bytes(b"START ok\n" + filler + b"\x00\x00\n" + b"END ok\n")
    (served.folder / "early.ts").write_bytes(b"const A = 'TOKEN_ABC';\nconst B = '\x00';\nconst C = 'TOKEN_ABC';\n")
    assert served.hits("^(START|END) ok$", regex=True) == [
        ("late.log", 1, (1, 9), "START ok"),
        ("late.log", 40003, (1, 7), "END ok"),
    ]
    assert served.hits("TOKEN_ABC") == [
        ("early.ts", 1, (12, 21), "const A = 'TOKEN_ABC';"),
        ("early.ts", 3, (12, 21), "const C = 'TOKEN_ABC';"),
    ]


def test_s05_one_and_two_characters_find_what_they_name(served: Served) -> None:
    """tommy0103/obelisk#76, tommy0103/obelisk#194, yohasebe/wp2txt#27."""
    (served.folder / "a.txt").write_text("fast lane\n", encoding="utf-8")
    (served.folder / "b.txt").write_text("fast id\n", encoding="utf-8")
    (served.folder / "c.txt").write_text("昨晚整理了日志\n", encoding="utf-8")
    assert served.hits("id") == [("b.txt", 1, (6, 8), "fast id")]
    assert served.hits("整理") == [("c.txt", 1, (3, 5), "昨晚整理了日志")]
    assert served.hits("日") == [("c.txt", 1, (6, 7), "昨晚整理了日志")]
    assert served.hits("fast id") == [("b.txt", 1, (1, 8), "fast id")]


def test_s06_capitals_beyond_ascii_are_folded_and_accents_kept(served: Served) -> None:
    """jhawthorn/fzy#155, 4gray/iptvnator#609."""
    (served.folder / "words.txt").write_text("łódź\nŁÓDŹ\nlodz\nστοά\nΣΤΟΆ\n", encoding="utf-8")
    assert served.hits("łódź") == [("words.txt", 1, (1, 5), "łódź"), ("words.txt", 2, (1, 5), "ŁÓDŹ")]
    assert served.hits("στοά") == [("words.txt", 4, (1, 5), "στοά"), ("words.txt", 5, (1, 5), "ΣΤΟΆ")]


def test_s08_a_dense_file_is_searched_as_any_other(served: Served) -> None:
    """google/zoekt#99, google/codesearch#63, justrach/codedb#635."""
    drawn = random.Random(7)
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+*"
    lines = ["".join(drawn.choice(alphabet) for _ in range(150)) for _ in range(6000)]
    lines[3776] = "needle_zq_marker"
    (served.folder / "dense.txt").write_text("\n".join(lines) + "\n", encoding="ascii")
    assert served.hits("needle_zq_marker") == [("dense.txt", 3777, (1, 17), "needle_zq_marker")]


def test_s10_matches_of_many_lines_that_follow_each_other_keep_their_lines(served: Served) -> None:
    """BurntSushi/ripgrep#2779, BurntSushi/ripgrep#2420, BurntSushi/ripgrep#886."""
    text = ":begin\nname=a\n:end\n:begin\nname=b\n:end\n:begin\nname=c\n:end\n"
    (served.folder / "lf.txt").write_bytes(text.encode())
    (served.folder / "crlf.txt").write_bytes(text.replace("\n", "\r\n").encode())
    for indexed in (False, True):
        if indexed:
            served.index()
        asked = {"absolute_dir_path": ".", "pattern": r":begin\r?\nname=(\w)\r?\n:end", "regex": True}
        found = served.fields("search_directory", context_lines=0, **asked)
        assert [
            (file["file"], hit["line_number"], hit["end_line"], hit["match"])
            for file in found["results"]
            for hit in file["matches"]
        ] == [
            (name, line, line + 2, f":begin\nname={letter}\n:end")
            for name in ("crlf.txt", "lf.txt")
            for line, letter in ((1, "a"), (4, "b"), (7, "c"))
        ]
        body = "".join(f"{number}:{line}\n" for number, line in enumerate(text.splitlines(), 1))
        page = served.text("search_directory", context_lines=2, **asked)
        assert page.startswith(f"crlf.txt\n{body}\nlf.txt\n{body}[6 hits in 2 files; complete: ")


def test_s12_only_git_decides_what_is_included_again(served: Served) -> None:
    """BurntSushi/ripgrep#759, BurntSushi/ripgrep#1654."""
    for root in ("one", "two"):
        (served.folder / root / ".git").mkdir(parents=True)
    (served.folder / "one/build").mkdir()
    (served.folder / "one/.gitignore").write_text("b*\n!build\n", encoding="utf-8")
    (served.folder / "one/build/x.txt").write_text("hit\n", encoding="utf-8")
    (served.folder / "one/bog.txt").write_text("hit\n", encoding="utf-8")
    (served.folder / "two/docs").mkdir()
    (served.folder / "two/.gitignore").write_text("*\n!*.md\n", encoding="utf-8")
    (served.folder / "two/docs/in.md").write_text("hit\n", encoding="utf-8")
    (served.folder / "two/top.md").write_text("hit\n", encoding="utf-8")
    served.serve("one", "two")
    assert served.hits("hit", str(served.folder / "one")) == [("build/x.txt", 1, (1, 4), "hit")]
    assert served.hits("hit", str(served.folder / "two")) == [("top.md", 1, (1, 4), "hit")]
