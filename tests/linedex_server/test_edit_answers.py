"""What the write tools say: sentences that a model reads once and acts on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linedex.errors import BadArgument, LinedexError
from linedex_server.calling import failure
from linedex_server.config import Settings
from linedex_server.tools.registry import ALL
from linedex_server.tools.tool import Session
from linedex_server.workspace import Workspace


class Desk:
    """A folder, and the tools on it."""

    def __init__(self, session: Session) -> None:
        self.root = Path(session.workspace.base)
        self._session = session

    def told(self, tool: str, **arguments: Any) -> str:
        return ALL[tool].call(self._session, arguments).text

    def refused(self, tool: str, **arguments: Any) -> LinedexError:
        with pytest.raises(LinedexError) as refusal:
            self.told(tool, **arguments)
        return refusal.value


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "root").mkdir()
    settings = Settings(state_dir=tmp_path / "state", allowed_roots=(str(tmp_path / "root"),), workers=1)
    with Workspace(settings) as workspace:
        yield Desk(Session(workspace))


def test_a_list_of_objects_that_is_missing_is_asked_for_by_what_its_items_must_and_may_have(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"a\n")
    refusal = desk.refused("apply_text_edits", path="a.txt", edits='[{"start_line": 1, "new_text": "b"}]')
    assert isinstance(refusal, BadArgument)
    assert "each with start_line, new_text and perhaps end_line, expected_old_text" in str(refusal)


def test_an_edit_that_the_kept_final_newline_undoes_says_so(desk: Desk) -> None:
    file = desk.root / "a.txt"
    file.write_bytes(b"a\nb")
    text = desk.told("replace_literal", path="a.txt", old_text="b", new_text="b\n")
    assert text.startswith("Unchanged a.txt: only its final newline would differ; say final_newline=add or remove")
    assert file.read_bytes() == b"a\nb"
    text = desk.told("replace_literal", path="a.txt", old_text="b", new_text="b")
    assert text.startswith("Unchanged a.txt: new content matched existing file.")


def test_a_session_that_would_be_skipped_says_so_before_it_is_filled(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"a\n")
    text = desk.told("begin_write_session", path="a.txt", if_exists="skip")
    assert "it exists; as long as it does, the commit will leave it as it is" in text
    assert "exists" not in desk.told("begin_write_session", path="b.txt", if_exists="skip")


def test_a_file_with_nothing_to_undo_is_called_as_in_other_answers(desk: Desk) -> None:
    assert "There is no edit of `sub/a.txt` left" in str(desk.refused("revert_edit", absolute_file_path="sub/a.txt"))


def test_edits_on_one_line_name_it_once(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"a\n")
    edits = [{"start_line": 1, "end_line": 0, "new_text": text} for text in ("x", "y")]
    assert desk.told("apply_text_edits", path="a.txt", edits=edits).startswith("Updated a.txt: 2 edits (line 1).")
    assert (desk.root / "a.txt").read_bytes() == b"x\ny\na\n"


def test_an_expected_text_of_an_insertion_is_refused_with_the_reason(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"abc\n")
    span = {"start_offset": 1, "end_offset": 1, "new_text": "x", "expected_old_text": "b"}
    assert "replaces nothing" in str(desk.refused("apply_text_spans", path="a.txt", spans=[span]))


def test_a_path_that_names_a_folder_makes_no_file(desk: Desk) -> None:
    assert "ends with a slash" in str(desk.refused("write_full_text", path="new/", content="x"))
    assert str(desk.refused("write_full_text", path=".", content="x")) == "`.` is a folder, not a file."
    assert list(desk.root.iterdir()) == []


def test_a_name_that_is_too_long_is_refused_as_such(desk: Desk) -> None:
    refusal = desk.refused("write_full_text", path="x" * 300, content="x")
    assert "longer name than the file system takes" in str(refusal)
    assert "permissions" not in refusal.hint


def test_a_diff_in_a_refusal_ends_as_the_file_does(desk: Desk) -> None:
    file = desk.root / "a.txt"
    file.write_bytes(b"one\n")
    desk.told("write_full_text", path="a.txt", content="two\n")
    file.write_bytes(b"two...\n")
    refusal = desk.refused("revert_edit", absolute_file_path="a.txt")
    assert "\n-two\n+two...\nrevert_edit with backup_id=" in failure("revert_edit", refusal)
    assert failure("revert_edit", LinedexError("No.", "Ask.")) == "revert_edit failed: No.\nAsk."


def test_a_session_in_a_folder_that_is_not_made_is_refused_before_it_is_filled(desk: Desk) -> None:
    refusal = desk.refused("begin_write_session", path="new/a.txt", create_dirs=False)
    assert "There is no folder" in str(refusal)
    assert "Session" in desk.told("begin_write_session", path="new/a.txt")
    assert list(desk.root.iterdir()) == []


def test_a_new_file_that_others_changed_is_not_to_be_undone_by_its_id_either(desk: Desk) -> None:
    desk.told("write_full_text", path="a.txt", content="1\n")
    (desk.root / "a.txt").write_bytes(b"1\n2\n")
    assert desk.refused("revert_edit", absolute_file_path="a.txt").hint == "Delete it yourself if it is not needed."


def test_the_history_counts_the_lines_of_a_state_that_was_brought_back(desk: Desk) -> None:
    file = desk.root / "a.txt"
    file.write_bytes(b"1\n2\n3\n")
    answer = desk.told("replace_literal", path="a.txt", old_text="2", new_text="two")
    file.write_bytes(b"1\n2!\n3\n4\n")
    step = answer.rsplit("undo ", 1)[1].rstrip("]")
    desk.told("revert_edit", absolute_file_path="a.txt", backup_id=step)
    assert "revert_edit  a.txt +1 -2" in desk.told("edit_history", limit=1)
