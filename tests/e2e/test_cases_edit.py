"""Edits that other tools got wrong, each as a public bug report tells it: the bytes that are written, and no others."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Served


def edit(served: Served, file: str, search: str, replace: str, **more: Any) -> str:
    """Write one change of `edit_content` and return the answer."""
    change = {"search": search, "replace": replace}
    return served.text("edit_content", absolute_file_path=file, changes=[change], preview=False, **more)


def literal(served: Served, file: str, old: str, new: str, **more: Any) -> str:
    """Replace a text literally and return the answer."""
    return served.text("replace_literal", path=file, old_text=old, new_text=new, **more)


def hash_in(answer: str) -> str:
    """Return the hash that an answer names."""
    found = re.search(r"hash ([0-9a-f]{16,64})", answer)
    assert found, answer
    return found[1]


def names(folder: Path) -> set[str]:
    """Return every name below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_e04_a_byte_order_mark_is_neither_lost_nor_added(served: Served) -> None:
    """microsoft/vscode#84973, dnGrep/dnGrep#277."""
    text = "[ä]=1\n[ö]=2\n".encode()
    for name, mark in (("plain.txt", b""), ("bom.txt", b"\xef\xbb\xbf")):
        (served.folder / name).write_bytes(mark + text)
        literal(served, name, "=1", "=3")
        assert (served.folder / name).read_bytes() == mark + text.replace(b"=1", b"=3")


def test_e06_chinese_in_gbk_stays_gbk(served: Served) -> None:
    """anthropics/claude-code#36104, anthropics/claude-code#56946, Rianico/dsh-better-edit#60."""
    before = (
        "// 模块说明：读取配置文件并返回结果\r\n"
        "// 作者：示例团队，请勿修改下面的常量\r\n"
        "int limit = 10;\r\n"
        "// 结束标记，保持不变\r\n"
    ).encode("gbk")
    (served.folder / "mod.c").write_bytes(before)
    edit(served, "mod.c", "limit = 10", "limit = 20")
    assert (served.folder / "mod.c").read_bytes() == before.replace(b"10", b"20")


def test_e09_columns_count_from_behind_the_mark_in_replacements_too(served: Served) -> None:
    """microsoft/vscode#65694, laurentkempe/GitDiffMargin#158, anomalyco/opencode#23797."""
    file = served.folder / "bom.txt"
    file.write_bytes(b"\xef\xbb\xbfword\r\nword\r\n")
    said = literal(served, "bom.txt", "word", "Xword", expected_occurrences=None)
    assert said.startswith("Updated bom.txt: replaced 2 occurrences. [hash ")
    assert file.read_bytes() == b"\xef\xbb\xbfXword\r\nXword\r\n"
    said = served.text("replace_regex", path="bom.txt", pattern="^X", replacement="Y", expected_occurrences=2)
    assert said.startswith("Updated bom.txt: replaced 2 occurrences.")
    assert file.read_bytes() == b"\xef\xbb\xbfYword\r\nYword\r\n"


def test_e11_new_text_takes_the_legacy_encoding_of_its_file(served: Served) -> None:
    """oraios/serena#1706, anthropics/claude-code#7134."""
    file = served.folder / "legacy.txt"
    file.write_bytes(b"title: caf\xe9 \x80 5\r\nname: M\xfcller\r\ncount: 1\r\n")
    said = edit(served, "legacy.txt", "name: Müller\ncount: 1", "name: Müller\ncount: 7\nextra: é", fuzzy=False)
    assert "1 change (line 2 exact)" in said
    assert file.read_bytes() == b"title: caf\xe9 \x80 5\r\nname: M\xfcller\r\ncount: 7\r\nextra: \xe9\r\n"


def test_n01_new_lines_take_the_line_end_of_the_file(served: Served) -> None:
    """anthropics/claude-code#27718, anthropics/claude-code#28831, anthropics/claude-code#54876."""
    file = served.folder / "draw.cpp"
    file.write_bytes(b"begin\r\n\tfoo();\r\n\tbar();\r\nend\r\n")
    edit(served, "draw.cpp", "\tfoo();\n\tbar();", "\tfoo(1);\n\tbar(2);\n\tbaz(3);", fuzzy=False)
    assert file.read_bytes() == b"begin\r\n\tfoo(1);\r\n\tbar(2);\r\n\tbaz(3);\r\nend\r\n"


def test_n02_line_ends_in_arguments_are_line_ends(served: Served) -> None:
    """mistralai/mistral-vibe#674, Aider-AI/aider#1102, github/copilot-cli#1148."""
    (served.folder / "lf.txt").write_bytes(b"one\ntwo\nthree\n")
    (served.folder / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    edit(served, "lf.txt", "two", "2a\r\n2b")
    edit(served, "crlf.txt", "two", "2a\n2b")
    edit(served, "crlf.txt", "2b", "2b\r\n2c")
    assert (served.folder / "lf.txt").read_bytes() == b"one\n2a\n2b\nthree\n"
    assert (served.folder / "crlf.txt").read_bytes() == b"one\r\n2a\r\n2b\r\n2c\r\nthree\r\n"


def test_n04_a_line_that_a_carriage_return_ends_is_replaced_alone(served: Served) -> None:
    """BurntSushi/ripgrep#1300, nickbnf/glogg#153."""
    file = served.folder / "mac.txt"
    file.write_bytes(b"uno\rdos\rtres\r")
    served.text("apply_text_edits", path="mac.txt", edits=[{"start_line": 2, "new_text": "DUE"}])
    assert file.read_bytes() == b"uno\rDUE\rtres\r"


@pytest.mark.parametrize("data", [b"a\nb\nc", b"a\nb\nc\n"])
def test_n07_a_file_ends_as_it_did(served: Served, data: bytes) -> None:
    """NousResearch/hermes-agent#83022, BrokkAi/brokk-app#895, cline/cline#11274, zhayujie/CowAgent#2943."""
    file = served.folder / "eol.txt"
    file.write_bytes(data)
    served.text("apply_text_edits", path="eol.txt", edits=[{"start_line": 2, "new_text": "B"}])
    assert file.read_bytes() == data.replace(b"b", b"B")


def test_n08_there_are_as_many_line_starts_and_ends_as_lines_to_replace(served: Served) -> None:
    """BurntSushi/ripgrep#1295, microsoft/edit#808, bobbylight/RSyntaxTextArea#107."""
    for name, pattern, new, after in (
        ("q1.txt", "^", "> ", b"> a\r\n> \r\n> b\r\n"),
        ("q2.txt", "$", ";", b"a;\r\n;\r\nb;\r\n"),
    ):
        (served.folder / name).write_bytes(b"a\r\n\r\nb\r\n")
        said = served.text("replace_regex", path=name, pattern=pattern, replacement=new, expected_occurrences=None)
        assert "replaced 3 occurrences" in said
        assert (served.folder / name).read_bytes() == after


def test_n09_the_hash_of_a_read_and_of_an_edit_guard_the_next_edit(served: Served) -> None:
    """anthropics/claude-code#64599, anthropics/claude-code#13456."""
    file = served.folder / "w.ini"
    file.write_bytes(b"x = 1\r\ny = 2\r\n")
    read = served.text("read_content", absolute_file_path="w.ini")
    first = edit(served, "w.ini", "x = 1", "x = 7", base_hash=hash_in(read))
    edit(served, "w.ini", "y = 2", "y = 8", base_hash=hash_in(first))
    assert file.read_bytes() == b"x = 7\r\ny = 8\r\n"
    refused = served.refusal(
        "edit_content",
        absolute_file_path="w.ini",
        changes=[{"search": "x = 7", "replace": "x = 9"}],
        preview=False,
        base_hash=hash_in(read),
    )
    assert "has changed" in refused
    assert file.read_bytes() == b"x = 7\r\ny = 8\r\n"


def test_d01_dollars_in_new_text_are_text(served: Served) -> None:
    """modelcontextprotocol/servers#4157, bytedance/UI-TARS-desktop#1976."""
    file = served.folder / "price.txt"
    file.write_bytes(b"cost=AMOUNT;\n")
    literal(served, "price.txt", "AMOUNT", "$$5 $& $` $' $1 ${x} $<n>")
    assert file.read_bytes() == b"cost=$$5 $& $` $' $1 ${x} $<n>;\n"


def test_d02_backslashes_in_new_text_are_text(served: Served) -> None:
    """google-gemini/gemini-cli#2011, DistributedProofreaders/dproofreaders#1600, dnGrep/dnGrep#197."""
    file = served.folder / "cfg.py"
    file.write_bytes(b'path = "OLD"\n')
    literal(served, "cfg.py", "OLD", r"C:\new\table\bin\1\g<0>\\x")
    assert file.read_bytes() == rb'path = "C:\new\table\bin\1\g<0>\\x"' + b"\n"


def test_d03_entities_are_text(served: Served) -> None:
    """RooCodeInc/Roo-Code#9563, RooCodeInc/Roo-Code#4077, RooCodeInc/Roo-Code#8069."""
    file = served.folder / "faq.jsx"
    file.write_bytes(b"<p>don't &amp; won't &lt;b&gt;</p>\n")
    literal(served, "faq.jsx", "don't", "don&apos;t")
    literal(served, "faq.jsx", "&amp;", "&amp;amp;")
    assert file.read_bytes() == b"<p>don&apos;t &amp;amp; won't &lt;b&gt;</p>\n"
    assert served.hits("& won") == []


def test_d04_curly_quotes_are_written_as_given_and_no_exact_match_of_straight_ones(served: Served) -> None:
    """anthropics/claude-code#1986, anthropics/claude-code#26141, anthropics/claude-code#15920."""
    file = served.folder / "label.txt"
    file.write_bytes("label: 'abc'\nfr: d’eau\n".encode())
    edit(served, "label.txt", "'abc'", "‘abc’", fuzzy=False)
    after = "label: ‘abc’\nfr: d’eau\n".encode()
    assert file.read_bytes() == after
    refused = served.refusal(
        "edit_content",
        absolute_file_path="label.txt",
        changes=[{"search": "d'eau", "replace": "x"}],
        fuzzy=False,
        preview=False,
    )
    assert "U+2019" in refused
    assert file.read_bytes() == after


def test_d06_a_text_in_several_places_is_edited_in_none(served: Served) -> None:
    """docker/docker-agent#3929, use-agent-os/agent-os#2290, earendil-works/pi#9697, coder/coder#23125."""
    config, rep = served.folder / "conf.yml", served.folder / "rep.txt"
    config.write_bytes(b"dev:\n  debug: on\nprod:\n  debug: on\n")
    rep.write_bytes(b"v = 1\nv = 1\nv = 1\n")
    for file, search, lines in ((config, "  debug: on", ("2", "4")), (rep, "v = 1\nv = 1", ("1", "2"))):
        before = file.read_bytes()
        refused = served.refusal(
            "edit_content",
            absolute_file_path=file.name,
            changes=[{"search": search, "replace": "X"}],
            fuzzy=False,
            preview=False,
        )
        assert "2 places" in refused
        assert f"lines {lines[0]}, {lines[1]}" in refused.replace(" and ", ", ")
        assert file.read_bytes() == before
    change = {"search": "  debug: on", "replace": "X", "replace_all": True}
    said = served.text("edit_content", absolute_file_path="conf.yml", changes=[change], preview=False)
    assert "2 places" in said
    assert config.read_bytes() == b"dev:\nX\nprod:\nX\n"


def test_d07_a_miss_leaves_everything_as_it_was(served: Served) -> None:
    """cline/cline#9555, cline/cline#5069."""
    file = served.folder / "Gemfile"
    file.write_bytes(b"alpha\nbeta\n")
    before = file.stat()
    refused = served.refusal(
        "edit_content",
        absolute_file_path="Gemfile",
        changes=[{"search": "gamma", "replace": "delta"}],
        fuzzy=False,
        preview=False,
    )
    assert "not found" in refused
    after = file.stat()
    assert file.read_bytes() == b"alpha\nbeta\n"
    assert (after.st_mode, after.st_mtime_ns, after.st_ino) == (before.st_mode, before.st_mtime_ns, before.st_ino)
    assert names(served.folder) == {"Gemfile"}
    assert "No step" in served.text("edit_history", path="Gemfile")


def test_d08_the_changes_of_a_batch_come_in_any_order(served: Served) -> None:
    """cline/cline#4067."""
    file = served.folder / "n.txt"
    file.write_bytes(b"one\ntwo\nthree\nfour\n")
    pairs = (("four", "FOUR"), ("one", "ONE"), ("three", "THREE\n3b"))
    changes = [{"search": search, "replace": replace} for search, replace in pairs]
    said = served.text("edit_content", absolute_file_path="n.txt", changes=changes, preview=False)
    assert "3 changes (line 4 exact; line 1 exact; line 3 exact)" in said
    assert file.read_bytes() == b"ONE\ntwo\nTHREE\n3b\nFOUR\n"


def test_d10_likeness_writes_nothing(served: Served) -> None:
    """NousResearch/hermes-agent#54575."""
    file = served.folder / "flow.py"
    before = b"open_till()\ncharge_card(order, when=now)\nclose_till()\n"
    file.write_bytes(before)
    change = {
        "search": "open_till()\nprint_label(address)\nclose_till()",
        "replace": "open_till()\nprint_label(address2)\nclose_till()",
    }
    served.refusal("edit_content", absolute_file_path="flow.py", changes=[change], preview=False)
    assert file.read_bytes() == before


@pytest.mark.parametrize("end", ["", "\n"])
def test_d11_a_tolerant_edit_replaces_its_span_and_not_the_line_around_it(served: Served, end: str) -> None:
    """patchloom/patchloom#2453, Gitlawb/openclaude#1561."""
    file = served.folder / "ind.py"
    file.write_bytes(b"if ready:\n    send(a)\n    stop()\n")
    said = edit(served, "ind.py", f"send( a ){end}", f"send(b){end}")
    assert "line 2 tolerant" in said
    assert file.read_bytes() == b"if ready:\n    send(b)\n    stop()\n"


def test_d12_conflict_marks_are_text(served: Served) -> None:
    """RooCodeInc/Roo-Code#1713."""
    file = served.folder / "merge.txt"
    file.write_bytes(b"top\n<<<<<<< ours\nleft\n=======\nright\n>>>>>>> theirs\nend\n")
    edit(served, "merge.txt", "<<<<<<< ours\nleft\n=======\nright\n>>>>>>> theirs", "right", fuzzy=False)
    assert file.read_bytes() == b"top\nright\nend\n"


def test_d13_tabs_inside_and_before_lines_stay(served: Served) -> None:
    """strands-agents/harness-sdk#3175."""
    file = served.folder / "Makefile"
    file.write_bytes(b"all:\tdep\n\techo one\n\techo two\t# note\n")
    edit(served, "Makefile", "echo two", "echo 2", fuzzy=False)
    assert file.read_bytes() == b"all:\tdep\n\techo one\n\techo 2\t# note\n"


def test_d14_a_file_that_grows_keeps_its_tail(served: Served) -> None:
    """wonderwhy-er/DesktopCommanderMCP#554."""
    file = served.folder / "big.txt"
    before = b"".join(b"row %05d " % i + b"x" * 120 + b"\n" for i in range(1100)) + b"end-marker\n"
    file.write_bytes(before)
    literal(served, "big.txt", "row 00500 ", "row 00500 " + "y" * 5000)
    longer = file.read_bytes()
    assert len(longer) == len(before) + 5000
    assert longer.endswith(b"\nend-marker\n")
    literal(served, "big.txt", "y" * 5000, "")
    assert file.read_bytes() == before


@pytest.mark.parametrize(("name", "text", "mode"), [("run.sh", b"#!/bin/sh\necho 1\n", 0o750), ("k", b"k=1\n", 0o600)])
def test_d15_the_mode_stays_through_edit_and_revert(served: Served, name: str, text: bytes, mode: int) -> None:
    """anthropics/claude-code#20356, Digital-Process-Tools/claude-supertool#259, justrach/codegraff#179."""
    file = served.folder / name
    file.write_bytes(text)
    file.chmod(mode)
    literal(served, name, "1", "2")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (text.replace(b"1", b"2"), mode)
    served.text("revert_edit", absolute_file_path=name)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (text, mode)
    kept = [path for path in (served.folder.parent / "state" / "history").rglob("*") if path.is_file()]
    assert kept
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)


def test_d16_a_link_stays_a_link_and_its_target_is_written(served: Served) -> None:
    """anthropics/claude-code#28376, anthropics/claude-code#52463."""
    d = served.folder
    (d / "store/here").mkdir(parents=True)
    (d / "store/base.cfg").write_bytes(b"level 1\n")
    (d / "store/here/base.cfg").symlink_to("../base.cfg")
    (d / "alias").symlink_to("store/here")
    (d / "plain.txt").write_bytes(b"k=1\n")
    (d / "link.txt").symlink_to("plain.txt")
    literal(served, "link.txt", "1", "2")
    literal(served, "alias/base.cfg", "1", "2")
    assert (d / "plain.txt").read_bytes() == b"k=2\n"
    assert (d / "store/base.cfg").read_bytes() == b"level 2\n"
    targets = {str(path.relative_to(d)): str(path.readlink()) for path in d.rglob("*") if path.is_symlink()}
    assert targets == {"link.txt": "plain.txt", "alias": "store/here", "store/here/base.cfg": "../base.cfg"}


def test_d21_a_no_break_space_is_told_and_only_tolerated_where_asked(served: Served) -> None:
    """anthropics/claude-code#29869, anthropics/claude-code#20828."""
    file = served.folder / "nb.md"
    before = "total:\u00a0100 units\nnext\u00a0line\n".encode()
    file.write_bytes(before)
    change = {"search": "total: 100 units", "replace": "total: 200 units"}
    refused = served.refusal("edit_content", absolute_file_path="nb.md", changes=[change], fuzzy=False, preview=False)
    assert "U+00A0" in refused
    assert file.read_bytes() == before
    served.text("edit_content", absolute_file_path="nb.md", changes=[change], preview=False)
    assert file.read_bytes() == "total: 200 units\nnext\u00a0line\n".encode()


def test_d22_a_write_session_replaces_is_taken_back_and_leaves_no_trace(served: Served) -> None:
    """wonderwhy-er/DesktopCommanderMCP#546."""
    file = served.folder / "keep.txt"
    file.write_bytes(b"important\n")

    def begun(**more: Any) -> str:
        said = served.text("begin_write_session", path="keep.txt", **more)
        assert said.startswith("Write session started for keep.txt. Session: ")
        return said.split("Session: ")[1].split()[0]

    session = begun()
    served.text("append_write_chunk", session_id=session, content="replaced\n")
    said = served.text("commit_write_session", session_id=session)
    assert said.startswith(f"Committed write session {session} to keep.txt: updated file.")
    assert file.read_bytes() == b"replaced\n"
    served.text("revert_edit", absolute_file_path="keep.txt")
    assert file.read_bytes() == b"important\n"

    session = begun()
    served.text("append_write_chunk", session_id=session, content="never\n")
    served.text("abort_write_session", session_id=session)
    assert file.read_bytes() == b"important\n"
    assert names(served.folder) == {"keep.txt"}
    assert session not in " ".join(names(served.folder.parent / "state"))

    assert "exists" in served.refusal("begin_write_session", path="keep.txt", if_exists="error")
    assert names(served.folder) == {"keep.txt"}
