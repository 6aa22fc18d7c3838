"""The 13 defects measured in largefile 0.3.0, each as what holds here, by the numbers of that list."""

from __future__ import annotations

import re
import stat
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Served


def edit(served: Served, file: str, search: str, replace: str, **more: Any) -> str:
    """Write one change and return the answer."""
    change = {"search": search, "replace": replace}
    return served.text("edit_content", absolute_file_path=file, changes=[change], preview=False, **more)


def undo_in(answer: str) -> str:
    """Return the undo id that an answer names."""
    found = re.search(r"undo ([0-9a-z]+)\]", answer)
    assert found, answer
    return found[1]


def outline(served: Served, name: str, source: str) -> list[tuple[str, str, int, int]]:
    """Return name, kind, first and last line of every symbol of a source."""
    (served.folder / name).write_text(source, encoding="utf-8")
    told = served.fields("get_overview", absolute_file_path=name)["outline"]
    return [(one["name"], one["type"], one["line_number"], one["end_line"]) for one in told]


def test_1_a_file_with_crlf_stays_one_and_is_found_by_lines_that_end_in_lf(served: Served) -> None:
    file = served.folder / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\nfour\r\n")
    edit(served, "a.txt", "two\nthree", "2\n3", fuzzy=False)
    assert file.read_bytes() == b"one\r\n2\r\n3\r\nfour\r\n"


def test_2_edits_of_one_moment_are_all_taken_back_byte_by_byte(served: Served) -> None:
    file = served.folder / "a.txt"
    states = [b"\xef\xbb\xbfn = 0 \xe9\r\nend\n"]
    file.write_bytes(states[0])
    steps = []
    for number in range(10):
        steps.append(undo_in(edit(served, "a.txt", f"n = {number}", f"n = {number + 1}")))
        states.append(file.read_bytes())
    assert len(set(steps)) == 10
    assert states[10] == states[0].replace(b"n = 0", b"n = 10")
    for state in reversed(states[:10]):
        served.text("revert_edit", absolute_file_path="a.txt")
        assert file.read_bytes() == state
    served.text("revert_edit", absolute_file_path="a.txt", backup_id=steps[7])
    assert file.read_bytes() == states[7]


def test_3_a_tolerant_edit_keeps_indentation_and_the_line_end(served: Served) -> None:
    file = served.folder / "a.py"
    file.write_bytes(b"class A:\n    def transform(self, items):\n        pass\n")
    edit(served, "a.py", "def transform( self,items ):", "def transform(self, things):")
    assert file.read_bytes() == b"class A:\n    def transform(self, things):\n        pass\n"


@pytest.mark.parametrize("search", ["twice", "", " \n\t"])
def test_4_what_names_no_single_place_edits_nothing(served: Served, search: str) -> None:
    file = served.folder / "a.txt"
    file.write_bytes(b"twice\ntwice\n")
    served.refusal(
        "edit_content",
        absolute_file_path="a.txt",
        changes=[{"search": search, "replace": "x"}],
        preview=False,
    )
    assert file.read_bytes() == b"twice\ntwice\n"


def test_5_regex_needs_no_second_switch(served: Served) -> None:
    (served.folder / "a.txt").write_text("id 12\nid x\n", encoding="utf-8")
    assert "1:id 12" in served.text("search_content", absolute_file_path="a.txt", pattern=r"id \d+", regex=True)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gb18030", "配置文件说明\n"),
        ("shift_jis", "設定ファイルの説明です\n"),
        ("cp1252", "Größe und Müller\n"),
        ("cp1251", "Привет, мир и настройки\n"),
        ("euc-kr", "설정 파일 설명입니다\n"),
    ],
)
def test_6_short_files_in_old_encodings_are_read(served: Served, encoding: str, text: str) -> None:
    (served.folder / "a.txt").write_bytes(text.encode(encoding))
    assert served.lines("a.txt") == [text.rstrip("\n")]


def test_6_one_invalid_or_late_byte_makes_no_file_unreadable(served: Served) -> None:
    (served.folder / "bad.txt").write_bytes("größer\n".encode() * 20 + b"\xff\n" + b"ende\n")
    (served.folder / "late.txt").write_bytes(b"plain\n" * 20_000 + "größer\n".encode())
    assert served.lines("bad.txt")[0] == "größer"
    assert served.lines("bad.txt")[-1] == "ende"
    assert served.lines("late.txt", offset=20_001) == ["größer"]


def test_7_outlines_hold_what_a_reader_of_the_language_looks_for(served: Served) -> None:
    go = outline(served, "a.go", "package a\n\ntype T struct{}\n\nfunc (t T) M() {}\n\nfunc F() {\n}\n")
    assert {name for name, *_ in go} >= {"T", "M", "F"}
    tsx = outline(served, "a.tsx", "export function App() {\n  return <p/>;\n}\n")
    assert ("App", "function", 1, 3) in tsx
    script = outline(served, "a.js", "function f() {}\nclass C { m() {} }\n")
    assert {name for name, *_ in script} >= {"f", "C", "m"}
    typed = outline(served, "a.ts", "interface I {}\nfunction f(): void {}\nclass C {}\n")
    assert {name for name, *_ in typed} >= {"I", "f", "C"}
    rust = outline(served, "a.rs", "struct S;\nimpl S {\n    fn m(&self) {}\n}\nfn f() {}\n")
    assert {name for name, *_ in rust} >= {"S", "m", "f"}
    assert len(rust) == len(set(rust))
    python = outline(served, "a.py", "@cached\n@other\ndef f():\n    pass\n")
    assert python == [("f", "function", 1, 4)]


def test_8_line_numbers_are_the_same_at_every_size(served: Served) -> None:
    odd = "a\fb\nc\x85d\ne\u2028f\n"
    for name, filler in (("small.txt", 0), ("large.txt", 50_000)):
        (served.folder / name).write_bytes((odd + "filler of a line\n" * filler + odd + "MARK\n").encode())
        hit = served.fields("search_content", absolute_file_path=name, pattern="MARK")["results"]
        assert [one["line_number"] for one in hit] == [filler + 7]
        assert served.lines(name, offset=filler + 7) == ["MARK"]
        served.text("apply_text_edits", path=name, edits=[{"start_line": filler + 7, "new_text": "DONE"}])
        assert (served.folder / name).read_bytes() == (odd + "filler of a line\n" * filler + odd + "DONE\n").encode()


def test_9_an_empty_file_is_answered_and_can_be_filled(served: Served) -> None:
    file = served.folder / "empty.txt"
    file.write_bytes(b"")
    assert served.fields("get_overview", absolute_file_path="empty.txt")["line_count"] == 0
    assert "empty" in served.text("read_content", absolute_file_path="empty.txt")
    assert served.hits("x") == []
    served.text("apply_text_edits", path="empty.txt", edits=[{"start_line": 1, "end_line": 0, "new_text": "first\n"}])
    assert file.read_bytes() == b"first\n"


def test_10_mode_links_and_neighbours_stay(served: Served) -> None:
    file, link, neighbour = (served.folder / name for name in ("run.sh", "link.sh", "run.sh.tmp"))
    file.write_bytes(b"#!/bin/sh\necho 1\n")
    file.chmod(0o755)
    link.symlink_to("run.sh")
    neighbour.write_bytes(b"mine\n")
    edit(served, "link.sh", "echo 1", "echo 2")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"#!/bin/sh\necho 2\n", 0o755)
    assert link.is_symlink()
    assert neighbour.read_bytes() == b"mine\n"
    assert {path.name for path in served.folder.iterdir()} == {"run.sh", "link.sh", "run.sh.tmp"}


def test_11_a_line_past_the_end_is_refused_with_the_number_of_lines(served: Served) -> None:
    file = served.folder / "a.txt"
    file.write_bytes(b"one\ntwo\n")
    assert "2 lines" in served.refusal("read_content", absolute_file_path="a.txt", offset=9)
    assert "2 lines" in served.refusal("apply_text_edits", path="a.txt", edits=[{"start_line": 9, "new_text": "x"}])
    assert file.read_bytes() == b"one\ntwo\n"


def test_12_a_relative_path_counts_from_the_folder_that_is_told_and_leads_nowhere_else(served: Served) -> None:
    (served.folder / "in").mkdir()
    (served.folder / "in" / "a.txt").write_bytes(b"one\n")
    (served.folder / "out.txt").write_bytes(b"one\n")
    served.serve("in")
    edit(served, "a.txt", "one", "two")
    assert (served.folder / "in" / "a.txt").read_bytes() == b"two\n"
    change = {"search": "one", "replace": "two"}
    refused = served.refusal("edit_content", absolute_file_path="../out.txt", changes=[change], preview=False)
    assert "outside the allowed folders" in refused
    assert (served.folder / "out.txt").read_bytes() == b"one\n"


def test_13_a_large_file_is_neither_held_nor_read_again_and_again(served: Served) -> None:
    line = b"2026-01-02T03:04:05 INFO request %07d took 12 ms in the usual way\n"
    count = 500_000
    with (served.folder / "app.log").open("wb") as file:
        for start in range(0, count, 10_000):
            file.write(b"".join(line % number for number in range(start, start + 10_000)))
    served.index()
    served.text("read_content", absolute_file_path="app.log", limit=1)
    tracemalloc.start()
    try:
        found = served.fields("search_content", absolute_file_path="app.log", pattern="request 0400000 ")
        assert [hit["line_number"] for hit in found["results"]] == [400_001]
        before = _bytes_read()
        assert "request 0250000 " in served.text("read_content", absolute_file_path="app.log", offset=250_001, limit=5)
        assert _bytes_read() - before < 4 << 20
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def _bytes_read() -> int:
    """What this process has read by system calls, pipes included."""
    told = Path("/proc/self/io").read_text(encoding="ascii")
    return int(told.split()[1])
