"""Which rules govern a folder: the same for a walk, a single path and a folder listed again."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linedex.files.ignore import IgnoreRules, WalkSettings
from linedex.files.roots import Root
from linedex.files.walk import list_folder, walk
from linedex.model import RelPath


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without settings of their own."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    folder.mkdir()
    return folder


def fill(top: Path, files: Mapping[str, str]) -> None:
    for path, content in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(content)


def init(top: Path) -> None:
    subprocess.run(["git", "init", "-q", str(top)], check=True)


def listed_by_git(top: Path) -> set[str]:
    arguments = ["git", "ls-files", "-z", "--others", "--cached", "--exclude-standard"]
    return set(subprocess.run(arguments, check=True, cwd=top, capture_output=True, text=True).stdout.split("\0")) - {""}


def walked(top: Path, settings: WalkSettings | None = None) -> set[str]:
    return {
        os.fsdecode(os.path.join(folder.path, file.name))
        for folder in walk(Root(top), settings or WalkSettings())
        for file in folder.files
    }


def test_gitignore_counts_inside_a_repository_only_unless_asked_for(top: Path) -> None:
    fill(top, {".gitignore": "/*\n", "a.c": ""})
    assert walked(top) == {".gitignore", "a.c"}
    assert walked(top, WalkSettings(require_git=False)) == set()
    init(top)
    assert walked(top) == set()
    assert walked(top, WalkSettings(git_rules=False)) == {".gitignore", "a.c"}


def test_exclude_and_the_users_excludes_count_as_in_git(top: Path, home: Path) -> None:
    init(top)
    fill(top, {"a.x": "", "b.x": "", "c.x": "", "d/a.x": "", "d/keep.y": "", ".gitignore": "!b.x\n"})
    fill(top, {".git/info/exclude": "b.x\n/a.x\n"})
    fill(home, {".config/git/ignore": "c.x\nkeep.y\n"})
    assert walked(top) == listed_by_git(top) == {".gitignore", "b.x", "d/a.x"}


def test_an_excludes_file_named_in_the_users_git_settings_counts(top: Path, home: Path) -> None:
    init(top)
    fill(top, {"a.x": "", "b.x": ""})
    fill(home, {".gitconfig": '[core]\n\texcludesFile = "~/mine"\n', "mine": "a.x\n", ".config/git/ignore": "b.x\n"})
    assert walked(top) == listed_by_git(top) == {"b.x"}


def test_a_root_inside_a_repository_takes_over_the_rules_above_it(top: Path) -> None:
    init(top)
    fill(top, {".gitignore": "*.o\n/sub/gen/\n", "sub/.gitignore": "*.tmp\n", "sub/gen/a": "", "sub/app/x.o": ""})
    fill(top, {"sub/app/x.tmp": "", "sub/app/x.c": "", ".git/info/exclude": "*.log\n", "sub/app/x.log": ""})
    assert walked(top / "sub/app") == {"x.c"}
    assert walked(top / "sub") == {".gitignore", "app/x.c"}
    assert listed_by_git(top / "sub") == walked(top / "sub")


@pytest.mark.parametrize("rule", ["*", "sub/", "/sub/*", "sub/app"])
def test_a_root_that_the_rules_above_it_ignore_is_walked_by_its_own(top: Path, rule: str) -> None:
    init(top)
    fill(top, {".gitignore": rule + "\n", "sub/app/x.c": "", "sub/app/x.o": "", "sub/app/.gitignore": "*.o\n"})
    assert walked(top / "sub/app") == {".gitignore", "x.c"}


def test_an_inner_repository_begins_anew(top: Path) -> None:
    init(top)
    fill(top, {".gitignore": "*.o\n", ".ignore": "*.big\n", "inner/a.o": "", "inner/a.big": "", "inner/b": ""})
    init(top / "inner")
    fill(top, {"inner/.git/info/exclude": "b\n"})
    assert walked(top) == {".gitignore", ".ignore", "inner/a.o"}


def test_worktrees_and_submodules_use_the_exclude_of_their_repository(top: Path) -> None:
    init(top)
    fill(top, {".git/info/exclude": "*.x\n", ".git/worktrees/w/commondir": "../..\n", "w/a.x": "", "w/b": ""})
    fill(top, {"w/.git": f"gitdir: {top}/.git/worktrees/w\n"})
    fill(top, {"s/.git": "gitdir: ../.git/modules/s\n", ".git/modules/s/info/exclude": "q\n", "s/q": "", "s/a.x": ""})
    assert walked(top) == {"w/b", "s/a.x"}


def test_a_git_file_that_points_out_of_the_root_is_not_followed(top: Path, tmp_path: Path) -> None:
    fill(tmp_path, {"elsewhere/info/exclude": "a\n"})
    fill(top, {".git": "gitdir: ../elsewhere\n", "a": ""})
    assert walked(top) == {"a"}


def test_rules_come_in_order_settings_own_plain_git(top: Path) -> None:
    init(top)
    fill(top, {".gitignore": "*\n", ".ignore": "!b\n!c\n!d\n!sub\n", ".linedexignore": "c\n!d\n", "sub/d": ""})
    fill(top, {"a": "", "b": "", "c": "", "d": ""})
    assert walked(top) == {"b", "d", "sub/d"}
    assert walked(top, WalkSettings(globs=("/d", "!a"))) == {"a", "b", "sub/d"}


def test_a_deeper_ignore_file_comes_before_a_higher_one_of_its_kind(top: Path) -> None:
    fill(top, {".ignore": "*.log\n", "sub/.ignore": "!keep.log\n", "sub/keep.log": "", "sub/a.log": "", "b.log": ""})
    assert walked(top) == {".ignore", "sub/.ignore", "sub/keep.log"}


def test_rules_are_not_taken_through_links_or_from_what_is_no_file(top: Path, tmp_path: Path) -> None:
    fill(tmp_path, {"rules": "a\n"})
    fill(top, {"a": "", "sub/a": ""})
    (top / ".ignore").symlink_to(tmp_path / "rules")
    os.mkfifo(top / "sub/.ignore")
    (top / ".linedexignore").mkdir()
    assert walked(top) == {"a", "sub/a"}


RULES = st.lists(st.sampled_from(["a", "b/", "!a", "/a", "*", "!*/", "a/b", "**/b", "!b"]), max_size=3).map("\n".join)
PATHS = ["a/a/a", "a/a/b", "a/b/a", "b/a/a", "b/b", "c", "a/c"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["", "a", "a/a", "b"]), st.tuples(RULES, RULES), max_size=3), RULES)
def test_one_path_and_one_folder_are_judged_as_the_walk_judges_them(
    tmp_path_factory: pytest.TempPathFactory, rules: dict[str, tuple[str, str]], globs: str
) -> None:
    top = tmp_path_factory.mktemp("tree")
    (top / ".git").mkdir()
    fill(top, dict.fromkeys(PATHS, ""))
    for above, (git, plain) in rules.items():
        fill(top, {f"{above}/.gitignore" if above else ".gitignore": git})
        fill(top, {f"{above}/.ignore" if above else ".ignore": plain})
    wanted = WalkSettings(include_ignored=True, globs=tuple(globs.split("\n")))
    root = Root(top)
    everything = list(walk(root, wanted))
    left_in = {folder.path: folder for folder in walk(root, WalkSettings(globs=wanted.globs))}
    for folder in everything:
        alone = list_folder(root, folder.path, wanted)
        # The status carries the time of the last listing, which differs by now.
        assert replace(alone, status=None) == replace(folder, status=None)
        assert IgnoreRules(root, wanted).is_ignored(folder.path, is_folder=True) is folder.ignored
        assert (folder.path in left_in) is not folder.ignored
        for file in folder.files:
            path = RelPath(os.path.join(folder.path, file.name))
            assert IgnoreRules(root, wanted).is_ignored(path, is_folder=False) is file.ignored
            assert file.ignored is (folder.path not in left_in or file not in left_in[folder.path].files)


def test_a_path_that_does_not_exist_is_judged_too(top: Path) -> None:
    fill(top, {".ignore": "build/\n*.o\n"})
    rules = IgnoreRules(Root(top), WalkSettings())
    assert rules.is_ignored(RelPath(b"new/deep/x.o"), is_folder=False)
    assert rules.is_ignored(RelPath(b"new/build/deep/x.c"), is_folder=False)
    assert not rules.is_ignored(RelPath(b"new/deep/x.c"), is_folder=False)
    assert not rules.is_ignored(RelPath(b"build"), is_folder=False)
    assert rules.is_ignored(RelPath(b"sub/.git/config"), is_folder=False)


def test_rule_files_that_no_listing_shows_are_named(top: Path, home: Path) -> None:
    init(top)
    fill(top, {"sub/x": "", "inner/y": ""})
    init(top / "sub/inner")
    rules = IgnoreRules(Root(top / "sub"), WalkSettings())
    list(walk(Root(top / "sub"), WalkSettings(), rules=rules))
    expected = [".git/info/exclude", ".gitignore", "sub/inner/.git/info/exclude"]
    of_user = [".gitconfig", ".config/git/config", ".config/git/ignore"]
    assert rules.unlisted == {os.fsencode(top / path) for path in expected} | {os.fsencode(home / p) for p in of_user}
