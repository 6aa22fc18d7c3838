from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linedex.files.places import Roots
from linedex.limits import Limits
from linedex_server.edit.errors import Conflict, NoSuchStep
from linedex_server.edit.history.budget import Budget
from linedex_server.edit.history.history import History
from linedex_server.edit.history.steps import NewFileStep, Undoes
from linedex_server.edit.put.plans import Plan
from linedex_server.edit.put.snapshot import Snapshot
from linedex_server.edit.splice import Splice, applied, ordered
from linedex_server.edit.undo.revert import Reverted, difference, known_version, revert


class Desk:
    """Files, a history, and a committer that only writes bytes: what is tested here is what they become."""

    def __init__(self, folder: Path, budget: Budget | None = None, limits: Limits | None = None) -> None:
        self.history = History(folder / "history.db", budget or Budget())
        self.limits = limits or Limits()
        # as the committer names files: by a hash, or large ones by a token that is new after every write
        self.tokens = self.history.budget.whole_bytes < 0
        self.folder = folder / "files"
        self.folder.mkdir()
        self.roots = Roots([self.folder])

    def path(self, name: str = "a.txt") -> Path:
        return self.folder / name

    def content(self, name: str = "a.txt") -> bytes:
        return self.path(name).read_bytes()

    def edit(self, *splices: Splice, name: str = "a.txt") -> str:
        """Make splices; return the step's id."""
        return self.commit([(name, Plan(splices))], "edit_content")

    def write(self, content: bytes, name: str = "a.txt") -> str:
        """Give a file this content; return the step's id."""
        size = self.path(name).stat().st_size if self.path(name).exists() else 0
        return self.edit(Splice(0, size, content), name=name)

    def revert(self, identifier: str | None = None, name: str = "a.txt") -> tuple[str, dict[str, Reverted]]:
        """Take a step back; return the id of the step that does it and what was told, by file."""
        found = revert(self.history, os.fsencode(self.path(name)), identifier)
        told = {}
        plans = []
        for path, plan in found.planners:
            other = Path(os.fsdecode(path)).name
            with closing(self.snapshot(other)) if self.path(other).exists() else open(os.devnull) as snapshot:
                plans.append((other, plan(snapshot if isinstance(snapshot, Snapshot) else None)))
            assert isinstance(plans[-1][1].told, Reverted)
            told[other] = plans[-1][1].told
        return self.commit(plans, "revert_edit", found.undoes), told

    def snapshot(self, name: str) -> Snapshot:
        return Snapshot(self.roots.resolve(str(self.path(name))), self.limits)

    def commit(self, plans: Sequence[tuple[str, Plan]], tool: str, undoes: Undoes | None = None) -> str:
        new = []
        for name, plan in plans:
            path = self.path(name)
            before = path.read_bytes() if path.exists() else None
            after = None if plan.remove else applied(before or b"", ordered(plan.splices))
            mode = path.stat().st_mode & 0o7777 if path.exists() else None
            new.append((path, before, after, mode, plan))
        step = self.history.prepare(tool, [self._recorded(*one) for one in new], undoes=undoes)
        for path, _, after, _, plan in new:
            if after is None:
                path.unlink()
                for folder in plan.remove_folders:
                    os.rmdir(folder)
            else:
                path.write_bytes(after)
                if plan.mode is not None:
                    path.chmod(plan.mode)
        left = [path for path, _, after, _, _ in new if after is not None]
        self.history.settle(step, {os.fsencode(path): self.token(path) for path in left})
        return step

    def token(self, path: Path) -> str:
        with self.snapshot(path.name) as snapshot:
            return snapshot.revision() if self.tokens else snapshot.sha256()

    def _recorded(
        self, path: Path, before: bytes | None, after: bytes | None, mode: int | None, plan: Plan
    ) -> NewFileStep:
        old = before or b""
        return NewFileStep(
            os.fsencode(path),
            ordered(plan.splices),
            lambda offset, size: old[offset : offset + size],
            size_before=len(old),
            size_after=len(after or b""),
            created=before is None,
            removed=after is None,
            mode_before=mode,
            mode_after=None if after is None else (plan.mode or mode or 0o644),
            hash_before=None if before is None else self.token(path),
        )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    found = Desk(tmp_path)
    yield found
    found.history.close()


@pytest.fixture
def large_desk(tmp_path: Path) -> Iterator[Desk]:
    """Return a desk where every file is large: only the bytes that went are kept."""
    found = Desk(tmp_path, Budget(whole_bytes=-1, context_bytes=8))
    yield found
    found.history.close()


DESKS = pytest.mark.parametrize("whole_bytes", [-1, 20, 1 << 20], ids=["splices", "mixed", "whole"])


def test_reverting_twice_goes_back_two_steps_and_no_further_than_the_first(desk: Desk) -> None:
    desk.path().write_bytes(b"0\n")
    for number in b"123":
        desk.write(b"%c\n" % number)
    for expected in (b"2\n", b"1\n", b"0\n"):
        desk.revert()
        assert desk.content() == expected
    with pytest.raises(NoSuchStep, match="left to undo"):
        desk.revert()
    assert desk.content() == b"0\n"


@pytest.mark.parametrize(("before", "after"), [("utf-8", "utf-16"), ("cp1252", "utf-8"), ("utf-16", "utf-8")])
def test_a_conversion_of_the_encoding_is_not_undone_below_what_others_wrote_in_the_new_one(
    desk: Desk, before: str, after: str
) -> None:
    text = "Stra\u00dfe und S\u00fc\u00dfes f\u00fcr \u00dcbung\n"
    desk.path().write_bytes(text.encode(before))
    step = desk.write(text.encode(after))
    with desk.path().open("ab") as file:
        file.write("ihr \u00c4rger\n".encode(after.removesuffix("-16") + "-16-le" if "16" in after else after))
    held = desk.content()
    with pytest.raises(Conflict, match=f"step {step} converted its encoding") as refusal:
        desk.revert()
    assert step in refusal.value.hint
    assert desk.content() == held


def test_the_id_of_an_undo_step_redoes(desk: Desk) -> None:
    desk.path().write_bytes(b"before\n")
    step = desk.write(b"after\n")
    undo, told = desk.revert()
    assert desk.content() == b"before\n"
    assert told["a.txt"] == Reverted(step, "edit_content", "undone", foreign=False)
    redo, told = desk.revert(undo)
    assert desk.content() == b"after\n"
    assert told["a.txt"].how == "restored"
    newest, undone, first = desk.history.steps()
    assert (newest.id, undone.id, first.id) == (redo, undo, step)
    assert (newest.undone_by, undone.undone_by, first.undone_by) == (None, redo, None)
    desk.revert()  # what was redone can be undone again
    assert desk.content() == b"before\n"


def test_an_id_restores_what_was_before_that_step_and_marks_the_later_ones_undone(desk: Desk) -> None:
    desk.path().write_bytes(b"0")
    steps = [desk.write(b"%d" % number) for number in range(1, 6)]
    undo, _ = desk.revert(steps[1])
    assert desk.content() == b"1"
    assert {step.id: step.undone_by for step in desk.history.steps()} == {
        undo: None,
        **dict.fromkeys(steps[1:], undo),
        steps[0]: None,
    }
    desk.revert()
    assert desk.content() == b"0"


@DESKS
@given(st.data())
@settings(max_examples=12, deadline=None)
def test_every_version_comes_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, whole_bytes: int, data: st.DataObject
) -> None:
    desk = Desk(tmp_path_factory.mktemp("desk"), Budget(whole_bytes=whole_bytes))
    content = data.draw(st.binary(max_size=60))
    desk.path().write_bytes(content)
    before: dict[str, bytes] = {}
    standing: list[str] = []  # ordinary steps not undone
    stood: dict[str, list[str]] = {}
    for _ in range(data.draw(st.integers(1, 12))):
        match data.draw(st.sampled_from(["edit", "edit", "undo", "restore"])):
            case "edit":
                edges = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
                splices = ordered(
                    Splice(start, end, data.draw(st.binary(max_size=12)))
                    for start, end in zip(edges[::2], edges[1::2], strict=False)
                )
                step = desk.edit(*splices)
                now = applied(content, splices)
                then = [*standing, step]
            case "undo" if standing:
                step, _ = desk.revert()
                now = before[standing[-1]]
                then = standing[:-1]
            case "restore" if before:
                chosen = data.draw(st.sampled_from(sorted(before)))
                step, _ = desk.revert(chosen)
                now = before[chosen]
                then = stood[chosen]
            case _:
                continue
        before[step], stood[step] = content, standing
        content, standing = now, then
        assert desk.content() == content
    for step, expected in before.items():
        desk.revert(step)
        assert desk.content() == expected
    desk.history.close()


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_foreign_changes_are_kept_by_undoing_and_in_a_step_by_restoring(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    lines = [b"line %d\n" % number for number in range(30)]
    desk.path().write_bytes(b"".join(lines))
    at = data.draw(st.integers(5, 24))
    offset = sum(map(len, lines[:at]))
    new = data.draw(st.sampled_from([b"", b"mine\n", b"mine\nand mine\n"]))
    step = desk.edit(Splice(offset, offset + len(lines[at]), new))
    other = list(lines)
    other[at] = new
    undone = list(lines)
    for _ in range(data.draw(st.integers(1, 4))):
        far = data.draw(st.sampled_from([*range(at - 3), *range(at + 4, 30)]))
        other[far] = undone[far] = data.draw(st.sampled_from([b"", b"theirs\n", b"line 3\n", b"a\nb\nc\n"]))
    foreign = b"".join(other)
    desk.path().write_bytes(foreign)
    changed = foreign != b"".join([*lines[:at], new, *lines[at + 1 :]])
    undo, told = desk.revert()
    assert desk.content() == b"".join(undone)
    assert told["a.txt"].how == ("spliced" if changed else "undone")
    desk.path().write_bytes(foreign)
    restored, told = desk.revert(step)
    assert desk.content() == b"".join(lines)
    assert told["a.txt"].foreign == (foreign != b"".join(undone))
    desk.revert(restored)
    assert desk.content() == foreign
    desk.revert(undo)
    assert desk.content() == foreign
    desk.history.close()


def test_a_change_of_others_in_our_own_lines_is_refused_with_a_diff(desk: Desk) -> None:
    desk.path().write_bytes(b"a\nb\nc\n")
    step = desk.edit(Splice(2, 3, b"mine"))
    desk.path().write_bytes(b"a\ntheirs\nc\n")
    with pytest.raises(Conflict) as refused:
        desk.revert()
    assert "@@ -1,3 +1,3 @@\n a\n-mine\n+theirs\n c" in str(refused.value)
    assert f'backup_id="{step}"' in refused.value.hint
    assert desk.content() == b"a\ntheirs\nc\n"
    assert len(desk.history.steps()) == 1


def test_a_place_that_could_be_two_is_refused(large_desk: Desk) -> None:
    large_desk.path().write_bytes(b"first same same same same x same same same same last")
    large_desk.edit(Splice(26, 27, b"y"))
    # both copies stand elsewhere than the one that was written
    large_desk.path().write_bytes(b"- same same same y same same same - same same same y same same same")
    with pytest.raises(Conflict, match="one certain place"):
        large_desk.revert()


def test_text_that_was_taken_out_goes_back_only_where_its_neighbours_still_meet(desk: Desk) -> None:
    desk.path().write_bytes(b"a\nb\nc\n")
    desk.edit(Splice(4, 6, b""))
    desk.path().write_bytes(b"a\nb\nnew\n")  # before it or behind it?
    with pytest.raises(Conflict):
        desk.revert()
    desk.path().write_bytes(b"new\na\nb\n")
    desk.revert()
    assert desk.content() == b"new\na\nb\nc\n"


def test_a_large_file_that_others_append_to_is_undone_in_its_place(large_desk: Desk) -> None:
    lines = [b"%d: message %d\n" % (number, number * 7919) for number in range(100)]
    large_desk.path().write_bytes(b"".join(lines))
    offset = sum(map(len, lines[:50]))
    large_desk.edit(Splice(offset, offset + len(lines[50]), b"short\n"), Splice(offset + 60, offset + 60, b"X"))
    grown = b"begin\n" + large_desk.content() + b"more\n"
    large_desk.path().write_bytes(grown)
    _, told = large_desk.revert()
    assert told["a.txt"].how == "spliced"
    assert large_desk.content() == b"begin\n" + b"".join(lines) + b"more\n"


def test_a_large_file_that_others_changed_cannot_be_restored_and_says_why(large_desk: Desk) -> None:
    large_desk.path().write_bytes(b"0123456789")
    first = large_desk.edit(Splice(0, 1, b"x"))
    large_desk.path().write_bytes(b"x12345678!")
    large_desk.edit(Splice(1, 2, b"y"))
    with pytest.raises(Conflict, match=f"changed by others after step {first}"):
        large_desk.revert(first)
    large_desk.revert()
    assert large_desk.content() == b"x12345678!"


def test_a_large_version_is_made_of_small_splices_of_the_present_file(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Budget(whole_bytes=-1))
    content = random.Random(1).randbytes(3_000_000)
    desk.path().write_bytes(content)
    steps = [desk.edit(Splice(at, at + 2, b"changed")) for at in (2_000_000, 1_000_000, 1_000_003, 0)]
    path = os.fsencode(desk.path())
    ((_, plan),) = revert(desk.history, path, steps[0]).planners
    with desk.snapshot("a.txt") as snapshot:
        splices = plan(snapshot).splices
    assert sum(splice.end - splice.start for splice in splices) < 100
    assert applied(desk.content(), splices) == content
    desk.history.close()


def test_undoing_a_creation_deletes_the_file_and_its_folders_and_redoing_makes_it_again(desk: Desk) -> None:
    step = desk.write(b"new\n")
    desk.path().chmod(0o640)
    undo, told = desk.revert()
    assert not desk.path().exists()
    assert told["a.txt"].how == "undone"
    with pytest.raises(NoSuchStep):
        desk.revert()
    desk.revert(undo)
    assert desk.content() == b"new\n"
    assert desk.path().stat().st_mode & 0o777 == 0o640
    desk.revert(step)
    assert not desk.path().exists()


@pytest.mark.parametrize("by_id", [False, True])
def test_a_created_file_that_others_changed_is_not_deleted(desk: Desk, by_id: bool) -> None:
    step = desk.write(b"new\n")
    desk.path().write_bytes(b"new\nand theirs\n")
    with pytest.raises(Conflict, match="lose that change"):
        desk.revert(step if by_id else None)
    assert desk.content() == b"new\nand theirs\n"


def test_a_created_file_that_we_edited_since_is_deleted_by_the_id_of_its_creation(desk: Desk) -> None:
    step = desk.write(b"new\n")
    desk.write(b"newer\n")
    undo, _ = desk.revert(step)
    assert not desk.path().exists()
    desk.revert(undo)
    assert desk.content() == b"newer\n"


def test_a_file_that_was_deleted_is_made_anew_by_id_only(desk: Desk) -> None:
    desk.path().write_bytes(b"old\n")
    desk.path().chmod(0o600)
    step = desk.write(b"new\n")
    desk.path().unlink()
    with pytest.raises(Conflict, match="does not exist any more") as refused:
        desk.revert()
    assert f'backup_id="{step}"' in refused.value.hint
    desk.revert(step)
    assert desk.content() == b"old\n"
    assert desk.path().stat().st_mode & 0o777 == 0o600


def test_an_empty_file_is_made_anew(desk: Desk) -> None:
    desk.path().write_bytes(b"")
    step = desk.write(b"new\n")
    desk.path().unlink()
    found = revert(desk.history, os.fsencode(desk.path()), step)
    ((_, plan),) = found.planners
    assert plan(None).splices == (Splice(0, 0, b""),)


def test_a_mode_goes_back_unless_somebody_else_has_set_another(desk: Desk) -> None:
    desk.path().write_bytes(b"a")
    desk.path().chmod(0o600)
    step = desk.commit([("a.txt", Plan((Splice(0, 1, b"b"),), mode=0o755))], "t")
    desk.path().chmod(0o444)
    ((_, plan),) = revert(desk.history, os.fsencode(desk.path())).planners
    with desk.snapshot("a.txt") as snapshot:
        assert plan(snapshot).mode is None
    ((_, plan),) = revert(desk.history, os.fsencode(desk.path()), step).planners
    with desk.snapshot("a.txt") as snapshot:
        assert plan(snapshot).mode == 0o600
    desk.path().chmod(0o755)
    desk.revert()
    assert (desk.content(), desk.path().stat().st_mode & 0o777) == (b"a", 0o600)


def test_a_step_over_several_files_is_undone_and_redone_in_all_of_them(desk: Desk) -> None:
    for name in ("a.txt", "b.txt"):
        desk.path(name).write_bytes(b"old\n")
    splices = (Splice(0, 3, b"new"),)
    desk.commit([("a.txt", Plan(splices)), ("b.txt", Plan(splices)), ("c.txt", Plan((Splice(0, 0, b"c"),)))], "t")
    undo, told = desk.revert(name="b.txt")
    assert (desk.content("a.txt"), desk.content("b.txt"), desk.path("c.txt").exists()) == (b"old\n", b"old\n", False)
    assert sorted(told) == ["a.txt", "b.txt", "c.txt"]
    with pytest.raises(NoSuchStep):
        desk.revert()
    desk.revert(undo)
    assert (desk.content("a.txt"), desk.content("b.txt"), desk.content("c.txt")) == (b"new\n", b"new\n", b"c")


def test_a_later_edit_of_one_of_several_files_stays_when_the_step_is_undone(desk: Desk) -> None:
    for name in ("a.txt", "b.txt"):
        desk.path(name).write_bytes(b"1\n2\n3\n4\n5\n6\n")
    splices = (Splice(0, 1, b"one"),)
    step = desk.commit([("a.txt", Plan(splices)), ("b.txt", Plan(splices))], "t")
    later = desk.edit(Splice(12, 13, b"six"), name="b.txt")
    undo, told = desk.revert()
    assert desk.content("a.txt") == b"1\n2\n3\n4\n5\n6\n"
    assert desk.content("b.txt") == b"1\n2\n3\n4\n5\nsix\n"
    assert (told["a.txt"].how, told["b.txt"].how) == ("undone", "spliced")
    assert {one.id: one.undone_by for one in desk.history.steps()} == {undo: None, later: None, step: undo}


def test_a_step_of_other_files_is_refused_by_name(desk: Desk) -> None:
    desk.path("b.txt").write_bytes(b"b")
    step = desk.write(b"c", name="b.txt")
    with pytest.raises(NoSuchStep, match=r"did not change `.*a\.txt`; it changed `.*b\.txt`"):
        desk.revert(step)
    with pytest.raises(NoSuchStep, match="There is no step"):
        desk.revert("zzzz")


def test_restoring_what_is_there_changes_nothing(desk: Desk) -> None:
    desk.path().write_bytes(b"a")
    step = desk.write(b"b")
    desk.revert()
    ((_, plan),) = revert(desk.history, os.fsencode(desk.path()), step).planners
    with desk.snapshot("a.txt") as snapshot:
        found = plan(snapshot)
    assert (found.splices, found.mode) == ((), None)
    assert isinstance(found.told, Reverted)
    assert found.told.how == "unchanged"


def test_an_undo_that_somebody_else_made_first_is_not_made_twice(desk: Desk) -> None:
    desk.path().write_bytes(b"x" * 20)
    desk.edit(Splice(3, 3, b"x"))
    ((_, plan),) = revert(desk.history, os.fsencode(desk.path())).planners
    desk.revert()
    with desk.snapshot("a.txt") as snapshot, pytest.raises(Conflict, match="undone meanwhile"):
        plan(snapshot)


def test_a_version_is_found_by_the_hash_that_names_it(desk: Desk) -> None:
    desk.path().write_bytes(b"one\n")
    desk.write(b"two\n")
    desk.edit(Splice(0, 0, b"twenty-"))
    path = os.fsencode(desk.path())
    for content in (b"one\n", b"two\n", b"twenty-two\n"):
        digest = sha256(content).hexdigest()
        assert known_version(desk.history, path, digest[:16]) == content
        assert known_version(desk.history, path, "sha256:" + digest.upper()) == content
    assert known_version(desk.history, path, sha256(b"three\n").hexdigest()) is None


def test_a_difference_is_told_in_the_text_of_the_file() -> None:
    assert difference("ä\r\nb\r\n".encode("utf-16"), "ä\r\nc\r\n".encode("utf-16")) == ("@@ -1,2 +1,2 @@\n ä\n-b\n+c")
    assert difference(b"a\rb\r", b"a\rc\r") == "@@ -1,2 +1,2 @@\n a\n-b\n+c"
    assert difference(b"\0\1\2" * 50, b"\0\1\3" * 50) == ""
