"""The write tools as a client sees them: what they are, what they refuse, what several at once do to one file."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.types import CallToolResult, TextContent

from linedex.errors import Cancelled
from linedex.query.progress import Progress
from linedex_server.config import TOOL_GROUPS, Settings
from linedex_server.edit.editor import engine_of
from linedex_server.mcp_server import build_server
from linedex_server.tools.registry import ALL, GROUPS, offered
from linedex_server.tools.tool import Output, Session
from linedex_server.workspace import Workspace

if TYPE_CHECKING:
    from conftest import House

SEEDS: dict[str, dict[str, Any]] = {
    "edit_content": {"absolute_file_path": None, "changes": ..., "fuzzy": True, "preview": True},
    "revert_edit": {"absolute_file_path": ..., "backup_id": None},
    "write_full_text": {"path": ..., "content": ..., "create_dirs": True, "if_exists": "overwrite"},
    "apply_text_edits": {"path": ..., "edits": ...},
    "apply_text_spans": {"path": ..., "spans": ...},
    "replace_literal": {"path": ..., "old_text": ..., "new_text": ..., "expected_occurrences": 1},
    "replace_regex": {
        "path": ...,
        "pattern": ...,
        "replacement": ...,
        "expected_occurrences": 1,
        "case_sensitive": True,
        "dotall": False,
    },
    "replace_block": {
        "path": ...,
        "start_marker": ...,
        "end_marker": ...,
        "replacement": ...,
        "occurrence": 1,
        "mode": "between",
    },
    "begin_write_session": {"path": ..., "create_dirs": True, "if_exists": "overwrite"},
    "append_write_chunk": {"session_id": ..., "content": ...},
    "commit_write_session": {"session_id": ...},
    "abort_write_session": {"session_id": ...},
}
STYLE = dict.fromkeys(("encoding", "bom", "newline", "final_newline"), "preserve") | {"base_hash": None}
STYLED = {name for name in SEEDS if name.startswith(("write_", "apply_", "replace_", "begin_"))}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """An empty folder, served."""
    (tmp_path / "root").mkdir()
    with Workspace(
        Settings(state_dir=tmp_path / "state", allowed_roots=(str(tmp_path / "root"),), workers=1)
    ) as opened:
        yield opened


def asked(workspace: Workspace, tool: str, output: Output = Output.TEXT, **arguments: Any) -> CallToolResult:
    server = build_server(Session(workspace, output), offered("all"))

    async def once() -> CallToolResult:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(once)


def told(workspace: Workspace, tool: str, **arguments: Any) -> str:
    result = asked(workspace, tool, **arguments)
    assert not result.is_error, said(result)
    assert result.structured_content is None
    return said(result)


def refused(workspace: Workspace, tool: str, **arguments: Any) -> str:
    result = asked(workspace, tool, **arguments)
    assert result.is_error, said(result)
    return said(result)


def fields(workspace: Workspace, tool: str, **arguments: Any) -> dict[str, Any]:
    result = asked(workspace, tool, Output.JSON, **arguments)
    assert not result.is_error, said(result)
    found = result.structured_content
    assert found is not None
    Draft202012Validator(dict(ALL[tool].output_schema)).validate(found)
    return found


def said(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def token(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def undo_in(answer: str) -> str:
    found = re.search(r"undo ([0-9a-z]+)\]", answer)
    assert found, answer
    return found[1]


# what a client is offered


def test_the_seeds_parameters_keep_their_names_and_defaults() -> None:
    for name, kept in SEEDS.items():
        ours = {one.name: ... if one.required else one.default for one in ALL[name].parameters}
        assert (kept | STYLE if name in STYLED else kept).items() <= ours.items(), name


def test_the_groups_are_those_of_the_two_seeds_and_of_everyday_work() -> None:
    assert set(GROUPS) == set(TOOL_GROUPS)
    assert set(GROUPS["file-mcp"]) == set(SEEDS) - {"edit_content", "revert_edit"}
    assert {"edit_content", "revert_edit"} < set(GROUPS["largefile"])
    assert set(GROUPS["default"]) == {
        *GROUPS["read"],
        "edit_content",
        "revert_edit",
        "edit_history",
        "write_full_text",
        "apply_text_edits",
        "replace_literal",
    }
    assert set(GROUPS["all"]) == set(ALL) >= {*SEEDS, "edit_history"}
    assert not any(ALL[name].writes for name in GROUPS["read"])


@pytest.mark.parametrize("group", TOOL_GROUPS)
def test_read_only_leaves_no_tool_that_writes(group: str) -> None:
    assert not any(tool.writes for tool in offered(group, read_only=True))


def test_every_tool_that_writes_is_described_shortly_and_says_how_it_may_be_called() -> None:
    for name, tool in ALL.items():
        assert len(tool.about) < 400, name
        assert tool.writes is (name in SEEDS)
    assert not ALL["append_write_chunk"].destructive
    assert {name for name, tool in ALL.items() if tool.writes and tool.idempotent} == {
        "write_full_text",
        "commit_write_session",
        "abort_write_session",
    }


# mistakes


def test_an_unknown_key_of_an_item_is_refused_with_the_nearest_one(workspace: Workspace) -> None:
    (workspace.base / "a.txt").write_bytes(b"one\n")
    text = refused(
        workspace,
        "edit_content",
        absolute_file_path="a.txt",
        changes=[{"search": "one", "replace": "two", "fuzy": False}],
    )
    assert "item 0" in text
    assert "`fuzy`" in text
    assert "fuzzy" in text.splitlines()[-1]
    text = refused(workspace, "apply_text_edits", path="a.txt", edits=[{"start_line": 1, "newtext": "x"}])
    assert "Did you mean new_text?" in text
    assert (workspace.base / "a.txt").read_bytes() == b"one\n"


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]", "null", "&amp;\\n", " \t x \n\n", "1\t2"])
def test_a_text_is_written_as_it_was_sent(workspace: Workspace, text: str) -> None:
    told(workspace, "write_full_text", path="a.json", content=text)
    assert (workspace.base / "a.json").read_bytes() == text.encode()


def test_what_lies_outside_the_roots_or_is_our_own_is_not_written(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_bytes(b"x\n")
    (workspace.base / "leak").symlink_to(tmp_path)
    for path in ("../outside.txt", "leak/outside.txt", "leak/new.txt", str(tmp_path / "new" / "deep.txt")):
        assert "outside the allowed folders" in refused(workspace, "write_full_text", path=path, content="y")
    assert (tmp_path / "outside.txt").read_bytes() == b"x\n"
    assert {path.name for path in tmp_path.iterdir()} <= {"root", "state", "outside.txt"}
    own = Settings(state_dir=tmp_path / "root" / "state", allowed_roots=(str(tmp_path / "root"),), workers=1)
    with Workspace(own) as opened:
        assert "own state folder" in refused(opened, "write_full_text", path="state/index.db", content="y")


@pytest.mark.parametrize("tool", ["write_full_text", "replace_literal", "edit_content", "apply_text_edits"])
def test_compressed_text_is_not_written(workspace: Workspace, tool: str) -> None:
    before = gzip.compress(b"one needle\n")
    (workspace.base / "a.log.gz").write_bytes(before)
    asked: dict[str, dict[str, Any]] = {
        "write_full_text": {"path": "a.log.gz", "content": "x\n"},
        "replace_literal": {"path": "a.log.gz", "old_text": "needle", "new_text": "x"},
        "edit_content": {
            "absolute_file_path": "a.log.gz",
            "changes": [{"search": "needle", "replace": "x"}],
            "preview": False,
        },
        "apply_text_edits": {"path": "a.log.gz", "edits": [{"start_line": 1, "new_text": "x"}]},
    }
    assert "a.log.gz is compressed (gzip): read-only." in refused(workspace, tool, **asked[tool])
    assert (workspace.base / "a.log.gz").read_bytes() == before


# previews


def test_a_preview_writes_nothing_and_names_the_hash_that_writes_it(workspace: Workspace) -> None:
    file = workspace.base / "a.py"
    before = b"def total(self):\n\treturn sum(xs)\n\n# end\n"
    file.write_bytes(before)
    changes = [{"search": "return sum(xs)", "replace": "return fsum(xs)"}]
    text = told(workspace, "edit_content", absolute_file_path="a.py", changes=changes)
    assert text == (
        "PREVIEW, nothing written. a.py: 1 change (line 2 exact).\n"
        "@@ -1,4 +1,4 @@\n def total(self):\n-\treturn sum(xs)\n+\treturn fsum(xs)\n \n # end\n"
        f'Write it with preview=false, base_hash="{token(before)}".'
    )
    assert file.read_bytes() == before
    after = before.replace(b"sum", b"fsum")
    text = told(
        workspace,
        "edit_content",
        absolute_file_path="a.py",
        changes=changes,
        preview=False,
        base_hash=token(before),
    )
    assert text.startswith(f"Updated a.py: 1 change (line 2 exact). [hash {token(after)}, undo ")
    assert file.read_bytes() == after


def test_a_preview_is_no_longer_than_a_page(workspace: Workspace) -> None:
    (workspace.base / "a.txt").write_text("".join(f"line {n} {'x' * 90}\n" for n in range(20_000)), encoding="ascii")
    changes = [{"search": "line", "replace": "LINE " + "y" * 200, "replace_all": True}]
    text = told(workspace, "edit_content", absolute_file_path="a.txt", changes=changes)
    assert len(text) <= workspace.settings.page_characters
    assert "cut" in text
    assert text.splitlines()[-1].startswith("Write it with preview=false")


def test_a_stale_hash_is_told_with_the_present_one_and_what_changed(workspace: Workspace) -> None:
    file = workspace.base / "a.txt"
    file.write_bytes(b"one\ntwo\n")
    told(workspace, "replace_literal", path="a.txt", old_text="two", new_text="2")
    file.write_bytes(b"ONE\n2\n")
    before, now = token(b"one\ntwo\n"), token(b"ONE\n2\n")
    text = refused(workspace, "replace_literal", path="a.txt", old_text="2", new_text="x", base_hash=before)
    assert text.startswith(f"Not edited: a.txt has changed since hash {before}. ")
    assert f"Now: {now}. What changed:\n@@ -1,2 +1,2 @@\n-one\n-two\n+ONE\n+2" in text


def test_an_answer_says_what_became_of_a_whole_text(workspace: Workspace) -> None:
    file = workspace.base / "new" / "a.txt"

    def wrote(content: str, **more: Any) -> str:
        answer = told(workspace, "write_full_text", path="new/a.txt", content=content, **more)
        assert f"[hash {token(file.read_bytes())}" in answer
        return answer.split(" [")[0]

    assert wrote("one\ntwo\n") == "Created new/a.txt. Made 1 folder."
    assert wrote("one\ntwo\n") == "Unchanged new/a.txt: new content matched existing file."
    assert wrote("one\n2\n3\n") == "Updated new/a.txt: wrote the whole text, +2 -1 lines."
    assert wrote("one\n2\n3\n", newline="crlf") == "Updated new/a.txt: converted line ends to CRLF."
    assert wrote("other", if_exists="skip") == "Unchanged new/a.txt: exists."
    assert file.read_bytes() == b"one\r\n2\r\n3\r\n"
    assert "exists" in refused(workspace, "write_full_text", path="new/a.txt", content="x", if_exists="error")
    text = refused(workspace, "write_full_text", path="b.txt", content="x", base_hash=token(b""))
    assert text.startswith("Not edited: There is no b.txt")
    assert "create_dirs" in refused(workspace, "write_full_text", path="no/b.txt", content="x", create_dirs=False)
    assert [path.name for path in workspace.base.iterdir()] == ["new"]


# several files


def test_changes_of_several_files_are_one_step(workspace: Workspace) -> None:
    """All are written, and one undo takes all of them back."""
    files = [workspace.base / f"{name}.txt" for name in "abc"]
    for file in files:
        file.write_bytes(b"old_name = 1\r\n")
    changes = [{"search": "old_name", "replace": "new_name", "path": file.name} for file in files]
    text = told(workspace, "edit_content", changes=changes, preview=False)
    assert [file.read_bytes() for file in files] == [b"new_name = 1\r\n"] * 3
    assert [line.split(":")[0] for line in text.splitlines()] == ["Updated a.txt", "Updated b.txt", "Updated c.txt"]
    assert len({undo_in(line) for line in text.splitlines()}) == 1
    told(workspace, "revert_edit", absolute_file_path="b.txt")
    assert [file.read_bytes() for file in files] == [b"old_name = 1\r\n"] * 3


def test_one_miss_among_several_files_writes_none_and_every_change_is_judged(workspace: Workspace) -> None:
    for name in "abc":
        (workspace.base / f"{name}.txt").write_bytes(b"word\n")
    changes = [
        {"search": "word", "replace": "x", "path": "a.txt"},
        {"search": "absent one", "replace": "x", "path": "b.txt"},
        {"search": "missing two", "replace": "x", "path": "c.txt"},
    ]
    text = refused(workspace, "edit_content", changes=changes, preview=False)
    assert text.startswith("Not edited: change 1 of 3 not found in b.txt")
    assert "change 2 of 3 not found in c.txt" in text
    assert "change 0 fits" in text
    assert {(workspace.base / f"{name}.txt").read_bytes() for name in "abc"} == {b"word\n"}


def test_a_stale_hash_of_one_of_several_files_writes_none(workspace: Workspace) -> None:
    for name in "ab":
        (workspace.base / f"{name}.txt").write_bytes(b"word\n")
    changes = [
        {"search": "word", "replace": "x", "path": "a.txt", "base_hash": token(b"word\n")},
        {"search": "word", "replace": "x", "path": "b.txt", "base_hash": token(b"other\n")},
    ]
    assert "b.txt has changed since" in refused(workspace, "edit_content", changes=changes, preview=False)
    assert {(workspace.base / f"{name}.txt").read_bytes() for name in "ab"} == {b"word\n"}


def test_two_spellings_of_one_file_are_one_file(workspace: Workspace) -> None:
    (workspace.base / "a.txt").write_bytes(b"one\ntwo\n")
    (workspace.base / "link.txt").symlink_to("a.txt")
    changes = [
        {"search": "one", "replace": "1", "path": "a.txt"},
        {"search": "two", "replace": "2", "path": "link.txt"},
    ]
    assert "2 changes" in told(workspace, "edit_content", changes=changes, preview=False)
    assert (workspace.base / "a.txt").read_bytes() == b"1\n2\n"


# choosing among places


def test_line_and_within_choose_among_places(workspace: Workspace) -> None:
    file = workspace.base / "a.py"
    before = b"class A:\n    def run(self):\n        go()\n\n\nclass B:\n    def run(self):\n        go()\n"
    file.write_bytes(before)
    for choice in ({"within": "B.run"}, {"within": "B"}, {"line": 8}):
        text = told(
            workspace,
            "edit_content",
            absolute_file_path="a.py",
            changes=[{"search": "go()", "replace": "stop()", **choice}],
            preview=False,
        )
        assert "line 8 exact" in text
        assert file.read_bytes() == before[::-1].replace(b")(og", b")(pots", 1)[::-1]
        told(workspace, "revert_edit", absolute_file_path="a.py")


# history


def test_undo_goes_back_step_by_step_and_its_id_goes_forth_again(workspace: Workspace) -> None:
    file = workspace.base / "a.txt"
    file.write_bytes(b"0\n")
    for number in range(3):
        told(workspace, "write_full_text", path="a.txt", content=f"{number + 1}\n")
    told(workspace, "revert_edit", absolute_file_path="a.txt")
    assert file.read_bytes() == b"2\n"
    undone = undo_in(told(workspace, "revert_edit", absolute_file_path="a.txt"))
    assert file.read_bytes() == b"1\n"
    told(workspace, "revert_edit", absolute_file_path="a.txt", backup_id=undone)
    assert file.read_bytes() == b"2\n"


def test_undo_after_somebody_elses_change_takes_back_only_ours(workspace: Workspace) -> None:
    file = workspace.base / "a.txt"
    file.write_bytes(b"one\ntwo\nthree\n")
    told(workspace, "replace_literal", path="a.txt", old_text="three", new_text="THREE")
    file.write_bytes(b"zero\none\ntwo\nTHREE\n")
    told(workspace, "revert_edit", absolute_file_path="a.txt")
    assert file.read_bytes() == b"zero\none\ntwo\nthree\n"
    told(workspace, "replace_literal", path="a.txt", old_text="two", new_text="TWO")
    file.write_bytes(b"zero\none\n2\nthree\n")
    text = refused(workspace, "revert_edit", absolute_file_path="a.txt")
    assert "@@" in text
    assert file.read_bytes() == b"zero\none\n2\nthree\n"


def test_the_history_tells_every_step_and_only_of_the_sessions_own_folders(
    workspace: Workspace, tmp_path: Path
) -> None:
    told(workspace, "write_full_text", path="a.txt", content="1\n2\n")
    told(workspace, "replace_literal", path="a.txt", old_text="2", new_text="two")
    told(workspace, "write_full_text", path="b.txt", content="b\n")
    lines = told(workspace, "edit_history").splitlines()
    assert [line.split()[3:5] for line in lines[:3]] == [
        ["write_full_text", "b.txt"],
        ["replace_literal", "a.txt"],
        ["write_full_text", "a.txt"],
    ]
    assert lines[1].endswith("+1 -1")
    assert lines[3] == "[3 steps]"
    page = fields(workspace, "edit_history", path="a.txt", limit=1)
    assert [step["tool"] for step in page["steps"]] == ["replace_literal"]
    page = fields(workspace, "edit_history", path="a.txt", limit=1, cursor=page["cursor"])
    assert [step["tool"] for step in page["steps"]] == ["write_full_text"]
    (tmp_path / "other").mkdir()
    other = Settings(state_dir=tmp_path / "state", allowed_roots=(str(tmp_path / "other"),), workers=1)
    with Workspace(other) as opened:
        assert told(opened, "edit_history") == "No step in the history."
        assert "outside" in refused(opened, "revert_edit", absolute_file_path=str(workspace.base / "a.txt"))


def test_fields_for_programs_are_those_of_largefile(workspace: Workspace) -> None:
    (workspace.base / "a.txt").write_bytes(b"one\ntwo\n")
    changes = [{"search": "one", "replace": "1"}]
    look = fields(workspace, "edit_content", absolute_file_path="a.txt", changes=changes)
    assert (look["success"], look["changes_applied"], look["backup_created"]) == (True, 1, None)
    assert "-one\n+1" in look["preview"]
    made = fields(workspace, "edit_content", absolute_file_path="a.txt", changes=changes, preview=False)
    assert made["results"][0] | {"line_number": 1, "match_type": "exact", "similarity": 1.0} == made["results"][0]
    assert made["hash"] == token(b"1\ntwo\n")
    missed = fields(
        workspace,
        "edit_content",
        absolute_file_path="a.txt",
        changes=[{"search": "tow 123456", "replace": "x"}],
        preview=False,
    )
    assert (missed["success"], missed["changes_failed"]) == (False, 1)
    assert "not found" in missed["results"][0]["error"]
    back = fields(workspace, "revert_edit", absolute_file_path="a.txt")
    assert back["success"]
    assert back["reverted_to"] == made["backup_created"]
    assert {one["id"] for one in back["available_backups"]} >= {made["backup_created"], back["current_saved_as"]}
    assert (workspace.base / "a.txt").read_bytes() == b"one\ntwo\n"


# sessions


def begun(workspace: Workspace, path: str, **more: Any) -> str:
    return told(workspace, "begin_write_session", path=path, **more).split("Session: ")[1]


def test_a_session_is_committed_once_however_often_it_is_asked(workspace: Workspace) -> None:
    session = begun(workspace, "new/a.txt", newline="crlf")
    assert "1 chunk, 4 characters" in told(workspace, "append_write_chunk", session_id=session, content="one\r")
    assert "2 chunks, 8 characters" in told(workspace, "append_write_chunk", session_id=session, content="\ntwo")
    assert not (workspace.base / "new").exists()
    first = told(workspace, "commit_write_session", session_id=session)
    assert (workspace.base / "new" / "a.txt").read_bytes() == b"one\r\ntwo"
    assert told(workspace, "commit_write_session", session_id=session) == first
    assert "gone already" in told(workspace, "abort_write_session", session_id=session)


def test_a_session_with_a_hash_is_refused_when_the_file_has_changed_and_is_kept(workspace: Workspace) -> None:
    file = workspace.base / "a.txt"
    file.write_bytes(b"one\n")
    guarded, free = begun(workspace, "a.txt", base_hash=token(b"one\n")), begun(workspace, "a.txt")
    for session in (guarded, free):
        told(workspace, "append_write_chunk", session_id=session, content="new\n")
    file.write_bytes(b"mine\n")
    assert "has changed" in refused(workspace, "commit_write_session", session_id=guarded)
    assert file.read_bytes() == b"mine\n"
    assert "had changed since" in told(workspace, "commit_write_session", session_id=free)
    assert file.read_bytes() == b"new\n"
    file.write_bytes(b"one\n")
    told(workspace, "commit_write_session", session_id=guarded)
    assert file.read_bytes() == b"new\n"


# many at once


def test_no_increment_of_several_clients_is_lost(workspace: Workspace) -> None:
    file = workspace.base / "counter.txt"
    file.write_bytes(b"count 0\n")
    clients, increments = 4, 10
    failures: list[str] = []

    async def count() -> None:
        async with Client(build_server(Session(workspace), offered("all"))) as client:
            done = 0
            while done < increments:
                now = file.read_bytes()
                number = int(now.split()[1])
                result = await client.call_tool(
                    "replace_literal",
                    {
                        "path": "counter.txt",
                        "old_text": f"count {number}",
                        "new_text": f"count {number + 1}",
                        "base_hash": token(now),
                    },
                )
                if not result.is_error:
                    done += 1
                elif "has changed since" not in said(result) and "no such" not in said(result):
                    failures.append(said(result))
                    return

    threads = [threading.Thread(target=anyio.run, args=(count,)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert file.read_bytes() == b"count %d\n" % (clients * increments)
    assert [path.name for path in workspace.base.iterdir()] == ["counter.txt"]


def test_a_cancelled_write_has_not_begun_or_is_whole(house: House) -> None:
    root = house.root("root")
    client = house.client(root)
    client.begin()
    versions = [f"version {number}\n" * 20_000 for number in range(12)]
    for content in versions:
        call = client.send("tools/call", name="write_full_text", arguments={"path": "a.txt", "content": content})
        client.send("notifications/cancelled", answered=False, requestId=call)
    client.call("write_full_text", path="a.txt", content="last\n")
    # threads of cancelled calls may still be under way
    house.until(lambda: [path.name for path in root.iterdir()] == ["a.txt"], "no write is under way")
    assert (root / "a.txt").read_text(encoding="ascii") in (*versions, "last\n")


def test_a_write_that_nobody_waits_for_is_not_begun(workspace: Workspace) -> None:
    progress = Progress()
    progress.cancel()
    session = Session(workspace, progress=progress)
    with pytest.raises(Cancelled):
        ALL["write_full_text"].call(session, {"path": "a.txt", "content": "x"})
    assert list(workspace.base.iterdir()) == []


def test_sessions_of_one_state_folder_share_an_engine_and_others_do_not(tmp_path: Path) -> None:
    one, other = (Settings(state_dir=tmp_path / name) for name in ("one", "other"))
    first, second, third = engine_of(one), engine_of(one), engine_of(other)
    assert first is second
    assert first is not third


def test_a_session_goes_on_with_the_next_daemon(house: House) -> None:
    root = house.root("root")
    client = house.client(root, LINEDEX_TOOLS="all")
    client.begin()
    session = client.call("begin_write_session", path="a.txt").split("Session: ")[1]
    client.call("append_write_chunk", session_id=session, content="before\n")
    os.kill(house.daemon().pid, signal.SIGKILL)
    client.call("index_status")  # a call that only reads brings the next daemon
    assert "2 chunks" in client.call("append_write_chunk", session_id=session, content="after\n")
    client.call("commit_write_session", session_id=session)
    assert (root / "a.txt").read_bytes() == b"before\nafter\n"


def test_a_search_after_a_write_finds_what_was_written(workspace: Workspace) -> None:
    (workspace.base / "a.txt").write_bytes(b"one\n")
    workspace.start()
    assert workspace.indexes[0].wait(60)
    told(workspace, "replace_literal", path="a.txt", old_text="one", new_text="zebra_7")
    text = told(workspace, "search_directory", absolute_dir_path=".", pattern="zebra_7")
    assert "1:zebra_7" in text
    assert "complete" in text.splitlines()[-1]


def test_a_search_after_a_write_to_a_large_file_reads_little_of_it(workspace: Workspace) -> None:
    line = "2026-01-02T03:04:05 INFO request {:07d} took 12 ms in the usual way\n"
    with (workspace.base / "app.log").open("w", encoding="ascii") as log:
        log.writelines(line.format(number) for number in range(300_000))
    workspace.start()
    assert workspace.indexes[0].wait(60)
    told(workspace, "apply_text_edits", path="app.log", edits=[{"start_line": 150_000, "new_text": "zebra_9\n" * 3}])
    before = bytes_read()
    assert "\n150002:zebra_9\n" in told(workspace, "search_content", absolute_file_path="app.log", pattern="zebra_9")
    assert bytes_read() - before < 2 << 20


def bytes_read() -> int:
    """Return what this process has read by system calls."""
    return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])
