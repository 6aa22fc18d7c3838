"""Reverts put down by the real committer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from linedex.files.names import display
from linedex.files.places import Roots
from linedex.limits import Limits
from linedex.model import RelPath
from linedex_server.edit.history.budget import Budget
from linedex_server.edit.history.history import History
from linedex_server.edit.put.commit import Committer
from linedex_server.edit.put.plans import Committed, Plan, Planner, Target
from linedex_server.edit.splice import Splice
from linedex_server.edit.undo.revert import Reverted, revert


class Editing:
    """A folder, its history, the committer."""

    def __init__(self, folder: Path, budget: Budget, limits: Limits) -> None:
        self.folder = folder / "files"
        self.folder.mkdir()
        self.roots = Roots([self.folder])
        self.history = History(folder / "state" / "history.db", budget)
        self.committer = Committer(self.history, limits)

    def path(self, name: str) -> Path:
        return self.folder / name

    def target(self, path: str, plan: Planner) -> Target:
        return Target(self.roots.resolve(path, must_exist=False), path, plan, create_dirs=True)

    def edit(self, name: str, *splices: Splice, mode: int | None = None) -> Committed:
        (done,) = self.committer.commit(
            [self.target(str(self.path(name)), lambda _: Plan(splices, mode=mode))], tool="t"
        )
        return done

    def revert(self, name: str, identifier: str | None = None) -> tuple[Committed, ...]:
        found = revert(self.history, os.fsencode(self.path(name)), identifier)
        targets = [self.target(display(RelPath(path)), plan) for path, plan in found.planners]
        return self.committer.commit(targets, tool="revert_edit", undoes=found.undoes)


@pytest.fixture(params=["small", "large"])
def editing(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Editing]:
    """Return an engine for which files are small, or large: named by tokens, kept as splices."""
    large = request.param == "large"
    budget = Budget(whole_bytes=-1) if large else Budget()
    found = Editing(tmp_path, budget, Limits(hash_bytes=-1) if large else Limits())
    yield found
    found.history.close()


def test_edits_are_undone_one_by_one_restored_by_id_and_redone(editing: Editing) -> None:
    path = editing.path("a.txt")
    path.write_bytes(b"0123456789" * 100)
    path.chmod(0o640)
    versions = [path.read_bytes()]
    steps = []
    for number in range(4):
        done = editing.edit("a.txt", Splice(number * 7, number * 7 + 3, b"<%d>\n" % number), Splice(500, 500, b"-"))
        assert done.step is not None
        steps.append(done.step)
        versions.append(path.read_bytes())
    editing.revert("a.txt")
    assert path.read_bytes() == versions[3]
    (undo,) = editing.revert("a.txt")
    assert path.read_bytes() == versions[2]
    assert isinstance(undo.told, Reverted)
    assert undo.told.how == "undone"
    (restored,) = editing.revert("a.txt", steps[0])
    assert path.read_bytes() == versions[0]
    editing.revert("a.txt", restored.step)
    assert path.read_bytes() == versions[2]
    editing.revert("a.txt", undo.step)
    assert path.read_bytes() == versions[3]
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_others_append_stays_when_an_edit_is_undone(editing: Editing) -> None:
    path = editing.path("log")
    path.write_bytes(b"one\ntwo\nthree\n")
    editing.edit("log", Splice(4, 7, b"2"))
    path.write_bytes(path.read_bytes() + b"four\n")
    (done,) = editing.revert("log")
    assert isinstance(done.told, Reverted)
    assert (done.told.how, done.told.foreign) == ("spliced", True)
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\n"


def test_a_creation_its_folders_and_its_mode_are_undone_and_redone(editing: Editing) -> None:
    done = editing.edit("new/deep/a.txt", Splice(0, 0, b"text\n"), mode=0o600)
    assert len(done.made_folders) == 2
    (undo,) = editing.revert("new/deep/a.txt")
    assert undo.removed
    assert list(editing.folder.iterdir()) == []
    editing.revert("new/deep/a.txt", undo.step)
    assert editing.path("new/deep/a.txt").read_bytes() == b"text\n"
    assert editing.path("new/deep/a.txt").stat().st_mode & 0o777 == 0o600
    editing.path("new/deep/other").touch()
    editing.revert("new/deep/a.txt", done.step)
    assert [file.name for file in editing.path("new/deep").iterdir()] == ["other"]


def test_several_files_are_undone_together_or_not_at_all(editing: Editing) -> None:
    targets = []
    for name in ("a", "b"):
        editing.path(name).write_bytes(b"old " * 30)
        targets.append(editing.target(str(editing.path(name)), lambda _: Plan((Splice(0, 3, b"new"),))))
    editing.committer.commit(targets, tool="t")
    (undo, _) = editing.revert("b")
    assert [editing.path(name).read_bytes() for name in ("a", "b")] == [b"old " * 30] * 2
    editing.revert("a", undo.step)
    assert [editing.path(name).read_bytes()[:4] for name in ("a", "b")] == [b"new "] * 2
    editing.path("b").write_bytes(b"something else")
    with pytest.raises(Exception, match="changed by others"):
        editing.revert("a")
    assert editing.path("a").read_bytes()[:4] == b"new "


def test_steps_say_the_lines_they_brought_and_took_and_undoing_turns_them_round(editing: Editing) -> None:
    editing.path("a").write_bytes(b"1\n2\n3\n")
    editing.edit("a", Splice(2, 4, b"x\ny\nz\n"))
    editing.revert("a")
    counts = [(file.lines_added, file.lines_removed) for step in editing.history.steps() for file in step.files]
    assert counts == [(1, 3), (3, 1)]
